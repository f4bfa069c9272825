//! The data plane: operations on threads.

use crate::ffi::{self, c_functions, slice, string};
use crate::state::{state, with_plane};
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_sim::comm::{BatchTransfer, ChannelHandle, Code, CommError, DataPlane, Result, ThreadHandle};
use std::ffi::{c_char, c_void};

fn elements(dtype: i32, reduce: i32) -> Result<(DataType, ReduceOp)> {
    crate::acl::elements(dtype, reduce).ok_or_else(|| {
        let sentence = format!("data type {dtype} with reduction {reduce}: one of the two is not one of HCOMM's");
        CommError::new(Code::Para, sentence)
    })
}

/// A primitive on a thread. What is refused is noted, so that it shows in the checks.
fn on(thread: u64, body: impl FnOnce(&mut DataPlane, ThreadHandle) -> Result<()>) -> Result<()> {
    let thread = ThreadHandle(thread);
    let result = with_plane(|plane| body(plane, thread));
    if let (Err(error), Some(recorder)) = (&result, &state()?.recorder) {
        recorder.refused(thread, &error.to_string());
    }
    result
}

/// Seconds of a timeout that C passes as a float.
fn seconds(timeout: f32) -> Result<u32> {
    match timeout {
        0.0..=4_000_000_000.0 => Ok(timeout as u32),
        _ => Err(CommError::new(Code::Para, format!("a timeout of {timeout} s"))),
    }
}

/// `HcommBatchTransferDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct TransferDesc {
    kind: i32,
    reserved: u32,
    /// Length or count, destination, source, and two or three numbers.
    words: [u64; 7],
}

const _: () = assert!(size_of::<TransferDesc>() == 64);

impl TransferDesc {
    fn read(&self) -> Result<BatchTransfer> {
        let [len, dst, src, numbers, last, ..] = self.words;
        let (low, high) = (numbers as u32, (numbers >> 32) as u32);
        let reduction = || elements(high as i32, low as i32);
        Ok(match self.kind {
            0 => BatchTransfer::Write { dst, src, len },
            1 => {
                let (dtype, reduce) = reduction()?;
                BatchTransfer::WriteReduce { dst, src, count: len, dtype, reduce }
            }
            2 => BatchTransfer::WriteWithNotify { dst, src, len, notify: low },
            3 => {
                let (dtype, reduce) = reduction()?;
                BatchTransfer::WriteReduceWithNotify { dst, src, count: len, dtype, reduce, notify: last as u32 }
            }
            4 => BatchTransfer::Read { dst, src, len },
            5 => {
                let (dtype, reduce) = reduction()?;
                BatchTransfer::ReadReduce { dst, src, count: len, dtype, reduce }
            }
            6 => BatchTransfer::NotifyRecord { notify: len as u32 },
            kind => return Err(CommError::new(Code::Para, format!("{kind} is not a type of transfers: 0 to 6"))),
        })
    }
}

c_functions! {
    hccl HcommLocalCopyOnThread(thread: u64, dst: *mut c_void, src: *const c_void, len: u64) {
        on(thread, |plane, thread| plane.local_copy(thread, ffi::number(dst), ffi::number(src), len))
    }

    hccl HcommLocalReduceOnThread(
        thread: u64,
        dst: *mut c_void,
        src: *const c_void,
        count: u64,
        dtype: i32,
        reduce: i32,
    ) {
        let (dtype, reduce) = elements(dtype, reduce)?;
        on(thread, |plane, thread| {
            plane.local_reduce(thread, ffi::number(dst), ffi::number(src), count, dtype, reduce)
        })
    }

    hccl HcommThreadNotifyRecordOnThread(thread: u64, to: u64, notify: u32) {
        on(thread, |plane, thread| plane.thread_notify_record(thread, ThreadHandle(to), notify))
    }

    hccl HcommThreadNotifyWaitOnThread(thread: u64, notify: u32, timeout: u32) {
        on(thread, |plane, thread| plane.thread_notify_wait(thread, notify, timeout))
    }

    hccl HcommThreadNotifyWaitOnThreadWithDefaultTimeout(thread: u64, notify: u32) {
        on(thread, |plane, thread| {
            let timeout = plane.notify_wait_timeout();
            plane.thread_notify_wait(thread, notify, timeout)
        })
    }

    hccl HcommWriteOnThread(thread: u64, channel: u64, dst: *mut c_void, src: *const c_void, len: u64) {
        on(thread, |plane, thread| {
            plane.write(thread, ChannelHandle(channel), ffi::number(dst), ffi::number(src), len)
        })
    }

    hccl HcommWriteReduceOnThread(
        thread: u64,
        channel: u64,
        dst: *mut c_void,
        src: *const c_void,
        count: u64,
        dtype: i32,
        reduce: i32,
    ) {
        let (dtype, reduce) = elements(dtype, reduce)?;
        on(thread, |plane, thread| {
            let channel = ChannelHandle(channel);
            plane.write_reduce(thread, channel, ffi::number(dst), ffi::number(src), count, dtype, reduce)
        })
    }

    hccl HcommWriteWithNotifyOnThread(
        thread: u64,
        channel: u64,
        dst: *mut c_void,
        src: *const c_void,
        len: u64,
        notify: u32,
    ) {
        on(thread, |plane, thread| {
            let channel = ChannelHandle(channel);
            plane.write_with_notify(thread, channel, ffi::number(dst), ffi::number(src), len, notify)
        })
    }

    hccl HcommWriteReduceWithNotifyOnThread(
        thread: u64,
        channel: u64,
        dst: *mut c_void,
        src: *const c_void,
        count: u64,
        dtype: i32,
        reduce: i32,
        notify: u32,
    ) {
        let (dtype, reduce) = elements(dtype, reduce)?;
        on(thread, |plane, thread| {
            let (channel, dst, src) = (ChannelHandle(channel), ffi::number(dst), ffi::number(src));
            plane.write_reduce_with_notify(thread, channel, dst, src, count, dtype, reduce, notify)
        })
    }

    hccl HcommReadOnThread(thread: u64, channel: u64, dst: *mut c_void, src: *const c_void, len: u64) {
        on(thread, |plane, thread| {
            plane.read(thread, ChannelHandle(channel), ffi::number(dst), ffi::number(src), len)
        })
    }

    hccl HcommReadReduceOnThread(
        thread: u64,
        channel: u64,
        dst: *mut c_void,
        src: *const c_void,
        count: u64,
        dtype: i32,
        reduce: i32,
    ) {
        let (dtype, reduce) = elements(dtype, reduce)?;
        on(thread, |plane, thread| {
            let channel = ChannelHandle(channel);
            plane.read_reduce(thread, channel, ffi::number(dst), ffi::number(src), count, dtype, reduce)
        })
    }

    hccl HcommBatchTransferOnThread(thread: u64, channel: u64, descs: *const TransferDesc, count: u32) {
        // SAFETY: null, or C says that there are so many.
        let descs = unsafe { slice(descs, count as usize, "transferDescs")? };
        let transfers = descs.iter().map(TransferDesc::read).collect::<Result<Vec<_>>>()?;
        on(thread, |plane, thread| plane.batch_transfer(thread, ChannelHandle(channel), &transfers))
    }

    hccl HcommChannelNotifyRecordOnThread(thread: u64, channel: u64, notify: u32) {
        on(thread, |plane, thread| plane.channel_notify_record(thread, ChannelHandle(channel), notify))
    }

    hccl HcommChannelNotifyWaitOnThread(thread: u64, channel: u64, notify: u32, timeout: u32) {
        on(thread, |plane, thread| plane.channel_notify_wait(thread, ChannelHandle(channel), notify, timeout))
    }

    hccl HcommChannelNotifyWaitOnThreadWithDefaultTimeout(thread: u64, channel: u64, notify: u32) {
        on(thread, |plane, thread| {
            let timeout = plane.notify_wait_timeout();
            plane.channel_notify_wait(thread, ChannelHandle(channel), notify, timeout)
        })
    }

    hccl HcommChannelFenceOnThread(thread: u64, channel: u64) {
        on(thread, |plane, thread| plane.channel_fence(thread, ChannelHandle(channel)))
    }

    hccl HcommBatchModeStart(tag: *const c_char) {
        let tag = batch_tag(tag)?;
        with_plane(|plane| plane.batch_start(&tag))
    }

    hccl HcommBatchModeEnd(tag: *const c_char) {
        let tag = batch_tag(tag)?;
        with_plane(|plane| plane.batch_end(&tag))
    }

    hccl HcommAcquireComm(name: *const c_char) {
        // SAFETY: null or a string.
        let name = unsafe { string(name, "commId")? };
        with_plane(|plane| plane.acquire_comm(&name))
    }

    hccl HcommReleaseComm(name: *const c_char) {
        // SAFETY: null or a string.
        let name = unsafe { string(name, "commId")? };
        with_plane(|plane| plane.release_comm(&name))
    }

    hccl HcommSetNotifyWaitTimeOut(timeout: f32) {
        let seconds = seconds(timeout)?;
        with_plane(|plane| {
            plane.set_notify_wait_timeout(seconds);
            Ok(())
        })
    }

    hccl HcommThreadResAcquireTimeOut(timeout: f32) {
        // Rings have room for everything here.
        seconds(timeout)?;
        Ok(())
    }

    hccl HcommThreadJoin(thread: u64, timeout: u32) {
        on(thread, |plane, thread| plane.thread_join(thread, timeout))
    }
}

/// A batch's tag; null is a batch without one.
fn batch_tag(tag: *const c_char) -> Result<String> {
    if tag.is_null() {
        return Ok(String::new());
    }
    // SAFETY: C says that it is a string.
    unsafe { string(tag, "batchTag") }
}
