use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        copy_in { scratch[rank] = input; }
        move { scratch[rank] += input; }
    }
}

fn main() {}
