//! The pipes of a block: they take copies up in order, read, and write, at any time between two barriers.

use super::exec::{Engine, State};
use super::pieces::Pieces;
use super::plan;
use crate::bytes::combine;
use crate::bytes::memory::{Part, Slice};
use crate::bytes::space;
use crate::error::RunError;
use crate::report::{Misaligned, UninitialisedRead};
use hcomm_core::aiv::{BLOCK_SIZE, Copy, OpKind};
use hcomm_core::operator::Buffer;
use hcomm_core::sizes::Segment;

/// An access of a copy to global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The block, counted over all ranks, and its operation.
    pub block: u32,
    /// Which of its operations.
    pub op: usize,
    /// The round of the invocation, from 0.
    pub round: u64,
    /// From 0.
    pub invocation: u64,
    /// Whose memory.
    pub rank: u32,
    /// Which of it.
    pub buffer: Buffer,
    /// The first byte.
    pub start: u64,
    /// Bytes.
    pub len: u64,
    /// What is done to them.
    pub touch: Touch,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// They are read.
    Read,
    /// They are replaced.
    Write,
    /// They are reduced into.
    Reduce,
}

/// A piece in the Unified Buffer.
#[derive(Debug)]
pub(super) struct InFlight {
    copy: Copy,
    segment: Segment,
    /// The operation that it is of.
    op: usize,
    reduces: bool,
    parts: Vec<Part>,
}

/// Pipes of a block, each something that can happen at any time.
pub(super) const PIPES: usize = 3;

impl Engine<'_> {
    /// Hands the pipes of a block to the scheduler, if they have something to do and are not its already.
    pub(super) fn offer_pipes(&mut self, block: u32, woken: &mut Vec<u32>) {
        let blocks = self.blocks.len() as u32;
        let pieces = self.blocks[block as usize].in_flight.len();
        let has_work = [self.next_copy(block).is_some(), pieces > 0, pieces > 1];
        let held = &mut self.blocks[block as usize].held;
        for (pipe, has_work) in (1..).zip(has_work) {
            if has_work && !std::mem::replace(&mut held[pipe as usize - 1], true) {
                woken.push(block + pipe * blocks);
            }
        }
    }

    /// Moves the pipes on to the next copy that no barrier keeps from them, and says whether it reduces.
    pub(super) fn next_copy(&mut self, block: u32) -> Option<(Copy, bool)> {
        let state = &mut self.blocks[block as usize];
        if matches!(state.state, State::NoCore | State::Done) {
            return None;
        }
        loop {
            match self.plan.blocks[block as usize].ops.get(state.taken)?.kind {
                OpKind::PipeBarrier => return None,
                OpKind::Copy(copy) => return Some((copy, state.taken_atomic)),
                OpKind::SetAtomic => state.taken_atomic = true,
                OpKind::SetAtomicNone => state.taken_atomic = false,
                OpKind::Record(_) | OpKind::Wait(_) | OpKind::SyncAll => {}
            }
            state.taken += 1;
        }
    }

    /// Reads the copy that is next for the pipes, whatever stands before it. Returns whether there was one.
    pub(super) fn take_up(&mut self, block: u32) -> bool {
        let Some((copy, reduces)) = self.next_copy(block) else { return false };
        let at = self.blocks[block as usize].taken;
        for segment in self.pieces(block, copy, reduces) {
            let piece = self.fetch(block, at, copy, segment, reduces);
            self.blocks[block as usize].in_flight.push_back(piece);
        }
        self.blocks[block as usize].taken = at + 1;
        true
    }

    /// Reads the copies that the block has passed.
    pub(super) fn take_up_to(&mut self, block: u32) {
        while self.next_copy(block).is_some() && self.blocks[block as usize].taken < self.blocks[block as usize].op {
            self.take_up(block);
        }
    }

    /// Reads and writes all that stands before a barrier, or the end, where the block is.
    pub(super) fn finish_copies(&mut self, block: u32) -> Result<(), RunError> {
        while self.take_up(block) {}
        while let Some(piece) = self.blocks[block as usize].in_flight.pop_front() {
            self.land(block, piece)?;
        }
        let state = &mut self.blocks[block as usize];
        (state.taken, state.taken_atomic) = (state.op + 1, state.atomic);
        Ok(())
    }

    fn pieces(&self, thread: u32, copy: Copy, reduces: bool) -> Pieces {
        let program = self.plan.program;
        let piece = plan::piece(program, self.config.dtype, reduces);
        let launch = &self.launches[self.plan.blocks[thread as usize].rank as usize];
        Pieces::new(&launch.sizes, &copy, program.parts, program.frame.classes(), piece)
    }

    /// Reads the source of a piece. What nothing has written becomes poison.
    fn fetch(&mut self, thread: u32, op: usize, copy: Copy, segment: Segment, reduces: bool) -> InFlight {
        self.operations += 1;
        self.observe((thread, op), (copy.src.rank, copy.src.cell.buffer), (segment.src, segment.len), Touch::Read);
        let Segment { dst, src, len } = segment;
        self.moved.add(copy.dst.rank, copy.src.rank, len);
        if !copy.padded && [dst, src, len].iter().any(|number| !number.is_multiple_of(BLOCK_SIZE)) {
            let place = self.place(thread, op);
            self.misaligned.add(|| Misaligned { place, dst, src, len });
        }
        let from = self.space.place(copy.src.rank, copy.src.cell.buffer);
        let mut parts = Vec::new();
        self.space.memory(from).read(from.base + src, len, &mut parts);
        let to = self.space.place(copy.dst.rank, copy.dst.cell.buffer);
        let (reads, writes) = (from.base + src, to.base + dst);
        if from.memory == to.memory && reads != writes && reads.abs_diff(writes) < len {
            let place = self.place(thread, op);
            self.overlaps.add(|| place);
        }
        self.poison_gaps((thread, op), &mut parts, (copy.src.rank, copy.src.cell.buffer, src));
        InFlight { copy, segment, op, reduces, parts }
    }

    fn observe(
        &mut self,
        (block, op): (u32, usize),
        (rank, buffer): (u32, Buffer),
        (start, len): (u64, u64),
        touch: Touch,
    ) {
        let launch = &self.launches[self.plan.blocks[block as usize].rank as usize];
        let (round, invocation) = (launch.round, launch.invocation);
        (self.observer)(Access { block, op, round, invocation, rank, buffer, start, len, touch });
    }

    /// Replaces gaps by poison, and notes that they were read.
    fn poison_gaps(
        &mut self,
        (thread, op): (u32, usize),
        parts: &mut [Part],
        (rank, buffer, start): (u32, Buffer, u64),
    ) {
        let (mut first, mut bytes, mut at) = (None, 0, start);
        for part in parts {
            let len = part.len();
            if let Part::Gap(len) = *part {
                first = first.or(Some(at));
                bytes += len;
                *part = Part::Written(Slice::whole(self.poison.clone(), len));
            }
            at += len;
        }
        if let Some(offset) = first {
            let place = self.place(thread, op);
            self.uninitialised.add(|| UninitialisedRead { place, rank, buffer, offset, bytes });
        }
    }

    /// Writes a piece that a block has read, or reduces it into what is there.
    pub(super) fn land(&mut self, thread: u32, piece: InFlight) -> Result<(), RunError> {
        let InFlight { copy, segment, op, reduces, mut parts } = piece;
        let touch = if reduces { Touch::Reduce } else { Touch::Write };
        self.observe((thread, op), (copy.dst.rank, copy.dst.cell.buffer), (segment.dst, segment.len), touch);
        let buffer = copy.dst.cell.buffer;
        let place: space::Place = self.space.place(copy.dst.rank, buffer);
        let mut at = place.base + segment.dst;
        if reduces {
            let mut there = Vec::new();
            self.space.memory(place).read(at, segment.len, &mut there);
            self.poison_gaps((thread, op), &mut there, (copy.dst.rank, buffer, segment.dst));
            let (kind, limit) = ((self.config.dtype, self.config.reduce), self.config.memory_limit);
            let kept = (&self.meter, &self.poison);
            combine::combine(kind, &mut parts, &there, segment.len as usize, kept, &mut self.read)
                .map_err(|need| RunError::Memory { need, limit })?;
        }
        let memory = self.space.memory_mut(place);
        for part in parts {
            if let Part::Written(slice) = part {
                let len = slice.len;
                memory.write(at, slice);
                at += len;
            }
        }
        Ok(())
    }
}
