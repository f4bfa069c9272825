//! The headers: they compile, their numbers are the public headers', and what they declare is there.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

mod support;

fn crate_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Whether g++ takes a file with the headers of this crate.
fn compiles(file: &Path, standard: &str) {
    let mut gcc = Command::new("g++");
    gcc.arg(format!("-std={standard}")).args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]);
    let output = gcc.arg(crate_root().join("include")).arg(file).output().unwrap();
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_binary_interface_has_its_numbers() {
    if !support::has("g++") {
        return;
    }
    for standard in ["c++14", "c++17"] {
        compiles(&crate_root().join("tests/cpp/layout.cpp"), standard);
    }
}

#[test]
fn every_header_stands_alone() {
    if !support::has("g++") {
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("headers");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, _) in hcomm_abi::files().into_iter().filter(|(name, _)| name.ends_with(".h")) {
        let name = name.strip_prefix("include/").unwrap();
        let file = folder.join(format!("{}.cpp", name.replace(['/', '.'], "_")));
        std::fs::write(&file, format!("#include <{name}>\n#include <{name}>\nint main() {{ return 0; }}\n")).unwrap();
        compiles(&file, "c++14");
    }
}

/// Functions that the headers declare.
fn declared() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (name, text) in hcomm_abi::files() {
        let declares = name.starts_with("include/hccl/") || name.starts_with("include/acl/");
        if !declares {
            continue;
        }
        for line in text.lines().filter(|line| line.starts_with("extern ") || line.starts_with("ACL_FUNC_VISIBILITY "))
        {
            let Some((before, _)) = line.split_once('(') else { continue };
            let function = before.rsplit([' ', '*']).next().unwrap();
            found.insert(function.to_owned());
        }
    }
    found
}

#[test]
fn what_is_declared_is_there_and_in_the_table() {
    let declared = declared();
    assert!(declared.len() > 240, "{declared:?}");
    let dir = support::standin();
    // SAFETY: the library does nothing when it is loaded.
    let library = unsafe { libloading::Library::new(dir.join("lib/libhcomm_standin.so")) }.unwrap();
    let docs = std::fs::read_to_string(crate_root().join("../docs/stand-in.md")).unwrap();
    for function in &declared {
        // SAFETY: the symbol is not called.
        let symbol = unsafe { library.get::<*const ()>(function.as_bytes()) };
        assert!(symbol.is_ok(), "{function} is declared and not there");
        assert!(docs.contains(&format!("`{function}`")), "{function} is not in the table of docs/stand-in.md");
    }
}
