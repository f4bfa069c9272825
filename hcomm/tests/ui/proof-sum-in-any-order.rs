use hcomm::collective;

collective! {
    pub Wrong: reduce {
        split: 1;
        deterministic;
        copy_in { scratch = input; }
        if rank == root {
            par for peer in peers { pre_sync { signal peer; } post_sync { wait peer; } }
            copy_out { output = scratch; }
        } else {
            pre_sync { wait root; } move { root.scratch += scratch; } post_sync { signal root; }
        }
    }
}

fn main() {}
