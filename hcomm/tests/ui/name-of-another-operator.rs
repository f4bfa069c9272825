use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        if rank == root {
            copy_in { scratch[rank] = input; }
        }
    }
}

fn main() {}
