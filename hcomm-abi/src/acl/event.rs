//! Events: what a stream has come to.

use crate::ffi::{self, AclError, c_functions, code, put};
use crate::state::{State, lock, state};
use hcomm_sim::comm::EventHandle;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// When events were reached last.
static REACHED: Mutex<BTreeMap<EventHandle, Instant>> = Mutex::new(BTreeMap::new());

/// How often is looked whether an event has been reached.
const LOOK: Duration = Duration::from_micros(50);

fn event(handle: *mut c_void) -> EventHandle {
    EventHandle(ffi::number(handle))
}

fn create(out: *mut *mut c_void) -> Result<(), AclError> {
    if out.is_null() {
        return Err(AclError::null("event"));
    }
    let handle = state()?.cluster.create_event()?;
    // SAFETY: C's to write to, and not null.
    unsafe { put(out, "event", ffi::pointer(handle.0))? };
    Ok(())
}

/// Waits until an event is reached; `timeout` in milliseconds, -1 for none.
fn synchronize(state: &State, event: EventHandle, timeout: i32) -> Result<(), AclError> {
    let until = u64::try_from(timeout).ok().map(|milliseconds| Instant::now() + Duration::from_millis(milliseconds));
    while !state.cluster.is_reached(event)? {
        if until.is_some_and(|until| Instant::now() >= until) {
            let sentence = format!("the event was not reached within {timeout} ms");
            return Err(AclError::new(code::RT_EVENT_SYNC_TIMEOUT, sentence));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn reached_at(handle: *mut c_void) -> Result<Instant, AclError> {
    let event = event(handle);
    state()?.cluster.is_reached(event)?;
    let none = || AclError::new(code::RT_PARAM_INVALID, "the event was not recorded, or has not been reached yet");
    lock(&REACHED).get(&event).copied().ok_or_else(none)
}

c_functions! {
    acl aclrtCreateEvent(event: *mut *mut c_void) {
        create(event)
    }

    acl aclrtCreateEventWithFlag(event: *mut *mut c_void, _flag: u32) {
        create(event)
    }

    acl aclrtCreateEventExWithFlag(event: *mut *mut c_void, _flag: u32) {
        create(event)
    }

    acl aclrtDestroyEvent(handle: *mut c_void) {
        let event = event(handle);
        state()?.cluster.destroy_event(event)?;
        lock(&REACHED).remove(&event);
        Ok(())
    }

    acl aclrtRecordEvent(handle: *mut c_void, stream: *mut c_void) {
        let (state, event) = (state()?, event(handle));
        let stream = state.stream(stream)?;
        state.cluster.is_reached(event)?;
        state.cluster.launch_call(stream, Box::new(move || {
            lock(&REACHED).insert(event, Instant::now());
            Ok(())
        }))?;
        if let Some(recorder) = &state.recorder {
            recorder.event(event, stream, false);
        }
        state.cluster.record_event(event, stream)?;
        Ok(())
    }

    acl aclrtStreamWaitEvent(stream: *mut c_void, handle: *mut c_void) {
        let (state, event) = (state()?, event(handle));
        let stream = state.stream(stream)?;
        if let Some(recorder) = &state.recorder {
            recorder.event(event, stream, true);
        }
        state.cluster.wait_event(stream, event)?;
        Ok(())
    }

    acl aclrtQueryEventStatus(handle: *mut c_void, status: *mut i32) {
        let reached = state()?.cluster.is_reached(event(handle))?;
        // SAFETY: null or C's to write to.
        unsafe { put(status, "status", i32::from(reached))? };
        Ok(())
    }

    acl aclrtQueryEvent(handle: *mut c_void, status: *mut i32) {
        let reached = state()?.cluster.is_reached(event(handle))?;
        // SAFETY: null or C's to write to.
        unsafe { put(status, "status", i32::from(!reached))? };
        Ok(())
    }

    acl aclrtSynchronizeEvent(handle: *mut c_void) {
        synchronize(state()?, event(handle), -1)
    }

    acl aclrtSynchronizeEventWithTimeout(handle: *mut c_void, timeout: i32) {
        synchronize(state()?, event(handle), timeout)
    }

    acl aclrtEventElapsedTime(ms: *mut f32, start: *mut c_void, end: *mut c_void) {
        let (start, end) = (reached_at(start)?, reached_at(end)?);
        let elapsed = end.saturating_duration_since(start).as_secs_f32() * 1000.0;
        // SAFETY: null or C's to write to.
        unsafe { put(ms, "ms", elapsed)? };
        Ok(())
    }
}
