//! Structures of the headers, as they lie in memory (tests/cpp/layout.cpp has the numbers).

use crate::ffi;
use hcomm_sim::comm::{Code, CommEngine, CommError, Protocol, Result};
use std::ffi::c_void;

/// `CommAbiHeader`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) version: u32,
    pub(super) magic: u32,
    pub(super) size: u32,
    pub(super) reserved: u32,
}

/// `ThreadConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadConfig {
    pub(super) header: Header,
    pub(super) notifies: u16,
    pub(super) reserved: [u8; 14],
}

pub(super) const THREAD_CONFIG_MAGIC: u32 = 0x0f0f_0f2f;

/// `EndpointDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Endpoint {
    pub(super) protocol: i32,
    pub(super) addr_type: i32,
    pub(super) addr: [u32; 9],
    pub(super) loc_type: i32,
    /// Device, its number in the superpod, server, superpod.
    pub(super) loc: [u32; 15],
    pub(super) raws: [u32; 13],
}

/// `CommLink`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) header: Header,
    pub(super) src: Endpoint,
    pub(super) dst: Endpoint,
    /// Protocol, and in the lowest byte hops.
    pub(super) attributes: [u32; 32],
}

pub(super) const LINK_MAGIC: u32 = 0x0f0e_0f0f;

/// `HcclChannelDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct ChannelDesc {
    pub(super) header: Header,
    pub(super) remote_rank: u32,
    pub(super) protocol: i32,
    pub(super) local: Endpoint,
    pub(super) remote: Endpoint,
    pub(super) notifies: u32,
    pub(super) memories: *const *mut c_void,
    pub(super) memory_count: u32,
    pub(super) raws: [u32; 32],
}

pub(super) const CHANNEL_MAGIC: u32 = 0x0f0f_0f0f;

/// `CommMem`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct CommMem {
    pub(super) kind: i32,
    pub(super) addr: *mut c_void,
    pub(super) size: u64,
}

/// `HcclRootInfo`.
#[repr(C)]
pub(super) struct RootInfo {
    pub(super) bytes: [u8; 4108],
}

/// `HcclCommConfig`.
#[repr(C)]
pub(super) struct CommConfig {
    pub(super) size: u64,
    pub(super) magic: u32,
    pub(super) version: u32,
    pub(super) reserved: u64,
    pub(super) buffer_mb: u32,
    pub(super) deterministic: u32,
    pub(super) name: [u8; 128],
    pub(super) udi: [u8; 128],
    pub(super) expansion_mode: u32,
    pub(super) traffic_class: u32,
    pub(super) service_level: u32,
    pub(super) world_rank: u32,
    pub(super) job: u64,
    pub(super) zero_copy: u8,
    pub(super) exec_timeout: i32,
    pub(super) algo: [u8; 1600],
    pub(super) retry_enable: [u8; 50],
    pub(super) retry_params: [u8; 128],
    pub(super) buffer_name: [u8; 128],
    pub(super) qos: u32,
    pub(super) symmetric_gb: u64,
    pub(super) sq_depth: u32,
}

pub(super) const CONFIG_MAGIC: u32 = 0xf0f0_f0f0;
/// A number of a configuration that is not set.
pub(super) const NOT_SET: u32 = u32::MAX;

const _: () = {
    assert!(size_of::<ThreadConfig>() == 32);
    assert!(size_of::<Endpoint>() == 160);
    assert!(size_of::<Link>() == 464);
    assert!(size_of::<ChannelDesc>() == 496 && std::mem::offset_of!(ChannelDesc, memories) == 352);
    assert!(size_of::<CommMem>() == 24);
    assert!(std::mem::offset_of!(CommConfig, job) == 304 && std::mem::offset_of!(CommConfig, algo) == 320);
};

pub(super) fn engine(number: i32) -> Result<CommEngine> {
    CommEngine::from_number(number)
        .ok_or_else(|| CommError::new(Code::Para, format!("{number} is not a communication engine (CommEngine)")))
}

pub(super) fn protocol(number: i32) -> Result<Protocol> {
    Protocol::from_number(number)
        .ok_or_else(|| CommError::new(Code::Para, format!("{number} is not a protocol (CommProtocol)")))
}

/// Writes an address and a size.
///
/// # Safety
///
/// Both pointers are null or can be written.
pub(super) unsafe fn put_region(addr: *mut *mut c_void, size: *mut u64, region: hcomm_sim::comm::Region) -> Result<()> {
    // SAFETY: as the caller says.
    unsafe {
        ffi::put(addr, "the address", ffi::pointer(region.addr))?;
        ffi::put(size, "size", region.size)
    }
}
