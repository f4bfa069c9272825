//! Programs from a hostile file: an error that says which operation, or a report; never a panic, a hang or more memory
//! than allowed.

use crate::support::*;
use hcomm_core::dtype::DataType;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::{OpKind, Program, RankProgram};
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::{Config, Fifo, OperationFault, ProgramFault, RunError, Schedule, Scheduler, run, run_with};
use proptest::prelude::*;

use Buffer::{Input, Output, Scratch};

fn one_op(kind: OpKind) -> Program {
    let mut program = empty("hostile", Operator::AllGather, shape(2), 2, 4);
    At(&mut program, 1, 0).op(12, kind);
    program
}

/// The fault of operation 0 of rank 1.
fn fault(kind: OpKind) -> (OperationFault, String) {
    let error = run(&one_op(kind), &Config::default()).unwrap_err();
    let text = error.to_string();
    match error {
        RunError::Operation { operation, fault } => {
            assert_eq!((operation.rank, operation.op, operation.at.unwrap().line), (1, 0, 12));
            assert!(text.starts_with("rank 1 thread 0 operation 0 ("), "{text}");
            (fault, text)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn operations_that_name_what_does_not_exist() {
    let copy = |dst, src, len, class| OpKind::LocalCopy(transfer(dst, src, len, class));
    let fine = transfer((Scratch, 0), (Input, 0), 1, 0);
    assert!(run(&one_op(OpKind::LocalCopy(fine)), &Config::default()).is_ok());
    let chunks = |rank, buffer, chunk, len, chunks| OperationFault::Chunks { rank, buffer, chunk, len, chunks };
    for (kind, expected) in [
        (copy((Scratch, 3), (Input, 0), 2, 0), chunks(1, Scratch, 3, 2, 4)),
        (copy((Scratch, 0), (Input, 0), 3, 0), chunks(1, Input, 0, 3, 2)),
        (copy((Output, 4), (Scratch, 0), 1, 0), chunks(1, Output, 4, 1, 4)),
        (copy((Scratch, u32::MAX), (Scratch, 0), u32::MAX, 0), chunks(1, Scratch, u32::MAX, u32::MAX, 4)),
        (copy((Scratch, 0), (Scratch, 0), 0, 0), chunks(1, Scratch, 0, 0, 4)),
        (copy((Scratch, 0), (Scratch, 0), 1, 2), OperationFault::Class { class: 2, classes: 2 }),
        (
            copy((Output, 1), (Scratch, 0), 1, 0),
            OperationFault::ClassOfChunk { buffer: Output, chunk: 1, expected: 1, class: 0 },
        ),
        (copy((Input, 0), (Scratch, 0), 1, 0), OperationFault::WritesInput),
        (OpKind::Write(2, fine), OperationFault::Peer { peer: 2, ranks: 2 }),
        (OpKind::Read(1, fine), OperationFault::SelfPeer),
        (OpKind::WriteWithNotify(0, fine, 2), OperationFault::Notify { notify: 2, notifies: 2 }),
        (OpKind::ChannelNotifyRecord { peer: 0, notify: 7 }, OperationFault::Notify { notify: 7, notifies: 2 }),
        (OpKind::ChannelNotifyWait { peer: 9, notify: 0 }, OperationFault::Peer { peer: 9, ranks: 2 }),
        (OpKind::ThreadNotifyRecord { thread: 1, notify: 0 }, OperationFault::Thread { thread: 1, threads: 1 }),
    ] {
        assert_eq!(fault(kind).0, expected);
    }
    let text = fault(copy((Scratch, 3), (Input, 0), 2, 0)).1;
    assert_eq!(
        text,
        "rank 1 thread 0 operation 0 (LocalCopy, line 12): scratch of rank 1 has 4 chunks, and 2 from chunk 3 on are not in it"
    );
}

#[test]
fn programs_that_contradict_themselves() {
    let fault = |program: Program| match run(&program, &Config::default()).unwrap_err() {
        RunError::Program { fault, .. } => fault,
        other => panic!("{other}"),
    };
    let program = mesh_all_gather(2);
    let mut short = program.clone();
    short.ranks.pop();
    assert_eq!(fault(short), ProgramFault::Ranks { have: 1, ranks: 2 });
    let mut threadless = program.clone();
    threadless.ranks[1] = RankProgram::default();
    assert_eq!(fault(threadless), ProgramFault::NoThread { rank: 1 });
    let mut splitless = program.clone();
    splitless.split = 0;
    assert_eq!(fault(splitless), ProgramFault::Split);
    let mut rootless = program;
    rootless.shape.root = 2;
    assert_eq!(fault(rootless), ProgramFault::Role { role: "root", rank: 2, ranks: 2 });
}

#[test]
fn spans_that_do_not_exist_are_left_out() {
    let mut program = one_op(OpKind::ChannelNotifyWait { peer: 0, notify: 0 });
    program.source.spans.clear();
    let hang = run(&program, &Config::default()).unwrap().hang.unwrap();
    assert_eq!(hang.waiting[0].place.at, None);
    assert!(hang.to_string().contains("(operation 0)"));
}

#[test]
fn limits_are_kept() {
    let program = mesh_all_gather(2);
    let error = run(&program, &Config::default().repeat(u64::MAX)).unwrap_err();
    assert!(matches!(error, RunError::Operations { .. }), "{error}");
    let config = Config::new(1 << 30, DataType::Int8).hccl_buffer(256).operation_limit(100_000_000);
    let error = run(&program, &config).unwrap_err();
    assert!(matches!(error, RunError::Operations { .. }), "{error}");
    // No operations at all, but rounds and invocations without end.
    let nothing = empty("nothing", Operator::AllGather, shape(2), 1, 1);
    assert!(run(&nothing, &Config::default().repeat(1 << 40)).is_err());
    // Many chunks in one operation.
    let mut chunks = empty("chunks", Operator::AllGather, shape(2), u32::MAX, 0);
    for line in 1..10 {
        let all = transfer((Output, 0), (Input, 0), u32::MAX, 0);
        At(&mut chunks, 0, 0).op(line, OpKind::LocalCopy(all));
    }
    assert!(matches!(run(&chunks, &Config::default()).unwrap_err(), RunError::Operations { .. }));
    let too_many_cells = empty("cells", Operator::AllGather, shape(2), 1, u32::MAX);
    assert!(matches!(run(&too_many_cells, &Config::default()).unwrap_err(), RunError::Size(_)));
    // 64 ranks of reductions of 1 GB.
    let error = run(&ring_all_reduce(64), &Config::new(1 << 28, DataType::Fp32)).unwrap_err();
    assert!(matches!(error, RunError::Memory { need, .. } if need > 8 << 30), "{error}");
}

#[test]
fn results_that_are_pinned_elsewhere_count() {
    // One cell is reduced into again and again, and what it was is kept in the output: more than the estimate knows.
    let mut program = empty("pinned", Operator::AllReduce, shape(1), 64, 1);
    let mut main = At(&mut program, 0, 0);
    main.op(1, OpKind::LocalCopy(transfer((Scratch, 0), (Input, 0), 1, 0)));
    for chunk in 0..64 {
        main.op(2, OpKind::LocalReduce(transfer((Scratch, 0), (Input, chunk), 1, chunk)));
        main.op(3, OpKind::LocalCopy(transfer((Output, chunk), (Scratch, 0), 1, chunk)));
    }
    let config = Config::new(64 * 1024, DataType::Int8);
    assert!(run(&program, &config.clone().memory_limit(64 * 1200 + 1024)).is_ok());
    let error = run(&program, &config.memory_limit(10 * 1200)).unwrap_err();
    assert!(matches!(error, RunError::Memory { limit: 12_000, .. }), "{error}");
}

#[test]
fn ranks_that_run_far_ahead_are_compared_all_the_same() {
    // Nobody waits for anybody: rank 0 ends its last invocation before rank 1 begins.
    let mut program = empty("ahead", Operator::AllReduce, shape(2), 1, 0);
    for rank in 0..2 {
        At(&mut program, rank, 0).op(1, OpKind::LocalCopy(transfer((Output, 0), (Input, 0), 1, 0)));
    }
    let report = run(&program, &Config::new(3, DataType::Int64).repeat(20_000)).unwrap();
    assert_eq!((report.bytes_checked, report.mismatches.count), (2 * 3 * 8 * 20_000, 2 * 3 * 20_000));
}

#[test]
fn schedulers_that_break_their_contract() {
    /// Hands out what it likes.
    struct Bad(Vec<Option<u32>>);
    impl Scheduler for Bad {
        fn ready(&mut self, _: u32) {}
        fn next(&mut self) -> Option<u32> {
            self.0.pop().flatten()
        }
        fn runs_until_blocked(&self) -> bool {
            false
        }
    }
    for chosen in [None, Some(99), Some(u32::MAX)] {
        let error = run_with(&circle(), &Config::default(), &mut Bad(vec![chosen]), &mut |_| {}).unwrap_err();
        assert_eq!(error, RunError::Scheduler { chosen });
    }
    // A thread that is blocked.
    let error = run_with(&circle(), &Config::default(), &mut Bad(vec![Some(0), Some(0)]), &mut |_| {}).unwrap_err();
    assert_eq!(error, RunError::Scheduler { chosen: Some(0) });
    assert!(run_with(&circle(), &Config::default(), &mut Fifo::default(), &mut |_| {}).unwrap().hang.is_some());
}

fn circle() -> Program {
    let mut program = empty("circle", Operator::Barrier, shape(2), 1, 0);
    At(&mut program, 0, 0).wait(1, 1, READY).signal(1, 1, READY);
    At(&mut program, 1, 0).wait(1, 0, READY).signal(1, 0, READY);
    program
}

/// A number that is mostly small.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![20 => 0u32..5, 1 => any::<u32>()]
}

fn any_op() -> impl Strategy<Value = OpKind> {
    let buffer = prop_oneof![Just(Input), Just(Output), Just(Scratch), Just(Scratch)];
    let moved = (buffer.clone(), number(), buffer, number(), number(), number())
        .prop_map(|(dst, to, src, from, len, class)| transfer((dst, to), (src, from), len, class));
    (0..13, number(), number(), moved).prop_map(|(kind, peer, notify, moved)| match kind {
        0 | 1 => OpKind::LocalCopy(moved),
        2 => OpKind::LocalReduce(moved),
        3 => OpKind::Write(peer, moved),
        4 => OpKind::Read(peer, moved),
        5 => OpKind::WriteReduce(peer, moved),
        6 => OpKind::ReadReduce(peer, moved),
        7 => OpKind::WriteWithNotify(peer, moved, notify),
        8 => OpKind::WriteReduceWithNotify(peer, moved, notify),
        9 => OpKind::ThreadNotifyRecord { thread: peer, notify },
        10 => OpKind::ThreadNotifyWait { notify },
        11 => OpKind::ChannelNotifyRecord { peer, notify },
        _ => OpKind::ChannelNotifyWait { peer, notify },
    })
}

fn any_program() -> impl Strategy<Value = Program> {
    let thread = prop::collection::vec(any_op(), 0..8);
    let rank = prop::collection::vec(thread, 1..4);
    let layouts = prop_oneof![Just(Layout::flat(3).unwrap()), Just(Layout::unequal(&[2, 1]).unwrap())];
    (0..Operator::ALL.len(), layouts, 1u32..4, 0u32..8, prop::collection::vec(rank, 3)).prop_map(
        |(operator, layout, split, scratch, ranks)| {
            let mut program = empty("any", Operator::ALL[operator], Shape::new(layout), split, scratch);
            program.ranks = Vec::new();
            for threads in ranks {
                program.ranks.push(RankProgram { threads: vec![Vec::new(); threads.len()] });
                let rank = program.ranks.len() as u32 - 1;
                for (thread, ops) in (0..).zip(threads) {
                    for kind in ops {
                        At(&mut program, rank, thread).op(1, kind);
                    }
                }
            }
            program
        },
    )
}

/// Drops the operations that are not well-formed, one by one.
fn repaired(mut program: Program) -> Program {
    while let Err(RunError::Operation { operation, .. }) = run(&program, &Config::new(1, DataType::Int8)) {
        program.ranks[operation.rank as usize].threads[operation.thread as usize].remove(operation.op);
    }
    program
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_program_ends(
        program in any_program(),
        repair in prop::bool::weighted(0.8),
        (count, in_place, seed) in (0u64..600, any::<bool>(), any::<u64>()),
        dtype in 0..DataType::ALL.len(),
    ) {
        let program = if repair { repaired(program) } else { program };
        let config = Config::new(count, DataType::ALL[dtype]).hccl_buffer(2048).repeat(3).in_place(in_place).seed(seed);
        for schedule in [Schedule::Fifo, Schedule::Random { seed }] {
            match run(&program, &config.clone().schedule(schedule)) {
                Ok(report) => {
                    // It holds exactly if there is nothing to say.
                    prop_assert_eq!(report.ok(), report.diagnostics().is_empty());
                    prop_assert!(!report.to_string().is_empty());
                    if let Some(hang) = &report.hang {
                        prop_assert!(!hang.waiting.is_empty());
                        prop_assert!(!hang.to_string().is_empty());
                        for wait in &hang.waiting {
                            prop_assert!(wait.place.name.ends_with("Wait"));
                        }
                    } else {
                        let slots: u32 = (0..3).map(|rank| program.operator.output_slots(&program.shape, rank)).sum();
                        let bytes = u64::from(slots) * count * u64::from(config.dtype.size()) * 3;
                        prop_assert_eq!(report.bytes_checked, bytes);
                    }
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
