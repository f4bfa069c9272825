use hcomm::collective;

collective! {
    pub Wrong: send_recv {
        if rank == src { pre_sync { signal dst; } copy_in { scratch = input; } post_sync { wait dst; } }
        if rank == dst { pre_sync { wait src; } move { output = src.scratch; } post_sync { signal src; } }
    }
}

fn main() {}
