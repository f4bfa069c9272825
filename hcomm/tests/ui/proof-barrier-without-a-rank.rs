use hcomm::collective;

collective! {
    pub Wrong: barrier {
        for peer in 1..ranks - 1 { pre_sync { if rank == 0 { signal at(peer); } if rank == peer { wait at(0); } } }
        for peer in 1..ranks - 1 { post_sync { if rank == peer { signal at(0); } if rank == 0 { wait at(peer); } } }
    }
}

fn main() {}
