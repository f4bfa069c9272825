//! Symmetric windows.

use crate::ffi::{self, c_functions, put};
use crate::state::{state, with_plane};
use hcomm_sim::comm::{Region, WindowHandle};
use std::ffi::c_void;

c_functions! {
    hccl HcclCommSymWinRegister(
        comm: *mut c_void,
        addr: *mut c_void,
        size: u64,
        window: *mut *mut c_void,
        flag: u32,
    ) {
        ffi::is_there(window, "winHandle")?;
        let memory = Region { addr: ffi::number(addr), size };
        let WindowHandle(handle) = state()?.comm(comm)?.register_window_with(memory, flag)?;
        // SAFETY: C's to write to, and not null.
        unsafe { put(window, "winHandle", ffi::pointer(handle)) }
    }

    hccl HcclCommSymWinDeregister(window: *mut c_void) {
        state()?.cluster.deregister_window(WindowHandle(ffi::number(window)))
    }

    hccl HcclCommSymWinGet(
        comm: *mut c_void,
        addr: *mut c_void,
        size: usize,
        window: *mut *mut c_void,
        offset: *mut usize,
    ) {
        let memory = Region { addr: ffi::number(addr), size: size as u64 };
        let found = state()?.comm(comm)?.window_of(memory)?;
        let (WindowHandle(handle), at) = found.unwrap_or((WindowHandle(0), 0));
        // SAFETY: null or C's to write to.
        unsafe {
            put(window, "winHandle", ffi::pointer(handle))?;
            put(offset, "offset", at as usize)
        }
    }

    hccl HcclSymWinGetPeerPointer(window: *mut c_void, offset: usize, peer: u32, addr: *mut *mut c_void) {
        let window = WindowHandle(ffi::number(window));
        let found = with_plane(|plane| plane.peer_pointer(window, offset as u64, peer))?;
        // SAFETY: null or C's to write to.
        unsafe { put(addr, "ptr", ffi::pointer(found)) }
    }
}
