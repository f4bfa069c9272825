//! Kernels: loaded from shared objects, launched on streams. AI CPU kernels are registered by a JSON file; Vector core
//! kernels are built with the CPU header `kernel_operator.h`, and run with a thread a block.

pub(crate) mod block;
mod launch;

use crate::ffi::{self, AclError, c_functions, code, put, string};
use crate::objects::Objects;
use crate::state::lock;
use libloading::Library;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub(crate) use launch::Aiv;

/// Bytes that are to become a binary (`aclrtCreateBinary`).
static BINARIES: Objects<Vec<u8>> = Objects::new(0xa2, "binary");
static LOADED: Objects<Loaded> = Objects::new(0xa3, "loaded binary");
static FUNCTIONS: Objects<Function> = Objects::new(0xa4, "function");

/// What was loaded.
#[derive(Debug)]
struct Loaded {
    from: Source,
    /// Handles of the functions that have been asked for.
    functions: Mutex<BTreeMap<String, u64>>,
}

/// Where kernels come from.
#[derive(Debug)]
enum Source {
    /// AI CPU kernels, by their names.
    AiCpu(BTreeMap<String, Registered>, PathBuf),
    /// A shared object with kernels for Vector cores.
    Aiv(Arc<Library>),
}

/// A kernel in a registration file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Registered {
    object: String,
    symbol: String,
}

/// A kernel that can be launched.
#[derive(Debug)]
pub(crate) struct Function {
    name: String,
    kind: Kind,
    /// Holds the code.
    _library: Arc<Library>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// `unsigned int kernel(void* arguments)`.
    AiCpu(extern "C" fn(*mut c_void) -> u32),
    /// A kernel for Vector cores.
    Aiv(Aiv),
}

fn fault(code: i32, sentence: String) -> AclError {
    AclError::new(code, sentence)
}

/// The kernels of a registration file.
fn registered(text: &str) -> Result<BTreeMap<String, Registered>, String> {
    let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let kernels = json.as_object().ok_or("it is not an object of kernels by name")?;
    let mut found = BTreeMap::new();
    for (name, kernel) in kernels {
        let field = |field: &str| {
            kernel["opInfo"][field].as_str().map(str::to_owned).ok_or(format!(
                "`{name}` has no `opInfo.{field}`; a kernel is {{\"opInfo\": {{\"opKernelLib\": \"AICPUKernel\", \
             \"kernelSo\": …, \"functionName\": …}}}}"
            ))
        };
        let library = field("opKernelLib")?;
        if library != "AICPUKernel" {
            return Err(format!("`{name}` has the `opKernelLib` `{library}`: the stand-in runs `AICPUKernel`"));
        }
        found.insert(name.clone(), Registered { object: field("kernelSo")?, symbol: field("functionName")? });
    }
    Ok(found)
}

/// Where a shared object may be that a registration file in `folder` names.
fn candidates(folder: &Path, object: &str) -> Vec<PathBuf> {
    let mut found = vec![folder.join(object), folder.join("../kernel").join(object)];
    if let Some(path) = std::env::var_os("HCOMM_KERNEL_PATH") {
        found.extend(std::env::split_paths(&path).map(|folder| folder.join(object)));
    }
    found
}

fn open(path: impl AsRef<std::ffi::OsStr>) -> Result<Arc<Library>, AclError> {
    // SAFETY: what an object does when it is loaded is the author's, who wants it loaded.
    let library = unsafe { Library::new(path.as_ref()) };
    library
        .map(Arc::new)
        .map_err(|error| fault(code::OP_LOAD_FAILED, format!("{}: {error}", path.as_ref().to_string_lossy())))
}

fn open_registered(folder: &Path, object: &str) -> Result<Arc<Library>, AclError> {
    match candidates(folder, object).into_iter().find(|path| path.is_file()) {
        Some(path) => open(path),
        None => open(object),
    }
}

fn load(path: &Path) -> Result<Source, AclError> {
    let at = path.display();
    let bytes = std::fs::read(path).map_err(|error| fault(code::INVALID_FILE, format!("{at}: {error}")))?;
    if bytes.starts_with(b"\x7fELF") {
        return Ok(Source::Aiv(open(path)?));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| fault(code::PARSE_FILE, format!("{at}: neither a shared object nor a registration file")))?;
    let kernels = registered(&text).map_err(|error| fault(code::PARSE_FILE, format!("{at}: {error}")))?;
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    Ok(Source::AiCpu(kernels, folder))
}

/// Loads a shared object that is in memory, through a file that is gone afterwards.
fn load_bytes(bytes: &[u8]) -> Result<Source, AclError> {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    if !bytes.starts_with(b"\x7fELF") {
        return Err(fault(
            code::PARSE_FILE,
            "the binary is not a shared object: build kernels with g++ -shared".into(),
        ));
    }
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("hcomm-kernel-{}-{number}.so", std::process::id()));
    std::fs::write(&path, bytes).map_err(|error| fault(code::INVALID_FILE, format!("{}: {error}", path.display())))?;
    let library = open(&path);
    let _not_there = std::fs::remove_file(&path);
    Ok(Source::Aiv(library?))
}

/// A symbol of a library as an address.
fn symbol(library: &Library, name: &str) -> Option<*mut c_void> {
    // SAFETY: the symbol is only taken as an address here.
    let found = unsafe { library.get::<*mut c_void>(format!("{name}\0").as_bytes()) };
    found.ok().map(|symbol| *symbol).filter(|address| !address.is_null())
}

impl Loaded {
    fn new(from: Source) -> Loaded {
        Loaded { from, functions: Mutex::default() }
    }

    /// The handle of a function, the same whenever it is asked for.
    fn handle(&self, name: &str) -> Result<u64, AclError> {
        let mut functions = lock(&self.functions);
        if let Some(handle) = functions.get(name) {
            return Ok(*handle);
        }
        let handle = FUNCTIONS.insert(self.from.function(name)?);
        functions.insert(name.to_owned(), handle);
        Ok(handle)
    }
}

impl Source {
    fn function(&self, name: &str) -> Result<Function, AclError> {
        match self {
            Source::AiCpu(kernels, folder) => {
                let Some(Registered { object, symbol }) = kernels.get(name) else {
                    let names: Vec<&str> = kernels.keys().map(String::as_str).collect();
                    let names = names.join(", ");
                    return Err(fault(
                        code::OP_NOT_FOUND,
                        format!("no kernel `{name}` is registered: there are {names}"),
                    ));
                };
                ai_cpu(name, open_registered(folder, object)?, object, symbol)
            }
            Source::Aiv(library) => {
                let kernel = Aiv::new(library, name)
                    .ok_or_else(|| fault(code::OP_NOT_FOUND, format!("the shared object has no kernel `{name}`")))?;
                Ok(Function { name: name.to_owned(), kind: Kind::Aiv(kernel), _library: library.clone() })
            }
        }
    }
}

fn ai_cpu(name: &str, library: Arc<Library>, object: &str, function: &str) -> Result<Function, AclError> {
    let address = symbol(&library, function).ok_or_else(|| {
        fault(code::OP_NOT_FOUND, format!("{object} has no function `{function}`, which is kernel `{name}`"))
    })?;
    // SAFETY: that the function takes one pointer and returns `unsigned int` is what its registration as an AI CPU kernel
    // says.
    let kernel = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void) -> u32>(address) };
    Ok(Function { name: name.to_owned(), kind: Kind::AiCpu(kernel), _library: library })
}

/// `aclrtCreateBinary`: null if there is nothing.
#[unsafe(no_mangle)]
unsafe extern "C" fn aclrtCreateBinary(data: *const c_void, len: usize) -> *mut c_void {
    // SAFETY: C says that `data` is `len` bytes.
    match unsafe { ffi::slice(data.cast::<u8>(), len, "data") } {
        Ok(bytes) if !bytes.is_empty() => ffi::pointer(BINARIES.insert(bytes.to_vec())),
        _ => std::ptr::null_mut(),
    }
}

c_functions! {
    acl aclrtDestroyBinary(binary: *mut c_void) {
        BINARIES.remove(ffi::number(binary))?;
        Ok(())
    }

    acl aclrtBinaryLoad(binary: *mut c_void, loaded: *mut *mut c_void) {
        let bytes = BINARIES.get(ffi::number(binary))?;
        let handle = LOADED.insert(Loaded::new(load_bytes(&bytes)?));
        // SAFETY: null or C's to write to.
        unsafe { put(loaded, "binHandle", ffi::pointer(handle))? };
        Ok(())
    }

    acl aclrtBinaryLoadFromFile(path: *const c_char, _options: *const c_void, loaded: *mut *mut c_void) {
        // SAFETY: C says that it is a string.
        let path = unsafe { string(path, "binPath")? };
        let handle = LOADED.insert(Loaded::new(load(Path::new(&path))?));
        // SAFETY: null or C's to write to.
        unsafe { put(loaded, "binHandle", ffi::pointer(handle))? };
        Ok(())
    }

    acl aclrtBinaryLoadFromData(
        data: *const c_void,
        len: usize,
        _options: *const c_void,
        loaded: *mut *mut c_void,
    ) {
        // SAFETY: C says that `data` is `len` bytes.
        let bytes = unsafe { ffi::slice(data.cast::<u8>(), len, "data")? };
        let handle = LOADED.insert(Loaded::new(load_bytes(bytes)?));
        // SAFETY: null or C's to write to.
        unsafe { put(loaded, "binHandle", ffi::pointer(handle))? };
        Ok(())
    }

    acl aclrtBinaryUnLoad(loaded: *mut c_void) {
        LOADED.remove(ffi::number(loaded))?;
        Ok(())
    }

    acl aclrtBinaryGetFunction(loaded: *mut c_void, name: *const c_char, function: *mut *mut c_void) {
        // SAFETY: C says that it is a string.
        let name = unsafe { string(name, "kernelName")? };
        let found = LOADED.get(ffi::number(loaded))?.handle(&name)?;
        // SAFETY: null or C's to write to.
        unsafe { put(function, "funcHandle", ffi::pointer(found))? };
        Ok(())
    }

    acl aclrtRegisterCpuFunc(
        loaded: *mut c_void,
        function_name: *const c_char,
        kernel_name: *const c_char,
        function: *mut *mut c_void,
    ) {
        // SAFETY: C says that they are strings.
        let (symbol, name) = unsafe { (string(function_name, "funcName")?, string(kernel_name, "kernelName")?) };
        let loaded = LOADED.get(ffi::number(loaded))?;
        let found = match &loaded.from {
            Source::Aiv(library) => FUNCTIONS.insert(ai_cpu(&name, library.clone(), "the shared object", &symbol)?),
            Source::AiCpu(..) => loaded.handle(&name)?,
        };
        // SAFETY: null or C's to write to.
        unsafe { put(function, "funcHandle", ffi::pointer(found))? };
        Ok(())
    }

    acl aclrtGetFunctionName(function: *mut c_void, max: u32, name: *mut c_char) {
        let function = FUNCTIONS.get(ffi::number(function))?;
        if name.is_null() {
            return Err(AclError::null("name"));
        }
        if function.name.len() >= max as usize {
            let sentence = format!("the name `{}` does not fit {max} bytes", function.name);
            return Err(AclError::new(code::INVALID_PARAM, sentence));
        }
        // SAFETY: C says that `name` has room for `max` bytes, and the name with its end is no longer.
        unsafe {
            std::ptr::copy_nonoverlapping(function.name.as_ptr().cast(), name, function.name.len());
            name.add(function.name.len()).write(0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn registration_files_are_read_or_told_what_is_wrong() {
        let good = r#"{"K": {"opInfo": {"opKernelLib": "AICPUKernel", "kernelSo": "libk.so", "functionName": "f"}}}"#;
        let kernel = Registered { object: "libk.so".into(), symbol: "f".into() };
        assert_eq!(registered(good), Ok(BTreeMap::from([("K".into(), kernel)])));
        for (bad, words) in [
            ("[1]", "not an object"),
            ("{", "EOF"),
            (r#"{"K": {}}"#, "`K` has no `opInfo.opKernelLib`"),
            (r#"{"K": {"opInfo": {"opKernelLib": "X"}}}"#, "the stand-in runs `AICPUKernel`"),
            (r#"{"K": {"opInfo": {"opKernelLib": "AICPUKernel", "kernelSo": 3}}}"#, "no `opInfo.kernelSo`"),
        ] {
            let error = registered(bad).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
