//! Faults to order: devices that stop, links that die or fail for a while, records that get lost.

use crate::comm::error::{CommError, Result, remote};
use crate::comm::queue::Hop;
use crate::comm::sync::{Mutex, lock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// A fault that is injected into a [`Cluster`](crate::comm::Cluster). Devices are the cluster's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device does nothing any more. Its tasks stay where they are.
    StopDevice(u32),
    /// The device goes on.
    RestartDevice(u32),
    /// What goes over the link, in either direction, ends with an error completion.
    DeadLink {
        /// One device.
        a: u32,
        /// The other.
        b: u32,
    },
    /// The link works again.
    RestoreLink {
        /// One device.
        a: u32,
        /// The other.
        b: u32,
    },
    /// The next `failures` transfers over the link, in either direction, end with an error completion.
    FlakyLink {
        /// One device.
        a: u32,
        /// The other.
        b: u32,
        /// How many.
        failures: u64,
    },
    /// A record from one device to another gets lost, after `skip` that do not.
    LoseRecord {
        /// Who sets the notify.
        from: u32,
        /// Whose notify it is.
        to: u32,
        /// How many arrive before.
        skip: u64,
    },
}

/// What becomes of a record.
#[derive(Debug)]
pub(crate) enum Fate {
    Arrives,
    Lost,
    Fails(CommError),
}

/// The faults that a cluster has at present.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Whether there are any: usually not, and then nothing is looked up.
    any: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    stopped: BTreeSet<u32>,
    dead: BTreeSet<(u32, u32)>,
    flaky: BTreeMap<(u32, u32), u64>,
    /// Records that still arrive, of those of which one is to be lost.
    lose: BTreeMap<(u32, u32), Vec<u64>>,
}

fn link(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

impl Faults {
    pub(crate) fn inject(&self, fault: Fault) {
        let mut state = lock(&self.state);
        match fault {
            Fault::StopDevice(device) => {
                state.stopped.insert(device);
            }
            Fault::RestartDevice(device) => {
                state.stopped.remove(&device);
            }
            Fault::DeadLink { a, b } => {
                state.dead.insert(link(a, b));
            }
            Fault::RestoreLink { a, b } => {
                state.dead.remove(&link(a, b));
                state.flaky.remove(&link(a, b));
            }
            Fault::FlakyLink { a, b, failures } => {
                if failures > 0 {
                    state.flaky.insert(link(a, b), failures);
                }
            }
            Fault::LoseRecord { from, to, skip } => state.lose.entry((from, to)).or_default().push(skip),
        }
        self.update(&state);
    }

    /// Forgets all faults that have not happened yet, and ends those that last.
    pub(crate) fn clear(&self) -> Vec<u32> {
        let mut state = lock(&self.state);
        let stopped = std::mem::take(&mut *state).stopped;
        self.update(&state);
        stopped.into_iter().collect()
    }

    fn update(&self, state: &State) {
        let State { stopped, dead, flaky, lose } = state;
        let any = !(stopped.is_empty() && dead.is_empty() && flaky.is_empty() && lose.is_empty());
        self.any.store(any, Ordering::Release);
    }

    pub(crate) fn is_stopped(&self, device: u32) -> bool {
        self.any.load(Ordering::Acquire) && lock(&self.state).stopped.contains(&device)
    }

    /// Whether what goes over a link fails.
    pub(crate) fn transfer(&self, hop: Hop) -> Result<()> {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut state = lock(&self.state);
        let key = link(hop.from, hop.to);
        let failed =
            || remote(format!("an error completion: the link from device {} to device {} is down", hop.from, hop.to));
        if state.dead.contains(&key) {
            return Err(failed());
        }
        if let Some(left) = state.flaky.get_mut(&key) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                state.flaky.remove(&key);
            }
            self.update(&state);
            return Err(failed());
        }
        Ok(())
    }

    /// What becomes of a record that goes over a link.
    pub(crate) fn record(&self, hop: Hop) -> Fate {
        if !self.any.load(Ordering::Acquire) {
            return Fate::Arrives;
        }
        if let Err(error) = self.transfer(hop) {
            return Fate::Fails(error);
        }
        let mut state = lock(&self.state);
        let key = (hop.from, hop.to);
        let Some(counts) = state.lose.get_mut(&key) else {
            return Fate::Arrives;
        };
        let lost = counts.iter().position(|left| *left == 0);
        match lost {
            Some(at) => {
                counts.remove(at);
            }
            None => counts.iter_mut().for_each(|left| *left -= 1),
        }
        if counts.is_empty() {
            state.lose.remove(&key);
        }
        self.update(&state);
        if lost.is_some() { Fate::Lost } else { Fate::Arrives }
    }
}
