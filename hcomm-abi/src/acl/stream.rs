//! Streams: in-order queues of a device.

use crate::ffi::{self, AclError, c_functions, code, put};
use crate::state::{State, acl_device, state};
use hcomm_sim::comm::{Code, CommError, StreamHandle};
use std::ffi::c_void;
use std::time::Duration;

/// Waits for a stream; `timeout` in milliseconds, -1 for none.
fn synchronize(state: &State, stream: StreamHandle, timeout: i32) -> Result<(), AclError> {
    let result = match u64::try_from(timeout) {
        Ok(milliseconds) => state.cluster.synchronize_within(stream, Duration::from_millis(milliseconds)),
        Err(_) => state.cluster.synchronize(stream),
    };
    result.map_err(|error| match (timeout, error.code) {
        (0.., Code::Timeout) => AclError::new(code::RT_STREAM_SYNC_TIMEOUT, error.to_string()),
        _ => error.into(),
    })
}

fn handle(state: &State, stream: *mut c_void) -> Result<StreamHandle, AclError> {
    Ok(state.stream(stream)?)
}

fn create(out: *mut *mut c_void) -> Result<(), AclError> {
    if out.is_null() {
        return Err(AclError::null("stream"));
    }
    acl_device()?;
    let stream = state()?.create_stream()?;
    // SAFETY: C's to write to, and not null.
    unsafe { put(out, "stream", ffi::pointer(stream.0))? };
    Ok(())
}

/// A function and what it is called with, on its way to another thread.
struct Callback {
    function: extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: C gives both for a call from a thread that is not its own (`aclrtLaunchCallback`, `aclrtLaunchHostFunc`).
unsafe impl Send for Callback {}

impl Callback {
    fn call(self) {
        (self.function)(self.data);
    }
}

fn call_on(
    stream: *mut c_void,
    function: Option<extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> Result<(), AclError> {
    let function = function.ok_or_else(|| AclError::null("fn"))?;
    let state = state()?;
    let callback = Callback { function, data };
    state.cluster.launch_call(
        handle(state, stream)?,
        Box::new(move || {
            callback.call();
            Ok(())
        }),
    )?;
    Ok(())
}

c_functions! {
    acl aclrtCreateStream(stream: *mut *mut c_void) {
        create(stream)
    }

    acl aclrtCreateStreamWithConfig(stream: *mut *mut c_void, _priority: u32, _flag: u32) {
        create(stream)
    }

    acl aclrtDestroyStream(stream: *mut c_void) {
        let (state, stream) = (state()?, StreamHandle(ffi::number(stream)));
        state.forget_stream(stream);
        state.cluster.destroy_stream(stream)?;
        Ok(())
    }

    acl aclrtDestroyStreamForce(stream: *mut c_void) {
        let (state, stream) = (state()?, StreamHandle(ffi::number(stream)));
        state.forget_stream(stream);
        match state.cluster.destroy_stream(stream) {
            Err(CommError { code: Code::NotFound | Code::Ptr | Code::Para, sentence, .. }) => {
                Err(AclError::new(code::RT_INVALID_HANDLE, sentence))
            }
            // What failed on it is not asked for.
            _ => Ok(()),
        }
    }

    acl aclrtSynchronizeStream(stream: *mut c_void) {
        let state = state()?;
        synchronize(state, handle(state, stream)?, -1)
    }

    acl aclrtSynchronizeStreamWithTimeout(stream: *mut c_void, timeout: i32) {
        let state = state()?;
        synchronize(state, handle(state, stream)?, timeout)
    }

    acl aclrtSynchronizeDevice() {
        synchronize_device(-1)
    }

    acl aclrtSynchronizeDeviceWithTimeout(timeout: i32) {
        synchronize_device(timeout)
    }

    acl aclrtStreamQuery(stream: *mut c_void, status: *mut i32) {
        let state = state()?;
        let done = state.cluster.is_done(handle(state, stream)?)?;
        // SAFETY: null or C's to write to.
        unsafe { put(status, "status", i32::from(!done))? };
        Ok(())
    }

    acl aclrtStreamGetId(stream: *mut c_void, id: *mut i32) {
        let state = state()?;
        let stream = handle(state, stream)?;
        state.cluster.device_of(stream)?;
        // The place in the cluster's table, which its handle ends with.
        // SAFETY: null or C's to write to.
        unsafe { put(id, "streamId", stream.0 as u32 as i32)? };
        Ok(())
    }

    acl aclrtSetStreamFailureMode(stream: *mut c_void, mode: u64) {
        let state = state()?;
        state.cluster.device_of(handle(state, stream)?)?;
        if mode != 0 {
            crate::log::warn("aclrtSetStreamFailureMode", "a stream goes on after a failed task here, whatever its mode");
        }
        Ok(())
    }

    acl aclrtLaunchCallback(
        function: Option<extern "C" fn(*mut c_void)>,
        data: *mut c_void,
        _block: i32,
        stream: *mut c_void,
    ) {
        call_on(stream, function, data)
    }

    acl aclrtLaunchHostFunc(stream: *mut c_void, function: Option<extern "C" fn(*mut c_void)>, data: *mut c_void) {
        call_on(stream, function, data)
    }
}

/// Waits for all streams of the calling thread's device.
fn synchronize_device(timeout: i32) -> Result<(), AclError> {
    let state = state()?;
    let device = acl_device()?;
    state.streams_of(device).into_iter().try_for_each(|stream| synchronize(state, stream, timeout))
}
