//! Chrome trace events, which open in Perfetto and chrome://tracing: a process a rank, a track a thread or block, an arrow from a
//! record to the wait that takes it.

use std::io::{self, Write};

use serde_json::json;

use crate::time::{AnyProgram, Event, Recording};

/// Writes all events of a recording. Times are in microseconds, as the format has them.
///
/// # Errors
///
/// Those of `out`.
pub fn chrome_trace<'p>(
    program: impl Into<AnyProgram<'p>>,
    recording: &Recording,
    out: &mut dyn Write,
) -> io::Result<()> {
    let code = program.into();
    let program = code.frame();
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut first = true;
    let mut line = |out: &mut dyn Write, value: serde_json::Value| -> io::Result<()> {
        let comma = if std::mem::take(&mut first) { "\n" } else { ",\n" };
        write!(out, "{comma}{value}")
    };
    for (rank, threads) in code.units().into_iter().enumerate() {
        line(
            out,
            json!({ "ph": "M", "name": "process_name", "pid": rank, "args": { "name": format!("rank {rank}") } }),
        )?;
        line(out, json!({ "ph": "M", "name": "process_sort_index", "pid": rank, "args": { "sort_index": rank } }))?;
        for thread in 0..threads {
            let is_main = thread == 0 && code.unit() == "thread";
            let name = if is_main { "main".to_owned() } else { format!("{} {thread}", code.unit()) };
            let args = json!({ "name": name });
            line(out, json!({ "ph": "M", "name": "thread_name", "pid": rank, "tid": thread, "args": args }))?;
        }
    }
    for event in recording.events() {
        let Some(op) = recording.op(code, event) else { continue };
        let (rank, thread, index) = recording.place(event);
        let mut args = json!({ "operation": index, "round": event.round });
        if let Some(at) = program.source.spans.get(op.at.index()) {
            args["line"] = json!(format!("{}:{}:{}", program.source.file, at.line, at.column));
        }
        if let Some(peer) = op.peer() {
            args["peer"] = json!(peer);
        }
        if event.moves() {
            args["flows_us"] = json!(us(event.arrived - event.flow));
            args["alone_us"] = json!(us(event.alone));
        }
        line(
            out,
            json!({
                "ph": "X", "name": op.label(), "cat": recording.work(event).name(), "pid": rank, "tid": thread,
                "ts": us(event.start), "dur": us(event.end - event.start), "args": args,
            }),
        )?;
    }
    for (id, wait) in recording.events().iter().enumerate() {
        let Some(record) = recording.record_of(wait).map(|record| &recording.events()[record]) else { continue };
        let end = |event: &Event, phase: &str, time: f64| {
            let (rank, thread, _) = recording.place(event);
            json!({
                "ph": phase, "bp": "e", "id": id, "name": "notify", "cat": "notify", "pid": rank, "tid": thread,
                "ts": us(time),
            })
        };
        line(out, end(record, "s", record.end))?;
        line(out, end(wait, "f", wait.end))?;
    }
    write!(out, "\n]}}\n")
}

fn us(ns: f64) -> f64 {
    ns / 1000.0
}
