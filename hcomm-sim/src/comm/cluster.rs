//! A cluster in one process.

use crate::comm::communicator::{Communicator, RootInfo};
use crate::comm::config::CommConfig;
use crate::comm::core::Core;
use crate::comm::engine::{self, Engine};
use crate::comm::error::{CommError, Result, in_status, para};
use crate::comm::fault::{Fault, Faults};
use crate::comm::group::{MeetingKey, Meetings};
use crate::comm::handle::{CommHandle, EventHandle, StreamHandle, Table};
use crate::comm::memory::{Memory, Place, Segments};
use crate::comm::monitor::{Counters, InUse, LostRecord, Totals};
use crate::comm::observer::Observer;
use crate::comm::plane::DataPlane;
use crate::comm::queue::Call;
use crate::comm::rank::{Is, RankState};
use crate::comm::sync::{Mutex, lock};
use crate::comm::thread::Side;
use crate::comm::virtual_memory::VirtualMemory;
use hcomm_core::product::Product;
use hcomm_core::shape::Layout;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar};
use std::time::Duration;

/// What a cluster is made of.
#[derive(Debug)]
#[non_exhaustive]
pub struct ClusterConfig {
    /// The product of its devices.
    pub product: Product,
    /// Its devices and how they are joined: device number d is rank d of the layout.
    pub layout: Layout,
    /// Bytes of a device's memory, if the cluster keeps it itself.
    pub device_memory: u64,
    /// Who keeps the bytes; [`Segments`] if it is `None`.
    pub memory: Option<Arc<dyn Memory>>,
    /// Who sees the operations of the data plane.
    pub observer: Option<Arc<dyn Observer>>,
    /// How long a simulated second takes, at most a day: timeouts are multiples of it.
    pub second: Duration,
    /// Threads of the process that carry out tasks, at most 1024.
    pub workers: usize,
}

/// The longest simulated second: with the longest timeout, a time that a clock can still say.
const LONGEST_SECOND: Duration = Duration::from_secs(24 * 60 * 60);

/// The most workers.
const MAX_WORKERS: usize = 1024;

impl ClusterConfig {
    /// `devices` devices in one server, and seconds as long as seconds are.
    ///
    /// # Errors
    ///
    /// If there are none, or too many.
    pub fn new(product: Product, devices: u32) -> Result<ClusterConfig> {
        let layout = Layout::flat(devices).ok_or_else(|| para(format!("a cluster of {devices} devices")))?;
        Ok(ClusterConfig::of_layout(product, layout))
    }

    /// Devices as a layout has its ranks.
    pub fn of_layout(product: Product, layout: Layout) -> ClusterConfig {
        ClusterConfig {
            product,
            layout,
            device_memory: 64 << 30,
            memory: None,
            observer: None,
            second: Duration::from_secs(1),
            workers: std::thread::available_parallelism().map_or(2, usize::from).min(16),
        }
    }

    /// Sets how long a simulated second takes.
    #[must_use]
    pub fn second(mut self, second: Duration) -> ClusterConfig {
        self.second = second;
        self
    }

    /// Sets who keeps the bytes.
    #[must_use]
    pub fn memory(mut self, memory: Arc<dyn Memory>) -> ClusterConfig {
        self.memory = Some(memory);
        self
    }

    /// Sets the bytes of a device's memory.
    #[must_use]
    pub fn device_memory(mut self, bytes: u64) -> ClusterConfig {
        self.device_memory = bytes;
        self
    }

    /// Sets who sees the operations of the data plane.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> ClusterConfig {
        self.observer = Some(observer);
        self
    }

    /// Sets how many threads of the process carry out tasks.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> ClusterConfig {
        self.workers = workers;
        self
    }
}

/// A cluster in one process: devices with memory and streams, on which communicators are made.
///
/// It may be used from many threads. Dropping it ends everything: whoever waits gets
/// [`Code::InStatus`](crate::comm::Code::InStatus).
#[derive(Debug)]
pub struct Cluster {
    pub(crate) core: Arc<Core>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.core.close();
    }
}

impl Cluster {
    /// A cluster.
    ///
    /// # Errors
    ///
    /// If the system gives no threads.
    pub fn new(config: ClusterConfig) -> Result<Cluster> {
        if config.second.is_zero() || config.second > LONGEST_SECOND {
            let second = config.second;
            return Err(para(format!("a simulated second of {second:?}: it takes some time, and at most a day")));
        }
        if config.workers > MAX_WORKERS {
            return Err(para(format!("{} workers: there can be at most {MAX_WORKERS}", config.workers)));
        }
        let memory = config.memory.unwrap_or_else(|| Arc::new(Segments::new(config.device_memory)));
        let core = Arc::new_cyclic(|me| Core {
            me: me.clone(),
            product: config.product,
            layout: config.layout,
            second: config.second,
            memory,
            observer: config.observer,
            faults: Faults::default(),
            engine: Engine::default(),
            totals: Totals::default(),
            comms: Table::default(),
            threads: Table::default(),
            channels: Table::default(),
            streams: Table::default(),
            events: Table::default(),
            windows: Table::default(),
            virtual_memory: VirtualMemory::default(),
            meetings: Mutex::new(Meetings::default()),
            met: Condvar::new(),
            calls: AtomicU64::new(0),
            lost: Mutex::default(),
        });
        let cluster = Cluster { core };
        engine::start(&cluster.core, config.workers).map_err(|error| {
            CommError::new(crate::comm::error::Code::Syscall, format!("no threads for the cluster: {error}"))
        })?;
        Ok(cluster)
    }

    /// The product of its devices.
    pub fn product(&self) -> Product {
        self.core.product
    }

    /// How its devices are joined.
    pub fn layout(&self) -> &Layout {
        &self.core.layout
    }

    /// How many devices it has.
    pub fn devices(&self) -> u32 {
        self.core.layout.ranks()
    }

    /// Its memory.
    pub fn memory(&self) -> &dyn Memory {
        &*self.core.memory
    }

    /// New memory on a device.
    ///
    /// # Errors
    ///
    /// As [`Memory::alloc`], or if there is no such device.
    pub fn alloc(&self, device: u32, bytes: u64) -> Result<u64> {
        self.core.is_open()?;
        self.core.is_device(device)?;
        self.core.memory.alloc(Place::Device(device), bytes)
    }

    /// The primitives, for one thread of the caller's.
    pub fn data_plane(&self, side: Side) -> DataPlane {
        DataPlane::new(self.core.clone(), side)
    }

    /// `HcclGetRootInfo`: what the ranks of a new communicator find each other by.
    pub fn root_info(&self) -> RootInfo {
        RootInfo(lock(&self.core.meetings).new_root())
    }

    /// `HcclCommInitRootInfoConfig`: a rank's communicator. Blocks until all `ranks` have come, for as long as the connect
    /// timeout.
    ///
    /// # Errors
    ///
    /// [`Code::Timeout`](crate::comm::Code::Timeout) with who did not come, [`Code::Para`](crate::comm::Code::Para) on
    /// all ranks if they do not ask for the same.
    pub fn init_root_info(
        &self,
        ranks: u32,
        root: RootInfo,
        rank: u32,
        device: u32,
        config: &CommConfig,
    ) -> Result<Communicator> {
        let group = self.core.meet((MeetingKey::Root(root.0), &[]), ranks, (rank, device), config)?;
        Ok(Communicator::enter(&self.core, &group, rank, config))
    }

    /// `HcclCommInitAll`: the communicators of all ranks, on these devices.
    ///
    /// # Errors
    ///
    /// If a device is not there or is named twice, or the name is taken.
    pub fn init_all(&self, devices: &[u32], config: &CommConfig) -> Result<Vec<Communicator>> {
        self.core.is_open()?;
        config.check()?;
        for device in devices {
            self.core.is_device(*device)?;
        }
        let came: BTreeMap<u32, (u32, CommConfig)> =
            (0..).zip(devices.iter().map(|device| (*device, config.clone()))).collect();
        let group = lock(&self.core.meetings).group(&came, false)?;
        Ok((0..devices.len() as u32).map(|rank| Communicator::enter(&self.core, &group, rank, config)).collect())
    }

    /// The communicator of a handle.
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`](crate::comm::Code::NotFound) if it has been destroyed or never was,
    /// [`Code::Ptr`](crate::comm::Code::Ptr) if it is null.
    pub fn communicator(&self, handle: CommHandle) -> Result<Communicator> {
        self.core.is_open()?;
        Ok(Communicator::of(self.core.comms.get(handle)?))
    }

    /// The communicator of a name, on a device.
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`](crate::comm::Code::NotFound) if there is none.
    pub fn communicator_named(&self, name: &str, device: u32) -> Result<Communicator> {
        let all = self.core.comms.all();
        let found = all.into_iter().find(|comm: &Arc<RankState>| comm.group.name == name && comm.device == device);
        let none = || crate::comm::error::not_found(format!("there is no communicator `{name}` on device {device}"));
        found.map(Communicator::of).ok_or_else(none)
    }

    /// A new stream on a device.
    ///
    /// # Errors
    ///
    /// If there is no such device.
    pub fn create_stream(&self, device: u32) -> Result<StreamHandle> {
        self.core.create_stream(device)
    }

    /// Waits for the tasks of a stream, then destroys it.
    ///
    /// # Errors
    ///
    /// If there is no such stream, or what failed on it.
    pub fn destroy_stream(&self, stream: StreamHandle) -> Result<()> {
        self.core.destroy_stream(stream, None)
    }

    /// Blocks until the tasks that a stream has now are done.
    ///
    /// # Errors
    ///
    /// What failed on the stream since it was last waited for: the first failure.
    pub fn synchronize(&self, stream: StreamHandle) -> Result<()> {
        self.core.synchronize(stream, None)
    }

    /// [`synchronize`](Cluster::synchronize) for at most so long, by the clock on the wall.
    ///
    /// # Errors
    ///
    /// [`Code::Timeout`](crate::comm::Code::Timeout) if that is not enough.
    pub fn synchronize_within(&self, stream: StreamHandle, time: Duration) -> Result<()> {
        self.core.synchronize(stream, Some(std::time::Instant::now() + time))
    }

    /// Whether all tasks of a stream are done.
    ///
    /// # Errors
    ///
    /// If there is no such stream.
    pub fn is_done(&self, stream: StreamHandle) -> Result<bool> {
        Ok(self.core.streams.get(stream)?.queue.is_done())
    }

    /// The device of a stream.
    ///
    /// # Errors
    ///
    /// If there is no such stream.
    pub fn device_of(&self, stream: StreamHandle) -> Result<u32> {
        Ok(self.core.streams.get(stream)?.queue.device)
    }

    /// Queues a call on a stream: a kernel. It runs on a thread of its own when the stream has come to it, and may block.
    ///
    /// # Errors
    ///
    /// If there is no such stream. What the call returns shows when the stream is waited for.
    pub fn launch_call(&self, stream: StreamHandle, call: Call) -> Result<()> {
        self.core.launch_call(stream, call)
    }

    /// A new event.
    ///
    /// # Errors
    ///
    /// If the cluster is gone.
    pub fn create_event(&self) -> Result<EventHandle> {
        self.core.create_event()
    }

    /// Destroys an event. Streams that wait for it still do.
    ///
    /// # Errors
    ///
    /// If there is no such event.
    pub fn destroy_event(&self, event: EventHandle) -> Result<()> {
        self.core.events.remove(event).map(drop)
    }

    /// Queues a record of an event on a stream.
    ///
    /// # Errors
    ///
    /// If one of them is not there.
    pub fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        self.core.record_event(event, stream)
    }

    /// Lets a stream wait for the latest record of an event; if it was never recorded, for nothing.
    ///
    /// # Errors
    ///
    /// If one of them is not there.
    pub fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        self.core.wait_event(stream, event)
    }

    /// Whether a stream has come to all records of an event.
    ///
    /// # Errors
    ///
    /// If there is no such event.
    pub fn is_reached(&self, event: EventHandle) -> Result<bool> {
        Ok(self.core.events.get(event)?.is_reached())
    }

    /// Injects a fault.
    pub fn inject(&self, fault: Fault) {
        self.core.faults.inject(fault);
        if let Fault::RestartDevice(device) = fault {
            self.core.restart(device);
        }
    }

    /// Ends all faults.
    pub fn clear_faults(&self) {
        for device in self.core.faults.clear() {
            self.core.restart(device);
        }
    }

    /// What all communicators have counted, those that have been destroyed included.
    pub fn counters(&self) -> Counters {
        let mut all = self.core.totals.now();
        for comm in self.core.comms.all() {
            all.add(&comm.totals.now());
        }
        all
    }

    /// What is in use on the whole cluster.
    pub fn in_use(&self) -> InUse {
        let core = &self.core;
        let comms = core.comms.all();
        let (reservations, physical, mappings) = core.virtual_memory.held();
        let places = std::iter::once(Place::Host).chain((0..self.devices()).map(Place::Device));
        InUse {
            communicators: comms.iter().filter(|comm| lock(&comm.status).is != Is::Destroyed).count(),
            threads: core.threads.len(),
            thread_notifies: comms.iter().map(|comm| lock(&comm.threads).charged_notifies()).sum(),
            channels: core.channels.len(),
            contexts: comms.iter().map(|comm| lock(&comm.contexts).len()).sum(),
            memories: comms.iter().map(|comm| lock(&comm.memories).len()).sum(),
            streams: core.streams.len(),
            events: core.events.len(),
            windows: core.windows.len(),
            reservations,
            physical,
            mappings,
            bytes: places.map(|place| core.memory.used(place)).sum(),
        }
    }

    /// Records that were lost: the first of them.
    pub fn lost_records(&self) -> Vec<LostRecord> {
        lock(&self.core.lost).clone()
    }

    /// Ends everything, as dropping it does: whoever waits is told.
    pub fn shut_down(&self) -> Result<()> {
        if self.core.engine.is_closed() {
            return Err(in_status("the cluster has been shut down already"));
        }
        self.core.close();
        Ok(())
    }
}
