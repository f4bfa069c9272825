//! Windows of the 950: noted by their rank, and told to a peer when the two next acquire a channel between them.

use crate::comm::channel::Protocol;
use crate::comm::error::{Result, para};
use crate::comm::exchange::Exchange;
use crate::comm::memory::Region;
use crate::comm::rank::RankState;
use crate::comm::sync::{Mutex, lock};
use crate::comm::window::{Kind, Window};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Windows that a rank tells a peer about.
pub(crate) type Offers = Vec<Weak<Window>>;

/// The lower and the higher rank.
type Pair = (u32, u32);

/// What each pair of ranks says.
#[derive(Debug, Default)]
pub(crate) struct PairExchanges {
    pairs: Mutex<BTreeMap<Pair, Arc<Exchange<Offers>>>>,
}

impl PairExchanges {
    fn of(&self, a: u32, b: u32) -> Arc<Exchange<Offers>> {
        lock(&self.pairs).entry((a.min(b), a.max(b))).or_default().clone()
    }

    pub(crate) fn wake(&self) {
        lock(&self.pairs).values().for_each(|pair| pair.wake());
    }
}

/// Whether channels of a protocol carry windows.
pub(crate) fn is_urma(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::UbCtp | Protocol::UbcTp | Protocol::Uboe | Protocol::UbRtp)
}

/// What is known of the peers' parts of a window.
#[derive(Debug)]
pub(super) struct Peers {
    known: Mutex<BTreeMap<u32, Weak<Window>>>,
    /// The mapping that the window is in, if it is in one.
    mapping: Option<u64>,
}

impl Peers {
    pub(super) fn pinned(&self) -> Option<u64> {
        self.mapping
    }

    fn knows(&self, peer: u32) -> bool {
        lock(&self.known).contains_key(&peer)
    }

    /// The peer's part, if it is known and still there.
    pub(super) fn region(&self, peer: u32) -> Option<Region> {
        let window = lock(&self.known).get(&peer)?.upgrade()?;
        (!window.is_gone()).then_some(window.region)
    }

    /// Where the peer's part starts.
    pub(super) fn address(&self, peer: u32, rank: &RankState, window: &Window) -> Result<u64> {
        match self.region(peer) {
            Some(region) if rank.core.memory.find(region.addr).is_some_and(|(all, _)| all.holds(region)) => {
                Ok(region.addr)
            }
            Some(region) => Err(para(format!(
                "rank {peer} has given back the memory of its part of {}, {region}: it must stay until it is deregistered",
                window.words()
            ))),
            None if peer == rank.rank => Err(para(format!(
                "{} on the 950 has addresses of peers only: rank {peer} is this one, which knows its own",
                window.words()
            ))),
            None if self.knows(peer) => {
                Err(para(format!("rank {peer} has deregistered its part of {}", window.words())))
            }
            None => Err(para(format!(
                "rank {}'s part of {} is not known to {}: acquire a channel to it first, after the registration",
                peer,
                window.words(),
                rank.who()
            ))),
        }
    }
}

impl RankState {
    pub(super) fn register_urma(self: &Arc<Self>, region: Region) -> Result<Arc<Window>> {
        self.is_on_device(region)?;
        let mut windows = lock(&self.windows);
        // The sources give the window of the same range, or else the nearest before it that holds the range.
        let mut holders = windows.all.iter().rev().filter(|window| window.region.holds(region));
        if let Some(window) = holders.clone().find(|window| window.region == region).or_else(|| holders.next()) {
            return Ok(window.clone());
        }
        let mapping = self.core.virtual_memory.mapping(region.addr).map(|(mapping, _)| mapping.addr);
        let mapping = mapping.filter(|mapping| self.core.virtual_memory.pin(*mapping));
        let peers = Peers { known: Mutex::default(), mapping };
        Ok(windows.add(&self.core, |handle, serial| Window::new(handle, self, region, serial, Kind::Urma(peers))))
    }

    pub(super) fn deregister_urma(&self, window: &Window) -> Result<()> {
        lock(&self.windows).remove(&self.core, window)?;
        self.unpin(window);
        Ok(())
    }

    /// Windows that a peer has not been told of.
    pub(crate) fn untold(&self, peer: u32) -> Offers {
        let windows = lock(&self.windows);
        let untold =
            windows.all.iter().filter(|window| matches!(&window.kind, Kind::Urma(peers) if !peers.knows(peer)));
        untold.map(Arc::downgrade).collect()
    }

    /// Tells peers of windows where a channel is there already, and both wait for each other.
    pub(crate) fn tell_windows(&self, peers: &[u32]) -> Result<()> {
        for peer in peers {
            let mine = self.untold(*peer);
            if mine.is_empty() {
                continue;
            }
            let pair = self.group.pairs.of(self.rank, *peer);
            let what = format!("acquire channels after a window was registered (rank {} and {peer})", self.rank);
            let said = pair.run(self, &[self.rank, *peer], mine.clone(), &what)?;
            self.learn_windows(*peer, &mine, said.get(peer).map_or(&[][..], Vec::as_slice))?;
        }
        Ok(())
    }

    /// Notes which of a peer's windows belong to which of this rank's.
    pub(crate) fn learn_windows(&self, peer: u32, mine: &[Weak<Window>], theirs: &[Weak<Window>]) -> Result<()> {
        let theirs: BTreeMap<u64, Arc<Window>> =
            theirs.iter().filter_map(Weak::upgrade).map(|window| (window.serial, window)).collect();
        for window in mine.iter().filter_map(Weak::upgrade) {
            let Kind::Urma(peers) = &window.kind else { continue };
            let Some(there) = theirs.get(&window.serial) else {
                return Err(para(format!(
                    "rank {peer} has not registered its part of {} of {}: register the same windows in the same order on all \
                     ranks",
                    window.words(),
                    self.who()
                )));
            };
            if there.region.size != window.region.size {
                return Err(para(format!(
                    "a window must have one size on all ranks: rank {} registered {} bytes, and rank {peer} {}",
                    self.rank, window.region.size, there.region.size
                )));
            }
            lock(&peers.known).insert(peer, Arc::downgrade(there));
        }
        Ok(())
    }
}

impl Window {
    /// Whether a peer's part is still to be asked for.
    pub(super) fn must_learn(&self, peer: u32) -> bool {
        matches!(&self.kind, Kind::Urma(peers) if !peers.knows(peer))
    }
}
