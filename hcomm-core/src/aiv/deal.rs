//! Which block does what.

use super::MAX_BLOCKS;
use super::program::Parts;
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

/// How lanes, and the statements outside `par`, are dealt to blocks.
///
/// * No more blocks than one for each lane and one for the rest: that one is block 0, and lanes are dealt to the others
///   round-robin.
/// * More: blocks / lanes of them share a lane, each with its flags and its share of every chunk. A stretch of statements
///   outside `par` without flags is shared by all blocks, as all meet before and after it anyway; one with flags by as
///   many as share a lane, each with its flags, so that it needs no meeting within.
/// * Without `par`, all blocks share the one stretch that there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deal {
    pub(super) blocks: u32,
    /// How many blocks share a lane, and parts that flags have.
    pub(super) shares: u32,
    /// How many parts a chunk is cut into.
    pub(super) parts: u32,
}

/// What a block does of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) block: u32,
    /// Its part of every flag.
    pub(super) flag: u32,
    /// Its parts of every chunk; all of it if none.
    pub(super) parts: Option<Parts>,
}

impl Deal {
    /// Deals `lanes` to `blocks`, which is at least 1.
    pub(super) fn new(lanes: u32, blocks: u32) -> Deal {
        let (shares, parts) = match lanes {
            0 => (blocks, blocks),
            _ if blocks <= lanes.saturating_add(1) => (1, 1),
            _ => (blocks / lanes, blocks),
        };
        Deal { blocks, shares, parts }
    }

    /// The shares of a stretch of statements outside `par`.
    pub(super) fn outside(&self, has_flags: bool) -> Vec<Share> {
        if self.parts == 1 {
            return vec![Share { block: 0, flag: 0, parts: None }];
        }
        if has_flags {
            return self.shared(0, self.shares);
        }
        self.shared(0, self.blocks)
    }

    /// The shares of a lane.
    pub(super) fn of_lane(&self, lane: u32) -> Vec<Share> {
        if self.parts == 1 {
            let block = if self.blocks == 1 { 0 } else { 1 + lane % (self.blocks - 1) };
            return vec![Share { block, flag: 0, parts: None }];
        }
        self.shared(lane * self.shares, self.shares)
    }

    /// What each of `number` blocks does of what they share: parts as evenly as they go.
    fn shared(&self, first: u32, number: u32) -> Vec<Share> {
        let bound = |share: u32| (u64::from(share) * u64::from(self.parts) / u64::from(number)) as u32;
        let share = |share: u32| {
            let (start, end) = (bound(share), bound(share + 1));
            let parts = (number > 1).then_some(Parts { first: start, len: end - start });
            Share { block: first + share, flag: share, parts }
        };
        (0..number).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that the shares have, one after the other.
    fn parts(deal: &Deal, shares: &[Share]) -> Vec<u32> {
        shares.iter().flat_map(|share| share.parts.map_or(0..deal.parts, |parts| parts.first..parts.end())).collect()
    }

    #[test]
    fn every_part_of_every_lane_and_stretch_is_one_blocks() {
        for lanes in 0..20 {
            for blocks in 1..=MAX_BLOCKS {
                let deal = Deal::new(lanes, blocks);
                let mut taken = vec![0; blocks as usize];
                for lane in 0..lanes {
                    let shares = deal.of_lane(lane);
                    assert_eq!(parts(&deal, &shares), (0..deal.parts).collect::<Vec<_>>(), "{deal:?}");
                    assert!(shares.iter().map(|share| share.flag).eq(0..deal.shares), "{deal:?}");
                    shares.iter().for_each(|share| taken[share.block as usize] += 1);
                }
                // A block has several lanes only where there are fewer blocks.
                assert!(blocks <= lanes || taken.iter().all(|taken| *taken <= 1), "{deal:?}");
                let with_flags = deal.outside(true);
                assert!(with_flags.iter().map(|share| share.flag).eq(0..deal.shares), "{deal:?}");
                for shares in [with_flags, deal.outside(false)] {
                    assert_eq!(parts(&deal, &shares), (0..deal.parts).collect::<Vec<_>>(), "{deal:?}");
                    assert!(shares.iter().all(|share| share.block < blocks), "{deal:?}");
                }
                let all = deal.outside(false).len() as u32;
                assert_eq!(all, if lanes > 0 && blocks <= lanes + 1 { 1 } else { blocks });
            }
        }
        let block = |deal: Deal, lane| deal.of_lane(lane).iter().map(|share| share.block).collect::<Vec<_>>();
        assert_eq!(block(Deal::new(3, 4), 2), [3]);
        assert_eq!(block(Deal::new(3, 3), 2), [1]);
        assert_eq!(block(Deal::new(3, 48), 2), (32..48).collect::<Vec<_>>());
    }
}
