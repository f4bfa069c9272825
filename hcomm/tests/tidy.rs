//! The invariants of ARCHITECTURE.md that a look at the tree can keep.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The crates of the workspace that a crate depends on to be built.
fn depends(name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root().join(name).join("Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let names = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| name.starts_with("hcomm")).map(str::to_owned).collect()
}

#[test]
fn dependencies_run_one_way() {
    for (name, allowed) in [
        ("hcomm-core", &[][..]),
        ("hcomm-lang", &["hcomm-core"]),
        ("hcomm-macros", &["hcomm-core", "hcomm-lang"]),
        ("hcomm-algos", &["hcomm-core", "hcomm-macros"]),
        ("hcomm-sim", &["hcomm-core"]),
        ("hcomm-emit", &["hcomm-core"]),
        ("hcomm-abi", &["hcomm-core", "hcomm-sim"]),
        ("examples/custom-operator", &["hcomm"]),
    ] {
        let found = depends(name);
        assert!(found.iter().all(|found| allowed.contains(&found.as_str())), "{name} depends on {found:?}");
    }
}

/// All Rust files under a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
}

fn crate_sources(name: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    sources(&root().join(name).join("src"), &mut found);
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn the_core_does_not_touch_the_outside() {
    for (path, text) in crate_sources("hcomm-core") {
        for outside in ["std::fs", "std::io", "std::env", "std::net", "std::process", "std::time", "std::thread"] {
            assert!(!text.contains(outside), "{} uses {outside}", path.display());
        }
    }
}

#[test]
fn types_do_not_serialize_themselves() {
    for (path, text) in crate_sources("hcomm-core") {
        let format = path.ends_with("json.rs");
        assert!(format || !text.contains("Serialize"), "{} mixes a type with its format", path.display());
    }
}

#[test]
fn generated_code_names_only_the_facade() {
    let files = crate_sources("hcomm-lang");
    let expansion = files.iter().filter(|(path, _)| path.components().any(|part| part.as_os_str() == "expand"));
    let mut seen = 0;
    for (path, text) in expansion {
        assert!(!text.contains("::hcomm_core::__private"), "{}", path.display());
        seen += 1;
    }
    assert!(seen > 0, "the expansion has moved");
}

#[test]
fn every_file_says_what_it_is() {
    for name in
        ["hcomm", "hcomm-core", "hcomm-lang", "hcomm-macros", "hcomm-algos", "hcomm-sim", "hcomm-emit", "hcomm-abi"]
    {
        for (path, text) in crate_sources(name) {
            assert!(text.starts_with("//!"), "{} has no first line that says its job", path.display());
        }
    }
}
