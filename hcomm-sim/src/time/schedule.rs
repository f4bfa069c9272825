//! A program made ready to be timed on a cluster: every operation is what it costs, the path it takes, and a number for
//! its notify. One serves every count.

use std::collections::HashMap;

use hcomm_core::aiv::Parts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::{Buffer, CountsBy};
use hcomm_core::product::Reduction;
use hcomm_core::program::{OpKind, Program, Transfer};
use hcomm_core::sizes::{Round, Rounds};

use super::any::AnyProgram;
use super::kernel;
use crate::aiv::plan::FlagKey;
use crate::bytes::plan::{NO_NOTIFY, Notify, Plan};
use crate::cluster::{Cluster, Link, Network, PathId};
use crate::error::RunError;

/// What an operation is to the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Set a notify of this rank.
    ThreadRecord,
    /// Set a notify at the other end of a path.
    ChannelRecord,
    /// Wait for a notify.
    Wait,
    /// Move within the rank.
    Local,
    /// Reduce within the rank.
    Reduce,
    /// Move between ranks.
    Move,
    /// Move between ranks, then reduce at the end of the path.
    MoveReduce,
    /// AIV: wait for the pipes of the core.
    Barrier,
    /// AIV: wait for all blocks of the rank.
    Meet,
    /// AIV: change the mode of the core.
    Mode,
}

/// An operation, in few bytes: there may be millions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The kind in the upper bits, and which of the [`Sizes`](Sized) a move has.
    kind_and_size: u32,
    /// The notify, or [`NO_NOTIFY`]. That of a move is set when it has ended.
    pub(super) notify: u32,
    pub(super) path: PathId,
}

/// Bits of a size. A file of operations with more of them is longer than is read.
const SIZE_BITS: u32 = 28;

impl Step {
    pub(super) fn new(kind: Kind, notify: u32, path: PathId, size: u32) -> Step {
        debug_assert!(size < 1 << SIZE_BITS, "{size}");
        Step { kind_and_size: (kind as u32) << SIZE_BITS | size, notify, path }
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::ALL[(self.kind_and_size >> SIZE_BITS) as usize % Kind::ALL.len()]
    }

    /// The number of the size of a move.
    pub(super) fn size(&self) -> u32 {
        self.kind_and_size & ((1 << SIZE_BITS) - 1)
    }
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::ThreadRecord,
        Kind::ChannelRecord,
        Kind::Wait,
        Kind::Local,
        Kind::Reduce,
        Kind::Move,
        Kind::MoveReduce,
        Kind::Barrier,
        Kind::Meet,
        Kind::Mode,
    ];
}

/// A thread: its rank, its number there, its steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thread {
    pub(super) rank: u32,
    pub(super) thread: u32,
    pub(super) begin: u32,
    pub(super) end: u32,
}

/// No path: it costs nothing.
pub(super) const NO_PATH: PathId = PathId::MAX;

/// A notify, or a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Notify(Notify),
    Flag(FlagKey),
}

/// Of a path through a core with two buffers: what its first or last piece takes by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fill {
    /// In nanoseconds a byte; none if it is 0.
    pub(super) per_byte: f64,
    /// The first piece, or the last one.
    pub(super) is_first: bool,
    /// Bytes of a piece.
    pub(super) piece: f64,
}

/// A program on a cluster.
#[derive(Debug)]
pub(super) struct Schedule<'p> {
    pub(super) code: AnyProgram<'p>,
    pub(super) program: &'p Program,
    /// AIV: blocks of a rank. 0 where threads go from round to round by themselves.
    pub(super) blocks: u32,
    pub(super) steps: Vec<Step>,
    pub(super) threads: Vec<Thread>,
    pub(super) signals: Vec<Signal>,
    /// By path: that of the reductions of what arrives at its end, or [`NO_PATH`].
    pub(super) inline: Vec<PathId>,
    /// By path, if any has one.
    fills: Vec<Fill>,
    pub(super) sizes: Vec<Sized>,
}

/// A move, for the question how much it moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sized {
    pub(super) transfer: Transfer,
    pub(super) to: u32,
    pub(super) from: u32,
    /// AIV: which parts of every chunk.
    pub(super) part: Option<Parts>,
    /// AIV: bytes of a piece.
    pub(super) piece: u64,
}

/// What tells moves of different sizes apart, where all slots have the same count.
type Signature = (bool, u32, bool, u32, u32, u32, Option<Parts>, u64);

impl<'p> Schedule<'p> {
    /// Fills `network` with the paths of the program.
    pub(super) fn new(
        program: &'p Program,
        network: &mut Network<'_>,
        cluster: &Cluster,
        (dtype, reduce): (DataType, ReduceOp),
    ) -> Result<Schedule<'p>, RunError> {
        let plan = Plan::new(program)?;
        let total = plan.threads.iter().map(|thread| thread.ops.len()).sum();
        let mut schedule = Schedule::empty(AnyProgram::Threads(program), total, plan.threads.len());
        schedule.signals = plan.notifies.iter().map(|notify| Signal::Notify(*notify)).collect();
        let mut sizes = SizeTable::new(program);
        // One thread after the other goes, as its steps come.
        for planned in plan.threads {
            let begin = schedule.steps.len() as u32;
            for (op, notify) in planned.ops.iter().zip(&planned.notifies) {
                let rank = planned.rank;
                let (kind, path) = match op.kind {
                    OpKind::ThreadNotifyRecord { .. } => (Kind::ThreadRecord, NO_PATH),
                    OpKind::ChannelNotifyRecord { peer, .. } => (Kind::ChannelRecord, network.path(rank, peer)),
                    OpKind::ThreadNotifyWait { .. } | OpKind::ChannelNotifyWait { .. } => (Kind::Wait, NO_PATH),
                    OpKind::LocalCopy(_) => (Kind::Local, within(network, Link::Copy(rank), cluster.engine.local_copy)),
                    OpKind::LocalReduce(_) => {
                        let by_ai_cpu = cluster.product.reduction(&op.kind, dtype, reduce) == Reduction::AiCpu;
                        let (link, gbps) = match by_ai_cpu {
                            true => (Link::AiCpu(rank), cluster.engine.ai_cpu_reduce),
                            false => (Link::Reduce(rank), cluster.engine.local_reduce),
                        };
                        (Kind::Reduce, within(network, link, gbps))
                    }
                    OpKind::Write(peer, _) | OpKind::WriteWithNotify(peer, ..) => {
                        (Kind::Move, network.path(rank, peer))
                    }
                    OpKind::Read(peer, _) => (Kind::Move, network.path(peer, rank)),
                    OpKind::WriteReduce(peer, _) | OpKind::WriteReduceWithNotify(peer, ..) => {
                        (Kind::MoveReduce, schedule.reducing(network, rank, peer, cluster))
                    }
                    OpKind::ReadReduce(peer, _) => (Kind::MoveReduce, schedule.reducing(network, peer, rank, cluster)),
                };
                let size = match (op.kind.transfer(), op.kind.sides(rank)) {
                    (Some(transfer), Some((to, from))) => {
                        let sized = Sized { transfer: *transfer, to, from, part: None, piece: 0 };
                        sizes.number(sized, &mut schedule.sizes)
                    }
                    _ => 0,
                };
                schedule.steps.push(Step::new(kind, *notify, path, size));
            }
            let (rank, thread, end) = (planned.rank, planned.thread, schedule.steps.len() as u32);
            schedule.threads.push(Thread { rank, thread, begin, end });
        }
        schedule.finish(network);
        Ok(schedule)
    }

    pub(super) fn empty(code: AnyProgram<'p>, steps: usize, threads: usize) -> Schedule<'p> {
        let (signals, inline, fills, sizes) = Default::default();
        let (steps, threads) = (Vec::with_capacity(steps), Vec::with_capacity(threads));
        Schedule { code, program: code.frame(), blocks: 0, steps, threads, signals, inline, fills, sizes }
    }

    /// All paths are there.
    pub(super) fn finish(&mut self, network: &Network<'_>) {
        self.inline.resize(network.routes().len(), NO_PATH);
        if !self.fills.is_empty() {
            self.fills.resize(network.routes().len(), Fill::default());
        }
    }

    pub(super) fn fill(&mut self, path: PathId, fill: Fill) {
        if self.fills.len() <= path as usize {
            self.fills.resize(path as usize + 1, Fill::default());
        }
        self.fills[path as usize] = fill;
    }

    /// What a copy takes beside the time in which loading and storing go on at once.
    pub(super) fn filling(&self, path: PathId, amount: &Amount) -> f64 {
        let Some(fill) = self.fills.get(path as usize) else { return 0.0 };
        fill.per_byte * if fill.is_first { amount.bytes.min(fill.piece) } else { amount.last }
    }

    /// What arrives over a path is reduced over another one.
    pub(super) fn reduces_behind(&mut self, path: PathId, inline: PathId) {
        if self.inline.len() <= path as usize {
            self.inline.resize(path as usize + 1, NO_PATH);
        }
        self.inline[path as usize] = inline;
    }

    /// A path at whose end reductions take place.
    fn reducing(&mut self, network: &mut Network<'_>, from: u32, to: u32, cluster: &Cluster) -> PathId {
        let path = network.path(from, to);
        let inline = within(network, Link::Inline(to), cluster.engine.inline_reduce);
        self.reduces_behind(path, inline);
        path
    }

    /// Bytes of every move in a round, and in how many pieces.
    pub(super) fn amounts(&self, round: &Round) -> Vec<Amount> {
        self.sizes.iter().map(|sized| self.amount_of(sized, round)).collect()
    }

    /// Whether all rounds but the last have the same amounts.
    pub(super) fn rounds_are_alike(&self) -> bool {
        self.program.operator.counts() == CountsBy::All
    }

    /// The amount of one move in a round.
    pub(super) fn amount(&self, size: u32, round: &Round) -> Amount {
        self.amount_of(&self.sizes[size as usize], round)
    }

    fn amount_of(&self, sized: &Sized, round: &Round) -> Amount {
        match self.code {
            AnyProgram::Threads(_) => amount(sized, round),
            AnyProgram::Blocks(program) => kernel::amount(program, sized, round),
        }
    }

    /// The notify that a step names.
    pub(super) fn signal(&self, step: u32) -> Option<Signal> {
        let number = self.steps.get(step as usize)?.notify;
        if number == NO_NOTIFY { None } else { self.signals.get(number as usize).copied() }
    }

    /// Operations of a run in rounds.
    pub(super) fn operations(&self, rounds: &Rounds) -> u128 {
        (self.steps.len() as u128 + self.threads.len() as u128) * u128::from(rounds.rounds)
    }
}

/// Whether a step sets a notify.
pub(super) fn is_setter(step: &Step) -> bool {
    step.kind() != Kind::Wait && step.notify != NO_NOTIFY
}

/// How much a move moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Amount {
    pub(super) bytes: f64,
    /// Hardware operations: none if it is empty.
    pub(super) pieces: u32,
    /// AIV: bytes of the last piece that goes through the Unified Buffer.
    pub(super) last: f64,
}

fn amount(sized: &Sized, round: &Round) -> Amount {
    let mut amount = Amount::default();
    for segment in round.segments_iter(&sized.transfer, sized.to, sized.from) {
        amount.bytes += segment.len as f64;
        amount.pieces += 1;
    }
    amount
}

pub(super) fn within(network: &mut Network<'_>, link: Link, gbps: f64) -> PathId {
    if gbps.is_finite() { network.within(link, gbps) } else { NO_PATH }
}

/// Numbers for moves of the same size.
pub(super) struct SizeTable {
    split: u32,
    alike: bool,
    numbers: HashMap<Signature, u32>,
    last: Option<(Signature, u32)>,
}

impl SizeTable {
    pub(super) fn new(program: &Program) -> SizeTable {
        let alike = program.operator.counts() == CountsBy::All;
        SizeTable { split: program.split.max(1), alike, numbers: HashMap::new(), last: None }
    }

    pub(super) fn number(&mut self, sized: Sized, sizes: &mut Vec<Sized>) -> u32 {
        let mut add = || {
            sizes.push(sized);
            sizes.len() as u32 - 1
        };
        if !self.alike {
            return add();
        }
        // Only the place in a slot matters, and of a scratch cell not even that.
        let Sized { transfer: Transfer { dst, src, len, class }, part, piece, .. } = sized;
        let place = |cell: hcomm_core::program::Cell| match cell.buffer {
            Buffer::Scratch => (true, 0),
            _ => (false, cell.chunk % self.split),
        };
        let ((dst_scratch, dst), (src_scratch, src)) = (place(dst), place(src));
        let signature = (dst_scratch, dst, src_scratch, src, len, class, part, piece);
        if let Some((last, number)) = self.last
            && last == signature
        {
            return number;
        }
        let number = *self.numbers.entry(signature).or_insert_with(add);
        self.last = Some((signature, number));
        number
    }
}
