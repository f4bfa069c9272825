use hcomm::collective;

collective! {
    pub Wrong: send_recv {
        if rank == src { copy_in { scratch = input; } pre_sync { signal dst; } }
        if rank == dst { pre_sync { wait src; } move { output = src.scratch; } }
    }
}

fn main() {}
