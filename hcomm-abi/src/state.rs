//! What the process has: one cluster, made by the first call, and what the calling thread works with.

use crate::ffi::{AclError, code};
use crate::memory::RawMemory;
use crate::recorder::Recorder;
use hcomm_core::product::Product;
use hcomm_core::shape::Layout;
use hcomm_sim::comm::{
    Cluster, ClusterConfig, Code, CommError, CommHandle, Communicator, DataPlane, Result, Side, StreamHandle,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Bytes of a device.
const DEVICE_MEMORY: u64 = 64 << 30;
/// The most devices that `HCOMM_DEVICES` may ask for.
const MOST_DEVICES: u32 = 1024;

/// What the process has.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) cluster: Cluster,
    pub(crate) memory: Arc<RawMemory>,
    /// If what is called is recorded.
    pub(crate) recorder: Option<Arc<Recorder>>,
    /// How long a second of a timeout takes.
    pub(crate) second: Duration,
    /// Streams for who names none, by device.
    default_streams: Mutex<BTreeMap<u32, StreamHandle>>,
    /// All streams, by device.
    streams: Mutex<BTreeMap<u32, BTreeSet<StreamHandle>>>,
}

/// Locks. What is locked in this crate is changed in single steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value of an environment variable as a type, or the default where it is not set.
pub(crate) fn setting<T: std::str::FromStr>(name: &str, default: T) -> Result<T> {
    match std::env::var(name) {
        Ok(text) => text.trim().parse().map_err(|_| {
            CommError::new(
                Code::Para,
                format!("the environment variable {name} is `{text}`, which is no number that it takes"),
            )
        }),
        Err(_) => Ok(default),
    }
}

fn is_on(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "off"))
}

/// `8`, `2x4` (nodes of ranks) or `2x2x4` (pods of nodes of ranks).
fn layout() -> Result<Layout> {
    let wrong = |text: &str| {
        CommError::new(
            Code::Para,
            format!(
                "the environment variable HCOMM_DEVICES is `{text}`: it is `8`, `2x4` (servers of ranks) or `2x2x4` (superpods of servers of ranks), of 1 to {MOST_DEVICES} ranks in all"
            ),
        )
    };
    let text = std::env::var("HCOMM_DEVICES").unwrap_or_else(|_| "8".into());
    let numbers: Option<Vec<u32>> = text.split('x').map(|part| part.trim().parse().ok()).collect();
    let layout = match numbers.as_deref() {
        Some([ranks]) => Layout::flat(*ranks),
        Some([nodes, locals]) => Layout::equal(1, *nodes, *locals),
        Some([pods, nodes, locals]) => Layout::equal(*pods, *nodes, *locals),
        _ => None,
    };
    layout.filter(|layout| layout.ranks() <= MOST_DEVICES).ok_or_else(|| wrong(&text))
}

impl State {
    fn new() -> Result<State> {
        let name = std::env::var("HCOMM_PRODUCT").unwrap_or_else(|_| Product::A950.name().into());
        let product = Product::from_name(&name).ok_or_else(|| {
            let names = Product::ALL.map(Product::name).join(", ");
            CommError::new(Code::Para, format!("the environment variable HCOMM_PRODUCT is `{name}`: there are {names}"))
        })?;
        let scale: f64 = setting("HCOMM_TIMEOUT_SCALE", 1.0)?;
        let second = Duration::try_from_secs_f64(scale).ok().filter(|second| !second.is_zero()).ok_or_else(|| {
            CommError::new(Code::Para, format!("the environment variable HCOMM_TIMEOUT_SCALE is {scale:e}: it is the length of a second, in seconds, of a nanosecond or more"))
        })?;
        let memory = Arc::new(RawMemory::new(DEVICE_MEMORY));
        let mut config = ClusterConfig::of_layout(product, layout()?).second(second).memory(memory.clone());
        let trace = std::env::var("HCOMM_TRACE").ok().filter(|file| !file.is_empty());
        let check = is_on("HCOMM_CHECK");
        let recorder = (check || trace.is_some()).then(|| Arc::new(Recorder::new(memory.clone(), check, trace)));
        if let Some(recorder) = &recorder {
            config = config.observer(recorder.clone());
        }
        let cluster = Cluster::new(config)?;
        if recorder.is_some() {
            crate::recorder::at_exit();
        }
        Ok(State { cluster, memory, recorder, second, default_streams: Mutex::default(), streams: Mutex::default() })
    }

    /// A stream, or the calling thread's device's own one if none is named.
    pub(crate) fn stream(&self, stream: *mut c_void) -> Result<StreamHandle> {
        if !stream.is_null() {
            return Ok(StreamHandle(crate::ffi::number(stream)));
        }
        let device = device()?;
        let mut streams = lock(&self.default_streams);
        if let Some(stream) = streams.get(&device) {
            return Ok(*stream);
        }
        let stream = self.create_stream()?;
        streams.insert(device, stream);
        Ok(stream)
    }

    /// A new stream of the calling thread's device.
    pub(crate) fn create_stream(&self) -> Result<StreamHandle> {
        let device = device()?;
        let stream = self.cluster.create_stream(device)?;
        lock(&self.streams).entry(device).or_default().insert(stream);
        Ok(stream)
    }

    /// A stream is about to be destroyed.
    pub(crate) fn forget_stream(&self, stream: StreamHandle) {
        lock(&self.streams).values_mut().for_each(|streams| {
            streams.remove(&stream);
        });
    }

    /// The streams of a device.
    pub(crate) fn streams_of(&self, device: u32) -> Vec<StreamHandle> {
        lock(&self.streams).get(&device).into_iter().flatten().copied().collect()
    }

    /// The communicator of a handle of C.
    pub(crate) fn comm(&self, comm: *mut c_void) -> Result<Communicator> {
        self.cluster.communicator(CommHandle(crate::ffi::number(comm)))
    }
}

/// What the process has; made by the first call.
pub(crate) fn state() -> Result<&'static State> {
    static STATE: OnceLock<Result<State>> = OnceLock::new();
    STATE.get_or_init(State::new).as_ref().map_err(Clone::clone)
}

/// What a thread of the process works with.
#[derive(Debug, Default)]
struct Caller {
    device: Option<u32>,
    plane: Option<DataPlane>,
    /// The launch of the kernel that it runs.
    launch: Option<u32>,
}

thread_local! {
    static CALLER: RefCell<Caller> = RefCell::new(Caller::default());
}

/// The device that the calling thread has set.
pub(crate) fn device() -> Result<u32> {
    CALLER.with_borrow(|caller| caller.device).ok_or_else(|| {
        CommError::new(Code::Para, "this thread has no device: call aclrtSetDevice first, in every thread")
    })
}

/// As [`device`], with the runtime's code.
pub(crate) fn acl_device() -> std::result::Result<u32, AclError> {
    device().map_err(|error| AclError::new(code::RT_CONTEXT_NULL, error.sentence))
}

pub(crate) fn set_device(device: Option<u32>) {
    CALLER.with_borrow_mut(|caller| caller.device = device);
}

/// The launch of the kernel that the calling thread runs.
pub(crate) fn launch() -> Option<u32> {
    CALLER.with_borrow(|caller| caller.launch)
}

/// Does something with the calling thread's primitives.
pub(crate) fn with_plane<T>(body: impl FnOnce(&mut DataPlane) -> Result<T>) -> Result<T> {
    // Out of its place meanwhile: a primitive must not find it borrowed by one that it is called from.
    let (plane, side) = CALLER.with_borrow_mut(|caller| (caller.plane.take(), side(caller)));
    let mut plane = match plane {
        Some(plane) => plane,
        None => state()?.cluster.data_plane(side),
    };
    let result = body(&mut plane);
    CALLER.with_borrow_mut(|caller| caller.plane = Some(plane));
    result
}

fn side(caller: &Caller) -> Side {
    if caller.launch.is_some() { Side::Device } else { Side::Host }
}

/// Runs a kernel of the device on this thread. The second value is the tag of a batch that it has left open.
pub(crate) fn as_kernel<T>(device: u32, launch: u32, body: impl FnOnce() -> T) -> (T, Option<String>) {
    CALLER.with_borrow_mut(|caller| *caller = Caller { device: Some(device), plane: None, launch: Some(launch) });
    let result = body();
    let caller = CALLER.with_borrow_mut(std::mem::take);
    let open = caller.plane.as_ref().and_then(DataPlane::open_batch).map(str::to_owned);
    (result, open)
}
