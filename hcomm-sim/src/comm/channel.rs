//! Channels: connections between two ranks, each end with its own notifies (facts 2.7).

use crate::comm::error::{CommError, Result, in_status, not_found, not_support, para, remote, timeout};
use crate::comm::group::Offer;
use crate::comm::handle::{ChannelHandle, MemHandle};
use crate::comm::memory::Region;
use crate::comm::notify::{FlagName, Notify};
use crate::comm::queue::Hop;
use crate::comm::rank::{Is, RankState};
use crate::comm::sync::{lock, read, write};
use crate::comm::thread::CommEngine;
use crate::comm::window::{Offers, is_urma};
use hcomm_core::product::{Link, Product};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Instant;

/// Notifies of a channel (facts 2.2).
pub const MAX_CHANNEL_NOTIFIES: u32 = 64;
/// Notifies of a channel for the CCU, whatever is asked for.
pub const CCU_NOTIFIES: u32 = 8;
/// Memory handles that a channel exchanges.
pub const MAX_CHANNEL_MEMORIES: usize = 256;
/// Channels of one acquire.
pub const MAX_CHANNELS: usize = 1 << 20;

/// `CommProtocol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
#[expect(missing_docs, reason = "HCOMM's names")]
pub enum Protocol {
    Hccs = 0,
    Roce = 1,
    Pcie = 2,
    Sio = 3,
    UbCtp = 4,
    UbcTp = 5,
    UbMem = 6,
    Uboe = 7,
    HccsOnly = 8,
    UbRtp = 9,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 10] = [
        Protocol::Hccs,
        Protocol::Roce,
        Protocol::Pcie,
        Protocol::Sio,
        Protocol::UbCtp,
        Protocol::UbcTp,
        Protocol::UbMem,
        Protocol::Uboe,
        Protocol::HccsOnly,
        Protocol::UbRtp,
    ];

    /// The protocol of a number of `CommProtocol`.
    pub fn from_number(number: i32) -> Option<Protocol> {
        Protocol::ALL.into_iter().find(|protocol| *protocol as i32 == number)
    }

    /// HCOMM's name.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Hccs => "COMM_PROTOCOL_HCCS",
            Protocol::Roce => "COMM_PROTOCOL_ROCE",
            Protocol::Pcie => "COMM_PROTOCOL_PCIE",
            Protocol::Sio => "COMM_PROTOCOL_SIO",
            Protocol::UbCtp => "COMM_PROTOCOL_UB_CTP",
            Protocol::UbcTp => "COMM_PROTOCOL_UBC_TP",
            Protocol::UbMem => "COMM_PROTOCOL_UB_MEM",
            Protocol::Uboe => "COMM_PROTOCOL_UBOE",
            Protocol::HccsOnly => "COMM_PROTOCOL_HCCS_ONLY",
            Protocol::UbRtp => "COMM_PROTOCOL_UB_RTP",
        }
    }

    /// Whether it maps the peer's memory, so that the peer's addresses are like any other (facts 1.4).
    pub const fn maps_memory(self) -> bool {
        matches!(self, Protocol::Hccs | Protocol::HccsOnly | Protocol::Sio | Protocol::UbMem | Protocol::Pcie)
    }

    /// Those that join two devices, best first: what the rank graph says of a link.
    pub const fn of_link(link: Link) -> &'static [Protocol] {
        match link {
            Link::Hccs => &[Protocol::Hccs],
            Link::Roce => &[Protocol::Roce],
            Link::Ub => &[Protocol::UbCtp, Protocol::UbMem],
        }
    }

    /// Whether an engine uses it on a product: for A2 and A3 as the sources check it, for the 950 as the documents
    /// taken together say (facts 1.4).
    fn is_for(self, product: Product, engine: CommEngine) -> bool {
        use Protocol::{Hccs, HccsOnly, Roce, Sio, UbCtp, UbMem, UbRtp, Uboe};
        match (product, engine) {
            (Product::A950, CommEngine::Cpu | CommEngine::CpuTs) => matches!(self, Roce | UbCtp),
            (Product::A950, CommEngine::AiCpu | CommEngine::AiCpuTs) => {
                matches!(self, UbCtp | UbMem | Uboe | UbRtp | Roce)
            }
            (Product::A950, CommEngine::Aiv) => matches!(self, UbCtp | UbMem | Roce),
            (Product::A950, CommEngine::Ccu) => matches!(self, UbCtp),
            (_, CommEngine::Aiv) => matches!(self, Hccs | HccsOnly | Sio),
            _ => matches!(self, Hccs | Roce | HccsOnly | Sio),
        }
    }

    /// Whether a link of that kind carries it. A network card reaches everybody.
    fn goes_over(self, link: Link) -> bool {
        match link {
            Link::Hccs => true,
            Link::Roce => matches!(self, Protocol::Roce),
            Link::Ub => !matches!(self, Protocol::Hccs | Protocol::HccsOnly | Protocol::Sio),
        }
    }
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// What is asked for of a channel (`HcclChannelDesc`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelDesc {
    /// The rank at the other end.
    pub remote_rank: u32,
    /// The protocol; `None` takes the first that the rank graph has.
    pub protocol: Option<Protocol>,
    /// How many notifies this end has.
    pub notifies: u32,
    /// Registered memory that the peer may touch: for AIV on the 950 only.
    pub memories: Vec<MemHandle>,
    /// A number for the pair of endpoints: channels with different ones are different (950).
    pub endpoints: u64,
}

impl ChannelDesc {
    /// A channel to a rank with a number of notifies.
    pub fn new(remote_rank: u32, notifies: u32) -> ChannelDesc {
        ChannelDesc { remote_rank, protocol: None, notifies, memories: Vec::new(), endpoints: 0 }
    }

    /// Sets the protocol.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> ChannelDesc {
        self.protocol = Some(protocol);
        self
    }

    /// Sets the memory that the peer may touch.
    #[must_use]
    pub fn memories(mut self, memories: Vec<MemHandle>) -> ChannelDesc {
        self.memories = memories;
        self
    }

    /// Sets the pair of endpoints.
    #[must_use]
    pub fn endpoints(mut self, endpoints: u64) -> ChannelDesc {
        self.endpoints = endpoints;
        self
    }
}

/// What a rank gives to a channel: its notifies, and the memory that the other end may touch.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) rank: u32,
    pub(crate) state: Weak<RankState>,
    flags: RwLock<Vec<Arc<Notify>>>,
    buffer: Region,
    memories: Vec<(String, Region)>,
    /// Symmetric windows that the other end is told of.
    windows: Offers,
    /// What must be equal at both ends.
    info: Option<String>,
}

impl End {
    fn new(
        state: &Arc<RankState>,
        peer: u32,
        desc: (u32, Vec<(String, Region)>, Offers),
        info: Option<String>,
    ) -> Result<Arc<End>> {
        let (notifies, memories, windows) = desc;
        let buffer = state.hccl_buffer()?;
        let end = End {
            rank: state.rank,
            state: Arc::downgrade(state),
            flags: RwLock::default(),
            buffer,
            memories,
            windows,
            info,
        };
        end.supplement(peer, notifies);
        Ok(Arc::new(end))
    }

    fn supplement(&self, peer: u32, notifies: u32) {
        let mut flags = write(&self.flags);
        for notify in flags.len() as u32..notifies {
            flags.push(Notify::new(FlagName::Channel { rank: self.rank, peer, notify }));
        }
    }

    pub(crate) fn notifies(&self) -> u32 {
        read(&self.flags).len() as u32
    }

    fn flag(&self, notify: u32) -> Option<Arc<Notify>> {
        read(&self.flags).get(notify as usize).cloned()
    }

    pub(crate) fn clear_flags(&self) {
        read(&self.flags).iter().for_each(|flag| flag.clear());
    }

    pub(crate) fn flags_set(&self) -> usize {
        read(&self.flags).iter().filter(|flag| flag.is_set()).count()
    }

    /// Whether the other end may touch a range, not counting symmetric windows.
    pub(crate) fn lets(&self, region: Region) -> bool {
        self.buffer.holds(region) || self.memories.iter().any(|(_, memory)| memory.holds(region))
    }
}

/// A rank's end of a channel, and what it knows of the other.
#[derive(Debug)]
pub(crate) struct ChannelEnd {
    pub(crate) handle: ChannelHandle,
    pub(crate) rank: Weak<RankState>,
    pub(crate) peer: u32,
    pub(crate) engine: CommEngine,
    pub(crate) protocol: Protocol,
    pub(crate) mine: Arc<End>,
    pub(crate) theirs: Arc<End>,
    /// From this rank's device to the peer's.
    pub(crate) out: Hop,
}

impl ChannelEnd {
    /// The flag that a record from here sets.
    pub(crate) fn remote_flag(&self, notify: u32) -> Result<Arc<Notify>> {
        self.theirs.flag(notify).ok_or_else(|| self.no_flag(notify, &self.theirs, "the peer's end"))
    }

    /// The flag that a wait here is for.
    pub(crate) fn local_flag(&self, notify: u32) -> Result<Arc<Notify>> {
        self.mine.flag(notify).ok_or_else(|| self.no_flag(notify, &self.mine, "this end"))
    }

    fn no_flag(&self, notify: u32, end: &End, which: &str) -> CommError {
        let has = end.notifies();
        para(format!(
            "notify {notify} of the channel from rank {} to rank {}: {which} has {has}",
            self.mine.rank, self.peer
        ))
    }

    /// Checks that the peer lets this rank touch a range.
    pub(crate) fn check_remote(&self, region: Region) -> Result<()> {
        if self.theirs.lets(region) {
            return Ok(());
        }
        let End { buffer, memories, .. } = &*self.theirs;
        let more: Vec<String> = memories.iter().map(|(tag, memory)| format!("{memory} (`{tag}`)")).collect();
        let more = if more.is_empty() { String::new() } else { format!(" and {}", more.join(", ")) };
        Err(para(format!(
            "{region} are not memory that rank {} lets rank {} touch: that is its HCCL buffer, {buffer}{more}, and what is \
             in symmetric windows",
            self.peer, self.mine.rank
        )))
    }

    /// Checks that there is somebody at the other end.
    pub(crate) fn check_peer(&self) -> Result<()> {
        let there = self.theirs.state.upgrade().is_some_and(|state| lock(&state.status).is != Is::Destroyed);
        match there {
            true => Ok(()),
            false => Err(remote(format!("rank {} at the other end of the channel has been destroyed", self.peer))),
        }
    }

    /// `HcclChannelGetHcclBuffer`.
    pub(crate) fn remote_buffer(&self) -> Region {
        self.theirs.buffer
    }

    /// `HcclChannelGetRemoteMems`: the HCCL buffer first.
    pub(crate) fn remote_memories(&self) -> Vec<(String, Region)> {
        let buffer = ("HcclBuffer".to_owned(), self.theirs.buffer);
        std::iter::once(buffer).chain(self.theirs.memories.iter().cloned()).collect()
    }
}

/// What decides whether a channel is there already.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReuseKey {
    engine: CommEngine,
    peer: u32,
    protocol: Protocol,
    /// A2 and A3: the memory. 950: endpoints and the position among equals in the call.
    memories: Vec<MemHandle>,
    endpoints: u64,
    position: u32,
}

/// The channels of a rank.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    pub(crate) all: Vec<Arc<ChannelEnd>>,
    by_key: BTreeMap<ReuseKey, Arc<ChannelEnd>>,
    /// How many have been made, by what both ends count alike.
    made: BTreeMap<(u32, CommEngine, Protocol), u32>,
    /// Whether an acquire is under way.
    busy: bool,
    /// For the next acquire.
    pub(crate) info: Option<String>,
}

impl Channels {
    pub(crate) fn clear(&mut self) -> Vec<Arc<ChannelEnd>> {
        self.by_key.clear();
        std::mem::take(&mut self.all)
    }
}

impl RankState {
    /// `HcclChannelAcquire`: for each description a channel, which is there already, or is made when the peer asks for it
    /// too. Blocks for as long as the connect timeout.
    pub(crate) fn acquire_channels(
        self: &Arc<Self>,
        engine: CommEngine,
        descs: &[ChannelDesc],
    ) -> Result<Vec<ChannelHandle>> {
        self.is_ready()?;
        if descs.is_empty() || descs.len() > MAX_CHANNELS {
            return Err(para(format!("{} channels in one acquire: 1 to {MAX_CHANNELS} are possible", descs.len())));
        }
        let mut keys = Vec::with_capacity(descs.len());
        for desc in descs {
            let mut key = self.check_desc(engine, desc)?;
            let equal = keys.iter().filter(|other: &&ReuseKey| ReuseKey { position: 0, ..(*other).clone() } == key);
            match (equal.count() as u32, self.core.is_v2()) {
                (0, _) => {}
                (before, true) => key.position = before,
                (_, false) => {
                    return Err(para(format!(
                        "two channels to rank {} over {} in one acquire: {} takes one",
                        desc.remote_rank, key.protocol, self.core.product
                    )));
                }
            }
            keys.push(key);
        }
        let info = {
            let mut channels = lock(&self.channels);
            if channels.busy {
                return Err(in_status(format!(
                    "{} is acquiring channels: acquires must follow each other",
                    self.who()
                )));
            }
            channels.busy = true;
            channels.info.take()
        };
        let result = self.pair(engine, descs, &keys, info).and_then(|channels| {
            let peers: BTreeSet<u32> = keys.iter().filter(|key| is_urma(key.protocol)).map(|key| key.peer).collect();
            self.tell_windows(&peers.into_iter().collect::<Vec<_>>())?;
            Ok(channels)
        });
        lock(&self.channels).busy = false;
        result
    }

    fn check_desc(&self, engine: CommEngine, desc: &ChannelDesc) -> Result<ReuseKey> {
        let (peer, size) = (desc.remote_rank, self.group.size());
        if peer >= size {
            return Err(para(format!("a channel to rank {peer}: {} has {size} ranks", self.group.name)));
        }
        if peer == self.rank {
            return Err(para(format!("a channel from rank {peer} to itself")));
        }
        if engine != CommEngine::Ccu && desc.notifies > MAX_CHANNEL_NOTIFIES {
            let notifies = desc.notifies;
            return Err(para(format!("{notifies} notifies of a channel: there can be at most {MAX_CHANNEL_NOTIFIES}")));
        }
        if desc.memories.len() > MAX_CHANNEL_MEMORIES {
            let memories = desc.memories.len();
            return Err(para(format!("{memories} memories of a channel: there can be at most {MAX_CHANNEL_MEMORIES}")));
        }
        let link = self.core.link(self.device, self.group.devices[peer as usize]);
        let protocol = desc.protocol.unwrap_or(Protocol::of_link(link)[0]);
        if !protocol.is_for(self.core.product, engine) {
            return Err(not_support(format!("{engine} does not use {protocol} on {}", self.core.product)));
        }
        if !protocol.goes_over(link) {
            let has = Protocol::of_link(link).iter().map(|protocol| protocol.name()).collect::<Vec<_>>().join(", ");
            return Err(not_found(format!(
                "no link for {protocol} from rank {} to rank {peer}: there is {has}",
                self.rank
            )));
        }
        let v2 = self.core.is_v2();
        Ok(ReuseKey {
            engine,
            peer,
            protocol,
            memories: if v2 { Vec::new() } else { desc.memories.clone() },
            endpoints: if v2 { desc.endpoints } else { 0 },
            position: 0,
        })
    }

    fn pair(
        self: &Arc<Self>,
        engine: CommEngine,
        descs: &[ChannelDesc],
        keys: &[ReuseKey],
        info: Option<String>,
    ) -> Result<Vec<ChannelHandle>> {
        let mut found: Vec<Option<ChannelHandle>> = vec![None; descs.len()];
        let mut offered: Vec<(usize, Offer, Arc<End>)> = Vec::new();
        {
            let mut channels = lock(&self.channels);
            for (at, (desc, key)) in descs.iter().zip(keys).enumerate() {
                if let Some(channel) = channels.by_key.get(key) {
                    // A2 and A3 ignore how many notifies are asked for the second time.
                    if self.core.is_v2() && engine != CommEngine::Ccu {
                        channel.mine.supplement(channel.peer, desc.notifies);
                    }
                    self.totals.channels_reused();
                    found[at] = Some(channel.handle);
                    continue;
                }
                let mine = (desc.remote_rank, engine, key.protocol);
                let under_way =
                    offered.iter().filter(|(other, _, _)| (keys[*other].peer, engine, keys[*other].protocol) == mine);
                let serial = channels.made.get(&mine).copied().unwrap_or(0) + under_way.count() as u32;
                let notifies = if engine == CommEngine::Ccu { CCU_NOTIFIES } else { desc.notifies };
                let memories = self.exchanged(engine, desc)?;
                let windows = if is_urma(key.protocol) { self.untold(key.peer) } else { Offers::new() };
                let end = End::new(self, desc.remote_rank, (notifies, memories, windows), info.clone())?;
                offered.push((
                    at,
                    Offer { a: 0, b: 0, engine, protocol: key.protocol, serial }.between(self.rank, key.peer),
                    end,
                ));
            }
            drop(channels.info.take());
        }
        let until = self.core.after(self.config.timeouts.meet());
        let met = self.meet(&offered, until);
        let mut failed = None;
        let mut channels = lock(&self.channels);
        for ((at, _, mine), theirs) in offered.into_iter().zip(met) {
            let key = &keys[at];
            match theirs {
                Ok(theirs) => {
                    failed = failed.or(self.learn_windows(key.peer, &mine.windows, &theirs.windows).err());
                    *channels.made.entry((key.peer, engine, key.protocol)).or_default() += 1;
                    let out = Hop { from: self.device, to: self.group.devices[key.peer as usize] };
                    let (handle, end) = self.core.channels.insert(|handle| {
                        let (rank, peer, protocol) = (Arc::downgrade(self), key.peer, key.protocol);
                        Arc::new(ChannelEnd { handle, rank, peer, engine, protocol, mine, theirs, out })
                    });
                    channels.all.push(end.clone());
                    channels.by_key.insert(key.clone(), end);
                    self.totals.channels_made();
                    found[at] = Some(handle);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        drop(channels);
        match failed {
            Some(error) => {
                self.totals.failed(error.code);
                Err(error)
            }
            None => Ok(found.into_iter().flatten().collect()),
        }
    }

    /// The memory that a description exchanges.
    fn exchanged(&self, engine: CommEngine, desc: &ChannelDesc) -> Result<Vec<(String, Region)>> {
        if !(self.core.is_v2() && engine == CommEngine::Aiv) {
            return Ok(Vec::new()); // Others have the field and make nothing of it.
        }
        let memories = lock(&self.memories);
        desc.memories
            .iter()
            .map(|handle| {
                let unknown = || not_found(format!("{:#x} is not memory that {} has registered", handle.0, self.who()));
                memories.get(*handle).ok_or_else(unknown)
            })
            .collect()
    }

    /// Offers ends, and waits for those of the peers.
    fn meet(&self, offered: &[(usize, Offer, Arc<End>)], until: Instant) -> Vec<Result<Arc<End>>> {
        let group = &self.group;
        let mut pairing = lock(&group.pairing);
        for (_, offer, end) in offered {
            pairing.offer(*offer, self.rank, end.clone());
        }
        group.paired.notify_all();
        loop {
            let missing = |offer: &Offer| !pairing.has_both(*offer);
            let open = offered.iter().any(|(_, offer, _)| missing(offer) && group.is_there(offer.other(self.rank)));
            let left = until.checked_duration_since(Instant::now());
            let gone = self.is_ready().is_err();
            let (true, Some(left), false) = (open, left, gone) else {
                break;
            };
            pairing = group.paired.wait_timeout(pairing, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let never: Vec<String> = offered
            .iter()
            .filter(|(_, offer, _)| !pairing.has_both(*offer))
            .map(|(_, offer, _)| offer.other(self.rank).to_string())
            .collect();
        offered
            .iter()
            .map(|(_, offer, mine)| {
                let peer = offer.other(self.rank);
                let Some(theirs) = pairing.take(*offer, self.rank) else {
                    if !group.is_there(peer) {
                        return Err(remote(format!("rank {peer} of {} has been destroyed", group.name)));
                    }
                    self.is_ready()?;
                    let (seconds, ranks) = (self.config.timeouts.meet(), never.join(", "));
                    return Err(timeout(format!(
                        "{} waited {seconds} s for the other end of its channels: rank {ranks} did not acquire one to it \
                         for {} over {}",
                        self.who(),
                        offer.engine,
                        offer.protocol
                    )));
                };
                if mine.info != theirs.info {
                    let said = |info: &Option<String>| info.clone().unwrap_or_else(|| "nothing".into());
                    return Err(para(format!(
                        "the ranks of {} do not run the same: rank {} has {}, and rank {peer} has {}",
                        group.name,
                        self.rank,
                        said(&mine.info),
                        said(&theirs.info)
                    )));
                }
                Ok(theirs)
            })
            .collect()
    }

    /// A channel of this rank.
    pub(crate) fn own_channel(&self, handle: ChannelHandle) -> Result<Arc<ChannelEnd>> {
        let channel = self.core.channels.get(handle)?;
        if !std::ptr::eq(channel.rank.as_ptr(), self) {
            return Err(para(format!("channel {:#x} is not one of this communicator", handle.0)));
        }
        Ok(channel)
    }

    /// `HcclChannelDestroy`: for the CCU on the 950 only.
    pub(crate) fn destroy_channels(&self, handles: &[ChannelHandle]) -> Result<()> {
        self.is_there()?;
        for handle in handles {
            let channel = self.own_channel(*handle)?;
            if !self.core.is_v2() || channel.engine != CommEngine::Ccu {
                return Err(not_support(format!(
                    "channels of {} on {} live as long as their communicator",
                    channel.engine, self.core.product
                )));
            }
        }
        let mut channels = lock(&self.channels);
        for handle in handles {
            self.core.channels.remove(*handle)?;
            channels.all.retain(|channel| channel.handle != *handle);
            channels.by_key.retain(|_, channel| channel.handle != *handle);
        }
        Ok(())
    }
}
