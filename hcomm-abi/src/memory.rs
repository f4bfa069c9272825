//! Memory that kernels can dereference: what is allocated has real addresses, and what is moved is looked up in the
//! table of allocations first, so that an access out of range is an error with a sentence and not a crash.

mod mapped;

use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_sim::comm::{Code, CommError, Memory, Place, Region, Result};
use mapped::Mappings;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// What the addresses of allocations are multiples of.
const ALIGN: u64 = 512;
/// What is between an allocation and what comes after it: running over an end is told from reaching something else.
const GUARD: u64 = 4096;
/// Reductions into one stripe of this many bytes take turns.
const STRIPE: u64 = 64 << 10;
/// How many locks the stripes share.
const LOCKS: usize = 64;

/// All allocations of the process.
#[derive(Debug)]
pub(crate) struct RawMemory {
    all: RwLock<BTreeMap<u64, Allocation>>,
    used: Mutex<BTreeMap<Place, u64>>,
    /// Bytes of a device.
    capacity: u64,
    serials: AtomicU64,
    mappings: Mutex<Mappings>,
    stripes: [Mutex<()>; LOCKS],
}

#[derive(Clone, Copy, Debug)]
struct Allocation {
    size: u64,
    place: Place,
    /// Counts allocations: an address may be given out again. Addresses that stand for one block have its number.
    serial: u64,
    /// What the allocator gave, and for what; `None` for addresses that a block is mapped to.
    given: Option<(u64, Layout)>,
}

impl RawMemory {
    /// Devices of `capacity` bytes each. The host has no limit.
    pub(crate) fn new(capacity: u64) -> RawMemory {
        RawMemory {
            all: RwLock::default(),
            used: Mutex::default(),
            capacity,
            serials: AtomicU64::new(0),
            mappings: Mutex::default(),
            stripes: std::array::from_fn(|_| Mutex::new(())),
        }
    }

    /// Bytes that a device has.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    fn table(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Allocation>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Allocation>> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn uses(&self) -> MutexGuard<'_, BTreeMap<Place, u64>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mappings(&self) -> MutexGuard<'_, Mappings> {
        self.mappings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self, place: Place, bytes: u64) -> CommError {
        let used = self.used(place);
        let sentence = format!("{bytes} bytes do not fit on {place}: {used} of {} bytes are in use", self.capacity);
        CommError::new(Code::Oom, sentence)
    }

    /// Counts bytes of a place, if it has them left.
    fn charge(&self, place: Place, bytes: u64) -> Result<()> {
        let mut uses = self.uses();
        let used = uses.entry(place).or_default();
        match used.checked_add(bytes) {
            Some(all) if matches!(place, Place::Host) || all <= self.capacity => {
                *used = all;
                Ok(())
            }
            _ => {
                drop(uses);
                Err(self.is_full(place, bytes))
            }
        }
    }

    fn is_given_back(&self, place: Place, bytes: u64) {
        if let Some(used) = self.uses().get_mut(&place) {
            *used -= bytes;
        }
    }

    /// The allocation that an address is in: its number, which no other has, its first byte, and where it is.
    pub(crate) fn allocation(&self, addr: u64) -> Option<(u64, u64, Place)> {
        let table = self.table();
        let (&start, found) = table.range(..=addr).next_back()?;
        (addr - start <= found.size).then_some((found.serial, start, found.place))
    }

    /// Checks that `len` bytes from `addr` are allocated, in one piece.
    ///
    /// # Errors
    ///
    /// `HCCL_E_MEMORY`, with the allocation that they run over.
    pub(crate) fn check(&self, addr: u64, len: u64) -> Result<()> {
        lookup(&self.table(), addr, len).map(|_| ())
    }
}

impl RawMemory {
    /// dst ← dst ⊕ src, where the source is not in the table.
    ///
    /// # Errors
    ///
    /// If a byte of the destination is not allocated.
    pub(crate) fn reduce_from(&self, dst: u64, src: &[u8], dtype: DataType, reduce: ReduceOp) -> Result<()> {
        let table = self.table();
        lookup(&table, dst, src.len() as u64)?;
        self.combine(dst, src.as_ptr() as u64, src.len() as u64, dtype, reduce);
        Ok(())
    }

    /// Both ranges are there, and stay so meanwhile: the table's lock is held, or the source is borrowed.
    fn combine(&self, dst: u64, src: u64, len: u64, dtype: DataType, reduce: ReduceOp) {
        let size = u64::from(dtype.size());
        let (mut acc, mut other) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < len {
            // The elements that start in one stripe.
            let room = STRIPE - (dst + at) % STRIPE;
            let piece = (room.div_ceil(size) * size).min(len - at);
            let stripe = &self.stripes[((dst + at) / STRIPE) as usize % LOCKS];
            let turn = stripe.lock().unwrap_or_else(PoisonError::into_inner);
            acc.resize(piece as usize, 0);
            other.resize(piece as usize, 0);
            // SAFETY: the ranges are there, as the caller says, and the vectors are as long as what is copied. Who races
            // with it gets a mix of bytes, as from the hardware.
            unsafe {
                std::ptr::copy_nonoverlapping((src + at) as *const u8, other.as_mut_ptr(), piece as usize);
                std::ptr::copy_nonoverlapping((dst + at) as *const u8, acc.as_mut_ptr(), piece as usize);
            }
            hcomm_sim::value::reduce(dtype, reduce, &mut acc, &other);
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(acc.as_ptr(), (dst + at) as *mut u8, piece as usize) };
            drop(turn);
            at += piece;
        }
    }
}

fn memory(sentence: String) -> CommError {
    CommError::new(Code::Memory, sentence)
}

fn lookup(table: &BTreeMap<u64, Allocation>, addr: u64, len: u64) -> Result<Allocation> {
    let wanted = Region { addr, size: len };
    match table.range(..=addr).next_back() {
        Some((&start, found)) if (Region { addr: start, size: found.size }).holds(wanted) => Ok(*found),
        Some((&start, found)) if addr - start <= found.size => {
            let over = (addr - start).saturating_add(len) - found.size;
            Err(memory(format!(
                "{len} bytes from byte {} of an allocation of {} bytes on {} run {over} bytes over its end",
                addr - start,
                found.size,
                found.place
            )))
        }
        _ => Err(memory(format!("nothing is allocated at {addr:#x}"))),
    }
}

impl Memory for RawMemory {
    fn alloc(&self, place: Place, bytes: u64) -> Result<u64> {
        if bytes == 0 {
            return Err(CommError::new(Code::Para, "an allocation of 0 bytes"));
        }
        let full = || self.is_full(place, bytes);
        let layout = bytes.checked_add(ALIGN + GUARD).and_then(|all| usize::try_from(all).ok());
        let layout = layout.and_then(|all| Layout::from_size_align(all, 16).ok()).ok_or_else(full)?;
        self.charge(place, bytes)?;
        // SAFETY: the layout has a size, as GUARD has one. An alignment of 16 lets the allocator hand out pages that the
        // system has zeroed, which a larger one would not: HCCL buffers are large and mostly never touched.
        let base = unsafe { alloc_zeroed(layout) } as u64;
        if base == 0 {
            self.is_given_back(place, bytes);
            return Err(full());
        }
        let addr = base.next_multiple_of(ALIGN);
        let serial = self.serials.fetch_add(1, Ordering::Relaxed) + 1;
        self.table_mut().insert(addr, Allocation { size: bytes, place, serial, given: Some((base, layout)) });
        Ok(addr)
    }

    fn free(&self, addr: u64) -> Result<()> {
        let mut table = self.table_mut();
        let given = table.get(&addr).and_then(|found| found.given);
        let (Some((base, layout)), Some(gone)) = (given, given.and_then(|_| table.remove(&addr))) else {
            let sentence = format!("no allocation starts at {addr:#x}, or it was given back before");
            return Err(CommError::new(Code::NotFound, sentence));
        };
        drop(table);
        self.is_given_back(gone.place, gone.size);
        // SAFETY: `base` came from `alloc_zeroed` with this layout, and is given back once: it has left the table, whose
        // lock every access of ours holds. A kernel that still uses it is at fault as it would be on hardware.
        unsafe { dealloc(base as *mut u8, layout) };
        Ok(())
    }

    fn find(&self, addr: u64) -> Option<(Region, Place)> {
        let table = self.table();
        let (&start, found) = table.range(..=addr).next_back()?;
        let region = Region { addr: start, size: found.size };
        region.holds(Region { addr, size: 0 }).then_some((region, found.place))
    }

    fn copy(&self, dst: u64, src: u64, len: u64) -> Result<()> {
        let table = self.table();
        lookup(&table, src, len)?;
        lookup(&table, dst, len)?;
        // SAFETY: both ranges are allocated, and stay so while the table's lock is held. Who races with this copy gets a
        // mix of bytes, as from the hardware; no reference to the memory exists on this side.
        unsafe { std::ptr::copy(src as *const u8, dst as *mut u8, len as usize) };
        Ok(())
    }

    fn reduce(&self, dst: u64, src: u64, count: u64, dtype: DataType, reduce: ReduceOp) -> Result<()> {
        let too_large = || CommError::new(Code::Para, format!("a reduction of {count} elements is too large"));
        let len = count.checked_mul(u64::from(dtype.size())).ok_or_else(too_large)?;
        let table = self.table();
        lookup(&table, src, len)?;
        lookup(&table, dst, len)?;
        self.combine(dst, src, len, dtype, reduce);
        Ok(())
    }

    fn fill(&self, dst: u64, value: u8, len: u64) -> Result<()> {
        let table = self.table();
        lookup(&table, dst, len)?;
        // SAFETY: as in `copy`.
        unsafe { std::ptr::write_bytes(dst as *mut u8, value, len as usize) };
        Ok(())
    }

    fn write(&self, dst: u64, bytes: &[u8]) -> Result<()> {
        let table = self.table();
        lookup(&table, dst, bytes.len() as u64)?;
        // SAFETY: as in `copy`; `bytes` may be part of an allocation, so the ranges may overlap.
        unsafe { std::ptr::copy(bytes.as_ptr(), dst as *mut u8, bytes.len()) };
        Ok(())
    }

    fn read(&self, src: u64, bytes: &mut [u8]) -> Result<()> {
        let table = self.table();
        lookup(&table, src, bytes.len() as u64)?;
        // SAFETY: as in `copy`.
        unsafe { std::ptr::copy(src as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn used(&self, place: Place) -> u64 {
        self.uses().get(&place).copied().unwrap_or(0)
    }

    fn capacity(&self) -> Option<u64> {
        Some(self.capacity)
    }

    fn reserve(&self, bytes: u64) -> Result<u64> {
        self.mappings().reserve(bytes)
    }

    fn unreserve(&self, addr: u64) -> Result<()> {
        self.mappings().unreserve(addr)
    }

    fn block(&self, place: Place, bytes: u64) -> Result<u64> {
        self.charge(place, bytes)?;
        let serial = self.serials.fetch_add(1, Ordering::Relaxed) + 1;
        let made = self.mappings().block(serial, place, bytes);
        if made.is_err() {
            self.is_given_back(place, bytes);
        }
        made.map(|()| serial)
    }

    fn free_block(&self, block: u64) -> Result<()> {
        let (place, bytes) = self.mappings().free_block(block)?;
        self.is_given_back(place, bytes);
        Ok(())
    }

    fn map(&self, addr: u64, block: u64) -> Result<()> {
        // With the table's lock held, so that nobody looks up what is changing.
        let mut table = self.table_mut();
        let (place, size) = self.mappings().map(addr, block)?;
        table.insert(addr, Allocation { size, place, serial: block, given: None });
        Ok(())
    }

    fn unmap(&self, addr: u64) -> Result<()> {
        let mut table = self.table_mut();
        let Some(found) = table.get(&addr).filter(|found| found.given.is_none()) else {
            return Err(CommError::new(Code::NotFound, format!("nothing is mapped from {addr:#x} on")));
        };
        self.mappings().unmap(addr, found.size)?;
        table.remove(&addr);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn accesses_stay_in_their_allocation() {
        let memory = RawMemory::new(1 << 20);
        let place = Place::Device(3);
        let first = memory.alloc(place, 1000).unwrap();
        let second = memory.alloc(place, 2000).unwrap();
        assert_eq!((first % ALIGN, memory.used(place)), (0, 3000));
        memory.fill(first, 7, 1000).unwrap();
        memory.copy(second + 1000, first, 1000).unwrap();
        let mut bytes = [0; 2];
        memory.read(second + 999, &mut bytes).unwrap();
        assert_eq!(bytes, [0, 7]);
        let over = memory.copy(second + 1001, first, 1000).unwrap_err();
        assert_eq!(over.code, Code::Memory);
        let words = "1000 bytes from byte 1001 of an allocation of 2000 bytes on device 3 run 1 bytes over its end";
        assert_eq!(over.sentence, words);
        assert_eq!(memory.find(first + 1000).map(|found| found.1), Some(place));
        memory.free(first).unwrap();
        assert_eq!(memory.free(first).unwrap_err().code, Code::NotFound);
        assert_eq!(memory.copy(second, first, 1).unwrap_err().code, Code::Memory);
        let too_much = memory.alloc(place, 1 << 20).unwrap_err();
        assert_eq!(too_much.code, Code::Oom);
        assert!(too_much.sentence.contains("2000 of 1048576 bytes are in use"), "{too_much}");
    }

    #[test]
    fn addresses_of_one_block_are_one_memory() {
        const SIZE: u64 = 2 << 20;
        let memory = RawMemory::new(8 << 20);
        let place = Place::Device(1);
        let block = memory.block(place, SIZE).unwrap();
        let (here, there) = (memory.reserve(SIZE).unwrap(), memory.reserve(2 * SIZE).unwrap());
        assert_eq!((here % SIZE, memory.used(place)), (0, SIZE));
        assert!(memory.fill(here, 1, 1).is_err());
        memory.map(here, block).unwrap();
        memory.map(there + SIZE, block).unwrap();
        memory.fill(here + 5, 7, 1).unwrap();
        let mut bytes = [0; 2];
        memory.read(there + SIZE + 4, &mut bytes).unwrap();
        assert_eq!(bytes, [0, 7]);
        assert_eq!(
            memory.allocation(here + 5).map(|found| found.0),
            memory.allocation(there + SIZE).map(|found| found.0)
        );
        assert_eq!(memory.free(here).unwrap_err().code, Code::NotFound);
        assert!(memory.free_block(block).is_err() && memory.unreserve(here).is_err());
        memory.unmap(here).unwrap();
        assert!(memory.read(here, &mut bytes).is_err() && memory.unmap(here).is_err());
        memory.unmap(there + SIZE).unwrap();
        memory.free_block(block).unwrap();
        memory.unreserve(here).unwrap();
        memory.unreserve(there).unwrap();
        assert!(memory.unreserve(there).is_err());
        assert_eq!(memory.used(place), 0);
    }

    #[test]
    fn elements_over_the_edge_of_a_stripe_are_reduced_once() {
        let memory = RawMemory::new(1 << 30);
        let count = 3 * STRIPE / 4;
        let (a, b) = (memory.alloc(Place::Device(0), 4 * count + 8), memory.alloc(Place::Device(0), 4 * count + 8));
        let (a, b) = (a.unwrap() + 2, b.unwrap());
        let ones: Vec<u8> = (0..count).flat_map(|_| 1i32.to_ne_bytes()).collect();
        memory.write(b, &ones).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| memory.reduce(a, b, count, DataType::Int32, ReduceOp::Sum).unwrap());
            }
        });
        let mut bytes = vec![0; 4 * count as usize];
        memory.read(a, &mut bytes).unwrap();
        assert!(bytes.chunks_exact(4).all(|element| element == 4i32.to_ne_bytes()));
    }
}
