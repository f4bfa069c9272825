//! All-reduce by HCCL's nonuniform hierarchical ring.

use hcomm_macros::collective;

collective! {
    /// NHR all-reduce with HCCL's schedule: NHR reduce-scatter, then NHR all-gather.
    ///
    /// Cost: 2⌈log p⌉α + 2(p-1)/p·nβ + (p-1)/p·nγ for n bytes on p ranks. The one to use between servers.
    /// Source: HCCL's algorithms, NHR.
    pub NhrAllReduce: all_reduce {
        deterministic;
        let steps = log2_ceil(ranks);
        copy_in { scratch = input; }
        for s in 0..steps {
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
