//! The data plane: HCOMM's primitives. Each puts a task into a thread's queue (facts 3).

use crate::comm::channel::{ChannelEnd, Protocol};
use crate::comm::core::Core;
use crate::comm::error::{Result, in_status, not_found, not_support, para, timeout};
use crate::comm::handle::{ChannelHandle, ThreadHandle};
use crate::comm::memory::Region;
use crate::comm::observer::{Op, Queued};
use crate::comm::queue::{Action, Call, Hop, Owned, Task};
use crate::comm::rank::RankState;
use crate::comm::thread::{Side, Thread};
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::Buffer;
use hcomm_core::product::{Product, Reduction};
use hcomm_core::program::{Cell, OpKind, Transfer};
use std::sync::Arc;
use std::sync::atomic::Ordering;

mod ends;

/// `HCCL_EXEC_TIMEOUT` by default, in seconds (facts 2.3).
pub const DEFAULT_NOTIFY_TIMEOUT: u32 = 1836;

/// The primitives, for one thread of the caller's. Each call queues a task and returns; what comes of the task shows at
/// the end, in the stream that waits for it and in the communicator's status.
///
/// A thread is used on the side that it was acquired for: a kernel's threads by [`Side::Device`], those of streams by
/// [`Side::Host`]. On A2 and A3 a kernel must bracket its calls by [`batch_start`](DataPlane::batch_start) and
/// [`batch_end`](DataPlane::batch_end), which is what launches them.
#[derive(Debug)]
pub struct DataPlane {
    pub(crate) core: Arc<Core>,
    side: Side,
    timeout: u32,
    /// When its tasks count as called, by the rank's stops: when they are, unless it is said.
    epoch: Option<u64>,
    batch: Option<Batch>,
    acquired: Vec<String>,
}

#[derive(Debug)]
struct Batch {
    tag: String,
    /// Tasks by thread, in the order of the threads' first tasks.
    tasks: Vec<(Arc<Thread>, Vec<Task>)>,
    last: usize,
}

/// A descriptor of [`batch_transfer`](DataPlane::batch_transfer) (`HcommBatchTransferDesc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "HCOMM's fields")]
pub enum BatchTransfer {
    Write { dst: u64, src: u64, len: u64 },
    Read { dst: u64, src: u64, len: u64 },
    WriteReduce { dst: u64, src: u64, count: u64, dtype: DataType, reduce: ReduceOp },
    ReadReduce { dst: u64, src: u64, count: u64, dtype: DataType, reduce: ReduceOp },
    WriteWithNotify { dst: u64, src: u64, len: u64, notify: u32 },
    WriteReduceWithNotify { dst: u64, src: u64, count: u64, dtype: DataType, reduce: ReduceOp, notify: u32 },
    NotifyRecord { notify: u32 },
}

/// Elements to reduce.
#[derive(Clone, Copy, Debug)]
struct Elements {
    count: u64,
    dtype: DataType,
    reduce: ReduceOp,
}

impl Elements {
    fn bytes(self) -> Result<u64> {
        let bytes = self.count.checked_mul(u64::from(self.dtype.size()));
        bytes.ok_or_else(|| para(format!("{} elements of {} are too many", self.count, self.dtype)))
    }
}

/// A thread that takes a task, and whose it is.
struct At {
    thread: Arc<Thread>,
    rank: Arc<RankState>,
}

impl DataPlane {
    pub(crate) fn new(core: Arc<Core>, side: Side) -> DataPlane {
        DataPlane { core, side, timeout: DEFAULT_NOTIFY_TIMEOUT, epoch: None, batch: None, acquired: Vec::new() }
    }

    /// All its tasks are of one attempt, which began at that stop of the rank: after another stop none of them is carried out.
    pub(crate) fn of_attempt(mut self, epoch: u64) -> DataPlane {
        self.epoch = Some(epoch);
        self
    }

    fn owner(&self, rank: &Arc<RankState>) -> Owned {
        let (owner, now) = rank.owner(self.side);
        (owner, self.epoch.unwrap_or(now))
    }

    /// On which side it is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// `HcommSetNotifyWaitTimeOut`: seconds of the waits that do not give any. 0 is for ever.
    pub fn set_notify_wait_timeout(&mut self, seconds: u32) {
        self.timeout = seconds;
    }

    /// Seconds of the waits that do not give any.
    pub fn notify_wait_timeout(&self) -> u32 {
        self.timeout
    }

    /// The tag of the batch that has been started and not ended.
    pub fn open_batch(&self) -> Option<&str> {
        self.batch.as_ref().map(|batch| batch.tag.as_str())
    }

    /// `HcommBatchModeStart`: what follows is launched by [`batch_end`](DataPlane::batch_end).
    ///
    /// # Errors
    ///
    /// If there is a batch already.
    pub fn batch_start(&mut self, tag: &str) -> Result<()> {
        if let Some(batch) = &self.batch {
            return Err(in_status(format!("the batch `{}` has not ended: end it before `{tag}` starts", batch.tag)));
        }
        self.batch = Some(Batch { tag: tag.to_owned(), tasks: Vec::new(), last: 0 });
        Ok(())
    }

    /// `HcommBatchModeEnd`: launches what was called since the start, and does not wait for it.
    ///
    /// # Errors
    ///
    /// If there is no batch, or the tag is another.
    pub fn batch_end(&mut self, tag: &str) -> Result<()> {
        match &self.batch {
            None => return Err(in_status(format!("there is no batch to end with the tag `{tag}`"))),
            Some(batch) if batch.tag != tag => {
                return Err(para(format!(
                    "the batch was started with the tag `{}`, and is ended with `{tag}`",
                    batch.tag
                )));
            }
            Some(_) => {}
        }
        if let Some(batch) = self.batch.take() {
            for (thread, tasks) in batch.tasks {
                thread.queue.push(&*self.core, tasks);
            }
        }
        Ok(())
    }

    /// `HcommAcquireComm`: the lock of a communicator on the device.
    ///
    /// # Errors
    ///
    /// If it is acquired already, or there is none of that name.
    pub fn acquire_comm(&mut self, name: &str) -> Result<()> {
        if !self.core.comms.all().iter().any(|comm| comm.group.name == name) {
            return Err(not_found(format!("there is no communicator `{name}`")));
        }
        if self.acquired.iter().any(|acquired| acquired == name) {
            return Err(in_status(format!("the communicator `{name}` is acquired already: release it first")));
        }
        self.acquired.push(name.to_owned());
        Ok(())
    }

    /// `HcommReleaseComm`.
    ///
    /// # Errors
    ///
    /// If it is not acquired.
    pub fn release_comm(&mut self, name: &str) -> Result<()> {
        let at = self.acquired.iter().position(|acquired| acquired == name);
        let at = at.ok_or_else(|| in_status(format!("the communicator `{name}` is not acquired")))?;
        self.acquired.remove(at);
        Ok(())
    }

    /// `HcommLocalCopyOnThread`: `len` bytes, on the rank's device or between addresses that a channel maps.
    ///
    /// # Errors
    ///
    /// For a thread, address or length that is not possible.
    pub fn local_copy(&mut self, thread: ThreadHandle, dst: u64, src: u64, len: u64) -> Result<()> {
        let at = self.at(thread)?;
        let hop = self.local_ends(&at, dst, src, len)?;
        let op = Op::LocalCopy { dst, src, len };
        match len {
            0 => Ok(()),
            _ => self.put(&at, op, Action::Copy { dst, src, len, hop, then: None }),
        }
    }

    /// `HcommLocalReduceOnThread`: dst ← dst ⊕ src.
    ///
    /// # Errors
    ///
    /// As [`local_copy`](DataPlane::local_copy), or if the hardware does not reduce such elements.
    pub fn local_reduce(
        &mut self,
        thread: ThreadHandle,
        dst: u64,
        src: u64,
        count: u64,
        dtype: DataType,
        reduce: ReduceOp,
    ) -> Result<()> {
        self.reduce_locally(thread, (dst, src), Elements { count, dtype, reduce }, Reduction::Inline)
    }

    /// dst ← dst ⊕ src by the AI CPU, for elements that the hardware does not reduce, in the order of the thread. It
    /// stands for what HCCL's kernels do (facts 3.4, `AicpuReduce`): join the thread, reduce in a loop, go on.
    ///
    /// # Errors
    ///
    /// As [`local_copy`](DataPlane::local_copy), or if the AI CPU does not reduce such elements either.
    pub fn local_reduce_on_ai_cpu(
        &mut self,
        thread: ThreadHandle,
        dst: u64,
        src: u64,
        count: u64,
        dtype: DataType,
        reduce: ReduceOp,
    ) -> Result<()> {
        self.reduce_locally(thread, (dst, src), Elements { count, dtype, reduce }, Reduction::AiCpu)
    }

    fn reduce_locally(
        &mut self,
        thread: ThreadHandle,
        (dst, src): (u64, u64),
        elements: Elements,
        by: Reduction,
    ) -> Result<()> {
        let at = self.at(thread)?;
        self.reduces(&OpKind::LocalReduce(ANY), elements, by)?;
        let hop = self.local_ends(&at, dst, src, elements.bytes()?)?;
        let Elements { count, dtype, reduce } = elements;
        let op = Op::LocalReduce { dst, src, count, dtype, reduce };
        match count {
            0 => Ok(()),
            _ => self.put(&at, op, Action::Reduce { dst, src, count, dtype, reduce, hop, then: None }),
        }
    }

    /// `HcommThreadNotifyRecordOnThread`: sets flag `notify` of `to`, which is a thread of the same rank with a handle that
    /// is good on this side.
    ///
    /// # Errors
    ///
    /// For a thread or notify that is not there.
    pub fn thread_notify_record(&mut self, thread: ThreadHandle, to: ThreadHandle, notify: u32) -> Result<()> {
        let at = self.at(thread)?;
        let target = self.core.threads.get(to)?;
        let side = target.side_of(to);
        if side != self.side {
            return Err(para(format!(
                "thread {:#x} is a handle for {side}, used on {}: export the thread to this side",
                to.0, self.side
            )));
        }
        if !std::ptr::eq(target.rank.as_ptr(), &*at.rank) {
            return Err(para(format!("thread {:#x} is one of another communicator", to.0)));
        }
        let flag = target.flag(notify)?;
        at.rank.totals.recorded();
        let op = Op::ThreadNotifyRecord { thread: target.handle, notify };
        self.put(&at, op, Action::Record { notify: flag, hop: None })
    }

    /// `HcommThreadNotifyWaitOnThread`: waits for flag `notify` of the thread, and clears it. 0 seconds is for ever.
    ///
    /// # Errors
    ///
    /// For a thread or notify that is not there.
    pub fn thread_notify_wait(&mut self, thread: ThreadHandle, notify: u32, timeout: u32) -> Result<()> {
        let at = self.at(thread)?;
        let flag = at.thread.flag(notify)?;
        at.rank.totals.waited();
        let op = Op::ThreadNotifyWait { notify, timeout };
        self.put(&at, op, Action::Wait { notify: flag, seconds: timeout })
    }

    /// `HcommWriteOnThread`: pushes `len` bytes of this rank to the peer's memory.
    ///
    /// # Errors
    ///
    /// For a thread, channel, address or length that is not possible.
    pub fn write(&mut self, thread: ThreadHandle, channel: ChannelHandle, dst: u64, src: u64, len: u64) -> Result<()> {
        let (at, channel) = self.on(thread, channel)?;
        self.remote_ends(&at, &channel, Region { addr: dst, size: len }, Region { addr: src, size: len })?;
        let op = Op::Write { channel: channel.handle, peer: channel.peer, dst, src, len };
        match len {
            0 => Ok(()),
            _ => self.put(&at, op, Action::Copy { dst, src, len, hop: Some(channel.out), then: None }),
        }
    }

    /// `HcommReadOnThread`: pulls `len` bytes of the peer's memory to this rank.
    ///
    /// # Errors
    ///
    /// As [`write`](DataPlane::write).
    pub fn read(&mut self, thread: ThreadHandle, channel: ChannelHandle, dst: u64, src: u64, len: u64) -> Result<()> {
        let (at, channel) = self.on(thread, channel)?;
        self.remote_ends(&at, &channel, Region { addr: src, size: len }, Region { addr: dst, size: len })?;
        let op = Op::Read { channel: channel.handle, peer: channel.peer, dst, src, len };
        match len {
            0 => Ok(()),
            _ => self.put(&at, op, Action::Copy { dst, src, len, hop: Some(back(channel.out)), then: None }),
        }
    }

    /// `HcommWriteReduceOnThread`: peer's dst ← dst ⊕ src.
    ///
    /// # Errors
    ///
    /// As [`write`](DataPlane::write), or if the hardware does not reduce such elements.
    #[expect(clippy::too_many_arguments, reason = "HCOMM's parameters")]
    pub fn write_reduce(
        &mut self,
        thread: ThreadHandle,
        channel: ChannelHandle,
        dst: u64,
        src: u64,
        count: u64,
        dtype: DataType,
        reduce: ReduceOp,
    ) -> Result<()> {
        let (at, channel) = self.on(thread, channel)?;
        self.reduce_remotely(&at, &channel, (dst, src), Elements { count, dtype, reduce }, None)
    }

    fn reduce_remotely(
        &mut self,
        at: &At,
        channel: &ChannelEnd,
        (dst, src): (u64, u64),
        elements: Elements,
        then: Option<u32>,
    ) -> Result<()> {
        let peer = channel.peer;
        self.reduces(&OpKind::WriteReduce(peer, ANY), elements, Reduction::Inline)?;
        let size = elements.bytes()?;
        self.remote_ends(at, channel, Region { addr: dst, size }, Region { addr: src, size })?;
        let (Elements { count, dtype, reduce }, handle, hop) = (elements, channel.handle, Some(channel.out));
        let op = match then {
            Some(notify) => Op::WriteReduceWithNotify { channel: handle, peer, dst, src, count, dtype, reduce, notify },
            None => Op::WriteReduce { channel: handle, peer, dst, src, count, dtype, reduce },
        };
        let flag = then.map(|notify| channel.remote_flag(notify)).transpose()?;
        match (count, flag) {
            (0, None) => Ok(()),
            (0, Some(notify)) => self.put(at, op, Action::Record { notify, hop }),
            (_, then) => self.put(at, op, Action::Reduce { dst, src, count, dtype, reduce, hop, then }),
        }
    }

    /// `HcommReadReduceOnThread`: dst ← dst ⊕ peer's src. Not over RoCE on A2 and A3.
    ///
    /// # Errors
    ///
    /// As [`write_reduce`](DataPlane::write_reduce).
    #[expect(clippy::too_many_arguments, reason = "HCOMM's parameters")]
    pub fn read_reduce(
        &mut self,
        thread: ThreadHandle,
        channel: ChannelHandle,
        dst: u64,
        src: u64,
        count: u64,
        dtype: DataType,
        reduce: ReduceOp,
    ) -> Result<()> {
        let (at, channel) = self.on(thread, channel)?;
        let elements = Elements { count, dtype, reduce };
        if self.core.product != Product::A950 && channel.protocol == Protocol::Roce {
            return Err(not_support(format!("{} does not read and reduce over RoCE", self.core.product)));
        }
        self.reduces(&OpKind::ReadReduce(channel.peer, ANY), elements, Reduction::Inline)?;
        let size = elements.bytes()?;
        self.remote_ends(&at, &channel, Region { addr: src, size }, Region { addr: dst, size })?;
        let op = Op::ReadReduce { channel: channel.handle, peer: channel.peer, dst, src, count, dtype, reduce };
        let hop = Some(back(channel.out));
        match count {
            0 => Ok(()),
            _ => self.put(&at, op, Action::Reduce { dst, src, count, dtype, reduce, hop, then: None }),
        }
    }

    /// `HcommWriteWithNotifyOnThread`: writes, then sets the peer's flag. On the 950 only.
    ///
    /// # Errors
    ///
    /// As [`write`](DataPlane::write).
    pub fn write_with_notify(
        &mut self,
        thread: ThreadHandle,
        channel: ChannelHandle,
        dst: u64,
        src: u64,
        len: u64,
        notify: u32,
    ) -> Result<()> {
        self.fuses()?;
        let (at, channel) = self.on(thread, channel)?;
        self.remote_ends(&at, &channel, Region { addr: dst, size: len }, Region { addr: src, size: len })?;
        let op = Op::WriteWithNotify { channel: channel.handle, peer: channel.peer, dst, src, len, notify };
        let (flag, hop) = (channel.remote_flag(notify)?, Some(channel.out));
        at.rank.totals.recorded();
        match len {
            0 => self.put(&at, op, Action::Record { notify: flag, hop }),
            _ => self.put(&at, op, Action::Copy { dst, src, len, hop, then: Some(flag) }),
        }
    }

    /// `HcommWriteReduceWithNotifyOnThread`: peer's dst ← dst ⊕ src, then sets the peer's flag. On the 950 only.
    ///
    /// # Errors
    ///
    /// As [`write_reduce`](DataPlane::write_reduce).
    #[expect(clippy::too_many_arguments, reason = "HCOMM's parameters")]
    pub fn write_reduce_with_notify(
        &mut self,
        thread: ThreadHandle,
        channel: ChannelHandle,
        dst: u64,
        src: u64,
        count: u64,
        dtype: DataType,
        reduce: ReduceOp,
        notify: u32,
    ) -> Result<()> {
        self.fuses()?;
        let (at, channel) = self.on(thread, channel)?;
        at.rank.totals.recorded();
        self.reduce_remotely(&at, &channel, (dst, src), Elements { count, dtype, reduce }, Some(notify))
    }

    /// `HcommChannelNotifyRecordOnThread`: sets flag `notify` of the peer's end.
    ///
    /// # Errors
    ///
    /// For a thread, channel or notify that is not there.
    pub fn channel_notify_record(&mut self, thread: ThreadHandle, channel: ChannelHandle, notify: u32) -> Result<()> {
        let (at, channel) = self.on(thread, channel)?;
        let flag = channel.remote_flag(notify)?;
        at.rank.totals.recorded();
        let op = Op::ChannelNotifyRecord { channel: channel.handle, peer: channel.peer, notify };
        self.put(&at, op, Action::Record { notify: flag, hop: Some(channel.out) })
    }

    /// `HcommChannelNotifyWaitOnThread`: waits for flag `notify` of this end, and clears it. 0 seconds is for ever.
    ///
    /// # Errors
    ///
    /// For a thread, channel or notify that is not there.
    pub fn channel_notify_wait(
        &mut self,
        thread: ThreadHandle,
        channel: ChannelHandle,
        notify: u32,
        timeout: u32,
    ) -> Result<()> {
        let (at, channel) = self.on(thread, channel)?;
        let flag = channel.local_flag(notify)?;
        at.rank.totals.waited();
        let op = Op::ChannelNotifyWait { channel: channel.handle, peer: channel.peer, notify, timeout };
        self.put(&at, op, Action::Wait { notify: flag, seconds: timeout })
    }

    /// `HcommBatchTransferOnThread`: descriptors in their order on one channel. On A2 and A3 over RoCE only, and only plain
    /// writes and reads.
    ///
    /// # Errors
    ///
    /// For none or a descriptor that is not possible. Those before it have been queued then.
    pub fn batch_transfer(
        &mut self,
        thread: ThreadHandle,
        channel: ChannelHandle,
        transfers: &[BatchTransfer],
    ) -> Result<()> {
        if transfers.is_empty() {
            return Err(para("a batch of 0 transfers"));
        }
        let (_, end) = self.on(thread, channel)?;
        if self.core.product != Product::A950 {
            let plain =
                |transfer: &BatchTransfer| matches!(transfer, BatchTransfer::Write { .. } | BatchTransfer::Read { .. });
            if end.protocol != Protocol::Roce || !transfers.iter().all(plain) {
                return Err(not_support(format!(
                    "{} batches plain writes and reads over RoCE only",
                    self.core.product
                )));
            }
        }
        for transfer in transfers {
            match *transfer {
                BatchTransfer::Write { dst, src, len } => self.write(thread, channel, dst, src, len)?,
                BatchTransfer::Read { dst, src, len } => self.read(thread, channel, dst, src, len)?,
                BatchTransfer::WriteReduce { dst, src, count, dtype, reduce } => {
                    self.write_reduce(thread, channel, dst, src, count, dtype, reduce)?;
                }
                BatchTransfer::ReadReduce { dst, src, count, dtype, reduce } => {
                    self.read_reduce(thread, channel, dst, src, count, dtype, reduce)?;
                }
                BatchTransfer::WriteWithNotify { dst, src, len, notify } => {
                    self.write_with_notify(thread, channel, dst, src, len, notify)?;
                }
                BatchTransfer::WriteReduceWithNotify { dst, src, count, dtype, reduce, notify } => {
                    self.write_reduce_with_notify(thread, channel, dst, src, count, dtype, reduce, notify)?;
                }
                BatchTransfer::NotifyRecord { notify } => self.channel_notify_record(thread, channel, notify)?,
            }
        }
        Ok(())
    }

    /// `HcommChannelFenceOnThread`: what was called on the channel before completes before what is called after. Tasks of
    /// a thread are carried out one after the other here, so there is nothing to do; on A2 and A3 the sources do nothing
    /// either.
    ///
    /// # Errors
    ///
    /// For a thread or channel that is not there.
    pub fn channel_fence(&mut self, thread: ThreadHandle, channel: ChannelHandle) -> Result<()> {
        let (at, channel) = self.on(thread, channel)?;
        let op = Op::ChannelFence { channel: channel.handle, peer: channel.peer };
        self.observe(&at, op);
        Ok(())
    }

    /// `HcommThreadJoin`: blocks until the tasks of a thread are done. On the 950 only, and not inside a batch, whose
    /// tasks have not started.
    ///
    /// # Errors
    ///
    /// [`Code::Timeout`](crate::comm::Code::Timeout) if it takes longer than `timeout` seconds, or what failed.
    pub fn thread_join(&mut self, thread: ThreadHandle, timeout_s: u32) -> Result<()> {
        if self.core.product != Product::A950 {
            return Err(not_support(format!("{} has no HcommThreadJoin", self.core.product)));
        }
        let at = self.at_unbatched(thread)?;
        if self.batch.is_some() {
            return Err(in_status(
                "a join inside a batch waits for tasks that have not been launched: end the batch first",
            ));
        }
        let until = (timeout_s > 0).then(|| self.core.after(timeout_s));
        if !at.thread.queue.until_done(at.thread.queue.queued(), until) {
            let waits = at.thread.queue.waits_for().map_or(String::new(), |flag| format!(": it waits for {flag}"));
            let (number, who) = (at.thread.number, at.rank.who());
            return Err(timeout(format!("thread {number} of {who} has not finished within {timeout_s} s{waits}")));
        }
        at.rank.is_ready()
    }

    /// A short call in the order of the thread.
    pub(crate) fn call(&mut self, thread: ThreadHandle, call: Call) -> Result<()> {
        let At { thread, rank } = self.at(thread)?;
        let task = Task { action: Action::Call(call), owner: Some(self.owner(&rank)) };
        match &mut self.batch {
            None => thread.queue.push(&*self.core, [task]),
            Some(batch) => batch.add(&thread, task),
        }
        Ok(())
    }

    fn observe(&self, at: &At, op: Op) {
        at.rank.totals.queued();
        if let Some(observer) = &self.core.observer {
            observer.queued(&Queued {
                call: self.core.calls.fetch_add(1, Ordering::Relaxed),
                comm: at.rank.handle,
                rank: at.rank.rank,
                thread: at.thread.handle,
                number: at.thread.number,
                op,
            });
        }
    }

    /// Puts a task into the thread's queue, or into the batch.
    fn put(&mut self, at: &At, op: Op, action: Action) -> Result<()> {
        self.observe(at, op);
        let task = Task { action, owner: Some(self.owner(&at.rank)) };
        match &mut self.batch {
            None => at.thread.queue.push(&*self.core, [task]),
            Some(batch) => batch.add(&at.thread, task),
        }
        Ok(())
    }
}

impl Batch {
    fn add(&mut self, thread: &Arc<Thread>, task: Task) {
        let is_it = |(other, _): &(Arc<Thread>, Vec<Task>)| Arc::ptr_eq(other, thread);
        if !self.tasks.get(self.last).is_some_and(is_it) {
            self.last = self.tasks.iter().position(is_it).unwrap_or(self.tasks.len());
        }
        match self.tasks.get_mut(self.last) {
            Some((_, tasks)) => tasks.push(task),
            None => self.tasks.push((thread.clone(), vec![task])),
        }
    }
}

fn back(hop: Hop) -> Hop {
    Hop { from: hop.to, to: hop.from }
}

/// For questions about an operation, whatever it moves.
const ANY: Transfer = Transfer {
    dst: Cell { buffer: Buffer::Scratch, chunk: 0 },
    src: Cell { buffer: Buffer::Scratch, chunk: 0 },
    len: 1,
    class: 0,
};
