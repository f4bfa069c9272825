//! Every chunk of every buffer of every rank, numbered: the rank's own ones are contiguous.

use super::MAX_CELLS;
use crate::operator::{Buffer, Operator};
use crate::program::{Cell, Program};

/// Where buffers lie among the numbers.
pub(super) struct Memory {
    /// The first chunk of input, output and scratch of every rank.
    base: Vec<[u32; 3]>,
    /// The first chunk of every rank, and the end of the last one's.
    start: Vec<u32>,
}

impl Memory {
    /// Chunks of all ranks. The error has the number if it is over [`MAX_CELLS`].
    pub(super) fn size(program: &Program) -> Result<u32, u64> {
        let ranks = 0..program.num_ranks();
        let chunks = |rank| Buffer::ALL.map(|buffer| u64::from(program.chunks(buffer, rank))).iter().sum::<u64>();
        let all: u64 = ranks.map(chunks).sum();
        u32::try_from(all).ok().filter(|&all| u64::from(all) <= MAX_CELLS).ok_or(all)
    }

    /// The buffers of a program, each in a place of its own, or with input and output as they overlap in place.
    pub(super) fn new(program: &Program, in_place: bool) -> Memory {
        let mut memory = Memory { base: Vec::new(), start: vec![0] };
        let mut next = 0;
        for rank in 0..program.num_ranks() {
            let chunks = Buffer::ALL.map(|buffer| program.chunks(buffer, rank));
            let (input, output) = match overlap(program, rank).filter(|_| in_place) {
                Some((input, output)) => (next + input, next + output),
                None => (next, next + chunks[0]),
            };
            let scratch = (input + chunks[0]).max(output + chunks[1]);
            memory.base.push([input, output, scratch]);
            next = scratch + chunks[2];
            memory.start.push(next);
        }
        memory
    }

    /// The number of a chunk of `rank`.
    pub(super) fn cell(&self, rank: u32, cell: Cell) -> u32 {
        self.base[rank as usize][cell.buffer as usize] + cell.chunk
    }

    /// The first chunk of `rank`.
    pub(super) fn first(&self, rank: u32) -> u32 {
        self.start[rank as usize]
    }

    /// Chunks of `rank`.
    pub(super) fn len(&self, rank: u32) -> u32 {
        self.start[rank as usize + 1] - self.start[rank as usize]
    }

    /// Chunks of all ranks.
    pub(super) fn total(&self) -> u32 {
        self.start.last().copied().unwrap_or(0)
    }
}

/// Whether the operator has an in-place form.
pub(super) fn has_in_place(program: &Program) -> bool {
    program.operator.has_in_place()
}

/// How input and output of `rank` overlap in place: where each starts in the larger one.
fn overlap(program: &Program, rank: u32) -> Option<(u32, u32)> {
    // Where a slot of the rank's own starts in a buffer that has one for every rank.
    let slot = || rank * program.split;
    match program.operator {
        Operator::AllReduce => Some((0, 0)),
        Operator::Broadcast | Operator::Reduce if rank == program.shape.root => Some((0, 0)),
        Operator::AllGather => Some((slot(), 0)),
        Operator::Gather if rank == program.shape.root => Some((slot(), 0)),
        Operator::ReduceScatter => Some((0, slot())),
        Operator::Scatter if rank == program.shape.root => Some((0, slot())),
        _ => None,
    }
}
