//! Process, devices and contexts.

use crate::ffi::{self, AclError, AclResult, c_functions, code, put};
use crate::objects::Objects;
use crate::state::{self, acl_device, state};
use hcomm_core::product::Product;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::sync::Mutex;

/// Vector cores, cube cores and AI CPU cores of a device: what communication kernels can count on (facts 5, 6 and the
/// hosts' query of vector cores).
pub(crate) const VECTOR_CORES: u32 = 48;
const CUBE_CORES: u32 = 24;
const AICPU_CORES: i64 = 6;

/// A context: a device.
static CONTEXTS: Objects<u32> = Objects::new(0xa1, "context");
/// The contexts of devices that nobody has made one for.
static DEFAULTS: Mutex<BTreeMap<u32, u64>> = Mutex::new(BTreeMap::new());

fn device_id(device: i32) -> Result<u32, AclError> {
    let devices = state()?.cluster.devices();
    u32::try_from(device).ok().filter(|device| *device < devices).ok_or_else(|| {
        let sentence = format!("there is no device {device}: there are {devices} (HCOMM_DEVICES)");
        AclError::new(code::RT_INVALID_DEVICEID, sentence)
    })
}

/// What the runtime calls the product.
fn soc_name(product: Product) -> &'static std::ffi::CStr {
    match product {
        Product::A2 => c"Ascend910B1",
        Product::A3 => c"Ascend910_9392",
        Product::A950 => c"Ascend950PR_9599",
    }
}

fn none(what: &str) -> AclResult {
    Err(AclError::new(code::RT_PARAM_INVALID, what))
}

/// `aclrtGetSocName`: null if the stand-in could not be set up.
#[unsafe(no_mangle)]
extern "C" fn aclrtGetSocName() -> *const c_char {
    state().map_or(std::ptr::null(), |state| soc_name(state.cluster.product()).as_ptr())
}

/// `aclGetRecentErrMsg`: good until the next error of the thread.
#[unsafe(no_mangle)]
extern "C" fn aclGetRecentErrMsg() -> *const c_char {
    ffi::last_sentence()
}

c_functions! {
    acl aclInit(_config: *const c_char) {
        state()?;
        Ok(())
    }

    acl aclFinalize() {
        state()?;
        Ok(())
    }

    acl aclrtGetVersion(major: *mut i32, minor: *mut i32, patch: *mut i32) {
        // SAFETY: null or C's to write to.
        unsafe {
            put(major, "majorVersion", 1)?;
            put(minor, "minorVersion", 16)?;
            put(patch, "patchVersion", 0)?;
        }
        Ok(())
    }

    acl aclrtGetRunMode(mode: *mut i32) {
        const ACL_HOST: i32 = 1;
        // SAFETY: null or C's to write to.
        unsafe { put(mode, "runMode", ACL_HOST)? };
        Ok(())
    }

    acl aclrtGetDeviceCount(count: *mut u32) {
        let devices = state()?.cluster.devices();
        // SAFETY: null or C's to write to.
        unsafe { put(count, "count", devices)? };
        Ok(())
    }

    acl aclrtSetDevice(device: i32) {
        state::set_device(Some(device_id(device)?));
        Ok(())
    }

    acl aclrtResetDevice(device: i32) {
        let device = device_id(device)?;
        if state::device().ok() == Some(device) {
            state::set_device(None);
        }
        Ok(())
    }

    acl aclrtResetDeviceForce(device: i32) {
        let device = device_id(device)?;
        if state::device().ok() == Some(device) {
            state::set_device(None);
        }
        Ok(())
    }

    acl aclrtGetDevice(device: *mut i32) {
        let current = acl_device()?;
        // SAFETY: null or C's to write to.
        unsafe { put(device, "deviceId", current as i32)? };
        Ok(())
    }

    acl aclrtGetDeviceInfo(device: u32, attribute: i32, value: *mut i64) {
        let device = device_id(device as i32)?;
        let state = state()?;
        let layout = state.cluster.layout();
        let found = match attribute {
            1 => AICPU_CORES,
            101 | 102 => i64::from(CUBE_CORES),
            201 => i64::from(VECTOR_CORES),
            301 => state.memory.capacity() as i64,
            402 => i64::from(device),
            404 => i64::from(layout.place(device).0),
            405 => i64::from(layout.pod_of(layout.place(device).0)),
            _ => return none(&format!("the attribute {attribute} of a device is not known here")),
        };
        // SAFETY: null or C's to write to.
        unsafe { put(value, "value", found)? };
        Ok(())
    }

    acl aclrtGetLogicDevIdByPhyDevId(physical: i32, logical: *mut i32) {
        let device = device_id(physical)?;
        // SAFETY: null or C's to write to.
        unsafe { put(logical, "logicDevId", device as i32)? };
        Ok(())
    }

    acl aclrtGetPhyDevIdByLogicDevId(logical: i32, physical: *mut i32) {
        let device = device_id(logical)?;
        // SAFETY: null or C's to write to.
        unsafe { put(physical, "phyDevId", device as i32)? };
        Ok(())
    }

    acl aclrtDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) {
        let (device, peer) = (device_id(device)?, device_id(peer)?);
        // SAFETY: null or C's to write to.
        unsafe { put(can, "canAccessPeer", i32::from(device != peer))? };
        Ok(())
    }

    acl aclrtDeviceEnablePeerAccess(peer: i32, _flags: u32) {
        device_id(peer)?;
        Ok(())
    }

    acl aclrtDeviceDisablePeerAccess(peer: i32) {
        device_id(peer)?;
        Ok(())
    }

    acl aclrtGetResInCurrentThread(kind: i32, value: *mut u32) {
        // SAFETY: null or C's to write to.
        unsafe { put(value, "value", cores(kind)?)? };
        Ok(())
    }

    acl aclrtGetDeviceResLimit(device: i32, kind: i32, value: *mut u32) {
        device_id(device)?;
        // SAFETY: null or C's to write to.
        unsafe { put(value, "value", cores(kind)?)? };
        Ok(())
    }

    acl aclrtGetStreamResLimit(_stream: *mut c_void, kind: i32, value: *mut u32) {
        // SAFETY: null or C's to write to.
        unsafe { put(value, "value", cores(kind)?)? };
        Ok(())
    }

    acl aclrtCreateContext(context: *mut *mut c_void, device: i32) {
        let device = device_id(device)?;
        let handle = CONTEXTS.insert(device);
        // SAFETY: null or C's to write to.
        unsafe { put(context, "context", ffi::pointer(handle))? };
        state::set_device(Some(device));
        Ok(())
    }

    acl aclrtDestroyContext(context: *mut c_void) {
        CONTEXTS.remove(ffi::number(context))?;
        Ok(())
    }

    acl aclrtSetCurrentContext(context: *mut c_void) {
        let device = *CONTEXTS.get(ffi::number(context))?;
        state::set_device(Some(device));
        Ok(())
    }

    acl aclrtGetCurrentContext(context: *mut *mut c_void) {
        let device = acl_device()?;
        let handle = *state::lock(&DEFAULTS).entry(device).or_insert_with(|| CONTEXTS.insert(device));
        // SAFETY: null or C's to write to.
        unsafe { put(context, "context", ffi::pointer(handle))? };
        Ok(())
    }

    acl aclrtSetOpExecuteTimeOut(_seconds: u32) {
        Ok(())
    }

    acl aclrtSetOpWaitTimeout(_seconds: u32) {
        Ok(())
    }

    acl aclrtGetOpTimeOutInterval(interval: *mut u64) {
        // Microseconds: 254 of them are more than the longest timeout of a kernel on Vector cores, 1091 s (facts 2.3).
        const INTERVAL: u64 = 4_295_000;
        // SAFETY: null or C's to write to.
        unsafe { put(interval, "interval", INTERVAL)? };
        Ok(())
    }
}

fn cores(kind: i32) -> Result<u32, AclError> {
    match kind {
        0 => Ok(CUBE_CORES),
        1 => Ok(VECTOR_CORES),
        _ => Err(AclError::new(code::RT_PARAM_INVALID, format!("there is no resource {kind}: 0 cube, 1 Vector cores"))),
    }
}

/// `aclrtGetLastError`: the last error of the thread, which is forgotten.
#[unsafe(no_mangle)]
extern "C" fn aclrtGetLastError(_level: i32) -> i32 {
    ffi::last_error(true)
}

/// `aclrtPeekAtLastError`: the last error of the thread.
#[unsafe(no_mangle)]
extern "C" fn aclrtPeekAtLastError(_level: i32) -> i32 {
    ffi::last_error(false)
}
