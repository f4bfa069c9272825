//! Broadcast along a ring.

use hcomm_macros::collective;

collective! {
    /// Ring broadcast: the message goes from neighbour to neighbour.
    ///
    /// A rank takes the next round while its neighbour has this one, so that long messages fill the ring.
    ///
    /// Cost: (p-1)(α + nβ) for n bytes of one round on p ranks. Uses one link each way.
    /// Source: HCCL's algorithms, Ring.
    pub RingBroadcast: broadcast {
        split: 1;
        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        if rank == root { copy_in { scratch = input; } } else { pre_sync { signal prev; } post_sync { wait prev; } }
        if next != root { pre_sync { wait next; } move { next.scratch = scratch; } post_sync { signal next; } }
        copy_out { output = scratch; }
    }
}
