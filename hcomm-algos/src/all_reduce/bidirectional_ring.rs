//! All-reduce both ways round a ring.

use hcomm_macros::collective;

collective! {
    /// All-reduce both ways round a ring: one half of the data goes to the right, the other to the left.
    ///
    /// Cost: 2(p-1)α + (p-1)/p·nβ + (p-1)/2p·nγ for n bytes on p ranks. Half the time of the ring where links are full
    /// duplex.
    /// Source: HCCL's algorithms, Ring, with its double ring's idea.
    pub BidirectionalRingAllReduce: all_reduce {
        split: 2 * ranks;
        deterministic;
        let right = wrap(rank + 1, ranks);
        let left = wrap(rank - 1, ranks);
        copy_in { scratch = input; }
        par {
            lane {
                for step in 0..ranks - 1 {
                    let chunk = wrap(rank - step, ranks);
                    pre_sync  { signal left; wait right; }
                    move      { right.scratch[chunk] += scratch[chunk]; }
                    post_sync { signal right; wait left; }
                }
                for step in 0..ranks - 1 {
                    let chunk = wrap(rank + 1 - step, ranks);
                    pre_sync  { signal left; wait right; }
                    move      { right.scratch[chunk] = scratch[chunk]; }
                    post_sync { signal right; wait left; }
                }
            }
            // With two ranks both neighbours are one peer, so this way has notifies of its own.
            lane {
                for step in 0..ranks - 1 {
                    let chunk = ranks + wrap(rank + step, ranks);
                    pre_sync  { signal right.ready_left; wait left.ready_left; }
                    move      { left.scratch[chunk] += scratch[chunk]; }
                    post_sync { signal left.done_left; wait right.done_left; }
                }
                for step in 0..ranks - 1 {
                    let chunk = ranks + wrap(rank - 1 + step, ranks);
                    pre_sync  { signal right.ready_left; wait left.ready_left; }
                    move      { left.scratch[chunk] = scratch[chunk]; }
                    post_sync { signal left.done_left; wait right.done_left; }
                }
            }
        }
        copy_out { output = scratch; }
    }
}
