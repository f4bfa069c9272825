//! All-to-all in pairs, of slices of different sizes.

use hcomm_macros::collective;

collective! {
    /// Pairwise all-to-all of slices of different sizes: in step k every rank writes to the rank k further.
    ///
    /// Cost: (p-1)α + β·Σ_k max_i n(i, i+k) for n(i, j) bytes from rank i to rank j. The one to use between servers:
    /// one flow into and out of every rank at a time.
    /// Source: HCCL's algorithms, Pairwise.
    pub PairwiseAllToAllV: all_to_all_v {
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
