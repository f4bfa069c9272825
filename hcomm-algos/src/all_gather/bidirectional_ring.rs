//! All-gather both ways round a ring.

use hcomm_macros::collective;

collective! {
    /// All-gather both ways round a ring: each slice goes half the way to the right, half the way to the left.
    ///
    /// Cost: ⌊p/2⌋(α + nβ/p) for n bytes of output on p ranks. Half the steps of the ring where links are full duplex.
    /// Source: HCCL's algorithms, Ring, with its double ring's idea.
    pub BidirectionalRingAllGather: all_gather {
        let right = wrap(rank + 1, ranks);
        let left = wrap(rank - 1, ranks);
        copy_in { scratch[rank] = input; }
        par {
            lane {
                for step in 0..ranks / 2 {
                    let chunk = wrap(rank - step, ranks);
                    pre_sync  { signal left; wait right; }
                    move      { right.scratch[chunk] = scratch[chunk]; }
                    post_sync { signal right; wait left; }
                }
            }
            lane {
                for step in 0..(ranks - 1) / 2 {
                    let chunk = wrap(rank + step, ranks);
                    pre_sync  { signal right; wait left; }
                    move      { left.scratch[chunk] = scratch[chunk]; }
                    post_sync { signal left; wait right; }
                }
            }
        }
        copy_out { output = scratch; }
    }
}
