//! From chunks to bytes: how a count of elements is cut into rounds and chunks, and where a chunk lies.
//!
//! Rules (DESIGN sections 5 and 9, facts 8.2):
//!
//! * A slot (`count` elements) is cut into **rounds** of at most `per_round` elements, so that `scratch` cells fit the
//!   HCCL buffer and no transfer is longer than 256 MB. The last round takes the rest. A count of zero is one round
//!   of nothing, so that handshakes stay. Symmetric programs without scratch take one round: nothing is staged. So does a
//!   barrier: it has no data.
//! * The piece of a slot that a round works on is cut into `split` chunks. All have the same length but the last
//!   ones, which take the rest and may be empty. Boundaries are multiples of 128 bytes where every chunk has at least
//!   that much, whole elements otherwise.
//! * A **cell** of scratch is as long as the round's longest chunk, rounded up to 128 bytes. Cell `i` starts at
//!   `i * cell`.
//! * In `input` and `output`, slot `i` starts at `i * count` elements, whatever the round; in the V operators, where
//!   its displacement says. There every slot is cut by its own count, a cell is as long as the longest chunk of all, and
//!   a slot that has no elements left takes part in the handshakes alone.

use std::sync::Arc;

use crate::counts::{Counts, CountsError};
use crate::operator::{Buffer, Operator};
use crate::program::{Cell, Program, Transfer};

/// HCCL's slice alignment in bytes (facts 2.2: `HCCL_MIN_SLICE_ALIGN`).
pub const ALIGN: u64 = 128;
/// The longest transfer in bytes (facts 2.2: `UB_MAX_DATA_SIZE`).
pub const MAX_TRANSFER: u64 = 256 << 20;
/// The default HCCL buffer in bytes (DESIGN section 10).
pub const DEFAULT_HCCL_BUFFER: u64 = 200 << 20;

/// How counts are cut into rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Elements and places of slots.
    counts: Arc<Counts>,
    /// Elements of the largest slot.
    pub count: u64,
    /// Bytes of an element.
    pub element: u64,
    /// Chunks a slot.
    pub split: u64,
    /// Elements of a slot in every round but its last.
    pub per_round: u64,
    /// How many rounds, at least 1.
    pub rounds: u64,
    /// How many length classes there are.
    classes: u64,
    /// Where slots start: for counts that are not the same for all.
    slots: Option<Arc<Slots>>,
}

/// Where the slots of every rank's `input` and `output` start, in elements: only where counts differ.
#[derive(Debug, PartialEq, Eq)]
struct Slots {
    /// By rank and slot.
    starts: [Vec<Vec<u64>>; 2],
}

/// One round: the piece of every slot that it works on, and the chunks in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    rounds: Rounds,
    /// The first element of a slot that it works on.
    first: u64,
    /// Of the largest slot.
    largest: Piece,
    /// Bytes of a cell of scratch.
    cell: u64,
}

/// The piece of a slot that a round works on, and how it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// Bytes of the piece.
    bytes: u64,
    /// Bytes of every chunk but the last ones.
    chunk: u64,
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
    /// The counts do not fit the program.
    #[error(transparent)]
    Counts(#[from] CountsError),
}

impl Rounds {
    /// Cuts `counts` of elements of `element` bytes for `program`, with `hccl_buffer` bytes of scratch. `element` is a
    /// power of two up to [`ALIGN`], as the size of every data type is.
    ///
    /// # Errors
    ///
    /// If the buffer does not hold 128 bytes for every cell, or the counts do not fit the program.
    pub fn new(
        program: &Program,
        counts: impl Into<Counts>,
        element: u32,
        hccl_buffer: u64,
    ) -> Result<Rounds, SizeError> {
        let (counts, split, element) = (counts.into(), u64::from(program.split.max(1)), u64::from(element.max(1)));
        counts.check(program)?;
        // An operator without data has nothing to cut, whatever it is given.
        let counts = if program.operator == Operator::Barrier { Counts::Same(0) } else { counts };
        let cells = u64::from(program.scratch);
        let mut piece = match program.symmetric && cells == 0 {
            // Nothing is staged: one round of everything (facts 7.4). Longer transfers are cut.
            true => counts.largest().saturating_mul(element).max(MAX_TRANSFER),
            false => MAX_TRANSFER / ALIGN * ALIGN,
        };
        if let Some(share) = hccl_buffer.checked_div(cells) {
            let cell = share / ALIGN * ALIGN;
            if cell == 0 {
                let (have, cells) = (hccl_buffer, program.scratch);
                return Err(SizeError::BufferTooSmall { have, cells, need: u64::from(cells) * ALIGN });
            }
            piece = piece.min(cell.saturating_mul(split));
        }
        let (per_round, count) = ((piece / element).max(1), counts.largest());
        let slots = (!matches!(counts, Counts::Same(_))).then(|| Arc::new(Slots::new(program, &counts)));
        let rounds = count.div_ceil(per_round).max(1);
        let classes = u64::from(program.operator.classes(program.num_ranks(), program.split.max(1)));
        Ok(Rounds { counts: Arc::new(counts), count, element, split, per_round, rounds, classes, slots })
    }

    /// Elements and places of slots.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Round `index`, which is below [`rounds`](Self::rounds): any later one is a round of nothing.
    pub fn round(&self, index: u64) -> Round {
        let first = index.saturating_mul(self.per_round);
        let largest = self.piece(first, self.count);
        Round { first, largest, cell: largest.chunk.next_multiple_of(ALIGN), rounds: self.clone() }
    }

    /// The round that works on element `element` of every slot.
    pub fn round_of(&self, element: u64) -> u64 {
        element / self.per_round.max(1)
    }

    /// The piece of a slot of `count` elements from element `first` on.
    fn piece(&self, first: u64, count: u64) -> Piece {
        let bytes = self.per_round.min(count.saturating_sub(first)).saturating_mul(self.element);
        let even = bytes.div_ceil(self.split);
        let unit = if bytes >= self.split * ALIGN { ALIGN } else { self.element };
        Piece { bytes, chunk: even.next_multiple_of(unit) }
    }
}

impl Slots {
    fn new(program: &Program, counts: &Counts) -> Slots {
        let starts = |buffer: Buffer| {
            let slots = |rank| match buffer {
                Buffer::Input => program.operator.input_slots(&program.shape, rank),
                _ => program.operator.output_slots(&program.shape, rank),
            };
            let start = |rank, slot| counts.extent(program, buffer, rank, slot).start;
            (0..program.num_ranks()).map(|rank| (0..slots(rank)).map(|slot| start(rank, slot)).collect()).collect()
        };
        Slots { starts: [starts(Buffer::Input), starts(Buffer::Output)] }
    }

    fn start(&self, buffer: Buffer, rank: u32, slot: u64) -> u64 {
        let table = &self.starts[usize::from(buffer == Buffer::Output)];
        table.get(rank as usize).and_then(|slots| slots.get(slot as usize)).copied().unwrap_or(0)
    }
}

impl Round {
    /// Bytes of a chunk of length class `class`, which is below [`Program::classes`].
    pub fn chunk_len(&self, class: u32) -> u64 {
        let (piece, part) = self.piece_of(class);
        let start = part.saturating_mul(piece.chunk).min(piece.bytes);
        piece.chunk.min(piece.bytes - start)
    }

    /// The piece of the slot that chunks of a class are of, and which chunk of it they are.
    fn piece_of(&self, class: u32) -> (Piece, u64) {
        let part = u64::from(class) % self.rounds.split;
        match self.rounds.slots {
            None => (self.largest, part),
            Some(_) => {
                let count = self.rounds.counts.of_class(class, self.rounds.split);
                (self.rounds.piece(self.first, count), part)
            }
        }
    }

    /// Where the piece of the largest slot starts in it, and how many bytes it has.
    pub fn piece(&self) -> (u64, u64) {
        (self.first.min(self.rounds.count).saturating_mul(self.rounds.element), self.largest.bytes)
    }

    /// Bytes of a cell of scratch.
    pub fn cell(&self) -> u64 {
        self.cell
    }

    /// Which chunk of its slot of `count` elements byte `byte` of the slot is in, if this round works on it.
    pub fn chunk_at(&self, count: u64, byte: u64) -> Option<u64> {
        let piece = self.rounds.piece(self.first, count);
        let start = self.first.saturating_mul(self.rounds.element);
        let within = byte.checked_sub(start).filter(|within| *within < piece.bytes)?;
        within.checked_div(piece.chunk)
    }

    /// The byte at which chunk `chunk` of a rank's `buffer` starts, where the chunk is of length class `class`. It
    /// saturates for a chunk that is past every buffer.
    pub fn offset(&self, buffer: Buffer, rank: u32, chunk: u64, class: u32) -> u64 {
        if buffer == Buffer::Scratch {
            return chunk.saturating_mul(self.cell);
        }
        let Rounds { split, element, count, .. } = self.rounds;
        let (piece, part) = self.piece_of(class);
        let start = match &self.rounds.slots {
            None => (chunk / split).saturating_mul(count),
            Some(slots) => slots.start(buffer, rank, chunk / split),
        };
        // Of an empty piece any place will do: the slot's start is in the buffer.
        let first = if piece.bytes == 0 { 0 } else { self.first };
        start
            .saturating_add(first)
            .saturating_mul(element)
            .saturating_add(part.saturating_mul(piece.chunk).min(piece.bytes))
    }

    /// The hardware operations that a transfer to rank `to` from rank `from` takes: one for every run of chunks that
    /// lies without gaps at both ends, cut at [`MAX_TRANSFER`]. None if every chunk is empty.
    pub fn segments(&self, transfer: &Transfer, to: u32, from: u32) -> Vec<Segment> {
        self.segments_iter(transfer, to, from).collect()
    }

    /// [`segments`](Self::segments), one at a time: nothing is allocated, and empty chunks cost little.
    pub fn segments_iter(&self, transfer: &Transfer, to: u32, from: u32) -> Segments {
        Segments { round: self.clone(), transfer: *transfer, to, from, next: 0, rest: None }
    }
}

/// The segments of a transfer in a round, in order. Made by [`Round::segments_iter`].
#[derive(Clone, Debug)]
pub struct Segments {
    round: Round,
    transfer: Transfer,
    /// Whose memory is written.
    to: u32,
    /// Whose memory is read.
    from: u32,
    /// The first chunk of the run that is not yet in a segment.
    next: u64,
    /// What is left of a run of chunks that was longer than a transfer may be.
    rest: Option<Segment>,
}

impl Segments {
    /// The next chunk that is not empty.
    fn chunk(&mut self) -> Option<Segment> {
        let (round, transfer, split) = (&self.round, &self.transfer, self.round.rounds.split);
        if round.largest.chunk == 0 {
            return None;
        }
        while self.next < u64::from(transfer.len) {
            let class = ((u64::from(transfer.class) + self.next) % round.rounds.classes) as u32;
            let (piece, part) = round.piece_of(class);
            let before = part.saturating_mul(piece.chunk);
            if before >= piece.bytes {
                // So are all that follow in this slot.
                self.next += split - part;
                continue;
            }
            let place = |cell: Cell, rank| round.offset(cell.buffer, rank, u64::from(cell.chunk) + self.next, class);
            return Some(Segment {
                dst: place(transfer.dst, self.to),
                src: place(transfer.src, self.from),
                len: piece.chunk.min(piece.bytes - before),
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
