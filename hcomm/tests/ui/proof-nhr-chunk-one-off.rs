use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        copy_in { scratch[rank] = input; }
        for s in 0..log2_ceil(ranks) {
            let delta = 1 << (log2_ceil(ranks) - 1 - s);
            let to = wrap(rank + delta, ranks);
            let from = wrap(rank - delta, ranks);
            pre_sync  { signal from; wait to; }
            move {
                for i in 0..(ranks - 1 + delta) / (2 * delta) {
                    let chunk = wrap(rank - 2 * delta * i - 1, ranks);
                    to.scratch[chunk] = scratch[chunk];
                }
            }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
