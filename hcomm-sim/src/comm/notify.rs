//! Flags that queues wait for: notifies, which are one bit and cleared by the wait, and events, which stay.

use crate::comm::queue::Queue;
use crate::comm::sync::{Arc, Mutex, lock};
use std::fmt;

/// Whose flag a notify is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlagName {
    /// Of a thread: set by another thread of the rank, or by the host.
    Thread {
        /// The rank.
        rank: u32,
        /// The thread, counted in the order of their making.
        thread: u32,
        /// Which of its flags.
        notify: u32,
    },
    /// Of `rank`'s end of a channel: set by `peer`.
    Channel {
        /// The rank that waits.
        rank: u32,
        /// The rank that sets.
        peer: u32,
        /// Which flag of the channel.
        notify: u32,
    },
}

impl fmt::Display for FlagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlagName::Thread { rank, thread, notify } => write!(f, "notify {notify} of thread {thread} of rank {rank}"),
            FlagName::Channel { rank, peer, notify } => write!(f, "notify {notify} of its channel to rank {peer}")
                .and_then(|()| write!(f, " (rank {rank}'s end)")),
        }
    }
}

/// A queue that waits, and the number of its waiting, so that an answer that comes late wakes nobody.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) queue: Arc<Queue>,
    pub(crate) token: u64,
}

impl Waiter {
    fn is(&self, queue: &Queue, token: u64) -> bool {
        std::ptr::eq(&*self.queue, queue) && self.token == token
    }
}

/// One bit. A record sets it, or gives it to a queue that waits; a record of a bit that is set is lost (facts 3.3).
#[derive(Debug)]
pub(crate) struct Notify {
    pub(crate) name: FlagName,
    state: Mutex<NotifyState>,
}

#[derive(Debug, Default)]
struct NotifyState {
    set: bool,
    /// Who waits, longest first. Two that wait for one bit are a fault of the program; each record wakes one.
    waiters: Vec<Waiter>,
}

/// What a record did.
#[derive(Debug)]
pub(crate) enum Recorded {
    /// The bit is set now.
    Set,
    /// It was set already: this record is lost.
    Lost,
    /// A queue waited: it has the bit, and is to be woken.
    Answers(Waiter),
}

impl Notify {
    pub(crate) fn new(name: FlagName) -> Arc<Notify> {
        Arc::new(Notify { name, state: Mutex::new(NotifyState::default()) })
    }

    /// Clears the bit if it is set. If it is not, `waiter` is to be woken by the next record.
    pub(crate) fn take_or_wait(&self, waiter: impl FnOnce() -> Waiter) -> bool {
        let mut state = lock(&self.state);
        if state.set {
            state.set = false;
            return true;
        }
        state.waiters.push(waiter());
        false
    }

    /// Sets the bit, or gives it to who waits.
    pub(crate) fn record(&self) -> Recorded {
        let mut state = lock(&self.state);
        if !state.waiters.is_empty() {
            return Recorded::Answers(state.waiters.remove(0));
        }
        if state.set {
            return Recorded::Lost;
        }
        state.set = true;
        Recorded::Set
    }

    /// Takes a waiting queue back. False if a record has answered it already.
    pub(crate) fn withdraw(&self, queue: &Queue, token: u64) -> bool {
        let mut state = lock(&self.state);
        let before = state.waiters.len();
        state.waiters.retain(|waiter| !waiter.is(queue, token));
        state.waiters.len() < before
    }

    /// Clears the bit.
    pub(crate) fn clear(&self) {
        lock(&self.state).set = false;
    }

    pub(crate) fn is_set(&self) -> bool {
        lock(&self.state).set
    }
}

/// What a stream has got to, for others to wait for (`aclrtEvent`).
#[derive(Debug, Default)]
pub(crate) struct Event {
    state: Mutex<EventState>,
}

#[derive(Debug, Default)]
struct EventState {
    /// Records that were queued.
    queued: u64,
    /// The latest record that was reached.
    reached: u64,
    waiters: Vec<(u64, Waiter)>,
}

impl Event {
    /// A record is queued: its number.
    pub(crate) fn queue_record(&self) -> u64 {
        let mut state = lock(&self.state);
        state.queued += 1;
        state.queued
    }

    /// The latest record that was queued; 0 if there was none.
    pub(crate) fn latest(&self) -> u64 {
        lock(&self.state).queued
    }

    /// Whether all records that were queued have been reached.
    pub(crate) fn is_reached(&self) -> bool {
        let state = lock(&self.state);
        state.reached >= state.queued
    }

    /// Record `number` is reached. Who waited for it is to be woken.
    pub(crate) fn reach(&self, number: u64) -> Vec<Waiter> {
        let mut state = lock(&self.state);
        state.reached = state.reached.max(number);
        let reached = state.reached;
        let (ready, waiting) = state.waiters.drain(..).partition(|(number, _)| *number <= reached);
        state.waiters = waiting;
        Vec::into_iter(ready).map(|(_, waiter)| waiter).collect()
    }

    /// Whether record `number` has been reached. If it has not, `waiter` is to be woken when it is.
    pub(crate) fn reached_or_wait(&self, number: u64, waiter: impl FnOnce() -> Waiter) -> bool {
        let mut state = lock(&self.state);
        if state.reached >= number {
            return true;
        }
        state.waiters.push((number, waiter()));
        false
    }

    pub(crate) fn withdraw(&self, queue: &Queue, token: u64) -> bool {
        let mut state = lock(&self.state);
        let before = state.waiters.len();
        state.waiters.retain(|(_, waiter)| !waiter.is(queue, token));
        state.waiters.len() < before
    }
}
