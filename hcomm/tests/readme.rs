//! What the README shows is what the command prints.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::process::Command;

/// Every `hcomm` command of the README that is followed by its output.
#[test]
fn the_readme_shows_real_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let (mut shown, mut command) = (0, None);
    let mut blocks = readme.split("\n```");
    blocks.next();
    while let (Some(block), _) = (blocks.next(), blocks.next()) {
        let (language, text) = block.split_once('\n').unwrap();
        match (language, &command) {
            ("sh", _) => {
                let line = text.trim().lines().last().unwrap_or_default();
                command = line.strip_prefix("cargo run --release -- ").map(str::to_owned);
            }
            ("text", Some(line)) => {
                let run = Command::new(env!("CARGO_BIN_EXE_hcomm"));
                let output = { run }.args(line.split_whitespace()).current_dir(root).output().unwrap();
                let printed = [output.stdout, output.stderr].concat();
                assert_eq!(String::from_utf8(printed).unwrap().trim_end(), text.trim_end(), "{line}");
                shown += 1;
                command = None;
            }
            _ => {}
        }
    }
    assert!(shown >= 1, "the README shows no run");
}
