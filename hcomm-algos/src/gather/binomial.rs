//! Gather up a binomial tree.

use hcomm_macros::collective;

collective! {
    /// Binomial tree gather: in step s every second rank that is left sends all it has to the one 2^s before it.
    ///
    /// Scratch is in the order of places, which count from the root.
    ///
    /// Cost: ⌈log p⌉α + (p-1)/p·nβ for n bytes of output on p ranks. For small messages.
    /// Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005).
    pub BinomialGather: gather {
        let place = wrap(rank - root, ranks);
        copy_in { scratch[place] = input; }
        for s in 0..log2_ceil(ranks) {
            let delta = 1 << s;
            if place % (2 * delta) == delta {
                let to = wrap(rank - delta, ranks);
                let high = min(place + delta, ranks);
                pre_sync { wait to; } move { to.scratch[place..high] = scratch[place..high]; } post_sync { signal to; }
            } else if place % (2 * delta) == 0 && place + delta < ranks {
                let from = wrap(rank + delta, ranks);
                pre_sync { signal from; } post_sync { wait from; }
            }
        }
        if rank == root {
            copy_out { output[root..ranks] = scratch[0..ranks - root]; output[0..root] = scratch[ranks - root..ranks]; }
        }
    }
}
