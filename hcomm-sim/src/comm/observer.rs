//! Operations of the data plane as they are called, for who wants to record them.

use crate::comm::handle::{ChannelHandle, CommHandle, ThreadHandle};
use hcomm_core::dtype::{DataType, ReduceOp};
use std::fmt;

/// Sees operations as they are queued.
///
/// Calls come from the threads that call the data plane, before the operation is in its queue; those for one thread come
/// in the order of its queue, if only one of the caller's threads uses it at a time, as HCOMM wants it.
pub trait Observer: Send + Sync + fmt::Debug {
    /// An operation is queued.
    fn queued(&self, queued: &Queued);
}

/// An operation that was queued, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Counts the calls of the whole cluster.
    pub call: u64,
    /// The communicator that the thread is of.
    pub comm: CommHandle,
    /// The rank in it.
    pub rank: u32,
    /// The thread.
    pub thread: ThreadHandle,
    /// Which of the rank's threads, in the order of their making.
    pub number: u32,
    /// What it is to do.
    pub op: Op,
}

/// An operation of the data plane, over addresses. Named as HCOMM does (facts 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "HCOMM's parameters")]
pub enum Op {
    LocalCopy {
        dst: u64,
        src: u64,
        len: u64,
    },
    LocalReduce {
        dst: u64,
        src: u64,
        count: u64,
        dtype: DataType,
        reduce: ReduceOp,
    },
    ThreadNotifyRecord {
        thread: ThreadHandle,
        notify: u32,
    },
    ThreadNotifyWait {
        notify: u32,
        timeout: u32,
    },
    ChannelNotifyRecord {
        channel: ChannelHandle,
        peer: u32,
        notify: u32,
    },
    ChannelNotifyWait {
        channel: ChannelHandle,
        peer: u32,
        notify: u32,
        timeout: u32,
    },
    Write {
        channel: ChannelHandle,
        peer: u32,
        dst: u64,
        src: u64,
        len: u64,
    },
    Read {
        channel: ChannelHandle,
        peer: u32,
        dst: u64,
        src: u64,
        len: u64,
    },
    WriteReduce {
        channel: ChannelHandle,
        peer: u32,
        dst: u64,
        src: u64,
        count: u64,
        dtype: DataType,
        reduce: ReduceOp,
    },
    ReadReduce {
        channel: ChannelHandle,
        peer: u32,
        dst: u64,
        src: u64,
        count: u64,
        dtype: DataType,
        reduce: ReduceOp,
    },
    WriteWithNotify {
        channel: ChannelHandle,
        peer: u32,
        dst: u64,
        src: u64,
        len: u64,
        notify: u32,
    },
    WriteReduceWithNotify {
        channel: ChannelHandle,
        peer: u32,
        dst: u64,
        src: u64,
        count: u64,
        dtype: DataType,
        reduce: ReduceOp,
        notify: u32,
    },
    ChannelFence {
        channel: ChannelHandle,
        peer: u32,
    },
}
