//! A copy as the pieces that go through the Unified Buffer.

use hcomm_core::aiv::Copy;
use hcomm_core::program::{Cell, Transfer};
use hcomm_core::sizes::{Round, Segment, Segments};

/// The pieces of a copy in a round, in order.
#[derive(Debug)]
pub(crate) struct Pieces {
    round: Round,
    copy: Copy,
    /// Parts of a chunk, and length classes.
    parts: u32,
    classes: u32,
    /// Bytes of a piece.
    piece: u64,
    /// The next chunk of a run of parts; whether the run has begun, of whole chunks.
    next: u32,
    segments: Option<Segments>,
    rest: Option<Segment>,
}

impl Pieces {
    pub(crate) fn new(round: &Round, copy: &Copy, parts: u32, classes: u32, piece: u64) -> Pieces {
        let round = round.clone();
        Pieces { round, copy: *copy, parts, classes: classes.max(1), piece, next: 0, segments: None, rest: None }
    }

    /// The segments of the next chunk, or of all of them where these are whole.
    fn next_segments(&mut self) -> Option<Segments> {
        let Copy { dst, src, len, class, part, .. } = self.copy;
        let (first, len) = match part {
            None if self.next == 0 => (0, std::mem::replace(&mut self.next, len).max(len)),
            Some(_) if self.next < len => {
                self.next += 1;
                (self.next - 1, 1)
            }
            _ => return None,
        };
        let cell = |cell: Cell| Cell { chunk: cell.chunk.saturating_add(first), ..cell };
        let class = ((u64::from(class) + u64::from(first)) % u64::from(self.classes)) as u32;
        let transfer = Transfer { dst: cell(dst.cell), src: cell(src.cell), len, class };
        Some(self.round.segments_iter(&transfer, dst.rank, src.rank))
    }

    /// The parts of a chunk that the copy moves.
    fn part(&self, chunk: Segment) -> Segment {
        let Some(parts) = self.copy.part else { return chunk };
        let (start, len) = parts.bytes(self.parts, chunk.len);
        Segment { dst: chunk.dst + start, src: chunk.src + start, len }
    }
}

impl Iterator for Pieces {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        loop {
            if let Some(Segment { dst, src, len }) = self.rest.take().filter(|rest| rest.len > 0) {
                let now = len.min(self.piece);
                self.rest = Some(Segment { dst: dst + now, src: src + now, len: len - now });
                return Some(Segment { dst, src, len: now });
            }
            match self.segments.as_mut().and_then(Segments::next) {
                Some(chunk) => self.rest = Some(self.part(chunk)),
                None => self.segments = Some(self.next_segments()?),
            }
        }
    }
}
