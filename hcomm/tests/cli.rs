//! The command line as its users see it: text, JSON, exit status, and errors that teach.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::{Command, Output};

use serde_json::Value;

fn hcomm(line: &str) -> Output {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    Command::new(env!("CARGO_BIN_EXE_hcomm")).args(line.split_whitespace()).current_dir(root).output().unwrap()
}

fn text(line: &str) -> String {
    let output = hcomm(line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(line: &str) -> Value {
    serde_json::from_slice(&hcomm(&format!("{line} --json")).stdout).unwrap()
}

/// Exit status and error text.
fn refused(line: &str) -> String {
    let output = hcomm(line);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{line} should be refused");
    assert!(output.stdout.is_empty(), "{line} should print nothing: {}", String::from_utf8_lossy(&output.stdout));
    format!("$ hcomm {line}\nexit status {}\n{error}", output.status.code().unwrap())
}

#[test]
fn list() {
    insta::assert_snapshot!(text("list"));
    let list = json("list");
    assert_eq!(list[0]["name"], "mesh_all_gather");
    assert_eq!(list[0]["operator"], "all_gather");
    assert_eq!(list[0]["engines"][0], "ai_cpu");
}

#[test]
fn resources() {
    insta::assert_snapshot!(text("resources mesh_all_gather --ranks 4"));
    insta::assert_snapshot!(text("resources read_send_recv --ranks 5 --src 3 --dst 1"));
    let ring = &json("resources ring_all_gather --ranks 4")["max"];
    let table = |max: &Value| {
        ["threads", "notify_num_per_thread", "thread_notifies", "channels", "channel_notifies"].map(|f| max[f].clone())
    };
    assert_eq!(table(ring), [2, 1, 2, 2, 4]);
    assert_eq!(table(&json("resources mesh_all_gather --ranks 4")["max"]), [3, 2, 4, 3, 6]);
    assert_eq!(json("resources ring_all_gather --ranks 2")["max"]["channels"], 1);
}

#[test]
fn show() {
    insta::assert_snapshot!(text("show read_send_recv --ranks 3 --src 2 --dst 0"));
    insta::assert_snapshot!(text("show mesh_all_gather --ranks 4 --rank 1"));
    insta::assert_snapshot!(text("show read_send_recv --ranks 2 --format json"));
    insta::assert_snapshot!(text("show ring_all_reduce --ranks 2 --rank 0 --fuse"));
    assert!(text("show ring_all_gather --ranks 4 --format dot").starts_with("digraph ring_all_gather {"));
    assert!(text("show ring_all_gather --ranks 4 --format mermaid").contains("flowchart TB"));
}

#[test]
fn run() {
    insta::assert_snapshot!(text("run mesh_all_gather --ranks 4 --count 1000 --dtype fp32"));
    insta::assert_snapshot!(text(
        "run ring_all_reduce --ranks 3 --count 5 --dtype bf16 --reduce max --repeat 2 --in-place"
    ));
    let run = json("run one_shot_all_reduce --ranks 5 --count 127 --dtype int64 --reduce prod");
    assert_eq!((&run["ok"], &run["mismatches"]), (&Value::Bool(true), &Value::from(0)));
    assert_eq!(run["bytes_checked"], 5 * 127 * 8);
}

#[test]
fn a_file_runs_like_the_algorithm_that_it_was_shown_from() {
    let file = std::env::temp_dir().join(format!("hcomm-{}.json", std::process::id()));
    std::fs::write(&file, text("show nhr_all_gather --ranks 5 --format json")).unwrap();
    let run = json(&format!("run --program {} --count 33 --dtype int8", file.display()));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(run["ok"], true);
    assert_eq!(run["bytes_checked"], 5 * 5 * 33);
}

#[test]
fn errors_teach() {
    let lines = [
        "run mesh_allgather --ranks 4 --count 1",
        "run mesh_all_gather --count 1",
        "run mesh_all_gather --ranks 0 --count 1",
        "run mesh_all_gather --ranks 4 --count 1.5",
        "run mesh_all_gather --ranks 4 --count 1 --dtype f32",
        "run mesh_all_gather --ranks 4 --count 1 --reduce sum",
        "run mesh_all_gather --ranks 4 --count 1 --root 1",
        "run mesh_all_gather --ranks 4 --count 1 --hccl-buffer 100",
        "run mesh_all_gather --ranks 4 --count 1 --engine aiv --blocks 49",
        "run mesh_all_gather --layout 2x2 --count 1 --engine aiv --product a2",
        "run one_shot_all_reduce --ranks 4 --count 1 --engine aiv --reduce prod",
        "run mesh_all_gather --ranks 64 --count 1 --cann 8.5",
        "run read_send_recv --ranks 4 --count 1 --src 1",
        "run read_send_recv --ranks 4 --count 1 --dst 4",
        "run ring_all_reduce --ranks 4 --count 1 --dtype int64",
        "run ring_all_reduce --ranks 4 --count 1 --dtype fp32 --reduce prod",
        "run one_shot_all_reduce --ranks 4 --count 1 --dtype bf16 --reduce prod",
        "run one_shot_all_reduce --ranks 4 --count 1 --dtype int64 --product a3",
        "show ring_all_reduce --ranks 4 --fuse --product a2",
        "show ring_all_reduce --ranks 4 --rank 4",
        "show ring_all_reduce --ranks 4 --rank 1 --format dot",
        "show ring_all_reduce --ranks 4 --layout 2x2",
        "resources ring_all_reduce --layout 2y2",
        "run --program no-such-file.json --count 1",
        "run --program Cargo.toml --count 1",
    ];
    insta::assert_snapshot!(lines.map(refused).join("\n"));
}

#[test]
fn a_fault_is_json_too() {
    let output = hcomm("run ring_all_reduce --ranks 4 --count 1 --dtype fp64 --json");
    assert_eq!(output.status.code(), Some(1));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["ok"], &value["diagnostics"][0]["code"]), (&Value::Bool(false), &Value::from("H402")));
    assert_eq!(value["diagnostics"][0]["file"], "hcomm-algos/src/all_reduce/ring.rs");
}
