use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        copy_in { scratch[rank] = input; }
        scratch: ranks;
    }
}

fn main() {}
