//! Memory of the device and of the host.

use crate::ffi::{self, AclError, AclResult, c_functions, code, put};
use crate::state::{State, acl_device, state};
use hcomm_sim::comm::{Memory, Place, Region};
use std::ffi::c_void;

/// Where the two ends of a copy are, by `aclrtMemcpyKind`: whether the destination, and the source, is on a device.
/// `None` where the addresses say it.
fn ends(kind: i32) -> Result<(Option<bool>, Option<bool>), AclError> {
    Ok(match kind {
        0 => (Some(false), Some(false)),
        1 | 5 => (Some(true), Some(false)),
        2 => (Some(false), Some(true)),
        3 | 6 | 7 => (Some(true), Some(true)),
        4 => (None, None),
        _ => return Err(AclError::new(code::INVALID_PARAM, format!("there is no kind {kind} of copies"))),
    })
}

/// Checks that `len` bytes can be reached: on a device they are allocated; on the host they are C's, and are checked
/// where they were allocated here.
fn reachable(state: &State, what: &str, addr: u64, len: u64, on_device: Option<bool>) -> AclResult {
    if addr == 0 {
        return Err(AclError::null(what));
    }
    match (state.memory.find(addr), on_device) {
        (Some((_, Place::Host)), Some(true)) => Err(AclError::new(
            code::RT_PARAM_INVALID,
            format!("`{what}` is memory of the host: the kind of the copy says a device's"),
        )),
        (Some((_, Place::Device(device))), Some(false)) => Err(AclError::new(
            code::RT_PARAM_INVALID,
            format!("`{what}` is memory of device {device}: the kind of the copy says the host's"),
        )),
        (Some(_), _) | (None, Some(true)) => state
            .memory
            .check(addr, len)
            .map_err(|error| AclError::new(code::RT_PARAM_INVALID, format!("`{what}`: {}", error.sentence))),
        (None, _) => Ok(()),
    }
}

/// A copy that has been checked, on its way to the stream.
fn copy(
    state: &'static State,
    dst: u64,
    max: u64,
    src: u64,
    len: u64,
    kind: i32,
) -> Result<impl FnOnce() + Send + 'static, AclError> {
    if len > max {
        return Err(AclError::new(
            code::INVALID_PARAM,
            format!("{len} bytes do not fit where there is room for {max}"),
        ));
    }
    let (to, from) = ends(kind)?;
    reachable(state, "dst", dst, len, to)?;
    reachable(state, "src", src, len, from)?;
    Ok(move || {
        // SAFETY: what is allocated here was looked up; what is not is the host's, and C says that it is `len` bytes
        // until the copy is done. What is given back meanwhile is C's fault, as it is with the runtime.
        unsafe { std::ptr::copy(src as *const u8, dst as *mut u8, len as usize) };
    })
}

fn fill(
    state: &'static State,
    dst: u64,
    max: u64,
    value: i32,
    len: u64,
) -> Result<impl FnOnce() + Send + 'static, AclError> {
    if len > max {
        return Err(AclError::new(
            code::INVALID_PARAM,
            format!("{len} bytes do not fit where there is room for {max}"),
        ));
    }
    reachable(state, "devPtr", dst, len, None)?;
    Ok(move || {
        // SAFETY: as in `copy`.
        unsafe { std::ptr::write_bytes(dst as *mut u8, value as u8, len as usize) };
    })
}

fn alloc(out: *mut *mut c_void, bytes: usize, on_device: bool) -> AclResult {
    if out.is_null() {
        return Err(AclError::null("devPtr"));
    }
    let place = if on_device { Place::Device(acl_device()?) } else { Place::Host };
    let addr = state()?.memory.alloc(place, bytes as u64)?;
    // SAFETY: C's to write to, and not null.
    unsafe { put(out, "devPtr", ffi::pointer(addr))? };
    Ok(())
}

fn free(addr: *mut c_void, on_device: bool) -> AclResult {
    let (state, addr) = (state()?, ffi::number(addr));
    match state.memory.find(addr) {
        Some((Region { addr: start, .. }, place))
            if start == addr && matches!(place, Place::Device(_)) != on_device =>
        {
            let sentence = format!("{addr:#x} is memory of {place}, and is given back with the other function");
            Err(AclError::new(code::RT_PARAM_INVALID, sentence))
        }
        _ => Ok(state.memory.free(addr)?),
    }
}

c_functions! {
    acl aclrtMalloc(out: *mut *mut c_void, bytes: usize, _policy: i32) {
        alloc(out, bytes, true)
    }

    acl aclrtMallocAlign32(out: *mut *mut c_void, bytes: usize, _policy: i32) {
        alloc(out, bytes, true)
    }

    acl aclrtMallocCached(out: *mut *mut c_void, bytes: usize, _policy: i32) {
        alloc(out, bytes, true)
    }

    acl aclrtFree(addr: *mut c_void) {
        free(addr, true)
    }

    acl aclrtMallocHost(out: *mut *mut c_void, bytes: usize) {
        alloc(out, bytes, false)
    }

    acl aclrtFreeHost(addr: *mut c_void) {
        free(addr, false)
    }

    acl aclrtMemFlush(_addr: *mut c_void, _bytes: usize) {
        Ok(())
    }

    acl aclrtMemInvalidate(_addr: *mut c_void, _bytes: usize) {
        Ok(())
    }

    acl aclrtMemset(dst: *mut c_void, max: usize, value: i32, len: usize) {
        fill(state()?, ffi::number(dst), max as u64, value, len as u64)?();
        Ok(())
    }

    acl aclrtMemsetAsync(dst: *mut c_void, max: usize, value: i32, len: usize, stream: *mut c_void) {
        let state = state()?;
        let fill = fill(state, ffi::number(dst), max as u64, value, len as u64)?;
        state.cluster.launch_call(state.stream(stream)?, Box::new(move || { fill(); Ok(()) }))?;
        Ok(())
    }

    acl aclrtMemcpy(dst: *mut c_void, max: usize, src: *const c_void, len: usize, kind: i32) {
        copy(state()?, ffi::number(dst), max as u64, ffi::number(src), len as u64, kind)?();
        Ok(())
    }

    acl aclrtMemcpyAsync(
        dst: *mut c_void,
        max: usize,
        src: *const c_void,
        len: usize,
        kind: i32,
        stream: *mut c_void,
    ) {
        let state = state()?;
        let copy = copy(state, ffi::number(dst), max as u64, ffi::number(src), len as u64, kind)?;
        state.cluster.launch_call(state.stream(stream)?, Box::new(move || { copy(); Ok(()) }))?;
        Ok(())
    }

    acl aclrtMemcpy2d(
        dst: *mut c_void,
        dpitch: usize,
        src: *const c_void,
        spitch: usize,
        width: usize,
        height: usize,
        kind: i32,
    ) {
        let state = state()?;
        if width > dpitch || width > spitch {
            let sentence = format!("rows of {width} bytes are longer than the pitches {dpitch} and {spitch}");
            return Err(AclError::new(code::INVALID_PARAM, sentence));
        }
        for row in 0..height {
            let (to, from) = (ffi::number(dst) + (row * dpitch) as u64, ffi::number(src) + (row * spitch) as u64);
            copy(state, to, width as u64, from, width as u64, kind)?();
        }
        Ok(())
    }

    acl aclrtGetMemInfo(_attribute: i32, free: *mut usize, total: *mut usize) {
        let state = state()?;
        let (capacity, used) = (state.memory.capacity(), state.memory.used(Place::Device(acl_device()?)));
        // SAFETY: null or C's to write to.
        unsafe {
            put(free, "free", (capacity - used) as usize)?;
            put(total, "total", capacity as usize)?;
        }
        Ok(())
    }

    acl aclrtPointerGetAttributes(addr: *const c_void, attributes: *mut PtrAttributes) {
        const PAGE: u32 = 4096;
        const UNREGISTERED: u32 = 2;
        let (id, kind) = match state()?.memory.find(ffi::number(addr)) {
            Some((_, Place::Device(device))) => (device, 1),
            Some((_, Place::Host)) => (0, 0),
            None => (0, UNREGISTERED),
        };
        // SAFETY: null or C's to write to.
        unsafe { put(attributes, "attributes", PtrAttributes { id, kind, page: PAGE, reserved: [0; 4] })? };
        Ok(())
    }
}

/// `aclrtPtrAttributes`.
#[repr(C)]
pub(crate) struct PtrAttributes {
    id: u32,
    kind: u32,
    page: u32,
    reserved: [u32; 4],
}
