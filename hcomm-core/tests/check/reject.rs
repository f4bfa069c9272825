//! Faulty programs: each with the codes and lines it must be told with, and the words it is told in.

use std::fmt::Write;

use hcomm_core::check::check;
use hcomm_core::diag::{Code, Diagnostic};
use hcomm_core::operator::Operator;
use hcomm_core::program::{Op, OpKind, Program};

use crate::builders::*;

/// Codes and lines.
fn faults(program: &Program) -> Vec<(Code, u32)> {
    check(program).iter().map(|fault| (fault.code, fault.at.map_or(0, |at| at.line))).collect()
}

/// As a person reads them.
pub(crate) fn told(found: &[Diagnostic]) -> String {
    let mut text = String::new();
    for fault in found {
        let line =
            |at: Option<hcomm_core::spec::Span>| at.map_or("      -".into(), |at| format!("line {:>2}", at.line));
        let _ = writeln!(text, "{}  {}: {}", line(fault.at), fault.code, fault.message);
        for related in &fault.related {
            let _ = writeln!(text, "{}    {}", line(related.at), related.message);
        }
        if let Some(help) = &fault.help {
            let _ = writeln!(text, "    help  {help}");
        }
    }
    text
}

fn told_of(program: &Program) -> String {
    told(&check(program))
}

/// Keeps the operations that the test likes.
fn keep(program: &mut Program, keep: impl Fn(u32, &Op) -> bool) {
    for (rank, queues) in (0..).zip(&mut program.ranks) {
        for queue in &mut queues.threads {
            queue.retain(|op| keep(rank, op));
        }
    }
}

/// Changes operations of a line.
fn change(program: &mut Program, line: u32, change: impl Fn(u32, &mut OpKind)) {
    for (rank, queues) in (0..).zip(&mut program.ranks) {
        for op in queues.threads.iter_mut().flatten().filter(|op| op.at.0 == line) {
            change(rank, &mut op.kind);
        }
    }
}

/// Exchanges neighbours that are of these lines, in this order, as if they had been written the other way round.
fn swap(program: &mut Program, first: u32, second: u32) {
    for queue in program.ranks.iter_mut().flat_map(|rank| &mut rank.threads) {
        for at in 1..queue.len() {
            if (queue[at - 1].at.0, queue[at].at.0) == (first, second) {
                queue.swap(at - 1, at);
                (queue[at - 1].at.0, queue[at].at.0) = (first, second);
            }
        }
    }
}

#[test]
fn every_rank_waits_before_it_signals() {
    let mut p = mesh_all_gather(3);
    swap(&mut p, 3, 4);
    assert_eq!(faults(&p), [(Code::H101, 3)]);
    insta::assert_snapshot!(told_of(&p));
}

/// Every rank takes its peers one after the other, from the next one on.
fn bounded_mesh(ranks: u32) -> Program {
    let mut p = program(Operator::AllGather, ranks, 1, ranks);
    for rank in 0..ranks {
        on(&mut p, rank, 0).copy(1, one(scratch(rank), input(0)));
        for peer in peers(rank, ranks) {
            on(&mut p, rank, 0)
                .signal(3, peer, READY)
                .wait(4, peer, READY)
                .write(5, peer, one(scratch(rank), scratch(rank)))
                .signal(6, peer, DONE)
                .wait(7, peer, DONE);
        }
        on(&mut p, rank, 0).copy(8, many(output(0), scratch(0), ranks));
    }
    p
}

#[test]
fn peers_are_taken_in_turn_by_everybody() {
    let p = bounded_mesh(5);
    assert_eq!(faults(&p), [(Code::H101, 4)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn a_thread_waits_for_one_that_it_has_not_started() {
    let mut p = read_send_recv();
    on(&mut p, 1, 1).op(20, OpKind::ThreadNotifyWait { notify: 0 });
    on(&mut p, 1, 1).op(21, OpKind::ThreadNotifyRecord { thread: 0, notify: 0 });
    on(&mut p, 1, 0).op(22, OpKind::ThreadNotifyWait { notify: 0 });
    on(&mut p, 1, 0).op(23, OpKind::ThreadNotifyRecord { thread: 1, notify: 0 });
    assert_eq!(faults(&p), [(Code::H101, 20)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn a_wait_is_missing() {
    let mut p = mesh_all_gather(4);
    keep(&mut p, |_, op| op.at.0 != 7);
    assert_eq!(faults(&p), [(Code::H102, 6)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn a_signal_is_missing() {
    let mut p = mesh_all_gather(4);
    keep(&mut p, |_, op| op.at.0 != 3);
    assert_eq!(faults(&p), [(Code::H102, 4)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn one_rank_leaves_a_signal_out_in_one_step() {
    let mut p = ring_all_gather(4);
    let main = &mut p.ranks[2].threads[0];
    let last = main.iter().rposition(|op| op.at.0 == 5).unwrap();
    main.remove(last);
    assert_eq!(faults(&p), [(Code::H102, 7)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn signal_and_wait_name_different_notifies() {
    let mut p = mesh_all_gather(3);
    change(&mut p, 6, |_, kind| {
        if let OpKind::ChannelNotifyRecord { notify, .. } = kind {
            *notify = 2;
        }
    });
    assert_eq!(faults(&p), [(Code::H102, 7)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn a_signal_goes_to_the_wrong_side_of_the_ring() {
    let mut p = ring_all_gather(4);
    change(&mut p, 6, |rank, kind| {
        if let OpKind::ChannelNotifyRecord { peer, .. } = kind {
            *peer = (rank + 1) % 4;
        }
    });
    assert_eq!(faults(&p), [(Code::H102, 3)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn a_notify_is_recorded_twice() {
    let mut p = read_send_recv();
    // Rank 0 tells rank 1 twice that it is ready, and rank 1 waits twice.
    let (signal, wait) = (p.ranks[0].threads[0][1], p.ranks[1].threads[0][0]);
    p.ranks[0].threads[0].insert(1, signal);
    p.ranks[1].threads[0].insert(0, wait);
    assert_eq!(faults(&p), [(Code::H103, 2)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn two_lanes_wait_for_one_notify() {
    let mut p = ring_all_gather(3);
    // The second `wait next` moves to where the other lane starts.
    let waits: Vec<usize> =
        p.ranks[0].threads[0].iter().enumerate().filter(|(_, op)| op.at.0 == 3).map(|(at, _)| at).collect();
    let mut wait = p.ranks[0].threads[0].remove(waits[1]);
    wait.at.0 = 20;
    p.ranks[0].threads[1].insert(1, wait);
    assert!(faults(&p).contains(&(Code::H103, 20)), "{:?}", faults(&p));
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn nothing_says_that_a_round_is_over() {
    // The first message to a peer needs no permission; the next one does.
    let mut p = mesh_all_gather(3);
    keep(&mut p, |_, op| op.at.0 != 3 && op.at.0 != 4);
    let found = faults(&p);
    assert!(found.contains(&(Code::H201, 5)), "{found:?}");
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn an_acknowledgement_is_missing_and_nothing_else() {
    // One way only: rank 0 pushes to rank 1, which has no say in when. The notify itself is safe: rank 1 answers
    // `spare` as soon as the data is there, before it copies it out.
    let mut p = program(Operator::SendRecv, 2, 1, 1);
    on(&mut p, 0, 0).write(1, 1, one(scratch(0), input(0))).signal(2, 1, DONE).wait(3, 1, 2);
    on(&mut p, 1, 0).wait(4, 0, DONE).signal(5, 0, 2).copy(6, one(output(0), scratch(0)));
    assert_eq!(faults(&p), [(Code::H201, 1)]);
    insta::assert_snapshot!(told_of(&p));
    // With the answer after the copy it holds.
    let mut p = p.clone();
    p.ranks[1].threads[0].swap(1, 2);
    assert_eq!(faults(&p), []);
}

#[test]
fn the_data_may_not_have_come() {
    let mut p = mesh_all_gather(3);
    keep(&mut p, |_, op| op.at.0 != 6 && op.at.0 != 7);
    assert!(faults(&p).contains(&(Code::H201, 8)), "{:?}", faults(&p));
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn two_ranks_write_one_slot() {
    let mut p = mesh_all_gather(3);
    change(&mut p, 5, |rank, kind| {
        if let OpKind::Write(_, transfer) = kind
            && rank == 2
        {
            transfer.dst.chunk = 1 - transfer.dst.chunk.min(1);
        }
    });
    insta::assert_snapshot!(told_of(&p));
    assert!(faults(&p).contains(&(Code::H201, 5)), "{:?}", faults(&p));
}

#[test]
fn lanes_of_one_rank_race() {
    let mut p = program(Operator::AllGather, 1, 1, 1);
    fork(&mut p, 0, 1, 2);
    on(&mut p, 0, 0).copy(2, one(scratch(0), input(0)));
    on(&mut p, 0, 1).copy(3, one(output(0), scratch(0)));
    join(&mut p, 0, 4, 2);
    assert_eq!(faults(&p), [(Code::H201, 3)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn a_symmetric_program_writes_before_and_after_its_peers_turn() {
    let mut p = program(Operator::SendRecv, 2, 1, 0);
    on(&mut p, 0, 0).write(1, 1, one(output(0), input(0)));
    on(&mut p, 1, 0);
    p.symmetric = true;
    insta::assert_snapshot!(told(&check(&p)));
    on(&mut p, 0, 0).signal(2, 1, DONE);
    on(&mut p, 1, 0).signal(3, 0, READY).wait(4, 0, DONE);
    p.ranks[0].threads[0]
        .insert(0, Op { kind: OpKind::ChannelNotifyWait { peer: 1, notify: READY }, at: hcomm_core::ids::SpanId(5) });
    assert_eq!(check(&p), []);
    p.symmetric = false;
    assert_eq!(faults(&p), [(Code::H304, 1)]);
}

#[test]
fn additions_in_any_order() {
    let mut p = gather_reduce(4);
    p.deterministic = true;
    assert_eq!(faults(&p), [(Code::H202, 5)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn a_chunk_is_read_that_nothing_wrote() {
    let mut p = mesh_all_gather(3);
    keep(&mut p, |_, op| op.at.0 != 1);
    assert_eq!(faults(&p), [(Code::H301, 5), (Code::H301, 8)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn the_first_contribution_is_added_to_nothing() {
    let mut p = one_shot_all_reduce(3);
    change(&mut p, 8, |_, kind| {
        if let OpKind::LocalCopy(transfer) = *kind {
            *kind = OpKind::LocalReduce(transfer);
        }
    });
    assert_eq!(faults(&p), [(Code::H301, 8)]);
    insta::assert_snapshot!(told_of(&p));
}

#[test]
fn results_are_wrong() {
    // A chunk from the wrong place.
    let mut misplaced = mesh_all_gather(3);
    change(&mut misplaced, 8, |_, kind| {
        *kind = OpKind::LocalCopy(many(output(0), scratch(0), 2));
    });
    for rank in 0..3 {
        on(&mut misplaced, rank, 0).copy(9, one(output(2), scratch(1)));
    }
    assert_eq!(faults(&misplaced), [(Code::H302, 9)]);

    // A contribution too few, one too many, and both.
    let mut missing = one_shot_all_reduce(4);
    for rank in 0..4 {
        missing.ranks[rank].threads[0].pop();
    }
    assert_eq!(faults(&missing), [(Code::H302, 9)]);
    let mut twice = one_shot_all_reduce(4);
    for rank in 0..4 {
        on(&mut twice, rank, 0).reduce(10, one(output(0), scratch(2)));
    }
    assert_eq!(faults(&twice), [(Code::H302, 10)]);
    let mut both = one_shot_all_reduce(4);
    change(&mut both, 9, |_, kind| {
        if let OpKind::LocalReduce(transfer) = kind {
            transfer.src.chunk = transfer.src.chunk.max(2);
        }
    });
    assert_eq!(faults(&both), [(Code::H302, 9)]);

    // Not at all.
    let mut never = mesh_all_gather(3);
    change(&mut never, 8, |_, kind| {
        *kind = OpKind::LocalCopy(many(output(0), scratch(0), 2));
    });
    assert_eq!(faults(&never), [(Code::H302, 8)]);

    // A sum where there should be a copy.
    let mut sum = mesh_all_gather(2);
    change(&mut sum, 5, |_, kind| {
        if let OpKind::Write(peer, transfer) = *kind {
            *kind = OpKind::WriteReduce(peer, one(scratch(peer), transfer.src));
        }
    });
    let all = [misplaced, missing, twice, both, never, sum];
    insta::assert_snapshot!(all.iter().map(told_of).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_barrier_lets_a_rank_go_early() {
    let mut p = program(Operator::Barrier, 3, 1, 0);
    for rank in 1..3 {
        on(&mut p, rank, 0).signal(1, 0, READY).wait(2, 0, DONE);
        on(&mut p, 0, 0).wait(3, rank, READY).signal(4, rank, DONE);
    }
    assert_eq!(faults(&p), [(Code::H302, 2)]);
    insta::assert_snapshot!(told_of(&p));
    assert_eq!(faults(&program(Operator::Barrier, 2, 1, 0)), [(Code::H302, 0)]);
    assert_eq!(faults(&program(Operator::Barrier, 1, 1, 0)), []);
}

#[test]
fn lengths_and_bounds() {
    let mut shifted = all_pairs_all_reduce(3);
    change(&mut shifted, 8, |_, kind| {
        if let OpKind::LocalReduce(transfer) = kind {
            transfer.dst.chunk = (transfer.dst.chunk + 1) % 3;
        }
    });
    assert_eq!(faults(&shifted), [(Code::H303, 8)]);
    let mut claim = ring_all_reduce(3);
    change(&mut claim, 9, |_, kind| {
        if let OpKind::Write(_, transfer) = kind {
            transfer.class = (transfer.class + 1) % 3;
        }
    });
    assert_eq!(faults(&claim), [(Code::H303, 9)]);
    let mut copied = ring_all_reduce(3);
    for rank in 0..3 {
        on(&mut copied, rank, 0).copy(13, classed(output(0), scratch(1), 1));
    }
    assert_eq!(faults(&copied), [(Code::H303, 13)]);
    let mut outside = mesh_all_gather(3);
    change(&mut outside, 5, |_, kind| {
        if let OpKind::Write(_, transfer) = kind {
            transfer.dst.chunk += 1;
        }
    });
    assert_eq!(faults(&outside), [(Code::H303, 5)]);
    let mut no_input = tree_broadcast(2);
    on(&mut no_input, 1, 0).copy(9, one(output(0), input(0)));
    assert_eq!(faults(&no_input), [(Code::H303, 9)]);
    let mut overlap = mesh_all_gather(3);
    on(&mut overlap, 0, 0).copy(9, many(scratch(1), scratch(0), 2));
    assert_eq!(faults(&overlap), [(Code::H303, 9)]);
    let all = [shifted, claim, copied, outside, no_input, overlap];
    insta::assert_snapshot!(all.iter().map(told_of).collect::<Vec<_>>().join("\n"));
}

#[test]
fn what_may_not_be_reached() {
    let mut own = mesh_all_gather(3);
    on(&mut own, 1, 0).signal(9, 1, READY);
    let mut beyond = mesh_all_gather(3);
    on(&mut beyond, 1, 0).signal(9, 3, READY);
    let mut output_of = mesh_all_gather(3);
    on(&mut output_of, 1, 0).write(9, 2, one(output(0), scratch(0)));
    let mut to_input = mesh_all_gather(3);
    on(&mut to_input, 1, 0).copy(9, one(input(0), scratch(0)));
    let mut no_notify = mesh_all_gather(3);
    on(&mut no_notify, 1, 0).signal(9, 2, 3);
    let mut no_thread = mesh_all_gather(3);
    on(&mut no_thread, 1, 0).op(9, OpKind::ThreadNotifyRecord { thread: 2, notify: 0 });
    let all = [own, beyond, output_of, to_input, no_notify, no_thread];
    for program in &all {
        assert_eq!(faults(program), [(Code::H304, 9)]);
    }
    insta::assert_snapshot!(all.iter().map(told_of).collect::<Vec<_>>().join("\n"));
}

#[test]
fn numbers_of_the_whole_program() {
    let mut ranks = mesh_all_gather(3);
    ranks.ranks.pop();
    let mut split = mesh_all_gather(3);
    split.split = 0;
    let mut root = tree_broadcast(3);
    root.shape.root = 3;
    let mut huge = mesh_all_gather(3);
    huge.split = u32::MAX;
    let mut long = program(Operator::AllReduce, 1, 1 << 24, 1 << 24);
    for _ in 0..5 {
        on(&mut long, 0, 0).copy(1, many(scratch(0), input(0), 1 << 24));
    }
    let all = [ranks, split, root, huge, long];
    insta::assert_snapshot!(all.iter().map(told_of).collect::<Vec<_>>().join("\n"));
}

#[test]
fn huge_indices_of_thread_notifies_are_numbered_all_the_same() {
    let mut p = read_send_recv();
    on(&mut p, 0, 0).op(20, OpKind::ThreadNotifyRecord { thread: 0, notify: u32::MAX });
    on(&mut p, 0, 0).op(21, OpKind::ThreadNotifyWait { notify: u32::MAX });
    assert_eq!(faults(&p), []);
    on(&mut p, 0, 0).op(22, OpKind::ThreadNotifyWait { notify: u32::MAX - 1 });
    assert_eq!(faults(&p), [(Code::H102, 22)]);
}
