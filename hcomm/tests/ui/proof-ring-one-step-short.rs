use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        copy_in { scratch[rank] = input; }
        for step in 0..ranks - 2 {
            let chunk = wrap(rank - step, ranks);
            par {
                lane { pre_sync { wait next; } move { next.scratch[chunk] = scratch[chunk]; } post_sync { signal next; } }
                lane { pre_sync { signal prev; } post_sync { wait prev; } }
            }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
