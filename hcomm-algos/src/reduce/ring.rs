//! Reduce along a ring.

use hcomm_macros::collective;

collective! {
    /// Ring reduce: a partial sum goes from neighbour to neighbour, and ends at the root.
    ///
    /// A rank takes the next round while its neighbour has this one, so that long messages fill the ring.
    ///
    /// Cost: (p-1)(α + nβ + nγ) for n bytes of one round on p ranks. Uses one link each way.
    /// Source: HCCL's algorithms, Ring.
    pub RingReduce: reduce {
        split: 1;
        deterministic;
        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        copy_in { scratch = input; }
        if prev != root { pre_sync { signal prev; } post_sync { wait prev; } }
        if rank == root {
            copy_out { output = scratch; }
        } else {
            pre_sync { wait next; } move { next.scratch += scratch; } post_sync { signal next; }
        }
    }
}
