//! All-reduce on a ring.

use hcomm_macros::collective;

collective! {
    /// Ring all-reduce: a reduce-scatter round the ring, then an all-gather round the ring.
    ///
    /// Cost: 2(p-1)α + 2(p-1)/p·nβ + (p-1)/p·nγ for n bytes on p ranks. Moves the fewest bytes over one link each way.
    /// Source: HCCL's algorithms, Ring; Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of
    /// workstations (2009).
    pub RingAllReduce: all_reduce {
        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        copy_in { scratch = input; }
        for step in 0..ranks - 1 {
            let chunk = wrap(rank - step, ranks);
            pre_sync  { signal prev; wait next; }
            move      { next.scratch[chunk] += scratch[chunk]; }
            post_sync { signal next; wait prev; }
        }
        for step in 0..ranks - 1 {
            let chunk = wrap(rank + 1 - step, ranks);
            pre_sync  { signal prev; wait next; }
            move      { next.scratch[chunk] = scratch[chunk]; }
            post_sync { signal next; wait prev; }
        }
        copy_out { output = scratch; }
    }
}
