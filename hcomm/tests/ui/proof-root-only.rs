use hcomm::collective;

collective! {
    pub Wrong: broadcast {
        if rank == root { copy_in { scratch = input; } copy_out { output = scratch; } }
    }
}

fn main() {}
