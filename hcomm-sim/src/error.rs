//! Why a program cannot be run. What a run finds out about a program that can is a [`Report`](crate::Report).

use hcomm_core::dtype::DataType;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::sizes::SizeError;
use hcomm_core::spec::Span;

/// Why a program cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The count or the HCCL buffer does not fit.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// The program contradicts itself.
    #[error("{algorithm} is not a well-formed program: {fault}")]
    Program {
        /// Its name.
        algorithm: String,
        /// What is wrong.
        fault: ProgramFault,
    },
    /// An operation is not well-formed.
    #[error("{operation}: {fault}")]
    Operation {
        /// Which one.
        operation: Box<Place>,
        /// What is wrong.
        fault: OperationFault,
    },
    /// The operator has no in-place form.
    #[error("{operator} has no in-place form: {}", no_in_place(*operator))]
    InPlace {
        /// The operator.
        operator: Operator,
    },
    /// Nothing reduces elements of the type.
    #[error("{operator} reduces, and {dtype} is only ever copied")]
    CopiedOnly {
        /// The operator.
        operator: Operator,
        /// The type.
        dtype: DataType,
    },
    /// It may take more memory than allowed.
    #[error(
        "the run may take {need} bytes for inputs and results of reductions, over the limit of {limit}: use a smaller count or fewer ranks, or raise the limit"
    )]
    Memory {
        /// Bytes needed, at most.
        need: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// It may take more operations than allowed.
    #[error(
        "the run may take {need} operations, over the limit of {limit}: use a smaller count, a larger HCCL buffer or fewer invocations, or raise the limit"
    )]
    Operations {
        /// Operations needed, at most.
        need: u128,
        /// Operations allowed.
        limit: u64,
    },
    /// A scheduler broke its contract.
    #[error("the scheduler chose thread number {chosen:?}, which cannot go on")]
    Scheduler {
        /// What it chose; nothing if it chose none although there was one.
        chosen: Option<u32>,
    },
}

/// What is wrong with a program as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramFault {
    /// There are more or fewer rank programs than ranks.
    #[error("it has programs for {have} ranks, and its shape has {ranks}")]
    Ranks {
        /// Rank programs.
        have: usize,
        /// Ranks of the shape.
        ranks: u32,
    },
    /// A rank has no main thread.
    #[error("rank {rank} has no thread")]
    NoThread {
        /// The rank.
        rank: u32,
    },
    /// There are more threads than can be numbered.
    #[error("it has {have} threads, more than {} can be run", u32::MAX)]
    Threads {
        /// Threads of all ranks.
        have: usize,
    },
    /// A slot has no chunks.
    #[error("its split is 0: a slot has at least one chunk")]
    Split,
    /// A rank has no blocks, or others than the first.
    #[error("rank {rank} has {have} blocks and rank 0 {blocks}: the number is the same on all ranks, from 1 to {most}")]
    Blocks {
        /// The rank.
        rank: u32,
        /// Its blocks.
        have: usize,
        /// Those of the first.
        blocks: u32,
        /// The most there can be.
        most: u32,
    },
    /// Its data does not go through the Unified Buffer.
    #[error("its {buffers} pieces of {piece} bytes are {need} bytes with two flags, and a Unified Buffer has {have}")]
    UnifiedBuffer {
        /// Pieces at once.
        buffers: u32,
        /// Bytes of a piece.
        piece: u32,
        /// Bytes needed.
        need: u64,
        /// Bytes there are.
        have: u32,
    },
    /// Chunks are not cut into parts that there are.
    #[error("its chunks are cut into {parts} parts")]
    Parts {
        /// The parts.
        parts: u32,
    },
    /// The root, source or destination is not a rank.
    #[error("its {role} is rank {rank} of {ranks}")]
    Role {
        /// `root`, `src` or `dst`.
        role: &'static str,
        /// The rank.
        rank: u32,
        /// How many there are.
        ranks: u32,
    },
}

/// What is wrong with an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationFault {
    /// The peer is not a rank.
    #[error("the peer is rank {peer} of {ranks}")]
    Peer {
        /// The peer.
        peer: u32,
        /// How many ranks there are.
        ranks: u32,
    },
    /// The peer is the rank itself.
    #[error("the peer is the rank itself: there is no channel to it")]
    SelfPeer,
    /// The thread does not exist.
    #[error("there is no thread {thread}: the rank has {threads}")]
    Thread {
        /// The thread.
        thread: u32,
        /// How many the rank has.
        threads: usize,
    },
    /// The channel notify does not exist.
    #[error("there is no channel notify {notify}: a channel has {notifies}")]
    Notify {
        /// The index.
        notify: u32,
        /// How many a channel has.
        notifies: usize,
    },
    /// A run of chunks reaches past its buffer, or is empty.
    #[error("{buffer} of rank {rank} has {chunks} chunks, and {len} from chunk {chunk} on are not in it")]
    Chunks {
        /// Whose buffer.
        rank: u32,
        /// Which buffer.
        buffer: Buffer,
        /// The first chunk.
        chunk: u32,
        /// How many.
        len: u32,
        /// How many the buffer has.
        chunks: u32,
    },
    /// There is no such class.
    #[error("length class {class} does not exist: there are {classes}")]
    Class {
        /// The class.
        class: u32,
        /// How many there are.
        classes: u32,
    },
    /// The class is not that of the chunk of an input or output.
    #[error("chunk {chunk} of {buffer} has length class {expected}, and the transfer says {class}")]
    ClassOfChunk {
        /// The buffer.
        buffer: Buffer,
        /// The chunk.
        chunk: u32,
        /// Its class.
        expected: u32,
        /// What the transfer says.
        class: u32,
    },
    /// Neither end is the rank's own.
    #[error("it copies from rank {from} to rank {to}, and neither is its own")]
    Ends {
        /// Whose memory is written.
        to: u32,
        /// Whose memory is read.
        from: u32,
    },
    /// There is no such part of a chunk or of a flag.
    #[error("part {part} does not exist: there are {parts}")]
    Part {
        /// The part.
        part: u32,
        /// How many there are.
        parts: u32,
    },
    /// It writes to an input.
    #[error("it writes to input, which is read only")]
    WritesInput,
}

/// Where in a program an operation is, and where in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The rank that carries it out.
    pub rank: u32,
    /// What its queue is called: `thread`, or `block` on AIV.
    pub unit: &'static str,
    /// The thread or block of the rank.
    pub thread: u32,
    /// Its place in the thread.
    pub op: usize,
    /// HCOMM's name of it, without `Hcomm` and `OnThread`.
    pub name: &'static str,
    /// The round, from 0.
    pub round: u64,
    /// The invocation, from 0.
    pub invocation: u64,
    /// The statement that it comes from, if the program says.
    pub at: Option<Span>,
}

impl std::fmt::Display for Place {
    /// `rank 0 thread 1 operation 4 (Write, line 9)`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} {} {} operation {} ({}", self.rank, self.unit, self.thread, self.op, self.name)?;
        match self.at {
            Some(span) => write!(f, ", line {})", span.line),
            None => f.write_str(")"),
        }
    }
}

fn no_in_place(operator: Operator) -> &'static str {
    match operator {
        Operator::AllToAll
        | Operator::AllGatherV
        | Operator::ReduceScatterV
        | Operator::AllToAllV
        | Operator::AllToAllVc
        | Operator::BatchSendRecv => "HCCL requires that its buffers differ",
        _ => "no rank has both an input and an output that could overlap",
    }
}
