//! Mutants of correct programs: the checks must reject what some interleaving shows to misbehave, and accept the rest.

use std::collections::BTreeMap;

use hcomm_core::check::check;
use hcomm_core::program::{Op, OpKind, Program, Transfer};

use crate::builders::*;
use crate::oracle::{Truth, truth};

/// One change to one operation, or to every operation of a line.
#[derive(Clone, Copy, Debug)]
enum Change {
    Drop,
    Twice,
    SwapWithNext,
    OtherPeer(u32),
    OtherNotify(u32),
    ShiftDst(u32),
    ShiftSrc(u32),
    ToReduce,
    ToCopy,
    OtherClass,
    OtherThread,
}

fn changes(program: &Program) -> Vec<Change> {
    let mut all = vec![
        Change::Drop,
        Change::Twice,
        Change::SwapWithNext,
        Change::OtherNotify(0),
        Change::OtherNotify(1),
        Change::ShiftDst(1),
        Change::ShiftSrc(1),
        Change::ToReduce,
        Change::ToCopy,
        Change::OtherClass,
        Change::OtherThread,
    ];
    all.extend((0..program.num_ranks()).map(Change::OtherPeer));
    all
}

/// The operation after the change; none if the change means nothing to it.
fn changed(op: Op, program: &Program, change: Change) -> Option<Op> {
    let mut kind = op.kind;
    if let Some(transfer) = transfer_mut(&mut kind) {
        match change {
            Change::ShiftDst(by) => transfer.dst.chunk += by,
            Change::ShiftSrc(by) => transfer.src.chunk += by,
            Change::OtherClass => transfer.class = (transfer.class + 1) % program.split,
            _ => {}
        }
    }
    kind = match (change, kind) {
        (Change::ToReduce, OpKind::LocalCopy(transfer)) => OpKind::LocalReduce(transfer),
        (Change::ToReduce, OpKind::Write(peer, transfer)) => OpKind::WriteReduce(peer, transfer),
        (Change::ToReduce, OpKind::Read(peer, transfer)) => OpKind::ReadReduce(peer, transfer),
        (Change::ToCopy, OpKind::LocalReduce(transfer)) => OpKind::LocalCopy(transfer),
        (Change::ToCopy, OpKind::WriteReduce(peer, transfer)) => OpKind::Write(peer, transfer),
        (Change::ToCopy, OpKind::ReadReduce(peer, transfer)) => OpKind::Read(peer, transfer),
        (Change::OtherPeer(to), OpKind::Write(_, transfer)) => OpKind::Write(to, transfer),
        (Change::OtherPeer(to), OpKind::WriteReduce(_, transfer)) => OpKind::WriteReduce(to, transfer),
        (Change::OtherPeer(to), OpKind::Read(_, transfer)) => OpKind::Read(to, transfer),
        (Change::OtherPeer(to), OpKind::ChannelNotifyRecord { notify, .. }) => {
            OpKind::ChannelNotifyRecord { peer: to, notify }
        }
        (Change::OtherPeer(to), OpKind::ChannelNotifyWait { notify, .. }) => {
            OpKind::ChannelNotifyWait { peer: to, notify }
        }
        (Change::OtherNotify(to), OpKind::ChannelNotifyRecord { peer, .. }) => {
            OpKind::ChannelNotifyRecord { peer, notify: to }
        }
        (Change::OtherNotify(to), OpKind::ChannelNotifyWait { peer, .. }) => {
            OpKind::ChannelNotifyWait { peer, notify: to }
        }
        (Change::OtherNotify(to), OpKind::ThreadNotifyRecord { thread, .. }) => {
            OpKind::ThreadNotifyRecord { thread, notify: to }
        }
        (Change::OtherNotify(to), OpKind::ThreadNotifyWait { .. }) => OpKind::ThreadNotifyWait { notify: to },
        (_, kind) => kind,
    };
    (kind != op.kind).then_some(Op { kind, ..op })
}

fn transfer_mut(kind: &mut OpKind) -> Option<&mut Transfer> {
    match kind {
        OpKind::LocalCopy(transfer)
        | OpKind::LocalReduce(transfer)
        | OpKind::Write(_, transfer)
        | OpKind::Read(_, transfer)
        | OpKind::WriteReduce(_, transfer)
        | OpKind::ReadReduce(_, transfer)
        | OpKind::WriteWithNotify(_, transfer, _)
        | OpKind::WriteReduceWithNotify(_, transfer, _) => Some(transfer),
        _ => None,
    }
}

/// Applies the change where `is_meant` says. None if it changes nothing.
fn mutant(program: &Program, change: Change, is_meant: impl Fn(u32, usize, usize, Op) -> bool) -> Option<Program> {
    let mut mutant = program.clone();
    for (rank, queues) in (0..).zip(&mut mutant.ranks) {
        let threads = queues.threads.len();
        for thread in 0..threads {
            let before = std::mem::take(&mut queues.threads[thread]);
            let meant: Vec<bool> = before.iter().enumerate().map(|(at, &op)| is_meant(rank, thread, at, op)).collect();
            let mut at = 0;
            let mut after = Vec::new();
            while at < before.len() {
                let op = before[at];
                match change {
                    _ if !meant[at] => after.push(op),
                    Change::Drop => {}
                    Change::Twice => after.extend([op, op]),
                    Change::SwapWithNext if at + 1 < before.len() => {
                        after.extend([before[at + 1], op]);
                        at += 1;
                    }
                    Change::OtherThread => {
                        let to = if thread == 0 { 1 } else { 0 };
                        if to < threads && to > thread {
                            // After the start of the other lane.
                            let queue = &mut queues.threads[to];
                            queue.insert(1.min(queue.len()), op);
                        } else if to < threads {
                            queues.threads[to].push(op);
                        }
                    }
                    _ => after.push(changed(op, program, change).unwrap_or(op)),
                }
                at += 1;
            }
            queues.threads[thread] = after;
        }
    }
    (mutant != *program).then_some(mutant)
}

/// Every change at every operation, and at every line on all ranks at once.
fn mutants(program: &Program) -> Vec<(String, Program)> {
    let mut all = Vec::new();
    for change in changes(program) {
        for (rank, queues) in (0..).zip(&program.ranks) {
            for (thread, queue) in queues.threads.iter().enumerate() {
                for at in 0..queue.len() {
                    if let Some(mutant) = mutant(program, change, |r, t, a, _| (r, t, a) == (rank, thread, at)) {
                        all.push((format!("{change:?} at rank {rank} thread {thread} op {at}"), mutant));
                    }
                }
            }
        }
        for line in 0..20 {
            if let Some(mutant) = mutant(program, change, |_, _, _, op| op.at.0 == line) {
                all.push((format!("{change:?} on line {line}"), mutant));
            }
        }
    }
    all
}

#[derive(Debug, Default)]
struct Tally {
    mutants: u32,
    harmful: u32,
    harmless: u32,
    unknown_accepted: u32,
    unknown_rejected: u32,
}

/// Compares the checks with the oracle on all mutants of a program that both accept.
fn compare(name: &str, program: &Program, states: usize, tries: u64) -> Tally {
    assert_eq!(check(program), []);
    assert!(!matches!(truth(program, states, tries), Truth::Harmful(_)), "{name}");
    let mut tally = Tally::default();
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (change, mutant) in mutants(program) {
        let found = check(&mutant);
        // What no machine would run is the checks' to refuse.
        if found.iter().any(|fault| fault.message.contains("outside") || fault.message.contains("itself as a peer")) {
            continue;
        }
        tally.mutants += 1;
        match (truth(&mutant, states, tries), found.first()) {
            (Truth::Harmful(_), Some(_)) => tally.harmful += 1,
            (Truth::Harmless, None) => tally.harmless += 1,
            (Truth::Unknown, None) => tally.unknown_accepted += 1,
            (Truth::Unknown, Some(_)) => tally.unknown_rejected += 1,
            (Truth::Harmful(how), None) => wrong.entry("missed".into()).or_default().push(format!("{change}: {how}")),
            (Truth::Harmless, Some(fault)) => {
                wrong.entry(format!("false alarm {}", fault.code)).or_default().push(format!("{change}: {fault}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{name}: {tally:?} {wrong:#?}");
    assert!(tally.harmful > 0, "{name}: no mutant misbehaves");
    tally
}

const STATES: usize = 20_000;
const TRIES: u64 = 64;

#[test]
fn mutants_of_small_programs_are_told_apart() {
    let all = [
        compare("mesh_all_gather 2", &mesh_all_gather(2), STATES, TRIES),
        compare("read_send_recv", &read_send_recv(), STATES, TRIES),
        compare("ring_all_gather 2", &ring_all_gather(2), STATES, TRIES),
        compare("ring_all_reduce 2", &ring_all_reduce(2), STATES, TRIES),
        compare("one_shot_all_reduce 2", &one_shot_all_reduce(2), STATES, TRIES),
        compare("gather_reduce 3", &gather_reduce(3), STATES, TRIES),
        compare("tree_broadcast 3", &tree_broadcast(3), STATES, TRIES),
        compare("barrier 2", &dissemination_barrier(2), STATES, TRIES),
        compare("barrier 3", &dissemination_barrier(3), STATES, TRIES),
        compare("all_pairs 2", &all_pairs_all_reduce(2), STATES, TRIES),
        compare("ring_all_gather 3", &ring_all_gather(3), STATES, TRIES),
    ];
    let sum = |of: fn(&Tally) -> u32| all.iter().map(of).sum::<u32>();
    assert!(sum(|tally| tally.harmful) > 1_000 && sum(|tally| tally.harmless) > 150);
}

#[test]
#[ignore = "minutes: larger programs, where interleavings are too many to try them all"]
fn mutants_of_larger_programs_are_told_apart() {
    compare("ring_all_gather 3", &ring_all_gather(3), 400_000, 2000);
    compare("mesh_all_gather 3", &mesh_all_gather(3), 400_000, 2000);
    compare("nhr_all_gather 3", &nhr_all_gather(3), 400_000, 2000);
    compare("nhr_all_gather 4", &nhr_all_gather(4), 400_000, 2000);
    compare("ring_all_reduce 3", &ring_all_reduce(3), 400_000, 2000);
    compare("tree_broadcast 4", &tree_broadcast(4), 400_000, 2000);
}
