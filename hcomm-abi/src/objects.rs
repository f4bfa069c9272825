//! Objects that C holds by handles which are numbers and not addresses, so that a wrong one is an error.

use crate::ffi::{AclError, code};
use crate::state::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Handles have their kind above this bit.
const KIND_SHIFT: u32 = 56;

/// Objects of one kind.
#[derive(Debug)]
pub(crate) struct Objects<T> {
    kind: u64,
    word: &'static str,
    state: Mutex<All<T>>,
}

#[derive(Debug)]
struct All<T> {
    made: u64,
    by_handle: Option<HashMap<u64, Arc<T>>>,
}

impl<T> Objects<T> {
    /// No objects yet. Kinds differ, so that a handle is good for one.
    pub(crate) const fn new(kind: u64, word: &'static str) -> Objects<T> {
        Objects { kind, word, state: Mutex::new(All { made: 0, by_handle: None }) }
    }

    pub(crate) fn insert(&self, value: T) -> u64 {
        let mut state = lock(&self.state);
        state.made += 1;
        let handle = self.kind << KIND_SHIFT | state.made << 4;
        state.by_handle.get_or_insert_default().insert(handle, Arc::new(value));
        handle
    }

    pub(crate) fn get(&self, handle: u64) -> Result<Arc<T>, AclError> {
        let state = lock(&self.state);
        state.by_handle.as_ref().and_then(|all| all.get(&handle)).cloned().ok_or_else(|| self.none(handle))
    }

    pub(crate) fn remove(&self, handle: u64) -> Result<Arc<T>, AclError> {
        let mut state = lock(&self.state);
        state.by_handle.as_mut().and_then(|all| all.remove(&handle)).ok_or_else(|| self.none(handle))
    }

    fn none(&self, handle: u64) -> AclError {
        let word = self.word;
        AclError::new(
            code::RT_INVALID_HANDLE,
            match handle {
                0 => format!("the {word} handle is null"),
                _ => format!("{handle:#x} is not the handle of a {word}, or it has been destroyed"),
            },
        )
    }
}
