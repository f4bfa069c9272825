//! What a communicator keeps for operators: engine contexts, the HCCL buffer, registered memory.

use crate::comm::error::{Result, in_status, not_found, not_support, para};
use crate::comm::handle::MemHandle;
use crate::comm::memory::{Place, Region};
use crate::comm::rank::RankState;
use crate::comm::sync::lock;
use crate::comm::thread::{CommEngine, Side};
use std::collections::BTreeMap;

/// The longest tag in bytes (`HCCL_RES_TAG_MAX_LEN`).
pub const MAX_TAG: usize = 255;
/// How tags begin that are the library's own.
const RESERVED: [&str; 2] = ["__hccl_sym_win__", "HcclBuffer"];

/// Contexts by tag and engine. The key has the engine's very value: one made for AICPU_TS is not found under AICPU.
pub(crate) type Contexts = BTreeMap<(String, CommEngine), Region>;

/// Registered memory.
#[derive(Debug, Default)]
pub(crate) struct Memories {
    by_tag: BTreeMap<String, (MemHandle, Region)>,
    made: u64,
}

impl Memories {
    pub(crate) fn clear(&mut self) {
        self.by_tag.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.by_tag.len()
    }

    /// The memory of a handle, with its tag.
    pub(crate) fn get(&self, handle: MemHandle) -> Option<(String, Region)> {
        let found = self.by_tag.iter().find(|(_, (other, _))| *other == handle);
        found.map(|(tag, (_, region))| (tag.clone(), *region))
    }
}

fn tag_is_possible(tag: &str) -> Result<()> {
    if tag.is_empty() || tag.len() > MAX_TAG {
        return Err(para(format!("a tag of {} bytes: it has 1 to {MAX_TAG}", tag.len())));
    }
    Ok(())
}

impl RankState {
    /// `HcclGetHcclBuffer`: made when it is first asked for.
    pub(crate) fn hccl_buffer(&self) -> Result<Region> {
        self.is_there()?;
        let mut buffer = lock(&self.buffer);
        if let Some(region) = *buffer {
            return Ok(region);
        }
        let size = self.config.buffer_size * 2;
        let region = Region { addr: self.core.memory.alloc(Place::Device(self.device), size)?, size };
        *buffer = Some(region);
        Ok(region)
    }

    /// `HcclGetHcclBufferCleared`: on the 950 only.
    pub(crate) fn hccl_buffer_cleared(&self) -> Result<Region> {
        if !self.core.is_v2() {
            return Err(not_support(format!("{} has no HcclGetHcclBufferCleared: the 950 has", self.core.product)));
        }
        let region = self.hccl_buffer()?;
        self.core.memory.fill(region.addr, 0, region.size)?;
        Ok(region)
    }

    /// `HcclCommMemReg`.
    pub(crate) fn register(&self, tag: &str, region: Region) -> Result<MemHandle> {
        self.is_ready()?;
        tag_is_possible(tag)?;
        if let Some(reserved) = RESERVED.into_iter().find(|reserved| tag.starts_with(reserved)) {
            return Err(para(format!("the tag `{tag}` begins with `{reserved}`, which is the library's")));
        }
        if region.size == 0 {
            return Err(para(format!("memory of 0 bytes under the tag `{tag}`")));
        }
        let Some((allocation, _)) =
            self.core.memory.find(region.addr).filter(|(allocation, _)| allocation.holds(region))
        else {
            return Err(para(format!("{region}, which are to be registered as `{tag}`, are not allocated")));
        };
        debug_assert!(allocation.holds(region));
        let mut memories = lock(&self.memories);
        if let Some((handle, had)) = memories.by_tag.get(tag) {
            return match *had == region {
                true => Ok(*handle),
                false => Err(para(format!("the tag `{tag}` is that of {had}, not of {region}"))),
            };
        }
        memories.made += 1;
        let handle = MemHandle(6 << 60 | self.handle.0 << 24 & 0x0fff_ffff_ff00_0000 | memories.made);
        memories.by_tag.insert(tag.to_owned(), (handle, region));
        Ok(handle)
    }

    /// `HcclEngineCtxCreate`: device memory for AICPU, AICPU_TS and AIV, host memory for the others.
    pub(crate) fn create_context(&self, tag: &str, engine: CommEngine, size: u64) -> Result<u64> {
        self.is_ready()?;
        tag_is_possible(tag)?;
        let key = (tag.to_owned(), engine);
        let mut contexts = lock(&self.contexts);
        if contexts.contains_key(&key) {
            return Err(in_status(format!("there is a context `{tag}` for {engine} already: destroy it first")));
        }
        let place = match engine.side() {
            Side::Device => Place::Device(self.device),
            Side::Host => Place::Host,
        };
        let addr = self.core.memory.alloc(place, size)?;
        contexts.insert(key, Region { addr, size });
        self.totals.contexts_made();
        Ok(addr)
    }

    /// `HcclEngineCtxGet`.
    pub(crate) fn context(&self, tag: &str, engine: CommEngine) -> Result<Region> {
        self.is_there()?;
        let contexts = lock(&self.contexts);
        if let Some(region) = contexts.get(&(tag.to_owned(), engine)) {
            return Ok(*region);
        }
        let other = contexts.keys().find(|(other, _)| other == tag);
        let but = other.map_or(String::new(), |(_, engine)| format!(": there is one for {engine}"));
        Err(not_found(format!("there is no context `{tag}` for {engine}{but}")))
    }

    /// `HcclEngineCtxCopy`: from the host into a context.
    pub(crate) fn copy_context(&self, tag: &str, engine: CommEngine, offset: u64, bytes: &[u8]) -> Result<()> {
        let region = self.context(tag, engine)?;
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > region.size) {
            let (len, size) = (bytes.len(), region.size);
            return Err(para(format!("{len} bytes at offset {offset} do not fit the context `{tag}` of {size} bytes")));
        }
        self.core.memory.write(region.addr + offset, bytes)
    }

    /// `HcclEngineCtxDestroy`.
    pub(crate) fn destroy_context(&self, tag: &str, engine: CommEngine) -> Result<()> {
        let region = self.context(tag, engine)?;
        lock(&self.contexts).remove(&(tag.to_owned(), engine));
        self.core.memory.free(region.addr)
    }
}
