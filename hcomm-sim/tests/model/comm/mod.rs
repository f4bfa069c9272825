//! The sources of queues and flags, with the model's locks.

#[path = "../../../src/comm/error.rs"]
pub(crate) mod error;
#[path = "../../../src/comm/notify.rs"]
pub(crate) mod notify;
#[path = "../../../src/comm/queue.rs"]
pub(crate) mod queue;

pub(crate) mod sync {
    pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
    use std::sync::PoisonError;

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
