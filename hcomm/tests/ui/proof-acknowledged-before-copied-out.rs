use hcomm::collective;

collective! {
    pub Wrong: send_recv {
        if rank == src { copy_in { scratch[0] = input; } move { dst.scratch[0] = scratch[0]; } post_sync { signal dst; wait dst.free; } }
        if rank == dst { post_sync { wait src; signal src.free; } copy_out { output = scratch[0]; } }
    }
}

fn main() {}
