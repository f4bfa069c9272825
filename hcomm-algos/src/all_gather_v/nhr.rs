//! All-gather of slices of different sizes by HCCL's nonuniform hierarchical ring.

use hcomm_macros::collective;

collective! {
    /// NHR all-gather of slices of different sizes, with HCCL's schedule: in step s every rank sends all it has that
    /// the rank 2^(n-1-s) further lacks.
    ///
    /// Cost: ⌈log p⌉α + (p-1)mβ at most, for the longest slice, of m bytes. The one to use between servers.
    /// Source: HCCL's algorithms, NHR.
    pub NhrAllGatherV: all_gather_v {
        copy_in { scratch[rank] = input; }
        let steps = log2_ceil(ranks);
        for s in 0..steps {
            let delta = 1 << (steps - 1 - s);
            let to = wrap(rank + delta, ranks);
            let from = wrap(rank - delta, ranks);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(ranks - 1 + delta) / (2 * delta) {
                    let chunk = wrap(rank - 2 * delta * i, ranks);
                    to.scratch[chunk] = scratch[chunk];
                }
            }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
