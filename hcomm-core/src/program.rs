//! The lowered program for AI CPU: per rank, threads of HCOMM operations.
//!
//! One program serves every count and data type: operands are chunks, and [`sizes`](crate::sizes) turns them into
//! bytes when a count is given. The operations are one pass over the data; a run repeats it for every round.

use crate::ids::SpanId;
use crate::operator::{Buffer, Operator};
use crate::shape::Shape;
use crate::spec::Span;

/// What every rank does for one pass (round) over the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The algorithm's name on the command line, `mesh_all_gather`.
    pub algorithm: String,
    /// What it computes.
    pub operator: Operator,
    /// For how many ranks, laid out how, with which roles.
    pub shape: Shape,
    /// Chunks a slot, at least 1.
    pub split: u32,
    /// Cells of scratch on every rank.
    pub scratch: u32,
    /// Whether reductions into one chunk must be ordered.
    pub deterministic: bool,
    /// Whether `input` and `output` are in symmetric windows, so that peers may reach them. A symmetric program without
    /// scratch is one round, whatever the count.
    pub symmetric: bool,
    /// Names of the channel notifies, by index: a channel has this many at each end.
    pub notifies: Vec<String>,
    /// Where the statements are written.
    pub source: Source,
    /// One per rank, by rank.
    pub ranks: Vec<RankProgram>,
}

/// Where the statements of a program are written.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Source {
    /// The file, as the compiler was given it.
    pub file: String,
    /// Places in it, by [`SpanId`].
    pub spans: Vec<Span>,
}

/// What one rank does.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RankProgram {
    /// Task queues, each in order. Thread 0 is the main thread; at least one.
    pub threads: Vec<Vec<Op>>,
}

/// One HCOMM operation and the statement that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// The statement, in [`Source::spans`].
    pub at: SpanId,
}

/// What an operation does. The names are HCOMM's, without `Hcomm` and `OnThread` (facts 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Copy between buffers of this rank.
    LocalCopy(Transfer),
    /// dst ← dst ⊕ src between buffers of this rank.
    LocalReduce(Transfer),
    /// Push to the peer's memory.
    Write(u32, Transfer),
    /// Pull from the peer's memory.
    Read(u32, Transfer),
    /// Peer's dst ← dst ⊕ my src.
    WriteReduce(u32, Transfer),
    /// My dst ← dst ⊕ peer's src.
    ReadReduce(u32, Transfer),
    /// Push, then set the peer's flag (950 only).
    WriteWithNotify(u32, Transfer, u32),
    /// Peer's dst ← dst ⊕ my src, then set the peer's flag (950 only).
    WriteReduceWithNotify(u32, Transfer, u32),
    /// Set flag `notify` of thread `thread` of this rank.
    ThreadNotifyRecord {
        /// Whose flag.
        thread: u32,
        /// Which of its flags.
        notify: u32,
    },
    /// Wait for flag `notify` of this thread, and clear it.
    ThreadNotifyWait {
        /// Which flag.
        notify: u32,
    },
    /// Set flag `notify` at the peer's end of the channel.
    ChannelNotifyRecord {
        /// The rank at the other end.
        peer: u32,
        /// Which flag.
        notify: u32,
    },
    /// Wait for flag `notify` at this end of the channel, and clear it.
    ChannelNotifyWait {
        /// The rank at the other end.
        peer: u32,
        /// Which flag.
        notify: u32,
    },
}

/// A run of chunks that moves from one buffer to another.
///
/// Chunk `j` of the run has length class `(class + j) mod classes`, at both ends ([`Program::classes`]). A chunk of
/// `input` or `output` has the class of its place ([`Program::class_of`]); a cell of `scratch` has the class of what it
/// holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Where to. The peer's memory for the Write operations, mine for the others.
    pub dst: Cell,
    /// Where from. The peer's memory for the Read operations, mine for the others.
    pub src: Cell,
    /// How many chunks, at least 1.
    pub len: u32,
    /// The length class of the first chunk, below [`Program::classes`].
    pub class: u32,
}

impl Transfer {
    /// One chunk from `input` to `output`: for questions about an operation, whatever it moves.
    pub(crate) const NONE: Transfer = Transfer {
        dst: Cell { buffer: Buffer::Output, chunk: 0 },
        src: Cell { buffer: Buffer::Input, chunk: 0 },
        len: 1,
        class: 0,
    };
}

/// A chunk of a buffer: the first of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Which buffer.
    pub buffer: Buffer,
    /// Which chunk of it.
    pub chunk: u32,
}

impl OpKind {
    /// HCOMM's name, without `Hcomm` and `OnThread`.
    pub const fn name(&self) -> &'static str {
        match self {
            OpKind::LocalCopy(..) => "LocalCopy",
            OpKind::LocalReduce(..) => "LocalReduce",
            OpKind::Write(..) => "Write",
            OpKind::Read(..) => "Read",
            OpKind::WriteReduce(..) => "WriteReduce",
            OpKind::ReadReduce(..) => "ReadReduce",
            OpKind::WriteWithNotify(..) => "WriteWithNotify",
            OpKind::WriteReduceWithNotify(..) => "WriteReduceWithNotify",
            OpKind::ThreadNotifyRecord { .. } => "ThreadNotifyRecord",
            OpKind::ThreadNotifyWait { .. } => "ThreadNotifyWait",
            OpKind::ChannelNotifyRecord { .. } => "ChannelNotifyRecord",
            OpKind::ChannelNotifyWait { .. } => "ChannelNotifyWait",
        }
    }

    /// The run of chunks that it moves, if it moves any.
    pub const fn transfer(&self) -> Option<&Transfer> {
        match self {
            OpKind::LocalCopy(transfer)
            | OpKind::LocalReduce(transfer)
            | OpKind::Write(_, transfer)
            | OpKind::Read(_, transfer)
            | OpKind::WriteReduce(_, transfer)
            | OpKind::ReadReduce(_, transfer)
            | OpKind::WriteWithNotify(_, transfer, _)
            | OpKind::WriteReduceWithNotify(_, transfer, _) => Some(transfer),
            _ => None,
        }
    }

    /// The rank whose memory is written and the rank whose memory is read, when rank `me` carries it out.
    pub const fn sides(&self, me: u32) -> Option<(u32, u32)> {
        match self {
            OpKind::LocalCopy(_) | OpKind::LocalReduce(_) => Some((me, me)),
            OpKind::Write(peer, _)
            | OpKind::WriteReduce(peer, _)
            | OpKind::WriteWithNotify(peer, _, _)
            | OpKind::WriteReduceWithNotify(peer, _, _) => Some((*peer, me)),
            OpKind::Read(peer, _) | OpKind::ReadReduce(peer, _) => Some((me, *peer)),
            _ => None,
        }
    }

    /// Whether it combines with what is in the destination.
    pub const fn reduces(&self) -> bool {
        matches!(
            self,
            OpKind::LocalReduce(_)
                | OpKind::WriteReduce(..)
                | OpKind::ReadReduce(..)
                | OpKind::WriteReduceWithNotify(..)
        )
    }
}

impl Program {
    /// How many ranks.
    pub fn num_ranks(&self) -> u32 {
        self.shape.ranks()
    }

    /// Chunks of a buffer on a rank.
    pub fn chunks(&self, buffer: Buffer, rank: u32) -> u32 {
        match buffer {
            Buffer::Input => self.operator.input_slots(&self.shape, rank).saturating_mul(self.split),
            Buffer::Output => self.operator.output_slots(&self.shape, rank).saturating_mul(self.split),
            Buffer::Scratch => self.scratch,
        }
    }

    /// How many length classes there are.
    pub fn classes(&self) -> u32 {
        self.operator.classes(self.num_ranks(), self.split)
    }

    /// The length class of a chunk of a rank's `input` or `output`.
    pub fn class_of(&self, buffer: Buffer, rank: u32, chunk: u32) -> u32 {
        self.operator.class(self.num_ranks(), self.split.max(1), buffer, rank, chunk)
    }

    /// Operations on all ranks, for one pass.
    pub fn num_ops(&self) -> u64 {
        self.ranks.iter().flat_map(|rank| &rank.threads).map(|thread| thread.len() as u64).sum()
    }
}
