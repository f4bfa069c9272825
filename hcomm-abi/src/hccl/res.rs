//! Resources of a communicator: buffer, threads, contexts, registered memory.

use super::layout::{CommMem, THREAD_CONFIG_MAGIC, ThreadConfig, engine, put_region};
use crate::ffi::{self, c_functions, put, slice, string};
use crate::state::state;
use hcomm_sim::comm::{Code, CommEngine, CommError, DedicatedThread, Region, Result, StreamHandle, ThreadHandle};
use std::ffi::{c_char, c_void};

fn para(sentence: impl Into<String>) -> CommError {
    CommError::new(Code::Para, sentence)
}

/// # Safety
///
/// `out` is null or has room for so many.
unsafe fn put_threads(out: *mut u64, threads: &[ThreadHandle]) -> Result<()> {
    for (at, thread) in threads.iter().enumerate() {
        // SAFETY: as the caller says.
        unsafe { put(if out.is_null() { out } else { out.add(at) }, "threads", thread.0)? };
    }
    Ok(())
}

c_functions! {
    hccl HcclGetHcclBuffer(comm: *mut c_void, addr: *mut *mut c_void, size: *mut u64) {
        let state = state()?;
        let region = state.comm(comm)?.hccl_buffer()?;
        if let Some(recorder) = &state.recorder {
            recorder.buffer_is(region.addr);
        }
        // SAFETY: null or C's to write to.
        unsafe { put_region(addr, size, region) }
    }

    hccl HcclGetHcclBufferCleared(comm: *mut c_void, addr: *mut *mut c_void, size: *mut u64) {
        let state = state()?;
        let region = state.comm(comm)?.hccl_buffer_cleared()?;
        if let Some(recorder) = &state.recorder {
            recorder.buffer_is(region.addr);
        }
        // SAFETY: null or C's to write to.
        unsafe { put_region(addr, size, region) }
    }

    hccl HcclThreadAcquire(comm: *mut c_void, of: i32, count: u32, notifies: u32, out: *mut u64) {
        let threads = state()?.comm(comm)?.acquire_threads(engine(of)?, count, notifies)?;
        // SAFETY: null, or C has room for so many.
        unsafe { put_threads(out, &threads) }
    }

    hccl HcclThreadAcquireWithConfig(
        comm: *mut c_void,
        of: i32,
        count: u32,
        kind: i32,
        configs: *const ThreadConfig,
        out: *mut u64,
    ) {
        const THREAD_TYPE_TS: i32 = 0;
        if kind != THREAD_TYPE_TS {
            return Err(para(format!("{kind} is not a type of threads: there is THREAD_TYPE_TS (0)")));
        }
        // SAFETY: null, or C says that there are so many.
        let configs = unsafe { slice(configs, count as usize, "config")? };
        if configs.iter().any(|config| config.header.magic != THREAD_CONFIG_MAGIC || config.header.version != 1) {
            return Err(para("a thread configuration has not been through ThreadConfigInit"));
        }
        let notifies: Vec<u32> = configs.iter().map(|config| u32::from(config.notifies)).collect();
        let threads = state()?.comm(comm)?.acquire_threads_with(engine(of)?, &notifies)?;
        // SAFETY: null, or C has room for so many.
        unsafe { put_threads(out, &threads) }
    }

    hccl HcclThreadAcquireWithStream(
        comm: *mut c_void,
        of: i32,
        stream: *mut c_void,
        notifies: u32,
        out: *mut u64,
    ) {
        let state = state()?;
        let stream = state.stream(stream)?;
        let thread = state.comm(comm)?.thread_of_stream(engine(of)?, stream, notifies)?;
        if let Some(recorder) = &state.recorder {
            recorder.stream_is(thread, stream);
        }
        // SAFETY: null or C's to write to.
        unsafe { put_threads(out, &[thread]) }
    }

    hccl HcclDedicatedThreadAcquire(comm: *mut c_void, use_of: i32, notifies: u32, out: *mut u64) {
        let use_of = match use_of {
            0 => DedicatedThread::AicpuLaunch,
            1 => DedicatedThread::AicpuLaunchGe,
            2 => DedicatedThread::AicpuOrderLaunchOpbase,
            3 => DedicatedThread::AicpuOrderLaunchAclgraph,
            4 => DedicatedThread::AicpuOrderLaunchGe,
            5 => DedicatedThread::AicpuOrderLaunchDevice,
            _ => return Err(para(format!("{use_of} is not a use of dedicated threads: 0 to 5"))),
        };
        let thread = state()?.comm(comm)?.dedicated_thread(use_of, notifies)?;
        // SAFETY: null or C's to write to.
        unsafe { put_threads(out, &[thread]) }
    }

    hccl HcclThreadExportToCommEngine(
        comm: *mut c_void,
        count: u32,
        threads: *const u64,
        to: i32,
        out: *mut u64,
    ) {
        // SAFETY: null, or C says that there are so many.
        let threads = unsafe { slice(threads, count as usize, "threads")? };
        let threads: Vec<ThreadHandle> = threads.iter().copied().map(ThreadHandle).collect();
        let exported = state()?.comm(comm)?.export_threads(&threads, engine(to)?)?;
        // SAFETY: null, or C has room for so many.
        unsafe { put_threads(out, &exported) }
    }

    hccl HcclThreadResGetInfo(comm: *mut c_void, thread: u64, kind: i32, len: u32, info: *mut *mut c_void) {
        const THREAD_RES_TYPE_STREAM: i32 = 0;
        if kind != THREAD_RES_TYPE_STREAM || len as usize != size_of::<*mut c_void>() {
            return Err(para(format!("{kind} with {len} bytes: there is the stream (0), of 8 bytes")));
        }
        let StreamHandle(stream) = state()?.comm(comm)?.stream_of(ThreadHandle(thread))?;
        // SAFETY: null or C's to write to.
        unsafe { put(info, "info", ffi::pointer(stream)) }
    }

    hccl HcclEngineCtxCreate(comm: *mut c_void, tag: *const c_char, of: i32, size: u64, out: *mut *mut c_void) {
        // SAFETY: null or a string.
        let tag = unsafe { string(tag, "ctxTag")? };
        if out.is_null() {
            return Err(CommError::new(Code::Ptr, "`ctx` is null"));
        }
        let addr = state()?.comm(comm)?.create_context(&tag, engine(of)?, size)?;
        // SAFETY: C's to write to.
        unsafe { put(out, "ctx", ffi::pointer(addr)) }
    }

    hccl HcclEngineCtxGet(
        comm: *mut c_void,
        tag: *const c_char,
        of: i32,
        out: *mut *mut c_void,
        size: *mut u64,
    ) {
        // SAFETY: null or a string.
        let tag = unsafe { string(tag, "ctxTag")? };
        let region = context(comm, &tag, engine(of)?)?;
        // SAFETY: null or C's to write to.
        unsafe { put_region(out, size, region) }
    }

    hccl HcclEngineCtxCopy(
        comm: *mut c_void,
        of: i32,
        tag: *const c_char,
        src: *const c_void,
        size: u64,
        offset: u64,
    ) {
        // SAFETY: null or a string, and null or so many bytes.
        let (tag, bytes) = unsafe { (string(tag, "ctxTag")?, slice(src.cast::<u8>(), size as usize, "srcCtx")?) };
        state()?.comm(comm)?.copy_context(&tag, engine(of)?, offset, bytes)
    }

    hccl HcclEngineCtxDestroy(comm: *mut c_void, tag: *const c_char, of: i32) {
        // SAFETY: null or a string.
        let tag = unsafe { string(tag, "ctxTag")? };
        state()?.comm(comm)?.destroy_context(&tag, engine(of)?)
    }

    hccl HcclCommMemReg(comm: *mut c_void, tag: *const c_char, memory: *const CommMem, out: *mut *mut c_void) {
        const INVALID: i32 = -1;
        // SAFETY: null or a string, and null or C's to read.
        let (tag, memory) = unsafe { (string(tag, "memTag")?, slice(memory, 1, "mem")?[0]) };
        if !matches!(memory.kind, 0 | 1) || memory.kind == INVALID {
            return Err(para(format!("{} is not a type of memory: device 0, host 1", memory.kind)));
        }
        let region = Region { addr: ffi::number(memory.addr), size: memory.size };
        let handle = state()?.comm(comm)?.register_memory(&tag, region)?;
        // SAFETY: null or C's to write to.
        unsafe { put(out, "memHandle", ffi::pointer(handle.0)) }
    }

    hccl HcclCommAddExchangeInfo(comm: *mut c_void, data: *const c_void, len: u32) {
        // SAFETY: null or so many bytes.
        let bytes = unsafe { slice(data.cast::<u8>(), len as usize, "data")? };
        let info: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        state()?.comm(comm)?.add_exchange_info(info);
        Ok(())
    }
}

/// A context. That there is none yet is how operators find out that it is their first call, and no error to log.
fn context(comm: *mut c_void, tag: &str, of: CommEngine) -> Result<Region> {
    state()?.comm(comm)?.context(tag, of)
}
