//! Which roots, sources and destinations an algorithm is tried with.

use crate::operator::Operator;
use crate::shape::{Layout, Shape};

/// Up to how many ranks every root is tried.
pub const ALL_ROOTS: u32 = 64;
/// Up to how many ranks every pair of source and destination is tried.
pub const ALL_PAIRS: u32 = 8;

impl Shape {
    /// The first of the roles that are tried: see [`next_roles`](Self::next_roles).
    pub const fn first_roles(layout: Layout) -> Shape {
        Shape::new(layout)
    }

    /// The roles that are tried after these, `None` after the last.
    ///
    /// Every root up to [`ALL_ROOTS`] ranks, evenly spread ones (0 and the last among them) above; every pair of
    /// source and destination up to [`ALL_PAIRS`] ranks, and above it pairs of ranks at the ends, next to them and
    /// in the middle.
    pub const fn next_roles(&self, operator: Operator) -> Option<Shape> {
        let (ranks, mut next) = (self.ranks(), *self);
        if operator.has_root() {
            let last = ranks - 1;
            next.root = if ranks <= ALL_ROOTS {
                self.root + 1
            } else if self.root < last && self.root + ranks / ALL_ROOTS > last {
                last
            } else {
                self.root + ranks / ALL_ROOTS
            };
            return if next.root > last { None } else { Some(next) };
        }
        if operator.has_src_dst() {
            loop {
                next.dst = next_pick(next.dst, ranks);
                if next.dst >= ranks {
                    next.dst = 0;
                    next.src = next_pick(next.src, ranks);
                }
                if next.src >= ranks {
                    return None;
                }
                if next.src != next.dst {
                    return Some(next);
                }
            }
        }
        None
    }
}

/// The rank after `rank` that is tried as a source or destination.
const fn next_pick(rank: u32, ranks: u32) -> u32 {
    let middle = ranks / 2;
    if ranks <= ALL_PAIRS || rank == 0 {
        rank + 1
    } else if rank < middle {
        middle
    } else if rank < ranks - 1 {
        ranks - 1
    } else {
        ranks
    }
}
