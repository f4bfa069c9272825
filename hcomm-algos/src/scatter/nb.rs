//! Scatter by the nonuniform Bruck algorithm.

use hcomm_macros::collective;

collective! {
    /// NB scatter: the ranks that have data send every second slice of it to the rank 2^k further.
    ///
    /// Cost: ⌈log p⌉α + (p-1)/p·nβ for n bytes of input on p ranks. For many ranks and small messages.
    /// Source: HCCL's algorithms, NB.
    pub NbScatter: scatter {
        let place = wrap(rank - root, ranks);
        if rank == root { copy_in { scratch = input; } }
        for k in 0..log2_ceil(ranks) {
            let delta = 1 << k;
            if place < delta && place + delta < ranks {
                let to = wrap(rank + delta, ranks);
                pre_sync { wait to; }
                move {
                    // Slices beyond the root are somebody else's.
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
        copy_out { output = scratch[rank]; }
    }
}
