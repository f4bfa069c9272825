use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let to = if rank == 0 { ranks - 1 };
    }
}

fn main() {}
