//! Addresses and memory apart, as the ACL runtime offers them (facts 7.2): addresses are reserved, physical memory is
//! allocated, and one is mapped to the other. The rules are here; [`Memory`](crate::comm::Memory) has the means.
//!
//! The order back is unmap, free the physical memory, release the addresses; and what lies in a symmetric window is
//! deregistered first. Out of order is [`Code::InStatus`](crate::comm::Code::InStatus).

use crate::comm::cluster::Cluster;
use crate::comm::error::{Result, in_status, not_found, null, para};
use crate::comm::handle::{PhysicalHandle, Table};
use crate::comm::memory::{Memory, Place, Region};
use crate::comm::sync::{Mutex, lock};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What sizes and addresses of mappings are multiples of (`aclrtMemGetAllocationGranularity`, facts 7.3).
pub const GRANULARITY: u64 = 2 << 20;

/// Memory that has no address of its own.
#[derive(Debug)]
pub(crate) struct Physical {
    pub(crate) handle: PhysicalHandle,
    pub(crate) device: u32,
    pub(crate) size: u64,
    /// Its number in the memory.
    block: u64,
}

/// What is reserved, allocated and mapped on a cluster.
#[derive(Debug, Default)]
pub(crate) struct VirtualMemory {
    table: Table<Physical>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    reserved: BTreeMap<u64, Reservation>,
    mapped: BTreeMap<u64, Mapped>,
    /// By block, until it is given back.
    uses: BTreeMap<u64, Uses>,
}

#[derive(Clone, Copy, Debug)]
struct Reservation {
    size: u64,
    /// Whether it is a communicator's.
    heap: bool,
}

#[derive(Debug)]
struct Mapped {
    physical: Arc<Physical>,
    /// Windows over it.
    windows: usize,
    heap: bool,
}

/// What uses a block.
#[derive(Debug, Default)]
struct Uses {
    /// Whether its handle is gone.
    freed: bool,
    /// Mappings that its owner made.
    mappings: usize,
    /// Mappings in communicators' heaps, which keep it as an imported handle does.
    imports: usize,
}

/// How much there is: reservations, physical memories, mappings.
pub(crate) type Held = (usize, usize, usize);

impl State {
    /// The reservation that an address is in.
    fn reservation(&self, addr: u64) -> Option<(u64, Reservation)> {
        let (start, reservation) = self.reserved.range(..=addr).next_back()?;
        (addr - start < reservation.size).then_some((*start, *reservation))
    }

    /// Mappings that share a byte with a range.
    fn mappings_in(&self, region: Region) -> impl Iterator<Item = (Region, &Mapped)> {
        let end = region.addr.saturating_add(region.size);
        let all =
            self.mapped.range(..end).map(|(addr, mapped)| (Region { addr: *addr, size: mapped.physical.size }, mapped));
        // They do not overlap, so all but the last few are out of reach.
        all.rev().take_while(move |(other, _)| other.overlaps(region))
    }
}

impl VirtualMemory {
    pub(crate) fn held(&self) -> Held {
        let state = lock(&self.state);
        (state.reserved.len(), state.uses.len(), state.mapped.len())
    }

    pub(crate) fn reserve(&self, memory: &dyn Memory, bytes: u64, heap: bool) -> Result<u64> {
        if bytes == 0 {
            return Err(para("a reservation of 0 bytes of addresses"));
        }
        let mut state = lock(&self.state);
        let addr = memory.reserve(bytes)?;
        state.reserved.insert(addr, Reservation { size: bytes, heap });
        Ok(addr)
    }

    pub(crate) fn release(&self, memory: &dyn Memory, addr: u64, heap: bool) -> Result<()> {
        let mut state = lock(&self.state);
        let Some(found) = state.reserved.get(&addr).copied().filter(|found| found.heap == heap) else {
            return Err(match state.reservation(addr) {
                _ if addr == 0 => null("the address to release is null"),
                Some((start, Reservation { size, heap: false })) => para(format!(
                    "{addr:#x} is inside the {size} bytes reserved from {start:#x} on: release that address"
                )),
                _ => not_found(format!("nothing is reserved from {addr:#x} on, or it was released before")),
            });
        };
        if let Some((mapping, _)) = state.mappings_in(Region { addr, size: found.size }).next() {
            return Err(in_status(format!(
                "the {} bytes reserved from {addr:#x} on have a mapping of {mapping}: unmap it, free its physical memory, \
                 then release the addresses",
                found.size
            )));
        }
        memory.unreserve(addr)?;
        state.reserved.remove(&addr);
        Ok(())
    }

    fn allocate(&self, memory: &dyn Memory, device: u32, bytes: u64) -> Result<PhysicalHandle> {
        let mut state = lock(&self.state);
        let block = memory.block(Place::Device(device), bytes)?;
        state.uses.insert(block, Uses::default());
        let (handle, _) = self.table.insert(|handle| Arc::new(Physical { handle, device, size: bytes, block }));
        Ok(handle)
    }

    fn free(&self, memory: &dyn Memory, handle: PhysicalHandle) -> Result<()> {
        let mut state = lock(&self.state);
        let physical = self.table.get(handle)?;
        let mapped = state.mapped.iter().find(|(_, mapped)| !mapped.heap && mapped.physical.block == physical.block);
        if let Some((addr, _)) = mapped {
            return Err(in_status(format!(
                "the {} bytes of physical memory are mapped to {addr:#x}: unmap them, then free them",
                physical.size
            )));
        }
        self.table.remove(handle)?;
        if let Some(uses) = state.uses.get_mut(&physical.block) {
            uses.freed = true;
        }
        state.give_back(memory, physical.block)
    }

    fn map(&self, memory: &dyn Memory, addr: u64, bytes: u64, handle: PhysicalHandle) -> Result<()> {
        if addr == 0 {
            return Err(null("the address to map to is null"));
        }
        let mut state = lock(&self.state);
        let physical = self.table.get(handle)?;
        if bytes != physical.size {
            let size = physical.size;
            return Err(para(format!("a mapping of {bytes} bytes of {size}: physical memory is mapped as a whole")));
        }
        if !bytes.is_multiple_of(GRANULARITY) || !addr.is_multiple_of(GRANULARITY) {
            return Err(para(format!(
                "a mapping of {bytes} bytes to {addr:#x}: both must be multiples of the granularity, {GRANULARITY} bytes"
            )));
        }
        let region = Region { addr, size: bytes };
        let Some((start, reservation)) = state.reservation(addr).filter(|(_, found)| !found.heap) else {
            return Err(para(format!("{addr:#x} is not reserved: reserve the addresses first")));
        };
        let whole = Region { addr: start, size: reservation.size };
        if !whole.holds(region) {
            return Err(para(format!("{region} run over the end of the reservation of {whole}")));
        }
        if let Some((mapping, _)) = state.mappings_in(region).next() {
            return Err(in_status(format!("{region} have a mapping of {mapping} already: unmap it first")));
        }
        let other = state.mappings_in(whole).find(|(_, mapped)| mapped.physical.device != physical.device);
        if let Some((mapping, other)) = other {
            return Err(para(format!(
                "memory of device {} in a reservation that has memory of device {} mapped ({mapping}): one reservation is \
                 for one device",
                physical.device, other.physical.device
            )));
        }
        memory.map(addr, physical.block)?;
        state.uses.entry(physical.block).or_default().mappings += 1;
        state.mapped.insert(addr, Mapped { physical, windows: 0, heap: false });
        Ok(())
    }

    fn unmap(&self, memory: &dyn Memory, addr: u64) -> Result<()> {
        if addr == 0 {
            return Err(null("the address to unmap is null"));
        }
        let mut state = lock(&self.state);
        let Some(mapped) = state.mapped.get(&addr).filter(|mapped| !mapped.heap) else {
            return Err(not_found(format!("nothing is mapped from {addr:#x} on, or it was unmapped before")));
        };
        let (block, windows) = (mapped.physical.block, mapped.windows);
        if windows > 0 {
            return Err(in_status(format!(
                "the {} bytes mapped to {addr:#x} are in a symmetric window: deregister it on all ranks, then unmap them",
                mapped.physical.size
            )));
        }
        memory.unmap(addr)?;
        state.mapped.remove(&addr);
        if let Some(uses) = state.uses.get_mut(&block) {
            uses.mappings -= 1;
        }
        Ok(())
    }

    /// The mapping that an address is in, of those that users made.
    pub(crate) fn mapping(&self, addr: u64) -> Option<(Region, Arc<Physical>)> {
        let state = lock(&self.state);
        let (region, mapped) = state.mappings_in(Region { addr, size: 1 }).next()?;
        (!mapped.heap).then(|| (region, mapped.physical.clone()))
    }

    /// Whether two ranges have a byte of memory in common, by whatever addresses.
    pub(crate) fn share(&self, one: Region, other: Region) -> bool {
        let physical = |region: Region| {
            let (mapping, physical) = self.mapping(region.addr)?;
            Some((physical.block, Region { addr: region.addr - mapping.addr, size: region.size }))
        };
        let same_block = || match (physical(one), physical(other)) {
            (Some((block, one)), Some((same, other))) => block == same && one.overlaps(other),
            _ => false,
        };
        one.size > 0 && other.size > 0 && (one.overlaps(other) || same_block())
    }

    /// Counts a window over a mapping, which may not be unmapped as long as there is one.
    pub(crate) fn pin(&self, addr: u64) -> bool {
        let mut state = lock(&self.state);
        state.mapped.get_mut(&addr).is_some_and(|mapped| {
            mapped.windows += 1;
            true
        })
    }

    pub(crate) fn unpin(&self, addr: u64) {
        if let Some(mapped) = lock(&self.state).mapped.get_mut(&addr) {
            mapped.windows -= 1;
        }
    }

    /// Maps memory into a communicator's heap, which keeps it.
    pub(crate) fn import(&self, memory: &dyn Memory, addr: u64, physical: &Arc<Physical>) -> Result<()> {
        let mut state = lock(&self.state);
        let Some(uses) = state.uses.get_mut(&physical.block) else {
            return Err(not_found(format!("the {} bytes of physical memory have been freed", physical.size)));
        };
        uses.imports += 1;
        if let Err(error) = memory.map(addr, physical.block) {
            uses.imports -= 1;
            return Err(error);
        }
        state.mapped.insert(addr, Mapped { physical: physical.clone(), windows: 0, heap: true });
        Ok(())
    }

    pub(crate) fn forget(&self, memory: &dyn Memory, addr: u64) -> Result<()> {
        let mut state = lock(&self.state);
        let Some(mapped) = state.mapped.remove(&addr) else {
            return Err(not_found(format!("nothing is mapped from {addr:#x} on")));
        };
        memory.unmap(addr)?;
        if let Some(uses) = state.uses.get_mut(&mapped.physical.block) {
            uses.imports -= 1;
        }
        state.give_back(memory, mapped.physical.block)
    }
}

impl State {
    /// Gives a block back that nobody has any more.
    fn give_back(&mut self, memory: &dyn Memory, block: u64) -> Result<()> {
        match self.uses.get(&block) {
            Some(uses) if uses.freed && uses.mappings == 0 && uses.imports == 0 => {
                self.uses.remove(&block);
                memory.free_block(block)
            }
            _ => Ok(()),
        }
    }
}

impl Cluster {
    /// `aclrtReserveMemAddress`: addresses without memory, from a multiple of [`GRANULARITY`] on.
    ///
    /// # Errors
    ///
    /// For 0 bytes, or if there are not so many addresses.
    pub fn reserve(&self, bytes: u64) -> Result<u64> {
        self.core.is_open()?;
        self.core.virtual_memory.reserve(&*self.core.memory, bytes, false)
    }

    /// `aclrtReleaseMemAddress`.
    ///
    /// # Errors
    ///
    /// If they are not such, or something is mapped to them.
    pub fn release(&self, addr: u64) -> Result<()> {
        self.core.virtual_memory.release(&*self.core.memory, addr, false)
    }

    /// `aclrtMallocPhysical`: memory of a device without an address. Only multiples of [`GRANULARITY`] can be mapped.
    ///
    /// # Errors
    ///
    /// As [`alloc`](Cluster::alloc).
    pub fn allocate_physical(&self, device: u32, bytes: u64) -> Result<PhysicalHandle> {
        self.core.is_open()?;
        self.core.is_device(device)?;
        self.core.virtual_memory.allocate(&*self.core.memory, device, bytes)
    }

    /// `aclrtFreePhysical`. Where peers have it mapped in symmetric windows, it is theirs until they let go.
    ///
    /// # Errors
    ///
    /// If it is mapped, or was freed before.
    pub fn free_physical(&self, handle: PhysicalHandle) -> Result<()> {
        self.core.virtual_memory.free(&*self.core.memory, handle)
    }

    /// `aclrtMapMem`: lets reserved addresses stand for physical memory, all of its `bytes`. It may be mapped to others
    /// too: they stand for the same memory.
    ///
    /// # Errors
    ///
    /// For addresses that are not reserved or have a mapping, other sizes than the memory's, what is not a multiple of
    /// [`GRANULARITY`], and memory of two devices in one reservation.
    pub fn map(&self, addr: u64, bytes: u64, handle: PhysicalHandle) -> Result<()> {
        self.core.is_open()?;
        self.core.virtual_memory.map(&*self.core.memory, addr, bytes, handle)
    }

    /// `aclrtUnmapMem`.
    ///
    /// # Errors
    ///
    /// If nothing is mapped from there on, or it is in a symmetric window.
    pub fn unmap(&self, addr: u64) -> Result<()> {
        self.core.virtual_memory.unmap(&*self.core.memory, addr)
    }

    /// [`reserve`](Cluster::reserve), [`allocate_physical`](Cluster::allocate_physical) and [`map`](Cluster::map) at once,
    /// of `bytes` rounded up to [`GRANULARITY`].
    ///
    /// # Errors
    ///
    /// As these. What was made before the error is given back.
    pub fn map_new(&self, device: u32, bytes: u64) -> Result<(u64, PhysicalHandle)> {
        let bytes = bytes.max(1).checked_next_multiple_of(GRANULARITY);
        let bytes = bytes.ok_or_else(|| para("a mapping of more bytes than there are addresses"))?;
        let addr = self.reserve(bytes)?;
        let physical = match self.allocate_physical(device, bytes) {
            Ok(physical) => physical,
            Err(error) => {
                self.release(addr)?;
                return Err(error);
            }
        };
        if let Err(error) = self.map(addr, bytes, physical) {
            self.free_physical(physical)?;
            self.release(addr)?;
            return Err(error);
        }
        Ok((addr, physical))
    }

    /// What [`map_new`](Cluster::map_new) made, back in the order of the rules.
    ///
    /// # Errors
    ///
    /// As these.
    pub fn unmap_all(&self, addr: u64, physical: PhysicalHandle) -> Result<()> {
        self.unmap(addr)?;
        self.free_physical(physical)?;
        self.release(addr)
    }
}
