//! All-reduce by the nonuniform Bruck algorithm.

use hcomm_macros::collective;

collective! {
    /// NB all-reduce: NB reduce-scatter, then NB all-gather.
    ///
    /// Cost: 2⌈log p⌉α + 2(p-1)/p·nβ + (p-1)/p·nγ for n bytes on p ranks. For many ranks and small messages.
    /// Source: HCCL's algorithms, NB.
    pub NbAllReduce: all_reduce {
        deterministic;
        copy_in { scratch = input; }
        for k in 0..log2_ceil(ranks) {
            let delta = 1 << k;
            let to = wrap(rank + delta, ranks);
            let from = wrap(rank - delta, ranks);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(ranks - 1 + delta) / (2 * delta) {
                    let chunk = wrap(to + 2 * delta * i, ranks);
                    to.scratch[chunk] += scratch[chunk];
                }
            }
            post_sync { signal to; wait from; }
        }
        for k in 0..log2_ceil(ranks) {
            let delta = 1 << k;
            let to = wrap(rank + delta, ranks);
            let from = wrap(rank - delta, ranks);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..min(delta, ranks - delta) {
                    let chunk = wrap(rank - i, ranks);
                    to.scratch[chunk] = scratch[chunk];
                }
            }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
