use hcomm::collective;

collective! {
    pub Wrong: all_reduce {
        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        copy_in { scratch = input; }
        for step in 0..ranks - 1 {
            let chunk = wrap(rank - step, ranks);
            pre_sync  { signal prev; wait next; }
            move      { next.scratch[chunk] = scratch[chunk]; }
            post_sync { signal next; wait prev; }
        }
        for step in 0..ranks - 1 {
            let chunk = wrap(rank + 1 - step, ranks);
            pre_sync  { signal prev; wait next; }
            move      { next.scratch[chunk] = scratch[chunk]; }
            post_sync { signal next; wait prev; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
