//! The C++ operators of `examples/cpp`: built by CMake, run by CTest, and what is said about the faulty ones.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

mod support;
use support::{has, standin, succeeds};

/// Where the examples have been built; `None` without a compiler.
fn built() -> Option<&'static PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        if !has("g++") || !has("cmake") {
            return None;
        }
        let build = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cpp");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/cpp");
        // What was configured in a folder that has moved since is of no use.
        let _not_there = std::fs::remove_dir_all(&build);
        let mut configure = Command::new("cmake");
        // Compiled fast, as the programs run for no time.
        configure.arg("-S").arg(source).arg("-B").arg(&build).arg("-DCMAKE_BUILD_TYPE=Debug");
        succeeds(configure.arg(format!("-DHCOMM_STANDIN={}", standin().display())));
        succeeds(Command::new("cmake").arg("--build").arg(&build).args(["--parallel", "2"]));
        Some(build)
    };
    BUILT.get_or_init(build).as_ref()
}

/// Runs a test program with settings. It must end by itself: timeouts are short.
fn run(program: &str, settings: &[(&str, &str)]) -> Option<Output> {
    let build = built()?;
    let mut command = Command::new(build.join(program));
    command.env("OPERATOR_KERNELS", build.join("kernels")).env("HCCL_CONNECT_TIMEOUT", "7200");
    command.env("HCOMM_TIMEOUT_SCALE", "0.02").envs(settings.iter().copied());
    Some(command.output().unwrap())
}

/// What the checks said, without what differs from run to run: addresses, numbers of calls, and the order of faults.
fn told(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().skip_while(|line| !line.starts_with("HCOMM_CHECK"));
    let mut faults: Vec<String> = Vec::new();
    for line in lines.take_while(|line| !line.starts_with("rank ")) {
        match faults.last_mut().filter(|_| line.starts_with("  ")) {
            Some(fault) => fault.push_str(&(plain(line) + "\n")),
            None => faults.push(plain(line) + "\n"),
        }
    }
    faults.sort_by_key(|fault| (!fault.starts_with("HCOMM_CHECK"), fault.clone()));
    faults.concat()
}

/// A line without addresses and numbers of calls.
fn plain(line: &str) -> String {
    let mut words = Vec::new();
    let mut after_call = false;
    for word in line.split(' ') {
        let is_number = word.trim_end_matches(':').chars().all(|digit| digit.is_ascii_digit()) && !word.is_empty();
        if word.starts_with("0x") {
            words.push("ADDRESS".to_owned());
        } else if after_call && is_number {
            words.push(if word.ends_with(':') { "N:".to_owned() } else { "N".to_owned() });
        } else {
            words.push(word.to_owned());
        }
        after_call = word == "call";
    }
    words.join(" ")
}

#[test]
fn hand_written_operators_run() {
    let Some(build) = built() else { return };
    if !has("ctest") {
        return;
    }
    succeeds(Command::new("ctest").arg("--test-dir").arg(build).arg("--output-on-failure"));
}

#[test]
fn what_was_called_is_written_down() {
    let trace = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("all_gather.json");
    let trace_name = trace.display().to_string();
    let Some(output) = run("mesh_all_gather_test", &[("HCOMM_DEVICES", "4"), ("HCOMM_TRACE", &trace_name)]) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&trace).unwrap();
    let program = hcomm_core::program::Program::from_json(&text).unwrap();
    assert_eq!(program.num_ranks(), 4);
    // The stream, and a thread a peer.
    assert!(program.ranks.iter().all(|rank| rank.threads.len() == 4), "{program:?}");
    // It is a program like any other: the checks take it.
    assert_eq!(hcomm_core::check::execution(&program), []);
    let timeline = std::fs::read_to_string(format!("{trace_name}.timeline.json")).unwrap();
    let timeline: serde_json::Value = serde_json::from_str(&timeline).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap();
    let count = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    // Four calls of the operator: a launch and two notifies of the host, the start and the end on the device, and a
    // round each: 1 + 4 copies, 2 · 4 for two lanes that are forked and joined, 5 for each of three.
    assert_eq!(count("X"), 4 * 4 * (3 + 2 + 5 + 8 + 15));
    assert_eq!(count("M"), 4 * 5);
}

/// Runs a faulty send and receive. Where it hangs, `scale` decides for how long.
fn faulty(fault: &str, scale: &str) -> Option<Output> {
    let settings =
        [("SEND_RECV_FAULT", fault), ("HCOMM_DEVICES", "2"), ("HCOMM_CHECK", "1"), ("HCOMM_TIMEOUT_SCALE", scale)];
    let output = run("send_recv_test", &settings)?;
    assert_eq!(output.status.code(), Some(86), "{fault}: {output:?}");
    Some(output)
}

#[test]
fn a_missing_wait_is_found() {
    let Some(output) = faulty("missing_wait", "0.02") else { return };
    insta::assert_snapshot!(told(&output));
}

#[test]
fn a_double_record_is_found() {
    let Some(output) = faulty("double_record", "0.02") else { return };
    insta::assert_snapshot!(told(&output));
}

#[test]
fn an_out_of_range_write_is_refused_and_ends_with_the_timeout_s_words() {
    let Some(output) = faulty("out_of_range", "0.002") else { return };
    insta::assert_snapshot!(told(&output));
    let text = String::from_utf8_lossy(&output.stderr);
    let waited = "aclrtSynchronizeStream: HCCL_E_TIMEOUT (9): rank 0 of hccl_comm_2 waited for notify 1 of its channel to \
                  rank 1 on thread 1, which that rank did not set within 1836 s (EI0002)";
    assert!(text.contains(waited), "{text}");
}

/// Two calls, and the second may fill the buffer while the first is being read: rarely seen, and always there.
#[test]
fn a_missing_acknowledgement_is_found_whatever_happened() {
    let Some(output) = faulty("missing_acknowledgement", "0.02") else { return };
    let told = told(&output);
    let race = "error[H201]: race on scratch[0] of rank 0";
    assert!(told.contains(race) && told.contains("error[H103]: "), "{told}");
    assert!(!told.contains("if all of this is called again"), "{told}");
}

#[test]
fn a_kernel_that_leaves_its_batch_open_is_told_so() {
    let settings = [("SEND_RECV_FAULT", "missing_batch_end"), ("HCOMM_DEVICES", "2"), ("HCOMM_TIMEOUT_SCALE", "0.001")];
    let Some(output) = run("send_recv_test", &settings) else { return };
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    let words = "AI CPU kernel SendRecvExampleKernel returned inside the batch `send_recv`, whose tasks are lost";
    assert!(text.contains(words), "{text}");
}

/// A setting that is wrong is told with what would be right.
#[test]
fn wrong_settings_are_told() {
    for (name, value, said) in [
        ("HCOMM_DEVICES", "2x0", "is `2x0`: it is `8`, `2x4` (servers of ranks)"),
        ("HCOMM_DEVICES", "2000", "of 1 to 1024 ranks in all"),
        ("HCOMM_TIMEOUT_SCALE", "-1", "is -1e0: it is the length of a second"),
        ("HCOMM_TIMEOUT_SCALE", "fast", "is `fast`, which is no number that it takes"),
        ("HCCL_BUFFSIZE", "0", "the environment variable HCCL_BUFFSIZE is 0: it is 1 to 1048576 megabytes"),
        ("HCCL_BUFFSIZE", "17592186044417", "it is 1 to 1048576 megabytes"),
    ] {
        let Some(output) = run("send_recv_test", &[("HCOMM_DEVICES", "2"), (name, value)]) else { return };
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(said), "{name}={value}: {text}");
    }
}
