//! Reduce-scatter of slices of different sizes by HCCL's nonuniform hierarchical ring.

use hcomm_macros::collective;

collective! {
    /// NHR reduce-scatter of slices of different sizes, with HCCL's schedule: in step s every rank sends the partial
    /// sums that the rank 2^s before it leads home.
    ///
    /// Cost: ⌈log p⌉α + (p-1)m(β+γ) at most, for the longest slice, of m bytes. The one to use between servers.
    /// Source: HCCL's algorithms, NHR.
    pub NhrReduceScatterV: reduce_scatter_v {
        deterministic;
        copy_in { scratch = input; }
        for s in 0..log2_ceil(ranks) {
            let delta = 1 << s;
            let to = wrap(rank - delta, ranks);
            let from = wrap(rank + delta, ranks);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(ranks - 1 + delta) / (2 * delta) {
                    let chunk = wrap(to - 2 * delta * i, ranks);
                    to.scratch[chunk] += scratch[chunk];
                }
            }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch[rank]; }
    }
}
