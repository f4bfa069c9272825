use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        copy_in { scratch[0..2] = input; }
    }
}

fn main() {}
