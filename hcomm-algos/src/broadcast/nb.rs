//! Broadcast by the nonuniform Bruck algorithm.

use hcomm_macros::collective;

collective! {
    /// NB broadcast: NB scatter, then NB all-gather.
    ///
    /// Cost: 2⌈log p⌉α + 2(p-1)/p·nβ for n bytes on p ranks. For many ranks and medium messages.
    /// Source: HCCL's algorithms, NB.
    pub NbBroadcast: broadcast {
        let steps = log2_ceil(ranks);
        let place = wrap(rank - root, ranks);
        if rank == root { copy_in { scratch = input; } }
        for k in 0..steps {
            let delta = 1 << k;
            if place < delta && place + delta < ranks {
                let to = wrap(rank + delta, ranks);
                pre_sync { wait to; }
                move {
                    // Chunks beyond the root are somebody else's.
                    for i in 0..(ranks - 1 - place + delta) / (2 * delta) {
                        let chunk = wrap(to + 2 * delta * i, ranks);
                        to.scratch[chunk] = scratch[chunk];
                    }
                }
                post_sync { signal to; }
            } else if place >= delta && place < 2 * delta {
                let from = wrap(rank - delta, ranks);
                pre_sync { signal from; } post_sync { wait from; }
            }
        }
        for k in 0..steps {
            let delta = 1 << k;
            let to = wrap(rank + delta, ranks);
            let from = wrap(rank - delta, ranks);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..min(delta, ranks - delta) {
                    let chunk = wrap(rank - i, ranks);
                    to.scratch[chunk] = scratch[chunk];
                }
            }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
