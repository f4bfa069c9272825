//! An algorithm instantiated: what every rank does, as a flat list of tasks.

use crate::diag::Diagnostic;
use crate::eval::{Event, Fault, FaultKind, Machine, Operand, Step, rank_count};
use crate::ids::SpanId;
use crate::operator::{Buffer, Operator};
use crate::program::{Cell, Source};
use crate::shape::Shape;
use crate::spec::Spec;

/// The most tasks that an algorithm is instantiated to, all ranks together.
pub const MAX_TASKS: usize = 1 << 27;

/// An algorithm for one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The algorithm's name on the command line.
    pub algorithm: String,
    /// What it computes.
    pub operator: Operator,
    /// For whom.
    pub shape: Shape,
    /// Chunks a slot.
    pub split: u32,
    /// Cells of scratch.
    pub scratch: u32,
    /// Whether reductions into one chunk must be ordered.
    pub deterministic: bool,
    /// Whether peers may reach `input` and `output`.
    pub symmetric: bool,
    /// Names of the channel notifies, by index.
    pub notifies: Vec<String>,
    /// Where the statements are written.
    pub source: Source,
    /// What each rank does. The tasks of a lane are in its order; a `par` begins with [`TaskKind::Fork`] and ends
    /// with [`TaskKind::Join`], both on lane 0.
    pub ranks: Vec<Vec<Task>>,
}

/// A step of one lane of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// What it does.
    pub kind: TaskKind,
    /// On which lane. Lane 0 is the main thread.
    pub lane: u32,
    /// The statement, in [`Instance::source`].
    pub at: SpanId,
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Copy between buffers of this rank.
    Copy(Run),
    /// Reduce between buffers of this rank.
    Reduce(Run),
    /// Copy to the peer's buffer.
    Write(u32, Run),
    /// Copy from the peer's buffer.
    Read(u32, Run),
    /// Reduce into the peer's buffer.
    WriteReduce(u32, Run),
    /// Reduce from the peer's buffer.
    ReadReduce(u32, Run),
    /// Set the notify at the peer's end of the channel: peer, notify.
    Record(u32, u32),
    /// Wait for the notify at this end of the channel, and clear it: peer, notify.
    Wait(u32, u32),
    /// A `par` begins, on all lanes.
    Fork,
    /// A `par` ends, when all lanes have.
    Join,
}

/// A run of chunks that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first chunk that is written.
    pub dst: Cell,
    /// The first chunk that is read.
    pub src: Cell,
    /// How many.
    pub len: u32,
}

impl TaskKind {
    /// The name in DESIGN section 7.
    pub const fn name(&self) -> &'static str {
        match self {
            TaskKind::Copy(_) => "copy",
            TaskKind::Reduce(_) => "reduce",
            TaskKind::Write(..) => "write",
            TaskKind::Read(..) => "read",
            TaskKind::WriteReduce(..) => "write-reduce",
            TaskKind::ReadReduce(..) => "read-reduce",
            TaskKind::Record(..) => "record",
            TaskKind::Wait(..) => "wait",
            TaskKind::Fork => "fork",
            TaskKind::Join => "join",
        }
    }

    /// The rank at the other end, if there is one.
    pub const fn peer(&self) -> Option<u32> {
        match self {
            TaskKind::Write(peer, _)
            | TaskKind::Read(peer, _)
            | TaskKind::WriteReduce(peer, _)
            | TaskKind::ReadReduce(peer, _)
            | TaskKind::Record(peer, _)
            | TaskKind::Wait(peer, _) => Some(*peer),
            _ => None,
        }
    }

    /// The chunks that move, if any do.
    pub const fn run(&self) -> Option<&Run> {
        match self {
            TaskKind::Copy(run)
            | TaskKind::Reduce(run)
            | TaskKind::Write(_, run)
            | TaskKind::Read(_, run)
            | TaskKind::WriteReduce(_, run)
            | TaskKind::ReadReduce(_, run) => Some(run),
            _ => None,
        }
    }
}

/// Evaluates an algorithm for every rank of a shape.
///
/// # Errors
///
/// What is wrong with the language's meaning at this shape: arithmetic, bounds, peers (H001, H303, H304) or the rank
/// count (H401). Each fault once, with the first rank that has it.
pub fn instantiate(spec: &Spec<'_>, shape: &Shape) -> Result<Instance, Vec<Diagnostic>> {
    let ranks = shape.ranks();
    if let Some(diagnostic) = rank_count(spec, ranks) {
        return Err(vec![diagnostic]);
    }
    let mut faults: Vec<(Fault, u32)> = Vec::new();
    let mut report = |fault: Fault, rank: u32| {
        let same = |(other, _): &(Fault, u32)| {
            other.span == fault.span && std::mem::discriminant(&other.kind) == std::mem::discriminant(&fault.kind)
        };
        if !faults.iter().any(same) {
            faults.push((fault, rank));
        }
        // What runs away on one rank does so on the others.
        !matches!(fault.kind, FaultKind::Runaway)
    };
    let (mut all, mut total, mut facts) = (Vec::with_capacity(ranks as usize), 0, None);
    for rank in 0..ranks {
        let mut tasks = Vec::new();
        match evaluate(spec, shape, rank, &mut tasks, MAX_TASKS - total) {
            Err(fault) => {
                if !report(fault, rank) {
                    break;
                }
            }
            // Peers find a cell by its number, so scratch must be the same everywhere.
            Ok((split, scratch)) => {
                let (kind, header) = match *facts.get_or_insert((split, scratch)) {
                    (first, _) if first != split => (FaultKind::Uneven("split", first, split), spec.headers.split),
                    (_, first) if first != scratch => {
                        (FaultKind::Uneven("scratch", first, scratch), spec.headers.scratch)
                    }
                    _ => {
                        total += tasks.len();
                        tasks.shrink_to_fit();
                        all.push(tasks);
                        continue;
                    }
                };
                let span = header.and_then(|id| spec.exprs.get(id.index())).map_or(SpanId(0), |expr| expr.span);
                report(Fault { kind, span }, rank);
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults.iter().map(|(fault, rank)| fault.diagnostic(spec, shape, *rank)).collect());
    }
    let (split, scratch) = facts.unwrap_or((1, 0));
    Ok(Instance {
        algorithm: spec.snake.to_owned(),
        operator: spec.operator,
        shape: *shape,
        split,
        scratch,
        deterministic: spec.headers.deterministic,
        symmetric: spec.headers.symmetric,
        notifies: spec.notifies.iter().map(|name| (*name).to_owned()).collect(),
        source: Source { file: spec.file.to_owned(), spans: spec.spans.to_vec() },
        ranks: all,
    })
}

/// Evaluates one rank; answers its split and scratch.
fn evaluate(
    spec: &Spec<'_>,
    shape: &Shape,
    rank: u32,
    tasks: &mut Vec<Task>,
    room: usize,
) -> Result<(u32, u32), Fault> {
    let mut machine = Machine::new(spec, *shape, rank)?;
    let mut lane = 0;
    loop {
        let event = match machine.step() {
            Step::Done => return Ok((machine.split(), machine.scratch())),
            Step::Fault(fault) => return Err(fault),
            Step::Event(event) => event,
        };
        let (kind, at) = match event {
            Event::Lane(this) => {
                lane = this;
                continue;
            }
            Event::Fork { at } => {
                lane = 0;
                (TaskKind::Fork, at)
            }
            Event::Join { at } => {
                lane = 0;
                (TaskKind::Join, at)
            }
            Event::Signal { peer, notify, at } => (TaskKind::Record(peer, notify.0), at),
            Event::Wait { peer, notify, at } => (TaskKind::Wait(peer, notify.0), at),
            Event::Transfer { dst, src, reduce, at } => (transfer(rank, &dst, &src, reduce), at),
        };
        if tasks.len() >= room {
            return Err(Fault { kind: FaultKind::Runaway, span: at });
        }
        tasks.push(Task { kind, lane, at });
    }
}

/// The task of rank `me` that moves `src` to `dst`.
fn transfer(me: u32, dst: &Operand, src: &Operand, reduce: bool) -> TaskKind {
    let cell = |side: &Operand| Cell { buffer: side.buffer, chunk: side.start };
    let run = Run { dst: cell(dst), src: cell(src), len: dst.len };
    match (dst.rank == me, src.rank == me, reduce) {
        (true, true, false) => TaskKind::Copy(run),
        (true, true, true) => TaskKind::Reduce(run),
        (false, _, false) => TaskKind::Write(dst.rank, run),
        (false, _, true) => TaskKind::WriteReduce(dst.rank, run),
        (true, false, false) => TaskKind::Read(src.rank, run),
        (true, false, true) => TaskKind::ReadReduce(src.rank, run),
    }
}

impl Instance {
    /// All tasks of all ranks.
    pub fn num_tasks(&self) -> usize {
        self.ranks.iter().map(Vec::len).sum()
    }

    /// Chunks of a buffer on a rank.
    pub fn chunks(&self, buffer: Buffer, rank: u32) -> u32 {
        match buffer {
            Buffer::Input => self.operator.input_slots(&self.shape, rank) * self.split,
            Buffer::Output => self.operator.output_slots(&self.shape, rank) * self.split,
            Buffer::Scratch => self.scratch,
        }
    }
}
