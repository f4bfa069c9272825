//! Barrier by dissemination.

use hcomm_macros::collective;

collective! {
    /// Dissemination barrier: in step k every rank tells the one 2^k further, which by then speaks for 2^k ranks.
    ///
    /// A notify is one bit, so the next barrier may not signal before this one's was taken: hence the answers, all at
    /// once in the end.
    ///
    /// Cost: (⌈log p⌉+1)α on p ranks. The one to use between servers.
    /// Source: Hensgen, Finkel and Manber, Two algorithms for barrier synchronization (1988).
    pub DisseminationBarrier: barrier {
        for k in 0..log2_ceil(ranks) {
            let to = wrap(rank + (1 << k), ranks);
            let from = wrap(rank - (1 << k), ranks);
            pre_sync { signal to; wait from; }
        }
        for k in 0..log2_ceil(ranks) { post_sync { signal at(wrap(rank - (1 << k), ranks)); } }
        for k in 0..log2_ceil(ranks) { post_sync { wait at(wrap(rank + (1 << k), ranks)); } }
    }
}
