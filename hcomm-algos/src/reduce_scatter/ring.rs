//! Reduce-scatter on a ring.

use hcomm_macros::collective;

collective! {
    /// Ring reduce-scatter: a partial sum of every slice goes once round the ring and ends at its owner.
    ///
    /// Cost: (p-1)α + (p-1)/p·n(β+γ) for n bytes of input on p ranks. Uses one link each way.
    /// Source: HCCL's algorithms, Ring.
    pub RingReduceScatter: reduce_scatter {
        deterministic;
        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        copy_in { scratch = input; }
        for step in 1..ranks {
            let chunk = wrap(rank - step, ranks);
            pre_sync  { signal prev; wait next; }
            move      { next.scratch[chunk] += scratch[chunk]; }
            post_sync { signal next; wait prev; }
        }
        copy_out { output = scratch[rank]; }
    }
}
