//! The words of messages: buffers, runs, ranks and counts as people say them.

use super::model::Model;
use crate::ids::SpanId;
use crate::program::{Cell, OpKind, Program};
use crate::spec::Span;

/// `s` unless there is one.
pub(super) fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// `1 chunk`, `3 chunks`.
pub(super) fn count(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", plural(count))
}

/// What comes after a pass of the program: another round, or if there is only one, another call.
pub(super) fn pass(program: &Program) -> &'static str {
    if program.symmetric && program.scratch == 0 { "call" } else { "round" }
}

/// `scratch[2]` or `scratch[2..5]`.
pub(super) fn bare_run(cell: Cell, len: u32) -> String {
    let Cell { buffer, chunk } = cell;
    match len {
        1 => format!("{buffer}[{chunk}]"),
        _ => format!("{buffer}[{chunk}..{}]", u64::from(chunk) + u64::from(len)),
    }
}

/// A run of chunks of `owner` in a sentence about rank `me`: `its scratch[2]`, `scratch[2..5] of rank 1`.
pub(super) fn run(cell: Cell, len: u32, owner: u32, me: u32) -> String {
    if owner == me {
        format!("its {}", bare_run(cell, len))
    } else {
        format!("{} of rank {owner}", bare_run(cell, len))
    }
}

/// `rank 3`, `ranks 0 and 2`, `ranks 0 to 5`, `ranks 0, 2 to 5 and 9`: what is in the ranges (end exclusive), which
/// ascend and do not touch.
pub(super) fn ranks(ranges: &[(u32, u32)]) -> String {
    const MOST: usize = 6;
    let mut parts: Vec<String> = Vec::new();
    for &(from, to) in ranges {
        match to - from {
            1 => parts.push(from.to_string()),
            2 => parts.extend([from.to_string(), (from + 1).to_string()]),
            _ => parts.push(format!("{from} to {}", to - 1)),
        }
    }
    let many = ranges.iter().map(|&(from, to)| to - from).sum::<u32>() != 1;
    let noun = if many { "ranks" } else { "rank" };
    if parts.len() > MOST {
        parts.truncate(MOST);
        return format!("{noun} {} and more", parts.join(", "));
    }
    format!("{noun} {}", list(&parts))
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// `once`, `twice`, `3 times`.
pub(super) fn times(count: u32) -> String {
    match count {
        1 => "once".into(),
        2 => "twice".into(),
        _ => format!("{count} times"),
    }
}

/// Where a statement is written, if the program says.
pub(super) fn span(program: &Program, at: SpanId) -> Option<Span> {
    program.source.spans.get(at.index()).copied()
}

/// A thread in a sentence about its rank: `its main thread`, `its thread 2`.
fn own_thread(thread: u32) -> String {
    if thread == 0 { "its main thread".into() } else { format!("its thread {thread}") }
}

/// The name of a channel notify.
fn name(program: &Program, notify: u32) -> &str {
    program.notifies.get(notify as usize).map_or("?", String::as_str)
}

/// A wait as a clause: `rank 1 waits for `done` from rank 0`, `thread 2 of rank 1 waits for its notify 0`.
pub(super) fn waits(model: &Model<'_>, wait: u32) -> String {
    let rank = model.rank_of(wait);
    match model.op(wait).kind {
        OpKind::ChannelNotifyWait { peer, notify } => {
            format!("rank {rank} waits for `{}` from rank {peer}", name(model.program, notify))
        }
        OpKind::ThreadNotifyWait { notify } => {
            format!("{} waits for its notify {notify}", thread(model, model.thread_of(wait)))
        }
        _ => format!("rank {rank} waits"),
    }
}

/// A wait as a clause that names the thread: `rank 1 (thread 2) waits for `done` from rank 0`.
pub(super) fn waits_on_thread(model: &Model<'_>, wait: u32) -> String {
    let OpKind::ChannelNotifyWait { peer, notify } = model.op(wait).kind else { return waits(model, wait) };
    let thread = match model.local_thread(model.thread_of(wait)) {
        0 => "main thread".into(),
        local => format!("thread {local}"),
    };
    format!("rank {} ({thread}) waits for `{}` from rank {peer}", model.rank_of(wait), name(model.program, notify))
}

/// A record as a clause: `rank 0 signals `done` to rank 1`, `rank 1 sets notify 0 of its thread 2`.
pub(super) fn records(model: &Model<'_>, record: u32) -> String {
    let rank = model.rank_of(record);
    match model.op(record).kind {
        OpKind::ChannelNotifyRecord { peer, notify }
        | OpKind::WriteWithNotify(peer, _, notify)
        | OpKind::WriteReduceWithNotify(peer, _, notify) => {
            format!("rank {rank} signals `{}` to rank {peer}", name(model.program, notify))
        }
        OpKind::ThreadNotifyRecord { thread, notify } => {
            format!("rank {rank} sets notify {notify} of {}", own_thread(thread))
        }
        _ => format!("rank {rank} signals"),
    }
}

/// Who is to take a record: `rank 1`, `thread 2 of rank 1`.
pub(super) fn waiter(model: &Model<'_>, record: u32) -> String {
    match (model.op(record).kind, model.signalled_rank(record)) {
        (OpKind::ThreadNotifyRecord { thread: to, .. }, Some(rank)) => thread(model, model.threads_of(rank).start + to),
        (_, Some(rank)) => format!("rank {rank}"),
        _ => "a peer".into(),
    }
}

/// Who is to wake a wait: `rank 0`, `another thread of rank 1`.
pub(super) fn recorder(model: &Model<'_>, wait: u32) -> String {
    match model.op(wait).kind {
        OpKind::ChannelNotifyWait { peer, .. } => format!("rank {peer}"),
        _ => format!("another thread of rank {}", model.rank_of(wait)),
    }
}

/// A thread by name: `the main thread of rank 1`, `thread 2 of rank 1`.
pub(super) fn thread(model: &Model<'_>, thread: u32) -> String {
    let rank = model.rank_of_thread(thread);
    match model.local_thread(thread) {
        0 => format!("the main thread of rank {rank}"),
        local => format!("thread {local} of rank {rank}"),
    }
}
