//! All-gather on a ring.

use hcomm_macros::collective;

collective! {
    /// Ring all-gather. Two lanes: what goes out to the right, and what comes in from the left.
    ///
    /// Cost: (p-1)α + (p-1)/p·nβ for n bytes of output on p ranks. Uses one link each way.
    /// Source: HCCL's algorithms, Ring.
    pub RingAllGather: all_gather {
        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        copy_in { scratch[rank] = input; }
        for step in 0..ranks - 1 {
            let chunk = wrap(rank - step, ranks);
            par {
                lane {
                    pre_sync  { wait next; }
                    move      { next.scratch[chunk] = scratch[chunk]; }
                    post_sync { signal next; }
                }
                lane { pre_sync { signal prev; } post_sync { wait prev; } }
            }
        }
        copy_out { output = scratch; }
    }
}
