//! All-gather by HCCL's nonuniform hierarchical ring.

use hcomm_macros::collective;

collective! {
    /// NHR all-gather with HCCL's schedule: in step s every rank sends all it has that the rank 2^(n-1-s) further
    /// lacks.
    ///
    /// Cost: ⌈log p⌉α + (p-1)/p·nβ for n bytes of output on p ranks. The one to use between servers.
    /// Source: HCCL's algorithms, NHR.
    pub NhrAllGather: all_gather {
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
