//! Where a block needs a pipe barrier: its copies are carried out by pipes of their own, and are over when a barrier says
//! so, not when the next operation begins.
//!
//! A barrier is needed between a copy and a flag, both ways, and between a copy and a later one that reads or writes the
//! same chunk. Copies that have nothing to do with each other overlap.

use std::collections::BTreeMap;

use super::program::{Copy, Gm};
use crate::operator::Buffer;

/// What is under way in a block.
#[derive(Debug, Default)]
pub(super) struct Pipes {
    /// Runs of chunks that copies write: the end of each by its rank, buffer and start. They do not touch.
    written: BTreeMap<(u32, Buffer, u32), u32>,
    /// Whether a flag was waited for, or all blocks, and a copy might start before that is over.
    met: bool,
}

impl Pipes {
    /// Whether the copy needs a barrier before it.
    pub(super) fn before_copy(&self, copy: &Copy) -> bool {
        self.met || self.writes(copy.src, copy.len) || self.writes(copy.dst, copy.len)
    }

    /// What the copy needs a barrier for.
    pub(super) fn what_is_before(&self, copy: &Copy) -> &'static str {
        match (self.met, self.writes(copy.src, copy.len)) {
            (true, _) => "the wait or SyncAll before it is over",
            (false, true) => "the copy that writes what it reads is over",
            (false, false) => "the copy that writes to the same chunk is over",
        }
    }

    /// Whether a copy under way writes one of the chunks.
    fn writes(&self, first: Gm, len: u32) -> bool {
        let (start, end) = (first.cell.chunk, first.cell.chunk.saturating_add(len));
        end > 0 && self.last_before(first, end - 1).is_some_and(|(_, stop)| stop > start)
    }

    /// The last run in that memory that begins at a chunk or before it: start and end.
    fn last_before(&self, memory: Gm, chunk: u32) -> Option<(u32, u32)> {
        let (rank, buffer) = (memory.rank, memory.cell.buffer);
        let mut runs = self.written.range((rank, buffer, 0)..=(rank, buffer, chunk));
        runs.next_back().map(|((_, _, start), end)| (*start, *end))
    }

    /// Whether a record, or a meeting of all blocks, needs a barrier before it.
    pub(super) fn before_signal(&self) -> bool {
        !self.written.is_empty()
    }

    /// A copy begins.
    pub(super) fn copy(&mut self, copy: &Copy) {
        let (rank, buffer) = (copy.dst.rank, copy.dst.cell.buffer);
        let (mut start, mut end) = (copy.dst.cell.chunk, copy.dst.cell.chunk.saturating_add(copy.len));
        while let Some((first, stop)) = self.last_before(copy.dst, end).filter(|(_, stop)| *stop >= start) {
            self.written.remove(&(rank, buffer, first));
            (start, end) = (start.min(first), end.max(stop));
        }
        self.written.insert((rank, buffer, start), end);
    }

    /// A flag was waited for, or all blocks.
    pub(super) fn meet(&mut self) {
        self.met = true;
    }

    /// A barrier.
    pub(super) fn barrier(&mut self) {
        self.written.clear();
        self.met = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Cell;

    fn copy(dst: u32, src: u32, len: u32) -> Copy {
        let gm = |chunk| Gm { rank: 0, cell: Cell { buffer: Buffer::Scratch, chunk } };
        Copy { dst: gm(dst), src: gm(src), len, class: 0, part: None, padded: true }
    }

    #[test]
    fn only_what_touches_a_chunk_under_way_needs_a_barrier() {
        let mut pipes = Pipes::default();
        assert!(!pipes.before_signal() && !pipes.before_copy(&copy(4, 0, 2)));
        pipes.copy(&copy(4, 0, 2));
        pipes.copy(&copy(8, 0, 2));
        pipes.copy(&copy(6, 0, 2));
        assert!(pipes.before_signal());
        assert!(!pipes.before_copy(&copy(0, 20, 4)) && !pipes.before_copy(&copy(10, 0, 4)));
        assert!(
            pipes.before_copy(&copy(0, 7, 1)) && pipes.before_copy(&copy(9, 0, 4)) && pipes.before_copy(&copy(0, 1, 4))
        );
        pipes.barrier();
        assert!(!pipes.before_copy(&copy(0, 7, 1)));
        pipes.meet();
        assert!(pipes.before_copy(&copy(0, 7, 1)) && !pipes.before_signal());
    }
}
