//! Scatter down a binomial tree.

use hcomm_macros::collective;

collective! {
    /// Binomial tree scatter: who has slices sends the further half of them on, as one run.
    ///
    /// Scratch is in the order of places, which count from the root.
    ///
    /// Cost: ⌈log p⌉α + (p-1)/p·nβ for n bytes of input on p ranks. For small messages.
    /// Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005).
    pub BinomialScatter: scatter {
        let steps = log2_ceil(ranks);
        let place = wrap(rank - root, ranks);
        if rank == root {
            copy_in { scratch[0..ranks - root] = input[root..ranks]; scratch[ranks - root..ranks] = input[0..root]; }
        }
        for s in 0..steps {
            let delta = 1 << (steps - 1 - s);
            if place % (2 * delta) == 0 && place + delta < ranks {
                let to = wrap(rank + delta, ranks);
                let low = place + delta;
                let high = min(place + 2 * delta, ranks);
                pre_sync { wait to; } move { to.scratch[low..high] = scratch[low..high]; } post_sync { signal to; }
            } else if place % (2 * delta) == delta {
                let from = wrap(rank - delta, ranks);
                pre_sync { signal from; } post_sync { wait from; }
            }
        }
        copy_out { output = scratch[place]; }
    }
}
