//! Addresses and memory apart: reserved, allocated, mapped.

use crate::ffi::{self, AclError, c_functions, code, put};
use crate::state::state;
use hcomm_sim::comm::{GRANULARITY, PhysicalHandle};
use std::ffi::c_void;

/// `aclrtPhysicalMemProp`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Properties {
    handle_type: i32,
    allocation_type: i32,
    attribute: i32,
    location: u32,
    location_type: i32,
    reserve: u64,
}

const _: () = assert!(size_of::<Properties>() == 32);

fn refused(sentence: String) -> AclError {
    AclError::new(code::RT_PARAM_INVALID, sentence)
}

fn no_flags(flags: u64) -> Result<(), AclError> {
    if flags == 0 { Ok(()) } else { Err(refused(format!("flags {flags:#x}: there is only 0"))) }
}

c_functions! {
    acl aclrtMemGetAllocationGranularity(_properties: *const Properties, option: i32, granularity: *mut usize) {
        if !matches!(option, 0 | 1) {
            return Err(refused(format!("there is no granularity {option}: minimum 0, recommended 1")));
        }
        // SAFETY: null or C's to write to.
        unsafe { put(granularity, "granularity", GRANULARITY as usize)? };
        Ok(())
    }

    acl aclrtReserveMemAddress(
        addr: *mut *mut c_void,
        bytes: usize,
        alignment: usize,
        _wanted: *mut c_void,
        _flags: u64,
    ) {
        ffi::is_there(addr, "virPtr")?;
        if alignment as u64 > GRANULARITY {
            return Err(refused(format!("an alignment of {alignment} bytes: there is {GRANULARITY} and less")));
        }
        let found = state()?.cluster.reserve(bytes as u64)?;
        // SAFETY: C's to write to, and not null.
        unsafe { put(addr, "virPtr", ffi::pointer(found))? };
        Ok(())
    }

    acl aclrtReleaseMemAddress(addr: *mut c_void) {
        state()?.cluster.release(ffi::number(addr))?;
        Ok(())
    }

    acl aclrtMallocPhysical(
        handle: *mut *mut c_void,
        bytes: usize,
        properties: *const Properties,
        flags: u64,
    ) {
        const DEVICE: i32 = 1;
        ffi::is_there(handle, "handle")?;
        no_flags(flags)?;
        // SAFETY: null or C's to read.
        let properties = unsafe { ffi::slice(properties, 1, "prop")?[0] };
        if properties.location_type != DEVICE {
            return Err(refused(format!("memory at a location of type {}: devices' (1) is offered", properties.location_type)));
        }
        let physical = state()?.cluster.allocate_physical(properties.location, bytes as u64)?;
        // SAFETY: C's to write to, and not null.
        unsafe { put(handle, "handle", ffi::pointer(physical.0))? };
        Ok(())
    }

    acl aclrtFreePhysical(handle: *mut c_void) {
        state()?.cluster.free_physical(PhysicalHandle(ffi::number(handle)))?;
        Ok(())
    }

    acl aclrtMapMem(addr: *mut c_void, bytes: usize, offset: usize, handle: *mut c_void, flags: u64) {
        no_flags(flags)?;
        if offset != 0 {
            return Err(refused(format!("an offset of {offset} into the memory: there is only 0")));
        }
        state()?.cluster.map(ffi::number(addr), bytes as u64, PhysicalHandle(ffi::number(handle)))?;
        Ok(())
    }

    acl aclrtUnmapMem(addr: *mut c_void) {
        state()?.cluster.unmap(ffi::number(addr))?;
        Ok(())
    }
}
