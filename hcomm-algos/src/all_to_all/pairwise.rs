//! All-to-all in pairs.

use hcomm_macros::collective;

collective! {
    /// Pairwise all-to-all: in step k every rank writes to the rank k further, and is written to by the one k before.
    ///
    /// Cost: (p-1)(α + nβ/p) for n bytes of input on p ranks. The one to use between servers: one flow into and out of
    /// every rank at a time.
    /// Source: HCCL's algorithms, Pairwise.
    pub PairwiseAllToAll: all_to_all {
        copy_in { scratch[rank] = input[rank]; }
        for k in 1..ranks {
            let to = wrap(rank + k, ranks);
            let from = wrap(rank - k, ranks);
            pre_sync  { signal from; wait to; }
            move      { to.scratch[rank] = input[to]; }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
