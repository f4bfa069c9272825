//! Broadcast by recursive halving.

use hcomm_macros::collective;

collective! {
    /// Recursive halving broadcast: who has the message sends it half of the remaining way.
    ///
    /// Cost: ⌈log p⌉(α + nβ) for n bytes on p ranks. For small messages; the first step crosses the longest links.
    /// Source: HCCL's algorithms, RHD.
    pub RhdBroadcast: broadcast {
        split: 1;
        let steps = log2_ceil(ranks);
        let place = wrap(rank - root, ranks);
        if rank == root { copy_in { scratch = input; } }
        for s in 0..steps {
            let delta = 1 << (steps - 1 - s);
            if place % (2 * delta) == 0 && place + delta < ranks {
                let to = wrap(rank + delta, ranks);
                pre_sync { wait to; } move { to.scratch = scratch; } post_sync { signal to; }
            } else if place % (2 * delta) == delta {
                let from = wrap(rank - delta, ranks);
                pre_sync { signal from; } post_sync { wait from; }
            }
        }
        copy_out { output = scratch; }
    }
}
