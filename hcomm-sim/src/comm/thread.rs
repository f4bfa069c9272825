//! Threads: in-order queues of a rank, with their notifies, quotas and reuse rules (facts 2.2 and 2.4).

use crate::comm::error::{CommError, Result, not_found, not_support, para, unavail};
use crate::comm::handle::{StreamHandle, ThreadHandle};
use crate::comm::notify::{FlagName, Notify};
use crate::comm::queue::{Queue, QueueKind};
use crate::comm::rank::RankState;
use crate::comm::sync::{Arc, lock, read, write};
use std::collections::BTreeMap;
use std::sync::{RwLock, Weak};

/// Who makes and who carries out tasks (`CommEngine`, facts 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
pub enum CommEngine {
    /// Host CPU.
    Cpu = 0,
    /// Host CPU makes, the task scheduler carries out.
    CpuTs = 1,
    /// AI CPU.
    AiCpu = 2,
    /// AI CPU makes, the task scheduler carries out.
    AiCpuTs = 3,
    /// Vector cores.
    Aiv = 4,
    /// The CCU.
    Ccu = 5,
}

impl CommEngine {
    /// All engines.
    pub const ALL: [CommEngine; 6] =
        [CommEngine::Cpu, CommEngine::CpuTs, CommEngine::AiCpu, CommEngine::AiCpuTs, CommEngine::Aiv, CommEngine::Ccu];

    /// The engine of a number of `CommEngine`.
    pub fn from_number(number: i32) -> Option<CommEngine> {
        CommEngine::ALL.into_iter().find(|engine| *engine as i32 == number)
    }

    /// HCOMM's name.
    pub const fn name(self) -> &'static str {
        match self {
            CommEngine::Cpu => "COMM_ENGINE_CPU",
            CommEngine::CpuTs => "COMM_ENGINE_CPU_TS",
            CommEngine::AiCpu => "COMM_ENGINE_AICPU",
            CommEngine::AiCpuTs => "COMM_ENGINE_AICPU_TS",
            CommEngine::Aiv => "COMM_ENGINE_AIV",
            CommEngine::Ccu => "COMM_ENGINE_CCU",
        }
    }

    /// On which side its tasks are made, and its context lies.
    pub const fn side(self) -> Side {
        match self {
            CommEngine::Cpu | CommEngine::CpuTs | CommEngine::Ccu => Side::Host,
            CommEngine::AiCpu | CommEngine::AiCpuTs | CommEngine::Aiv => Side::Device,
        }
    }
}

impl std::fmt::Display for CommEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Where code runs that calls the data plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The host.
    Host,
    /// The AI CPU.
    Device,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::Host => "the host",
            Side::Device => "the device",
        })
    }
}

/// Threads of a communicator (facts 2.2: `SIGNAL_DEV_STREAM_MAX_NUM`).
pub const MAX_THREADS: u32 = 200;
/// Thread notifies of a communicator, and one more than a thread may have.
pub const MAX_THREAD_NOTIFIES: u32 = 65536;
/// Threads of one call of [`export_threads`](crate::comm::Communicator::export_threads).
pub const MAX_EXPORT: usize = 40;
/// Notifies of a dedicated thread.
pub const MAX_DEDICATED_NOTIFIES: u32 = 64;

/// What a dedicated thread is for (`HcclDedicatedThreadType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
#[expect(missing_docs, reason = "HCOMM's names")]
pub enum DedicatedThread {
    AicpuLaunch = 0,
    AicpuLaunchGe = 1,
    AicpuOrderLaunchOpbase = 2,
    AicpuOrderLaunchAclgraph = 3,
    AicpuOrderLaunchGe = 4,
    AicpuOrderLaunchDevice = 5,
}

/// Marks of exported handles.
const TO_HOST: u64 = 1;
const TO_DEVICE: u64 = 2;

/// A thread.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) handle: ThreadHandle,
    pub(crate) rank: Weak<RankState>,
    /// Which of the rank's threads.
    pub(crate) number: u32,
    pub(crate) side: Side,
    pub(crate) queue: Arc<Queue>,
    /// The stream that it wraps.
    pub(crate) stream: Option<StreamHandle>,
    flags: RwLock<Flags>,
}

#[derive(Debug)]
struct Flags {
    /// How many were asked for.
    asked: u32,
    /// All that there are: on the 950 one more for AI CPU threads, behind those that were asked for.
    all: Vec<Arc<Notify>>,
}

impl Thread {
    /// How many notifies were asked for.
    pub(crate) fn notifies(&self) -> u32 {
        read(&self.flags).asked
    }

    /// A notify by index.
    pub(crate) fn flag(&self, notify: u32) -> Result<Arc<Notify>> {
        let flags = read(&self.flags);
        flags
            .all
            .get(notify as usize)
            .cloned()
            .ok_or_else(|| para(format!("notify {notify} of thread {}, which has {}", self.number, count(flags.asked))))
    }

    /// Sees to it that there are `asked` notifies.
    fn supplement(&self, rank: u32, asked: u32, extra: u32) {
        let mut flags = write(&self.flags);
        flags.asked = flags.asked.max(asked);
        let want = flags.asked + extra;
        for notify in flags.all.len() as u32..want {
            flags.all.push(Notify::new(FlagName::Thread { rank, thread: self.number, notify }));
        }
    }

    pub(crate) fn clear_flags(&self) {
        read(&self.flags).all.iter().for_each(|flag| flag.clear());
    }

    /// How many of its flags are set.
    pub(crate) fn flags_set(&self) -> usize {
        read(&self.flags).all.iter().filter(|flag| flag.is_set()).count()
    }

    /// The side on which a handle of it is good.
    pub(crate) fn side_of(&self, handle: ThreadHandle) -> Side {
        match handle.mark() {
            TO_HOST => Side::Host,
            TO_DEVICE => Side::Device,
            _ => self.side,
        }
    }
}

fn count(notifies: u32) -> String {
    match notifies {
        0 => "none".into(),
        1 => "only notify 0".into(),
        all => format!("notifies 0 to {}", all - 1),
    }
}

/// The threads of a rank.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    pub(crate) all: Vec<Arc<Thread>>,
    /// How many are charged to the quota.
    pub(crate) charged: u32,
    /// By side: those that the 950 gives again.
    cached: BTreeMap<Side, Vec<Arc<Thread>>>,
    streams: BTreeMap<StreamHandle, Arc<Thread>>,
    dedicated: BTreeMap<DedicatedThread, Arc<Thread>>,
    made: u32,
}

impl Threads {
    /// Notifies charged to the quota.
    pub(crate) fn charged_notifies(&self) -> u64 {
        let charged = self.all.iter().filter(|thread| thread.stream.is_none());
        let dedicated: u64 = self.dedicated.values().map(|thread| u64::from(thread.notifies())).sum();
        charged.map(|thread| u64::from(thread.notifies())).sum::<u64>() - dedicated
    }
}

impl RankState {
    fn make_thread(
        self: &std::sync::Arc<Self>,
        threads: &mut Threads,
        side: Side,
        stream: Option<(StreamHandle, Arc<Queue>)>,
        notifies: u32,
    ) -> Arc<Thread> {
        let number = threads.made;
        threads.made += 1;
        let (stream, queue) = match stream {
            Some((stream, queue)) => (Some(stream), queue),
            None => (None, Queue::new(self.device, QueueKind::Thread(number))),
        };
        let extra = u32::from(self.core.is_v2() && side == Side::Device);
        let (_, thread) = self.core.threads.insert(|handle| {
            let flags = RwLock::new(Flags { asked: 0, all: Vec::new() });
            let rank = std::sync::Arc::downgrade(self);
            let thread = Thread { handle, rank, number, side, queue, stream, flags };
            thread.supplement(self.rank, notifies, extra);
            std::sync::Arc::new(thread)
        });
        threads.all.push(thread.clone());
        self.totals.threads_made();
        thread
    }

    /// `HcclThreadAcquire`: the same number of notifies for each.
    pub(crate) fn acquire_threads(
        self: &std::sync::Arc<Self>,
        engine: CommEngine,
        notifies: &[u32],
    ) -> Result<Vec<ThreadHandle>> {
        self.is_ready()?;
        let number = notifies.len() as u32;
        if matches!(engine, CommEngine::Aiv | CommEngine::Ccu) {
            return Err(not_support(format!("{engine} has no threads to acquire")));
        }
        if notifies.is_empty() {
            return Err(para("0 threads are asked for"));
        }
        if let Some(most) = notifies.iter().find(|most| **most >= MAX_THREAD_NOTIFIES) {
            let last = MAX_THREAD_NOTIFIES - 1;
            return Err(para(format!("{most} notifies a thread: there can be at most {last}")));
        }
        let mut threads = lock(&self.threads);
        let side = engine.side();
        let have = match self.core.is_v2() {
            true => threads.cached.get(&side).cloned().unwrap_or_default(),
            false => Vec::new(),
        };
        let new = number.saturating_sub(have.len() as u32);
        let more = notifies.iter().enumerate().map(|(at, want)| {
            let has = have.get(at).map_or(0, |thread| thread.notifies());
            u64::from(want.saturating_sub(has))
        });
        let (more, limit) = (more.sum::<u64>(), self.config.thread_limit.unwrap_or(MAX_THREADS).min(MAX_THREADS));
        if threads.charged + new > limit {
            return Err(self.exhausted(&threads, format!("{new} more threads"), limit));
        }
        if threads.charged_notifies() + more > u64::from(MAX_THREAD_NOTIFIES) {
            return Err(self.exhausted(&threads, format!("{more} more thread notifies"), limit));
        }
        let extra = u32::from(self.core.is_v2() && side == Side::Device);
        let mut found = Vec::with_capacity(notifies.len());
        for (at, want) in notifies.iter().enumerate() {
            let thread = match have.get(at) {
                Some(thread) => {
                    thread.supplement(self.rank, *want, extra);
                    thread.clone()
                }
                None => {
                    let thread = self.make_thread(&mut threads, side, None, *want);
                    threads.charged += 1;
                    if self.core.is_v2() {
                        threads.cached.entry(side).or_default().push(thread.clone());
                    }
                    thread
                }
            };
            found.push(thread.handle);
        }
        Ok(found)
    }

    fn exhausted(&self, threads: &Threads, wanted: String, limit: u32) -> CommError {
        unavail(format!(
            "no {wanted} for rank {} of {}: {} of {limit} threads and {} of {MAX_THREAD_NOTIFIES} thread notifies are in use",
            self.rank,
            self.group.name,
            threads.charged,
            threads.charged_notifies()
        ))
    }

    /// `HcclThreadAcquireWithStream`: the thread of a stream, which is made once and may get more notifies.
    pub(crate) fn thread_of_stream(
        self: &std::sync::Arc<Self>,
        engine: CommEngine,
        stream: StreamHandle,
        notifies: u32,
    ) -> Result<ThreadHandle> {
        self.is_ready()?;
        if !matches!(engine, CommEngine::Cpu | CommEngine::CpuTs | CommEngine::Ccu) {
            return Err(not_support(format!("{engine} takes no thread of a stream: it is for the host's engines")));
        }
        if notifies >= MAX_THREAD_NOTIFIES {
            let last = MAX_THREAD_NOTIFIES - 1;
            return Err(para(format!("{notifies} notifies a thread: there can be at most {last}")));
        }
        let state = self.core.streams.get(stream)?;
        if state.queue.device != self.device {
            let (rank, mine, other) = (self.rank, self.device, state.queue.device);
            return Err(para(format!("rank {rank} is on device {mine}, and the stream is one of device {other}")));
        }
        let mut threads = lock(&self.threads);
        if let Some(thread) = threads.streams.get(&stream) {
            thread.supplement(self.rank, notifies, 0);
            return Ok(thread.handle);
        }
        // Streams that are gone leave their threads behind.
        let gone: Vec<StreamHandle> =
            threads.streams.keys().copied().filter(|stream| self.core.streams.get(*stream).is_err()).collect();
        for stream in gone {
            if let Some(thread) = threads.streams.remove(&stream) {
                threads.all.retain(|other| other.handle != thread.handle);
                self.core.threads.remove(thread.handle)?;
            }
        }
        let thread = self.make_thread(&mut threads, Side::Host, Some((stream, state.queue.clone())), notifies);
        threads.streams.insert(stream, thread.clone());
        Ok(thread.handle)
    }

    /// `HcclDedicatedThreadAcquire`: one for each use, not charged to the quota.
    pub(crate) fn dedicated_thread(
        self: &std::sync::Arc<Self>,
        use_of: DedicatedThread,
        notifies: u32,
    ) -> Result<ThreadHandle> {
        self.is_ready()?;
        if notifies > MAX_DEDICATED_NOTIFIES {
            return Err(para(format!(
                "{notifies} notifies of a dedicated thread: there can be at most {MAX_DEDICATED_NOTIFIES}"
            )));
        }
        let mut threads = lock(&self.threads);
        if let Some(thread) = threads.dedicated.get(&use_of) {
            thread.supplement(self.rank, notifies, 0);
            return Ok(thread.handle);
        }
        let thread = self.make_thread(&mut threads, Side::Host, None, notifies);
        threads.dedicated.insert(use_of, thread.clone());
        Ok(thread.handle)
    }

    /// `HcclThreadExportToCommEngine`.
    pub(crate) fn export_threads(&self, threads: &[ThreadHandle], to: CommEngine) -> Result<Vec<ThreadHandle>> {
        self.is_ready()?;
        if threads.is_empty() || threads.len() > MAX_EXPORT {
            return Err(para(format!("{} threads in one export: 1 to {MAX_EXPORT} are possible", threads.len())));
        }
        if to == CommEngine::Aiv {
            return Err(not_support(format!("no thread can be exported to {to}")));
        }
        threads
            .iter()
            .map(|handle| {
                let thread = self.own_thread(*handle)?;
                Ok(match (to.side(), thread.side) {
                    (Side::Host, Side::Device) => thread.handle.marked(TO_HOST),
                    (Side::Device, Side::Host) => thread.handle.marked(TO_DEVICE),
                    _ => thread.handle,
                })
            })
            .collect()
    }

    /// A thread of this rank.
    pub(crate) fn own_thread(&self, handle: ThreadHandle) -> Result<Arc<Thread>> {
        let thread = self.core.threads.get(handle)?;
        if !std::ptr::eq(thread.rank.as_ptr(), self) {
            return Err(para(format!("thread {:#x} is not one of this communicator", handle.0)));
        }
        Ok(thread)
    }

    /// `HcclThreadResGetInfo`: the stream behind a thread.
    pub(crate) fn stream_of(&self, handle: ThreadHandle) -> Result<StreamHandle> {
        self.own_thread(handle)?.stream.ok_or_else(|| not_found("the thread was not made of a stream"))
    }
}
