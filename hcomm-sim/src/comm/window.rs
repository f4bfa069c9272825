//! Symmetric windows: memory of all ranks that each reaches without asking where it is (facts 7).
//!
//! There are two kinds. On A3 every rank reserves addresses for the memory of all ranks, laid out alike, and maps the
//! peers' physical memory into them when a window is registered ([`hccs`]). On the 950 a window is noted when it is
//! registered, and the ranks learn of each other's when they next acquire channels ([`urma`]). A2 has none.

mod call;
mod hccs;
mod urma;

use crate::comm::cluster::Cluster;
use crate::comm::communicator::Communicator;
use crate::comm::core::Core;
use crate::comm::error::{Code, CommError, Result, in_status, not_found, not_support, null, para};
use crate::comm::handle::WindowHandle;
use crate::comm::memory::{Place, Region};
use crate::comm::monitor::Moment;
use crate::comm::plane::DataPlane;
use crate::comm::rank::{Is, RankState};
use crate::comm::sync::lock;
use crate::comm::thread::Side;
use hcomm_core::product::Product;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

pub(crate) use call::{Operands, Place as OperandPlace};
pub(crate) use hccs::{Say, SymmetricHeap};
pub(crate) use urma::{Offers, PairExchanges, is_urma};

/// A symmetric window of a rank.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) handle: WindowHandle,
    rank: Weak<RankState>,
    /// What it covers, by the addresses of its owner.
    pub(crate) region: Region,
    /// Its number among the windows of its rank: what ranks know each other's by.
    pub(crate) serial: u64,
    kind: Kind,
    gone: AtomicBool,
}

#[derive(Debug)]
enum Kind {
    /// In a communicator of one rank, where nobody looks for it.
    Alone,
    Hccs(hccs::Slot),
    Urma(urma::Peers),
}

/// The windows of a rank.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// By address, and in the order of their making where that is equal.
    all: Vec<Arc<Window>>,
    made: u64,
    pub(crate) heap: Option<SymmetricHeap>,
    /// Whether a registration is under way.
    busy: bool,
}

impl Windows {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    fn add(&mut self, core: &Core, make: impl FnOnce(WindowHandle, u64) -> Window) -> Arc<Window> {
        let serial = self.made;
        self.made += 1;
        let (_, window) = core.windows.insert(|handle| Arc::new(make(handle, serial)));
        let at = self.all.partition_point(|other| other.region.addr <= window.region.addr);
        self.all.insert(at, window.clone());
        window
    }

    fn remove(&mut self, core: &Core, window: &Window) -> Result<()> {
        core.windows.remove(window.handle)?;
        window.gone.store(true, Ordering::Release);
        self.all.retain(|other| other.handle != window.handle);
        Ok(())
    }
}

impl Window {
    fn new(handle: WindowHandle, rank: &Arc<RankState>, region: Region, serial: u64, kind: Kind) -> Window {
        Window { handle, rank: Arc::downgrade(rank), region, serial, kind, gone: AtomicBool::new(false) }
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Where a peer has what is `offset` bytes into the window.
    pub(crate) fn peer_address(&self, offset: u64, peer: u32) -> Result<u64> {
        let Some(rank) = self.rank.upgrade().filter(|_| !self.is_gone()) else {
            return Err(para(format!("{} has been deregistered", self.words())));
        };
        let (size, who) = (rank.group.size(), rank.who());
        if peer >= size {
            return Err(para(format!("rank {peer} in {} of {who}: the communicator has {size} ranks", self.words())));
        }
        if offset >= self.region.size {
            return Err(para(format!("byte {offset} of {} of {who}, which ends before it", self.words())));
        }
        match &self.kind {
            Kind::Alone => Err(para(format!("{} is in a communicator of one rank: there is no peer", self.words()))),
            Kind::Hccs(slot) => Ok(slot.address(peer) + offset),
            Kind::Urma(peers) => Ok(peers.address(peer, &rank, self)? + offset),
        }
    }

    /// Whether a range is a peer's part of the window, as this rank reaches it.
    fn reaches(&self, peer: u32, region: Region) -> bool {
        match &self.kind {
            Kind::Alone => false,
            Kind::Hccs(slot) => Region { addr: slot.address(peer), size: self.region.size }.holds(region),
            Kind::Urma(peers) => peers.region(peer).is_some_and(|there| there.holds(region)),
        }
    }

    /// Its name in sentences.
    fn words(&self) -> String {
        format!("the symmetric window of {}", self.region)
    }
}

impl Core {
    /// The window of a handle. HCCL has one code for handles that are no windows, and for those that are not any more.
    pub(crate) fn window(&self, handle: WindowHandle) -> Result<Arc<Window>> {
        self.windows.get(handle).map_err(|error| match error.code {
            Code::NotFound => CommError::new(Code::Para, error.sentence),
            _ => error,
        })
    }
}

impl RankState {
    /// `HcclCommSymWinRegister`.
    pub(crate) fn register_window(self: &Arc<Self>, region: Region, flag: u32) -> Result<WindowHandle> {
        self.is_ready()?;
        if region.addr == 0 {
            return Err(null("the address of the window is null"));
        }
        if region.size == 0 {
            return Err(para("a symmetric window of 0 bytes"));
        }
        if flag != 1 {
            return Err(para(format!("flag {flag} of a symmetric window: there is only 1")));
        }
        if region.addr.checked_add(region.size).is_none() {
            return Err(para(format!("a symmetric window of {region}, which is past the end of all addresses")));
        }
        if self.core.product == Product::A2 {
            return Err(not_support("a2 has no symmetric windows: they are offered on a3 and the 950"));
        }
        {
            let mut windows = lock(&self.windows);
            if windows.busy {
                let who = self.who();
                return Err(in_status(format!("{who} is registering a window: registrations must follow each other")));
            }
            windows.busy = true;
        }
        let result = match (self.group.size(), self.core.product) {
            (1, _) => self.register_alone(region),
            (_, Product::A950) => self.register_urma(region),
            _ => self.register_hccs(region),
        };
        lock(&self.windows).busy = false;
        let window = result?;
        self.note(Moment::Registered { window: window.region.to_string() });
        Ok(window.handle)
    }

    fn register_alone(self: &Arc<Self>, region: Region) -> Result<Arc<Window>> {
        self.is_on_device(region)?;
        let make = |handle, serial| Window::new(handle, self, region, serial, Kind::Alone);
        Ok(lock(&self.windows).add(&self.core, make))
    }

    /// Checks that all of a range is allocated on this rank's device.
    fn is_on_device(&self, region: Region) -> Result<()> {
        match self.core.memory.find(region.addr) {
            Some((all, Place::Device(device))) if device == self.device && all.holds(region) => Ok(()),
            Some((all, Place::Device(device))) if device == self.device => {
                Err(para(format!("a symmetric window of {region}, which run over the end of {all}")))
            }
            Some((_, place)) => Err(para(format!(
                "a symmetric window of {region} on {place}: {} is on device {}",
                self.who(),
                self.device
            ))),
            None => Err(para(format!("a symmetric window of {region}: nothing is allocated there"))),
        }
    }

    /// `HcclCommSymWinDeregister`.
    pub(crate) fn deregister_window(self: &Arc<Self>, handle: WindowHandle) -> Result<()> {
        self.is_there()?;
        let window = self.own_window(handle)?;
        if lock(&self.status).is == Is::Ready {
            let running = lock(&self.open).iter().find_map(|open| {
                let uses = open.job.operands.as_ref().is_some_and(|operands| operands.uses(&window));
                uses.then(|| open.job.program.algorithm.clone())
            });
            if let Some(algorithm) = running {
                let words = window.words();
                return Err(in_status(format!(
                    "`{algorithm}` on {} uses {words} and has not ended: synchronize its stream first",
                    self.who()
                )));
            }
        } else {
            self.until_still()?;
        }
        match &window.kind {
            Kind::Alone => lock(&self.windows).remove(&self.core, &window)?,
            Kind::Hccs(slot) => self.deregister_hccs(&window, slot)?,
            Kind::Urma(_) => self.deregister_urma(&window)?,
        }
        self.note(Moment::Deregistered { window: window.region.to_string() });
        Ok(())
    }

    fn own_window(&self, handle: WindowHandle) -> Result<Arc<Window>> {
        let window = self.core.window(handle)?;
        if !std::ptr::eq(window.rank.as_ptr(), self) {
            let owner = window.rank.upgrade().map_or_else(|| "another communicator".to_owned(), |rank| rank.who());
            return Err(para(format!("{} is one of {owner}, not of {}", window.words(), self.who())));
        }
        Ok(window)
    }

    /// The window that all of a range is in, and where in it.
    pub(crate) fn find_window(&self, region: Region) -> Option<(Arc<Window>, u64)> {
        let windows = lock(&self.windows);
        let before = windows.all.partition_point(|window| window.region.addr <= region.addr);
        let mut candidates = windows.all[..before].iter();
        let found = match self.core.is_v2() {
            // The sources look at one window there: the last one that starts no later.
            true => candidates.next_back().filter(|window| window.region.holds(region)),
            false => candidates.find(|window| window.region.holds(region)),
        };
        let window = found.filter(|window| !matches!(window.kind, Kind::Alone))?;
        Some((window.clone(), region.addr - window.region.addr))
    }

    /// `HcclCommSymWinGet`: on A3 what is in none is an error, on the 950 it is in none.
    pub(crate) fn get_window(&self, region: Region) -> Result<Option<(WindowHandle, u64)>> {
        self.is_there()?;
        if region.addr == 0 {
            return Err(null("the address to look for is null"));
        }
        if region.size == 0 || region.addr.checked_add(region.size).is_none() {
            return Err(para(format!("a search for {region} in symmetric windows")));
        }
        match self.find_window(region) {
            Some((window, offset)) => Ok(Some((window.handle, offset))),
            None if self.core.is_v2() => Ok(None),
            None => Err(not_found(format!("{region} are in no symmetric window of {}", self.who()))),
        }
    }

    /// Whether a range is a peer's part of some window.
    pub(crate) fn reaches(&self, peer: u32, region: Region) -> bool {
        lock(&self.windows).all.iter().any(|window| window.reaches(peer, region))
    }

    /// Whether a range is mapped from the device of a peer by some window.
    pub(crate) fn has_mapped(&self, device: u32, region: Region) -> bool {
        let Some(peer) = self.group.devices.iter().position(|other| *other == device) else {
            return false;
        };
        let windows = lock(&self.windows);
        let mut mapped = windows.all.iter().filter(|window| matches!(window.kind, Kind::Hccs(_)));
        mapped.any(|window| window.reaches(peer as u32, region))
    }

    /// Gives all windows back, as destroying the communicator does. Peers keep what they have mapped.
    pub(crate) fn drop_windows(&self) -> Result<()> {
        let mut windows = std::mem::take(&mut *lock(&self.windows));
        for window in std::mem::take(&mut windows.all) {
            self.core.windows.remove(window.handle)?;
            window.gone.store(true, Ordering::Release);
            self.unpin(&window);
        }
        match windows.heap.take() {
            Some(heap) => heap.clear(&self.core),
            None => Ok(()),
        }
    }

    fn unpin(&self, window: &Window) {
        let pinned = match &window.kind {
            Kind::Alone => None,
            Kind::Hccs(slot) => Some(slot.pinned()),
            Kind::Urma(peers) => peers.pinned(),
        };
        if let Some(addr) = pinned {
            self.core.virtual_memory.unpin(addr);
        }
    }
}

impl Communicator {
    /// `HcclCommSymWinRegister` with flag 1: memory of this rank as part of a symmetric window. All ranks must at once,
    /// with the same size.
    ///
    /// On A3 the memory is mapped ([`Cluster::map`]), the window is all of its physical memory, and this blocks until all
    /// ranks have come, for as long as the connect timeout. On the 950 it is noted: peers learn of it when channels are
    /// acquired next. A range that is in a window already is that window there.
    ///
    /// # Errors
    ///
    /// [`Code::Para`] for memory that is not there, not mapped or too short, and sizes that differ; [`Code::NotSupport`]
    /// on A2, over superpods, and with servers that differ; [`Code::Memory`] if the heap has no room left;
    /// [`Code::Internal`] if the ranks' physical memory or places in the heap differ; [`Code::Timeout`] with who did not
    /// come.
    pub fn register_window(&self, memory: Region) -> Result<WindowHandle> {
        self.register_window_with(memory, 1)
    }

    /// [`register_window`](Communicator::register_window) with a flag, of which only 1 is possible.
    ///
    /// # Errors
    ///
    /// As it.
    pub fn register_window_with(&self, memory: Region, flag: u32) -> Result<WindowHandle> {
        self.state.register_window(memory, flag)
    }

    /// `HcclCommSymWinGet`: the window that all of a range is in, and where in it.
    ///
    /// # Errors
    ///
    /// For 0 bytes and the null address; on A3 also, [`Code::NotFound`], if it is in none, which is `None` on the 950.
    pub fn window_of(&self, memory: Region) -> Result<Option<(WindowHandle, u64)>> {
        self.state.get_window(memory)
    }

    /// `HcclCommSymWinDeregister`. The memory stays. All ranks must at once; on A3 this blocks until those have come that
    /// have not been destroyed, for as long as the connect timeout.
    ///
    /// # Errors
    ///
    /// [`Code::Para`] for what is no window of this rank, [`Code::InStatus`] as long as an operator uses it,
    /// [`Code::Timeout`] with who did not come: the window is still there then.
    pub fn deregister_window(&self, window: WindowHandle) -> Result<()> {
        self.state.deregister_window(window)
    }
}

impl Cluster {
    /// [`Communicator::deregister_window`], of the communicator that the window is one of.
    ///
    /// # Errors
    ///
    /// As it.
    pub fn deregister_window(&self, window: WindowHandle) -> Result<()> {
        let found = self.core.window(window)?;
        let rank = found.rank.upgrade().ok_or_else(|| para(format!("{} has no owner any more", found.words())))?;
        rank.deregister_window(window)
    }
}

impl DataPlane {
    /// `HcclSymWinGetPeerPointer`: where a peer has what is `offset` bytes into the window. On the device only. On A3 also
    /// for the rank itself; on the 950 for peers that channels have been acquired to since the window was registered.
    ///
    /// # Errors
    ///
    /// [`Code::Para`] for what is no window, a rank that is not there, a byte past its end, and a peer whose part of it
    /// is not known.
    pub fn peer_pointer(&self, window: WindowHandle, offset: u64, peer: u32) -> Result<u64> {
        if self.side() == Side::Host {
            return Err(not_support("peers' addresses in symmetric windows are for the device, not for the host"));
        }
        self.core.window(window)?.peer_address(offset, peer)
    }
}

/// [`Communicator::register_window`] on all ranks, from one thread: `memories` are by rank.
///
/// # Errors
///
/// The first rank's error, by rank.
pub fn register_all(comms: &[Communicator], memories: &[Region]) -> Result<Vec<WindowHandle>> {
    if comms.len() != memories.len() {
        return Err(para(format!("{} windows for {} ranks", memories.len(), comms.len())));
    }
    at_once(comms.iter().zip(memories).map(|(comm, memory)| move || comm.register_window(*memory)).collect())
}

/// [`Communicator::deregister_window`] on all ranks, from one thread: `windows` are by rank.
///
/// # Errors
///
/// The first rank's error, by rank.
pub fn deregister_all(comms: &[Communicator], windows: &[WindowHandle]) -> Result<()> {
    if comms.len() != windows.len() {
        return Err(para(format!("{} windows for {} ranks", windows.len(), comms.len())));
    }
    at_once(comms.iter().zip(windows).map(|(comm, window)| move || comm.deregister_window(*window)).collect())?;
    Ok(())
}

/// Calls that wait for each other.
fn at_once<T: Send>(calls: Vec<impl FnOnce() -> Result<T> + Send>) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let ranks: Vec<_> = calls.into_iter().map(|call| scope.spawn(call)).collect();
        let panicked = || crate::comm::error::internal("a rank panicked");
        let results: Vec<Result<T>> =
            ranks.into_iter().map(|rank| rank.join().unwrap_or_else(|_| Err(panicked()))).collect();
        results.into_iter().collect()
    })
}
