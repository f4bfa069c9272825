//! Which block does what: statements outside `par` have block 0, lanes are dealt to the others.

use std::ops::Range;

use super::MAX_BLOCKS;
use crate::instance::{Instance, TaskKind};

/// The lanes of the widest `par` of any rank; 0 if there is none that does something.
pub fn lanes(instance: &Instance) -> u32 {
    let of_rank = |tasks: &Vec<crate::instance::Task>| {
        let (mut most, mut inside) = (0, false);
        for task in tasks {
            match task.kind {
                TaskKind::Fork => inside = true,
                TaskKind::Join => inside = false,
                _ if inside => most = most.max(task.lane + 1),
                _ => {}
            }
        }
        most
    };
    instance.ranks.iter().map(of_rank).max().unwrap_or(0)
}

/// The blocks that an algorithm of so many lanes has unless it is given another number: one for the statements outside
/// `par` and one for each lane, as far as there are cores.
pub const fn default_blocks(lanes: u32) -> u32 {
    if lanes >= MAX_BLOCKS { MAX_BLOCKS } else { lanes + 1 }
}

/// How lanes are dealt to blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deal {
    lanes: u32,
    pub(super) blocks: u32,
    /// How many blocks share a lane.
    pub(super) parts: u32,
}

impl Deal {
    /// Deals `lanes` to `blocks`, which is at least 1.
    pub(super) fn new(lanes: u32, blocks: u32) -> Deal {
        let parts = match lanes {
            0 => blocks,
            _ => ((blocks - 1) / lanes).max(1),
        };
        Deal { lanes, blocks, parts }
    }

    /// The blocks of the statements outside `par`: one, unless there is no `par`.
    pub(super) fn outside(&self) -> Range<u32> {
        if self.lanes == 0 { 0..self.blocks } else { 0..1 }
    }

    /// The blocks of a lane: one for each part.
    pub(super) fn of_lane(&self, lane: u32) -> Range<u32> {
        if self.blocks == 1 {
            return 0..1;
        }
        let others = self.blocks - 1;
        let first = if others < self.lanes { 1 + lane % others } else { 1 + lane * self.parts };
        first..first + self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_has_as_many_blocks_as_there_are_parts_and_block_0_is_for_the_rest() {
        for lanes in 0..20 {
            for blocks in 1..=MAX_BLOCKS {
                let deal = Deal::new(lanes, blocks);
                for lane in 0..lanes {
                    let own = deal.of_lane(lane);
                    assert!(own.end <= blocks && own.len() as u32 == deal.parts, "{deal:?}");
                    assert!(blocks == 1 || own.start > 0, "{deal:?}");
                }
                let outside = deal.outside().len() as u32;
                assert_eq!(outside, if lanes == 0 { blocks } else { 1 });
            }
        }
        assert_eq!(Deal::new(3, 4).of_lane(2), 3..4);
        assert_eq!(Deal::new(3, 3).of_lane(2), 1..2);
        assert_eq!(Deal::new(3, 48).of_lane(2), 31..46);
    }
}
