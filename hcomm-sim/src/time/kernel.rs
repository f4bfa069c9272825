//! A program of blocks made ready to be timed.

use hcomm_core::aiv::{Copy, Gm, OpKind, Program};
use hcomm_core::dtype::DataType;
use hcomm_core::program::Transfer;
use hcomm_core::sizes::Round;

use super::any::{AnyProgram, Work};
use super::schedule::{Amount, Fill, Kind, NO_PATH, Schedule, Signal, SizeTable, Sized, Step, Thread, within};
use crate::aiv::pieces::Pieces;
use crate::aiv::plan::{self, NO_FLAG, Plan};
use crate::bytes::plan::NO_NOTIFY;
use crate::cluster::{Cluster, Link, Network, PathId, Side, ThroughCore};
use crate::error::RunError;

impl<'p> Schedule<'p> {
    /// Fills `network` with the paths of a program of blocks.
    pub(super) fn of_blocks(
        program: &'p Program,
        network: &mut Network<'_>,
        cluster: &Cluster,
        dtype: DataType,
    ) -> Result<Schedule<'p>, RunError> {
        let plan = Plan::new(program)?;
        let total = plan.blocks.iter().map(|block| block.ops.len()).sum();
        let mut schedule = Schedule::empty(AnyProgram::Blocks(program), total, plan.blocks.len());
        schedule.signals = plan.flags.iter().map(|flag| Signal::Flag(*flag)).collect();
        schedule.blocks = plan.per_rank;
        let mut sizes = SizeTable::new(&program.frame);
        for block in &plan.blocks {
            let begin = schedule.steps.len() as u32;
            let mut state = Block { program, cluster, dtype, at: (block.rank, block.block), atomic: false };
            for (op, flag) in block.ops.iter().zip(&block.flags) {
                let notify = if *flag == NO_FLAG { NO_NOTIFY } else { *flag };
                let (mut kind, mut path, mut size) = (Kind::Mode, NO_PATH, 0);
                match op.kind {
                    OpKind::Copy(copy) => {
                        let sized = Sized::of_copy(&copy, state.piece());
                        size = sizes.number(sized, &mut schedule.sizes);
                        (kind, path) = state.copy(&copy, network, &mut schedule);
                    }
                    OpKind::SetAtomic => state.atomic = true,
                    OpKind::SetAtomicNone => state.atomic = false,
                    OpKind::PipeBarrier => kind = Kind::Barrier,
                    OpKind::Record(flag) => {
                        (kind, path) = (Kind::ChannelRecord, network.path(block.rank, flag.peer));
                    }
                    OpKind::Wait(_) => kind = Kind::Wait,
                    OpKind::SyncAll => kind = Kind::Meet,
                }
                schedule.steps.push(Step::new(kind, notify, path, size));
            }
            let end = schedule.steps.len() as u32;
            schedule.threads.push(Thread { rank: block.rank, thread: block.block, begin, end });
        }
        schedule.finish(network);
        Ok(schedule)
    }
}

/// A block under way.
struct Block<'p, 'c> {
    program: &'p Program,
    cluster: &'c Cluster,
    dtype: DataType,
    /// Rank and block.
    at: (u32, u32),
    /// Whether copies reduce.
    atomic: bool,
}

impl Block<'_, '_> {
    /// Bytes of a piece.
    fn piece(&self) -> u64 {
        plan::piece(self.program, self.dtype, self.atomic)
    }

    /// What a copy is to the simulation, and its path.
    fn copy(&self, copy: &Copy, network: &mut Network<'_>, schedule: &mut Schedule<'_>) -> (Kind, PathId) {
        let (costs, engine) = (&self.cluster.aiv, &self.cluster.engine);
        let (rank, to, from) = (self.at.0, copy.dst.rank, copy.src.rank);
        // 64-bit integers are loaded from both sides, combined, and stored.
        let by_core = self.atomic && self.dtype.size() == 8;
        let load = if by_core { costs.load / 2.0 } else { costs.load };
        let store = if self.atomic && !by_core { costs.atomic } else { costs.store };
        let side = match (to == rank, from == rank) {
            (true, true) => Side::Neither,
            (true, false) => Side::Load,
            (false, _) => Side::Store,
        };
        let overlaps = self.program.ub.buffers > 1 && !by_core;
        let through = ThroughCore { load, store, side, overlaps };
        let base = match side {
            Side::Neither => {
                let (link, gbps) = match self.atomic {
                    true => (Link::Reduce(rank), engine.local_reduce),
                    false => (Link::Copy(rank), engine.local_copy),
                };
                if gbps.is_infinite() && load.is_infinite() && store.is_infinite() {
                    return (if self.atomic { Kind::Reduce } else { Kind::Local }, NO_PATH);
                }
                network.within(link, gbps)
            }
            _ => network.path(from, to),
        };
        let local = if self.atomic { Kind::Reduce } else { Kind::Local };
        let path = network.through_core(self.at, base, through);
        let (per_byte, is_first) = network.fill(&through, base);
        if per_byte > 0.0 {
            schedule.fill(path, Fill { per_byte, is_first, piece: self.piece() as f64 });
        }
        if side == Side::Neither {
            return (local, path);
        }
        if !self.atomic {
            return (Kind::Move, path);
        }
        schedule.reduces_behind(path, within(network, Link::Inline(to), engine.inline_reduce));
        (Kind::MoveReduce, path)
    }
}

/// The kind of work of a step, for pictures.
pub(super) fn work(kind: Kind) -> Work {
    match kind {
        Kind::ThreadRecord | Kind::ChannelRecord => Work::Record,
        Kind::Wait | Kind::Meet => Work::Wait,
        Kind::Local => Work::Copy,
        Kind::Reduce => Work::Reduce,
        Kind::Move | Kind::MoveReduce => Work::Transfer,
        Kind::Barrier | Kind::Mode => Work::Setup,
    }
}

/// How much a copy moves in a round, in how many runs.
pub(super) fn amount(program: &Program, sized: &Sized, round: &Round) -> Amount {
    let mut amount = Amount::default();
    for run in Pieces::new(round, &sized.copy(), program.parts, program.frame.classes(), u64::MAX) {
        amount.bytes += run.len as f64;
        amount.pieces += 1;
    }
    let piece = sized.piece.max(1) as f64;
    let last = amount.bytes % piece;
    amount.last = if last > 0.0 { last } else { amount.bytes.min(piece) };
    amount
}

impl Sized {
    fn of_copy(copy: &Copy, piece: u64) -> Sized {
        let Copy { dst, src, len, class, part, .. } = *copy;
        let transfer = Transfer { dst: dst.cell, src: src.cell, len, class };
        Sized { transfer, to: dst.rank, from: src.rank, part, piece }
    }

    fn copy(&self) -> Copy {
        let Transfer { dst, src, len, class } = self.transfer;
        let (dst, src) = (Gm { rank: self.to, cell: dst }, Gm { rank: self.from, cell: src });
        Copy { dst, src, len, class, part: self.part, padded: true }
    }
}
