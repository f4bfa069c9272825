//! Arguments and launches.

use super::block::Shared;
use super::{FUNCTIONS, Function, Kind, symbol};
use crate::ffi::{self, AclError, c_functions, code, put, slice};
use crate::objects::Objects;
use crate::state::{State, lock, state};
use hcomm_sim::comm::{Code, CommError, StreamHandle};
use libloading::Library;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Arguments that are being put together.
static ARGUMENTS: Objects<Mutex<Arguments>> = Objects::new(0xa5, "arguments");

/// Arguments that have been launched, oldest first. C has no call to give them back, so only so many are kept.
static LAUNCHED: Mutex<VecDeque<u64>> = Mutex::new(VecDeque::new());
const KEPT: usize = 4096;

/// Vector cores of a device: more blocks than that would wait for each other for ever.
const MOST_BLOCKS: u32 = crate::acl::device::VECTOR_CORES;
/// What a kernel without `HCOMM_STANDIN_KERNEL` may take (kernel_operator.h).
const BLOB: usize = 4096;
/// Seconds that a kernel may run if it is not said: those of an AI CPU kernel, and those of Vector cores (facts 2.3).
const AIV_SECONDS: u64 = 1091;

#[derive(Debug, Default)]
struct Arguments {
    /// Words, so that what starts at a multiple of 8 is aligned.
    words: Vec<u64>,
    /// Where each parameter starts, and how long it is.
    parameters: Vec<(usize, usize)>,
    /// Memory that parameters point to.
    buffers: Vec<(usize, Vec<u64>)>,
    is_final: bool,
}

impl Arguments {
    fn append(&mut self, bytes: &[u8]) -> usize {
        let at = self.words.len() * 8;
        self.words.extend(words(bytes));
        self.parameters.push((at, bytes.len()));
        self.parameters.len()
    }

    fn parameter(&self, number: u64) -> Result<(usize, usize), AclError> {
        let found = usize::try_from(number).ok().and_then(|number| self.parameters.get(number.checked_sub(1)?));
        found
            .copied()
            .ok_or_else(|| AclError::new(code::RT_INVALID_HANDLE, "the parameter handle is not one of these arguments"))
    }

    fn open(&self) -> Result<(), AclError> {
        match self.is_final {
            true => Err(AclError::new(code::RT_PARAM_INVALID, "the arguments have been finalized already")),
            false => Ok(()),
        }
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    })
}

fn set_word(words: &mut [u64], at: usize, value: u64) {
    if let Some(word) = words.get_mut(at / 8) {
        *word = value;
    }
}

/// A kernel for Vector cores, and how it is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aiv {
    kernel: usize,
    /// Takes the arguments apart itself (`HCOMM_STANDIN_KERNEL`).
    thunk: Option<extern "C" fn(*const c_void)>,
    /// Calls a kernel that takes one structure.
    enter: Option<extern "C" fn(*mut c_void, *const c_void)>,
}

impl Aiv {
    pub(super) fn new(library: &Library, name: &str) -> Option<Aiv> {
        let thunk = symbol(library, &format!("{name}__standin")).map(|address| {
            // SAFETY: the macro of kernel_operator.h that makes this name gives it this type.
            unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(*const c_void)>(address) }
        });
        let enter = symbol(library, "hcomm_standin_enter").map(|address| {
            // SAFETY: kernel_operator.h gives it this type.
            unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void, *const c_void)>(address) }
        });
        let kernel = symbol(library, name)? as usize;
        (thunk.is_some() || enter.is_some()).then_some(Aiv { kernel, thunk, enter })
    }

    /// Runs a block.
    pub(crate) fn run(&self, arguments: &[u64]) {
        match (self.thunk, self.enter) {
            (Some(thunk), _) => thunk(arguments.as_ptr().cast()),
            (None, Some(enter)) => enter(ffi::pointer(self.kernel as u64), arguments.as_ptr().cast()),
            (None, None) => {}
        }
    }
}

/// What a launch is asked to be.
#[derive(Clone, Copy, Debug, Default)]
struct Attributes {
    timeout: Option<Duration>,
}

/// `aclrtLaunchKernelAttr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KernelAttr {
    id: i32,
    value: [u32; 4],
}

/// `aclrtLaunchKernelCfg`.
#[repr(C)]
pub(crate) struct KernelCfg {
    attributes: *const KernelAttr,
    count: usize,
}

/// `aclrtPlaceHolderInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PlaceHolder {
    addr_offset: u32,
    data_offset: u32,
}

impl Attributes {
    /// # Safety
    ///
    /// `cfg` is null or points to a configuration whose attributes are there.
    unsafe fn read(state: &State, cfg: *const KernelCfg) -> Result<Attributes, AclError> {
        let mut read = Attributes::default();
        // SAFETY: as the caller says.
        let Some(cfg) = (unsafe { cfg.as_ref() }) else { return Ok(read) };
        // SAFETY: as the caller says.
        for KernelAttr { id, value } in unsafe { slice(cfg.attributes, cfg.count, "attrs")? } {
            match id {
                7 => read.timeout = Some(state.second * (value[0] & 0xffff)),
                8 => {
                    let micros = u64::from(value[1]) << 32 | u64::from(value[0]);
                    read.timeout = Some(state.second.mul_f64(micros as f64 / 1e6));
                }
                1..=6 | 9 => {}
                _ => {
                    return Err(AclError::new(
                        code::RT_PARAM_INVALID,
                        format!("there is no attribute {id} of launches"),
                    ));
                }
            }
        }
        Ok(read)
    }
}

/// Arguments of a launch.
struct Given {
    words: Vec<u64>,
    /// Memory that words point to.
    buffers: Vec<(usize, Vec<u64>)>,
    /// Bytes, without what fills the last word.
    len: usize,
}

/// Queues a kernel.
fn launch(
    state: &'static State,
    function: Arc<Function>,
    blocks: u32,
    stream: StreamHandle,
    attributes: Attributes,
    Given { words: mut arguments, buffers, len }: Given,
) -> Result<(), AclError> {
    let device = state.cluster.device_of(stream)?;
    let name = function.name.clone();
    let id = match &state.recorder {
        Some(recorder) => recorder.launch(stream, &name),
        None => 0,
    };
    crate::log::info(
        "launch",
        &format!("kernel {name}, {blocks} blocks, {len} bytes of arguments, on device {device}"),
    );
    match function.kind {
        Kind::AiCpu(kernel) => {
            let call = move || {
                // Where the memory is that parameters point to is known now.
                for (at, buffer) in &buffers {
                    set_word(&mut arguments, *at, buffer.as_ptr() as u64);
                }
                let (result, open) = crate::state::as_kernel(device, id, || kernel(arguments.as_mut_ptr().cast()));
                drop(function);
                match (result, open) {
                    (0, None) => Ok(()),
                    (0, Some(tag)) => Err(CommError::new(
                        Code::Runtime,
                        format!(
                            "{} {name} returned inside the batch `{tag}`, whose tasks are lost: HcommBatchModeEnd is \
                             missing",
                            ffi::AICPU
                        ),
                    )),
                    (code, _) => Err(CommError::new(Code::Runtime, format!("{} {name} returned {code}", ffi::AICPU))),
                }
            };
            state.cluster.launch_call(stream, Box::new(call))?;
        }
        Kind::Aiv(kernel) => {
            if blocks == 0 || blocks > MOST_BLOCKS {
                let sentence = format!("kernel {name} with {blocks} blocks: a device has {MOST_BLOCKS} Vector cores");
                return Err(AclError::new(code::RT_PARAM_INVALID, sentence));
            }
            if kernel.thunk.is_none() && len > BLOB {
                let sentence = format!(
                    "kernel {name} takes {len} bytes of arguments: more than {BLOB} need HCOMM_STANDIN_KERNEL({name})"
                );
                return Err(AclError::new(code::RT_PARAM_INVALID, sentence));
            }
            let timeout = attributes.timeout.filter(|timeout| !timeout.is_zero());
            let timeout = timeout.unwrap_or(state.second * AIV_SECONDS as u32);
            arguments.resize(arguments.len().max(BLOB / 8), 0);
            let call = move || {
                for (at, buffer) in &buffers {
                    set_word(&mut arguments, *at, buffer.as_ptr() as u64);
                }
                let shared = Shared::new(state.memory.clone(), name, blocks, timeout);
                let result = shared.run(kernel, &arguments);
                drop(function);
                result
            };
            state.cluster.launch_call(stream, Box::new(call))?;
        }
    }
    Ok(())
}

/// # Safety
///
/// `data` is null or points to `len` bytes.
unsafe fn bytes_of(data: *const c_void, len: usize) -> Result<Vec<u64>, AclError> {
    // SAFETY: as the caller says.
    Ok(words(unsafe { slice(data.cast::<u8>(), len, "args")? }).collect())
}

c_functions! {
    acl aclrtKernelArgsInit(function: *mut c_void, arguments: *mut *mut c_void) {
        FUNCTIONS.get(ffi::number(function))?;
        let handle = ARGUMENTS.insert(Mutex::default());
        // SAFETY: null or C's to write to.
        unsafe { put(arguments, "argsHandle", ffi::pointer(handle))? };
        Ok(())
    }

    acl aclrtKernelArgsAppend(
        arguments: *mut c_void,
        parameter: *const c_void,
        len: usize,
        handle: *mut *mut c_void,
    ) {
        let arguments = ARGUMENTS.get(ffi::number(arguments))?;
        let mut arguments = lock(&arguments);
        arguments.open()?;
        // SAFETY: C says that `parameter` is `len` bytes.
        let number = arguments.append(unsafe { slice(parameter.cast::<u8>(), len, "param")? });
        // SAFETY: null or C's to write to.
        unsafe { put(handle, "paramHandle", ffi::pointer(number as u64))? };
        Ok(())
    }

    acl aclrtKernelArgsAppendPlaceHolder(arguments: *mut c_void, handle: *mut *mut c_void) {
        let arguments = ARGUMENTS.get(ffi::number(arguments))?;
        let mut arguments = lock(&arguments);
        arguments.open()?;
        let number = arguments.append(&[0; 8]);
        // SAFETY: null or C's to write to.
        unsafe { put(handle, "paramHandle", ffi::pointer(number as u64))? };
        Ok(())
    }

    acl aclrtKernelArgsGetPlaceHolderBuffer(
        arguments: *mut c_void,
        parameter: *mut c_void,
        len: usize,
        buffer: *mut *mut c_void,
    ) {
        let arguments = ARGUMENTS.get(ffi::number(arguments))?;
        let mut arguments = lock(&arguments);
        let (at, _) = arguments.parameter(ffi::number(parameter))?;
        let mut memory = vec![0; len.div_ceil(8)];
        let address = memory.as_mut_ptr() as u64;
        arguments.buffers.push((at, memory));
        // SAFETY: null or C's to write to.
        unsafe { put(buffer, "bufferAddr", ffi::pointer(address))? };
        Ok(())
    }

    acl aclrtKernelArgsParaUpdate(
        arguments: *mut c_void,
        parameter: *mut c_void,
        data: *const c_void,
        len: usize,
    ) {
        let arguments = ARGUMENTS.get(ffi::number(arguments))?;
        let mut arguments = lock(&arguments);
        let (at, had) = arguments.parameter(ffi::number(parameter))?;
        if had != len {
            let sentence = format!("the parameter has {had} bytes, and is updated with {len}");
            return Err(AclError::new(code::RT_PARAM_INVALID, sentence));
        }
        // SAFETY: C says that `data` is `len` bytes.
        let new: Vec<u64> = unsafe { bytes_of(data, len)? };
        arguments.words[at / 8..at / 8 + new.len()].copy_from_slice(&new);
        Ok(())
    }

    acl aclrtKernelArgsFinalize(arguments: *mut c_void) {
        let arguments = ARGUMENTS.get(ffi::number(arguments))?;
        lock(&arguments).is_final = true;
        Ok(())
    }

    acl aclrtLaunchKernelWithConfig(
        function: *mut c_void,
        blocks: u32,
        stream: *mut c_void,
        cfg: *const KernelCfg,
        arguments: *mut c_void,
        _reserve: *mut c_void,
    ) {
        let state = state()?;
        let function = FUNCTIONS.get(ffi::number(function))?;
        // SAFETY: C says that it is a configuration, or null.
        let attributes = unsafe { Attributes::read(state, cfg)? };
        let handle = ffi::number(arguments);
        let kept = ARGUMENTS.get(handle)?;
        let arguments = lock(&kept);
        if !arguments.is_final {
            let sentence = "the arguments have not been finalized: call aclrtKernelArgsFinalize first";
            return Err(AclError::new(code::RT_PARAM_INVALID, sentence));
        }
        let len = arguments.words.len() * 8;
        let given = Given { words: arguments.words.clone(), buffers: arguments.buffers.clone(), len };
        drop(arguments);
        let mut launched = lock(&LAUNCHED);
        launched.push_back(handle);
        if launched.len() > KEPT
            && let Some(oldest) = launched.pop_front()
            && !launched.contains(&oldest)
        {
            // Gone already if it was launched more than once.
            let _gone = ARGUMENTS.remove(oldest);
        }
        drop(launched);
        launch(state, function, blocks, state.stream(stream)?, attributes, given)
    }

    acl aclrtLaunchKernel(
        function: *mut c_void,
        blocks: u32,
        data: *const c_void,
        len: usize,
        stream: *mut c_void,
    ) {
        let state = state()?;
        let function = FUNCTIONS.get(ffi::number(function))?;
        // SAFETY: C says that `data` is `len` bytes.
        let words = unsafe { bytes_of(data, len)? };
        launch(state, function, blocks, state.stream(stream)?, Attributes::default(), Given { words, buffers: Vec::new(), len })
    }

    acl aclrtLaunchKernelWithHostArgs(
        function: *mut c_void,
        blocks: u32,
        stream: *mut c_void,
        cfg: *const KernelCfg,
        data: *const c_void,
        len: usize,
        holders: *const PlaceHolder,
        holder_count: usize,
    ) {
        let state = state()?;
        let function = FUNCTIONS.get(ffi::number(function))?;
        // SAFETY: C says that it is a configuration, or null.
        let attributes = unsafe { Attributes::read(state, cfg)? };
        // SAFETY: C says that `data` is `len` bytes, and `holders` so many.
        let (words, holders) = unsafe { (bytes_of(data, len)?, slice(holders, holder_count, "placeHolderArray")?) };
        let mut buffers = Vec::new();
        for PlaceHolder { addr_offset, data_offset } in holders {
            let (at, from) = (*addr_offset as usize, *data_offset as usize);
            if at % 8 != 0 || from % 8 != 0 || at + 8 > len || from > len {
                let sentence = format!("the place holder ({at}, {from}) does not fit {len} bytes of arguments in words of 8");
                return Err(AclError::new(code::RT_PARAM_INVALID, sentence));
            }
            buffers.push((at, words[from / 8..].to_vec()));
        }
        launch(state, function, blocks, state.stream(stream)?, attributes, Given { words, buffers, len })
    }
}
