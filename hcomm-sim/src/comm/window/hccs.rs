//! Windows of A3: a heap of addresses for the memory of all ranks, where each has the others' physical memory mapped.
//!
//! Rank r's part is `stride` bytes from r times `stride` on, and a window has the same place in every part: it is the
//! first that is free, and ranks register in the same order.

use crate::comm::core::Core;
use crate::comm::error::{Code, CommError, Result, internal, not_support, para, remote};
use crate::comm::heap::Heap;
use crate::comm::memory::Region;
use crate::comm::rank::RankState;
use crate::comm::sync::lock;
use crate::comm::virtual_memory::{GRANULARITY, Physical};
use crate::comm::window::{Kind, Window};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The addresses that a rank has reserved for all ranks' windows.
#[derive(Debug)]
pub(crate) struct SymmetricHeap {
    base: u64,
    stride: u64,
    ranks: u32,
    offsets: Heap,
    /// Physical memory that is in it, by its handle.
    blocks: BTreeMap<u64, Block>,
}

#[derive(Debug)]
struct Block {
    offset: u64,
    size: u64,
    /// Windows over it: registered again, also by another address, it has the same place.
    windows: usize,
    /// Whether it is mapped, and that of the peers beside it.
    mapped: bool,
}

/// A window's place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    base: u64,
    stride: u64,
    pub(super) offset: u64,
    /// The handle of its physical memory.
    physical: u64,
    /// The owner's own mapping.
    mapping: u64,
}

impl Slot {
    /// Where a rank's part starts.
    pub(super) fn address(&self, rank: u32) -> u64 {
        self.base + self.stride * u64::from(rank) + self.offset
    }

    pub(super) fn pinned(&self) -> u64 {
        self.mapping
    }
}

/// What ranks tell each other.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// About a window to be.
    Register { asked: u64, offset: u64, physical: Arc<Physical> },
    /// Which window is to go.
    Deregister { serial: u64 },
}

impl Say {
    fn words(&self) -> String {
        match self {
            Say::Register { asked, .. } => format!("registers a window of {asked} bytes"),
            Say::Deregister { serial } => format!("deregisters its window {serial}"),
        }
    }
}

impl SymmetricHeap {
    fn new(rank: &RankState) -> Result<SymmetricHeap> {
        let (gb, ranks) = (rank.config.symmetric_gb, rank.group.size());
        let impossible = |why: &str| para(format!("{gb} GB of symmetric memory a rank: {why}"));
        let stride = gb.checked_mul(1 << 30).filter(|stride| *stride > 0);
        let stride = stride.ok_or_else(|| impossible("there must be some, and fewer than there are addresses"))?;
        if let Some(device) = rank.core.memory.capacity()
            && stride > device
        {
            return Err(impossible(&format!("a device has {device} bytes")));
        }
        let bytes =
            stride.checked_mul(u64::from(ranks)).ok_or_else(|| impossible("there are not so many addresses"))?;
        let base = rank.core.virtual_memory.reserve(&*rank.core.memory, bytes, true).map_err(|error| {
            internal(format!("{bytes} bytes of addresses for {ranks} ranks cannot be reserved: {}", error.sentence))
        })?;
        Ok(SymmetricHeap { base, stride, ranks, offsets: Heap::new(stride), blocks: BTreeMap::new() })
    }

    /// The place of physical memory, a new one if it has none.
    fn place(&mut self, physical: &Physical) -> Result<u64> {
        if let Some(block) = self.blocks.get_mut(&physical.handle.0) {
            block.windows += 1;
            return Ok(block.offset);
        }
        let size = physical.size;
        let Some(offset) = self.offsets.reserve(size, GRANULARITY) else {
            let (free, longest) = self.offsets.left();
            return Err(CommError::new(
                Code::Memory,
                format!(
                    "{size} bytes do not fit the symmetric heap: of its {} bytes a rank {free} are free, the longest piece \
                     of them {longest}; deregister windows, or configure more for the communicator",
                    self.stride
                ),
            ));
        };
        self.blocks.insert(physical.handle.0, Block { offset, size, windows: 1, mapped: false });
        Ok(offset)
    }

    /// Takes back a [`place`](SymmetricHeap::place), and with the last window what is mapped there.
    fn leave(&mut self, core: &Core, physical: u64) -> Result<()> {
        let Some(block) = self.blocks.get_mut(&physical) else {
            return Ok(());
        };
        block.windows -= 1;
        if block.windows > 0 {
            return Ok(());
        }
        let (offset, size, mapped) = (block.offset, block.size, block.mapped);
        self.blocks.remove(&physical);
        self.offsets.release(offset, size);
        if mapped { self.unmap(core, offset) } else { Ok(()) }
    }

    fn address(&self, rank: u32, offset: u64) -> u64 {
        self.base + self.stride * u64::from(rank) + offset
    }

    /// Maps the memory of all ranks, unless it is. What was mapped before an error is unmapped.
    fn map(&mut self, core: &Core, physical: &Physical, all: &[Arc<Physical>]) -> Result<()> {
        let offset = match self.blocks.get_mut(&physical.handle.0) {
            Some(block) if !block.mapped => block.offset,
            _ => return Ok(()),
        };
        for (rank, physical) in (0..).zip(all) {
            let mapped = core.virtual_memory.import(&*core.memory, self.address(rank, offset), physical);
            if let Err(error) = mapped {
                for rank in 0..rank {
                    core.virtual_memory.forget(&*core.memory, self.address(rank, offset))?;
                }
                return Err(CommError::new(Code::Drv, format!("the memory of rank {rank}: {}", error.sentence)));
            }
        }
        if let Some(block) = self.blocks.get_mut(&physical.handle.0) {
            block.mapped = true;
        }
        Ok(())
    }

    fn unmap(&self, core: &Core, offset: u64) -> Result<()> {
        (0..self.ranks).try_for_each(|rank| core.virtual_memory.forget(&*core.memory, self.address(rank, offset)))
    }

    /// Gives everything back.
    pub(super) fn clear(self, core: &Core) -> Result<()> {
        for block in self.blocks.values().filter(|block| block.mapped) {
            self.unmap(core, block.offset)?;
        }
        core.virtual_memory.release(&*core.memory, self.base, true)
    }
}

impl RankState {
    /// Checks that the communicator is one that windows of A3 are for.
    fn has_hccs_windows(&self) -> Result<()> {
        let layout = &self.core.layout;
        let mut servers: BTreeMap<u32, u32> = BTreeMap::new();
        for device in &self.group.devices {
            *servers.entry(layout.place(*device).0).or_default() += 1;
        }
        let pods: BTreeSet<u32> = servers.keys().map(|node| layout.pod_of(*node)).collect();
        if pods.len() > 1 {
            let (name, pods) = (&self.group.name, pods.len());
            return Err(not_support(format!(
                "symmetric windows on a3 end with the superpod, and {name} has ranks in {pods}: make a communicator within one"
            )));
        }
        let (least, most) = (servers.values().min(), servers.values().max());
        if least != most {
            let (least, most) = (least.copied().unwrap_or(0), most.copied().unwrap_or(0));
            return Err(not_support(format!(
                "symmetric windows on a3 are for servers with the same number of ranks, and {} has {least} on one and {most} \
                 on another",
                self.group.name
            )));
        }
        Ok(())
    }

    pub(super) fn register_hccs(self: &Arc<Self>, region: Region) -> Result<Arc<Window>> {
        self.has_hccs_windows()?;
        let Some((mapping, physical)) = self.core.virtual_memory.mapping(region.addr) else {
            return Err(para(format!(
                "a symmetric window of {region}: no physical memory is mapped there. On a3 reserve addresses, allocate \
                 physical memory and map it"
            )));
        };
        if physical.device != self.device {
            return Err(para(format!(
                "a symmetric window of {region} on device {}: {} is on device {}",
                physical.device,
                self.who(),
                self.device
            )));
        }
        if !mapping.holds(region) {
            return Err(para(format!(
                "a symmetric window of {region}, which run over the end of the physical memory that is mapped there, {mapping}"
            )));
        }
        let offset = {
            let mut windows = lock(&self.windows);
            let heap = match &mut windows.heap {
                Some(heap) => heap,
                none => none.insert(SymmetricHeap::new(self)?),
            };
            let offset = heap.place(&physical)?;
            if !self.core.virtual_memory.pin(mapping.addr) {
                heap.leave(&self.core, physical.handle.0)?;
                return Err(para(format!("a symmetric window of {region}: the memory has been unmapped")));
            }
            offset
        };
        let say = Say::Register { asked: region.size, offset, physical: physical.clone() };
        let agreed = self.tell_all(say).and_then(|all| self.agree(&all));
        let mut windows = lock(&self.windows);
        let made = match (agreed, &mut windows.heap) {
            (Ok(all), Some(heap)) => heap.map(&self.core, &physical, &all).map(|()| (heap.base, heap.stride)),
            (Err(error), _) => Err(error),
            // Destroyed meanwhile.
            (_, None) => {
                self.core.virtual_memory.unpin(mapping.addr);
                return Err(self.is_there().err().unwrap_or_else(|| internal("the symmetric heap is gone")));
            }
        };
        match made {
            Ok((base, stride)) => {
                let slot = Slot { base, stride, offset, physical: physical.handle.0, mapping: mapping.addr };
                let make = |handle, serial| Window::new(handle, self, mapping, serial, Kind::Hccs(slot));
                Ok(windows.add(&self.core, make))
            }
            Err(error) => {
                if let Some(heap) = &mut windows.heap {
                    heap.leave(&self.core, physical.handle.0)?;
                }
                self.core.virtual_memory.unpin(mapping.addr);
                Err(error)
            }
        }
    }

    /// Says something to all ranks, and hears what they say.
    fn tell_all(&self, say: Say) -> Result<Vec<Say>> {
        let what = match say {
            Say::Register { .. } => "register a window",
            Say::Deregister { .. } => "deregister the window",
        };
        let members: Vec<u32> = (0..self.group.size()).collect();
        let said = self.group.windows.run(self, &members, say.clone(), what)?;
        let registers = |say: &Say| matches!(say, Say::Register { .. });
        if let Some((other, otherwise)) = said.iter().find(|(_, other)| registers(other) != registers(&say)) {
            return Err(para(format!(
                "the ranks do not do the same: rank {} {}, and rank {other} {}",
                self.rank,
                say.words(),
                otherwise.words()
            )));
        }
        Ok(said.values().cloned().collect())
    }

    /// Checks that all ranks register the same. Returns their physical memory.
    fn agree(&self, all: &[Say]) -> Result<Vec<Arc<Physical>>> {
        let size = self.group.size() as usize;
        if all.len() != size {
            let missing = size - all.len();
            return Err(remote(format!("{missing} ranks of {} have been destroyed: no window", self.group.name)));
        }
        let mut first = None;
        let mut physicals = Vec::with_capacity(size);
        for (rank, say) in all.iter().enumerate() {
            let Say::Register { asked, offset, physical } = say else { continue };
            physicals.push(physical.clone());
            let now = (*asked, physical.size, *offset);
            let (asked, mapped, offset) = *first.get_or_insert(now);
            if now == (asked, mapped, offset) {
                continue;
            }
            if (now.1, now.2) == (mapped, offset) {
                return Err(para(format!(
                    "a window must have one size on all ranks: rank 0 registers {asked} bytes, and rank {rank} {}",
                    now.0
                )));
            }
            return Err(internal(format!(
                "a window must have one size of physical memory and one place on all ranks: rank 0 has {mapped} bytes at byte \
                 {offset} of the heap, and rank {rank} {} at byte {}; register the same windows in the same order on all ranks",
                now.1, now.2
            )));
        }
        Ok(physicals)
    }

    pub(super) fn deregister_hccs(&self, window: &Window, slot: &Slot) -> Result<()> {
        let all = self.tell_all(Say::Deregister { serial: window.serial })?;
        let other = all.iter().find_map(|say| match say {
            Say::Deregister { serial } if *serial != window.serial => Some(*serial),
            _ => None,
        });
        if let Some(other) = other {
            return Err(para(format!(
                "the ranks do not deregister the same window: rank {} its window {}, and another rank its window {other}",
                self.rank, window.serial
            )));
        }
        let mut windows = lock(&self.windows);
        windows.remove(&self.core, window)?;
        self.core.virtual_memory.unpin(slot.mapping);
        match &mut windows.heap {
            Some(heap) => heap.leave(&self.core, slot.physical),
            None => Ok(()),
        }
    }
}
