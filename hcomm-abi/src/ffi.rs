//! What every C function does: name itself for messages, turn errors into codes, and keep panics inside.

use hcomm_sim::comm::{Code, CommError, Result};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A code of the ACL runtime with its sentence.
#[derive(Debug)]
pub(crate) struct AclError {
    pub(crate) code: i32,
    pub(crate) sentence: String,
}

pub(crate) type AclResult = std::result::Result<(), AclError>;

/// Codes of the ACL runtime (acl/acl_base.h).
pub(crate) mod code {
    pub(crate) const INVALID_PARAM: i32 = 100_000;
    pub(crate) const INVALID_FILE: i32 = 100_003;
    pub(crate) const PARSE_FILE: i32 = 100_006;
    pub(crate) const OP_NOT_FOUND: i32 = 100_024;
    pub(crate) const OP_LOAD_FAILED: i32 = 100_025;
    pub(crate) const API_NOT_SUPPORT: i32 = 200_001;
    pub(crate) const INTERNAL: i32 = 500_000;
    pub(crate) const RT_PARAM_INVALID: i32 = 107_000;
    pub(crate) const RT_INVALID_DEVICEID: i32 = 107_001;
    pub(crate) const RT_CONTEXT_NULL: i32 = 107_002;
    pub(crate) const RT_INVALID_HANDLE: i32 = 107_017;
    pub(crate) const RT_WAIT_TIMEOUT: i32 = 107_019;
    pub(crate) const RT_FEATURE_NOT_SUPPORT: i32 = 207_000;
    pub(crate) const RT_MEMORY_ALLOCATION: i32 = 207_001;
    pub(crate) const RT_INTERNAL: i32 = 507_000;
    pub(crate) const RT_AICPU_EXCEPTION: i32 = 507_018;
    pub(crate) const RT_VECTOR_CORE_TIMEOUT: i32 = 507_034;
    pub(crate) const RT_VECTOR_CORE_EXCEPTION: i32 = 507_035;
    pub(crate) const RT_STREAM_SYNC_TIMEOUT: i32 = 507_046;
    pub(crate) const RT_EVENT_SYNC_TIMEOUT: i32 = 507_047;
}

impl AclError {
    pub(crate) fn new(code: i32, sentence: impl Into<String>) -> AclError {
        AclError { code, sentence: sentence.into() }
    }
}

/// How errors of kernels begin, so that the stream that they end has the runtime's code.
pub(crate) const AICPU: &str = "AI CPU kernel";
pub(crate) const AIV: &str = "AIV kernel";

impl From<CommError> for AclError {
    fn from(error: CommError) -> AclError {
        let code = match error.code {
            Code::Timeout if error.sentence.starts_with(AIV) => code::RT_VECTOR_CORE_TIMEOUT,
            Code::Timeout => code::RT_WAIT_TIMEOUT,
            Code::Runtime if error.sentence.starts_with(AICPU) => code::RT_AICPU_EXCEPTION,
            Code::Runtime if error.sentence.starts_with(AIV) => code::RT_VECTOR_CORE_EXCEPTION,
            Code::Oom => code::RT_MEMORY_ALLOCATION,
            Code::NotSupport => code::RT_FEATURE_NOT_SUPPORT,
            Code::NotFound | Code::Ptr => code::RT_INVALID_HANDLE,
            Code::Para | Code::Memory => code::RT_PARAM_INVALID,
            _ => code::RT_INTERNAL,
        };
        AclError { code, sentence: error.to_string() }
    }
}

thread_local! {
    /// The C function that this thread is in.
    static FUNCTION: Cell<&'static str> = const { Cell::new("") };
    /// What went wrong last on this thread.
    static LAST: RefCell<(i32, CString)> = RefCell::new((0, CString::default()));
}

/// The C function that this thread is in.
pub(crate) fn function() -> &'static str {
    FUNCTION.get()
}

/// What went wrong last on this thread; forgotten if `take`.
pub(crate) fn last_error(take: bool) -> i32 {
    LAST.with_borrow_mut(|last| if take { std::mem::take(&mut last.0) } else { last.0 })
}

/// The sentence of what went wrong last on this thread; good until the next error.
pub(crate) fn last_sentence() -> *const c_char {
    LAST.with_borrow(|last| last.1.as_ptr())
}

fn remember(code: i32, sentence: &str) {
    let sentence = CString::new(sentence.replace('\0', " ")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = (code, sentence));
}

/// The body of a function that returns `HcclResult`, or HCOMM's integers, which are the same.
pub(crate) fn hccl(name: &'static str, body: impl FnOnce() -> Result<()>) -> i32 {
    let before = FUNCTION.replace(name);
    let result = catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|_| Err(CommError::new(Code::Internal, "the stand-in has a fault: see above")));
    FUNCTION.set(before);
    match result {
        Ok(()) => 0,
        Err(error) => {
            if error.code == Code::NotFound && name == "HcclEngineCtxGet" {
                // How an operator finds out that this is its first call.
                crate::log::info(name, &error.to_string());
            } else {
                crate::log::error(name, &error.to_string());
            }
            remember(error.code.number(), &error.sentence);
            error.code.number()
        }
    }
}

/// The body of a function that returns `aclError`.
pub(crate) fn acl(name: &'static str, body: impl FnOnce() -> AclResult) -> i32 {
    let before = FUNCTION.replace(name);
    let result = catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|_| Err(AclError::new(code::INTERNAL, "the stand-in has a fault: see above")));
    FUNCTION.set(before);
    match result {
        Ok(()) => 0,
        Err(error) => {
            crate::log::error(name, &error.sentence);
            remember(error.code, &error.sentence);
            error.code
        }
    }
}

/// Functions of C. Each has the name, the parameters and the meaning that the headers in `include/` give it; a body that
/// takes a pointer apart says why it may.
macro_rules! c_functions {
    ($($(#[$doc:meta])* $kind:ident $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$doc])*
            #[allow(clippy::missing_safety_doc, reason = "what C promises is in the headers")]
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                $crate::ffi::$kind(stringify!($name), || $body)
            }
        )*
    };
}
pub(crate) use c_functions;

fn null(what: &str) -> CommError {
    CommError::new(Code::Ptr, format!("`{what}` is null"))
}

impl AclError {
    pub(crate) fn null(what: &str) -> AclError {
        AclError::new(code::INVALID_PARAM, format!("`{what}` is null"))
    }
}

/// Writes what C is given through a pointer.
///
/// # Safety
///
/// `out` is null or can be written.
pub(crate) unsafe fn put<T>(out: *mut T, what: &str, value: T) -> Result<()> {
    if out.is_null() {
        return Err(null(what));
    }
    // SAFETY: the caller says that it can be written; `write_unaligned` asks for no more.
    unsafe { out.write_unaligned(value) };
    Ok(())
}

/// Fails if there is nowhere to write to.
pub(crate) fn is_there<T>(out: *mut T, what: &str) -> Result<()> {
    if out.is_null() { Err(null(what)) } else { Ok(()) }
}

/// The elements that C passes as a pointer and a number.
///
/// # Safety
///
/// `from` is null or points to `count` elements, which stay as they are while the slice is used.
pub(crate) unsafe fn slice<'a, T>(from: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if from.is_null() {
        return Err(null(what));
    }
    if !from.is_aligned() {
        return Err(CommError::new(Code::Para, format!("`{what}` is not aligned to its type")));
    }
    // SAFETY: as the caller says, and it is aligned.
    Ok(unsafe { std::slice::from_raw_parts(from, count) })
}

/// A string of C.
///
/// # Safety
///
/// `from` is null or points to a string that ends with a zero byte.
pub(crate) unsafe fn string(from: *const c_char, what: &str) -> Result<String> {
    if from.is_null() {
        return Err(null(what));
    }
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(from) };
    let text = text.to_str().map_err(|_| CommError::new(Code::Para, format!("`{what}` is not UTF-8")))?;
    Ok(text.to_owned())
}

/// A handle of C as a number.
pub(crate) fn number(handle: *const c_void) -> u64 {
    handle as u64
}

/// A number as a handle of C.
pub(crate) fn pointer(number: u64) -> *mut c_void {
    number as *mut c_void
}
