//! The engine: every thread an in-order queue, notifies of one bit, transfers on real bytes.

use crate::bytes::flags::Flags;
use crate::bytes::memory::{Bytes, Meter, Part, Slice};
use crate::bytes::plan::{self, Notify, Plan};
use crate::bytes::space::Space;
use crate::bytes::verify::Verifier;
use crate::bytes::{Finished, Observer, combine, stuck};
use crate::error::{Place, RunError};
use crate::report::{Events, Moved, NotifyEvent, NotifyName, UninitialisedRead};
use crate::scheduler::{Scheduler, Turn};
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::Buffer;
use hcomm_core::program::{Cell, OpKind, Transfer};
use hcomm_core::sizes::{Round, Rounds, Segment, Segments};
use std::rc::Rc;

/// A run that is under way.
pub(crate) struct Engine<'p, 'o> {
    pub(crate) plan: Plan<'p>,
    pub(crate) rounds: Rounds,
    pub(crate) repeat: u64,
    pub(crate) dtype: DataType,
    pub(crate) reduce: ReduceOp,
    pub(crate) space: Space,
    pub(crate) flags: Flags,
    pub(crate) tasks: Vec<Task>,
    pub(crate) verifier: Verifier<'p>,
    pub(crate) observer: Observer<'o>,
    meter: Rc<Meter>,
    poison: Rc<Bytes>,
    pub(crate) operations: u64,
    pub(crate) moved: Moved,
    pub(crate) uninitialised: Events<UninitialisedRead>,
    pub(crate) overlaps: Events<Place>,
    pub(crate) lost_records: Events<NotifyEvent>,
    memory_limit: u64,
    /// What a transfer reads, kept to be used again.
    source: Vec<Part>,
    destination: Vec<Part>,
    read: Vec<u8>,
}

/// A thread in a run.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) state: State,
    /// The operation that is next.
    pub(crate) op: usize,
    pub(crate) round: u64,
    pub(crate) invocation: u64,
    sizes: Round,
    /// The transfer that is under way, where it takes several steps.
    transfer: Option<Box<UnderWay>>,
}

impl Task {
    fn turn(&self, thread: u32) -> Turn {
        Turn { thread, op: self.op, round: self.round, invocation: self.invocation }
    }
}

/// What a thread can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Go on.
    Ready,
    /// Wait for the notify of its operation.
    Waits,
    /// Nothing more.
    Done,
}

/// A transfer between two steps.
#[derive(Debug)]
struct UnderWay {
    segments: Segments,
    /// The segment whose source was read and whose destination is to be written, and what was read.
    fetched: Option<(Segment, Vec<Part>)>,
}

/// A transfer, with its ends found.
#[derive(Clone, Copy, Debug)]
struct Move<'t> {
    transfer: &'t Transfer,
    to: u32,
    from: u32,
    reduces: bool,
}

/// What is given to [`Engine::new`] beside the plan.
pub(crate) struct Setup<'p, 'o> {
    pub(crate) rounds: Rounds,
    pub(crate) repeat: u64,
    pub(crate) dtype: DataType,
    pub(crate) reduce: ReduceOp,
    pub(crate) space: Space,
    pub(crate) verifier: Verifier<'p>,
    pub(crate) observer: Observer<'o>,
    pub(crate) meter: Rc<Meter>,
    pub(crate) memory_limit: u64,
}

impl<'p, 'o> Engine<'p, 'o> {
    pub(crate) fn new(plan: Plan<'p>, setup: Setup<'p, 'o>) -> Engine<'p, 'o> {
        let Setup { rounds, repeat, dtype, reduce, mut space, verifier, observer, meter, memory_limit } = setup;
        let task =
            || Task { state: State::Ready, op: 0, round: 0, invocation: 0, sizes: rounds.round(0), transfer: None };
        let ranks = plan.program.num_ranks();
        for rank in 0..ranks {
            space.start(rank, 0);
        }
        Engine {
            flags: Flags::new(plan.notifies.len(), plan.threads.len()),
            tasks: plan.threads.iter().map(|_| task()).collect(),
            plan,
            rounds,
            repeat,
            dtype,
            reduce,
            space,
            verifier,
            observer,
            meter,
            poison: Rc::new(Bytes::Poison),
            operations: 0,
            moved: Moved::default(),
            uninitialised: Events::new(),
            overlaps: Events::new(),
            lost_records: Events::new(),
            memory_limit,
            source: Vec::new(),
            destination: Vec::new(),
            read: Vec::new(),
        }
    }

    /// Runs until nothing can go on. Afterwards every thread is done, or there is a hang.
    pub(crate) fn run(&mut self, scheduler: &mut dyn Scheduler) -> Result<(), RunError> {
        let until_blocked = scheduler.runs_until_blocked();
        for (thread, task) in (0..).zip(&self.tasks) {
            scheduler.ready_at(task.turn(thread));
        }
        // How many threads the scheduler holds: it must give back all of them, and nothing else.
        let mut held = self.tasks.len();
        while held > 0 {
            let chosen = scheduler.next();
            let ready =
                chosen.filter(|thread| self.tasks.get(*thread as usize).is_some_and(|task| task.state == State::Ready));
            let Some(thread) = ready else {
                return Err(RunError::Scheduler { chosen });
            };
            held -= 1;
            let mut woken = |turn| {
                held += 1;
                scheduler.ready_at(turn);
            };
            if until_blocked {
                while self.step(thread, false, &mut woken)? {}
            } else if self.step(thread, true, &mut woken)? {
                woken(self.tasks[thread as usize].turn(thread));
            }
        }
        Ok(())
    }

    /// What is wrong with the waits, if not every thread is done.
    pub(crate) fn hang(&self) -> Option<crate::hang::Hang> {
        stuck::hang(self)
    }

    /// Where a thread is, at operation `op` of it.
    pub(crate) fn place(&self, thread: u32, op: usize) -> Place {
        let (planned, task) = (&self.plan.threads[thread as usize], &self.tasks[thread as usize]);
        let place = plan::place(self.plan.program, planned.rank, planned.thread, op);
        Place { round: task.round, invocation: task.invocation, ..place }
    }

    pub(crate) fn notify_name(&self, notify: u32) -> NotifyName {
        match self.plan.notifies[notify as usize] {
            Notify::Thread { rank, thread, notify } => NotifyName::Thread { rank, thread, notify },
            Notify::Channel { rank, peer, notify } => {
                let name = self.plan.program.notifies.get(notify as usize).cloned().unwrap_or_default();
                NotifyName::Channel { rank, peer, notify, name }
            }
        }
    }

    /// Carries out the next operation of a thread, or a step of it where `split`. Returns whether it can go on.
    fn step(&mut self, thread: u32, split: bool, woken: &mut impl FnMut(Turn)) -> Result<bool, RunError> {
        let planned = &self.plan.threads[thread as usize];
        let task = &self.tasks[thread as usize];
        let Some(op) = planned.ops.get(task.op) else {
            return Ok(self.end_round(thread));
        };
        let (rank, notify) = (planned.rank, planned.notifies[task.op]);
        let kind = op.kind;
        if let (Some(transfer), Some((to, from))) = (kind.transfer(), kind.sides(rank)) {
            let moved = Move { transfer, to, from, reduces: kind.reduces() };
            if split {
                if !self.transfer_step(thread, moved)? {
                    return Ok(true);
                }
            } else {
                let segments = task.sizes.segments_iter(transfer, to, from);
                for segment in segments {
                    self.fetch(thread, moved, segment);
                    self.commit(thread, moved, segment)?;
                }
            }
        }
        match kind {
            OpKind::LocalCopy(_)
            | OpKind::LocalReduce(_)
            | OpKind::Write(..)
            | OpKind::Read(..)
            | OpKind::WriteReduce(..)
            | OpKind::ReadReduce(..) => {}
            OpKind::WriteWithNotify(_, transfer, _) | OpKind::WriteReduceWithNotify(_, transfer, _) => {
                // The last segment carries the record, and was counted, if there is one.
                let sizes = &self.tasks[thread as usize].sizes;
                let (to, from) = kind.sides(rank).unwrap_or((rank, rank));
                let bare = sizes.segments_iter(&transfer, to, from).next().is_none();
                self.operations += u64::from(bare);
                self.record(thread, notify, woken);
            }
            OpKind::ThreadNotifyRecord { .. } | OpKind::ChannelNotifyRecord { .. } => {
                self.operations += 1;
                self.record(thread, notify, woken);
            }
            OpKind::ThreadNotifyWait { .. } | OpKind::ChannelNotifyWait { .. } => {
                if !self.flags.wait(notify, thread) {
                    self.tasks[thread as usize].state = State::Waits;
                    return Ok(false);
                }
                self.operations += 1;
            }
        }
        self.tasks[thread as usize].op += 1;
        Ok(true)
    }

    fn record(&mut self, thread: u32, notify: u32, woken: &mut impl FnMut(Turn)) {
        let tasks = &mut self.tasks;
        let lost = self.flags.record(notify, |waiting| {
            tasks[waiting as usize].state = State::Ready;
            woken(tasks[waiting as usize].turn(waiting));
        });
        if lost {
            let event = NotifyEvent {
                place: self.place(thread, self.tasks[thread as usize].op),
                notify: self.notify_name(notify),
            };
            self.lost_records.add(|| event);
        }
    }

    /// Takes a thread that has no operation left to its next round, or to the next invocation. For the caller an
    /// invocation ends when the main thread has: the output is compared, and the next invocation's buffers take the
    /// place of its own, whatever the rank's other threads are about.
    fn end_round(&mut self, thread: u32) -> bool {
        let planned = &self.plan.threads[thread as usize];
        let (rank, is_main, idle) = (planned.rank, planned.thread == 0, planned.ops.is_empty());
        let task = &mut self.tasks[thread as usize];
        task.op = 0;
        task.round = if idle { self.rounds.rounds } else { task.round + 1 };
        if task.round < self.rounds.rounds {
            task.sizes = self.rounds.round(task.round);
            return true;
        }
        let invocation = task.invocation;
        let again = invocation + 1 < self.repeat;
        if again {
            (task.round, task.invocation, task.sizes) = (0, invocation + 1, self.rounds.round(0));
        } else {
            task.state = State::Done;
        }
        if is_main {
            let output = self.space.output(rank);
            (self.observer)(&Finished { invocation, rank, output: &output });
            self.verifier.finished(invocation, rank, output);
            if again {
                self.space.start(rank, invocation + 1);
            }
        }
        again
    }

    /// Reads or writes one segment of a transfer. Returns whether it was the last step.
    fn transfer_step(&mut self, thread: u32, moved: Move<'_>) -> Result<bool, RunError> {
        let task = &mut self.tasks[thread as usize];
        let mut under_way = task.transfer.take().unwrap_or_else(|| {
            let segments = task.sizes.segments_iter(moved.transfer, moved.to, moved.from);
            Box::new(UnderWay { segments, fetched: None })
        });
        if let Some((segment, parts)) = under_way.fetched.take() {
            self.source = parts;
            self.commit(thread, moved, segment)?;
            if under_way.segments.clone().next().is_none() {
                return Ok(true);
            }
        } else if let Some(segment) = under_way.segments.next() {
            self.fetch(thread, moved, segment);
            under_way.fetched = Some((segment, std::mem::take(&mut self.source)));
        } else {
            return Ok(true);
        }
        self.tasks[thread as usize].transfer = Some(under_way);
        Ok(false)
    }

    /// Reads the source of a segment. What nothing has written becomes poison.
    fn fetch(&mut self, thread: u32, moved: Move<'_>, segment: Segment) {
        self.operations += 1;
        self.moved.add(moved.to, moved.from, segment.len);
        let Cell { buffer, .. } = moved.transfer.src;
        let place = self.space.place(moved.from, buffer);
        self.source.clear();
        self.space.memory(place).read(place.base + segment.src, segment.len, &mut self.source);
        let to = self.space.place(moved.to, moved.transfer.dst.buffer);
        let (reads, writes) = (place.base + segment.src, to.base + segment.dst);
        if place.memory == to.memory && reads != writes && reads.abs_diff(writes) < segment.len {
            let place = self.place(thread, self.tasks[thread as usize].op);
            self.overlaps.add(|| place);
        }
        if self.source.iter().any(|part| matches!(part, Part::Gap(_))) {
            let mut parts = std::mem::take(&mut self.source);
            self.poison_gaps(thread, &mut parts, (moved.from, buffer, segment.src));
            self.source = parts;
        }
    }

    /// Replaces gaps by poison, and notes that they were read.
    fn poison_gaps(&mut self, thread: u32, parts: &mut [Part], (rank, buffer, start): (u32, Buffer, u64)) {
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
            let place = self.place(thread, self.tasks[thread as usize].op);
            self.uninitialised.add(|| UninitialisedRead { place, rank, buffer, offset, bytes });
        }
    }

    /// Writes what was read of a segment, or reduces it into what is there.
    fn commit(&mut self, thread: u32, moved: Move<'_>, segment: Segment) -> Result<(), RunError> {
        let Cell { buffer, .. } = moved.transfer.dst;
        let place = self.space.place(moved.to, buffer);
        let mut at = place.base + segment.dst;
        if moved.reduces {
            let mut parts = std::mem::take(&mut self.destination);
            parts.clear();
            self.space.memory(place).read(at, segment.len, &mut parts);
            self.poison_gaps(thread, &mut parts, (moved.to, buffer, segment.dst));
            self.destination = parts;
            self.reduce(segment.len as usize)?;
        }
        let memory = self.space.memory_mut(place);
        for part in self.source.drain(..) {
            if let Part::Written(slice) = part {
                let len = slice.len;
                memory.write(at, slice);
                at += len;
            }
        }
        Ok(())
    }

    /// Replaces `source` by destination ⊕ source. What is poison on either side is poison.
    fn reduce(&mut self, len: usize) -> Result<(), RunError> {
        let limit = self.memory_limit;
        let Engine { dtype, reduce, source, destination, meter, poison, read, .. } = self;
        let combined = combine::combine((*dtype, *reduce), source, destination, len, (meter, poison), read);
        combined.map_err(|need| RunError::Memory { need, limit })
    }
}
