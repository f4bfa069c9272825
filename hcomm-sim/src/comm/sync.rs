//! The locks that the queues are made of: the standard library's here, and a model checker's in `tests/model`, which
//! takes the sources of queues and flags with locks of its own.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Locks. A thread that panicked with the lock held has left nothing half done: what is locked here is changed in
/// single steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
