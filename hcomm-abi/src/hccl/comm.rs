//! Communicators.

use super::layout::{self, NOT_SET};
use crate::ffi::{self, c_functions, put, slice, string};
use crate::state::{State, device, setting, state};
use hcomm_core::product::Product;
use hcomm_sim::comm::{Code, CommConfig, CommError, CommStatus, Communicator, Deterministic, Result, RootInfo};
use std::ffi::{CStr, c_char, c_void};

/// The largest HCCL buffer, a terabyte.
const MOST_MEGABYTES: u64 = 1 << 20;
/// How a root info of the stand-in begins.
const ROOT: &[u8; 8] = b"hcommabi";
/// The longest name of a communicator, with its end (COMM_NAME_MAX_LENGTH).
const NAME: usize = 128;

fn para(sentence: impl Into<String>) -> CommError {
    CommError::new(Code::Para, sentence)
}

/// What the environment says where a configuration says nothing (facts 11.2).
fn default_config() -> Result<CommConfig> {
    let megabytes: u64 = setting("HCCL_BUFFSIZE", 200)?;
    if megabytes == 0 || megabytes > MOST_MEGABYTES {
        return Err(para(format!(
            "the environment variable HCCL_BUFFSIZE is {megabytes}: it is 1 to {MOST_MEGABYTES} megabytes"
        )));
    }
    let config = CommConfig::default();
    let (exec, connect) = (config.timeouts.exec, config.timeouts.connect);
    Ok(config
        .buffer_size(megabytes << 20)
        .timeouts(setting("HCCL_EXEC_TIMEOUT", exec)?, setting("HCCL_CONNECT_TIMEOUT", connect)?))
}

/// # Safety
///
/// `from` is null or points to a configuration.
unsafe fn config(from: *const layout::CommConfig) -> Result<CommConfig> {
    let mut config = default_config()?;
    // SAFETY: as the caller says.
    let Some(from) = (unsafe { from.as_ref() }) else {
        return Err(CommError::new(Code::Ptr, "`config` is null"));
    };
    if from.magic != layout::CONFIG_MAGIC {
        return Err(para("the configuration has not been through HcclCommConfigInit"));
    }
    if from.size < size_of::<layout::CommConfig>() as u64 {
        // What an older header has not, is not read: it ends before.
        crate::log::info("HcclCommConfig", "of an older version: only buffer size, determinism and name are read");
    }
    let name = CStr::from_bytes_until_nul(&from.name).map_err(|_| para("the name of the communicator has no end"))?;
    config.name = name.to_str().map_err(|_| para("the name of the communicator is not UTF-8"))?.to_owned();
    if from.buffer_mb != NOT_SET {
        config = config.buffer_size(u64::from(from.buffer_mb) << 20);
    }
    config = match from.deterministic {
        NOT_SET => config,
        0 => config.deterministic(Deterministic::Off),
        1 => config.deterministic(Deterministic::On),
        2 => config.deterministic(Deterministic::Strict),
        other => return Err(para(format!("hcclDeterministic is {other}: 0, 1 or 2"))),
    };
    if from.size >= size_of::<layout::CommConfig>() as u64 {
        if let Ok(seconds) = u32::try_from(from.exec_timeout) {
            let connect = config.timeouts.connect;
            config = config.timeouts(seconds, connect);
        }
        config = config.symmetric_gb(from.symmetric_gb);
    }
    Ok(config)
}

/// A rank has its communicator.
fn enter(state: &State, comm: &Communicator) -> Result<()> {
    if let Some(recorder) = &state.recorder {
        recorder.entered(comm.handle(), comm.name(), comm.rank(), comm.devices());
    }
    super::recover::is_new(comm)
}

fn handle(comm: &Communicator) -> *mut c_void {
    ffi::pointer(comm.handle().0)
}

/// # Safety
///
/// The pointers are null, or `root` can be read and `out` be written.
unsafe fn init(
    ranks: u32,
    root: *const layout::RootInfo,
    rank: u32,
    config: &CommConfig,
    out: *mut *mut c_void,
) -> Result<()> {
    ffi::is_there(out, "comm")?;
    // SAFETY: as the caller says.
    let Some(root) = (unsafe { root.as_ref() }) else {
        return Err(CommError::new(Code::Ptr, "`rootInfo` is null"));
    };
    let (mark, number) = (&root.bytes[..8], &root.bytes[8..16]);
    if mark != ROOT {
        return Err(para("the root info is not one of HcclGetRootInfo: all of its 4108 bytes have to be passed on"));
    }
    let mut word = [0; 8];
    word.copy_from_slice(number);
    let state = state()?;
    let root = RootInfo(u64::from_le_bytes(word));
    let comm = state.cluster.init_root_info(ranks, root, rank, device()?, config)?;
    enter(state, &comm)?;
    // SAFETY: as the caller says, and not null.
    unsafe { put(out, "comm", handle(&comm)) }
}

/// `HcclGetErrorString`.
#[unsafe(no_mangle)]
extern "C" fn HcclGetErrorString(code: i32) -> *const c_char {
    let text = match code {
        0 => c"no error",
        1 => c"HCCL_E_PARA: a wrong argument",
        2 => c"HCCL_E_PTR: a null pointer",
        3 => c"HCCL_E_MEMORY: memory that is not there",
        4 => c"HCCL_E_INTERNAL: a fault of the library",
        5 => c"HCCL_E_NOT_SUPPORT: not offered",
        6 => c"HCCL_E_NOT_FOUND: not there",
        7 => c"HCCL_E_UNAVAIL: a quota is exhausted",
        9 => c"HCCL_E_TIMEOUT: somebody did not come in time",
        15 => c"HCCL_E_RUNTIME: the runtime failed",
        20 => c"HCCL_E_AGAIN: try again",
        21 => c"HCCL_E_REMOTE: the other end of a link cannot be reached",
        22 => c"HCCL_E_SUSPENDING: the communicator is suspended",
        23 => c"HCCL_E_OPRETRY_FAIL: an operator could not be repeated",
        24 => c"HCCL_E_OOM: out of device memory",
        1041 => c"HCCL_E_IN_STATUS: not possible in this state",
        _ => c"an error of HCCL",
    };
    text.as_ptr()
}

/// `HcclGetCommConfigCapability`: buffer size, determinism and name.
#[unsafe(no_mangle)]
extern "C" fn HcclGetCommConfigCapability() -> u32 {
    const EXEC_TIMEOUT: u32 = 8;
    0b111 | 1 << EXEC_TIMEOUT
}

c_functions! {
    hccl HcclGetRootInfo(out: *mut layout::RootInfo) {
        ffi::is_there(out, "rootInfo")?;
        let root = state()?.cluster.root_info();
        let mut bytes = [0; 4108];
        bytes[..8].copy_from_slice(ROOT);
        bytes[8..16].copy_from_slice(&root.0.to_le_bytes());
        // SAFETY: C's to write to, and not null.
        unsafe { put(out, "rootInfo", layout::RootInfo { bytes }) }
    }

    hccl HcclCommInitRootInfo(ranks: u32, root: *const layout::RootInfo, rank: u32, out: *mut *mut c_void) {
        // SAFETY: null, or C's to read and to write.
        unsafe { init(ranks, root, rank, &default_config()?, out) }
    }

    hccl HcclCommInitRootInfoConfig(
        ranks: u32,
        root: *const layout::RootInfo,
        rank: u32,
        from: *const layout::CommConfig,
        out: *mut *mut c_void,
    ) {
        // SAFETY: null, or C's to read and to write.
        unsafe { init(ranks, root, rank, &config(from)?, out) }
    }

    hccl HcclCommInitAll(count: u32, devices: *const i32, out: *mut *mut c_void) {
        ffi::is_there(out, "comms")?;
        // SAFETY: C says that there are so many.
        let devices = unsafe { slice(devices, count as usize, "devices")? };
        let devices: Option<Vec<u32>> = devices.iter().map(|device| u32::try_from(*device).ok()).collect();
        let devices = devices.ok_or_else(|| para("a device with a negative number"))?;
        let state = state()?;
        let comms = state.cluster.init_all(&devices, &default_config()?)?;
        for (at, comm) in comms.iter().enumerate() {
            enter(state, comm)?;
            // SAFETY: C says that there is room for so many.
            unsafe { put(out.add(at), "comms", handle(comm))? };
        }
        Ok(())
    }

    hccl HcclCreateSubCommConfig(
        comm: *const *mut c_void,
        count: u32,
        ranks: *const u32,
        id: u64,
        rank: u32,
        from: *const layout::CommConfig,
        out: *mut *mut c_void,
    ) {
        ffi::is_there(out, "subComm")?;
        // SAFETY: null or C's to read.
        let (comm, ranks) = unsafe { (slice(comm, 1, "comm")?[0], slice(ranks, count as usize, "rankIds")?) };
        // SAFETY: null or C's to read.
        let config = unsafe { config(from)? };
        let state = state()?;
        let sub = state.comm(comm)?.create_sub(ranks, id, rank, &config)?;
        enter(state, &sub)?;
        // SAFETY: C's to write to, and not null.
        unsafe { put(out, "subComm", handle(&sub)) }
    }

    hccl HcclCommDestroy(comm: *mut c_void) {
        let state = state()?;
        let comm = state.comm(comm)?;
        if let Some(recorder) = &state.recorder {
            recorder.leaves(comm.handle());
        }
        comm.destroy()
    }

    hccl HcclGetCommName(comm: *mut c_void, name: *mut c_char) {
        ffi::is_there(name, "commName")?;
        let comm = state()?.comm(comm)?;
        let mut bytes = [0u8; NAME];
        let text = comm.name().as_bytes();
        bytes[..text.len().min(NAME - 1)].copy_from_slice(&text[..text.len().min(NAME - 1)]);
        // SAFETY: C says that there is room for COMM_NAME_MAX_LENGTH bytes; only the name and its end are written.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), name, text.len().min(NAME - 1) + 1) };
        Ok(())
    }

    hccl HcclCommGetHandleWithName(name: *const c_char, out: *mut *mut c_void) {
        // SAFETY: null or a string.
        let name = unsafe { string(name, "commName")? };
        let comm = state()?.cluster.communicator_named(&name, device()?)?;
        // SAFETY: null or C's to write to.
        unsafe { put(out, "comm", handle(&comm)) }
    }

    hccl HcclGetRankSize(comm: *mut c_void, size: *mut u32) {
        let ranks = state()?.comm(comm)?.size();
        // SAFETY: null or C's to write to.
        unsafe { put(size, "rankSize", ranks) }
    }

    hccl HcclGetRankId(comm: *mut c_void, rank: *mut u32) {
        let id = state()?.comm(comm)?.rank();
        // SAFETY: null or C's to write to.
        unsafe { put(rank, "rank", id) }
    }

    hccl HcclGetCommAsyncError(comm: *mut c_void, error: *mut i32) {
        let found = state()?.comm(comm)?.async_error();
        let code = found.map_or(0, |error| error.code.number());
        // SAFETY: null or C's to write to.
        unsafe { put(error, "asyncError", code) }
    }

    hccl HcclCommGetStatus(name: *const c_char, status: *mut i32) {
        // SAFETY: null or a string.
        let name = unsafe { string(name, "commId")? };
        let comm = state()?.cluster.communicator_named(&name, device()?);
        let found = comm.map_or(CommStatus::Invalid, |comm| comm.status());
        // SAFETY: null or C's to write to.
        unsafe { put(status, "status", found as i32) }
    }

    hccl HcclGetHeterogMode(comm: *mut c_void, mode: *mut i32) {
        const HOMOGENEOUS: i32 = 0;
        let state = state()?;
        state.comm(comm)?;
        if state.cluster.product() == Product::A950 {
            return Err(CommError::new(Code::NotSupport, "the 950 has no HcclGetHeterogMode: A2 and A3 have"));
        }
        // SAFETY: null or C's to write to.
        unsafe { put(mode, "mode", HOMOGENEOUS) }
    }

    hccl HcclConfigGetInfo(comm: *mut c_void, kind: i32, len: u32, info: *mut i32) {
        const AI_CPU: i32 = 0;
        state()?.comm(comm)?;
        if kind != 0 || len as usize != size_of::<i32>() {
            return Err(para(format!("{kind} with {len} bytes: the stand-in knows the expansion mode (0), of 4 bytes")));
        }
        // SAFETY: null or C's to write to.
        unsafe { put(info, "info", AI_CPU) }
    }

    hccl HcclBarrier(comm: *mut c_void, stream: *mut c_void) {
        let state = state()?;
        barrier(&state.comm(comm)?, state, stream)
    }
}

/// A barrier of all ranks, in the order of the stream: the host's threads meet, in the only way that needs no channel.
fn barrier(comm: &Communicator, state: &'static State, stream: *mut c_void) -> Result<()> {
    let stream = state.stream(stream)?;
    let (name, ranks) = (comm.name().to_owned(), comm.size());
    let timeout = state.second * comm.timeouts().exec;
    let rank = comm.rank();
    state.cluster.launch_call(stream, Box::new(move || super::barrier::meet(&name, rank, ranks, timeout)))
}
