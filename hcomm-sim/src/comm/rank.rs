//! A rank of a communicator: its state and what it owns.

use crate::comm::channel::Channels;
use crate::comm::config::CommConfig;
use crate::comm::context::{Contexts, Memories};
use crate::comm::core::Core;
use crate::comm::error::{CommError, Result, Waited, in_status, not_found, suspending, timeout};
use crate::comm::group::Group;
use crate::comm::handle::{ChannelHandle, CommHandle};
use crate::comm::launch::{Launches, Open};
use crate::comm::memory::Region;
use crate::comm::monitor::{Log, Moment, Totals};
use crate::comm::notify::{FlagName, Notify};
use crate::comm::order::Order;
use crate::comm::queue::{Action, Owned, Owner, Queue, QueueKind};
use crate::comm::recover::Callbacks;
use crate::comm::sync::{Mutex, lock};
use crate::comm::thread::{Side, Threads};
use crate::comm::window::Windows;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The state of a rank's communicator (`HcclCommStatus`, facts 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum CommStatus {
    /// It takes operators.
    Ready = 0,
    /// It has been suspended: it takes operators again after a resume.
    Suspending = 1,
    /// An operator failed, or it has been destroyed.
    Invalid = 254,
}

#[derive(Debug, Default)]
pub(crate) struct Status {
    pub(crate) is: Is,
    /// What failed first since the last resume.
    pub(crate) error: Option<CommError>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Is {
    #[default]
    Ready,
    Failed,
    Suspended,
    Destroyed,
}

#[derive(Debug)]
pub(crate) struct RankState {
    pub(crate) core: Arc<Core>,
    pub(crate) group: Arc<Group>,
    pub(crate) handle: CommHandle,
    pub(crate) rank: u32,
    pub(crate) device: u32,
    pub(crate) config: CommConfig,
    /// Counts stops of what the device does.
    epoch: AtomicU64,
    /// Counts stops of what the host's streams do.
    host_epoch: AtomicU64,
    pub(crate) status: Mutex<Status>,
    pub(crate) buffer: Mutex<Option<Region>>,
    pub(crate) threads: Mutex<Threads>,
    pub(crate) channels: Mutex<Channels>,
    pub(crate) contexts: Mutex<Contexts>,
    pub(crate) memories: Mutex<Memories>,
    pub(crate) windows: Mutex<Windows>,
    pub(crate) launches: Mutex<Launches>,
    /// What else goes through the HCCL buffer.
    pub(crate) order: Mutex<Order>,
    /// Whether somebody is destroying it.
    pub(crate) leaving: AtomicBool,
    /// Channels for one-sided operations, by peer.
    pub(crate) connected: Mutex<BTreeMap<u32, ChannelHandle>>,
    /// Operators whose end has not been seen.
    pub(crate) open: Mutex<VecDeque<Open>>,
    pub(crate) callbacks: Mutex<Callbacks>,
    pub(crate) totals: Totals,
    pub(crate) log: Mutex<Log>,
}

impl RankState {
    pub(crate) fn new(
        core: &Arc<Core>,
        group: &Arc<Group>,
        handle: CommHandle,
        (rank, device): (u32, u32),
        config: CommConfig,
    ) -> RankState {
        RankState {
            core: core.clone(),
            group: group.clone(),
            handle,
            rank,
            device,
            config,
            epoch: AtomicU64::new(0),
            host_epoch: AtomicU64::new(0),
            connected: Mutex::default(),
            open: Mutex::default(),
            callbacks: Mutex::default(),
            status: Mutex::default(),
            buffer: Mutex::default(),
            threads: Mutex::default(),
            channels: Mutex::default(),
            contexts: Mutex::default(),
            memories: Mutex::default(),
            windows: Mutex::default(),
            launches: Mutex::default(),
            order: Mutex::default(),
            leaving: AtomicBool::new(false),
            totals: Totals::default(),
            log: Mutex::default(),
        }
    }

    /// Its name in sentences.
    pub(crate) fn who(&self) -> String {
        format!("rank {} of {}", self.rank, self.group.name)
    }

    /// Fails unless operators and resources can be asked for.
    pub(crate) fn is_ready(&self) -> Result<()> {
        self.core.is_open()?;
        let status = lock(&self.status);
        match status.is {
            Is::Ready => Ok(()),
            Is::Suspended => Err(suspending(format!("{} is suspended: resume it first", self.who()))),
            Is::Destroyed => Err(not_found(format!("{} has been destroyed", self.who()))),
            Is::Failed => Err(status.error.clone().unwrap_or_else(|| in_status(format!("{} has failed", self.who())))),
        }
    }

    /// Fails if it has been destroyed.
    pub(crate) fn is_there(&self) -> Result<()> {
        self.core.is_open()?;
        match lock(&self.status).is {
            Is::Destroyed => Err(not_found(format!("{} has been destroyed", self.who()))),
            _ => Ok(()),
        }
    }

    /// The queues of its threads, those of users' streams included.
    pub(crate) fn queues(&self) -> Vec<Arc<Queue>> {
        lock(&self.threads).all.iter().map(|thread| thread.queue.clone()).collect()
    }

    /// What its threads and streams wait for.
    pub(crate) fn waiting(&self) -> Vec<String> {
        let threads = lock(&self.threads).all.clone();
        let waits = threads.iter().filter_map(|thread| Some((thread, thread.queue.waits_for()?)));
        waits
            .map(|(thread, flag)| match thread.stream {
                Some(_) => format!("a stream for {flag}"),
                None => format!("thread {} for {flag}", thread.number),
            })
            .collect()
    }

    /// Stops: whatever is queued is dropped.
    pub(crate) fn stop(&self, is: Is, error: Option<CommError>) {
        {
            let mut status = lock(&self.status);
            if status.is == Is::Destroyed {
                return;
            }
            status.is = is;
            if status.error.is_none() {
                status.error = error;
            }
            self.epoch.fetch_add(1, Ordering::AcqRel);
            self.host_epoch.fetch_add(1, Ordering::AcqRel);
        }
        // Who waits for channels of it waits for nothing.
        self.group.left();
        for queue in self.queues() {
            queue.drop_stale(&*self.core);
        }
    }

    /// It fails for a reason that is not one of its tasks.
    pub(crate) fn fail(&self, error: &CommError) {
        self.totals.failed(error.code);
        self.note(Moment::Failed(error.clone(), self.waiting()));
        if lock(&self.status).is == Is::Ready {
            self.stop(Is::Failed, Some(error.clone()));
        }
    }

    /// Drops what the device has queued. Streams go on waiting for it.
    pub(crate) fn drop_device_tasks(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        for queue in self.queues() {
            queue.drop_stale(&*self.core);
        }
    }

    /// Who owns the tasks that are queued on a side now.
    pub(crate) fn owner(self: &Arc<Self>, side: Side) -> Owned {
        let owner: Arc<dyn Owner> = match side {
            Side::Device => self.clone(),
            Side::Host => Arc::new(HostSide(self.clone())),
        };
        let epoch = owner.epoch();
        (owner, epoch)
    }

    pub(crate) fn note(&self, moment: Moment) {
        lock(&self.log).note(moment);
    }
}

impl Owner for RankState {
    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    fn reason(&self) -> CommError {
        let status = lock(&self.status);
        status.error.clone().unwrap_or_else(|| match status.is {
            Is::Suspended => suspending(format!("dropped: {} was suspended", self.who())),
            _ => not_found(format!("dropped: {} has been destroyed", self.who())),
        })
    }

    fn failed(&self, error: CommError) {
        self.totals.failed(error.code);
        self.note(Moment::Failed(error.clone(), self.waiting()));
        if lock(&self.status).is != Is::Ready {
            return;
        }
        if self.may_retry(&error) {
            self.group.retry(self, error);
            return;
        }
        self.stop(Is::Failed, Some(error));
    }

    fn carried_out(&self, action: &Action, lost: bool) {
        match action {
            Action::Copy { len, hop, .. } => self.totals.moved(*len, hop.is_some()),
            Action::Reduce { count, dtype, hop, .. } => {
                self.totals.moved(count * u64::from(dtype.size()), hop.is_some());
            }
            _ => {}
        }
        if lost {
            self.totals.lost();
        }
    }

    fn parked(&self) {
        self.totals.parked();
    }

    fn unanswered(&self, queue: &Queue, notify: &Notify, seconds: u32) -> CommError {
        let on = match queue.kind {
            QueueKind::Stream => "a stream".to_owned(),
            QueueKind::Thread(number) => format!("thread {number}"),
        };
        let (who, set_by, waited) = match notify.name {
            FlagName::Thread { rank, thread, notify } => (
                format!("its notify {notify}"),
                "another thread of the rank",
                Waited { rank, thread, notify, peer: None },
            ),
            FlagName::Channel { rank, peer, notify } => {
                let thread = if let QueueKind::Thread(number) = queue.kind { number } else { 0 };
                let waited = Waited { rank, thread, notify, peer: Some(peer) };
                (format!("notify {notify} of its channel to rank {peer}"), "that rank", waited)
            }
        };
        let of_operator = match (queue.kind, notify.name) {
            (QueueKind::Thread(_), FlagName::Channel { notify, .. }) => {
                lock(&self.open).front().and_then(|open| open.job.says(notify))
            }
            _ => None,
        };
        let is = of_operator.map_or(String::new(), |says| format!(": it is {says}"));
        let mut error = timeout(format!(
            "{} waited for {who} on {on}, which {set_by} did not set within {seconds} s (EI0002){is}",
            self.who()
        ));
        error.wait = Some(Box::new(waited));
        error
    }
}

/// A rank as the owner of what the host's streams do: that goes on while the device repeats an operator.
struct HostSide(Arc<RankState>);

impl Owner for HostSide {
    fn epoch(&self) -> u64 {
        self.0.host_epoch.load(Ordering::Acquire)
    }

    fn reason(&self) -> CommError {
        self.0.reason()
    }

    fn failed(&self, error: CommError) {
        // What the host does itself is not repeated.
        self.0.fail(&error);
    }

    fn carried_out(&self, action: &Action, lost: bool) {
        self.0.carried_out(action, lost);
    }

    fn parked(&self) {
        self.0.parked();
    }

    fn unanswered(&self, queue: &Queue, notify: &Notify, seconds: u32) -> CommError {
        self.0.unanswered(queue, notify, seconds)
    }
}
