//! What was done when, and the critical path through it.

use super::any::{AnyProgram, Operation, Work};
use super::kernel;
use super::schedule::Schedule;
use hcomm_core::ids::SpanId;

/// No event.
pub(super) const NO_EVENT: u32 = u32::MAX;

/// An operation that was carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Its place among all operations of the program, thread by thread.
    pub(super) step: u32,
    /// The round.
    pub round: u32,
    /// When its thread came to it, in nanoseconds.
    pub start: f64,
    /// When its data began to flow; the start where there are none.
    pub flow: f64,
    /// When its data had arrived, before they were reduced.
    pub arrived: f64,
    /// When it ended.
    pub end: f64,
    /// How long its data would take with all links to themselves.
    pub alone: f64,
    /// The record that a wait was held up by, or that of the event before it in its thread.
    pub(super) cause: u32,
    /// The record that a wait took.
    pub(super) record: u32,
    /// Whether a wait was held up until the record arrived.
    pub is_held_up: bool,
}

/// All operations that were carried out, in the order of their ends by thread.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub(super) events: Vec<Event>,
    /// First operation of every thread, and one past the last.
    pub(super) first: Vec<u32>,
    /// What kind of work each operation is.
    pub(super) work: Vec<Work>,
    /// Rank and thread, by the same number.
    pub(super) threads: Vec<(u32, u32)>,
    /// What a launch costs, in nanoseconds, and whether every round is one.
    pub(super) launch: f64,
    pub(super) launches_rounds: bool,
}

/// A stretch of the critical path: an operation, and what its time on the path went to. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The operation, by its number in the recording.
    pub event: usize,
    /// The launch before it: of the call, or on AIV of its round.
    pub launch: f64,
    /// Until its data began to flow: the engine and the latency of the path; all of a record or wait.
    pub overhead: f64,
    /// The data, as if they had all links to themselves.
    pub data: f64,
    /// What sharing links with others added.
    pub sharing: f64,
    /// Reduction of what has arrived.
    pub reduction: f64,
}

impl Recording {
    pub(super) fn new(schedule: &Schedule<'_>, launch: f64) -> Recording {
        let mut first: Vec<u32> = schedule.threads.iter().map(|thread| thread.begin).collect();
        first.push(schedule.steps.len() as u32);
        let threads = schedule.threads.iter().map(|thread| (thread.rank, thread.thread)).collect();
        let work = schedule.steps.iter().map(|step| kernel::work(step.kind())).collect();
        let launches_rounds = schedule.blocks > 0;
        Recording { events: Vec::new(), first, work, threads, launch, launches_rounds }
    }

    /// All operations that were carried out. Those of a thread are in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The rank, the thread and the operation's place in the thread.
    pub fn place(&self, event: &Event) -> (u32, u32, usize) {
        let thread = self.first.partition_point(|first| *first <= event.step).saturating_sub(1);
        // A thread without operations begins where the next one does.
        let (rank, number) = self.threads.get(thread).copied().unwrap_or_default();
        (rank, number, (event.step - self.first.get(thread).copied().unwrap_or(0)) as usize)
    }

    /// The operation of an event.
    pub fn op<'p>(&self, code: impl Into<AnyProgram<'p>>, event: &Event) -> Option<Operation<'p>> {
        let (rank, thread, op) = self.place(event);
        code.into().op(rank, thread, op)
    }

    /// What kind of work an event is.
    pub fn work(&self, event: &Event) -> Work {
        self.work.get(event.step as usize).copied().unwrap_or(Work::Setup)
    }

    /// The event whose end let this one begin or go on.
    pub fn cause(&self, event: &Event) -> Option<usize> {
        if event.cause == NO_EVENT { None } else { Some(event.cause as usize) }
    }

    /// The event of the record that a wait took.
    pub fn record_of(&self, event: &Event) -> Option<usize> {
        if event.record == NO_EVENT { None } else { Some(event.record as usize) }
    }

    /// The chain of operations that ends last, each the cause of the next, from the first to the last.
    pub fn critical_path(&self) -> Vec<Stretch> {
        let last = (0..self.events.len()).max_by(|a, b| {
            let (a, b) = (&self.events[*a], &self.events[*b]);
            // Of those that end together the first one.
            a.end.total_cmp(&b.end).then(b.step.cmp(&a.step))
        });
        let mut path = Vec::new();
        let mut next = last;
        while let Some(index) = next {
            let event = &self.events[index];
            next = self.cause(event);
            let (begin, is_launched) = match next.map(|cause| &self.events[cause]) {
                None => (0.0, true),
                Some(cause) => (cause.end, self.launches_rounds && cause.round < event.round),
            };
            let waited = event.flow.max(begin) - begin;
            let launch = if is_launched { self.launch.min(waited) } else { 0.0 };
            let data = event.alone.min(event.arrived - event.flow).max(0.0);
            path.push(Stretch {
                event: index,
                launch,
                overhead: waited - launch,
                data,
                sharing: event.arrived - event.flow - data,
                reduction: event.end - event.arrived,
            });
        }
        path.reverse();
        path
    }
}

/// What the critical path is made of, by statement and operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The statement.
    pub at: SpanId,
    /// HCOMM's name of the operation.
    pub name: &'static str,
    /// How many of them are on the path.
    pub count: u64,
    /// Their time, in nanoseconds, and its parts.
    pub time: f64,
    /// Engine and latency.
    pub overhead: f64,
    /// Data, as if alone.
    pub data: f64,
    /// Sharing of links.
    pub sharing: f64,
    /// Reduction.
    pub reduction: f64,
}

/// Launches are a share of this name, which has no statement.
pub const LAUNCH: &str = "launch";
/// The statement of launches: none.
const NOWHERE: SpanId = SpanId(u32::MAX);

/// The critical path by statement and operation, the largest share first. Launches, if they take time, are a share of
/// their own.
pub fn shares<'p>(recording: &Recording, code: impl Into<AnyProgram<'p>>, path: &[Stretch]) -> Vec<Share> {
    let code = code.into();
    let mut shares: Vec<Share> = Vec::new();
    let launches = path.iter().map(|stretch| stretch.launch).filter(|launch| *launch > 0.0);
    let (count, launch) = launches.fold((0, 0.0), |(count, sum), launch| (count + 1, sum + launch));
    if count > 0 {
        let (data, sharing, reduction) = Default::default();
        let (at, name) = (NOWHERE, LAUNCH);
        shares.push(Share { at, name, count, time: launch, overhead: launch, data, sharing, reduction });
    }
    for stretch in path {
        let Some(op) = recording.op(code, &recording.events[stretch.event]) else { continue };
        let name = op.name();
        let index = shares.iter().position(|share| (share.at, share.name) == (op.at, name)).unwrap_or_else(|| {
            let (count, time, overhead, data, sharing, reduction) = Default::default();
            shares.push(Share { at: op.at, name, count, time, overhead, data, sharing, reduction });
            shares.len() - 1
        });
        let share = &mut shares[index];
        share.count += 1;
        share.overhead += stretch.overhead;
        share.data += stretch.data;
        share.sharing += stretch.sharing;
        share.reduction += stretch.reduction;
        share.time = share.overhead + share.data + share.sharing + share.reduction;
    }
    shares.sort_by(|a, b| b.time.total_cmp(&a.time));
    shares
}

impl Event {
    /// Whether the operation moves data.
    pub fn moves(&self) -> bool {
        self.arrived > self.start || self.alone > 0.0
    }
}
