//! From chunks to bytes: how a count of elements is cut into rounds and chunks, and where a chunk lies.
//!
//! Rules (DESIGN sections 5 and 9, facts 8.2):
//!
//! * A slot (`count` elements) is cut into **rounds** of at most `per_round` elements, so that `scratch` cells fit the
//!   HCCL buffer and no transfer is longer than 256 MB. The last round takes the rest. A count of zero is one round
//!   of nothing, so that handshakes stay.
//! * The piece of a slot that a round works on is cut into `split` chunks. All have the same length but the last
//!   ones, which take the rest and may be empty. Boundaries are multiples of 128 bytes where every chunk has at least
//!   that much, whole elements otherwise.
//! * A **cell** of scratch is as long as the round's longest chunk, rounded up to 128 bytes. Cell `i` starts at
//!   `i * cell`.
//! * In `input` and `output`, slot `i` starts at `i * count` elements, whatever the round.

use crate::operator::Buffer;
use crate::program::{Program, Transfer};

/// HCCL's slice alignment in bytes (facts 2.2: `HCCL_MIN_SLICE_ALIGN`).
pub const ALIGN: u64 = 128;
/// The longest transfer in bytes (facts 2.2: `UB_MAX_DATA_SIZE`).
pub const MAX_TRANSFER: u64 = 256 << 20;
/// The default HCCL buffer in bytes (DESIGN section 10).
pub const DEFAULT_HCCL_BUFFER: u64 = 200 << 20;
/// The largest element count of an operator (facts 2.2: `SYS_MAX_COUNT`).
pub const MAX_COUNT: u64 = 0x7_FFFF_FFFF;

/// How a count is cut into rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Elements of a slot.
    pub count: u64,
    /// Bytes of an element.
    pub element: u64,
    /// Chunks a slot.
    pub split: u64,
    /// Elements of a slot in every round but the last.
    pub per_round: u64,
    /// How many rounds, at least 1.
    pub rounds: u64,
}

/// One round: the piece of every slot that it works on, and the chunks in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Bytes of a slot.
    slot: u64,
    /// Where the piece starts in a slot, in bytes.
    start: u64,
    /// Bytes of the piece.
    piece: u64,
    /// Bytes of every chunk but the last ones.
    chunk: u64,
    /// Bytes of a cell of scratch.
    cell: u64,
    /// Chunks a slot.
    split: u64,
}

/// A run of bytes that one hardware operation moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Byte offset in the destination buffer.
    pub dst: u64,
    /// Byte offset in the source buffer.
    pub src: u64,
    /// Bytes, at least 1 and at most [`MAX_TRANSFER`].
    pub len: u64,
}

/// Why a count does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// The HCCL buffer does not hold one smallest cell for every cell of scratch.
    #[error("an HCCL buffer of {have} bytes is too small: {cells} cells of scratch need at least {need} bytes")]
    BufferTooSmall {
        /// Bytes given.
        have: u64,
        /// Cells of scratch.
        cells: u32,
        /// Bytes needed.
        need: u64,
    },
    /// The count is larger than any operator takes.
    #[error("a count of {count} is too large: an operator takes at most {MAX_COUNT} elements")]
    CountTooLarge {
        /// Elements given.
        count: u64,
    },
}

impl Rounds {
    /// Cuts `count` elements of `element` bytes for `program`, with `hccl_buffer` bytes of scratch. `element` is a
    /// power of two up to [`ALIGN`], as the size of every data type is.
    ///
    /// # Errors
    ///
    /// If the buffer does not hold 128 bytes for every cell, or the count is over [`MAX_COUNT`].
    pub fn new(program: &Program, count: u64, element: u32, hccl_buffer: u64) -> Result<Rounds, SizeError> {
        let (split, element) = (u64::from(program.split.max(1)), u64::from(element.max(1)));
        if count > MAX_COUNT {
            return Err(SizeError::CountTooLarge { count });
        }
        let cells = u64::from(program.scratch);
        let mut piece = MAX_TRANSFER / ALIGN * ALIGN;
        if let Some(share) = hccl_buffer.checked_div(cells) {
            let cell = share / ALIGN * ALIGN;
            if cell == 0 {
                let (have, cells) = (hccl_buffer, program.scratch);
                return Err(SizeError::BufferTooSmall { have, cells, need: u64::from(cells) * ALIGN });
            }
            piece = piece.min(cell.saturating_mul(split));
        }
        let per_round = (piece / element).max(1);
        Ok(Rounds { count, element, split, per_round, rounds: count.div_ceil(per_round).max(1) })
    }

    /// Round `index`, which is below [`rounds`](Self::rounds): any later one is a round of nothing.
    pub fn round(&self, index: u64) -> Round {
        let first = index.saturating_mul(self.per_round).min(self.count);
        let piece = self.per_round.min(self.count - first).saturating_mul(self.element);
        let even = piece.div_ceil(self.split);
        let unit = if piece >= self.split * ALIGN { ALIGN } else { self.element };
        let chunk = even.next_multiple_of(unit);
        Round {
            slot: self.count.saturating_mul(self.element),
            start: first.saturating_mul(self.element),
            piece,
            chunk,
            cell: chunk.next_multiple_of(ALIGN),
            split: self.split,
        }
    }

    /// The round that works on element `element` of every slot.
    pub fn round_of(&self, element: u64) -> u64 {
        element / self.per_round.max(1)
    }
}

impl Round {
    /// Bytes of a chunk of length class `class`, which is below the split.
    pub fn chunk_len(&self, class: u32) -> u64 {
        let start = (u64::from(class) * self.chunk).min(self.piece);
        self.chunk.min(self.piece - start)
    }

    /// Where the chunks of a slot start in it, and how many bytes of it this round works on.
    pub fn piece(&self) -> (u64, u64) {
        (self.start, self.piece)
    }

    /// Bytes of a cell of scratch.
    pub fn cell(&self) -> u64 {
        self.cell
    }

    /// Which chunk of its slot byte `byte` of the slot is in, if this round works on it.
    pub fn chunk_at(&self, byte: u64) -> Option<u64> {
        let within = byte.checked_sub(self.start).filter(|within| *within < self.piece)?;
        within.checked_div(self.chunk)
    }

    /// The byte at which chunk `chunk` of `buffer` starts.
    pub fn offset(&self, buffer: Buffer, chunk: u32) -> u64 {
        self.place(buffer, u64::from(chunk))
    }

    /// [`offset`](Self::offset) of a chunk that may be past every buffer, where it saturates.
    fn place(&self, buffer: Buffer, chunk: u64) -> u64 {
        match buffer {
            Buffer::Scratch => chunk.saturating_mul(self.cell),
            Buffer::Input | Buffer::Output => {
                let (slot, part) = (chunk / self.split, chunk % self.split);
                slot.saturating_mul(self.slot)
                    .saturating_add(self.start)
                    .saturating_add(part.saturating_mul(self.chunk).min(self.piece))
            }
        }
    }

    /// The hardware operations that a transfer takes: one for every run of chunks that lies without gaps at both
    /// ends, cut at [`MAX_TRANSFER`]. None if every chunk is empty.
    pub fn segments(&self, transfer: &Transfer) -> Vec<Segment> {
        self.segments_iter(transfer).collect()
    }

    /// [`segments`](Self::segments), one at a time: nothing is allocated, and empty chunks cost nothing.
    pub fn segments_iter(&self, transfer: &Transfer) -> Segments {
        Segments { round: *self, transfer: *transfer, next: 0, rest: None }
    }
}

/// The segments of a transfer in a round, in order. Made by [`Round::segments_iter`].
#[derive(Clone, Copy, Debug)]
pub struct Segments {
    round: Round,
    transfer: Transfer,
    /// The first chunk of the run that is not yet in a segment.
    next: u64,
    /// What is left of a run of chunks that was longer than a transfer may be.
    rest: Option<Segment>,
}

impl Segments {
    /// The next chunk that is not empty.
    fn chunk(&mut self) -> Option<Segment> {
        let (round, transfer) = (&self.round, &self.transfer);
        if round.chunk == 0 {
            return None;
        }
        while self.next < u64::from(transfer.len) {
            let class = (u64::from(transfer.class) + self.next) % round.split;
            let before = class * round.chunk;
            if before >= round.piece {
                // So are all that follow in this slot.
                self.next += round.split - class;
                continue;
            }
            return Some(Segment {
                dst: round.place(transfer.dst.buffer, u64::from(transfer.dst.chunk) + self.next),
                src: round.place(transfer.src.buffer, u64::from(transfer.src.chunk) + self.next),
                len: round.chunk.min(round.piece - before),
            });
        }
        None
    }
}

impl Iterator for Segments {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        let mut run = match self.rest.take() {
            Some(rest) => rest,
            None => {
                let first = self.chunk()?;
                self.next += 1;
                first
            }
        };
        while run.len < MAX_TRANSFER
            && let Some(more) = self.chunk()
            && run.dst.saturating_add(run.len) == more.dst
            && run.src.saturating_add(run.len) == more.src
        {
            run.len += more.len;
            self.next += 1;
        }
        if run.len > MAX_TRANSFER {
            let (dst, src) = (run.dst.saturating_add(MAX_TRANSFER), run.src.saturating_add(MAX_TRANSFER));
            self.rest = Some(Segment { dst, src, len: run.len - MAX_TRANSFER });
            run.len = MAX_TRANSFER;
        }
        Some(run)
    }
}

#[cfg(test)]
mod tests;
