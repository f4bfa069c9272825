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
    insta::assert_snapshot!(text("run zero_copy_mesh_all_reduce --ranks 4 --count 1000000 --dtype fp32 --product a3"));
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
fn aiv() {
    let table = &json("resources mesh_all_gather --ranks 4 --engine aiv")["max"];
    assert_eq!(["blocks", "flags", "channels"].map(|f| table[f].clone()), [4, 6, 3]);
    insta::assert_snapshot!(text("resources mesh_all_gather --ranks 4 --engine aiv --blocks 10"));
    insta::assert_snapshot!(text("show one_shot_all_reduce --ranks 3 --rank 1 --engine aiv"));
    insta::assert_snapshot!(text("run mesh_all_gather --engine aiv --ranks 4 --count 1003 --dtype int8"));
    insta::assert_snapshot!(text(
        "show one_shot_all_reduce --ranks 3 --rank 1 --engine aiv --blocks 5 --double-buffer --product a3"
    ));
    for name in ["mesh_all_gather", "one_shot_all_reduce", "two_shot_all_reduce"] {
        for (ranks, lanes) in [(2, 1), (3, 2), (4, 3), (8, 7)] {
            for blocks in [1, 2, lanes + 1, 48] {
                let line = format!("run {name} --ranks {ranks} --engine aiv --blocks {blocks} --count 1003 --repeat 3");
                for line in [line.clone(), line + " --double-buffer --product a3"] {
                    let run = json(&line);
                    assert_eq!((&run["ok"], &run["engine"]), (&Value::Bool(true), &Value::from("aiv")), "{run}");
                    let slots = if name == "mesh_all_gather" { ranks } else { 1 };
                    assert_eq!(run["bytes_checked"], 3 * ranks * slots * 1003 * 4);
                }
            }
        }
        let check = json(&format!("check {name} --ranks 2..=8 --engine aiv --blocks 2"));
        assert_eq!(check["ok"], true, "{check}");
    }
    let check = json("check mesh_all_gather --ranks 4 --engine aiv --cores 3");
    assert_eq!((&check["ok"], &check["diagnostics"][0]["code"]), (&Value::Bool(false), &Value::from("H101")));
    // As the static check has it, so the run.
    assert_eq!(json("run mesh_all_gather --ranks 4 --engine aiv --cores 3 --count 1")["ok"], false);
}

#[test]
fn a_kernel_in_a_file_is_checked_and_runs() {
    let file = std::env::temp_dir().join(format!("hcomm-aiv-{}.json", std::process::id()));
    std::fs::write(&file, text("show nhr_all_gather --ranks 5 --engine aiv --blocks 3 --format json")).unwrap();
    let run = json(&format!("run --program {} --count 33 --dtype int8", file.display()));
    let check = json(&format!("check --program {}", file.display()));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        (&run["ok"], &run["engine"], &check["ok"]),
        (&Value::Bool(true), &Value::from("aiv"), &Value::Bool(true))
    );
    assert_eq!(run["bytes_checked"], 5 * 5 * 33);
}

/// `SyncAll<true>` keeps no block waiting on A2 and A3: a kernel for the 950 is not one for them, and the other way round
/// it is.
#[test]
fn a_kernel_is_for_products_where_its_blocks_meet() {
    let file = std::env::temp_dir().join(format!("hcomm-aiv-sync-{}.json", std::process::id()));
    let name = file.display();
    std::fs::write(&file, text("show mesh_all_gather --ranks 4 --engine aiv --format json")).unwrap();
    assert_eq!(json(&format!("check --program {name}"))["ok"], true);
    for product in ["a2", "a3"] {
        let check = json(&format!("check --program {name} --product {product}"));
        assert_eq!((&check["ok"], &check["diagnostics"][0]["code"]), (&Value::Bool(false), &Value::from("H402")));
        insta::assert_snapshot!(format!("sync_all_on_{product}"), check["diagnostics"][0]["message"].as_str().unwrap());
    }
    std::fs::write(&file, text("show mesh_all_gather --ranks 4 --engine aiv --product a3 --format json")).unwrap();
    for product in ["a2", "a3", "950"] {
        assert_eq!(json(&format!("check --program {name} --product {product}"))["ok"], true);
    }
    std::fs::remove_file(&file).unwrap();
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
        "run mesh_all_gather --ranks 4 --count 1 --blocks 4",
        "run mesh_all_gather --ranks 4 --count 1 --cores 4",
        "check mesh_all_gather --ranks 4 --cores 4",
        "run mesh_all_gather --ranks 4 --count 1 --engine aiv --blocks 0",
        "run mesh_all_gather --ranks 4 --count 1 --engine aiv --fuse",
        "run mesh_all_gather --layout 2x2x2 --count 1 --engine aiv --product a3",
        "run ring_all_reduce --ranks 4 --count 1 --engine aiv --reduce prod",
        "run ring_all_reduce --ranks 4 --count 1 --engine aiv --dtype fp64",
        "run ring_all_reduce --ranks 4 --count 1 --engine aiv --dtype int64 --product a3",
        "run mesh_all_gather --ranks 4 --count 1 --engine aiv --dtype hif8 --product a2",
        "run mesh_all_gather --ranks 4 --count 1 --double-buffer",
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

#[test]
fn time_on_a_cluster() {
    insta::assert_snapshot!(text("run two_shot_all_reduce --ranks 8 --count 1M --cluster a2-server --explain"));
    let run = json("run ring_all_gather --layout 2x8 --count 1000 --cluster a2-multi");
    let (time, bound) = (run["time_us"].as_f64().unwrap(), run["bound_us"].as_f64().unwrap());
    assert!(0.0 < bound && bound < time, "{run}");
    assert!((run["efficiency"].as_f64().unwrap() - bound / time).abs() < 1e-9);
    let (alg, bus) = (run["alg_gbps"].as_f64().unwrap(), run["bus_gbps"].as_f64().unwrap());
    assert!((alg - 16.0 * 4000.0 / time / 1e3).abs() < 1e-9 && (bus - alg * 15.0 / 16.0).abs() < 1e-9, "{run}");
}

#[test]
fn a_cluster_says_the_product_that_a_program_is_lowered_for() {
    for cluster in ["a2-server", "a3-superpod", "950-mesh"] {
        for engine in ["ai-cpu", "aiv"] {
            let run = json(&format!("run mesh_all_gather --ranks 4 --count 100 --cluster {cluster} --engine {engine}"));
            assert!(run["ok"] == true && run["time_us"].as_f64().unwrap() > 0.0, "{cluster} {engine}: {run}");
        }
    }
    let line = "run mesh_all_gather --ranks 4 --count 100 --cluster a2-server --engine aiv";
    assert_eq!(json(line), json(&format!("{line} --product a2")));
    insta::assert_snapshot!(refused(&format!("{line} --product a3")));
    assert!(refused("run two_shot_all_reduce --ranks 3 --count 9 --cluster a2-server --fuse").contains("H402"));
}

#[test]
fn a_barrier_has_no_count() {
    let plain = text("run mesh_barrier --ranks 4 --cluster 950-mesh");
    insta::assert_snapshot!(plain);
    assert_eq!(text("run mesh_barrier --ranks 4 --cluster 950-mesh --count 1G"), plain);
    assert!(refused("run mesh_all_gather --ranks 4").contains("`--count` says how many elements a slot has"));
}

#[test]
fn launches_are_a_part_of_the_time() {
    let file = std::env::temp_dir().join(format!("hcomm-launch-{}.toml", std::process::id()));
    let cluster = hcomm_sim::cluster::PRESETS[0].1;
    let cluster = ["500.0", "30.0"]
        .into_iter()
        .fold(cluster.to_owned(), |text, launch| text.replacen("launch_us = 0.0", &format!("launch_us = {launch}"), 1));
    std::fs::write(&file, cluster).unwrap();
    for (engine, launch, count) in [("ai-cpu", 500.0, 1), ("aiv", 120.0, 4)] {
        let run = json(&format!(
            "run mesh_all_gather --ranks 4 --count 1K --hccl-buffer 4K --cluster {} --engine {engine} --explain",
            file.display()
        ));
        let path = run["critical_path"].as_array().unwrap();
        let time = |share: &Value| share["time_us"].as_f64().unwrap();
        let launches = path.iter().find(|share| share["operation"] == "launch").unwrap();
        assert_eq!((time(launches), &launches["count"]), (launch, &Value::from(count)), "{engine}");
        let (sum, whole) = (path.iter().map(time).sum::<f64>(), run["time_us"].as_f64().unwrap());
        assert!((sum - whole).abs() < 1e-9 * whole, "{sum} of {whole}");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_time_of_repeated_calls_is_that_of_one() {
    let line = "run mesh_all_gather --ranks 4 --count 1K --cluster a2-server";
    let (once, often) = (json(line), json(&format!("{line} --repeat 3")));
    assert_eq!(once["time_us"], often["time_us"]);
    assert!(text(&format!("{line} --repeat 3")).contains(" us for one call on a2-server"));
    assert!(!text(line).contains("for one call"));
}

#[test]
fn faults_say_who_times_out() {
    let line = "run ring_all_reduce --ranks 4 --count 1K --cluster 950-mesh --fault dead:1>2";
    let output = hcomm(line);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
    let file = std::env::temp_dir().join(format!("hcomm-stuck-{}.html", std::process::id()));
    let stuck = &json(&format!("{line} --report {}", file.display()))["stuck"];
    // The report says so first, in place of a time.
    let html = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    assert!(html.contains(r#""stuck":"nothing goes on after "#));
    assert_eq!(stuck["transfers"][0]["link"], "ub 1>2");
    assert_eq!(stuck["waits"][0]["timeout_s"], 1836.0);
}

/// Errors of JSON files speak of the format, and not of types of the reader.
#[test]
fn what_is_not_a_program_is_told_in_words() {
    for (line, schema) in [("", "hcomm.program/1"), (" --engine aiv", "hcomm.aiv/1")] {
        let json = text(&format!("show mesh_all_gather --ranks 2 --format json{line}"));
        let places = ["{\"op\":", "\"dst\":[", "{\"threads\":[[", "{\"blocks\":[[", "\"layout\":{"];
        let known = places.into_iter().filter(|place| json.contains(place));
        for (number, place) in known.chain(["{"]).enumerate() {
            let key = place.split_once(':').map_or("", |(key, _)| key).trim_start_matches('{');
            // A number in place of an operation, a cell, a rank, a layout.
            let wrong = match place.starts_with('{') {
                true if key.is_empty() => format!("[\"{schema}\"]"),
                true => json.replacen(place, "7,{", 1).replacen("7,{", &format!("7,{place}"), 1),
                false => json.replacen(place, &format!("{key}:7,\"zzz\":{}", &place[place.len() - 1..]), 1),
            };
            let file = std::env::temp_dir().join(format!("hcomm-words-{}-{number}.json", std::process::id()));
            std::fs::write(&file, wrong).unwrap();
            let said = refused(&format!("check --program {}", file.display()));
            std::fs::remove_file(file).unwrap();
            assert!(said.contains("expected") && !said.contains("Json") && !said.contains("struct"), "{place}: {said}");
        }
    }
}

#[test]
fn a_table_without_a_choice_is_refused() {
    let said = refused("tune all_reduce --cluster a2-server --sizes 1K,1M --hccl-buffer 100 --format cpp");
    assert!(said.contains("no algorithm for all_reduce") && said.contains("100 bytes is too small"), "{said}");
}

#[test]
fn a_trace_and_a_report_are_two_files() {
    let line = "run mesh_all_gather --ranks 4 --count 1K --cluster 950-mesh --trace same --report same";
    assert!(refused(line).contains("`--trace` and `--report` are both same"));
}

#[test]
fn a_fault_that_does_not_come_is_refused() {
    let line = "run ring_all_reduce --ranks 4 --count 1K --cluster 950-mesh --fault lose:0>1:1";
    assert_eq!(hcomm(&format!("{line}:5")).status.code(), Some(1));
    insta::assert_snapshot!(refused(&format!("{line}:6")));
    assert!(refused(&format!("{line}:{}", u64::MAX)).contains("which is never made"));
}

#[test]
fn traces_and_reports() {
    let folder = std::env::temp_dir().join(format!("hcomm-pictures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (trace, report) = (folder.join("t.json"), folder.join("r.html"));
    let line = "run mesh_all_gather --ranks 4 --count 100 --cluster 950-clos";
    let run = json(&format!("{line} --trace {} --report {}", trace.display(), report.display()));
    // 4 ranks: two local copies, three lanes of five, fork and join of two of them.
    let operations = 4 * (2 + 3 * 5 + 2 * 4);
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    let html = std::fs::read_to_string(report).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    assert_eq!(of("X").len(), operations);
    // Every wait takes a record, and both ends of an arrow are there.
    let waits = of("X").iter().filter(|event| event["cat"] == "wait").count();
    assert_eq!((of("s").len(), of("f").len()), (waits, waits));
    let last = of("X").iter().map(|e| e["ts"].as_f64().unwrap() + e["dur"].as_f64().unwrap()).fold(0.0, f64::max);
    assert!((last - run["time_us"].as_f64().unwrap()).abs() < 1e-3);
    // The report loads nothing, and holds its data.
    for outside in ["http:", "https:", "src=", "@import", "url(", "fetch("] {
        assert!(!html.contains(outside), "{outside}");
    }
    let data = html.split("type=\"application/json\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!((data["events"].as_array().unwrap().len(), &data["operations"]), (operations, &Value::from(operations)));
}

/// A trace by the format's rules, as Perfetto reads it: every event has what its phase needs, tracks are named, what is on
/// a track nests, and arrows have two ends, in order, inside operations.
fn assert_is_a_trace(trace: &Value) {
    use std::collections::HashMap;
    let events = trace["traceEvents"].as_array().unwrap();
    let (mut named, mut tracks, mut flows) = (Vec::new(), HashMap::new(), HashMap::new());
    for event in events {
        let (phase, pid, tid) =
            (event["ph"].as_str().unwrap(), event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        assert!(event["name"].as_str().is_some_and(|name| !name.is_empty()), "{event}");
        match phase {
            "M" => {
                let name = event["name"].as_str().unwrap();
                let args = &event["args"];
                match name {
                    "process_name" | "thread_name" => assert!(args["name"].is_string(), "{event}"),
                    "process_sort_index" | "thread_sort_index" => assert!(args["sort_index"].is_u64(), "{event}"),
                    other => panic!("metadata {other}"),
                }
                named.push((name.to_owned(), pid, tid));
            }
            "X" => {
                let (ts, dur) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
                assert!(ts >= 0.0 && dur >= 0.0 && event["cat"].is_string() && event["args"].is_object(), "{event}");
                tracks.entry((pid, tid)).or_insert_with(Vec::new).push((ts, ts + dur));
            }
            "s" | "f" => {
                assert_eq!(event["bp"], "e", "{event}");
                let ends: &mut Vec<_> = flows.entry(event["id"].as_u64().unwrap()).or_default();
                ends.push((phase.to_owned(), (pid, tid), event["ts"].as_f64().unwrap()));
            }
            other => panic!("phase {other}"),
        }
    }
    // Nothing is named twice, and every track with events has a name and a place.
    let mut unique = named.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), named.len());
    for (pid, tid) in tracks.keys() {
        for (name, tid) in
            [("process_name", 0), ("process_sort_index", 0), ("thread_name", *tid), ("thread_sort_index", *tid)]
        {
            assert!(named.contains(&(name.to_owned(), *pid, tid)), "{name} of {pid}, {tid}");
        }
    }
    // On a track one operation follows the other.
    for spans in tracks.values() {
        for pair in spans.windows(2) {
            assert!(pair[0].1 <= pair[1].0 + 1e-6, "{pair:?}");
        }
    }
    for (id, ends) in &flows {
        let [(start, from, sent), (end, to, taken)] = &ends[..] else { panic!("arrow {id}: {ends:?}") };
        assert_eq!((start.as_str(), end.as_str()), ("s", "f"), "arrow {id}");
        assert!(sent <= &(taken + 1e-6), "arrow {id} goes back in time");
        for (track, time) in [(from, sent), (to, taken)] {
            let around = tracks[track].iter().any(|(begin, end)| begin - 1e-6 <= *time && *time <= end + 1e-6);
            assert!(around, "arrow {id} is at no operation");
        }
    }
    assert!(trace["otherData"]["written"].is_string() && trace["otherData"]["is_complete"].is_boolean());
}

#[test]
fn traces_keep_the_rules_and_say_what_they_leave_out() {
    let file = std::env::temp_dir().join(format!("hcomm-trace-{}.json", std::process::id()));
    let trace = |line: &str| -> (Value, Value) {
        let run = json(&format!("{line} --trace {}", file.display()));
        let trace = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        (run["trace"].clone(), trace)
    };
    let count =
        |trace: &Value| trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X").count();
    for line in [
        "run mesh_all_gather --ranks 4 --count 1000 --cluster 950-clos",
        "run mesh_all_gather --ranks 4 --count 1000 --cluster 950-clos --engine aiv",
        "run ring_all_reduce --ranks 8 --count 64K --dtype fp16 --cluster a2-server",
        "run nhr_all_reduce --ranks 5 --count 10K --cluster 950-mesh --engine aiv --hccl-buffer 16K",
        "run two_shot_all_reduce --ranks 3 --count 100 --cluster 950-mesh --fuse",
    ] {
        let (written, trace) = trace(line);
        assert_is_a_trace(&trace);
        assert_eq!(
            (&written["is_complete"], &trace["otherData"]["is_complete"]),
            (&Value::from(true), &Value::from(true))
        );
        assert_eq!(written["operations"], count(&trace));
    }
    // Ranks that are asked for.
    let (written, some) = trace("run ring_all_reduce --ranks 8 --count 1K --cluster a2-server --trace-ranks 2..4");
    assert_is_a_trace(&some);
    assert_eq!(
        (&written["first_rank"], &written["ranks"], &written["is_complete"]),
        (&2.into(), &2.into(), &false.into())
    );
    assert!(
        some["traceEvents"].as_array().unwrap().iter().all(|event| [2, 3].contains(&event["pid"].as_u64().unwrap()))
    );
    assert_eq!(written["operations"], count(&some));
    let said = text(&format!(
        "run ring_all_reduce --ranks 8 --count 1K --cluster a2-server --trace {} --trace-ranks 2..4",
        file.display()
    ));
    let told = some["otherData"]["written"].as_str().unwrap();
    assert!(told.starts_with("ranks 2 to 3 of 8, "), "{told}");
    assert!(said.contains(&format!("trace      {told}; `--trace-ranks` chooses others")), "{said}");
    std::fs::remove_file(&file).unwrap();
    for wrong in ["--trace-ranks 0..2", "--trace t.json --trace-ranks 4..2", "--trace t.json --trace-ranks 0..9"] {
        refused(&format!("run ring_all_reduce --ranks 8 --count 1 --cluster a2-server {wrong}"));
    }
}

/// The page in a browser: its script runs to the end and fills the tables, without a network.
#[test]
#[expect(clippy::print_stderr, reason = "says what was not tested")]
fn a_browser_shows_the_report() {
    if Command::new("chromium").arg("--version").output().is_err() {
        eprintln!("no chromium: the report is not shown to a browser");
        return;
    }
    let profile = std::env::temp_dir().join(format!("hcomm-browser-{}", std::process::id()));
    let own = format!("--user-data-dir={}", profile.display());
    for (ranks, algorithm) in [(8, "two_shot_all_reduce"), (256, "binomial_broadcast")] {
        let file = std::env::temp_dir().join(format!("hcomm-report-{}-{ranks}.html", std::process::id()));
        let run =
            format!("run {algorithm} --ranks {ranks} --count 1000 --cluster 950-clos --report {}", file.display());
        text(&run);
        let page = format!("file://{}", file.display());
        let flags =
            ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
        let offline = ["--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom"];
        let output = Command::new("chromium").args(flags).args(offline).arg(&own).arg(page).output().unwrap();
        std::fs::remove_file(file).unwrap();
        let dom = String::from_utf8(output.stdout).unwrap();
        assert!(dom.contains(&format!("<h1 id=\"title\">{algorithm} on {ranks} ranks</h1>")), "{dom:.2000}");
        for table in ["shares", "links", "path"] {
            let rows = dom.split(&format!("id=\"{table}\"")).nth(1).unwrap().split("</table>").next().unwrap();
            assert!(rows.matches("<tr>").count() > 3, "{table}: {rows:.500}");
        }
        // The last thing that the script does is to size the drawing.
        assert!(dom.contains("<canvas id=\"canvas\" width="), "the timeline was not drawn");
    }
    std::fs::remove_dir_all(profile).unwrap();
}

#[test]
fn tune() {
    insta::assert_snapshot!(text("tune all_gather --cluster a2-multi --layout 2x4 --sizes 1K,1M,256M"));
    insta::assert_snapshot!(text("tune all_reduce --cluster 950-mesh --sizes 1K..64M --format cpp"));
    insta::assert_snapshot!(text("tune all_gather --cluster 950-mesh --sizes 1K,256M --symmetric"));
    let tune = json("tune broadcast --cluster a2-server --ranks 4 --sizes 64K");
    assert_eq!((&tune["ranks"], &tune["sizes"][0]["bytes"]), (&Value::from(4), &Value::from(65536)));
    let times = tune["sizes"][0]["times"].as_array().unwrap();
    assert_eq!(times[0]["algorithm"], tune["sizes"][0]["best"]);
    assert!(times.windows(2).all(|pair| pair[0]["time_us"].as_f64() <= pair[1]["time_us"].as_f64()));
}

/// Rank tables of HCCL, of every version: the layout is theirs.
#[test]
fn rank_tables() {
    let device = |rank: usize, more: &str| {
        format!(r#"{{"device_id": "{rank}", "device_ip": "10.0.0.{rank}", "rank_id": "{rank}"{more}}}"#)
    };
    let servers = |version: &str, more: &str, pods: &str| {
        let server = |number: usize| {
            let devices = [0, 1].map(|device_of| device(2 * number + device_of, more)).join(",");
            format!(r#"{{"server_id": "node_{number}", "device": [{devices}]}}"#)
        };
        let list = [server(0), server(1)].join(",");
        format!(
            r#"{{"version": "{version}", "status": "completed", "server_count": "2", "server_list": [{list}]{pods}}}"#
        )
    };
    let pods = r#", "super_pod_list": [{"super_pod_id": "0", "server_list": [{"server_id": "node_0"}]}, {"super_pod_id": "1", "server_list": [{"server_id": "node_1"}]}]"#;
    let rank = |rank: u32| {
        format!(
            r#"{{"rank_id": {rank}, "local_id": {rank}, "device_id": {rank}, "level_list": [{{"net_layer": 0, "net_instance_id": "s{}", "net_type": "TOPO_FILE_DESC"}}]}}"#,
            rank / 2
        )
    };
    let ranks = (0..4).map(rank).collect::<Vec<_>>().join(",");
    let tables = [
        ("a2-multi", servers("1.0", "", ""), "2 x 2"),
        ("a3-superpod", servers("1.2", r#", "super_device_id": "1""#, pods), "2 x 1 x 2"),
        ("a3-superpod", servers("1.0", r#", "host_port": "16666""#, ""), "2 x 2"),
        (
            "950-clos",
            format!(r#"{{"version": "2.0", "status": "completed", "rank_count": 4, "rank_list": [{ranks}]}}"#),
            "2 x 2",
        ),
    ];
    for (number, (cluster, table, layout)) in tables.iter().enumerate() {
        let file = std::env::temp_dir().join(format!("hcomm-ranks-{}-{number}.json", std::process::id()));
        std::fs::write(&file, table).unwrap();
        let shown = file.display();
        let run = json(&format!("run nhr_all_gather --rank-table {shown} --count 10 --cluster {cluster}"));
        assert_eq!((&run["ok"], &run["ranks"]), (&Value::from(true), &Value::from(4)));
        assert!(run["time_us"].as_f64().unwrap() > 0.0);
        let tune = json(&format!("tune all_gather --rank-table {shown} --cluster {cluster} --sizes 1K"));
        assert_eq!(tune["layout"], *layout);
        assert_eq!(json(&format!("check nhr_all_gather --rank-table {shown}"))["ok"], true);
        assert!(
            refused(&format!("run nhr_all_gather --rank-table {shown} --ranks 4 --count 1")).contains("cannot be used")
        );
        std::fs::remove_file(file).unwrap();
    }
    assert!(refused("run nhr_all_gather --rank-table no-such-file --count 1").contains("no-such-file: "));
}

/// The table of `tune` for C++ is C++.
#[test]
#[expect(clippy::print_stderr, reason = "says what was not tested")]
fn the_cpp_table_compiles() {
    let Ok(version) = Command::new("g++").arg("--version").output() else {
        eprintln!("no g++: the C++ table of tune is not compiled");
        return;
    };
    assert!(version.status.success());
    let folder = std::env::temp_dir().join(format!("hcomm-cpp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("table.h"), text("tune all_reduce --cluster 950-mesh --sizes 1K..64M --format cpp"))
        .unwrap();
    let tune = json("tune all_reduce --cluster 950-mesh --sizes 1K..64M");
    let sizes = tune["sizes"].as_array().unwrap();
    // What the table says at every size, and beyond them.
    let mut checks = String::new();
    for row in sizes.iter().chain([sizes.last().unwrap()]) {
        let bytes = if checks.contains("67108864") { u64::MAX } else { row["bytes"].as_u64().unwrap() };
        checks += &format!(
            "    if (std::strcmp(hcomm::choose_all_reduce({bytes}ULL).algorithm, {}) != 0 ||\n        \
             std::strcmp(hcomm::choose_all_reduce({bytes}ULL).engine, {}) != 0) {{\n        return 1;\n    }}\n",
            row["best"], row["engine"]
        );
    }
    let main = format!(
        "#include \"table.h\"\n#include \"table.h\"\n\n#include <cstring>\n\nint main()\n{{\n{checks}    return 0;\n}}\n"
    );
    std::fs::write(folder.join("main.cc"), main).unwrap();
    let run = |program: &std::path::Path, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(
        "g++".as_ref(),
        &["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-o", "main", "main.cc"],
    );
    run(&folder.join("main"), &[]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Roots other than 0; they make a difference where nodes differ.
#[test]
fn tune_takes_a_root_and_engines() {
    let tune = json("tune broadcast --cluster a2-server --ranks 4 --root 3 --sizes 64K");
    assert_eq!(tune["root"], 3);
    assert!(refused("tune broadcast --cluster a2-server --root 8 --sizes 1K").contains("ranks are 0 to 7"));
    assert!(refused("tune all_gather --cluster a2-server --root 1 --sizes 1K").contains("has no root"));
    for engine in ["ai-cpu", "aiv"] {
        let tune = json(&format!("tune all_reduce --cluster 950-mesh --engine {engine} --sizes 1K,1G"));
        for row in tune["sizes"].as_array().unwrap() {
            assert!(row["times"].as_array().unwrap().iter().all(|time| time["engine"] == engine.replace('-', "_")));
        }
    }
    // Vector cores are quicker to start, and slower than the links.
    let both = json("tune all_reduce --cluster 950-mesh --sizes 1K,1G");
    assert_eq!(
        (&both["sizes"][0]["engine"], &both["sizes"][1]["engine"]),
        (&Value::from("aiv"), &Value::from("ai_cpu"))
    );
}

#[test]
fn errors_of_clusters_teach() {
    let file = std::env::temp_dir().join(format!("hcomm-cluster-{}.toml", std::process::id()));
    std::fs::write(&file, "name = \"x\"\nproduct = \"a2\"\nlayout = \"8\"\n[[level]]\nname = \"l\"\n").unwrap();
    let of_file = refused(&format!("tune all_reduce --cluster {}", file.display()));
    std::fs::remove_file(&file).unwrap();
    let of_file = of_file.replace(&file.display().to_string(), "FILE");
    let lines = [
        "tune all_reduce --cluster a4-server",
        "tune all_reduce --cluster a2-server --layout 2x8",
        "tune all_reduce --cluster a2-server --sizes 1G..1K",
        "tune sum --cluster a2-server",
        "tune all_gather --cluster a2-server --reduce max",
        "run ring_all_reduce --ranks 4 --count 1 --explain",
        "run ring_all_reduce --layout 2x4 --count 1 --cluster a2-server",
        "run ring_all_reduce --ranks 4 --count 1 --cluster a2-server --fault dead:0>9",
        "run ring_all_reduce --ranks 4 --count 1 --cluster a2-server --fault break",
        "run ring_all_reduce --ranks 4 --count 1 --cluster a2-server --fuse",
    ];
    insta::assert_snapshot!(of_file + "\n" + &lines.map(refused).join("\n"));
}

/// A file has the same verdict as the algorithm that it was shown from.
#[test]
fn a_file_is_held_to_the_products_limits() {
    let file = std::env::temp_dir().join(format!("hcomm-limits-{}.json", std::process::id()));
    std::fs::write(&file, text("show mesh_all_gather --ranks 64 --format json")).unwrap();
    for command in ["run --count 5", "check"] {
        let value = json(&format!("{command} --program {} --cann 8.5", file.display()));
        assert_eq!((&value["ok"], &value["diagnostics"][0]["code"]), (&Value::Bool(false), &Value::from("H401")));
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn emit() {
    let out = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("emitted");
    let _ = std::fs::remove_dir_all(&out);
    let line = format!("emit nhr_all_gather --engine ai-cpu --out {}", out.display());
    let said = text(&line);
    let schedule = std::fs::read_to_string(out.join("common/nhr_all_gather.cc")).unwrap();
    assert!(schedule.contains("Write(to, Scratch(chunk), Scratch(chunk)); // nhr.rs:"), "{schedule}");
    let files = json(&line)["files"].as_array().unwrap().len();
    assert!(said.starts_with(&format!("nhr_all_gather: {files} files in ")), "{said}");
    insta::assert_snapshot!(refused("emit mesh_all_gather --product a2 --fuse --out target/nowhere"));
    assert!(refused("emit mesh_all_gather --out Cargo.toml").contains("exit status 2"));
    // A package takes the place of another one, and of nothing else.
    assert!(text(&line.replace("nhr_", "mesh_")).starts_with("mesh_all_gather: "));
    let own = out.join("README.md");
    std::fs::write(&own, "my project").unwrap();
    let said = refused(&line);
    assert!(said.contains("give --out a folder that is new or empty"), "{said}");
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "my project");
}
