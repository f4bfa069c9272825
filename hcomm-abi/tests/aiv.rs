//! Kernels for Vector cores on the CPU: what they compute, and what is said about wrong ones.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

mod support;
use support::{has, standin, succeeds};

/// The driver and the kernels; `None` without a compiler.
fn built() -> Option<&'static (PathBuf, PathBuf)> {
    static BUILT: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    let build = || {
        if !has("g++") {
            return None;
        }
        let dir = standin();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cpp");
        let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("aiv");
        std::fs::create_dir_all(&out).unwrap();
        let compile = |from: &str, to: &Path, more: &[&str]| {
            let mut gcc = Command::new("g++");
            gcc.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]).args(more);
            gcc.arg("-I").arg(dir.join("include")).arg(source.join(from)).arg("-o").arg(to);
            succeeds(gcc.arg("-L").arg(dir.join("lib")).arg("-lascendcl"));
        };
        let (main, kernels) = (out.join("aiv_main"), out.join("libaiv_kernels.so"));
        compile("aiv_main.cpp", &main, &[]);
        compile("aiv_kernels.cpp", &kernels, &["-shared", "-fPIC"]);
        Some((main, kernels))
    };
    BUILT.get_or_init(build).as_ref()
}

/// Runs a kernel: the runtime's code, the sentence if it is not 0, and the words of the buffer.
fn run(kernel: &str, blocks: u32) -> Option<(i32, String, Vec<u32>)> {
    let (main, kernels) = built()?;
    let mut command = Command::new(main);
    // Short only for those that do not end.
    let micros = if matches!(kernel, "Polls" | "Misses") { "300000" } else { "60000000" };
    command.arg(kernels).arg(kernel).arg(blocks.to_string()).arg(micros).env("LD_LIBRARY_PATH", standin().join("lib"));
    let output = succeeds(command.env("HCOMM_DEVICES", "1"));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let words = lines.last().unwrap().split_whitespace().map(|word| u32::from_str_radix(word, 16).unwrap()).collect();
    Some((lines[0].parse().unwrap(), lines[1..lines.len() - 1].join("\n"), words))
}

#[test]
fn blocks_add_and_meet() {
    let Some((code, _, words)) = run("Adds", 10) else { return };
    assert_eq!((code, &words[..9]), (0, &[110, 110, 110, 110, 110, 110, 110, 110, 0][..]));
    // 7.0 as a 16-bit float is 0x4700; two of them are a word.
    let (code, _, words) = run("AddsHalves", 7).unwrap();
    assert_eq!((code, &words[..9]), (0, &[0x4700_4700; 8].into_iter().chain([0]).collect::<Vec<u32>>()[..]));
}

#[test]
fn arguments_of_any_kind_arrive() {
    let Some((code, _, words)) = run("Scalars", 1) else { return };
    assert_eq!((code, words[3], words[2]), (0, 3.0f32.to_bits(), 0));
}

#[test]
fn faults_end_the_kernel_with_a_sentence() {
    const EXCEPTION: i32 = 507_035;
    const TIMEOUT: i32 = 507_034;
    for (kernel, blocks, code, sentence) in [
        ("UnalignedCopy", 1, EXCEPTION, "block 0: DataCopy of 28 bytes: it moves blocks of 32"),
        (
            "OverTheEnd",
            1,
            EXCEPTION,
            "32 bytes from byte 48 of an allocation of 64 bytes on device 0 run 16 bytes over",
        ),
        ("OutsideTheTensor", 1, EXCEPTION, "28 bytes reach outside a LocalTensor of 24 bytes"),
        ("TooMuchUnifiedBuffer", 1, EXCEPTION, "the Unified Buffer has 196608 bytes, 0 are in use, and 198656 more"),
        ("AllInUse", 1, EXCEPTION, "whose buffers are all in use"),
        ("AtomicStays", 1, EXCEPTION, "an atomic mode set: SetAtomicNone is missing"),
        ("Polls", 2, TIMEOUT, "has not ended within 0.3 s"),
        ("Misses", 3, TIMEOUT, "waits in SyncAll for others that do not come"),
    ] {
        let Some((got, said, _)) = run(kernel, blocks) else { return };
        assert_eq!(got, code, "{kernel}: {said}");
        assert!(said.contains(sentence) && said.contains(kernel), "{kernel}: {said}");
    }
}
