use hcomm::collective;

collective! {
    pub Wrong: broadcast {
        split: 2;
        if rank == root { copy_in { scratch[0] = input[1]; scratch[1] = input[0]; } }
        copy_out { output = scratch; }
    }
}

fn main() {}
