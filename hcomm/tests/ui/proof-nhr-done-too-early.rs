use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        copy_in { scratch[rank] = input; }
        for s in 0..log2_ceil(ranks) {
            let delta = 1 << (log2_ceil(ranks) - 1 - s);
            let to = wrap(rank + delta, ranks);
            let from = wrap(rank - delta, ranks);
            post_sync { signal to; wait from; }
            move {
                for i in 0..(ranks - 1 + delta) / (2 * delta) {
                    let chunk = wrap(rank - 2 * delta * i, ranks);
                    to.scratch[chunk] = scratch[chunk];
                }
            }
            pre_sync  { signal from; wait to; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
