//! The checks answer for any program, and one that they pass runs: no hang, no lost record, the right bytes.
//!
//! The input is a program of the library with its numbers changed, so that most inputs get past the first check.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use hcomm_core::check;
use hcomm_core::dtype::DataType;
use hcomm_core::ids::SpanId;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::{Cell, Op, OpKind, Program, RankProgram, Transfer};
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::{Config, Schedule};
use libfuzzer_sys::fuzz_target;

/// A small number, now and then a large one.
fn number(u: &mut Unstructured<'_>, below: u32) -> arbitrary::Result<u32> {
    if u.ratio(1, 64)? { u32::arbitrary(u) } else { u.int_in_range(0..=below) }
}

fn cell(u: &mut Unstructured<'_>) -> arbitrary::Result<Cell> {
    Ok(Cell { buffer: *u.choose(&Buffer::ALL)?, chunk: number(u, 4)? })
}

fn op(u: &mut Unstructured<'_>, ranks: u32) -> arbitrary::Result<Op> {
    let peer = number(u, ranks)?;
    let notify = number(u, 2)?;
    let len = if u.ratio(1, 8)? { number(u, 4)? } else { 1 };
    let transfer = Transfer { dst: cell(u)?, src: cell(u)?, len, class: if u.ratio(1, 8)? { number(u, 3)? } else { 0 } };
    let kind = match u.int_in_range(0..=11)? {
        0 => OpKind::LocalCopy(transfer),
        1 => OpKind::LocalReduce(transfer),
        2 => OpKind::Write(peer, transfer),
        3 => OpKind::Read(peer, transfer),
        4 => OpKind::WriteReduce(peer, transfer),
        5 => OpKind::ReadReduce(peer, transfer),
        6 => OpKind::WriteWithNotify(peer, transfer, notify),
        7 => OpKind::WriteReduceWithNotify(peer, transfer, notify),
        8 => OpKind::ThreadNotifyRecord { thread: number(u, 2)?, notify },
        9 => OpKind::ThreadNotifyWait { notify },
        10 => OpKind::ChannelNotifyRecord { peer, notify },
        _ => OpKind::ChannelNotifyWait { peer, notify },
    };
    Ok(Op { kind, at: SpanId(number(u, 8)?) })
}

fn program(u: &mut Unstructured<'_>) -> arbitrary::Result<Program> {
    let ranks = u.int_in_range(1..=4)?;
    let layout = Layout::flat(ranks).unwrap_or_else(|| unreachable!("between 1 and 4 ranks"));
    let mut shape = Shape::new(layout);
    shape.root = u.int_in_range(0..=ranks - 1)?;
    let mut rank_programs = Vec::new();
    for _ in 0..ranks {
        let mut threads = Vec::new();
        for _ in 0..u.int_in_range(1..=2)? {
            let mut ops = Vec::new();
            for _ in 0..u.int_in_range(0..=8)? {
                ops.push(op(u, ranks)?);
            }
            threads.push(ops);
        }
        rank_programs.push(RankProgram { threads });
    }
    Ok(Program {
        algorithm: "fuzz".into(),
        operator: *u.choose(&Operator::ALL)?,
        shape,
        split: u.int_in_range(1..=3)?,
        scratch: number(u, 4)?.min(1 << 20),
        deterministic: bool::arbitrary(u)?,
        symmetric: bool::arbitrary(u)?,
        notifies: vec!["ready".into(), "done".into()],
        source: Default::default(),
        ranks: rank_programs,
    })
}

fuzz_target!(|data: &[u8]| {
    let Ok(program) = program(&mut Unstructured::new(data)) else { return };
    let found = check::check(&program);
    if !found.is_empty() {
        return;
    }
    for seed in 0..3 {
        // One smallest cell a chunk, so that there are several.
        let buffer = 128 * u64::from(program.scratch);
        let config = Config::new(70, DataType::Int32).hccl_buffer(buffer).repeat(2).schedule(Schedule::Random { seed });
        match hcomm_sim::run(&program, &config) {
            Ok(report) => assert!(report.ok(), "the checks pass what goes wrong: {report}\n{program}"),
            Err(error) => panic!("the checks pass what cannot be run: {error}\n{program}"),
        }
    }
});
