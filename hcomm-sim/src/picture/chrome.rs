//! Chrome trace events, which open in Perfetto and chrome://tracing: a process a rank, a track a thread, an arrow from a
//! record to the wait that takes it.

use std::io::{self, Write};

use hcomm_core::program::{OpKind, Program};
use serde_json::json;

use crate::time::{Event, Recording};

/// Writes all events of a recording. Times are in microseconds, as the format has them.
///
/// # Errors
///
/// Those of `out`.
pub fn chrome_trace(program: &Program, recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut first = true;
    let mut line = |out: &mut dyn Write, value: serde_json::Value| -> io::Result<()> {
        let comma = if std::mem::take(&mut first) { "\n" } else { ",\n" };
        write!(out, "{comma}{value}")
    };
    for (rank, threads) in program.ranks.iter().enumerate() {
        line(
            out,
            json!({ "ph": "M", "name": "process_name", "pid": rank, "args": { "name": format!("rank {rank}") } }),
        )?;
        line(out, json!({ "ph": "M", "name": "process_sort_index", "pid": rank, "args": { "sort_index": rank } }))?;
        for thread in 0..threads.threads.len() {
            let name = if thread == 0 { "main".to_owned() } else { format!("thread {thread}") };
            let args = json!({ "name": name });
            line(out, json!({ "ph": "M", "name": "thread_name", "pid": rank, "tid": thread, "args": args }))?;
        }
    }
    for event in recording.events() {
        let Some(op) = recording.op(program, event) else { continue };
        let (rank, thread, index) = recording.place(event);
        let mut args = json!({ "operation": index, "round": event.round });
        if let Some(at) = program.source.spans.get(op.at.index()) {
            args["line"] = json!(format!("{}:{}:{}", program.source.file, at.line, at.column));
        }
        if let Some(peer) = peer(&op.kind) {
            args["peer"] = json!(peer);
        }
        if event.moves() {
            args["flows_us"] = json!(us(event.arrived - event.flow));
            args["alone_us"] = json!(us(event.alone));
        }
        line(
            out,
            json!({
                "ph": "X", "name": label(program, &op.kind), "cat": category(&op.kind), "pid": rank, "tid": thread,
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

/// The operation with its peer or notify.
pub(super) fn label(program: &Program, kind: &OpKind) -> String {
    let name = |notify: u32| program.notifies.get(notify as usize).map_or("notify", String::as_str);
    match kind {
        OpKind::ChannelNotifyRecord { peer, notify } => format!("record {} of {peer}", name(*notify)),
        OpKind::ChannelNotifyWait { peer, notify } => format!("wait {} from {peer}", name(*notify)),
        OpKind::ThreadNotifyRecord { thread, .. } => format!("record thread {thread}"),
        OpKind::ThreadNotifyWait { .. } => "wait thread".into(),
        OpKind::LocalCopy(_) | OpKind::LocalReduce(_) => kind.name().into(),
        _ => format!("{} {}", kind.name(), peer(kind).unwrap_or_default()),
    }
}

fn peer(kind: &OpKind) -> Option<u32> {
    match kind {
        OpKind::ChannelNotifyRecord { peer, .. } | OpKind::ChannelNotifyWait { peer, .. } => Some(*peer),
        OpKind::Write(peer, _)
        | OpKind::Read(peer, _)
        | OpKind::WriteReduce(peer, _)
        | OpKind::ReadReduce(peer, _)
        | OpKind::WriteWithNotify(peer, ..)
        | OpKind::WriteReduceWithNotify(peer, ..) => Some(*peer),
        _ => None,
    }
}

/// What kind of work it is: `copy`, `reduce`, `transfer`, `record` or `wait`.
pub(super) fn category(kind: &OpKind) -> &'static str {
    match kind {
        OpKind::LocalCopy(_) => "copy",
        OpKind::LocalReduce(_) => "reduce",
        OpKind::ChannelNotifyRecord { .. } | OpKind::ThreadNotifyRecord { .. } => "record",
        OpKind::ChannelNotifyWait { .. } | OpKind::ThreadNotifyWait { .. } => "wait",
        _ => "transfer",
    }
}
