//! A program of blocks, checked and made ready: everything that an operation names exists, and its flag is a number.
//!
//! A program may come from a hostile file, so nothing is taken for granted; what passes can be executed without looking
//! again.

use crate::bytes::plan::{check_transfer, frame_is_well_formed};
use crate::error::{OperationFault, Place, ProgramFault, RunError};
use hcomm_core::aiv::{Copy, Flag, MAX_BLOCKS, Op, OpKind, Program, UB_SIZE};
use hcomm_core::dtype::DataType;
use hcomm_core::operator::Buffer;
use hcomm_core::program::Transfer;
use hcomm_core::sizes::Rounds;
use std::collections::HashMap;

/// Whose flag: waiter, recorder, notify, part.
pub(crate) type FlagKey = (u32, u32, u32, u32);

/// The most parts of a chunk.
const MAX_PARTS: u32 = 1 << 16;

/// A program whose operations are all well-formed.
#[derive(Debug)]
pub(crate) struct Plan<'p> {
    pub(crate) program: &'p Program,
    /// All blocks, rank by rank.
    pub(crate) blocks: Vec<PlannedBlock<'p>>,
    /// Blocks of a rank.
    pub(crate) per_rank: u32,
    /// Uses of a flag in a launch.
    pub(crate) steps: u32,
    /// All flags that some operation names, by number.
    pub(crate) flags: Vec<FlagKey>,
}

/// A block: its operations, and beside each the number of the flag that it names, or [`NO_FLAG`].
#[derive(Debug)]
pub(crate) struct PlannedBlock<'p> {
    pub(crate) rank: u32,
    pub(crate) block: u32,
    pub(crate) ops: &'p [Op],
    pub(crate) flags: Vec<u32>,
}

/// Of an operation that names no flag.
pub(crate) const NO_FLAG: u32 = u32::MAX;

impl<'p> Plan<'p> {
    pub(crate) fn new(program: &'p Program) -> Result<Plan<'p>, RunError> {
        well_formed(program)
            .map_err(|fault| RunError::Program { algorithm: program.frame.algorithm.clone(), fault })?;
        // Keys come from outside: not a place for a hash that can be foreseen.
        let mut numbers: HashMap<FlagKey, u32> = HashMap::new();
        let (per_rank, steps) = (program.num_blocks(), program.steps());
        let mut plan = Plan { program, blocks: Vec::new(), per_rank, steps, flags: Vec::new() };
        for (rank, blocks) in (0..).zip(&program.ranks) {
            for (block, ops) in (0..).zip(&blocks.blocks) {
                let mut flags = Vec::with_capacity(ops.len());
                for (index, op) in ops.iter().enumerate() {
                    let flag = operation(program, rank, op).map_err(|fault| {
                        let operation = Box::new(place(program, rank, block, index));
                        RunError::Operation { operation, fault }
                    })?;
                    let number = flag.map_or(NO_FLAG, |key| {
                        *numbers.entry(key).or_insert_with(|| {
                            plan.flags.push(key);
                            plan.flags.len() as u32 - 1
                        })
                    });
                    flags.push(number);
                }
                plan.blocks.push(PlannedBlock { rank, block, ops, flags });
            }
        }
        Ok(plan)
    }

    /// The blocks of a rank, by their number in `blocks`.
    pub(crate) fn blocks_of(&self, rank: u32) -> std::ops::Range<u32> {
        rank * self.per_rank..(rank + 1) * self.per_rank
    }

    /// At most so many operations in a round of all ranks: every piece of a copy counts, of `piece` bytes, and
    /// every block once.
    pub(crate) fn operations(&self, rounds: &Rounds, piece: u64) -> u128 {
        let pieces = 1 + rounds.round(0).cell() / piece.max(1);
        let of = |op: &Op| match op.kind {
            OpKind::Copy(copy) => u128::from(copy.len) * u128::from(pieces),
            _ => 1,
        };
        self.blocks.iter().flat_map(|block| block.ops).map(of).sum::<u128>() + self.blocks.len() as u128
    }

    /// How many bytes the results of reductions may take at once: of each buffer, what is ever reduced into.
    pub(crate) fn results(&self, rounds: &Rounds) -> u64 {
        let frame = &self.program.frame;
        let mut reduced = vec![[0u64; Buffer::ALL.len()]; frame.num_ranks() as usize];
        let cell = rounds.round(0).cell();
        for block in &self.blocks {
            let mut atomic = false;
            for op in block.ops {
                match op.kind {
                    OpKind::SetAtomic => atomic = true,
                    OpKind::SetAtomicNone => atomic = false,
                    OpKind::Copy(copy) if atomic => {
                        let bytes = &mut reduced[copy.dst.rank as usize][copy.dst.cell.buffer as usize];
                        *bytes = bytes.saturating_add(cell.saturating_mul(u64::from(copy.len)));
                    }
                    _ => {}
                }
            }
        }
        let mut need = 0u64;
        for (rank, reduced) in (0..).zip(reduced) {
            for buffer in Buffer::ALL {
                // A cell of scratch is used again in every round, a chunk of an output is not.
                let rounds_kept = if buffer == Buffer::Scratch { 1 } else { rounds.rounds };
                let bytes = reduced[buffer as usize].saturating_mul(rounds_kept);
                need = need.saturating_add(bytes.min(crate::bytes::space::bytes_of(frame, rounds, rank, buffer)));
            }
        }
        need
    }
}

/// Bytes of a piece of a 64-bit reduction, which needs room for two operands and the result: 2048 elements.
const REDUCE64: u64 = 2048 * 8;

/// Bytes of a piece of a copy.
pub(crate) fn piece(program: &Program, dtype: DataType, reduces: bool) -> u64 {
    let piece = u64::from(program.ub.piece);
    if reduces && dtype.size() == 8 { piece.min(REDUCE64) } else { piece }
}

/// Where operation `index` of a block is, in the first round.
pub(crate) fn place(program: &Program, rank: u32, block: u32, index: usize) -> Place {
    let ops = program.ranks.get(rank as usize).and_then(|rank| rank.blocks.get(block as usize));
    let op = ops.and_then(|ops| ops.get(index));
    Place {
        rank,
        unit: "block",
        thread: block,
        op: index,
        name: op.map_or("its end", |op| op.kind.name()),
        round: 0,
        invocation: 0,
        at: op.and_then(|op| program.frame.source.spans.get(op.at.index()).copied()),
    }
}

fn well_formed(program: &Program) -> Result<(), ProgramFault> {
    let (frame, ranks) = (&program.frame, program.num_ranks());
    if program.ranks.len() != ranks as usize {
        return Err(ProgramFault::Ranks { have: program.ranks.len(), ranks });
    }
    frame_is_well_formed(frame)?;
    let (blocks, most) = (program.num_blocks(), MAX_BLOCKS);
    for (rank, here) in (0..).zip(&program.ranks) {
        let have = here.blocks.len();
        if have != blocks as usize || blocks == 0 || blocks > most {
            return Err(ProgramFault::Blocks { rank, have, blocks, most });
        }
    }
    let ub = &program.ub;
    if !program.ub_fits() {
        let (buffers, piece, need) = (ub.buffers, ub.piece, program.ub_bytes());
        return Err(ProgramFault::UnifiedBuffer { buffers, piece, need, have: UB_SIZE });
    }
    if program.parts == 0 || program.parts > MAX_PARTS {
        return Err(ProgramFault::Parts { parts: program.parts });
    }
    Ok(())
}

/// Checks all that an operation names. Returns the flag, if it names one.
fn operation(program: &Program, rank: u32, op: &Op) -> Result<Option<FlagKey>, OperationFault> {
    let ranks = program.num_ranks();
    let check_part = |part: u32| match program.parts {
        parts if part >= parts => Err(OperationFault::Part { part, parts }),
        _ => Ok(()),
    };
    match op.kind {
        OpKind::Copy(Copy { dst, src, len, class, part, .. }) => {
            let (to, from) = (dst.rank, src.rank);
            for peer in [to, from] {
                if peer >= ranks {
                    return Err(OperationFault::Peer { peer, ranks });
                }
            }
            if to != rank && from != rank {
                return Err(OperationFault::Ends { to, from });
            }
            if let Some(part) = part {
                check_part(part.first)?;
                check_part(part.end().max(1) - 1)?;
                if part.len == 0 {
                    return Err(OperationFault::Part { part: part.end(), parts: program.parts });
                }
            }
            check_transfer(&program.frame, &Transfer { dst: dst.cell, src: src.cell, len, class }, to, from)?;
            Ok(None)
        }
        OpKind::Record(flag) | OpKind::Wait(flag) => {
            let Flag { peer, notify, part, .. } = flag;
            if peer >= ranks {
                return Err(OperationFault::Peer { peer, ranks });
            }
            if peer == rank {
                return Err(OperationFault::SelfPeer);
            }
            let notifies = program.frame.notifies.len();
            if notify as usize >= notifies {
                return Err(OperationFault::Notify { notify, notifies });
            }
            check_part(part)?;
            let waits = matches!(op.kind, OpKind::Wait(_));
            Ok(Some(if waits { (rank, peer, notify, part) } else { (peer, rank, notify, part) }))
        }
        OpKind::SetAtomic | OpKind::SetAtomicNone | OpKind::PipeBarrier | OpKind::SyncAll => Ok(None),
    }
}
