//! The engine: blocks that go through their operations, pipes that carry out copies, flags in memory.

use super::pipes::{Access, InFlight, PIPES};
use super::plan::{self, Plan};
use crate::bytes::memory::{Bytes, Meter};
use crate::bytes::space::Space;
use crate::bytes::verify::Verifier;
use crate::config::Config;
use crate::error::{Place, RunError};
use crate::report::{Events, Misaligned, Moved, NotifyEvent, NotifyName, UninitialisedRead};
use crate::scheduler::{Scheduler, Turn};
use hcomm_core::aiv::{OpKind, Tags};
use hcomm_core::sizes::{Round, Rounds};
use std::collections::VecDeque;
use std::rc::Rc;

/// A run that is under way.
pub(crate) struct Engine<'p> {
    pub(crate) plan: Plan<'p>,
    pub(crate) repeat: u64,
    pub(crate) rounds: Rounds,
    pub(super) config: &'p Config,
    pub(super) space: Space,
    pub(crate) verifier: Verifier<'p>,
    pub(super) meter: Rc<Meter>,
    pub(super) poison: Rc<Bytes>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) launches: Vec<Launch>,
    flags: Vec<Flag>,
    /// Blocks of a rank that have cores at once.
    cores: u32,
    pub(crate) operations: u64,
    pub(crate) moved: Moved,
    pub(crate) uninitialised: Events<UninitialisedRead>,
    pub(crate) overlaps: Events<Place>,
    pub(crate) lost_records: Events<NotifyEvent>,
    pub(crate) stale: Events<NotifyEvent>,
    pub(crate) atomic: Events<Place>,
    pub(crate) misaligned: Events<Misaligned>,
    /// Kept to be used again.
    pub(super) read: Vec<u8>,
    /// Is told of every access to memory.
    pub(super) observer: &'p mut dyn FnMut(Access),
}

/// A block in a run.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) state: State,
    /// The operation that is next.
    pub(crate) op: usize,
    /// Whether copies reduce.
    pub(super) atomic: bool,
    /// Where the pipes are: copies before this operation have been read, which may be ahead of the block, where no barrier
    /// keeps them, or behind it.
    pub(super) taken: usize,
    /// Whether copies reduce where the pipes are.
    pub(super) taken_atomic: bool,
    /// Pieces that were read and are to be written.
    pub(super) in_flight: VecDeque<InFlight>,
    /// Whether the scheduler holds the block's pipes: that which reads, that which writes the oldest piece, and that which
    /// writes the newest.
    pub(super) held: [bool; PIPES],
}

/// What a block can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Go on.
    Ready,
    /// Poll the flag of its operation.
    Polls,
    /// Wait for the other blocks of its rank.
    Meets,
    /// Wait for a core.
    NoCore,
    /// Wait until the launch ends.
    Ended,
    /// Nothing more.
    Done,
}

/// A rank's kernel.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) round: u64,
    pub(crate) invocation: u64,
    pub(super) sizes: Round,
    /// Blocks that have or had a core.
    started: u32,
    ended: u32,
    /// Blocks that are at the meeting.
    arrived: u32,
}

/// A flag in the memory of its waiter.
#[derive(Debug, Default)]
struct Flag {
    value: u32,
    /// Whether it was recorded since a wait has last passed.
    is_new: bool,
    polled_by: Vec<u32>,
}

/// What is given to [`Engine::new`] beside the plan.
pub(crate) struct Setup<'p> {
    pub(crate) rounds: Rounds,
    pub(crate) repeat: u64,
    pub(crate) space: Space,
    pub(crate) verifier: Verifier<'p>,
    pub(crate) meter: Rc<Meter>,
    pub(crate) config: &'p Config,
    pub(crate) observer: &'p mut dyn FnMut(Access),
}

impl<'p> Engine<'p> {
    pub(crate) fn new(plan: Plan<'p>, setup: Setup<'p>) -> Engine<'p> {
        let Setup { rounds, repeat, mut space, verifier, meter, config, observer } = setup;
        let block = || Block {
            state: State::NoCore,
            op: 0,
            atomic: false,
            taken: 0,
            taken_atomic: false,
            in_flight: VecDeque::new(),
            held: [false; PIPES],
        };
        let launch = || Launch { round: 0, invocation: 0, sizes: rounds.round(0), started: 0, ended: 0, arrived: 0 };
        let ranks = plan.program.num_ranks();
        (0..ranks).for_each(|rank| space.start(rank, 0));
        Engine {
            blocks: plan.blocks.iter().map(|_| block()).collect(),
            launches: (0..ranks).map(|_| launch()).collect(),
            flags: plan.flags.iter().map(|_| Flag::default()).collect(),
            cores: config.cores.unwrap_or(u32::MAX).clamp(1, plan.per_rank),
            plan,
            repeat,
            rounds,
            config,
            space,
            verifier,
            meter,
            poison: Rc::new(Bytes::Poison),
            operations: 0,
            moved: Moved::default(),
            uninitialised: Events::new(),
            overlaps: Events::new(),
            lost_records: Events::new(),
            stale: Events::new(),
            atomic: Events::new(),
            misaligned: Events::new(),
            read: Vec::new(),
            observer,
        }
    }

    /// Runs until nothing can go on. Afterwards every block is done, or there is a hang.
    pub(crate) fn run(&mut self, scheduler: &mut dyn Scheduler) -> Result<(), RunError> {
        let until_blocked = scheduler.runs_until_blocked();
        let blocks = self.blocks.len() as u32;
        // Who can go on and is not yet the scheduler's, and how many are: it must give back all, and nothing else.
        let (mut woken, mut held) = (Vec::new(), 0usize);
        (0..self.launches.len() as u32).for_each(|rank| self.launch(rank, &mut woken));
        loop {
            held += woken.len();
            for thread in woken.drain(..) {
                scheduler.ready_at(self.turn(thread));
            }
            if held == 0 {
                return Ok(());
            }
            let chosen = scheduler.next();
            let is_held = |thread: &u32| match thread.checked_sub(blocks) {
                None => self.blocks[*thread as usize].state == State::Ready,
                Some(pipe) => {
                    let block = self.blocks.get((pipe % blocks) as usize);
                    block.is_some_and(|block| block.held.get((pipe / blocks) as usize).is_some_and(|held| *held))
                }
            };
            let Some(thread) = chosen.filter(is_held) else {
                return Err(RunError::Scheduler { chosen });
            };
            held -= 1;
            if let Some(pipe) = thread.checked_sub(blocks) {
                let (block, pipe) = (pipe % blocks, (pipe / blocks) as usize);
                self.blocks[block as usize].held[pipe] = false;
                let in_flight = &mut self.blocks[block as usize].in_flight;
                let piece = match pipe {
                    0 => None,
                    1 => in_flight.pop_front(),
                    _ => in_flight.pop_back(),
                };
                match piece {
                    Some(piece) => self.land(block, piece)?,
                    None if pipe == 0 => _ = self.take_up(block),
                    None => {}
                }
                self.offer_pipes(block, &mut woken);
                continue;
            }
            if until_blocked {
                while self.step(thread, &mut woken)? {
                    let block = &self.blocks[thread as usize];
                    if block.taken < block.op {
                        self.take_up_to(thread);
                    }
                }
                continue;
            }
            if self.step(thread, &mut woken)? {
                woken.push(thread);
            }
            self.offer_pipes(thread, &mut woken);
        }
    }

    /// Where a block is, or the block of a pipe.
    fn turn(&self, thread: u32) -> Turn {
        let number = thread % self.blocks.len() as u32;
        let block = &self.blocks[number as usize];
        let launch = &self.launches[self.plan.blocks[number as usize].rank as usize];
        Turn { thread, op: block.op, round: launch.round, invocation: launch.invocation }
    }

    /// Where a block is, at operation `op` of it.
    pub(crate) fn place(&self, block: u32, op: usize) -> Place {
        let planned = &self.plan.blocks[block as usize];
        let launch = &self.launches[planned.rank as usize];
        let place = plan::place(self.plan.program, planned.rank, planned.block, op);
        Place { round: launch.round, invocation: launch.invocation, ..place }
    }

    pub(crate) fn flag_name(&self, flag: u32) -> NotifyName {
        let (rank, peer, notify, part) = self.plan.flags[flag as usize];
        NotifyName::Flag { rank, peer, name: self.plan.program.frame.notify_name(notify).to_owned(), part }
    }

    /// Flags that were recorded and not waited for.
    pub(crate) fn unseen(&self) -> Vec<u32> {
        (0..).zip(&self.flags).filter(|(_, flag)| flag.is_new).map(|(number, _)| number).collect()
    }

    /// Gives cores to the blocks of a rank whose launch begins.
    fn launch(&mut self, rank: u32, woken: &mut Vec<u32>) {
        let launch = &mut self.launches[rank as usize];
        launch.sizes = self.rounds.round(launch.round);
        (launch.started, launch.ended, launch.arrived) = (self.cores, 0, 0);
        for (at, block) in (0..).zip(self.plan.blocks_of(rank)) {
            let has_core = at < self.cores;
            self.blocks[block as usize].op = 0;
            (self.blocks[block as usize].taken, self.blocks[block as usize].taken_atomic) = (0, false);
            self.blocks[block as usize].state = if has_core { State::Ready } else { State::NoCore };
            woken.extend(has_core.then_some(block));
        }
    }

    /// A block has come to its end: its core takes another one, or the launch ends.
    fn end(&mut self, thread: u32, woken: &mut Vec<u32>) -> Result<(), RunError> {
        self.atomic_is_off(thread);
        let block = &mut self.blocks[thread as usize];
        (block.state, block.atomic) = (State::Ended, false);
        let rank = self.plan.blocks[thread as usize].rank;
        let launch = &mut self.launches[rank as usize];
        launch.ended += 1;
        if launch.started < self.plan.per_rank {
            let next = self.plan.blocks_of(rank).start + launch.started;
            launch.started += 1;
            self.blocks[next as usize].state = State::Ready;
            woken.push(next);
        }
        if self.launches[rank as usize].ended == self.plan.per_rank {
            self.end_launch(rank, woken)?;
        }
        Ok(())
    }

    /// All blocks of a rank have ended, and so do the copies that no barrier has waited for.
    fn end_launch(&mut self, rank: u32, woken: &mut Vec<u32>) -> Result<(), RunError> {
        for block in self.plan.blocks_of(rank) {
            self.finish_copies(block)?;
        }
        let launch = &mut self.launches[rank as usize];
        launch.round += 1;
        if launch.round == self.rounds.rounds {
            let invocation = launch.invocation;
            (launch.round, launch.invocation) = (0, invocation + 1);
            self.verifier.finished(invocation, rank, self.space.output(rank));
            if invocation + 1 == self.repeat {
                self.plan.blocks_of(rank).for_each(|block| self.blocks[block as usize].state = State::Done);
                return Ok(());
            }
            self.space.start(rank, invocation + 1);
        }
        self.launch(rank, woken);
        Ok(())
    }

    /// Carries out the next operation of a block, or a piece of it. Returns whether it can go on.
    fn step(&mut self, thread: u32, woken: &mut Vec<u32>) -> Result<bool, RunError> {
        let planned = &self.plan.blocks[thread as usize];
        let (rank, at) = (planned.rank, self.blocks[thread as usize].op);
        let Some(op) = planned.ops.get(at) else {
            self.end(thread, woken)?;
            // Where the block was the last one, its rank may have begun another launch: it is woken for that.
            return Ok(false);
        };
        let flag = planned.flags[at];
        match op.kind {
            // The block only says that it is to be done.
            OpKind::Copy(_) => {}
            OpKind::SetAtomic => self.blocks[thread as usize].atomic = true,
            OpKind::SetAtomicNone => self.blocks[thread as usize].atomic = false,
            OpKind::PipeBarrier => self.finish_copies(thread)?,
            OpKind::Record(use_of) => {
                let value = self.value(rank, use_of.step);
                self.record(thread, flag, value, woken);
            }
            OpKind::Wait(use_of) => {
                let value = self.value(rank, use_of.step);
                if !self.poll(thread, flag, value) {
                    self.block(thread, State::Polls);
                    return Ok(false);
                }
            }
            OpKind::SyncAll => {
                self.atomic_is_off(thread);
                let launch = &mut self.launches[rank as usize];
                launch.arrived += 1;
                if launch.arrived < self.plan.per_rank {
                    self.block(thread, State::Meets);
                    return Ok(false);
                }
                launch.arrived = 0;
                for other in self.plan.blocks_of(rank).filter(|other| *other != thread) {
                    let block = &mut self.blocks[other as usize];
                    (block.state, block.op) = (State::Ready, block.op + 1);
                    self.operations += 1;
                    woken.push(other);
                }
            }
        }
        self.operations += u64::from(!matches!(op.kind, OpKind::Copy(_)));
        self.blocks[thread as usize].op += 1;
        Ok(true)
    }

    /// A block cannot go on. Copies behind what it waits for that no barrier keeps there are read too early.
    fn block(&mut self, thread: u32, state: State) {
        self.blocks[thread as usize].state = state;
        while self.take_up(thread) {}
    }

    /// The value of a flag in its use `step` on a rank.
    fn value(&self, rank: u32, step: u32) -> u32 {
        let launch = &self.launches[rank as usize];
        let counter = Tags::counter(self.config.counter, launch.invocation);
        self.plan.program.value(self.plan.steps, counter, launch.round, step)
    }

    fn record(&mut self, thread: u32, number: u32, value: u32, woken: &mut Vec<u32>) {
        let is_added = self.blocks[thread as usize].atomic;
        self.atomic_is_off(thread);
        let flag = &mut self.flags[number as usize];
        // A flag is copied like data.
        flag.value = if is_added { flag.value.wrapping_add(value) } else { value };
        let lost = std::mem::replace(&mut flag.is_new, true);
        for waiting in flag.polled_by.drain(..) {
            self.blocks[waiting as usize].state = State::Ready;
            woken.push(waiting);
        }
        if lost {
            let event = self.event(thread, number);
            self.lost_records.add(|| event);
        }
    }

    /// Whether a flag has the value.
    fn poll(&mut self, thread: u32, number: u32, value: u32) -> bool {
        let flag = &mut self.flags[number as usize];
        if flag.value != value {
            flag.polled_by.push(thread);
            return false;
        }
        if !std::mem::take(&mut flag.is_new) {
            let event = self.event(thread, number);
            self.stale.add(|| event);
        }
        self.atomic_is_off(thread);
        true
    }

    fn event(&self, thread: u32, flag: u32) -> NotifyEvent {
        let place = self.place(thread, self.blocks[thread as usize].op);
        NotifyEvent { place, notify: self.flag_name(flag) }
    }

    /// Notes where the atomic mode is on and must not be.
    fn atomic_is_off(&mut self, thread: u32) {
        if self.blocks[thread as usize].atomic {
            let place = self.place(thread, self.blocks[thread as usize].op);
            self.atomic.add(|| place);
        }
    }
}
