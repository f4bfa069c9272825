use hcomm::collective;

collective! {
    pub Wrong: gather {
        if rank == root { copy_in { scratch[0] = input; } }
        if rank == root {
            par for peer in peers { pre_sync { signal peer; } post_sync { wait peer; } }
            copy_out { output = scratch; }
        } else {
            pre_sync { wait root; } move { root.scratch[1] = input; } post_sync { signal root; }
        }
    }
}

fn main() {}
