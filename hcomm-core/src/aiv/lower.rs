//! Lowering to AIV: lanes dealt to blocks, channel notifies as flags, transfers as copies.
//!
//! * Which block does what, [`deal`] says. `SyncAll` stands where a `par` begins and ends: only between operations, as a
//!   launch begins and ends with all blocks anyway.
//! * With fewer blocks than lanes, those of one block are put into the order of an execution ([`schedule`](super::schedule)).
//! * With more, the blocks of a lane each do all of the lane on a share of every chunk, with flags of their own. So each
//!   share is like an algorithm of its own, and needs no meeting: what it reads, its own share of a peer has written, or a
//!   block before the last meeting. A stretch of statements outside `par` with flags is shared in the same way, as either
//!   end of a flag may be in a lane; one without flags is shared by all blocks.

use rustc_hash::FxHashMap;

use super::deal::{self, Deal, Share};
use super::pipes::Pipes;
use super::program::{Copy, Flag, Gm, Op, OpKind, Program, Rank, Sync, UnifiedBuffer};
use super::schedule::{Schedule, Slot};
use super::tags::Tags;
use super::{MAX_BLOCKS, MAX_STEPS};
use crate::diag::{Code, Diagnostic};
use crate::ids::SpanId;
use crate::instance::{Instance, Task, TaskKind};
use crate::lower::aicpu;
use crate::program::{self, RankProgram};

/// Lowers an instance with a block for each lane and one for the rest.
///
/// # Errors
///
/// As [`lower`], for the uses of a flag.
pub fn lower_default(instance: &Instance) -> Result<Program, Diagnostic> {
    lower(instance, deal::default_blocks(deal::lanes(instance)))
}

/// Lowers an instance to `blocks` blocks.
///
/// # Errors
///
/// H401 if there are no or more than [`MAX_BLOCKS`] blocks, or more uses of one flag than there are values; H402 for an
/// algorithm with symmetric windows (facts 7.2).
pub fn lower(instance: &Instance, blocks: u32) -> Result<Program, Diagnostic> {
    if blocks == 0 || blocks > MAX_BLOCKS {
        let message = format!("{blocks} blocks: a kernel has between 1 and {MAX_BLOCKS}, one for each Vector core");
        return Err(Diagnostic::new(Code::H401, message, None).with_help("lanes share blocks where there are fewer"));
    }
    if instance.symmetric {
        let message = format!("`{}` has symmetric windows, which are for AI CPU only", instance.algorithm);
        let help = "use the engine `ai_cpu`, or move the data through `scratch`";
        return Err(Diagnostic::new(Code::H402, message, instance.source.spans.first().copied()).with_help(help));
    }
    uses_fit(instance)?;
    let threads = aicpu::lower(instance);
    let schedule = Schedule::new(&threads);
    let deal = Deal::new(deal::lanes(instance), blocks);
    let rank = |(rank, tasks): (usize, &Vec<Task>)| {
        let mut lowering = Lowering::new(rank as u32, deal);
        lowering.run(tasks, &threads.ranks[rank], &schedule);
        Rank { blocks: lowering.blocks.into_iter().map(|block| block.ops).collect() }
    };
    let ranks = instance.ranks.iter().enumerate().map(rank).collect();
    let frame = program::Program { ranks: Vec::new(), ..threads };
    let (tags, ub, sync) = (Tags::PerCall, UnifiedBuffer::SINGLE, Sync::Hard);
    Ok(Program { frame, parts: deal.parts, tags, ub, sync, ranks })
}

/// Whether there is a value for every use of every flag.
///
/// # Errors
///
/// H401 at the statement that uses one once too often.
pub fn uses_fit(instance: &Instance) -> Result<(), Diagnostic> {
    let mut uses: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for (rank, tasks) in (0..).zip(&instance.ranks) {
        uses.clear();
        for task in tasks {
            let TaskKind::Record(peer, notify) = task.kind else { continue };
            let count = uses.entry((peer, notify)).or_default();
            *count += 1;
            if *count > MAX_STEPS {
                let name = instance.notifies.get(notify as usize).map_or("?", String::as_str);
                let message = format!(
                    "rank {rank} signals `{name}` to rank {peer} more than {MAX_STEPS} times in a round: the flag of AIV has \
                     no more values"
                );
                let fault = Diagnostic::new(Code::H401, message, instance.source.spans.get(task.at.index()).copied());
                let fault = fault.on(instance.shape.ranks(), rank);
                return Err(fault.with_help("use another notify in turn, or fewer steps, or `engines: ai_cpu;`"));
            }
        }
    }
    Ok(())
}

/// An operation of a lane, with its time.
#[derive(Clone, Copy)]
struct Timed {
    op: program::Op,
    slot: Slot,
    lane: u32,
}

/// A rank under way.
struct Lowering {
    rank: u32,
    deal: Deal,
    blocks: Vec<Block>,
    /// Whether all blocks must meet before the next operation.
    must_meet: bool,
    /// Whether there are operations since all blocks met.
    dirty: bool,
}

#[derive(Default)]
struct Block {
    ops: Vec<Op>,
    pipes: Pipes,
}

impl Lowering {
    fn new(rank: u32, deal: Deal) -> Lowering {
        let blocks = (0..deal.blocks).map(|_| Block::default()).collect();
        Lowering { rank, deal, blocks, must_meet: false, dirty: false }
    }

    fn run(&mut self, tasks: &[Task], threads: &RankProgram, schedule: &Schedule) {
        let mut next = vec![0; threads.threads.len()];
        // The statements outside `par` at hand, and the `par` at hand.
        let (mut outside, mut inside): (Vec<Timed>, Option<Vec<Timed>>) = (Vec::new(), None);
        for task in tasks {
            match task.kind {
                TaskKind::Fork => inside = Some(Vec::new()),
                TaskKind::Join => {
                    let lanes = inside.take().unwrap_or_default();
                    if !lanes.is_empty() {
                        self.outside(&std::mem::take(&mut outside));
                        self.par(lanes);
                    }
                }
                _ => {
                    let (lane, rank) = (task.lane as usize, self.rank as usize);
                    take(task, &threads.threads[lane], &mut next[lane], |at, op| {
                        let timed = Timed { op, slot: schedule.of(rank, lane, at), lane: task.lane };
                        inside.as_mut().unwrap_or(&mut outside).push(timed);
                    });
                }
            }
        }
        self.outside(&outside);
    }

    /// A stretch of statements outside `par`.
    fn outside(&mut self, stretch: &[Timed]) {
        let shares = self.deal.outside(stretch.iter().any(|timed| timed.op.kind.transfer().is_none()));
        for timed in stretch {
            self.operation(timed, &shares);
        }
    }

    /// The operations of a `par`, in the order of an execution where lanes share a block.
    fn par(&mut self, mut lanes: Vec<Timed>) {
        self.must_meet = true;
        lanes.sort_by_key(|timed| (timed.slot.tick, timed.lane));
        let last = lanes.iter().map(|timed| timed.lane).max().unwrap_or(0);
        let shares: Vec<Vec<Share>> = (0..=last).map(|lane| self.deal.of_lane(lane)).collect();
        for timed in &lanes {
            self.operation(timed, &shares[timed.lane as usize]);
        }
        self.must_meet = true;
    }

    /// An operation, by the blocks that share it.
    fn operation(&mut self, timed: &Timed, shares: &[Share]) {
        let at = timed.op.at;
        if std::mem::take(&mut self.must_meet) && self.dirty && self.blocks.len() > 1 {
            self.blocks.iter_mut().for_each(|block| block.meet(at));
        }
        self.dirty = true;
        for share in shares {
            let block = &mut self.blocks[share.block as usize];
            match timed.op.kind {
                program::OpKind::ChannelNotifyRecord { peer, notify } => {
                    block.record(Flag { peer, notify, part: share.flag, step: timed.slot.step }, at);
                }
                program::OpKind::ChannelNotifyWait { peer, notify } => {
                    block.wait(Flag { peer, notify, part: share.flag, step: timed.slot.step }, at);
                }
                kind => {
                    let (Some(transfer), Some((to, from))) = (kind.transfer(), kind.sides(self.rank)) else { continue };
                    let program::Transfer { dst, src, len, class } = *transfer;
                    let (dst, src) = (Gm { rank: to, cell: dst }, Gm { rank: from, cell: src });
                    block.copy(Copy { dst, src, len, class, part: share.parts, padded: true }, kind.reduces(), at);
                }
            }
        }
    }
}

/// Gives `each` the operations of a task: several where its chunks have lengths that do not follow one another.
fn take(task: &Task, thread: &[program::Op], next: &mut usize, mut each: impl FnMut(usize, program::Op)) {
    let mut chunks = task.kind.run().map_or(0, |run| run.len);
    loop {
        let Some(op) = thread.get(*next) else { return };
        let at = *next;
        *next += 1;
        if matches!(op.kind, program::OpKind::ThreadNotifyRecord { .. } | program::OpKind::ThreadNotifyWait { .. }) {
            continue;
        }
        each(at, *op);
        chunks = chunks.saturating_sub(op.kind.transfer().map_or(0, |transfer| transfer.len));
        if chunks == 0 {
            return;
        }
    }
}

impl Block {
    fn push(&mut self, kind: OpKind, at: SpanId) {
        self.ops.push(Op { kind, at });
    }

    fn barrier(&mut self, is_needed: bool, at: SpanId) {
        if is_needed {
            self.push(OpKind::PipeBarrier, at);
            self.pipes.barrier();
        }
    }

    fn copy(&mut self, copy: Copy, reduces: bool, at: SpanId) {
        self.barrier(self.pipes.before_copy(&copy), at);
        self.pipes.copy(&copy);
        if reduces {
            self.push(OpKind::SetAtomic, at);
        }
        self.push(OpKind::Copy(copy), at);
        if reduces {
            self.push(OpKind::SetAtomicNone, at);
        }
    }

    fn record(&mut self, flag: Flag, at: SpanId) {
        self.barrier(self.pipes.before_signal(), at);
        self.push(OpKind::Record(flag), at);
    }

    fn wait(&mut self, flag: Flag, at: SpanId) {
        self.push(OpKind::Wait(flag), at);
        self.pipes.meet();
    }

    fn meet(&mut self, at: SpanId) {
        self.barrier(self.pipes.before_signal(), at);
        self.push(OpKind::SyncAll, at);
        self.pipes.meet();
    }
}
