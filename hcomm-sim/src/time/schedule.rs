//! A program made ready to be timed on a cluster: every operation is what it costs, the path it takes, and a number for
//! its notify. One serves every count.

use std::collections::HashMap;

use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::{Buffer, CountsBy};
use hcomm_core::product::Reduction;
use hcomm_core::program::{OpKind, Program, Transfer};
use hcomm_core::sizes::{Round, Rounds};

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
    /// Move between ranks.
    Move,
    /// Move between ranks, then reduce at the end of the path.
    MoveReduce,
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) kind: Kind,
    /// The notify, or [`NO_NOTIFY`]. That of a move is set when it has ended.
    pub(super) notify: u32,
    pub(super) path: PathId,
    /// Which of the [`Sizes`] a move has.
    pub(super) size: u32,
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

/// A program on a cluster.
#[derive(Debug)]
pub(super) struct Schedule<'p> {
    pub(super) program: &'p Program,
    pub(super) steps: Vec<Step>,
    pub(super) threads: Vec<Thread>,
    pub(super) notifies: Vec<Notify>,
    /// By path: that of the reductions of what arrives at its end, or [`NO_PATH`].
    pub(super) inline: Vec<PathId>,
    sizes: Vec<Sized>,
}

/// A move, for the question how much it moves.
#[derive(Clone, Copy, Debug)]
struct Sized {
    transfer: Transfer,
    to: u32,
    from: u32,
}

/// What tells moves of different sizes apart, where all slots have the same count.
type Signature = (bool, u32, bool, u32, u32, u32);

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
        let mut schedule = Schedule {
            program,
            steps: Vec::with_capacity(total),
            threads: Vec::with_capacity(plan.threads.len()),
            notifies: plan.notifies,
            inline: Vec::new(),
            sizes: Vec::new(),
        };
        let mut sizes = SizeTable::new(program);
        for planned in &plan.threads {
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
                        (Kind::Local, within(network, link, gbps))
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
                        sizes.number(Sized { transfer: *transfer, to, from }, &mut schedule.sizes)
                    }
                    _ => 0,
                };
                schedule.steps.push(Step { kind, notify: *notify, path, size });
            }
            let (rank, thread, end) = (planned.rank, planned.thread, schedule.steps.len() as u32);
            schedule.threads.push(Thread { rank, thread, begin, end });
        }
        schedule.inline.resize(network.routes().len(), NO_PATH);
        Ok(schedule)
    }

    /// A path at whose end reductions take place.
    fn reducing(&mut self, network: &mut Network<'_>, from: u32, to: u32, cluster: &Cluster) -> PathId {
        let path = network.path(from, to);
        let inline = within(network, Link::Inline(to), cluster.engine.inline_reduce);
        if self.inline.len() <= path as usize {
            self.inline.resize(path as usize + 1, NO_PATH);
        }
        self.inline[path as usize] = inline;
        path
    }

    /// Bytes of every move in a round, and in how many pieces.
    pub(super) fn amounts(&self, round: &Round) -> Vec<Amount> {
        self.sizes.iter().map(|sized| amount(sized, round)).collect()
    }

    /// Whether all rounds but the last have the same amounts.
    pub(super) fn rounds_are_alike(&self) -> bool {
        self.program.operator.counts() == CountsBy::All
    }

    /// The amount of one move in a round.
    pub(super) fn amount(&self, size: u32, round: &Round) -> Amount {
        amount(&self.sizes[size as usize], round)
    }

    /// The notify that a step names.
    pub(super) fn notify(&self, step: u32) -> Option<Notify> {
        let number = self.steps.get(step as usize)?.notify;
        if number == NO_NOTIFY { None } else { self.notifies.get(number as usize).copied() }
    }

    /// Operations of a run in rounds.
    pub(super) fn operations(&self, rounds: &Rounds) -> u128 {
        (self.steps.len() as u128 + self.threads.len() as u128) * u128::from(rounds.rounds)
    }
}

/// Whether a step sets a notify.
pub(super) fn is_setter(step: &Step) -> bool {
    step.kind != Kind::Wait && step.notify != NO_NOTIFY
}

/// How much a move moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Amount {
    pub(super) bytes: f64,
    /// Hardware operations: none if it is empty.
    pub(super) pieces: u32,
}

fn amount(sized: &Sized, round: &Round) -> Amount {
    let mut amount = Amount::default();
    for segment in round.segments_iter(&sized.transfer, sized.to, sized.from) {
        amount.bytes += segment.len as f64;
        amount.pieces += 1;
    }
    amount
}

fn within(network: &mut Network<'_>, link: Link, gbps: f64) -> PathId {
    if gbps.is_finite() { network.within(link, gbps) } else { NO_PATH }
}

/// Numbers for moves of the same size.
struct SizeTable {
    split: u32,
    alike: bool,
    numbers: HashMap<Signature, u32>,
    last: Option<(Signature, u32)>,
}

impl SizeTable {
    fn new(program: &Program) -> SizeTable {
        let alike = program.operator.counts() == CountsBy::All;
        SizeTable { split: program.split.max(1), alike, numbers: HashMap::new(), last: None }
    }

    fn number(&mut self, sized: Sized, sizes: &mut Vec<Sized>) -> u32 {
        let mut add = || {
            sizes.push(sized);
            sizes.len() as u32 - 1
        };
        if !self.alike {
            return add();
        }
        // Only the place in a slot matters, and of a scratch cell not even that.
        let Transfer { dst, src, len, class } = sized.transfer;
        let place = |cell: hcomm_core::program::Cell| match cell.buffer {
            Buffer::Scratch => (true, 0),
            _ => (false, cell.chunk % self.split),
        };
        let ((dst_scratch, dst), (src_scratch, src)) = (place(dst), place(src));
        let signature = (dst_scratch, dst, src_scratch, src, len, class);
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
