//! Deadlocks: rings of threads, each of which waits for what the next one does only after its own wait (H101).

use rustc_hash::FxHashMap;

use super::findings::Findings;
use super::model::{Model, NONE};
use super::unmatched::Uneven;
use super::words;
use crate::diag::{Code, Diagnostic};
use crate::ids::SpanId;

/// The most waits that a message spells out.
const MOST: usize = 8;

/// A wait that never ends, and the record further down its neighbour's queue that would end it.
#[derive(Clone, Copy)]
struct Link {
    wait: u32,
    record: u32,
}

/// Tells the cycles among the waits that threads stand at (one a thread).
pub(super) fn report(model: &Model<'_>, stuck: &[u32], uneven: &[Uneven], findings: &mut Findings<'_>) {
    // Where records are fewer than waits, the k-th wait has the wrong record: what follows is told already.
    let shifted = |wait| {
        let notify = model.notify_of(wait);
        uneven.iter().any(|counts| Some(counts.notify) == notify && counts.records < counts.waits)
    };
    for cycle in cycles(model, stuck) {
        if cycle.iter().any(|link| shifted(link.wait)) {
            continue;
        }
        let mut at: Vec<SpanId> = cycle.iter().map(|link| model.op(link.wait).at).collect();
        at.sort_unstable();
        at.dedup();
        let ends = [at.first(), at.last()].map(|at| at.copied().unwrap_or(SpanId(NONE)));
        findings.add(Code::H101, at.len() as u32, ends, || describe(model, &cycle));
    }
}

/// The cycles. Every stuck thread waits for one other, so there is at least one.
fn cycles(model: &Model<'_>, stuck: &[u32]) -> Vec<Vec<Link>> {
    let mut stands_at: FxHashMap<u32, u32> = FxHashMap::default();
    let mut record_of = vec![NONE; model.num_notifies() as usize];
    for &wait in stuck {
        let thread = model.thread_of(wait);
        stands_at.insert(thread, wait);
        for op in wait..model.ops_of(thread).end {
            if let Some(notify) = model.notify_of(op)
                && !model.is_wait(op)
                && record_of[notify as usize] == NONE
            {
                record_of[notify as usize] = op;
            }
        }
    }
    let link = |thread: u32| -> Option<Link> {
        let wait = *stands_at.get(&thread)?;
        let record = record_of[model.notify_of(wait)? as usize];
        (record != NONE).then_some(Link { wait, record })
    };
    let mut walk_of: FxHashMap<u32, u32> = FxHashMap::default();
    let mut cycles = Vec::new();
    for (walk, &wait) in (0..).zip(stuck) {
        let mut path: Vec<Link> = Vec::new();
        let mut thread = model.thread_of(wait);
        while let Some(next) = link(thread).filter(|_| !walk_of.contains_key(&thread)) {
            walk_of.insert(thread, walk);
            path.push(next);
            thread = model.thread_of(next.record);
        }
        // The walk ended at a thread that this walk has been to: the path from there on is a cycle.
        if walk_of.get(&thread) == Some(&walk)
            && let Some(start) = path.iter().position(|link| model.thread_of(link.wait) == thread)
        {
            let mut cycle = path.split_off(start);
            // It is told from its first place in the source on, whoever is there.
            let first =
                (0..cycle.len()).min_by_key(|&at| (model.op(cycle[at].wait).at, model.thread_of(cycle[at].wait)));
            cycle.rotate_left(first.unwrap_or(0));
            cycles.push(cycle);
        }
    }
    cycles
}

fn describe(model: &Model<'_>, cycle: &[Link]) -> Diagnostic {
    let ranks = model.num_ranks();
    let span = |op| words::span(model.program, model.op(op).at);
    let mut in_cycle: Vec<u32> = cycle.iter().map(|link| model.rank_of(link.wait)).collect();
    in_cycle.sort_unstable();
    in_cycle.dedup();
    let who = match in_cycle[..] {
        [rank] => format!("threads of rank {rank} wait for each other"),
        _ if in_cycle.len() == ranks as usize => "every rank waits for another one".into(),
        _ => {
            let ranges: Vec<(u32, u32)> = in_cycle.iter().map(|&rank| (rank, rank + 1)).collect();
            format!("{} wait for each other", words::ranks(&ranges))
        }
    };
    let first = cycle[0];
    let mut diagnostic = Diagnostic::new(Code::H101, format!("deadlock: {who}, in a circle"), span(first.wait));
    for (at, link) in cycle.iter().take(MOST).enumerate() {
        let next = cycle[(at + 1) % cycle.len()];
        let verb = if model.channel_of(link.wait).is_some() { "signals" } else { "sets" };
        let message = format!(
            "{}, which {} {verb} only after its own wait{}",
            words::waits_on_thread(model, link.wait),
            words::thread(model, model.thread_of(link.record)),
            span(next.wait).map_or(String::new(), |at| format!(" on line {}", at.line)),
        );
        diagnostic = diagnostic.with_related(message, span(link.wait));
    }
    if cycle.len() > MOST {
        let rest = format!("and so on: {} waits in the circle", cycle.len());
        diagnostic = diagnostic.with_related(rest, span(first.wait));
    }
    diagnostic =
        diagnostic.with_related(format!("{} here, too late", words::records(model, first.record)), span(first.record));
    diagnostic.with_help(help(model, cycle)).on(ranks, model.rank_of(first.wait))
}

fn help(model: &Model<'_>, cycle: &[Link]) -> String {
    let at = |op: u32| words::span(model.program, model.op(op).at);
    let first = cycle[0];
    let alike = cycle.iter().all(|link| at(link.wait) == at(first.wait) && at(link.record) == at(first.record));
    if !alike {
        return "let one of them signal before it waits".into();
    }
    if at(first.record) > at(first.wait) {
        return "every rank waits here before it signals: put the `signal` before the `wait`".into();
    }
    "every rank meets its peers in another order, so that nobody's turn comes: pair them by distance, `signal` to \
     rank + d and `wait` for rank - d in step d, or give every peer a lane of its own"
        .into()
}
