//! Programs with a fault: each must be found, and said so that one can find it.

use crate::support::*;
use hcomm_core::diag::Code;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::{OpKind, Program};
use hcomm_sim::{Config, Got, NotifyName, Recorder, Report, Schedule, run};

/// Small enough for three rounds.
fn config() -> Config {
    Config::new(1000, DataType::Int32).hccl_buffer(4 << 10).repeat(3)
}

fn random(seed: u64) -> Config {
    config().schedule(Schedule::Random { seed })
}

fn report(program: &Program, config: &Config) -> Report {
    let report = run(program, config).unwrap();
    assert_eq!(report.ok(), report.diagnostics().is_empty(), "{report}");
    report
}

fn codes(report: &Report) -> Vec<Code> {
    report.diagnostics().iter().map(|diagnostic| diagnostic.code).collect()
}

/// Removes the operations of a rank that match.
fn without(mut program: Program, rank: u32, remove: impl Fn(&OpKind) -> bool) -> Program {
    for thread in &mut program.ranks[rank as usize].threads {
        thread.retain(|op| !remove(&op.kind));
    }
    program
}

fn is_signal(kind: &OpKind, peer: u32, notify: u32) -> bool {
    *kind == OpKind::ChannelNotifyRecord { peer, notify }
}

fn is_wait(kind: &OpKind, peer: u32, notify: u32) -> bool {
    *kind == OpKind::ChannelNotifyWait { peer, notify }
}

/// A rank of three waits for the next one, who waits for the next one: nobody signals first.
fn circle() -> Program {
    let mut program = empty("circle", Operator::Barrier, shape(3), 1, 0);
    for rank in 0..3 {
        let (next, prev) = ((rank + 1) % 3, (rank + 2) % 3);
        At(&mut program, rank, 0).wait(7, next, READY).signal(8, prev, READY);
    }
    program
}

#[test]
fn a_circle_of_waits_is_shown_as_one() {
    let report = report(&circle(), &Config::default());
    let hang = report.hang.as_ref().unwrap();
    assert_eq!(hang.cycle, [0, 1, 2]);
    assert_eq!(
        hang.to_string(),
        "nothing can go on: 3 threads wait\n\
         a cycle of 3 waits:\n\
         \x20 rank 0 thread 0 waits for `ready` from rank 1 (line 7), which rank 1 thread 0 would record (line 8)\n\
         \x20 rank 1 thread 0 waits for `ready` from rank 2 (line 7), which rank 2 thread 0 would record (line 8)\n\
         \x20 rank 2 thread 0 waits for `ready` from rank 0 (line 7), which rank 0 thread 0 would record (line 8)\n"
    );
    let [diagnostic] = report.diagnostics().try_into().unwrap();
    assert_eq!((diagnostic.code, diagnostic.ranks, diagnostic.rank), (Code::H101, Some(3), Some(0)));
    assert_eq!(diagnostic.at.unwrap().line, 7);
    assert_eq!(diagnostic.related.len(), 2);
}

#[test]
fn a_circle_through_threads_of_one_rank() {
    // Rank 1's main thread waits for its lane, which waits for rank 0, which waits for rank 1's main thread.
    let mut program = empty("lanes", Operator::Barrier, shape(2), 1, 0);
    At(&mut program, 0, 0).wait(5, 1, DONE).signal(6, 1, READY);
    At(&mut program, 1, 0).start(1, 0).started(0).signal(7, 0, DONE);
    At(&mut program, 1, 1).started(0).wait(8, 0, READY).start(0, 0);
    let report = report(&program, &Config::default());
    let hang = report.hang.unwrap();
    let who: Vec<_> = hang.cycle.iter().map(|index| &hang.waiting[*index].place).map(|p| (p.rank, p.thread)).collect();
    assert_eq!(who, [(0, 0), (1, 0), (1, 1)]);
    assert!(hang.to_string().contains("rank 1 thread 0 waits for its notify 0 (line 1), which rank 1 thread 1"));
}

#[test]
fn an_invocation_ends_with_its_main_thread() {
    // A lane writes the output, and the main thread does not wait for it.
    let lane = |joined: bool| {
        let mut program = empty("lane", Operator::AllReduce, shape(1), 1, 0);
        At(&mut program, 0, 0).start(1, 0);
        At(&mut program, 0, 1).started(0);
        At(&mut program, 0, 1).op(5, OpKind::LocalCopy(transfer((Buffer::Output, 0), (Buffer::Input, 0), 1, 0)));
        if joined {
            At(&mut program, 0, 1).start(0, 0);
            At(&mut program, 0, 0).started(0);
        }
        program
    };
    assert!(report(&lane(true), &config()).ok());
    let early = report(&lane(false), &Config::default());
    assert_eq!((early.mismatches.count, &early.mismatches.first[0].got), (1024, &Got::Unwritten));
    assert!(early.hang.is_none());
}

#[test]
fn a_missing_signal_hangs_where_it_is_missed() {
    let program = without(mesh_all_gather(4), 2, |kind| is_signal(kind, 1, READY));
    let report = report(&program, &config());
    let hang = report.hang.as_ref().unwrap();
    assert!(hang.cycle.is_empty());
    let missed = hang.waiting.iter().find(|wait| wait.recorder == Recorder::Nobody { lost: 0 }).unwrap();
    assert_eq!((missed.place.rank, missed.place.at.unwrap().line), (1, 6));
    assert!(matches!(missed.notify, NotifyName::Channel { rank: 1, peer: 2, notify: READY, .. }));
    assert_eq!(codes(&report)[0], Code::H102);
    assert!(
        hang.to_string().contains("rank 1 thread 0 waits for `ready` from rank 2 (line 6), and nobody has a record"),
        "{hang}"
    );
    // Everything that waits is said, and nothing else.
    assert!(hang.waiting.len() > 2);
}

#[test]
fn a_missing_wait_leaves_a_notify_set_and_loses_records() {
    let mut program = empty("unread", Operator::Barrier, shape(2), 1, 0);
    At(&mut program, 0, 0).signal(3, 1, DONE).signal(4, 1, READY).wait(5, 1, READY);
    At(&mut program, 1, 0).wait(6, 0, READY).signal(7, 0, READY);
    let once = report(&program, &Config::default());
    assert_eq!((once.left_set.count, once.lost_records.count), (1, 0));
    assert_eq!(codes(&once), [Code::H102]);
    let thrice = report(&program, &Config::default().repeat(3));
    assert_eq!((thrice.left_set.count, thrice.lost_records.count), (1, 2));
    assert_eq!(codes(&thrice), [Code::H103, Code::H102]);
    let lost = &thrice.lost_records.first[0];
    assert_eq!((lost.place.rank, lost.place.invocation, lost.place.at.unwrap().line), (0, 1, 3));
    assert!(matches!(lost.notify, NotifyName::Channel { rank: 1, peer: 0, notify: DONE, .. }));
}

#[test]
fn two_records_before_a_wait_are_one() {
    let mut program = empty("twice", Operator::Barrier, shape(2), 1, 0);
    At(&mut program, 0, 0).signal(3, 1, READY).signal(4, 1, READY);
    At(&mut program, 1, 0).wait(5, 0, READY).wait(6, 0, READY);
    // First in, first out: both records come before the first wait.
    let report = report(&program, &Config::default());
    assert_eq!(report.lost_records.count, 1);
    let hang = report.hang.as_ref().unwrap();
    assert_eq!(hang.waiting[0].recorder, Recorder::Nobody { lost: 1 });
    assert!(hang.to_string().contains("1 came while it was still set"), "{hang}");
    // With luck the first wait comes in between: some seed has it, and some has not.
    let hangs: Vec<bool> = (0..20)
        .map(|seed| run(&program, &Config::default().schedule(Schedule::Random { seed })).unwrap().hang.is_some())
        .collect();
    assert!(hangs.contains(&true) && hangs.contains(&false), "{hangs:?}");
}

#[test]
fn two_threads_may_wait_for_one_notify_and_one_of_them_gets_it() {
    let mut program = empty("both", Operator::Barrier, shape(2), 1, 0);
    At(&mut program, 0, 0).signal(3, 1, READY);
    At(&mut program, 1, 0).wait(5, 0, READY);
    At(&mut program, 1, 1).wait(6, 0, READY);
    for seed in 0..10 {
        let hang = report(&program, &Config::default().schedule(Schedule::Random { seed })).hang.unwrap();
        assert_eq!(hang.waiting.len(), 1);
    }
    At(&mut program, 1, 0).signal(7, 0, DONE);
    At(&mut program, 1, 1).signal(8, 0, READY);
    At(&mut program, 0, 0).wait(9, 1, DONE).signal(9, 1, READY).wait(9, 1, READY);
    assert!(report(&program, &Config::default()).ok());
}

/// What some seed finds, and the usual order does not have to.
fn found(program: &Program, seeds: std::ops::Range<u64>) -> bool {
    seeds.into_iter().any(|seed| !report(program, &random(seed)).ok())
}

#[test]
fn missing_acknowledgements_are_races_that_some_order_shows() {
    // The receiver does not say that it has read: the sender overwrites in the next round.
    let program = without(read_send_recv(2), 0, |kind| is_wait(kind, 1, DONE));
    let program = without(program, 1, |kind| is_signal(kind, 0, DONE));
    assert!(found(&program, 0..10));
    // Nobody waits until the peer has copied out before writing the next round.
    assert!(found(&unready(mesh_all_gather(3)), 0..10));
    assert!(found(&unready(ring_all_reduce(3)), 0..10));
    // And what is right stays right.
    for program in [read_send_recv(2), mesh_all_gather(3), ring_all_reduce(3)] {
        assert!(!found(&program, 0..10), "{}", program.algorithm);
    }
}

/// Without what says that a peer may write.
fn unready(mut program: Program) -> Program {
    for rank in 0..program.num_ranks() {
        program = without(program, rank, |kind| {
            matches!(
                kind,
                OpKind::ChannelNotifyWait { notify: READY, .. } | OpKind::ChannelNotifyRecord { notify: READY, .. }
            )
        });
    }
    program
}

#[test]
fn a_transfer_takes_time() {
    // Two cells are exchanged by two copies at once. If copies took no time, both cells would end up the same.
    let mut program = empty("exchange", Operator::Scatter, shape(2), 1, 2);
    let copy = |dst, src| OpKind::LocalCopy(transfer(dst, src, 1, 0));
    let cells = [(Buffer::Scratch, 0), (Buffer::Scratch, 1)];
    let mut main = At(&mut program, 0, 0);
    main.op(3, copy(cells[0], (Buffer::Input, 1))).op(3, copy(cells[1], (Buffer::Input, 0))).start(1, 0);
    main.op(4, copy(cells[0], cells[1])).started(0).op(5, copy((Buffer::Output, 0), cells[0]));
    main.signal(6, 1, READY).wait(6, 1, DONE);
    At(&mut program, 0, 1).started(0).op(4, copy(cells[1], cells[0])).start(0, 0);
    let read = OpKind::Read(0, transfer((Buffer::Output, 0), cells[1], 1, 0));
    At(&mut program, 1, 0).wait(7, 0, READY).op(7, read).signal(7, 0, DONE);
    let once = Config::new(10, DataType::Int32);
    assert_eq!(report(&program, &once).mismatches.count, 10);
    let wrong = |seed| report(&program, &once.clone().schedule(Schedule::Random { seed })).mismatches.count;
    let outcomes: Vec<u64> = (0..30).map(wrong).collect();
    assert!(outcomes.contains(&0) && outcomes.contains(&10), "{outcomes:?}");
}

#[test]
fn schedules_are_reproducible() {
    let program = unready(mesh_all_gather(3));
    let reports: Vec<_> = (0..8).map(|seed| report(&program, &random(seed))).collect();
    let again: Vec<_> = (0..8).map(|seed| report(&program, &random(seed))).collect();
    assert_eq!(reports, again);
    assert!(reports.iter().any(|report| *report != reports[0]));
}

#[test]
fn a_read_of_what_nothing_wrote_is_followed_to_the_output() {
    // Without copy in, the mesh spreads nothing.
    let program = without(
        mesh_all_gather(3),
        1,
        |kind| matches!(kind, OpKind::LocalCopy(moved) if moved.src.buffer == Buffer::Input),
    );
    let report = report(&program, &Config::new(10, DataType::Int32));
    assert_eq!(report.mismatches.count, 3 * 10);
    assert!(report.mismatches.first.iter().all(|mismatch| mismatch.got == Got::Poison && mismatch.slot == 1));
    let read = &report.uninitialised.first[0];
    assert_eq!((read.place.rank, read.place.name, read.place.at.unwrap().line), (1, "Write", 7));
    assert_eq!((read.rank, read.buffer, read.offset, read.bytes), (1, Buffer::Scratch, 128, 40));
    assert_eq!(codes(&report), [Code::H301, Code::H302]);
}

#[test]
fn poison_spreads_through_reductions_and_no_further() {
    // Rank 1 has staged only the first of two chunks.
    let mut program = pull(Operator::AllReduce, shape(2), 2);
    for op in &mut program.ranks[1].threads[0] {
        if let OpKind::LocalCopy(moved) = &mut op.kind
            && moved.src.buffer == Buffer::Input
        {
            moved.len = 1;
        }
    }
    for reduce in ReduceOp::ALL {
        let report = report(&program, &Config::new(10, DataType::Fp32).reduce(reduce));
        assert_eq!(report.mismatches.count, 2 * 5);
        for mismatch in &report.mismatches.first {
            assert_eq!((&mismatch.got, mismatch.chunk), (&Got::Poison, 1));
            assert!(mismatch.element >= 5);
        }
    }
}

#[test]
fn what_was_not_written_is_said_to_be_so() {
    let program = without(
        mesh_all_gather(2),
        0,
        |kind| matches!(kind, OpKind::LocalCopy(moved) if moved.dst.buffer == Buffer::Output),
    );
    let report = report(&program, &Config::new(100_000, DataType::Int8));
    assert_eq!((report.mismatches.count, report.uninitialised.count), (200_000, 0));
    assert_eq!(report.mismatches.first.len(), 16);
    assert_eq!(report.mismatches.first[0].got, Got::Unwritten);
}

/// Every single reduction left out, doubled or of the wrong chunk shows, for every type and reduction that can tell.
#[test]
fn wrong_contributions_show_for_every_type() {
    let ranks = 24;
    let right = one_shot_all_reduce(ranks);
    let reductions: Vec<usize> = (0..right.ranks[1].threads[0].len())
        .filter(|index| matches!(right.ranks[1].threads[0][*index].kind, OpKind::LocalReduce(_)))
        .collect();
    let (first, last) = (reductions[0], reductions[reductions.len() - 1]);
    for dtype in DataType::ALL.into_iter().filter(|dtype| !dtype.is_copied_only()) {
        for reduce in ReduceOp::ALL {
            let config = Config::new(500, dtype).reduce(reduce);
            assert!(report(&right, &config).ok(), "{dtype} {reduce}");
            let mut missing = right.clone();
            missing.ranks[1].threads[0].remove(last);
            let missing = report(&missing, &config);
            assert!(missing.mismatches.first.iter().all(|mismatch| mismatch.rank == 1));
            assert!(missing.mismatches.count > 5, "{dtype} {reduce}: {}", missing.mismatches.count);
            let mut doubled = right.clone();
            doubled.ranks[1].threads[0][last] = doubled.ranks[1].threads[0][first];
            assert!(report(&doubled, &config).mismatches.count > 5, "{dtype} {reduce}");
        }
    }
}

#[test]
fn a_mismatch_names_the_chunk_and_the_round() {
    // Rank 0 puts slot 1 where slot 2 belongs.
    let mut program = pull(Operator::AllGather, shape(3), 2);
    for op in &mut program.ranks[0].threads[0] {
        if let OpKind::Read(peer @ 2, moved) = &mut op.kind
            && moved.dst.chunk == 5
        {
            *peer = 1;
        }
    }
    let report = report(&program, &Config::new(1000, DataType::Int64).hccl_buffer(6 * 1024));
    // Rounds of 256 elements, and chunks of 128.
    assert_eq!((report.rounds, report.mismatches.count), (4, 3 * 128 + 104));
    let first = &report.mismatches.first[0];
    assert_eq!((first.rank, first.slot, first.element, first.chunk, first.round), (0, 2, 128, 5, 0));
    let text = first.to_string();
    assert!(text.starts_with("element 128 of output slot 2 on rank 0 must be "), "{text}");
    assert!(text.ends_with("(output[5], round 0, invocation 0)"), "{text}");
}

#[test]
fn overlapping_ends_are_reported_and_equal_ones_are_not() {
    let mut program = empty("overlap", Operator::AllGather, shape(1), 1, 3);
    let copy = |dst, src, len| OpKind::LocalCopy(transfer((Buffer::Scratch, dst), (Buffer::Scratch, src), len, 0));
    At(&mut program, 0, 0).op(3, copy(0, 0, 2)).op(4, copy(1, 0, 2));
    let report = report(&program, &Config::new(128, DataType::Int8));
    assert_eq!(report.overlaps.count, 1);
    assert_eq!(report.overlaps.first[0].at.unwrap().line, 4);
    assert!(codes(&report).contains(&Code::H303));
}

#[test]
fn in_place_breaks_what_reads_input_after_output_was_written() {
    // out[k] = input of rank 0, and only then is the own input added: right, unless they are the same memory.
    let mut program = empty("late", Operator::AllReduce, shape(2), 1, 1);
    for rank in 0..2 {
        let peer = 1 - rank;
        let mut main = At(&mut program, rank, 0);
        main.op(3, OpKind::LocalCopy(transfer((Buffer::Scratch, 0), (Buffer::Input, 0), 1, 0)));
        main.signal(4, peer, READY).wait(4, peer, READY);
        main.op(5, OpKind::Read(peer, transfer((Buffer::Output, 0), (Buffer::Scratch, 0), 1, 0)));
        main.op(6, OpKind::LocalReduce(transfer((Buffer::Output, 0), (Buffer::Input, 0), 1, 0)));
        main.signal(7, peer, DONE).wait(7, peer, DONE);
    }
    let config = Config::new(100, DataType::Int32).repeat(2);
    assert!(report(&program, &config).ok());
    assert_eq!(codes(&report(&program, &config.in_place(true))), [Code::H302]);
}
