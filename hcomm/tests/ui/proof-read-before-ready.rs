use hcomm::collective;

collective! {
    pub Wrong: send_recv {
        if rank == src { copy_in { scratch = input; } post_sync { wait dst; } }
        if rank == dst { move { output = src.scratch; } post_sync { signal src; } }
    }
}

fn main() {}
