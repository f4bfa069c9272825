//! Mutants of lowered programs: one operation changed, or one handshake taken out.

use std::collections::HashMap;

use hcomm_core::program::{Op, OpKind, Program, Transfer};

/// A mutant: the kind of change, what exactly was done, and the program after it.
pub(crate) struct Mutant {
    pub(crate) kind: &'static str,
    pub(crate) what: String,
    pub(crate) program: Program,
}

/// Rank, thread, place in the queue.
type At = (usize, usize, usize);

/// All mutants of a program, those that change nothing left out.
pub(crate) fn mutants(program: &Program) -> Vec<Mutant> {
    let mut all = Vec::new();
    let mut add = |kind: &'static str, what: String, mutant: Program| {
        if mutant != *program {
            all.push(Mutant { kind, what, program: mutant });
        }
    };
    for (rank, thread, at) in places(program) {
        let op = program.ranks[rank].threads[thread][at];
        let place = format!("rank {rank} thread {thread} op {at} {}", op.kind.name());
        let queue_of = |program: &mut Program, change: &dyn Fn(&mut Vec<Op>)| {
            change(&mut program.ranks[rank].threads[thread]);
        };
        let with = |change: &dyn Fn(&mut Vec<Op>)| {
            let mut mutant = program.clone();
            queue_of(&mut mutant, change);
            mutant
        };
        add(
            "drop",
            place.clone(),
            with(&|queue| {
                queue.remove(at);
            }),
        );
        add("duplicate", place.clone(), with(&|queue| queue.insert(at, op)));
        let len = program.ranks[rank].threads[thread].len();
        let moves = [
            ("swap neighbours", at + 1),
            ("move later", at + 2),
            ("move later", at + 4),
            ("move later", len.saturating_sub(1)),
            ("move earlier", at.wrapping_sub(2)),
            ("move earlier", at.wrapping_sub(4)),
            ("move earlier", 0),
        ];
        let mut targets: Vec<usize> = vec![at];
        for (kind, to) in moves {
            if to < len && !targets.contains(&to) {
                targets.push(to);
                let moved = |queue: &mut Vec<Op>| {
                    let op = queue.remove(at);
                    queue.insert(to, op);
                };
                add(kind, format!("{place} to {to}"), with(&moved));
            }
        }
        if let Some(other) =
            (thread + 1).checked_rem(program.ranks[rank].threads.len()).filter(|other| *other != thread)
        {
            // After the lane's start, so that not all of it is at once for nothing.
            let mut mutant = with(&|queue| {
                queue.remove(at);
            });
            let queue = &mut mutant.ranks[rank].threads[other];
            queue.insert(1.min(queue.len()), op);
            add("other thread", format!("{place} to thread {other}"), mutant);
        }
        for (kind, what, changed) in changed(program, rank as u32, &op.kind) {
            add(kind, format!("{place}: {what}"), with(&|queue| queue[at].kind = changed));
        }
    }
    for (record, wait) in handshakes(program) {
        let mut mutant = program.clone();
        let mut both = [record, wait];
        both.sort_unstable();
        for (rank, thread, at) in both.into_iter().rev() {
            mutant.ranks[rank].threads[thread].remove(at);
        }
        add("remove handshake", format!("record {record:?} and wait {wait:?}"), mutant);
    }
    all
}

fn places(program: &Program) -> Vec<At> {
    let mut all = Vec::new();
    for (rank, queues) in program.ranks.iter().enumerate() {
        for (thread, queue) in queues.threads.iter().enumerate() {
            all.extend((0..queue.len()).map(|at| (rank, thread, at)));
        }
    }
    all
}

/// Other operations in the place of one.
fn changed(program: &Program, rank: u32, kind: &OpKind) -> Vec<(&'static str, String, OpKind)> {
    let mut all = Vec::new();
    for peer in (0..program.num_ranks()).filter(|peer| *peer != rank) {
        all.push(("retarget", format!("peer {peer}"), with_peer(*kind, peer)));
    }
    if let OpKind::ThreadNotifyRecord { thread, notify } = *kind {
        for other in (0..program.ranks[rank as usize].threads.len() as u32).filter(|other| *other != thread) {
            let changed = OpKind::ThreadNotifyRecord { thread: other, notify };
            all.push(("retarget", format!("thread {other}"), changed));
        }
    }
    if let Some(transfer) = kind.transfer() {
        let shifts = [("shift dst", 1), ("shift dst", -1), ("shift src", 1), ("shift src", -1)];
        for (what, by) in shifts {
            let mut shifted = *transfer;
            let cell = if what == "shift dst" { &mut shifted.dst } else { &mut shifted.src };
            if let Some(chunk) = cell.chunk.checked_add_signed(by) {
                cell.chunk = chunk;
                all.push((what, format!("{by:+}"), with_transfer(*kind, shifted)));
            }
        }
        all.push(("other kind", "copy as reduction, or the other way".into(), other_kind(*kind)));
    }
    for index in notifies_of(program, kind) {
        all.push(("notify index", format!("{index}"), with_notify(*kind, index)));
    }
    all
}

/// Other indices that the operation could name.
fn notifies_of(program: &Program, kind: &OpKind) -> Vec<u32> {
    match *kind {
        OpKind::ChannelNotifyRecord { notify, .. }
        | OpKind::ChannelNotifyWait { notify, .. }
        | OpKind::WriteWithNotify(.., notify)
        | OpKind::WriteReduceWithNotify(.., notify) => {
            (0..=program.notifies.len() as u32).filter(|other| *other != notify).collect()
        }
        OpKind::ThreadNotifyRecord { notify, .. } | OpKind::ThreadNotifyWait { notify } => {
            [notify.checked_sub(1), Some(notify + 1)].into_iter().flatten().collect()
        }
        _ => Vec::new(),
    }
}

fn with_peer(kind: OpKind, peer: u32) -> OpKind {
    match kind {
        OpKind::Write(_, transfer) => OpKind::Write(peer, transfer),
        OpKind::Read(_, transfer) => OpKind::Read(peer, transfer),
        OpKind::WriteReduce(_, transfer) => OpKind::WriteReduce(peer, transfer),
        OpKind::ReadReduce(_, transfer) => OpKind::ReadReduce(peer, transfer),
        OpKind::WriteWithNotify(_, transfer, notify) => OpKind::WriteWithNotify(peer, transfer, notify),
        OpKind::WriteReduceWithNotify(_, transfer, notify) => OpKind::WriteReduceWithNotify(peer, transfer, notify),
        OpKind::ChannelNotifyRecord { notify, .. } => OpKind::ChannelNotifyRecord { peer, notify },
        OpKind::ChannelNotifyWait { notify, .. } => OpKind::ChannelNotifyWait { peer, notify },
        other => other,
    }
}

fn with_transfer(kind: OpKind, transfer: Transfer) -> OpKind {
    match kind {
        OpKind::LocalCopy(_) => OpKind::LocalCopy(transfer),
        OpKind::LocalReduce(_) => OpKind::LocalReduce(transfer),
        OpKind::Write(peer, _) => OpKind::Write(peer, transfer),
        OpKind::Read(peer, _) => OpKind::Read(peer, transfer),
        OpKind::WriteReduce(peer, _) => OpKind::WriteReduce(peer, transfer),
        OpKind::ReadReduce(peer, _) => OpKind::ReadReduce(peer, transfer),
        OpKind::WriteWithNotify(peer, _, notify) => OpKind::WriteWithNotify(peer, transfer, notify),
        OpKind::WriteReduceWithNotify(peer, _, notify) => OpKind::WriteReduceWithNotify(peer, transfer, notify),
        other => other,
    }
}

fn with_notify(kind: OpKind, notify: u32) -> OpKind {
    match kind {
        OpKind::ChannelNotifyRecord { peer, .. } => OpKind::ChannelNotifyRecord { peer, notify },
        OpKind::ChannelNotifyWait { peer, .. } => OpKind::ChannelNotifyWait { peer, notify },
        OpKind::ThreadNotifyRecord { thread, .. } => OpKind::ThreadNotifyRecord { thread, notify },
        OpKind::ThreadNotifyWait { .. } => OpKind::ThreadNotifyWait { notify },
        OpKind::WriteWithNotify(peer, transfer, _) => OpKind::WriteWithNotify(peer, transfer, notify),
        OpKind::WriteReduceWithNotify(peer, transfer, _) => OpKind::WriteReduceWithNotify(peer, transfer, notify),
        other => other,
    }
}

fn other_kind(kind: OpKind) -> OpKind {
    match kind {
        OpKind::LocalCopy(transfer) => OpKind::LocalReduce(transfer),
        OpKind::LocalReduce(transfer) => OpKind::LocalCopy(transfer),
        OpKind::Write(peer, transfer) => OpKind::WriteReduce(peer, transfer),
        OpKind::WriteReduce(peer, transfer) => OpKind::Write(peer, transfer),
        OpKind::Read(peer, transfer) => OpKind::ReadReduce(peer, transfer),
        OpKind::ReadReduce(peer, transfer) => OpKind::Read(peer, transfer),
        other => other,
    }
}

/// A notify: the rank that waits for it, the rank or thread at the other end, its index.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Notify {
    Thread(u32, u32, u32),
    Channel(u32, u32, u32),
}

/// Every record with the wait that takes it: the k-th of a notify with the k-th.
fn handshakes(program: &Program) -> Vec<(At, At)> {
    let mut records: HashMap<Notify, Vec<At>> = HashMap::new();
    let mut waits: Vec<(Notify, At)> = Vec::new();
    for (rank, thread, at) in places(program) {
        let (me, here) = (rank as u32, (rank, thread, at));
        match program.ranks[rank].threads[thread][at].kind {
            OpKind::ThreadNotifyRecord { thread, notify } => {
                records.entry(Notify::Thread(me, thread, notify)).or_default().push(here);
            }
            OpKind::ChannelNotifyRecord { peer, notify } => {
                records.entry(Notify::Channel(peer, me, notify)).or_default().push(here);
            }
            OpKind::ThreadNotifyWait { notify } => waits.push((Notify::Thread(me, thread as u32, notify), here)),
            OpKind::ChannelNotifyWait { peer, notify } => waits.push((Notify::Channel(me, peer, notify), here)),
            _ => {}
        }
    }
    let mut taken: HashMap<Notify, usize> = HashMap::new();
    let mut all = Vec::new();
    for (notify, wait) in waits {
        let next = taken.entry(notify).or_default();
        if let Some(record) = records.get(&notify).and_then(|records| records.get(*next)) {
            all.push((*record, wait));
        }
        *next += 1;
    }
    all
}
