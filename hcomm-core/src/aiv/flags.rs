//! Whether flags can be told apart by their values: every record writes another value than the flag has, and every wait
//! is for the value of its record. What is left to ask is what is asked of notifies of one bit.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::program::{OpKind, Program};
use super::tags::Tags;
use crate::diag::{Code, Diagnostic};
use crate::ids::SpanId;
use crate::spec::Span;
use crate::{order, program};

/// The uses of a flag: step and place, in the order of an execution.
#[derive(Default)]
struct Uses {
    records: Vec<(u32, SpanId)>,
    waits: Vec<(u32, SpanId)>,
}

/// Whose flag: waiter, recorder, notify with part.
type Key = (u32, u32, u32);

/// What is wrong with the values of flags. `threads` is the program's translation.
///
/// Where the checks of threads find nothing wrong, the uses of a flag come in the same order in every execution, and
/// one shows them all: the k-th wait must be for the value of the k-th record, and that must be another one than the
/// flag had. Launches follow each other like uses: the last value of one is never the first of the next.
pub(super) fn check(program: &Program, threads: &program::Program) -> Vec<Diagnostic> {
    let uses = by_block(program).unwrap_or_else(|| by_execution(program, threads));
    let mut found: Vec<Diagnostic> = Vec::new();
    for (key, uses) in &uses {
        let name = threads.notify_name(key.2);
        let fault = stale(program, *key, name, uses).or_else(|| values(program, *key, name, uses));
        if let Some(fault) = fault
            && !found.iter().any(|known| known.code == fault.code && known.at == fault.at)
            && found.len() < MOST
        {
            found.push(fault);
        }
    }
    found
}

/// The key of a flag that an operation of a rank names, and whether it waits for it.
fn key_of(kind: &OpKind, rank: u32, parts: u32) -> Option<(Key, u32, bool)> {
    match *kind {
        OpKind::Record(flag) => Some(((flag.peer, rank, flag.notify * parts + flag.part), flag.step, false)),
        OpKind::Wait(flag) => Some(((rank, flag.peer, flag.notify * parts + flag.part), flag.step, true)),
        _ => None,
    }
}

/// The uses of every flag, if each is recorded by one block and waited for by one: in the order of these.
fn by_block(program: &Program) -> Option<BTreeMap<Key, Uses>> {
    let parts = program.flag_parts();
    let mut uses: FxHashMap<Key, (Uses, [Option<u32>; 2])> = FxHashMap::default();
    for (rank, block, op) in program.ops() {
        let Some((key, step, waits)) = key_of(&op.kind, rank, parts) else { continue };
        let (uses, blocks) = uses.entry(key).or_default();
        if *blocks[usize::from(waits)].get_or_insert(block) != block {
            return None;
        }
        if waits { &mut uses.waits } else { &mut uses.records }.push((step, op.at));
    }
    Some(uses.into_iter().map(|(key, (uses, _))| (key, uses)).collect())
}

/// The uses of every flag in an execution.
fn by_execution(program: &Program, threads: &program::Program) -> BTreeMap<Key, Uses> {
    let steps = |ops: &Vec<super::program::Op>| -> Vec<u32> {
        let step = |op: &super::program::Op| match op.kind {
            OpKind::Record(flag) | OpKind::Wait(flag) => Some(flag.step),
            _ => None,
        };
        ops.iter().filter_map(step).collect()
    };
    let steps: Vec<Vec<Vec<u32>>> = program.ranks.iter().map(|rank| rank.blocks.iter().map(steps).collect()).collect();
    let mut next: Vec<Vec<usize>> = steps.iter().map(|blocks| vec![0; blocks.len()]).collect();
    let mut uses: BTreeMap<Key, Uses> = BTreeMap::new();
    order::visit(threads, |rank, thread, op| {
        let (key, waits) = match op.kind {
            program::OpKind::ChannelNotifyRecord { peer, notify } => ((peer, rank, notify), false),
            program::OpKind::ChannelNotifyWait { peer, notify } => ((rank, peer, notify), true),
            _ => return,
        };
        let at = &mut next[rank as usize][thread as usize];
        let step = steps[rank as usize][thread as usize][*at];
        *at += 1;
        let uses = uses.entry(key).or_default();
        if waits { &mut uses.waits } else { &mut uses.records }.push((step, op.at));
    });
    uses
}

/// The most faults that are told.
const MOST: usize = 16;

fn span(program: &Program, at: SpanId) -> Option<Span> {
    program.frame.source.spans.get(at.index()).copied()
}

/// A tag that does not change, and a last use of the launch that has the value of the first one: what the last launch left
/// looks like a new record.
fn stale(program: &Program, (waiter, recorder, _): Key, name: &str, uses: &Uses) -> Option<Diagnostic> {
    let (&(_, at), (first, last)) = (uses.waits.first()?, (uses.records.first()?, uses.records.last()?));
    if program.tags != Tags::Constant || first.0 != last.0 {
        return None;
    }
    let message = format!(
        "rank {waiter} waits for `{name}` from rank {recorder} with the same value in every launch: what the last one left \
         looks like a new record"
    );
    let help = "let the value change from launch to launch: a counter of calls and of uses";
    Some(Diagnostic::new(Code::H103, message, span(program, at)).with_help(help).on(program.num_ranks(), waiter))
}

/// Values that are not those of the other side, or that the flag already has.
fn values(program: &Program, (waiter, recorder, _): Key, name: &str, uses: &Uses) -> Option<Diagnostic> {
    let ranks = program.num_ranks();
    let pairs = uses.records.iter().zip(&uses.waits);
    if let Some((&(recorded, record), &(awaited, wait))) = pairs.clone().find(|(record, wait)| record.0 != wait.0) {
        let message = format!(
            "rank {waiter} waits for `{name}` from rank {recorder} with the value of use {awaited}, and the record has that \
             of use {recorded}"
        );
        let fault = Diagnostic::new(Code::H102, message, span(program, wait)).on(ranks, waiter);
        return Some(fault.with_related("the record", span(program, record)));
    }
    let again = uses.records.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
    let message = format!(
        "rank {recorder} signals `{name}` to rank {waiter} twice with one value: the second wait passes on what the first \
         record left"
    );
    let fault = Diagnostic::new(Code::H103, message, span(program, again[1].1)).on(ranks, recorder);
    Some(fault.with_related("the first time", span(program, again[0].1)))
}
