use hcomm::collective;

collective! {
    pub Wrong: barrier {
        if rank == 0 {
            for peer in peers { pre_sync { wait peer; } post_sync { signal peer; } }
        } else {
            pre_sync { signal at(0); } post_sync { wait at(0); }
        }
    }
}

fn main() {}
