use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let ranks = 4;
        copy_in { scratch[rank] = input; }
    }
}

fn main() {}
