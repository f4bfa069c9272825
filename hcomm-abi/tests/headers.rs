//! The headers: they compile, their numbers are the public headers', and what they declare is there.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
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

/// Functions that the headers declare, by header.
fn declared() -> BTreeMap<&'static str, Vec<String>> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, text) in hcomm_abi::files() {
        let Some(header) =
            name.strip_prefix("include/").filter(|name| name.starts_with("hccl/") || name.starts_with("acl/"))
        else {
            continue;
        };
        for line in text.lines().filter(|line| line.starts_with("extern ") || line.starts_with("ACL_FUNC_VISIBILITY "))
        {
            let Some((before, _)) = line.split_once('(') else { continue };
            found.entry(header).or_default().push(before.rsplit([' ', '*']).next().unwrap().to_owned());
        }
    }
    found
}

/// Functions that say that they are not offered.
fn not_offered() -> BTreeSet<&'static str> {
    let source = include_str!("../src/hccl/unsupported.rs");
    let lists = source.split("not_offered! {").skip(1).map(|list| list.split('}').next().unwrap());
    lists.flat_map(str::split_whitespace).filter(|word| !word.ends_with(':')).collect()
}

/// The table of docs/stand-in.md.
fn table() -> String {
    let not_offered = not_offered();
    let mut table = String::new();
    for (header, functions) in declared() {
        let list = |offered: bool| {
            let chosen = functions.iter().filter(|function| not_offered.contains(function.as_str()) != offered);
            let words: Vec<String> = chosen.map(|function| format!("`{function}`")).collect();
            if words.is_empty() { "–".to_owned() } else { words.join(", ") }
        };
        table.push_str(&format!("| `{header}` | {} | {} |\n", list(true), list(false)));
    }
    table
}

#[test]
fn what_is_declared_is_there() {
    let declared: Vec<String> = declared().into_values().flatten().collect();
    assert!(declared.len() > 240, "{declared:?}");
    let dir = support::standin();
    // SAFETY: the library does nothing when it is loaded.
    let library = unsafe { libloading::Library::new(dir.join("lib/libhcomm_standin.so")) }.unwrap();
    for function in &declared {
        // SAFETY: the symbol is not called.
        let symbol = unsafe { library.get::<*const ()>(function.as_bytes()) };
        assert!(symbol.is_ok(), "{function} is declared and not there");
    }
    for function in not_offered() {
        assert!(declared.iter().any(|declared| declared == function), "{function} is in no header");
    }
}

#[test]
fn the_table_of_functions_is_what_they_are() {
    let path = crate_root().join("../docs/stand-in.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, _) = text.split_once("| --- | --- | --- |\n| `acl/").unwrap();
    let right = format!("{before}| --- | --- | --- |\n{}", table());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, right).unwrap();
    } else {
        assert!(
            text == right,
            "the table of docs/stand-in.md is old: UPDATE_DOCS=1 cargo test -p hcomm-abi --test headers"
        );
    }
}
