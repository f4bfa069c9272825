//! Memory of devices and hosts: who keeps the bytes, and the keeper that needs no pointers.

use crate::comm::error::{CommError, Result, memory, not_found, not_support, oom, para};
use crate::comm::sync::{Mutex, lock, read, write};
use crate::comm::virtual_memory::GRANULARITY;
use crate::value;
use hcomm_core::dtype::{DataType, ReduceOp};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, RwLock};

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// On the host.
    Host,
    /// On a device.
    Device(u32),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Host => f.write_str("the host"),
            Place::Device(device) => write!(f, "device {device}"),
        }
    }
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region {
    /// The first address.
    pub addr: u64,
    /// How many bytes.
    pub size: u64,
}

impl Region {
    /// Whether all of `other` is in it.
    pub fn holds(&self, other: Region) -> bool {
        let end = other.addr.checked_add(other.size);
        other.addr >= self.addr && end.is_some_and(|end| end <= self.addr.saturating_add(self.size))
    }

    /// Whether the two share a byte.
    pub fn overlaps(&self, other: Region) -> bool {
        self.addr < other.addr.saturating_add(other.size) && other.addr < self.addr.saturating_add(self.size)
    }
}

impl std::fmt::Display for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes at {:#x}", self.size, self.addr)
    }
}

/// Keeps the bytes of a cluster.
///
/// Addresses are unique over all devices and hosts, so that an address that is mapped from a peer is like any other. All
/// of it may be called from many threads at once. A reduction is atomic for every element against other reductions, as
/// the hardware's is; nothing else is, and two copies into the same bytes leave a mix.
pub trait Memory: Send + Sync + std::fmt::Debug {
    /// New memory, at an address that is a multiple of 512. All of it is zero.
    ///
    /// # Errors
    ///
    /// [`Code::Oom`](crate::comm::Code::Oom) if the device has not so much left, [`Code::Para`](crate::comm::Code::Para)
    /// for a size of zero.
    fn alloc(&self, place: Place, bytes: u64) -> Result<u64>;

    /// Gives memory back.
    ///
    /// # Errors
    ///
    /// If the address is not one that [`alloc`](Memory::alloc) gave, or was given back before.
    fn free(&self, addr: u64) -> Result<()>;

    /// The allocation that an address is in, and where it is.
    fn find(&self, addr: u64) -> Option<(Region, Place)>;

    /// Copies `len` bytes, which may overlap.
    ///
    /// # Errors
    ///
    /// If a byte of either range is not allocated.
    fn copy(&self, dst: u64, src: u64, len: u64) -> Result<()>;

    /// dst ← dst ⊕ src for `count` elements.
    ///
    /// # Errors
    ///
    /// If a byte of either range is not allocated.
    fn reduce(&self, dst: u64, src: u64, count: u64, dtype: DataType, reduce: ReduceOp) -> Result<()>;

    /// Sets `len` bytes to `value`.
    ///
    /// # Errors
    ///
    /// If a byte of the range is not allocated.
    fn fill(&self, dst: u64, value: u8, len: u64) -> Result<()>;

    /// Writes bytes.
    ///
    /// # Errors
    ///
    /// If a byte of the range is not allocated.
    fn write(&self, dst: u64, bytes: &[u8]) -> Result<()>;

    /// Reads bytes.
    ///
    /// # Errors
    ///
    /// If a byte of the range is not allocated.
    fn read(&self, src: u64, bytes: &mut [u8]) -> Result<()>;

    /// Bytes that are allocated in a place.
    fn used(&self, place: Place) -> u64;

    /// Bytes that a device has, if that is known.
    fn capacity(&self) -> Option<u64> {
        None
    }

    /// Addresses without memory, from a multiple of [`GRANULARITY`](crate::comm::GRANULARITY) on. Here and in the five
    /// below are only means: the rules are [`Cluster::reserve`](crate::comm::Cluster::reserve)'s and its companions'.
    ///
    /// # Errors
    ///
    /// [`Code::NotSupport`](crate::comm::Code::NotSupport) if this memory has no such addresses.
    fn reserve(&self, bytes: u64) -> Result<u64> {
        Err(no_mappings(&format!("a reservation of {bytes} bytes")))
    }

    /// Gives addresses back that [`reserve`](Memory::reserve) gave, and that nothing is mapped to.
    ///
    /// # Errors
    ///
    /// If they are not such.
    fn unreserve(&self, addr: u64) -> Result<()> {
        Err(no_mappings(&format!("the reservation at {addr:#x}")))
    }

    /// New memory without an address, and a number for it. All of it is zero.
    ///
    /// # Errors
    ///
    /// As [`alloc`](Memory::alloc).
    fn block(&self, place: Place, bytes: u64) -> Result<u64> {
        Err(no_mappings(&format!("a block of {bytes} bytes on {place}")))
    }

    /// Gives a block back that is mapped nowhere.
    ///
    /// # Errors
    ///
    /// If there is no such block.
    fn free_block(&self, block: u64) -> Result<()> {
        Err(no_mappings(&format!("block {block:#x}")))
    }

    /// Lets reserved addresses stand for a block, all of it, from now on. A block may have several addresses.
    ///
    /// # Errors
    ///
    /// If there is no such block.
    fn map(&self, addr: u64, block: u64) -> Result<()> {
        Err(no_mappings(&format!("a mapping of block {block:#x} to {addr:#x}")))
    }

    /// Ends what [`map`](Memory::map) did.
    ///
    /// # Errors
    ///
    /// If nothing is mapped from that address on.
    fn unmap(&self, addr: u64) -> Result<()> {
        Err(no_mappings(&format!("the mapping at {addr:#x}")))
    }
}

fn no_mappings(what: &str) -> CommError {
    not_support(format!("{what}: this memory has no addresses of its own"))
}

/// Bytes of a page: a multiple of every element size. A page exists from the first write on.
const PAGE: u64 = 64 << 10;
/// Addresses of a place start at multiples of this; those of the host come first.
const PLACE_SHIFT: u32 = 44;
/// Distance between allocations, so that running over the end of one does not reach the next.
const GUARD: u64 = 4096;
/// Addresses that are reserved start here: above those of all places.
const RESERVED: u64 = 1 << 60;

/// Memory as segments of pages: no pointers, and every access is checked. Addresses are not used twice, so that memory
/// that was given back is told from memory that was not.
#[derive(Debug)]
pub struct Segments {
    all: RwLock<BTreeMap<u64, View>>,
    blocks: Mutex<BTreeMap<u64, Arc<Segment>>>,
    reserved: Mutex<Reserved>,
    places: Mutex<BTreeMap<Place, PlaceUse>>,
    /// Bytes of a device.
    capacity: u64,
}

/// A segment as it is seen from some addresses: its own, or some that are mapped to it.
#[derive(Clone, Debug)]
struct View {
    region: Region,
    segment: Arc<Segment>,
}

impl View {
    fn is_mapping(&self) -> bool {
        self.region != self.segment.region
    }
}

#[derive(Debug, Default)]
struct Reserved {
    ranges: BTreeMap<u64, u64>,
    /// Addresses that were reserved so far: none is reserved twice.
    next: u64,
}

/// Bytes that exist from the first write on; until then they are zero.
type Page = Mutex<Option<Box<[u8]>>>;
/// Pages of a group: it exists from the first write on too, so that a large allocation costs little.
const GROUP: u64 = 512;
type Group = OnceLock<Box<[Page]>>;

#[derive(Debug, Default)]
struct PlaceUse {
    used: u64,
    /// The next address, without the place's base.
    next: u64,
}

#[derive(Debug)]
struct Segment {
    region: Region,
    place: Place,
    pages: Box<[Group]>,
}

thread_local! {
    /// What a copy has read and not yet written.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Segments {
    /// Devices of `capacity` bytes each. The host has no limit.
    pub fn new(capacity: u64) -> Segments {
        Segments {
            all: RwLock::default(),
            blocks: Mutex::default(),
            reserved: Mutex::default(),
            places: Mutex::new(BTreeMap::new()),
            capacity,
        }
    }

    /// The segment behind a range, and where the range is by the segment's own addresses.
    fn segment(&self, addr: u64, len: u64) -> Result<(Arc<Segment>, u64)> {
        let all = read(&self.all);
        let found = all.range(..=addr).next_back().map(|(_, view)| view);
        match found {
            Some(View { region, segment }) if region.holds(Region { addr, size: len }) => {
                Ok((segment.clone(), segment.region.addr + (addr - region.addr)))
            }
            Some(View { region, .. }) if addr < region.addr + region.size => {
                Err(memory(format!("{} run over the end of the allocation of {region}", Region { addr, size: len },)))
            }
            _ => match lock(&self.reserved).ranges.range(..=addr).next_back() {
                Some((start, size)) if addr - start < *size => {
                    Err(memory(format!("nothing is mapped to {addr:#x}, which is only reserved")))
                }
                _ => Err(memory(format!("nothing is allocated at {addr:#x}"))),
            },
        }
    }

    /// A new segment, which no address stands for yet.
    fn new_segment(&self, place: Place, bytes: u64) -> Result<Arc<Segment>> {
        if bytes == 0 {
            return Err(para("an allocation of 0 bytes"));
        }
        let index = match place {
            Place::Host => 1,
            Place::Device(device) => u64::from(device) + 2,
        };
        let mut places = lock(&self.places);
        let uses = places.entry(place).or_default();
        let (used, capacity) = (uses.used, self.capacity);
        let fits = used.checked_add(bytes).is_some_and(|all| place == Place::Host || all <= capacity);
        let step = bytes.checked_add(GUARD).and_then(|bytes| bytes.checked_next_multiple_of(GUARD));
        let next = step.and_then(|step| uses.next.checked_add(step)).filter(|next| *next < 1 << PLACE_SHIFT);
        let Some(next) = next.filter(|_| fits) else {
            return Err(oom(format!("{bytes} bytes do not fit on {place}: {used} of {capacity} bytes are in use")));
        };
        let addr = (index << PLACE_SHIFT) + uses.next;
        uses.next = next;
        uses.used += bytes;
        drop(places);
        let region = Region { addr, size: bytes };
        let pages = (addr + bytes - 1) / PAGE - addr / PAGE + 1;
        let pages = (0..pages.div_ceil(GROUP)).map(|_| Group::new()).collect();
        Ok(Arc::new(Segment { region, place, pages }))
    }

    fn is_given_back(&self, segment: &Segment) {
        if let Some(uses) = lock(&self.places).get_mut(&segment.place) {
            uses.used -= segment.region.size;
        }
    }

    /// Pieces of a range that lie in one page each.
    fn pieces(addr: u64, len: u64) -> impl Iterator<Item = (u64, u64)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            if done == len {
                return None;
            }
            let at = addr + done;
            let piece = (PAGE - at % PAGE).min(len - done);
            done += piece;
            Some((at, piece))
        })
    }
}

impl Segment {
    /// The page of an address, and the place in it. Pages are cut where addresses are multiples of [`PAGE`].
    fn page(&self, addr: u64) -> (&Page, usize) {
        let (group, at) = self.group(addr);
        let pages = group.get_or_init(|| (0..GROUP).map(|_| Mutex::new(None)).collect());
        (&pages[at], (addr % PAGE) as usize)
    }

    /// The page of an address, if there is anything in its group.
    fn page_if_any(&self, addr: u64) -> Option<&Page> {
        let (group, at) = self.group(addr);
        group.get().map(|pages| &pages[at])
    }

    fn group(&self, addr: u64) -> (&Group, usize) {
        let page = addr / PAGE - self.region.addr / PAGE;
        (&self.pages[(page / GROUP) as usize], (page % GROUP) as usize)
    }

    /// Reads what lies in the segment.
    fn read(&self, addr: u64, out: &mut [u8]) {
        let mut done = 0;
        for (at, len) in Segments::pieces(addr, out.len() as u64) {
            let (page, from) = (self.page_if_any(at), (at % PAGE) as usize);
            let here = &mut out[done..done + len as usize];
            match page.map(lock).as_ref().and_then(|page| page.as_ref()) {
                Some(bytes) => here.copy_from_slice(&bytes[from..from + len as usize]),
                None => here.fill(0),
            }
            done += len as usize;
        }
    }

    fn write(&self, addr: u64, bytes: &[u8]) {
        let mut done = 0;
        for (at, len) in Segments::pieces(addr, bytes.len() as u64) {
            let (page, from) = self.page(at);
            let mut page = lock(page);
            fresh(&mut page)[from..from + len as usize].copy_from_slice(&bytes[done..done + len as usize]);
            done += len as usize;
        }
    }
}

fn fresh(page: &mut Option<Box<[u8]>>) -> &mut [u8] {
    page.get_or_insert_with(|| vec![0; PAGE as usize].into_boxed_slice())
}

impl Memory for Segments {
    fn alloc(&self, place: Place, bytes: u64) -> Result<u64> {
        let segment = self.new_segment(place, bytes)?;
        let region = segment.region;
        write(&self.all).insert(region.addr, View { region, segment });
        Ok(region.addr)
    }

    fn free(&self, addr: u64) -> Result<()> {
        let mut all = write(&self.all);
        match all.get(&addr) {
            None => Err(not_found(format!("no allocation starts at {addr:#x}, or it was given back before"))),
            Some(view) if view.is_mapping() => {
                Err(para(format!("a block is mapped to {addr:#x}: it is unmapped, not given back")))
            }
            Some(view) => {
                self.is_given_back(&view.segment);
                all.remove(&addr);
                Ok(())
            }
        }
    }

    fn find(&self, addr: u64) -> Option<(Region, Place)> {
        let all = read(&self.all);
        let (_, view) = all.range(..=addr).next_back()?;
        view.region.holds(Region { addr, size: 0 }).then_some((view.region, view.segment.place))
    }

    fn copy(&self, dst: u64, src: u64, len: u64) -> Result<()> {
        let ((to, dst), (from, src)) = (self.segment(dst, len)?, self.segment(src, len)?);
        BUFFER.with_borrow_mut(|buffer| {
            // Towards lower addresses from the front, towards higher ones from the back.
            let (step, backwards) = (PAGE, dst > src && dst - src < len);
            let blocks = len.div_ceil(step);
            for block in 0..blocks {
                let block = if backwards { blocks - 1 - block } else { block };
                let at = block * step;
                buffer.resize(step.min(len - at) as usize, 0);
                from.read(src + at, buffer);
                to.write(dst + at, buffer);
            }
        });
        Ok(())
    }

    fn reduce(&self, dst: u64, src: u64, count: u64, dtype: DataType, reduce: ReduceOp) -> Result<()> {
        let size = u64::from(dtype.size());
        let Some(len) = count.checked_mul(size) else {
            return Err(para(format!("a reduction of {count} elements is too large")));
        };
        let ((to, dst), (from, src)) = (self.segment(dst, len)?, self.segment(src, len)?);
        BUFFER.with_borrow_mut(|buffer| {
            let mut at = 0;
            while at < len {
                let here = dst + at;
                // Whole elements of one page; one element alone where it lies across two.
                let piece = ((PAGE - here % PAGE).min(len - at) / size * size).max(size);
                buffer.resize(piece as usize, 0);
                from.read(src + at, buffer);
                let (page, first) = to.page(here);
                let mut page = lock(page);
                if first + piece as usize <= PAGE as usize {
                    let bytes = &mut fresh(&mut page)[first..first + piece as usize];
                    value::reduce(dtype, reduce, bytes, buffer);
                } else {
                    // The lower page's lock makes it atomic for elements that lie alike.
                    let room = PAGE as usize - first;
                    let (next, _) = to.page(here + room as u64);
                    let mut next = lock(next);
                    let (low, high) = (fresh(&mut page), fresh(&mut next));
                    let mut element = low[first..].to_vec();
                    element.extend_from_slice(&high[..piece as usize - room]);
                    value::reduce(dtype, reduce, &mut element, buffer);
                    low[first..].copy_from_slice(&element[..room]);
                    high[..piece as usize - room].copy_from_slice(&element[room..]);
                }
                at += piece;
            }
        });
        Ok(())
    }

    fn fill(&self, dst: u64, value: u8, len: u64) -> Result<()> {
        let (to, dst) = self.segment(dst, len)?;
        for (at, len) in Segments::pieces(dst, len) {
            if value == 0 && to.page_if_any(at).is_none() {
                continue;
            }
            let (page, from) = to.page(at);
            let mut page = lock(page);
            if value != 0 || page.is_some() {
                fresh(&mut page)[from..from + len as usize].fill(value);
            }
        }
        Ok(())
    }

    fn write(&self, dst: u64, bytes: &[u8]) -> Result<()> {
        let (to, dst) = self.segment(dst, bytes.len() as u64)?;
        to.write(dst, bytes);
        Ok(())
    }

    fn read(&self, src: u64, bytes: &mut [u8]) -> Result<()> {
        let (from, src) = self.segment(src, bytes.len() as u64)?;
        from.read(src, bytes);
        Ok(())
    }

    fn used(&self, place: Place) -> u64 {
        lock(&self.places).get(&place).map_or(0, |uses| uses.used)
    }

    fn capacity(&self) -> Option<u64> {
        Some(self.capacity)
    }

    fn reserve(&self, bytes: u64) -> Result<u64> {
        let mut reserved = lock(&self.reserved);
        let next = bytes.checked_next_multiple_of(GRANULARITY).and_then(|bytes| {
            let next = bytes.checked_add(GRANULARITY)?.checked_add(reserved.next)?;
            (next < RESERVED).then_some(next)
        });
        let next = next.ok_or_else(|| oom(format!("there are not {bytes} bytes of addresses left to reserve")))?;
        let addr = RESERVED + reserved.next;
        reserved.next = next;
        reserved.ranges.insert(addr, bytes);
        Ok(addr)
    }

    fn unreserve(&self, addr: u64) -> Result<()> {
        let removed = lock(&self.reserved).ranges.remove(&addr);
        removed.map(|_| ()).ok_or_else(|| not_found(format!("nothing is reserved from {addr:#x} on")))
    }

    fn block(&self, place: Place, bytes: u64) -> Result<u64> {
        let segment = self.new_segment(place, bytes)?;
        let block = segment.region.addr;
        lock(&self.blocks).insert(block, segment);
        Ok(block)
    }

    fn free_block(&self, block: u64) -> Result<()> {
        let removed = lock(&self.blocks).remove(&block);
        let segment = removed.ok_or_else(|| not_found(format!("there is no block {block:#x}")))?;
        self.is_given_back(&segment);
        Ok(())
    }

    fn map(&self, addr: u64, block: u64) -> Result<()> {
        let segment = lock(&self.blocks).get(&block).cloned();
        let segment = segment.ok_or_else(|| not_found(format!("there is no block {block:#x}")))?;
        let region = Region { addr, size: segment.region.size };
        write(&self.all).insert(addr, View { region, segment });
        Ok(())
    }

    fn unmap(&self, addr: u64) -> Result<()> {
        let mut all = write(&self.all);
        match all.get(&addr) {
            Some(view) if view.is_mapping() => {
                all.remove(&addr);
                Ok(())
            }
            _ => Err(not_found(format!("nothing is mapped from {addr:#x} on"))),
        }
    }
}

#[cfg(test)]
mod tests;
