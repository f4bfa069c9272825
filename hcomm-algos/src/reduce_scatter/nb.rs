//! Reduce-scatter by the nonuniform Bruck algorithm.

use hcomm_macros::collective;

collective! {
    /// NB reduce-scatter: in step k every rank sends every second partial sum that is left to the rank 2^k further.
    ///
    /// Cost: ⌈log p⌉α + (p-1)/p·n(β+γ) for n bytes of input on p ranks. For many ranks and small messages.
    /// Source: HCCL's algorithms, NB.
    pub NbReduceScatter: reduce_scatter {
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
        copy_out { output = scratch[rank]; }
    }
}
