//! Suspending and resuming a communicator, and being told of it.

use crate::ffi::{self, c_functions, string};
use crate::state::state;
use hcomm_sim::comm::{Code, CommError, Communicator, Result, StatePhase};
use std::ffi::{c_char, c_void};
use std::sync::Mutex;

type Function = extern "C" fn(*mut c_void, i32, *mut c_void) -> i32;

/// A function that is called when the state of a communicator changes (`HcclCommStateCallback`).
#[derive(Clone)]
struct Callback {
    name: String,
    function: Function,
    data: u64,
}

/// Callbacks are registered for the process, and are those of all its communicators.
static REGISTERED: Mutex<Vec<Callback>> = Mutex::new(Vec::new());

/// The longest name of a callback (facts 2.2).
const NAME: usize = 160;

fn phase(phase: StatePhase) -> i32 {
    match phase {
        StatePhase::DestroyPre => 0,
        StatePhase::DestroyPost => 1,
        StatePhase::ResumePre => 2,
        StatePhase::ResumePost => 3,
    }
}

fn listen(comm: &Communicator, callback: Callback) -> Result<()> {
    let handle = comm.handle().0;
    let Callback { name, function, data } = callback;
    comm.on_state(&name.clone(), move |state| {
        let result = function(ffi::pointer(handle), phase(state), ffi::pointer(data));
        if result != 0 {
            crate::log::warn("HcclCommStateCallback", &format!("{name} returned {result}"));
        }
    })
}

/// A communicator is new: it tells those that want to be told.
pub(super) fn is_new(comm: &Communicator) -> Result<()> {
    let registered = crate::state::lock(&REGISTERED).clone();
    registered.into_iter().try_for_each(|callback| listen(comm, callback))
}

c_functions! {
    hccl HcclCommSuspend(comm: *mut c_void) {
        state()?.comm(comm)?.suspend()
    }

    hccl HcclCommResume(comm: *mut c_void) {
        state()?.comm(comm)?.resume()
    }

    hccl HcclCommRegCommStateCallback(name: *const c_char, function: Option<Function>, data: *mut c_void) {
        // SAFETY: null or a string.
        let name = unsafe { string(name, "regName")? };
        if name.is_empty() || name.len() > NAME {
            let sentence = format!("the name of a callback has 1 to {NAME} bytes, this one has {}", name.len());
            return Err(CommError::new(Code::Para, sentence));
        }
        let function = function.ok_or_else(|| CommError::new(Code::Ptr, "`cb` is null"))?;
        let mut registered = crate::state::lock(&REGISTERED);
        registered.retain(|other| other.name != name);
        registered.push(Callback { name, function, data: ffi::number(data) });
        Ok(())
    }
}
