//! What all parts of a virtual cluster share.

use crate::comm::channel::ChannelEnd;
use crate::comm::engine::Engine;
use crate::comm::error::Result;
use crate::comm::fault::Faults;
use crate::comm::group::Meetings;
use crate::comm::handle::Table;
use crate::comm::memory::Memory;
use crate::comm::monitor::{LostRecord, Totals};
use crate::comm::notify::{Event, FlagName};
use crate::comm::observer::Observer;
use crate::comm::rank::RankState;
use crate::comm::stream::StreamState;
use crate::comm::sync::{Mutex, lock};
use crate::comm::thread::Thread;
use crate::comm::virtual_memory::VirtualMemory;
use crate::comm::window::Window;
use hcomm_core::product::{Link, Product};
use hcomm_core::shape::Layout;
use std::sync::atomic::AtomicU64;
use std::sync::{Condvar, Weak};
use std::time::{Duration, Instant};

/// How many lost records are kept with their names. They are all counted.
const KEPT: usize = 64;

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) me: Weak<Core>,
    pub(crate) product: Product,
    pub(crate) layout: Layout,
    /// How long a simulated second takes.
    pub(crate) second: Duration,
    pub(crate) memory: std::sync::Arc<dyn Memory>,
    pub(crate) observer: Option<std::sync::Arc<dyn Observer>>,
    pub(crate) faults: Faults,
    pub(crate) engine: Engine,
    /// What communicators had counted that have been destroyed.
    pub(crate) totals: Totals,
    pub(crate) comms: Table<RankState>,
    pub(crate) threads: Table<Thread>,
    pub(crate) channels: Table<ChannelEnd>,
    pub(crate) streams: Table<StreamState>,
    pub(crate) events: Table<Event>,
    pub(crate) windows: Table<Window>,
    pub(crate) virtual_memory: VirtualMemory,
    pub(crate) meetings: Mutex<Meetings>,
    pub(crate) met: Condvar,
    /// Counts calls of the data plane, over all threads of the process.
    pub(crate) calls: AtomicU64,
    pub(crate) lost: Mutex<Vec<LostRecord>>,
}

impl Core {
    /// When so many simulated seconds are over.
    pub(crate) fn after(&self, seconds: u32) -> Instant {
        Instant::now() + self.second * seconds
    }

    /// What joins two devices.
    pub(crate) fn link(&self, a: u32, b: u32) -> Link {
        self.product.link(&self.layout, a, b)
    }

    /// Whether communicators are of the kind that the sources call V2 (facts 2.4): those of the 950.
    pub(crate) fn is_v2(&self) -> bool {
        self.product == Product::A950
    }

    pub(crate) fn note_lost(&self, name: FlagName, why: &'static str) {
        let mut lost = lock(&self.lost);
        if lost.len() < KEPT {
            lost.push(LostRecord { flag: name, why });
        }
    }

    /// Fails once the cluster is gone.
    pub(crate) fn is_open(&self) -> Result<()> {
        if self.engine.is_closed() {
            return Err(crate::comm::error::in_status("the cluster has been shut down"));
        }
        Ok(())
    }
}
