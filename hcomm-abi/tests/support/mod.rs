//! What tests that compile C++ share.
#![allow(dead_code, reason = "not every test uses everything")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Whether a program can be run. If not, the test says that it was skipped.
pub(crate) fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: {program} is not installed");
    }
    there
}

/// The directory that operators are built with.
pub(crate) fn standin() -> &'static PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        // One for each test program: they run at the same time.
        let name = std::env::current_exe().unwrap();
        let name = name.file_name().unwrap().to_string_lossy().into_owned();
        let dir =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("standin-{}", name.split('-').next().unwrap()));
        let mut make = Command::new(env!("CARGO_BIN_EXE_hcomm-standin"));
        succeeds(make.arg("--out").arg(&dir));
        dir
    })
}

/// Runs a command that is to succeed.
pub(crate) fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
