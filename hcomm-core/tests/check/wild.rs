//! Programs that nobody would write: correct ones with several random operations changed, moved, added or dropped.

use hcomm_core::check::check;
use hcomm_core::diag::Code;
use hcomm_core::ids::SpanId;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::{Cell, Op, OpKind, Program, Transfer};

use crate::builders::*;
use crate::oracle::{Random, Truth, truth};

/// Every rank writes its input straight into everybody's output.
fn symmetric_all_gather(ranks: u32) -> Program {
    let mut p = program(Operator::AllGather, ranks, 1, 0);
    for rank in 0..ranks {
        on(&mut p, rank, 0).copy(1, one(output(rank), input(0)));
        fork(&mut p, rank, 2, ranks - 1);
        for (lane, peer) in (0..).zip(peers(rank, ranks)) {
            on(&mut p, rank, lane)
                .signal(3, peer, READY)
                .wait(4, peer, READY)
                .op(5, OpKind::WriteWithNotify(peer, one(output(rank), input(0)), DONE))
                .wait(6, peer, DONE);
        }
        join(&mut p, rank, 2, ranks - 1);
    }
    p
}

fn bases() -> Vec<Program> {
    vec![
        mesh_all_gather(2),
        ring_all_gather(2),
        ring_all_reduce(2),
        read_send_recv(),
        one_shot_all_reduce(2),
        all_pairs_all_reduce(2),
        gather_reduce(3),
        tree_broadcast(3),
        dissemination_barrier(2),
        symmetric_all_gather(2),
        symmetric_all_gather(3),
        nhr_all_gather(3),
    ]
}

fn pick(random: &mut Random, below: usize) -> usize {
    (random.next() % below.max(1) as u64) as usize
}

/// An operation that is in range, on any thread of `rank`.
fn any_op(program: &Program, rank: u32, random: &mut Random) -> Option<Op> {
    let ranks = program.num_ranks();
    let peer = (rank + 1 + pick(random, ranks as usize - 1) as u32) % ranks;
    let threads = program.ranks[rank as usize].threads.len();
    let notify = pick(random, 3.min(program.notifies.len())) as u32;
    let mut cell = |owner: u32, is_dst: bool| {
        let buffer = Buffer::ALL[if is_dst { 1 + pick(random, 2) } else { pick(random, 3) }];
        let chunks = program.chunks(buffer, owner);
        (chunks > 0).then(|| Cell { buffer, chunk: pick(random, chunks as usize) as u32 })
    };
    let transfer = |dst: Option<Cell>, src: Option<Cell>| Some(Transfer { dst: dst?, src: src?, len: 1, class: 0 });
    let local = transfer(cell(rank, true), cell(rank, false));
    let write = transfer(cell(peer, true), cell(rank, false));
    let read = transfer(cell(rank, true), cell(peer, false));
    let kind = match pick(random, 12) {
        0 | 1 => OpKind::ChannelNotifyRecord { peer, notify },
        2 | 3 => OpKind::ChannelNotifyWait { peer, notify },
        4 => OpKind::ThreadNotifyRecord { thread: pick(random, threads) as u32, notify },
        5 => OpKind::ThreadNotifyWait { notify },
        6 => OpKind::LocalCopy(local?),
        7 => OpKind::LocalReduce(local?),
        8 => OpKind::Write(peer, write?),
        9 => OpKind::Read(peer, read?),
        10 => OpKind::WriteReduce(peer, write?),
        _ => OpKind::WriteReduceWithNotify(peer, write?, notify),
    };
    let mut op = Op { kind, at: SpanId(30) };
    if program.split > 1
        && let OpKind::LocalCopy(transfer) | OpKind::Write(_, transfer) = &mut op.kind
    {
        transfer.class = transfer.src.chunk % program.split;
    }
    Some(op)
}

/// Changes one thing.
fn change(program: &mut Program, random: &mut Random) {
    let rank = pick(random, program.ranks.len());
    let new = any_op(program, rank as u32, random);
    let threads = &mut program.ranks[rank].threads;
    let (from, to) = (pick(random, threads.len()), pick(random, threads.len()));
    if threads[from].is_empty() {
        return;
    }
    let at = pick(random, threads[from].len());
    match pick(random, 8) {
        0 => {
            threads[from].remove(at);
        }
        1 | 2 => {
            let op = threads[from].remove(at);
            let place = pick(random, threads[to].len() + 1);
            threads[to].insert(place, op);
        }
        3 | 4 => {
            let other = pick(random, threads[from].len());
            threads[from].swap(at, other);
        }
        5 => {
            let op = threads[from][at];
            threads[from].insert(at, op);
        }
        6 => threads[from].extend(new),
        _ => {
            if let Some(new) = new {
                threads[from].insert(at, new);
            }
        }
    }
    // A pair that keeps the notifies even, now and then: a handshake more.
    if pick(random, 4) == 0 {
        let ranks = program.num_ranks();
        let peer = (rank as u32 + 1) % ranks;
        let notify = pick(random, 3.min(program.notifies.len())) as u32;
        for (on, op) in [
            (rank, OpKind::ChannelNotifyRecord { peer, notify }),
            (peer as usize, OpKind::ChannelNotifyWait { peer: rank as u32, notify }),
        ] {
            let threads = &mut program.ranks[on].threads;
            let thread = pick(random, threads.len());
            let at = pick(random, threads[thread].len() + 1);
            threads[thread].insert(at, Op { kind: op, at: SpanId(31) });
        }
    }
}

/// Programs with more steps and lanes than all interleavings can be tried of.
fn larger_bases() -> Vec<Program> {
    vec![
        mesh_all_gather(4),
        ring_all_gather(4),
        ring_all_reduce(4),
        all_pairs_all_reduce(3),
        nhr_all_gather(5),
        tree_broadcast(6),
        dissemination_barrier(5),
        symmetric_all_gather(4),
        gather_reduce(5),
    ]
}

/// Compares the checks and the oracle on `cases` programs. Returns how many are harmful, harmless,
/// undecided and accepted, undecided and rejected.
fn compare(bases: &[Program], seed: u64, cases: u32, states: usize, tries: u64) -> [u32; 4] {
    let mut random = Random(seed | 1);
    let (mut harmful, mut harmless, mut accepted, mut rejected) = (0, 0, 0, 0);
    for case in 0..cases {
        let base = &bases[pick(&mut random, bases.len())];
        let mut program = base.clone();
        program.symmetric = true;
        for _ in 0..=pick(&mut random, 3) {
            change(&mut program, &mut random);
        }
        let found = check(&program);
        // What no machine would run is the checks' to refuse.
        if found.iter().any(|fault| fault.code == Code::H304 || fault.message.contains("overlap")) {
            continue;
        }
        match truth(&program, states, tries) {
            Truth::Harmful(how) => {
                assert!(!found.is_empty(), "missed, seed {seed} case {case}: {how}\n{program:#?}");
                harmful += 1;
            }
            Truth::Harmless => {
                assert!(found.is_empty(), "false alarm, seed {seed} case {case}: {found:#?}\n{program:#?}");
                harmless += 1;
            }
            Truth::Unknown if found.is_empty() => accepted += 1,
            Truth::Unknown => rejected += 1,
        }
    }
    [harmful, harmless, accepted, rejected]
}

#[test]
fn wild_programs_are_told_apart() {
    let [harmful, harmless, ..] = compare(&bases(), 1, 600, 20_000, 48);
    assert!(harmful > 100 && harmless > 20, "{harmful} {harmless}");
}

#[test]
#[ignore = "minutes: many more of the same"]
fn many_wild_programs_are_told_apart() {
    for seed in 2..12 {
        let [harmful, harmless, accepted, rejected] = compare(&bases(), seed * 7919, 10_000, 60_000, 256);
        assert!(harmful > 5_000 && harmless > 500 && accepted + rejected == 0, "{harmful} {harmless}");
    }
}

#[test]
#[ignore = "minutes: what is accepted is run in many ways"]
fn larger_wild_programs_do_no_harm_if_they_are_accepted() {
    for seed in 2..8 {
        let [harmful, _, accepted, rejected] = compare(&larger_bases(), seed * 104_729, 4_000, 0, 400);
        assert!(harmful > 2_000 && accepted > 100 && rejected == 0, "{harmful} {accepted} {rejected}");
    }
}
