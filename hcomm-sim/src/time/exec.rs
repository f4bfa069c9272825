//! The simulation: threads go on as far as they can on their own, and transfers begin and end in the order of time.
//!
//! Notifies need no order among themselves: a record says when it arrives, and a wait ends then or when its thread
//! comes to it, whichever is later. So a thread runs through its records and waits at once, with a clock of its own, and
//! only beginnings and ends of transfers go through the queue.

use hcomm_core::sizes::{Round, Rounds};

use super::flows::Flows;
use super::launch::Launch;
use super::queue::Queue;
use super::record::{Event, NO_EVENT, Recording};
use super::schedule::{Amount, Kind, NO_PATH, Schedule, Step};
use crate::bytes::plan::NO_NOTIFY;
use crate::cluster::{Cluster, PathId};
use hcomm_core::spec;

/// Times that differ by less than this part are equal: sums of the same costs in another order.
pub(super) const EQUAL: f64 = 1e-12;
/// No thread.
const NOBODY: u32 = u32::MAX;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It can go on.
    Ready,
    /// It waits for a notify.
    Waits,
    /// Its transfer is going to begin.
    Begins,
    /// Its transfer is on its links.
    Flows,
    /// What it has transferred is being reduced.
    Reduces,
    /// AIV: it waits for the other blocks of its rank.
    Meets,
    /// AIV: it waits for a core.
    NoCore,
    /// AIV: it has come to its end and gives its core away.
    Ends,
    /// AIV: it waits until the launch ends.
    Ended,
    /// It has ended.
    Done,
    /// Its rank has stalled.
    Stalled,
}

/// A thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) at: u32,
    pub(super) round: u32,
    pub(super) state: State,
    /// The path of the transfer right before, which the next one follows without a latency.
    pub(super) last_path: PathId,
    pub(super) clock: f64,
    bytes: f64,
}

/// A notify.
#[derive(Clone, Copy, Debug)]
struct Flag {
    /// When it was set, if it is.
    arrives: f64,
    is_set: bool,
    waiter: u32,
}

/// What is remembered of the operation at hand, where operations are recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    start: f64,
    flow: f64,
    arrived: f64,
    alone: f64,
    /// The event before in the thread.
    pub(super) last: u32,
}

/// What operations cost, whichever the engine. Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    pub(super) launch: f64,
    local: f64,
    transfer: f64,
    thread_record: f64,
    channel_record: f64,
    wait: f64,
    /// AIV: how often a wait looks; always, if it is 0.
    poll: f64,
    pub(super) sync: f64,
    barrier: f64,
}

impl Costs {
    pub(super) fn of(cluster: &Cluster, engine: spec::Engine) -> Costs {
        let (ai_cpu, aiv) = (&cluster.engine, &cluster.aiv);
        match engine {
            spec::Engine::AiCpu => Costs {
                launch: ai_cpu.launch,
                local: ai_cpu.local,
                transfer: ai_cpu.transfer,
                thread_record: ai_cpu.thread_record,
                channel_record: ai_cpu.channel_record,
                wait: ai_cpu.wait,
                poll: 0.0,
                sync: 0.0,
                barrier: 0.0,
            },
            spec::Engine::Aiv => Costs {
                launch: aiv.launch,
                local: aiv.copy,
                transfer: aiv.copy,
                thread_record: aiv.record,
                channel_record: aiv.record,
                wait: 0.0,
                poll: aiv.poll,
                sync: aiv.sync,
                barrier: aiv.barrier,
            },
        }
    }
}

/// A record that is going to be lost: the notify, which of its records, how many are before it yet, and whether it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lose {
    pub(super) notify: u32,
    pub(super) nth: u64,
    pub(super) after: u64,
    pub(super) is_done: bool,
}

/// What the simulation is given beside the program.
pub(super) struct Setup {
    pub(super) costs: Costs,
    pub(super) rounds: Rounds,
    /// AIV: cores of a rank.
    pub(super) cores: u32,
    pub(super) record: Option<usize>,
    /// By rank: from when on it starts nothing.
    pub(super) stalls: Option<Vec<f64>>,
    pub(super) lose: Vec<Lose>,
    /// After which time to give up.
    pub(super) stop_after: f64,
}

/// A record that found its notify set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overrun {
    pub(super) thread: u32,
    pub(super) step: u32,
    pub(super) round: u32,
}

pub(super) struct Engine<'s, 'p> {
    pub(super) schedule: &'s Schedule<'p>,
    pub(super) setup: Setup,
    pub(super) tasks: Vec<Task>,
    flags: Vec<Flag>,
    pub(super) launches: Vec<Launch>,
    pub(super) queue: Queue,
    pub(super) flows: Flows,
    pub(super) ready: Vec<u32>,
    amounts: Amounts,
    pub(super) overruns: (u64, Option<Overrun>),
    pub(super) steps: u64,
    pub(super) now: f64,
    pub(super) is_stopped: bool,
    /// That more operations were carried out than could be recorded.
    pub(super) is_full: bool,
    pub(super) notes: Vec<Note>,
    flag_events: Vec<u32>,
    pub(super) recording: Recording,
}

/// Bytes of moves: by round where counts differ, once for all and once for the last round where they do not.
enum Amounts {
    Tables { rounds: u32, usual: Vec<Amount>, last: Vec<Amount> },
    Rounds(Vec<Round>),
}

impl Amounts {
    fn new(schedule: &Schedule<'_>, rounds: &Rounds) -> Amounts {
        if schedule.rounds_are_alike() {
            let last = rounds.rounds - 1;
            return Amounts::Tables {
                rounds: rounds.rounds as u32,
                usual: schedule.amounts(&rounds.round(0)),
                last: schedule.amounts(&rounds.round(last)),
            };
        }
        Amounts::Rounds((0..rounds.rounds).map(|round| rounds.round(round)).collect())
    }

    fn of(&self, schedule: &Schedule<'_>, step: &Step, round: u32) -> Amount {
        match self {
            Amounts::Tables { rounds, usual, last } => {
                let table = if round + 1 == *rounds { last } else { usual };
                table[step.size() as usize]
            }
            Amounts::Rounds(rounds) => schedule.amount(step.size(), &rounds[round as usize]),
        }
    }
}

impl<'s, 'p> Engine<'s, 'p> {
    pub(super) fn new(schedule: &'s Schedule<'p>, flows: Flows, setup: Setup) -> Engine<'s, 'p> {
        let threads = schedule.threads.len();
        let task = |begin| Task {
            at: begin,
            round: 0,
            state: State::Ready,
            last_path: NO_PATH,
            clock: setup.costs.launch,
            bytes: 0.0,
        };
        let flag = Flag { arrives: 0.0, is_set: false, waiter: NOBODY };
        let recorded = if setup.record.is_some() { threads } else { 0 };
        let start = setup.costs.launch;
        let note = Note { start, flow: start, arrived: start, alone: 0.0, last: NO_EVENT };
        let (blocks, cores) = (schedule.blocks, setup.cores.max(1).min(schedule.blocks));
        let mut tasks: Vec<Task> = schedule.threads.iter().map(|thread| task(thread.begin)).collect();
        let has_core = |thread: &u32| blocks == 0 || thread % blocks < cores;
        tasks
            .iter_mut()
            .zip(0..)
            .filter(|(_, thread)| !has_core(thread))
            .for_each(|(task, _)| task.state = State::NoCore);
        let mut ready: Vec<u32> = (0..threads as u32).filter(has_core).collect();
        ready.reverse();
        let launches = if blocks == 0 { 0 } else { schedule.program.num_ranks() as usize };
        Engine {
            schedule,
            tasks,
            launches: vec![Launch::new(cores); launches],
            flags: vec![flag; schedule.signals.len()],
            queue: Queue::new(threads),
            flows,
            ready,
            amounts: Amounts::new(schedule, &setup.rounds),
            overruns: (0, None),
            steps: 0,
            now: start,
            is_stopped: false,
            is_full: false,
            notes: vec![note; recorded],
            flag_events: vec![NO_EVENT; if recorded > 0 { schedule.signals.len() } else { 0 }],
            recording: if recorded > 0 { Recording::new(schedule, start) } else { Recording::default() },
            setup,
        }
    }

    /// Runs until nothing goes on.
    pub(super) fn run(&mut self) {
        loop {
            self.go_on();
            let Some((now, _)) = self.queue.first() else { return };
            if now > self.setup.stop_after {
                self.is_stopped = true;
                return;
            }
            self.now = now;
            let until = now * (1.0 + EQUAL);
            while let Some((time, thread)) = self.queue.first().filter(|(time, _)| *time <= until) {
                self.happen(thread, time, until);
                self.go_on();
            }
            self.flows.share(now, &mut self.queue);
        }
    }

    /// Lets all threads go on that can.
    fn go_on(&mut self) {
        while let Some(thread) = self.ready.pop() {
            self.run_thread(thread);
        }
    }

    /// A transfer begins or ends, at a time that is the same as all until `until`.
    fn happen(&mut self, thread: u32, time: f64, until: f64) {
        let task = self.tasks[thread as usize];
        let step = self.schedule.steps[task.at as usize];
        match task.state {
            State::Begins => {
                self.tasks[thread as usize].state = State::Flows;
                self.flows.begin(thread, step.path, task.bytes, time, &mut self.queue);
            }
            State::Flows => {
                self.queue.remove(thread);
                self.flows.end(thread, time, until, &mut self.queue);
                if let Some(note) = self.notes.get_mut(thread as usize) {
                    note.arrived = time;
                }
                let inline = self.schedule.inline[step.path as usize];
                if step.kind() == Kind::MoveReduce && inline != NO_PATH {
                    self.tasks[thread as usize].state = State::Reduces;
                    self.flows.begin(thread, inline, task.bytes, time, &mut self.queue);
                } else {
                    self.moved(thread, &step, time);
                }
            }
            State::Reduces => {
                self.queue.remove(thread);
                self.flows.end(thread, time, until, &mut self.queue);
                self.moved(thread, &step, time);
            }
            State::Ends => {
                self.queue.remove(thread);
                self.tasks[thread as usize].state = State::Ended;
                self.next_block(thread, time);
            }
            _ => self.queue.remove(thread),
        }
    }

    /// A move has ended.
    fn moved(&mut self, thread: u32, step: &Step, time: f64) {
        let task = &mut self.tasks[thread as usize];
        task.clock = time;
        task.state = State::Ready;
        let event = self.record(thread, time, None);
        if step.notify != NO_NOTIFY {
            // The record follows the data on their way.
            self.set(step.notify, time, event, (thread, step));
            self.tasks[thread as usize].last_path = NO_PATH;
        }
        self.tasks[thread as usize].at += 1;
        self.ready.push(thread);
    }

    fn run_thread(&mut self, thread: u32) {
        let schedule = self.schedule;
        let range = schedule.threads[thread as usize];
        let costs = self.setup.costs;
        loop {
            let task = &mut self.tasks[thread as usize];
            if task.at == range.end && schedule.blocks > 0 {
                self.end_block(thread);
                return;
            }
            if task.at == range.end {
                if u64::from(task.round) + 1 < self.setup.rounds.rounds && range.begin < range.end {
                    task.round += 1;
                    task.at = range.begin;
                    continue;
                }
                task.state = State::Done;
                return;
            }
            if let Some(stalls) = &self.setup.stalls
                && task.clock >= stalls[range.rank as usize]
            {
                task.state = State::Stalled;
                return;
            }
            let step = &schedule.steps[task.at as usize];
            let start = task.clock;
            match step.kind() {
                Kind::ThreadRecord | Kind::ChannelRecord => {
                    let (cost, latency) = match step.kind() {
                        Kind::ThreadRecord => (costs.thread_record, 0.0),
                        _ => (costs.channel_record, self.flows.route(step.path).notify_latency),
                    };
                    task.clock += cost;
                    task.last_path = NO_PATH;
                    let end = task.clock;
                    let event = self.record(thread, end, Some(start));
                    self.set(step.notify, end + latency, event, (thread, step));
                    self.tasks[thread as usize].at += 1;
                }
                Kind::Wait => {
                    let flag = &mut self.flags[step.notify as usize];
                    task.last_path = NO_PATH;
                    if !flag.is_set {
                        flag.waiter = thread;
                        task.state = State::Waits;
                        return;
                    }
                    flag.is_set = false;
                    let arrives = flag.arrives;
                    self.waited(thread, step.notify, arrives);
                }
                Kind::Meet => {
                    self.meet(thread);
                    return;
                }
                Kind::Barrier | Kind::Mode => {
                    if step.kind() == Kind::Barrier {
                        task.clock += costs.barrier;
                        task.last_path = NO_PATH;
                    }
                    let end = task.clock;
                    self.record(thread, end, Some(start));
                    self.tasks[thread as usize].at += 1;
                }
                Kind::Local | Kind::Reduce | Kind::Move | Kind::MoveReduce => {
                    let amount = self.amounts.of(schedule, step, task.round);
                    if amount.pieces == 0 {
                        // Nothing is moved, and the notify that went with it is recorded all the same.
                        let is_record = step.notify != NO_NOTIFY;
                        task.clock += if is_record { costs.channel_record } else { 0.0 };
                        let end = task.clock;
                        let event = self.record(thread, end, Some(start));
                        if is_record {
                            let latency = self.flows.route(step.path).notify_latency;
                            self.set(step.notify, end + latency, event, (thread, step));
                            self.tasks[thread as usize].last_path = NO_PATH;
                        }
                        self.tasks[thread as usize].at += 1;
                        continue;
                    }
                    let is_local = matches!(step.kind(), Kind::Local | Kind::Reduce);
                    let each = if is_local { costs.local } else { costs.transfer };
                    let mut begin = start + each * f64::from(amount.pieces);
                    let mut alone = 0.0;
                    if step.path != NO_PATH {
                        let route = self.flows.route(step.path);
                        if step.path != task.last_path {
                            begin += route.latency;
                        }
                        alone = amount.bytes / route.gbps;
                        if schedule.blocks > 0 {
                            begin += schedule.filling(step.path, &amount);
                        }
                    }
                    task.last_path = step.path;
                    task.bytes = amount.bytes;
                    if let Some(note) = self.notes.get_mut(thread as usize) {
                        let last = note.last;
                        *note = Note { start, flow: begin, arrived: begin, alone, last };
                    }
                    if step.path == NO_PATH {
                        task.clock = begin;
                        self.record(thread, begin, None);
                        self.tasks[thread as usize].at += 1;
                    } else {
                        task.state = State::Begins;
                        self.queue.set(thread, begin);
                        return;
                    }
                }
            }
        }
    }

    /// Sets a notify, and lets go on who waits for it.
    fn set(&mut self, notify: u32, arrives: f64, event: u32, (thread, step): (u32, &Step)) {
        if !self.setup.lose.is_empty() && self.is_lost(notify) {
            return;
        }
        if let Some(slot) = self.flag_events.get_mut(notify as usize) {
            *slot = event;
        }
        let flag = &mut self.flags[notify as usize];
        if flag.waiter != NOBODY {
            let waiter = std::mem::replace(&mut flag.waiter, NOBODY);
            self.waited(waiter, notify, arrives);
            self.tasks[waiter as usize].state = State::Ready;
            self.ready.push(waiter);
        } else if flag.is_set {
            let at = self.tasks[thread as usize].at;
            debug_assert_eq!(self.schedule.steps[at as usize].notify, step.notify, "the record at hand");
            self.overruns.0 += 1;
            self.overruns.1.get_or_insert(Overrun { thread, step: at, round: self.tasks[thread as usize].round });
        } else {
            (flag.is_set, flag.arrives) = (true, arrives);
        }
    }

    fn is_lost(&mut self, notify: u32) -> bool {
        let mut lost = false;
        for lose in self.setup.lose.iter_mut().filter(|lose| lose.notify == notify && !lose.is_done) {
            lose.is_done = lose.after == 0;
            lost |= lose.is_done;
            lose.after = lose.after.saturating_sub(1);
        }
        lost
    }

    /// A wait has ended.
    fn waited(&mut self, thread: u32, notify: u32, arrives: f64) {
        let task = &mut self.tasks[thread as usize];
        let (start, is_held_up) = (task.clock, arrives > task.clock);
        let Costs { wait, poll, .. } = self.setup.costs;
        task.clock = if poll > 0.0 {
            // The first poll that begins when the flag is there sees it.
            let before = ((arrives - start) / poll - 1e-9).ceil().max(0.0);
            start + (before + 1.0) * poll
        } else {
            start.max(arrives) + wait
        };
        let end = task.clock;
        let cause = self.flag_events.get(notify as usize).copied().unwrap_or(NO_EVENT);
        let number = self.record(thread, end, Some(start));
        if cause != NO_EVENT
            && let Some(event) = self.recording.events.get_mut(number as usize)
        {
            event.record = cause;
            if is_held_up {
                (event.cause, event.is_held_up) = (cause, true);
            }
        }
        self.tasks[thread as usize].at += 1;
    }

    /// Counts an operation that has ended, and remembers it if that is asked for. Returns its number.
    ///
    /// `start` is given for what moves nothing.
    pub(super) fn record(&mut self, thread: u32, end: f64, start: Option<f64>) -> u32 {
        self.steps += 1;
        let Some(note) = self.notes.get_mut(thread as usize) else { return NO_EVENT };
        if self.setup.record.is_none_or(|most| self.recording.events.len() >= most) {
            self.is_full = true;
            return NO_EVENT;
        }
        if let Some(start) = start {
            *note = Note { start, flow: end, arrived: end, alone: 0.0, last: note.last };
        }
        let number = self.recording.events.len() as u32;
        let cause = std::mem::replace(&mut note.last, number);
        let Note { start, flow, arrived, alone, .. } = *note;
        let Task { at, round, .. } = self.tasks[thread as usize];
        self.recording.events.push(Event {
            step: at,
            round,
            start,
            flow,
            arrived,
            end,
            alone,
            cause,
            record: NO_EVENT,
            is_held_up: false,
        });
        number
    }

    /// How many rounds there are.
    pub(super) fn rounds(&self) -> u64 {
        self.setup.rounds.rounds
    }

    /// Notifies that are set, by number.
    pub(super) fn set_flags(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.flags).filter(|(_, flag)| flag.is_set).map(|(notify, _)| notify)
    }
}
