//! Makes the directory that operators are built with: headers, library, and a package file for CMake.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Makes a directory to build C++ operators with (docs/stand-in.md).

Usage: hcomm-standin --out DIR
";

/// Names that operators link with; all are the one library.
const ALIASES: [&str; 10] = [
    "libhcomm.so",
    "libhccl.so",
    "libhccl_fwk.so",
    "libascendcl.so",
    "libacl_rt.so",
    "libruntime.so",
    "libascendc_runtime.so",
    "libccl_kernel.so",
    "libc_sec.so",
    "libunified_dlog.so",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let out = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--out", out] => PathBuf::from(out),
        [option] if option.starts_with("--out=") => PathBuf::from(&option["--out=".len()..]),
        ["--help" | "-h"] => {
            eprint!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match make(&out) {
        Ok(()) => {
            eprintln!("{}: include/, lib/ and cmake/ of the stand-in", out.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make(out: &Path) -> Result<(), String> {
    for (name, text) in hcomm_abi::files() {
        let path = out.join(name);
        let folder = path.parent().unwrap_or(out);
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        write(&path, text.as_bytes())?;
    }
    let library = library()?;
    let folder = out.join("lib");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let copy = folder.join("libhcomm_standin.so");
    let bytes = fs::read(&library).map_err(|error| format!("{}: {error}", library.display()))?;
    write(&copy, &bytes)?;
    for alias in ALIASES {
        let alias = folder.join(alias);
        let _not_there = fs::remove_file(&alias);
        std::os::unix::fs::symlink("libhcomm_standin.so", &alias)
            .map_err(|error| format!("{}: {error}", alias.display()))?;
    }
    Ok(())
}

/// Writes a file unless it is so already: what depends on it need not be built again.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|had| had == bytes) {
        return Ok(());
    }
    // Removed first, so that a process that has the old one mapped keeps it.
    let _not_there = fs::remove_file(path);
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// The shared library that was built together with this program, and lies beside it.
fn library() -> Result<PathBuf, String> {
    let me = std::env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    let folder = me.parent().ok_or("this program is nowhere")?;
    // A test builds it in the one place, a build in both: the newer one belongs to this program.
    let candidates = [folder.join("libhcomm_abi.so"), folder.join("deps/libhcomm_abi.so")];
    let made = |path: &PathBuf| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let found = candidates.iter().filter(|path| made(path).is_some()).max_by_key(|path| made(path)).cloned();
    found.ok_or_else(|| format!("{} is not there: build the whole package hcomm-abi", candidates[0].display()))
}
