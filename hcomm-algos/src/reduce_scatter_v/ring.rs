//! Reduce-scatter of slices of different sizes on a ring.

use hcomm_macros::collective;

collective! {
    /// Ring reduce-scatter of slices of different sizes: a partial sum of every slice goes once round the ring.
    ///
    /// Cost: (p-1)(α + m(β+γ)) for the longest slice, of m bytes, which slows every step. Uses one link each way.
    /// Source: HCCL's algorithms, Ring.
    pub RingReduceScatterV: reduce_scatter_v {
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
