//! Reduce up a binomial tree.

use hcomm_macros::collective;

collective! {
    /// Binomial tree reduce: in step s every second rank that is left adds its sum to the one 2^s before it.
    ///
    /// Cost: ⌈log p⌉(α + nβ + nγ) for n bytes on p ranks. For small messages.
    /// Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005).
    pub BinomialReduce: reduce {
        split: 1;
        deterministic;
        let place = wrap(rank - root, ranks);
        copy_in { scratch = input; }
        for s in 0..log2_ceil(ranks) {
            let delta = 1 << s;
            if place % (2 * delta) == delta {
                let to = wrap(rank - delta, ranks);
                pre_sync { wait to; } move { to.scratch += scratch; } post_sync { signal to; }
            } else if place % (2 * delta) == 0 && place + delta < ranks {
                let from = wrap(rank + delta, ranks);
                pre_sync { signal from; } post_sync { wait from; }
            }
        }
        if rank == root { copy_out { output = scratch; } }
    }
}
