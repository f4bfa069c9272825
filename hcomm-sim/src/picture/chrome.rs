//! Chrome trace events, which open in Perfetto and chrome://tracing: a process a rank, a track a thread or block, an arrow from a
//! record to the wait that takes it.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use serde_json::json;

use crate::time::{AnyProgram, Event, Recording, Timing};

/// The most operations that a trace takes without being asked: about 70 MB of text, which a browser still opens.
pub const TRACE_EVENTS: usize = 200_000;

/// Which part of a recording is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these ranks; all if none are given.
    pub ranks: Option<Range<u32>>,
    /// At most so many operations, whole ranks from the first one on; [`TRACE_EVENTS`] if no number is given.
    pub events: Option<usize>,
}

/// What has been written of what there was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The ranks.
    pub ranks: Range<u32>,
    /// Of so many.
    pub of_ranks: u32,
    /// Operations.
    pub operations: usize,
    /// Of so many that were recorded.
    pub of_operations: usize,
    /// Of so many that were carried out.
    pub carried_out: u64,
}

impl Written {
    /// Whether nothing was left out.
    pub fn is_all(&self) -> bool {
        self.operations as u64 == self.carried_out
    }
}

impl fmt::Display for Written {
    /// `ranks 0 to 7 of 256, 20320 of 653312 operations`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { ranks, of_ranks, operations, carried_out, .. } = self;
        match (ranks.end - ranks.start, self.is_all()) {
            (_, true) => write!(f, "all {operations} operations"),
            (0, _) => write!(f, "no rank of {of_ranks}, as the first one has more operations than a trace takes"),
            (1, _) => write!(f, "rank {} of {of_ranks}, {operations} of {carried_out} operations", ranks.start),
            _ => write!(
                f,
                "ranks {} to {} of {of_ranks}, {operations} of {carried_out} operations",
                ranks.start,
                ranks.end - 1
            ),
        }
    }
}

/// Writes the events of a recording: all, or those of some ranks. Times are in microseconds, as the format has them.
///
/// A rank is a process with its number as `pid`, a thread or block a `tid`; every operation is one complete event (`X`),
/// and those of a track follow one another without overlapping. A record and the wait that takes it are the ends of a
/// flow (`s`, `f`) with an `id` of their own, where both are written. What was left out is in `otherData`.
///
/// # Errors
///
/// Those of `out`.
pub fn chrome_trace<'p>(
    program: impl Into<AnyProgram<'p>>,
    timing: &Timing,
    selection: &Selection,
    out: &mut dyn Write,
) -> io::Result<Written> {
    let code = program.into();
    let program = code.frame();
    let none = Recording::default();
    let recording = timing.recording.as_ref().unwrap_or(&none);
    let written = select(code, timing, recording, selection);
    let has = |rank: u32| written.ranks.contains(&rank);
    let about = json!({
        "program": program.algorithm, "engine": code.engine().name(), "ranks": program.num_ranks(),
        "written": written.to_string(), "is_complete": written.is_all(), "operations": timing.operations,
        "time_us": us(timing.time),
    });
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
    let mut first = true;
    let mut line = |out: &mut dyn Write, value: serde_json::Value| -> io::Result<()> {
        let comma = if std::mem::take(&mut first) { "\n" } else { ",\n" };
        write!(out, "{comma}{value}")
    };
    for (rank, threads) in (0u32..).zip(code.units()).filter(|(rank, _)| has(*rank)) {
        let name = json!({ "name": format!("rank {rank}") });
        line(out, json!({ "ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": name }))?;
        let index = json!({ "sort_index": rank });
        line(out, json!({ "ph": "M", "name": "process_sort_index", "pid": rank, "tid": 0, "args": index }))?;
        for thread in 0..threads {
            let is_main = thread == 0 && code.unit() == "thread";
            let name = if is_main { "main".to_owned() } else { format!("{} {thread}", code.unit()) };
            let args = json!({ "name": name });
            line(out, json!({ "ph": "M", "name": "thread_name", "pid": rank, "tid": thread, "args": args }))?;
            let args = json!({ "sort_index": thread });
            line(out, json!({ "ph": "M", "name": "thread_sort_index", "pid": rank, "tid": thread, "args": args }))?;
        }
    }
    for event in recording.events() {
        let (rank, thread, index) = recording.place(event);
        let Some(op) = recording.op(code, event).filter(|_| has(rank)) else { continue };
        let mut args = json!({ "operation": index });
        if timing.rounds > 1 {
            args["round"] = json!(event.round);
        }
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
        // Ends and not lengths are rounded: so what follows begins where this ends.
        let (start, end) = (us(event.start), us(event.end));
        line(
            out,
            json!({
                "ph": "X", "name": op.label(), "cat": recording.work(event).name(), "pid": rank, "tid": thread,
                "ts": start, "dur": ((end - start) * 1e4).round() / 1e4, "args": args,
            }),
        )?;
    }
    for (id, wait) in recording.events().iter().enumerate() {
        let Some(record) = recording.record_of(wait).map(|record| &recording.events()[record]) else { continue };
        if !has(recording.place(wait).0) || !has(recording.place(record).0) {
            continue;
        }
        let end = |event: &Event, phase: &str, time: f64| {
            let (rank, thread, _) = recording.place(event);
            json!({
                "ph": phase, "bp": "e", "id": id, "name": "notify", "cat": "notify", "pid": rank, "tid": thread,
                "ts": us(time),
            })
        };
        // Viewers bind an end to the operation around its time, so it is inside and not at an edge.
        let middle = |event: &Event| f64::midpoint(event.start, event.end);
        line(out, end(record, "s", middle(record)))?;
        line(out, end(wait, "f", middle(wait).max(middle(record))))?;
    }
    write!(out, "\n]}}\n")?;
    Ok(written)
}

/// Which ranks are written: as many of those asked for as the limit takes, from the first one on.
fn select(code: AnyProgram<'_>, timing: &Timing, recording: &Recording, selection: &Selection) -> Written {
    let of_ranks = code.frame().num_ranks();
    let mut by_rank = vec![0usize; of_ranks as usize];
    for event in recording.events() {
        if let Some(count) = by_rank.get_mut(recording.place(event).0 as usize) {
            *count += 1;
        }
    }
    let asked = selection.ranks.clone().unwrap_or(0..of_ranks);
    let asked = asked.start.min(of_ranks)..asked.end.min(of_ranks);
    // Who names ranks gets them.
    let most = selection.events.unwrap_or(if selection.ranks.is_some() { usize::MAX } else { TRACE_EVENTS });
    let (mut operations, mut end) = (0usize, asked.start);
    for rank in asked.clone() {
        let more = operations + by_rank[rank as usize];
        if more > most {
            break;
        }
        (operations, end) = (more, rank + 1);
    }
    Written {
        ranks: asked.start..end,
        of_ranks,
        operations,
        of_operations: recording.events().len(),
        carried_out: timing.operations,
    }
}

/// In microseconds, to a tenth of a nanosecond: more digits make files large.
fn us(ns: f64) -> f64 {
    (ns * 10.0).round() / 10_000.0
}
