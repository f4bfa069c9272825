//! A rank's communicator, as its owner sees it.

use crate::comm::channel::{ChannelDesc, Protocol};
use crate::comm::config::{CommConfig, Timeouts};
use crate::comm::core::Core;
use crate::comm::error::{CommError, Result, not_found, para};
use crate::comm::group::{Group, MeetingKey};
use crate::comm::handle::{ChannelHandle, CommHandle, MemHandle, StreamHandle, ThreadHandle};
use crate::comm::launch::OpCall;
use crate::comm::memory::Region;
use crate::comm::monitor::{InUse, Moment, Snapshot};
use crate::comm::p2p::Message;
use crate::comm::rank::{CommStatus, Is, RankState};
use crate::comm::recover::{Callbacks, StatePhase};
use crate::comm::sync::lock;
use crate::comm::thread::{CommEngine, DedicatedThread};
use hcomm_core::program::Program;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What the ranks of a new communicator find each other by (`HcclRootInfo`). Good once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RootInfo(pub u64);

/// A rank's communicator (`HcclComm`). A clone is the same communicator.
///
/// It is destroyed by [`destroy`](Communicator::destroy); what is called afterwards is an error.
#[derive(Clone, Debug)]
pub struct Communicator {
    pub(crate) state: Arc<RankState>,
}

impl Communicator {
    pub(crate) fn of(state: Arc<RankState>) -> Communicator {
        Communicator { state }
    }

    pub(crate) fn enter(core: &Arc<Core>, group: &Arc<Group>, rank: u32, config: &CommConfig) -> Communicator {
        let device = group.devices[rank as usize];
        let (_, state) =
            core.comms.insert(|handle| Arc::new(RankState::new(core, group, handle, (rank, device), config.clone())));
        group.enter(&state);
        state.note(Moment::Created);
        Communicator { state }
    }

    /// Its handle.
    pub fn handle(&self) -> CommHandle {
        self.state.handle
    }

    /// `HcclGetRankId`.
    pub fn rank(&self) -> u32 {
        self.state.rank
    }

    /// `HcclGetRankSize`.
    pub fn size(&self) -> u32 {
        self.state.group.size()
    }

    /// `HcclGetCommName`.
    pub fn name(&self) -> &str {
        &self.state.group.name
    }

    /// The device of this rank.
    pub fn device(&self) -> u32 {
        self.state.device
    }

    /// The device of each rank.
    pub fn devices(&self) -> &[u32] {
        &self.state.group.devices
    }

    /// Its configuration.
    pub fn config(&self) -> &CommConfig {
        &self.state.config
    }

    /// Its timeouts.
    pub fn timeouts(&self) -> Timeouts {
        self.state.config.timeouts
    }

    /// `HcclRankGraphGetLinks`: the protocols of the links to a rank, best first.
    ///
    /// # Errors
    ///
    /// If there is no such rank, or it is this one.
    pub fn links(&self, rank: u32) -> Result<&'static [Protocol]> {
        self.state.is_there()?;
        let Some(device) = self.devices().get(rank as usize).filter(|_| rank != self.rank()) else {
            return Err(para(format!("links of {} to rank {rank}", self.state.who())));
        };
        Ok(Protocol::of_link(self.state.core.link(self.device(), *device)))
    }

    /// `HcclCommGetStatus`.
    pub fn status(&self) -> CommStatus {
        match lock(&self.state.status).is {
            Is::Ready => CommStatus::Ready,
            Is::Suspended => CommStatus::Suspending,
            Is::Failed | Is::Destroyed => CommStatus::Invalid,
        }
    }

    /// `HcclGetCommAsyncError`: what failed first since the last resume.
    pub fn async_error(&self) -> Option<CommError> {
        lock(&self.state.status).error.clone()
    }

    /// `HcclGetHcclBuffer`: made when it is first asked for. Twice as large as configured.
    ///
    /// # Errors
    ///
    /// [`Code::Oom`](crate::comm::Code::Oom) if the device has not so much left.
    pub fn hccl_buffer(&self) -> Result<Region> {
        self.state.hccl_buffer()
    }

    /// `HcclGetHcclBufferCleared`: all zero. On the 950 only.
    ///
    /// # Errors
    ///
    /// As [`hccl_buffer`](Communicator::hccl_buffer).
    pub fn hccl_buffer_cleared(&self) -> Result<Region> {
        self.state.hccl_buffer_cleared()
    }

    /// `HcclThreadAcquire`: threads with `notifies` notifies each. On A2 and A3 new ones; on the 950 the same as before,
    /// supplemented.
    ///
    /// # Errors
    ///
    /// [`Code::Unavail`](crate::comm::Code::Unavail) if a quota is exhausted, [`Code::Para`](crate::comm::Code::Para) and
    /// [`Code::NotSupport`](crate::comm::Code::NotSupport) for numbers and engines that are not possible.
    pub fn acquire_threads(&self, engine: CommEngine, threads: u32, notifies: u32) -> Result<Vec<ThreadHandle>> {
        // No more than can be had, so that a wrong number is no request for memory.
        let most = crate::comm::thread::MAX_THREADS + 1;
        self.state.acquire_threads(engine, &vec![notifies; threads.min(most) as usize])
    }

    /// `HcclThreadAcquireWithConfig`: a thread for each number of notifies. For CPU and AICPU, not for the `_TS` engines.
    ///
    /// # Errors
    ///
    /// As [`acquire_threads`](Communicator::acquire_threads).
    pub fn acquire_threads_with(&self, engine: CommEngine, notifies: &[u32]) -> Result<Vec<ThreadHandle>> {
        if !matches!(engine, CommEngine::Cpu | CommEngine::AiCpu) {
            return Err(para(format!("{engine}: HcclThreadAcquireWithConfig takes CPU or AICPU and the type TS")));
        }
        self.state.acquire_threads(engine, notifies)
    }

    /// `HcclThreadAcquireWithStream`: the thread of a stream, made once for each stream and supplemented.
    ///
    /// # Errors
    ///
    /// If the stream is not there or on another device, or for engines of the device.
    pub fn thread_of_stream(&self, engine: CommEngine, stream: StreamHandle, notifies: u32) -> Result<ThreadHandle> {
        self.state.thread_of_stream(engine, stream, notifies)
    }

    /// `HcclDedicatedThreadAcquire`: one thread for each use.
    ///
    /// # Errors
    ///
    /// For more than 64 notifies.
    pub fn dedicated_thread(&self, use_of: DedicatedThread, notifies: u32) -> Result<ThreadHandle> {
        self.state.dedicated_thread(use_of, notifies)
    }

    /// `HcclThreadExportToCommEngine`: handles of the same threads that are good on the side of another engine.
    ///
    /// # Errors
    ///
    /// For none or more than 40, for AIV, and for threads of another communicator.
    pub fn export_threads(&self, threads: &[ThreadHandle], to: CommEngine) -> Result<Vec<ThreadHandle>> {
        self.state.export_threads(threads, to)
    }

    /// `HcclThreadResGetInfo`: the stream behind a thread.
    ///
    /// # Errors
    ///
    /// If the thread was not made of a stream.
    pub fn stream_of(&self, thread: ThreadHandle) -> Result<StreamHandle> {
        self.state.stream_of(thread)
    }

    /// How many notifies a thread has.
    ///
    /// # Errors
    ///
    /// If it is not one of this communicator.
    pub fn thread_notifies(&self, thread: ThreadHandle) -> Result<u32> {
        Ok(self.state.own_thread(thread)?.notifies())
    }

    /// `HcclCommAddExchangeInfo`: what must be equal on both ends of the channels of the next acquire.
    pub fn add_exchange_info(&self, info: impl Into<String>) {
        lock(&self.state.channels).info = Some(info.into());
    }

    /// `HcclChannelAcquire`: blocks until the peers acquire theirs, for as long as the connect timeout. Channels that are
    /// there already are given again.
    ///
    /// # Errors
    ///
    /// [`Code::Timeout`](crate::comm::Code::Timeout) with who did not come, and what is not possible. Channels that were
    /// made before the error stay, and are given by the next acquire.
    pub fn acquire_channels(&self, engine: CommEngine, descs: &[ChannelDesc]) -> Result<Vec<ChannelHandle>> {
        self.state.acquire_channels(engine, descs)
    }

    /// `HcclChannelDestroy`: for the CCU on the 950 only.
    ///
    /// # Errors
    ///
    /// For others, and for channels that are not there.
    pub fn destroy_channels(&self, channels: &[ChannelHandle]) -> Result<()> {
        self.state.destroy_channels(channels)
    }

    /// `HcclChannelGetHcclBuffer`: the peer's.
    ///
    /// # Errors
    ///
    /// If the channel is not one of this communicator.
    pub fn channel_buffer(&self, channel: ChannelHandle) -> Result<Region> {
        Ok(self.state.own_channel(channel)?.remote_buffer())
    }

    /// `HcclChannelGetRemoteMems`: what the peer lets this rank touch, with tags. On the 950 only.
    ///
    /// # Errors
    ///
    /// If the channel is not one of this communicator, or the product has no such call.
    pub fn channel_memories(&self, channel: ChannelHandle) -> Result<Vec<(String, Region)>> {
        let channel = self.state.own_channel(channel)?;
        if !self.state.core.is_v2() {
            let product = self.state.core.product;
            return Err(crate::comm::error::not_support(format!("{product} has no HcclChannelGetRemoteMems")));
        }
        Ok(channel.remote_memories())
    }

    /// The rank at the other end of a channel, and how many notifies this end and the other have.
    ///
    /// # Errors
    ///
    /// If the channel is not one of this communicator.
    pub fn channel_info(&self, channel: ChannelHandle) -> Result<(u32, u32, u32)> {
        let channel = self.state.own_channel(channel)?;
        Ok((channel.peer, channel.mine.notifies(), channel.theirs.notifies()))
    }

    /// `HcclCommMemReg`: memory that channels of AIV on the 950 can exchange.
    ///
    /// # Errors
    ///
    /// If the tag is not possible or is that of other memory, or the memory is not allocated.
    pub fn register_memory(&self, tag: &str, memory: Region) -> Result<MemHandle> {
        self.state.register(tag, memory)
    }

    /// `HcclEngineCtxCreate`.
    ///
    /// # Errors
    ///
    /// If there is one of that tag and engine, or the size is 0.
    pub fn create_context(&self, tag: &str, engine: CommEngine, size: u64) -> Result<u64> {
        self.state.create_context(tag, engine, size)
    }

    /// `HcclEngineCtxGet`.
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`](crate::comm::Code::NotFound) if there is none of that tag and engine.
    pub fn context(&self, tag: &str, engine: CommEngine) -> Result<Region> {
        self.state.context(tag, engine)
    }

    /// `HcclEngineCtxCopy`: from the host into a context.
    ///
    /// # Errors
    ///
    /// If there is no such context, or it is too small.
    pub fn copy_context(&self, tag: &str, engine: CommEngine, offset: u64, bytes: &[u8]) -> Result<()> {
        self.state.copy_context(tag, engine, offset, bytes)
    }

    /// `HcclEngineCtxDestroy`.
    ///
    /// # Errors
    ///
    /// If there is no such context.
    pub fn destroy_context(&self, tag: &str, engine: CommEngine) -> Result<()> {
        self.state.destroy_context(tag, engine)
    }

    /// Launches an operator on a stream, and does not wait for it. All ranks must; the first launch of an algorithm makes
    /// its resources and blocks until the peers make theirs.
    ///
    /// # Errors
    ///
    /// What can be said before it runs. What fails later shows when the stream is waited for.
    pub fn launch(&self, program: &Arc<Program>, call: &OpCall, stream: StreamHandle) -> Result<()> {
        self.state.launch(program, call, stream)
    }

    /// Whether the resources of an operator are there, so that a launch does not block.
    pub fn is_prepared(&self, program: &Program) -> bool {
        self.state.is_prepared(program)
    }

    /// `HcclCreateSubCommConfig`: the communicator of some of the ranks, by their numbers in this one. Blocks until all of
    /// them have come. `id` tells sub-communicators apart.
    ///
    /// # Errors
    ///
    /// If this is a sub-communicator itself, this rank is not at `rank` of `ranks`, or as
    /// [`init_root_info`](crate::comm::Cluster::init_root_info).
    pub fn create_sub(&self, ranks: &[u32], id: u64, rank: u32, config: &CommConfig) -> Result<Communicator> {
        self.state.is_ready()?;
        let group = &self.state.group;
        if group.is_sub {
            return Err(crate::comm::error::not_support(format!(
                "{} is a sub-communicator: others are made of the whole one",
                group.name
            )));
        }
        if let Some(none) = ranks.iter().find(|rank| **rank >= group.size()) {
            return Err(para(format!(
                "rank {none} in a sub-communicator of {}, which has {}",
                group.name,
                group.size()
            )));
        }
        if ranks.get(rank as usize) != Some(&self.rank()) {
            return Err(para(format!("rank {} of {} is not at {rank} of {ranks:?}", self.rank(), group.name)));
        }
        let key = MeetingKey::Sub(group.id, id);
        let core = &self.state.core;
        let sub = core.meet((key, ranks), ranks.len() as u32, (rank, self.device()), config)?;
        Ok(Communicator::enter(core, &sub, rank, config))
    }

    /// `HcclCommSuspend`: drops what is queued, and waits until nothing runs. Also after a failure.
    ///
    /// # Errors
    ///
    /// If it has been destroyed, or a kernel does not end.
    pub fn suspend(&self) -> Result<()> {
        self.state.suspend()
    }

    /// `HcclCommResume`: when all ranks have been suspended and call this, all notifies are cleared, and the communicator
    /// takes operators again. Resources are kept. Blocks for as long as the connect timeout.
    ///
    /// # Errors
    ///
    /// If it is not suspended, or [`Code::Timeout`](crate::comm::Code::Timeout) with who did not come.
    pub fn resume(&self) -> Result<()> {
        self.state.resume()
    }

    /// `HcclCommRegCommStateCallback`: calls `callback` before and after a resume and the destruction. The same name again
    /// replaces what was called.
    ///
    /// # Errors
    ///
    /// If the name is empty or has more than 160 bytes.
    pub fn on_state(&self, name: &str, callback: impl Fn(StatePhase) + Send + Sync + 'static) -> Result<()> {
        self.state.is_there()?;
        if name.is_empty() || name.len() > 160 {
            return Err(para(format!("a callback's name of {} bytes: it has 1 to 160", name.len())));
        }
        lock(&self.state.callbacks).set(name, Arc::new(callback));
        Ok(())
    }

    /// How many of its notifies are set: none, when nothing runs and every record had its wait.
    pub fn notifies_set(&self) -> usize {
        self.state.flags_set()
    }

    /// `HcclSend`: on a stream, without waiting for it. The receiver must call [`recv`](Communicator::recv) with as many
    /// bytes. The first message between two ranks connects them and blocks until both have come.
    ///
    /// # Errors
    ///
    /// If there is no such rank, the memory is not allocated, or the receiver asks for another number of bytes.
    pub fn send(&self, to: u32, memory: Region, stream: StreamHandle) -> Result<()> {
        self.state.exchange(&[Message::Send { to, memory }], stream)
    }

    /// `HcclRecv`.
    ///
    /// # Errors
    ///
    /// As [`send`](Communicator::send).
    pub fn recv(&self, from: u32, memory: Region, stream: StreamHandle) -> Result<()> {
        self.state.exchange(&[Message::Recv { from, memory }], stream)
    }

    /// `HcclBatchSendRecv`: messages at once, so that ranks may send to each other. Those of one pair of ranks match in
    /// their order.
    ///
    /// # Errors
    ///
    /// As [`send`](Communicator::send).
    pub fn batch_send_recv(&self, messages: &[Message], stream: StreamHandle) -> Result<()> {
        self.state.exchange(messages, stream)
    }

    /// Makes channels for [`put`](Communicator::put), [`get`](Communicator::get) and messages. Both ranks must; blocks
    /// for as long as the connect timeout.
    ///
    /// # Errors
    ///
    /// As [`acquire_channels`](Communicator::acquire_channels).
    pub fn connect(&self, peers: &[u32]) -> Result<Vec<ChannelHandle>> {
        self.state.connect(peers)
    }

    /// Writes memory of this rank to the peer's HCCL buffer, then sets one of the peer's notifies.
    ///
    /// # Errors
    ///
    /// If the ranks are not connected, or the memory is not what they may touch.
    pub fn put(&self, peer: u32, dst: u64, src: Region, notify: Option<u32>, stream: StreamHandle) -> Result<()> {
        self.state.put(peer, dst, src, notify, stream)
    }

    /// Reads the peer's HCCL buffer to memory of this rank, then sets one of the peer's notifies.
    ///
    /// # Errors
    ///
    /// As [`put`](Communicator::put).
    pub fn get(&self, peer: u32, dst: Region, src: u64, notify: Option<u32>, stream: StreamHandle) -> Result<()> {
        self.state.get(peer, dst, src, notify, stream)
    }

    /// Sets one of the peer's notifies.
    ///
    /// # Errors
    ///
    /// As [`put`](Communicator::put).
    pub fn signal(&self, peer: u32, notify: u32, stream: StreamHandle) -> Result<()> {
        self.state.signal(peer, notify, stream)
    }

    /// Lets a stream wait for a notify that the peer sets, and clears it.
    ///
    /// # Errors
    ///
    /// As [`put`](Communicator::put).
    pub fn await_signal(&self, peer: u32, notify: u32, stream: StreamHandle) -> Result<()> {
        self.state.await_signal(peer, notify, stream)
    }

    /// `HcclCommDestroy`: stops what runs, and gives everything back. Other ranks are not waited for.
    ///
    /// # Errors
    ///
    /// If it has been destroyed already.
    pub fn destroy(&self) -> Result<()> {
        self.state.destroy()
    }

    /// What it has counted, what it holds, and what happened to it.
    pub fn snapshot(&self) -> Snapshot {
        let state = &self.state;
        let (is, error) = {
            let status = lock(&state.status);
            (status.is, status.error.as_ref().map(ToString::to_string))
        };
        let (threads, thread_notifies) = {
            let threads = lock(&state.threads);
            (threads.all.len(), threads.charged_notifies())
        };
        let (contexts, context_bytes) = {
            let contexts = lock(&state.contexts);
            (contexts.len(), contexts.values().map(|region| region.size).sum::<u64>())
        };
        let buffer = lock(&state.buffer).map_or(0, |region| region.size);
        Snapshot {
            name: state.group.name.clone(),
            rank: state.rank,
            ranks: state.group.size(),
            status: match is {
                Is::Ready => "ready",
                Is::Failed => "failed",
                Is::Suspended => "suspended",
                Is::Destroyed => "destroyed",
            },
            error,
            waiting: state.waiting(),
            counters: state.totals.now(),
            in_use: InUse {
                communicators: usize::from(is != Is::Destroyed),
                threads,
                thread_notifies,
                channels: lock(&state.channels).all.len(),
                contexts,
                memories: lock(&state.memories).len(),
                windows: lock(&state.windows).len(),
                bytes: context_bytes + buffer,
                ..InUse::default()
            },
            log: lock(&state.log).entries(),
        }
    }
}

impl RankState {
    /// Stops what runs, and gives everything back.
    pub(crate) fn destroy(&self) -> Result<()> {
        self.is_there()?;
        // Once, whoever asks at the same time, a callback included.
        if self.leaving.swap(true, Ordering::AcqRel) {
            return Err(not_found(format!("{} has been destroyed", self.who())));
        }
        let core = &self.core;
        let before = self.tell(StatePhase::DestroyPre);
        self.stop(Is::Destroyed, None);
        // Who waits for its channels must not wait on.
        self.group.left();
        core.comms.remove(self.handle)?;
        // Nobody carries out a task of it when its memory goes.
        for queue in self.queues() {
            queue.until_still(Some(core.after(self.config.timeouts.meet())));
        }
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads.all {
            if thread.stream.is_none() {
                thread.queue.close(&**core);
            }
            core.threads.remove(thread.handle)?;
        }
        for channel in lock(&self.channels).clear() {
            core.channels.remove(channel.handle)?;
        }
        let events = lock(&self.launches).clear().into_iter().chain(lock(&self.order).clear());
        for event in events {
            core.events.remove(event)?;
        }
        for region in std::mem::take(&mut *lock(&self.contexts)).into_values() {
            core.memory.free(region.addr)?;
        }
        lock(&self.memories).clear();
        self.drop_windows()?;
        if let Some(region) = lock(&self.buffer).take() {
            core.memory.free(region.addr)?;
        }
        core.totals.add(&self.totals.now());
        self.note(Moment::Destroyed);
        let is_last = (0..self.group.size()).all(|rank| !self.group.is_there(rank));
        if is_last {
            lock(&core.meetings).forget_name(&self.group.name);
        }
        self.group.left();
        lock(&self.connected).clear();
        let after = self.tell(StatePhase::DestroyPost);
        *lock(&self.callbacks) = Callbacks::default();
        lock(&self.open).clear();
        before.and(after)
    }
}

/// Launches an operator on all ranks of a communicator, from one thread: `calls` and `streams` are by rank.
///
/// # Errors
///
/// The first rank's error, by rank.
pub fn launch_all(
    comms: &[Communicator],
    program: &Arc<Program>,
    calls: &[OpCall],
    streams: &[StreamHandle],
) -> Result<()> {
    if comms.len() != calls.len() || comms.len() != streams.len() {
        let (ranks, calls, streams) = (comms.len(), calls.len(), streams.len());
        return Err(para(format!("{calls} calls and {streams} streams for {ranks} ranks")));
    }
    let each = || comms.iter().zip(calls).zip(streams);
    if comms.iter().all(|comm| comm.is_prepared(program)) {
        let results: Vec<Result<()>> =
            each().map(|((comm, call), stream)| comm.launch(program, call, *stream)).collect();
        return results.into_iter().collect();
    }
    std::thread::scope(|scope| {
        let ranks: Vec<_> =
            each().map(|((comm, call), stream)| scope.spawn(move || comm.launch(program, call, *stream))).collect();
        let panicked = || crate::comm::error::internal("a rank panicked");
        let results: Vec<Result<()>> =
            ranks.into_iter().map(|rank| rank.join().unwrap_or_else(|_| Err(panicked()))).collect();
        results.into_iter().collect()
    })
}
