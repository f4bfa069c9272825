//! What is timed: threads of HCOMM operations, or blocks of kernel operations.

use hcomm_core::aiv;
use hcomm_core::ids::SpanId;
use hcomm_core::program::{self, Program};
use hcomm_core::spec;

use crate::error::Place;

/// A program of either engine.
#[derive(Clone, Copy, Debug)]
pub enum AnyProgram<'p> {
    /// AI CPU: threads.
    Threads(&'p Program),
    /// AIV: blocks.
    Blocks(&'p aiv::Program),
}

/// An operation of either engine, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation<'p> {
    code: AnyProgram<'p>,
    kind: Kind,
    /// The statement.
    pub at: SpanId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Thread(program::OpKind),
    Block(u32, aiv::OpKind),
}

/// What kind of work an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It copies within a rank.
    Copy,
    /// It reduces within a rank.
    Reduce,
    /// It moves data between ranks.
    Transfer,
    /// It sets a notify or a flag.
    Record,
    /// It waits for one, or for the other blocks of its rank.
    Wait,
    /// It sets up what the core does next, or waits for its pipes.
    Setup,
}

impl Work {
    /// The name in pictures.
    pub const fn name(self) -> &'static str {
        match self {
            Work::Copy => "copy",
            Work::Reduce => "reduce",
            Work::Transfer => "transfer",
            Work::Record => "record",
            Work::Wait => "wait",
            Work::Setup => "setup",
        }
    }
}

impl<'p> From<&'p Program> for AnyProgram<'p> {
    fn from(program: &'p Program) -> Self {
        AnyProgram::Threads(program)
    }
}

impl<'p> From<&'p aiv::Program> for AnyProgram<'p> {
    fn from(program: &'p aiv::Program) -> Self {
        AnyProgram::Blocks(program)
    }
}

impl PartialEq for AnyProgram<'_> {
    /// Whether they are one and the same.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (AnyProgram::Threads(a), AnyProgram::Threads(b)) => std::ptr::eq(*a, *b),
            (AnyProgram::Blocks(a), AnyProgram::Blocks(b)) => std::ptr::eq(*a, *b),
            _ => false,
        }
    }
}

impl Eq for AnyProgram<'_> {}

impl<'p> AnyProgram<'p> {
    /// What does not depend on the engine: of threads the program itself.
    pub fn frame(self) -> &'p Program {
        match self {
            AnyProgram::Threads(program) => program,
            AnyProgram::Blocks(program) => &program.frame,
        }
    }

    /// The engine.
    pub fn engine(self) -> spec::Engine {
        match self {
            AnyProgram::Threads(_) => spec::Engine::AiCpu,
            AnyProgram::Blocks(_) => spec::Engine::Aiv,
        }
    }

    /// What carries operations out in order: `thread` or `block`.
    pub fn unit(self) -> &'static str {
        match self {
            AnyProgram::Threads(_) => "thread",
            AnyProgram::Blocks(_) => "block",
        }
    }

    /// How many threads or blocks each rank has.
    pub fn units(self) -> Vec<usize> {
        match self {
            AnyProgram::Threads(program) => program.ranks.iter().map(|rank| rank.threads.len()).collect(),
            AnyProgram::Blocks(program) => program.ranks.iter().map(|rank| rank.blocks.len()).collect(),
        }
    }

    /// An operation of a thread or block.
    pub fn op(self, rank: u32, unit: u32, index: usize) -> Option<Operation<'p>> {
        let (kind, at) = match self {
            AnyProgram::Threads(program) => {
                let op = program.ranks.get(rank as usize)?.threads.get(unit as usize)?.get(index)?;
                (Kind::Thread(op.kind), op.at)
            }
            AnyProgram::Blocks(program) => {
                let op = program.ranks.get(rank as usize)?.blocks.get(unit as usize)?.get(index)?;
                (Kind::Block(rank, op.kind), op.at)
            }
        };
        Some(Operation { code: self, kind, at })
    }

    /// Where an operation is, in the first round.
    pub(crate) fn place(self, rank: u32, unit: u32, index: usize) -> Place {
        match self {
            AnyProgram::Threads(program) => crate::bytes::plan::place(program, rank, unit, index),
            AnyProgram::Blocks(program) => crate::aiv::plan::place(program, rank, unit, index),
        }
    }
}

impl Operation<'_> {
    /// HCOMM's name, or that of the kernel's function.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Thread(kind) => kind.name(),
            Kind::Block(_, kind) => kind.name(),
        }
    }

    /// The rank at the other end, if there is one.
    pub fn peer(&self) -> Option<u32> {
        use program::OpKind as Thread;
        match self.kind {
            Kind::Thread(kind) => match kind {
                Thread::ChannelNotifyRecord { peer, .. } | Thread::ChannelNotifyWait { peer, .. } => Some(peer),
                Thread::Write(peer, _)
                | Thread::Read(peer, _)
                | Thread::WriteReduce(peer, _)
                | Thread::ReadReduce(peer, _)
                | Thread::WriteWithNotify(peer, ..)
                | Thread::WriteReduceWithNotify(peer, ..) => Some(peer),
                _ => None,
            },
            Kind::Block(rank, kind) => match kind {
                aiv::OpKind::Copy(copy) => [copy.dst.rank, copy.src.rank].into_iter().find(|end| *end != rank),
                aiv::OpKind::Record(flag) | aiv::OpKind::Wait(flag) => Some(flag.peer),
                _ => None,
            },
        }
    }

    /// The operation with its peer or notify.
    pub fn label(&self) -> String {
        use program::OpKind as Thread;
        let name = |notify: u32| self.code.frame().notifies.get(notify as usize).map_or("notify", String::as_str);
        match &self.kind {
            Kind::Thread(kind) => match kind {
                Thread::ChannelNotifyRecord { peer, notify } => format!("record {} of {peer}", name(*notify)),
                Thread::ChannelNotifyWait { peer, notify } => format!("wait {} from {peer}", name(*notify)),
                Thread::ThreadNotifyRecord { thread, .. } => format!("record thread {thread}"),
                Thread::ThreadNotifyWait { .. } => "wait thread".into(),
                Thread::LocalCopy(_) | Thread::LocalReduce(_) => kind.name().into(),
                _ => format!("{} {}", kind.name(), self.peer().unwrap_or_default()),
            },
            Kind::Block(rank, kind) => match kind {
                aiv::OpKind::Copy(copy) if copy.dst.rank != *rank => format!("CpGM2GM to {}", copy.dst.rank),
                aiv::OpKind::Copy(copy) if copy.src.rank != *rank => format!("CpGM2GM from {}", copy.src.rank),
                aiv::OpKind::Record(flag) => format!("record {} of {}", name(flag.notify), flag.peer),
                aiv::OpKind::Wait(flag) => format!("wait {} from {}", name(flag.notify), flag.peer),
                _ => kind.name().into(),
            },
        }
    }
}
