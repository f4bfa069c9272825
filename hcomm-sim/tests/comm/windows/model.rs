//! Random sequences of everything, on several ranks and communicators, against a model that keeps lists.

use super::{nothing_is_left, read, write};
use crate::support::cluster;
use hcomm_core::product::Product;
use hcomm_sim::comm::{
    ChannelDesc, Cluster, Code, CommConfig, CommEngine, CommError, Communicator, GRANULARITY, PhysicalHandle, Region,
    Result, Side, WindowHandle,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::thread;

const DEVICES: u32 = 3;
/// Granules of a rank's part of a heap: 1 GB.
const HEAP: u64 = 512;

/// One step; numbers are taken modulo what there is to choose from.
#[derive(Clone, Debug)]
enum Step {
    Reserve {
        granules: u64,
    },
    Release {
        which: usize,
    },
    Allocate {
        device: u32,
        granules: u64,
    },
    Free {
        which: usize,
    },
    Map {
        reservation: usize,
        offset: u64,
        physical: usize,
    },
    Unmap {
        which: usize,
    },
    /// All three at once, on all devices alike.
    MapAll {
        granules: u64,
    },
    /// A mapping a rank; they are of one kind if `alike`.
    Register {
        comm: usize,
        which: usize,
        alike: bool,
    },
    Get {
        comm: usize,
        rank: usize,
        which: usize,
        from: u64,
        size: u64,
    },
    Point {
        window: usize,
        rank: usize,
        peer: u32,
        offset: u64,
    },
    Deregister {
        window: usize,
    },
    Destroy {
        comm: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let any = any::<usize>();
    let granules = prop_oneof![3 => 1u64..5, 2 => 120u64..300];
    let step = prop_oneof![
        2 => granules.clone().prop_map(|granules| Step::Reserve { granules }),
        2 => any.prop_map(|which| Step::Release { which }),
        2 => (0..DEVICES, granules.clone()).prop_map(|(device, granules)| Step::Allocate { device, granules }),
        2 => any.prop_map(|which| Step::Free { which }),
        4 => (any, 0u64..4, any)
            .prop_map(|(reservation, offset, physical)| Step::Map { reservation, offset, physical }),
        3 => any.prop_map(|which| Step::Unmap { which }),
        5 => granules.prop_map(|granules| Step::MapAll { granules }),
        6 => (any, any, prop::bool::weighted(0.9))
            .prop_map(|(comm, which, alike)| Step::Register { comm, which, alike }),
        3 => (any, any, any, 0..2 * GRANULARITY, 0..3 * GRANULARITY)
            .prop_map(|(comm, rank, which, from, size)| Step::Get { comm, rank, which, from, size }),
        5 => (any, any, 0u32..4, 0..3 * GRANULARITY)
            .prop_map(|(window, rank, peer, offset)| Step::Point { window, rank, peer, offset }),
        3 => any.prop_map(|window| Step::Deregister { window }),
        1 => any.prop_map(|comm| Step::Destroy { comm }),
    ];
    proptest::collection::vec(step, 1..60)
}

#[derive(Debug)]
struct Physical {
    handle: PhysicalHandle,
    device: u32,
    granules: u64,
    freed: bool,
}

#[derive(Clone, Debug)]
struct Mapping {
    addr: u64,
    physical: usize,
    /// Of those that were made together.
    family: Option<usize>,
}

#[derive(Debug)]
struct Window {
    comm: usize,
    handles: Vec<WindowHandle>,
    /// By rank: the mapping's address, and the physical memory.
    parts: Vec<(u64, usize)>,
    offset: u64,
}

struct Comm {
    ranks: Vec<Communicator>,
    devices: Vec<u32>,
    /// By rank: granules of the heap that are taken, and by which memory, with the windows over it.
    heaps: Vec<BTreeMap<usize, (u64, usize)>>,
}

#[derive(Default)]
struct Model {
    reserved: Vec<(u64, u64)>,
    physical: Vec<Physical>,
    mapped: Vec<Mapping>,
    windows: Vec<Window>,
    comms: Vec<Option<Comm>>,
    families: usize,
}

fn code<T>(result: &Result<T>) -> Option<Code> {
    result.as_ref().err().map(|error: &CommError| error.code)
}

fn pick(which: usize, len: usize) -> Option<usize> {
    (len > 0).then(|| which % len)
}

impl Model {
    fn size(&self, mapping: &Mapping) -> u64 {
        self.physical[mapping.physical].granules * GRANULARITY
    }

    /// The first gap of a heap.
    fn first_fit(&self, comm: &Comm, rank: usize, granules: u64) -> Option<u64> {
        let taken = &comm.heaps[rank];
        (0..=HEAP.checked_sub(granules)?).find(|from| {
            taken
                .iter()
                .all(|(physical, (at, _))| from + granules <= *at || at + self.physical[*physical].granules <= *from)
        })
    }

    /// What happens when these mappings are registered by rank, and the offset on success.
    fn register(&self, comm: &Comm, parts: &[Mapping]) -> std::result::Result<u64, Vec<Code>> {
        let places: Vec<Option<u64>> = (0..)
            .zip(parts)
            .map(|(rank, part)| match comm.heaps[rank].get(&part.physical) {
                Some((offset, _)) => Some(*offset),
                None => self.first_fit(comm, rank, self.physical[part.physical].granules),
            })
            .collect();
        if places.iter().any(Option::is_none) {
            let code = |place: &Option<u64>| if place.is_none() { Code::Memory } else { Code::Timeout };
            return Err(places.iter().map(code).collect());
        }
        let granules = |part: &Mapping| self.physical[part.physical].granules;
        let alike = parts.iter().all(|part| granules(part) == granules(&parts[0]));
        match alike && places.iter().all(|place| *place == places[0]) {
            true => Ok(places[0].unwrap()),
            false => Err(vec![Code::Internal; parts.len()]),
        }
    }

    fn pinned(&self, addr: u64) -> bool {
        self.windows.iter().any(|window| window.parts.iter().any(|(part, _)| *part == addr))
    }

    fn take(&mut self, step: &Step, cluster: &Cluster) {
        match *step {
            Step::Reserve { granules } => {
                self.reserved.push((cluster.reserve(granules * GRANULARITY).unwrap(), granules));
            }
            Step::Release { which } => {
                let Some(at) = pick(which, self.reserved.len()) else { return };
                let (addr, granules) = self.reserved[at];
                let all = addr..addr + granules * GRANULARITY;
                let used = self.mapped.iter().any(|mapping| all.contains(&mapping.addr));
                assert_eq!(code(&cluster.release(addr)), used.then_some(Code::InStatus));
                if !used {
                    self.reserved.remove(at);
                }
            }
            Step::Allocate { device, granules } => {
                let handle = cluster.allocate_physical(device, granules * GRANULARITY).unwrap();
                self.physical.push(Physical { handle, device, granules, freed: false });
            }
            Step::Free { which } => {
                let Some(at) = pick(which, self.physical.len()) else { return };
                let used = self.mapped.iter().any(|mapping| mapping.physical == at);
                let physical = &mut self.physical[at];
                let expected = if physical.freed { Some(Code::NotFound) } else { used.then_some(Code::InStatus) };
                assert_eq!(code(&cluster.free_physical(physical.handle)), expected);
                physical.freed |= expected.is_none();
            }
            Step::Map { reservation, offset, physical } => {
                let (Some(at), Some(physical)) =
                    (pick(reservation, self.reserved.len()), pick(physical, self.physical.len()))
                else {
                    return;
                };
                // The offset may lead into another reservation, or into none.
                let addr = self.reserved[at].0 + offset * GRANULARITY;
                let range = |(start, granules): &(u64, u64)| *start..start + granules * GRANULARITY;
                let all = self.reserved.iter().map(range).find(|range| range.contains(&addr)).unwrap_or(0..0);
                let Physical { handle, device, granules, freed } = self.physical[physical];
                let end = addr + granules * GRANULARITY;
                let overlaps = |mapping: &Mapping| mapping.addr < end && addr < mapping.addr + self.size(mapping);
                let foreign =
                    |mapping: &Mapping| all.contains(&mapping.addr) && self.physical[mapping.physical].device != device;
                let expected = if freed {
                    Some(Code::NotFound)
                } else if end > all.end {
                    Some(Code::Para)
                } else if self.mapped.iter().any(overlaps) {
                    Some(Code::InStatus)
                } else {
                    self.mapped.iter().any(foreign).then_some(Code::Para)
                };
                assert_eq!(code(&cluster.map(addr, granules * GRANULARITY, handle)), expected);
                if expected.is_none() {
                    self.mapped.push(Mapping { addr, physical, family: None });
                }
            }
            Step::Unmap { which } => {
                let Some(at) = pick(which, self.mapped.len()) else { return };
                let addr = self.mapped[at].addr;
                let pinned = self.pinned(addr);
                assert_eq!(code(&cluster.unmap(addr)), pinned.then_some(Code::InStatus));
                if !pinned {
                    self.mapped.remove(at);
                }
            }
            Step::MapAll { granules } => {
                for device in 0..DEVICES {
                    let (addr, handle) = cluster.map_new(device, granules * GRANULARITY).unwrap();
                    self.reserved.push((addr, granules));
                    self.physical.push(Physical { handle, device, granules, freed: false });
                    let physical = self.physical.len() - 1;
                    self.mapped.push(Mapping { addr, physical, family: Some(self.families) });
                }
                self.families += 1;
            }
            Step::Register { comm, which, alike } => self.registers(comm % self.comms.len(), which, alike),
            Step::Get { comm, rank, which, from, size } => {
                let (comm, Some(at)) = (comm % self.comms.len(), pick(which, self.mapped.len())) else { return };
                let Some(here) = &self.comms[comm] else { return };
                let rank = rank % here.ranks.len();
                let addr = self.mapped[at].addr + from;
                let holds = |window: &&Window| {
                    if window.comm != comm {
                        return false;
                    }
                    let (start, physical) = window.parts[rank];
                    addr >= start && addr + size <= start + self.physical[physical].granules * GRANULARITY
                };
                let found = here.ranks[rank].window_of(Region { addr, size });
                match self.windows.iter().find(holds) {
                    _ if size == 0 => assert_eq!(code(&found), Some(Code::Para)),
                    None => assert_eq!(code(&found), Some(Code::NotFound)),
                    // Of windows over the same memory it may be any.
                    Some(window) => {
                        let (handle, offset) = found.unwrap().unwrap();
                        assert_eq!(offset, addr - window.parts[rank].0);
                        assert!(self.windows.iter().filter(holds).any(|window| window.handles[rank] == handle));
                    }
                }
            }
            Step::Point { window, rank, peer, offset } => {
                let Some(at) = pick(window, self.windows.len()) else { return };
                let window = &self.windows[at];
                let rank = rank % window.handles.len();
                let found = cluster.data_plane(Side::Device).peer_pointer(window.handles[rank], offset, peer);
                let size = self.physical[window.parts[rank].1].granules * GRANULARITY;
                if peer as usize >= window.handles.len() || offset >= size {
                    assert_eq!(code(&found), Some(Code::Para));
                    return;
                }
                let there = found.unwrap();
                // It is the peer's memory, by the peer's own address.
                let own = window.parts[peer as usize].0 + offset;
                write(cluster, there, read(cluster, own).wrapping_add(1));
                assert_eq!(read(cluster, own), read(cluster, there));
                // And where the layout says, for all ranks alike.
                let first = cluster.data_plane(Side::Device).peer_pointer(window.handles[rank], 0, 0).unwrap();
                assert_eq!(there - first, (u64::from(peer) << 30) + offset);
            }
            Step::Deregister { window } => {
                let Some(at) = pick(window, self.windows.len()) else { return };
                let window = self.windows.remove(at);
                let comm = self.comms[window.comm].as_mut().unwrap();
                hcomm_sim::comm::deregister_all(&comm.ranks, &window.handles).unwrap();
                for (heap, (_, physical)) in comm.heaps.iter_mut().zip(&window.parts) {
                    let (_, windows) = heap.get_mut(physical).unwrap();
                    *windows -= 1;
                    if *windows == 0 {
                        heap.remove(physical);
                    }
                }
                assert_eq!(code(&comm.ranks[0].deregister_window(window.handles[0])), Some(Code::Para));
            }
            Step::Destroy { comm } => {
                let at = comm % self.comms.len();
                // One stays.
                if self.comms.iter().flatten().count() > 1
                    && let Some(comm) = self.comms[at].take()
                {
                    comm.ranks.iter().for_each(|rank| rank.destroy().unwrap());
                    self.windows.retain(|window| window.comm != at);
                }
            }
        }
    }

    fn registers(&mut self, at: usize, which: usize, alike: bool) {
        let Some(comm) = &self.comms[at] else { return };
        let Some(first) = pick(which, self.mapped.len()) else { return };
        let first = self.mapped[first].clone();
        // Of the same family, or any of the device.
        let part = |(number, device): (usize, &u32)| {
            let on_device = |mapping: &&Mapping| self.physical[mapping.physical].device == *device;
            let family = |mapping: &&Mapping| mapping.family.is_some() && mapping.family == first.family;
            let all: Vec<&Mapping> = self.mapped.iter().filter(on_device).collect();
            match alike {
                true => all.into_iter().find(family).cloned(),
                false => pick(which.wrapping_add(number), all.len()).map(|at| all[at].clone()),
            }
        };
        let parts: Option<Vec<Mapping>> = comm.devices.iter().enumerate().map(part).collect();
        let Some(parts) = parts else { return };
        let expected = self.register(comm, &parts);
        // One size is asked for: what fits all.
        let size = parts.iter().map(|part| self.size(part)).min().unwrap();
        let results: Vec<Result<WindowHandle>> = thread::scope(|scope| {
            let ranks: Vec<_> = comm
                .ranks
                .iter()
                .zip(&parts)
                .map(|(rank, part)| scope.spawn(move || rank.register_window(Region { addr: part.addr, size })))
                .collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        });
        match expected {
            Err(codes) => {
                let got: Vec<Option<Code>> = results.iter().map(code).collect();
                assert_eq!(got, codes.into_iter().map(Some).collect::<Vec<_>>(), "{parts:?} {results:?}");
            }
            Ok(offset) => {
                let handles: Vec<WindowHandle> = results.into_iter().map(Result::unwrap).collect();
                if let Some(comm) = &mut self.comms[at] {
                    for (heap, part) in comm.heaps.iter_mut().zip(&parts) {
                        heap.entry(part.physical).or_insert((offset, 0)).1 += 1;
                    }
                }
                let parts = parts.iter().map(|part| (part.addr, part.physical)).collect();
                self.windows.push(Window { comm: at, handles, parts, offset });
            }
        }
        // Windows of one communicator never overlap in the heap, but where they are over the same memory.
        for (number, one) in self.windows.iter().enumerate() {
            for other in &self.windows[..number] {
                let (size, other_size) =
                    (self.physical[one.parts[0].1].granules, self.physical[other.parts[0].1].granules);
                let apart = one.offset + size <= other.offset || other.offset + other_size <= one.offset;
                assert!(one.comm != other.comm || one.parts[0].1 == other.parts[0].1 || apart);
            }
        }
    }

    fn counts(&self, cluster: &Cluster) {
        let in_use = cluster.in_use();
        let windows: usize = self.windows.iter().map(|window| window.handles.len()).sum();
        let heaps: usize = self
            .comms
            .iter()
            .flatten()
            .map(|comm| comm.heaps.iter().map(|heap| heap.len() * comm.ranks.len()).sum::<usize>())
            .sum();
        assert_eq!((in_use.windows, in_use.mappings), (windows, self.mapped.len() + heaps));
        let bytes: u64 = self.physical.iter().filter(|one| !one.freed).map(|one| one.granules * GRANULARITY).sum();
        assert_eq!(in_use.bytes, bytes);
    }

    fn end(mut self, cluster: &Cluster, destroys_first: bool) {
        let destroy = |comms: &mut Vec<Option<Comm>>| {
            comms.drain(..).flatten().for_each(|comm| comm.ranks.iter().for_each(|rank| rank.destroy().unwrap()));
        };
        if destroys_first {
            destroy(&mut self.comms);
        } else {
            while !self.windows.is_empty() {
                self.take(&Step::Deregister { window: 0 }, cluster);
            }
        }
        self.mapped.iter().for_each(|mapping| cluster.unmap(mapping.addr).unwrap());
        let held = self.physical.iter().filter(|physical| !physical.freed);
        held.for_each(|physical| cluster.free_physical(physical.handle).unwrap());
        self.reserved.iter().for_each(|(addr, _)| cluster.release(*addr).unwrap());
        destroy(&mut self.comms);
        nothing_is_left(cluster);
    }
}

fn cases() -> ProptestConfig {
    let cases = if cfg!(feature = "sweep") { 20_000 } else { 250 };
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a3_is_like_the_model(steps in steps(), destroys_first in any::<bool>()) {
        let cluster = cluster(Product::A3, DEVICES);
        let config = CommConfig::default().symmetric_gb(1).timeouts(50, 80);
        let comms = [vec![0, 1, 2], vec![2, 0], vec![1, 2]].into_iter().map(|devices| {
            let ranks = cluster.init_all(&devices, &config).unwrap();
            Some(Comm { ranks, heaps: vec![BTreeMap::new(); devices.len()], devices })
        });
        let mut model = Model { comms: comms.collect(), ..Model::default() };
        for step in &steps {
            model.take(step, &cluster);
            model.counts(&cluster);
        }
        model.end(&cluster, destroys_first);
    }

    /// On the 950: ranges of plain memory, some of them in others, told to peers now and then.
    #[test]
    fn the_950_is_like_the_model(
        steps in proptest::collection::vec((0u8..8, 0u64..40, 1u64..40, any::<usize>(), 0u32..2), 1..60)
    ) {
        let cluster = cluster(Product::A950, 2);
        let config = CommConfig::default().buffer_size(4096).timeouts(50, 80);
        let comms = cluster.init_all(&[0, 1], &config).unwrap();
        let base = [0, 1].map(|device| cluster.alloc(device, 80).unwrap());
        let device = cluster.data_plane(Side::Device);
        // From, size, whether the ranks know, and the handles; in the order of registration.
        let mut windows: Vec<(u64, u64, bool, [WindowHandle; 2])> = Vec::new();
        for (what, from, size, which, rank) in steps {
            let (me, peer) = (rank as usize, 1 - rank as usize);
            match (what, pick(which, windows.len())) {
                (0..=2, _) => {
                    let regions = base.map(|base| Region { addr: base + from, size });
                    let got = [0, 1].map(|rank| comms[rank].register_window(regions[rank]).unwrap());
                    // The nearest before that holds all of it, of those the last; the same range before that.
                    let holds = |window: &&(u64, u64, bool, _)| window.0 <= from && from + size <= window.0 + window.1;
                    let same = windows.iter().find(|window| (window.0, window.1) == (from, size));
                    let nearest = windows.iter().filter(holds).max_by_key(|window| window.0);
                    match same.or(nearest) {
                        Some(window) => prop_assert_eq!(window.3, got),
                        None => windows.push((from, size, false, got)),
                    }
                }
                (3, _) => {
                    thread::scope(|scope| {
                        for (comm, peer) in comms.iter().zip([1, 0]) {
                            scope.spawn(move || {
                                comm.acquire_channels(CommEngine::AiCpuTs, &[ChannelDesc::new(peer, 2)]).unwrap();
                            });
                        }
                    });
                    windows.iter_mut().for_each(|window| window.2 = true);
                }
                (4, Some(at)) => {
                    let window = windows.remove(at);
                    for (comm, handle) in comms.iter().zip(window.3) {
                        comm.deregister_window(handle).unwrap();
                        prop_assert_eq!(code(&comm.deregister_window(handle)), Some(Code::Para));
                    }
                }
                (5, Some(at)) => {
                    let (start, length, known, handles) = windows[at];
                    let found = device.peer_pointer(handles[me], from, peer as u32);
                    match known && from < length {
                        true => prop_assert_eq!(found.unwrap(), base[peer] + start + from),
                        false => prop_assert_eq!(code(&found), Some(Code::Para)),
                    }
                }
                (6, _) => {
                    let found = comms[me].window_of(Region { addr: base[me] + from, size }).unwrap();
                    // One window is looked at: the last that starts no later, of equals the last registered.
                    let last = windows.iter().filter(|window| window.0 <= from).max_by_key(|window| window.0);
                    let last = last.filter(|window| from + size <= window.0 + window.1);
                    prop_assert_eq!(found, last.map(|window| (window.3[me], from - window.0)));
                }
                _ => {
                    let count: usize = 2 * windows.len();
                    prop_assert_eq!(cluster.in_use().windows, count);
                }
            }
        }
        comms.iter().for_each(|comm| comm.destroy().unwrap());
        base.iter().for_each(|addr| cluster.memory().free(*addr).unwrap());
        nothing_is_left(&cluster);
    }
}
