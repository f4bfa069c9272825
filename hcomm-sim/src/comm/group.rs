//! What the ranks of a communicator have in common, and how they find each other.

use crate::comm::channel::{End, Protocol};
use crate::comm::config::CommConfig;
use crate::comm::core::Core;
use crate::comm::error::{CommError, Result, para, timeout};
use crate::comm::exchange::Exchange;
use crate::comm::launch::Agreement;
use crate::comm::p2p::Messages;
use crate::comm::rank::{Is, RankState};
use crate::comm::recover::Repeating;
use crate::comm::sync::{Mutex, lock, read, write};
use crate::comm::thread::CommEngine;
use crate::comm::window::{PairExchanges, Say};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, PoisonError, RwLock, Weak};
use std::time::Instant;

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) id: u64,
    pub(crate) name: String,
    /// The device of each rank.
    pub(crate) devices: Vec<u32>,
    /// Whether it was made of another one's ranks.
    pub(crate) is_sub: bool,
    pub(crate) ranks: RwLock<Vec<Weak<RankState>>>,
    pub(crate) pairing: Mutex<Pairing>,
    pub(crate) paired: Condvar,
    pub(crate) agreement: Mutex<Agreement>,
    pub(crate) messages: Mutex<Messages>,
    pub(crate) repeating: Mutex<Repeating>,
    pub(crate) gather: Mutex<Gather>,
    pub(crate) gathered: Condvar,
    /// Where ranks of A3 register and deregister windows.
    pub(crate) windows: Exchange<Say>,
    /// Where two ranks of the 950 tell each other of windows.
    pub(crate) pairs: PairExchanges,
}

/// What two ranks offer each other a channel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Offer {
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) engine: CommEngine,
    pub(crate) protocol: Protocol,
    /// Which of the channels of that kind.
    pub(crate) serial: u32,
}

impl Offer {
    pub(crate) fn between(self, one: u32, other: u32) -> Offer {
        Offer { a: one.min(other), b: one.max(other), ..self }
    }

    pub(crate) fn other(&self, rank: u32) -> u32 {
        if self.a == rank { self.b } else { self.a }
    }
}

/// Ends of channels that wait for their other ends.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    offers: BTreeMap<Offer, Pair>,
}

#[derive(Debug, Default)]
struct Pair {
    /// By whether it is that of the higher rank.
    ends: [Option<Arc<End>>; 2],
    /// How many have taken the other's.
    taken: usize,
}

impl Pairing {
    pub(crate) fn offer(&mut self, offer: Offer, rank: u32, end: Arc<End>) {
        self.offers.entry(offer).or_default().ends[usize::from(offer.b == rank)] = Some(end);
    }

    pub(crate) fn has_both(&self, offer: Offer) -> bool {
        self.offers.get(&offer).is_some_and(|pair| pair.ends.iter().all(Option::is_some))
    }

    /// The other rank's end. Without it the offer is withdrawn.
    pub(crate) fn take(&mut self, offer: Offer, rank: u32) -> Option<Arc<End>> {
        let both = self.has_both(offer);
        let pair = self.offers.get_mut(&offer)?;
        let mine = usize::from(offer.b == rank);
        let theirs = if both { pair.ends[1 - mine].clone() } else { None };
        match both {
            true => pair.taken += 1,
            false => pair.ends[mine] = None,
        }
        if pair.taken == 2 || pair.ends.iter().all(Option::is_none) {
            self.offers.remove(&offer);
        }
        theirs
    }
}

/// Ranks that wait for all others.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    came: BTreeSet<u32>,
    round: u64,
}

impl Group {
    pub(crate) fn new(id: u64, name: String, devices: Vec<u32>, is_sub: bool) -> Arc<Group> {
        let ranks = RwLock::new(devices.iter().map(|_| Weak::new()).collect());
        Arc::new(Group {
            id,
            name,
            devices,
            is_sub,
            ranks,
            pairing: Mutex::default(),
            paired: Condvar::new(),
            agreement: Mutex::default(),
            messages: Mutex::default(),
            repeating: Mutex::default(),
            gather: Mutex::default(),
            gathered: Condvar::new(),
            windows: Exchange::default(),
            pairs: PairExchanges::default(),
        })
    }

    pub(crate) fn size(&self) -> u32 {
        self.devices.len() as u32
    }

    pub(crate) fn rank(&self, rank: u32) -> Option<Arc<RankState>> {
        read(&self.ranks).get(rank as usize)?.upgrade()
    }

    /// Whether a rank has its communicator still, or has not made it yet.
    pub(crate) fn is_there(&self, rank: u32) -> bool {
        let ranks = read(&self.ranks);
        match ranks.get(rank as usize) {
            Some(state) if state.strong_count() == 0 => std::ptr::eq(state.as_ptr(), Weak::<RankState>::new().as_ptr()),
            Some(state) => state.upgrade().is_some_and(|state| lock(&state.status).is != Is::Destroyed),
            None => false,
        }
    }

    pub(crate) fn enter(&self, state: &Arc<RankState>) {
        write(&self.ranks)[state.rank as usize] = Arc::downgrade(state);
    }

    /// Blocks until all ranks that are there have come, and no longer than `until`.
    pub(crate) fn all_come(&self, core: &Core, rank: u32, until: Instant) -> Result<()> {
        let mut gather = lock(&self.gather);
        gather.came.insert(rank);
        let round = gather.round;
        loop {
            if gather.round != round {
                return Ok(());
            }
            core.is_open()?;
            let missing: Vec<u32> =
                (0..self.size()).filter(|other| !gather.came.contains(other) && self.is_there(*other)).collect();
            if missing.is_empty() {
                gather.came.clear();
                gather.round += 1;
                self.gathered.notify_all();
                return Ok(());
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                gather.came.remove(&rank);
                let ranks = missing.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
                return Err(timeout(format!("rank {rank} of {} waited for rank {ranks}, who did not come", self.name)));
            };
            gather = self.gathered.wait_timeout(gather, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Wakes who waits for a rank that will not come.
    pub(crate) fn left(&self) {
        drop(lock(&self.pairing));
        self.paired.notify_all();
        drop(lock(&self.gather));
        self.gathered.notify_all();
        self.windows.wake();
        self.pairs.wake();
    }
}

/// What ranks meet for to make a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MeetingKey {
    /// A root info.
    Root(u64),
    /// A sub-communicator, by the number of the whole one and its own.
    Sub(u64, u64),
}

/// Ranks that wait for each other to make communicators.
#[derive(Debug, Default)]
pub(crate) struct Meetings {
    open: BTreeMap<MeetingKey, Meeting>,
    roots: BTreeSet<u64>,
    names: BTreeSet<String>,
    made: u64,
}

#[derive(Debug)]
struct Meeting {
    size: u32,
    /// Who is to be in it, where they are ranks of another communicator.
    members: Vec<u32>,
    came: BTreeMap<u32, (u32, CommConfig)>,
    /// How many wait, or are about to take the outcome: more than have come if two came as the same rank.
    waiting: usize,
    outcome: Option<Result<Arc<Group>>>,
}

impl Meetings {
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    pub(crate) fn new_root(&mut self) -> u64 {
        self.made += 1;
        self.roots.insert(self.made);
        self.made
    }

    pub(crate) fn forget_name(&mut self, name: &str) {
        self.names.remove(name);
    }

    /// A group of devices that agree on a configuration.
    pub(crate) fn group(&mut self, came: &BTreeMap<u32, (u32, CommConfig)>, is_sub: bool) -> Result<Arc<Group>> {
        let Some((_, first)) = came.get(&0) else {
            return Err(para("a communicator without ranks"));
        };
        let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
        for (rank, (device, config)) in came {
            if let Some(other) = seen.insert(*device, *rank) {
                return Err(para(format!("ranks {other} and {rank} are both on device {device}")));
            }
            if let Some(difference) = first.difference(config) {
                return Err(para(format!("rank {rank} has {difference}")));
            }
        }
        self.made += 1;
        let name = match first.name.is_empty() {
            true => format!("hccl_comm_{}", self.made),
            false => first.name.clone(),
        };
        if !self.names.insert(name.clone()) {
            return Err(para(format!("there is a communicator `{name}` already: names must differ")));
        }
        Ok(Group::new(self.made, name, came.values().map(|(device, _)| *device).collect(), is_sub))
    }
}

impl Core {
    /// Blocks until all ranks have come, and gives all of them the same group, or the same error.
    pub(crate) fn meet(
        &self,
        (key, members): (MeetingKey, &[u32]),
        size: u32,
        (rank, device): (u32, u32),
        config: &CommConfig,
    ) -> Result<Arc<Group>> {
        self.is_open()?;
        self.is_device(device)?;
        config.check()?;
        if size == 0 || rank >= size {
            return Err(para(format!("rank {rank} of {size}")));
        }
        let until = self.after(config.timeouts.meet());
        let mut meetings = lock(&self.meetings);
        if let MeetingKey::Root(root) = key
            && !meetings.roots.contains(&root)
        {
            return Err(para("the root info is not one of this cluster, or was used up"));
        }
        let meeting = meetings.open.entry(key).or_insert_with(|| Meeting {
            size,
            members: members.to_vec(),
            came: BTreeMap::new(),
            waiting: 0,
            outcome: None,
        });
        if meeting.outcome.is_some() {
            return Err(para("the root info was used up"));
        }
        let wrong = if meeting.size != size {
            Some(para(format!("rank {rank} asks for {size} ranks, and the others ask for {}", meeting.size)))
        } else if meeting.members != members {
            Some(para(format!(
                "rank {rank} asks for the ranks {members:?}, and the others ask for {:?}",
                meeting.members
            )))
        } else if meeting.came.contains_key(&rank) {
            return Err(para(format!("there are two ranks {rank}")));
        } else {
            None
        };
        meeting.waiting += 1;
        if wrong.is_none() {
            meeting.came.insert(rank, (device, config.clone()));
        }
        if wrong.is_some() || meeting.came.len() as u32 == size {
            let came = meeting.came.clone();
            let outcome = match wrong {
                Some(error) => Err(error),
                None => meetings.group(&came, matches!(key, MeetingKey::Sub(..))),
            };
            if let Some(meeting) = meetings.open.get_mut(&key) {
                meeting.outcome = Some(outcome);
            }
            self.met.notify_all();
        }
        loop {
            self.is_open()?;
            let Some(meeting) = meetings.open.get_mut(&key) else {
                return Err(crate::comm::error::in_status("the cluster has been shut down"));
            };
            let over = meeting.outcome.clone();
            if let Some(outcome) = over {
                meeting.waiting -= 1;
                if meeting.waiting == 0 {
                    meetings.open.remove(&key);
                    if let MeetingKey::Root(root) = key {
                        meetings.roots.remove(&root);
                    }
                }
                return outcome;
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                let missing: Vec<String> =
                    (0..size).filter(|rank| !meeting.came.contains_key(rank)).map(|rank| rank.to_string()).collect();
                meeting.came.remove(&rank);
                meeting.waiting -= 1;
                if meeting.waiting == 0 {
                    meetings.open.remove(&key);
                }
                return Err(self.late(rank, config, &missing));
            };
            meetings = self.met.wait_timeout(meetings, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn late(&self, rank: u32, config: &CommConfig, missing: &[String]) -> CommError {
        let seconds = config.timeouts.meet();
        timeout(format!("rank {rank} waited {seconds} s for rank {} to join its communicator", missing.join(", ")))
    }
}
