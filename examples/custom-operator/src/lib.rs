//! An operator of one's own: an all-gather that uses both directions of a ring at once.

use hcomm::prelude::*;

/// What our board leaves for this operator: a limit of the user's, which the compiler checks.
pub const BOARD_THREADS: u32 = 2;

collective! {
    /// Two-way ring all-gather: the first half of every slice goes to the right, the second half to the left.
    ///
    /// Cost: (p-1)α + (p-1)/2p·nβ for n bytes of output on p ranks, half of a one-way ring's, where a link carries both
    /// directions at once.
    pub TwoWayRingAllGather: all_gather {
        split: 2;
        max_ranks: 64;
        budget: { threads: crate::BOARD_THREADS, channels: 2, channel_notifies: 8 };

        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        copy_in { scratch[2 * rank..2 * rank + 2] = input; }
        par {
            lane {
                for step in 0..ranks - 1 {
                    let chunk = 2 * wrap(rank - step, ranks);
                    pre_sync  { signal prev.right_ready; wait next.right_ready; }
                    move      { next.scratch[chunk] = scratch[chunk]; }
                    post_sync { signal next.right_done; wait prev.right_done; }
                }
            }
            lane {
                for step in 0..ranks - 1 {
                    let chunk = 2 * wrap(rank + step, ranks) + 1;
                    pre_sync  { signal next.left_ready; wait prev.left_ready; }
                    move      { prev.scratch[chunk] = scratch[chunk]; }
                    post_sync { signal prev.left_done; wait next.left_done; }
                }
            }
        }
        copy_out { output = scratch; }
    }
}

/// The counts at 8 ranks, as a constant.
pub const AT_EIGHT: Resources = TwoWayRingAllGather::resources(8);
/// A plan for 64 ranks, checked on this line: more ranks than `max_ranks` would not compile.
pub const AT_SIXTY_FOUR: Plan = plan_for!(TwoWayRingAllGather, 64);
