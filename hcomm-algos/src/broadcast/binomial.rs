//! Broadcast down a binomial tree.

use hcomm_macros::collective;

collective! {
    /// Binomial tree broadcast: in step s the 2^s ranks that have the message send it to 2^s others.
    ///
    /// Cost: ⌈log p⌉(α + nβ) for n bytes on p ranks. For small messages; the last step crosses the longest links.
    /// Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005).
    pub BinomialBroadcast: broadcast {
        split: 1;
        let place = wrap(rank - root, ranks);
        if rank == root { copy_in { scratch = input; } }
        for s in 0..log2_ceil(ranks) {
            let delta = 1 << s;
            if place < delta && place + delta < ranks {
                let to = wrap(rank + delta, ranks);
                pre_sync { wait to; } move { to.scratch = scratch; } post_sync { signal to; }
            } else if place >= delta && place < 2 * delta {
                let from = wrap(rank - delta, ranks);
                pre_sync { signal from; } post_sync { wait from; }
            }
        }
        copy_out { output = scratch; }
    }
}
