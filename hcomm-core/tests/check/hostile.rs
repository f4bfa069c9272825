//! Programs from nowhere: any numbers at all. The checks answer, and do not panic.

use hcomm_core::check::report;
use hcomm_core::ids::SpanId;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::{Cell, Op, OpKind, Program, RankProgram, Source, Transfer};
use hcomm_core::shape::{Layout, Shape};
use proptest::collection::vec;
use proptest::prelude::*;

/// Mostly small, now and then anything.
fn number(below: u32) -> impl Strategy<Value = u32> {
    prop_oneof![20 => 0..below, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

fn cell() -> impl Strategy<Value = Cell> {
    (0..3usize, number(4)).prop_map(|(buffer, chunk)| Cell { buffer: Buffer::ALL[buffer], chunk })
}

fn transfer() -> impl Strategy<Value = Transfer> {
    (cell(), cell(), prop_oneof![10 => 1..3u32, 1 => any::<u32>()], number(2))
        .prop_map(|(dst, src, len, class)| Transfer { dst, src, len, class })
}

fn op() -> impl Strategy<Value = Op> {
    let kind =
        (0..12, number(3), transfer(), number(2), number(2)).prop_map(|(kind, peer, transfer, notify, thread)| {
            match kind {
                0 => OpKind::LocalCopy(transfer),
                1 => OpKind::LocalReduce(transfer),
                2 => OpKind::Write(peer, transfer),
                3 => OpKind::Read(peer, transfer),
                4 => OpKind::WriteReduce(peer, transfer),
                5 => OpKind::ReadReduce(peer, transfer),
                6 => OpKind::WriteWithNotify(peer, transfer, notify),
                7 => OpKind::WriteReduceWithNotify(peer, transfer, notify),
                8 => OpKind::ThreadNotifyRecord { thread, notify },
                9 => OpKind::ThreadNotifyWait { notify },
                10 => OpKind::ChannelNotifyRecord { peer, notify },
                _ => OpKind::ChannelNotifyWait { peer, notify },
            }
        });
    (kind, number(4)).prop_map(|(kind, at)| Op { kind, at: SpanId(at) })
}

fn program() -> impl Strategy<Value = Program> {
    let shape = (1..4u32, number(4), number(4), number(4));
    let queues = vec(vec(vec(op(), 0..5), 0..3), 1..4);
    (0..Operator::ALL.len(), shape, number(4), number(6), any::<bool>(), queues).prop_map(
        |(operator, (ranks, root, src, dst), split, scratch, deterministic, queues)| Program {
            algorithm: "hostile".into(),
            operator: Operator::ALL[operator],
            shape: Shape { layout: Layout::flat(ranks).unwrap(), root, src, dst },
            split,
            scratch,
            deterministic,
            symmetric: false,
            notifies: vec!["ready".into(), "done".into()],
            source: Source::default(),
            ranks: queues.into_iter().map(|threads| RankProgram { threads }).collect(),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_program_gets_an_answer(mut program in program(), symmetric: bool) {
        program.symmetric = symmetric;
        let report = report(&program);
        prop_assert!(report.diagnostics.len() <= 64);
        prop_assert!(report.diagnostics.iter().all(|fault| !fault.message.is_empty()));
    }
}
