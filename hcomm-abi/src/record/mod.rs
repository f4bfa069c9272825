//! What a program has called, and the checks on it.
//!
//! Every operation of the data plane is noted as it is called, with the addresses that it names. When a communicator is
//! destroyed, or the process ends, the calls of its ranks become a [`Program`](hcomm_core::program::Program): byte ranges
//! become chunks of the finest partition that all ranges agree on (`cut`), the host's stream becomes the main thread, and
//! a kernel's operations come after its launch (`convert`). The checks of a written algorithm then say what is wrong in
//! terms of calls (`tell`).

mod calls;
mod convert;
mod cut;
mod operands;
mod tell;
#[cfg(test)]
mod tests;
mod timeline;

pub use convert::{Recorded, convert};
pub use operands::Claim;
pub use tell::{Fault, check, check_result};
pub use timeline::timeline;

/// The calls of one communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The communicator's name.
    pub name: String,
    /// How many ranks.
    pub ranks: u32,
    /// In the order in which they were called, over all ranks.
    pub calls: Vec<Call>,
}

/// A call that put something into a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Counts the calls of the process, from 1.
    pub number: u64,
    /// When it was called, in µs since the first one.
    pub micros: u64,
    /// The C function.
    pub function: &'static str,
    /// Whose queue.
    pub rank: u32,
    /// Which of the rank's threads, in the order of their making.
    pub thread: u32,
    /// Whether the thread is a stream of the host's, and not one of the device's.
    pub is_host: bool,
    /// The launch of the kernel that called it; `None` for the host.
    pub launch: Option<u32>,
    /// What is to be done.
    pub what: What,
}

/// What a call puts into the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Bytes are copied, or combined with what is there, and then a flag may be set.
    Move {
        /// Where to.
        dst: Bytes,
        /// Where from.
        src: Bytes,
        /// Whether they are combined.
        reduces: bool,
        /// The flag that is set afterwards.
        then: Option<Flag>,
    },
    /// A flag is set.
    Record(Flag),
    /// A flag is waited for, and cleared.
    Wait(Flag),
    /// A kernel is run.
    Launch {
        /// Which launch of the process.
        id: u32,
        /// The kernel's name.
        kernel: String,
    },
}

/// A range of a rank's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Whose memory.
    pub rank: u32,
    /// Which memory of the rank.
    pub memory: Memory,
    /// The first byte of that memory.
    pub base: u64,
    /// The first byte of the range, an address.
    pub addr: u64,
    /// How many.
    pub len: u64,
}

/// Kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Memory {
    /// The HCCL buffer of the communicator.
    HcclBuffer,
    /// What the user or the communicator has allocated.
    Allocation,
}

/// A notify, from the point of view of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// Of a thread of the same rank.
    Thread {
        /// Which thread.
        thread: u32,
        /// Which of its notifies.
        notify: u32,
    },
    /// Of a channel: set at the peer's end, waited for at the own one.
    Channel {
        /// The rank at the other end.
        peer: u32,
        /// Which of its notifies.
        notify: u32,
    },
}

impl std::fmt::Display for Flag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Flag::Thread { thread, notify } => write!(f, "notify {notify} of thread {thread}"),
            Flag::Channel { peer, notify } => write!(f, "notify {notify} of the channel to rank {peer}"),
        }
    }
}

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let from = self.addr - self.base;
        let memory = match self.memory {
            Memory::HcclBuffer => "HCCL buffer",
            Memory::Allocation => "memory",
        };
        write!(f, "bytes {from}..{} of rank {}'s {memory}", from + self.len, self.rank)
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Call { number, function, rank, thread, .. } = self;
        let kind = if self.is_host { "the host's thread" } else { "thread" };
        write!(f, "call {number}: {function} on {kind} {thread} of rank {rank}")?;
        match &self.what {
            What::Move { dst, src, then, .. } => {
                write!(f, ", {src} to {dst}")?;
                then.map_or(Ok(()), |flag| write!(f, ", then {flag}"))
            }
            What::Record(flag) | What::Wait(flag) => write!(f, ", {flag}"),
            What::Launch { kernel, .. } => write!(f, ", kernel {kernel}"),
        }
    }
}
