//! Channels of a communicator.

use super::layout::{CHANNEL_MAGIC, ChannelDesc, CommMem, Endpoint, engine, protocol, put_region};
use crate::ffi::{self, c_functions, put, slice};
use crate::state::{State, lock, state};
use hcomm_sim::comm::{self, ChannelHandle, Code, CommError, MemHandle, Result};
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::sync::Mutex;

fn para(sentence: impl Into<String>) -> CommError {
    CommError::new(Code::Para, sentence)
}

/// What `HcclChannelGetRemoteMems` gives out, which belongs to the library: by channel.
static REMOTE: Mutex<BTreeMap<u64, Remote>> = Mutex::new(BTreeMap::new());

struct Remote {
    memories: Box<[CommMem]>,
    tags: Box<[*mut c_char]>,
    /// What the tags point to.
    _names: Vec<CString>,
}

// SAFETY: the pointers are to what the value owns itself, and to memory of devices, which belongs to no thread.
unsafe impl Send for Remote {}

/// A number for a pair of endpoints; 0 where nothing is said about them.
fn endpoints(local: &Endpoint, remote: &Endpoint) -> u64 {
    let words = |end: &Endpoint| {
        let mut words = vec![end.protocol as u32, end.addr_type as u32, end.loc_type as u32];
        words.extend(end.addr);
        words.extend(end.loc);
        words
    };
    let (a, b) = (words(local), words(remote));
    if a.iter().chain(&b).all(|word| *word == u32::MAX) {
        return 0;
    }
    // FNV-1a: to tell pairs apart, not to hide anything.
    a.iter()
        .chain(&b)
        .fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ u64::from(*word)).wrapping_mul(0x0100_0000_01b3))
}

/// # Safety
///
/// The memory handles of the description are there.
unsafe fn desc(desc: &ChannelDesc) -> Result<comm::ChannelDesc> {
    if desc.header.magic != CHANNEL_MAGIC {
        return Err(para("a channel description has not been through HcclChannelDescInit"));
    }
    // SAFETY: as the caller says.
    let memories = unsafe { slice(desc.memories, desc.memory_count as usize, "memHandles")? };
    let memories: Vec<MemHandle> = memories.iter().map(|handle| MemHandle(ffi::number(*handle))).collect();
    let channel = comm::ChannelDesc::new(desc.remote_rank, desc.notifies)
        .memories(memories)
        .endpoints(endpoints(&desc.local, &desc.remote));
    match desc.protocol {
        -1 => Ok(channel),
        number => Ok(channel.protocol(protocol(number)?)),
    }
}

/// # Safety
///
/// The pointers are null, or there are `count` descriptions and room for as many handles.
unsafe fn acquire(comm: *mut c_void, of: i32, descs: *const ChannelDesc, count: u32, out: *mut u64) -> Result<()> {
    if out.is_null() {
        return Err(CommError::new(Code::Ptr, "`channels` is null"));
    }
    // SAFETY: as the caller says.
    let descs = unsafe { slice(descs, count as usize, "channelDescs")? };
    // SAFETY: as the caller says.
    let descs = descs.iter().map(|each| unsafe { desc(each) }).collect::<Result<Vec<_>>>()?;
    let state = state()?;
    let comm = state.comm(comm)?;
    let channels = comm.acquire_channels(engine(of)?, &descs)?;
    for (at, channel) in channels.iter().enumerate() {
        if let Some(recorder) = &state.recorder {
            recorder.buffer_is(comm.channel_buffer(*channel)?.addr);
        }
        // SAFETY: as the caller says.
        unsafe { put(out.add(at), "channels", channel.0)? };
    }
    if let Some(recorder) = &state.recorder {
        recorder.buffer_is(comm.hccl_buffer()?.addr);
    }
    Ok(())
}

fn remote(state: &State, comm: *mut c_void, channel: u64) -> Result<Remote> {
    let found = state.comm(comm)?.channel_memories(ChannelHandle(channel))?;
    let names: Vec<CString> = found.iter().map(|(tag, _)| CString::new(tag.as_str()).unwrap_or_default()).collect();
    let tags = names.iter().map(|name| name.as_ptr().cast_mut()).collect();
    let memory = |region: &comm::Region| CommMem { kind: 0, addr: ffi::pointer(region.addr), size: region.size };
    Ok(Remote { memories: found.iter().map(|(_, region)| memory(region)).collect(), tags, _names: names })
}

c_functions! {
    hccl HcclChannelAcquire(
        comm: *mut c_void,
        of: i32,
        descs: *const ChannelDesc,
        count: u32,
        out: *mut u64,
    ) {
        // SAFETY: null, or C says that there are so many.
        unsafe { acquire(comm, of, descs, count, out) }
    }

    hccl HcclChannelQuery(comm: *mut c_void, of: i32, descs: *const ChannelDesc, count: u32, out: *mut u64) {
        // Channels that are there are given again, and those that are not are made when the peer asks too.
        // SAFETY: null, or C says that there are so many.
        unsafe { acquire(comm, of, descs, count, out) }
    }

    hccl HcclChannelDestroy(comm: *mut c_void, channels: *const u64, count: u32) {
        // SAFETY: null, or C says that there are so many.
        let channels = unsafe { slice(channels, count as usize, "channels")? };
        let channels: Vec<ChannelHandle> = channels.iter().copied().map(ChannelHandle).collect();
        state()?.comm(comm)?.destroy_channels(&channels)
    }

    hccl HcclChannelGetHcclBuffer(comm: *mut c_void, channel: u64, addr: *mut *mut c_void, size: *mut u64) {
        let region = state()?.comm(comm)?.channel_buffer(ChannelHandle(channel))?;
        // SAFETY: null or C's to write to.
        unsafe { put_region(addr, size, region) }
    }

    hccl HcclChannelGetRemoteMems(
        comm: *mut c_void,
        channel: u64,
        count: *mut u32,
        memories: *mut *const CommMem,
        tags: *mut *const *mut c_char,
    ) {
        let found = remote(state()?, comm, channel)?;
        let mut all = lock(&REMOTE);
        all.insert(channel, found);
        let Some(found) = all.get(&channel) else { return Ok(()) };
        // SAFETY: null or C's to write to.
        unsafe {
            put(count, "memNum", found.memories.len() as u32)?;
            put(memories, "remoteMems", found.memories.as_ptr())?;
            put(tags, "memTags", found.tags.as_ptr())
        }
    }
}
