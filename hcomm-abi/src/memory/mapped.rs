//! Addresses without memory, and memory without addresses: what symmetric windows are made of. The rules of their use are
//! the communicator's; here are the system's calls.

use hcomm_sim::comm::{Code, CommError, GRANULARITY, Place, Result};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Reserved addresses, and blocks.
#[derive(Debug, Default)]
pub(super) struct Mappings {
    reserved: BTreeMap<u64, Reserved>,
    blocks: BTreeMap<u64, Block>,
    /// Blocks by the addresses that stand for them.
    mapped: BTreeMap<u64, u64>,
}

/// What the system gave: more than was asked for, so that a multiple of the granularity is in it.
#[derive(Debug)]
struct Reserved {
    size: u64,
    base: u64,
    all: usize,
}

/// Memory of a device, as a file that is nowhere.
#[derive(Debug)]
struct Block {
    place: Place,
    size: u64,
    file: OwnedFd,
}

fn system(what: &str) -> CommError {
    CommError::new(Code::Syscall, format!("{what}: {}", std::io::Error::last_os_error()))
}

fn none(what: String) -> CommError {
    CommError::new(Code::NotFound, what)
}

/// How addresses are kept for later: nothing can be done with them.
const KEPT: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

impl Mappings {
    pub(super) fn reserve(&mut self, bytes: u64) -> Result<u64> {
        let all = bytes.checked_add(GRANULARITY).and_then(|all| usize::try_from(all).ok());
        let all = all.ok_or_else(|| CommError::new(Code::Para, format!("a reservation of {bytes} bytes")))?;
        // SAFETY: a new mapping, anywhere, that nothing can be read from or written to.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), all, libc::PROT_NONE, KEPT, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(system(&format!("{bytes} bytes of addresses")));
        }
        let base = base as u64;
        let addr = base.next_multiple_of(GRANULARITY);
        self.reserved.insert(addr, Reserved { size: bytes, base, all });
        Ok(addr)
    }

    pub(super) fn unreserve(&mut self, addr: u64) -> Result<()> {
        let found = self.reserved.get(&addr).ok_or_else(|| none(format!("no reservation starts at {addr:#x}")))?;
        if let Some((at, _)) = self.mapped.range(addr..addr + found.size).next() {
            return Err(CommError::new(
                Code::InStatus,
                format!("memory is mapped to {at:#x} in the reservation at {addr:#x}"),
            ));
        }
        // SAFETY: the mapping is the one that `reserve` made, and nothing is mapped into it.
        if unsafe { libc::munmap(found.base as *mut libc::c_void, found.all) } != 0 {
            return Err(system(&format!("the reservation at {addr:#x}")));
        }
        self.reserved.remove(&addr);
        Ok(())
    }

    pub(super) fn block(&mut self, number: u64, place: Place, bytes: u64) -> Result<()> {
        let what = || format!("{bytes} bytes of memory on {place}");
        // SAFETY: the name is a string of C, and no flags are asked for.
        let file = unsafe { libc::memfd_create(c"hcomm".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(system(&what()));
        }
        // SAFETY: the file has just been opened, and nobody else has it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let length = libc::off_t::try_from(bytes).map_err(|_| CommError::new(Code::Oom, what()))?;
        // SAFETY: the file is open.
        if unsafe { libc::ftruncate(file.as_raw_fd(), length) } != 0 {
            return Err(system(&what()));
        }
        self.blocks.insert(number, Block { place, size: bytes, file });
        Ok(())
    }

    pub(super) fn free_block(&mut self, number: u64) -> Result<(Place, u64)> {
        if self.mapped.values().any(|block| *block == number) {
            return Err(CommError::new(Code::InStatus, format!("block {number} is still mapped")));
        }
        let gone = self.blocks.remove(&number).ok_or_else(|| none(format!("there is no block {number}")))?;
        Ok((gone.place, gone.size))
    }

    /// Where the block is, and how large.
    pub(super) fn map(&mut self, addr: u64, number: u64) -> Result<(Place, u64)> {
        let block = self.blocks.get(&number).ok_or_else(|| none(format!("there is no block {number}")))?;
        let in_reach = |(start, found): (&u64, &Reserved)| addr + block.size <= start + found.size;
        if !self.reserved.range(..=addr).next_back().is_some_and(in_reach) || !addr.is_multiple_of(GRANULARITY) {
            return Err(none(format!("{} bytes from {addr:#x} on are not reserved", block.size)));
        }
        if self.mapped.range(addr..addr + block.size).next().is_some() {
            return Err(CommError::new(Code::InStatus, format!("memory is mapped to {addr:#x} already")));
        }
        let (at, size) = (addr as *mut libc::c_void, block.size as usize);
        let (access, how) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: the addresses are reserved by this process for this, and nothing is mapped to them.
        if unsafe { libc::mmap(at, size, access, how, block.file.as_raw_fd(), 0) } == libc::MAP_FAILED {
            return Err(system(&format!("a mapping to {addr:#x}")));
        }
        self.mapped.insert(addr, number);
        Ok((block.place, block.size))
    }

    pub(super) fn unmap(&mut self, addr: u64, size: u64) -> Result<()> {
        let at = addr as *mut libc::c_void;
        // SAFETY: the addresses are those of a mapping that `map` made; they become reserved ones again.
        if unsafe { libc::mmap(at, size as usize, libc::PROT_NONE, KEPT | libc::MAP_FIXED, -1, 0) } == libc::MAP_FAILED
        {
            return Err(system(&format!("the mapping at {addr:#x}")));
        }
        self.mapped.remove(&addr);
        Ok(())
    }
}
