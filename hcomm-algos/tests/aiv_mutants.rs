//! Mutants of correct AIV programs: what the simulator shows to misbehave, the checks must reject.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use hcomm_algos::LIBRARY;
use hcomm_core::aiv::{self, Flag, Op, OpKind, Options, Parts, Program};
use hcomm_core::dtype::DataType;
use hcomm_core::instance::instantiate;
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::{Config, RunError, Schedule};

/// One change to one operation, or to every operation of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Drop,
    Twice,
    SwapWithNext,
    ShiftDst,
    ShiftSrc,
    OtherEnd,
    OtherPart,
    NotPadded,
    OtherPeer,
    OtherNotify,
    NextStep,
    ToSetAtomic,
    ToOtherBlock,
}

const CHANGES: [Change; 13] = [
    Change::Drop,
    Change::Twice,
    Change::SwapWithNext,
    Change::ShiftDst,
    Change::ShiftSrc,
    Change::OtherEnd,
    Change::OtherPart,
    Change::NotPadded,
    Change::OtherPeer,
    Change::OtherNotify,
    Change::NextStep,
    Change::ToSetAtomic,
    Change::ToOtherBlock,
];

/// The operation after the change; the same if the change means nothing to it.
fn changed(op: Op, program: &Program, rank: u32, change: Change) -> Op {
    let ranks = program.num_ranks();
    let mut op = op;
    let flag = |flag: &mut Flag| match change {
        Change::OtherPart => flag.part = (flag.part + 1) % program.flag_parts(),
        Change::OtherPeer => {
            flag.peer = (flag.peer + 1) % ranks;
            if flag.peer == rank {
                flag.peer = (flag.peer + 1) % ranks;
            }
        }
        Change::OtherNotify => flag.notify = (flag.notify + 1) % program.frame.notifies.len() as u32,
        Change::NextStep => flag.step += 1,
        _ => {}
    };
    match &mut op.kind {
        OpKind::Record(one) | OpKind::Wait(one) => flag(one),
        OpKind::Copy(copy) => match change {
            Change::ShiftDst => copy.dst.cell.chunk += 1,
            Change::ShiftSrc => copy.src.cell.chunk += 1,
            Change::OtherEnd if copy.dst.rank != rank => copy.dst.rank = rank,
            Change::OtherEnd if copy.src.rank != rank => copy.src.rank = rank,
            Change::OtherPart => {
                let others = |part: Parts| Parts { first: (part.first + 1) % (program.parts - part.len + 1), ..part };
                copy.part = copy.part.map(others);
            }
            Change::NotPadded => copy.padded = false,
            _ => {}
        },
        OpKind::SetAtomicNone if change == Change::ToSetAtomic => op.kind = OpKind::SetAtomic,
        _ => {}
    }
    op
}

/// The block after the change at `at`, and what goes to another block.
fn block(ops: &[Op], at: usize, program: &Program, rank: u32, change: Change) -> (Vec<Op>, Option<Op>) {
    let (mut after, mut moved) = (ops.to_vec(), None);
    match change {
        Change::Drop => {
            after.remove(at);
        }
        Change::Twice => after.insert(at, ops[at]),
        Change::SwapWithNext if at + 1 < ops.len() => after.swap(at, at + 1),
        Change::SwapWithNext => {}
        Change::ToOtherBlock => moved = Some(after.remove(at)),
        _ => after[at] = changed(ops[at], program, rank, change),
    }
    (after, moved)
}

/// Every change at every operation.
fn mutants(program: &Program) -> Vec<(String, Program)> {
    let mut all = Vec::new();
    for change in CHANGES {
        for (rank, blocks) in program.ranks.iter().enumerate() {
            for (number, ops) in blocks.blocks.iter().enumerate() {
                for at in 0..ops.len() {
                    let mut mutant = program.clone();
                    let (after, moved) = block(ops, at, program, rank as u32, change);
                    mutant.ranks[rank].blocks[number] = after;
                    if let Some(op) = moved {
                        let other = (number + 1) % blocks.blocks.len();
                        mutant.ranks[rank].blocks[other].push(op);
                    }
                    if mutant != *program {
                        all.push((
                            format!("{change:?} at rank {rank} block {number} op {at}: {:?}", ops[at].kind),
                            mutant,
                        ));
                    }
                }
            }
        }
    }
    // One kind of operation everywhere.
    for (name, kind) in [("PipeBarrier", OpKind::PipeBarrier), ("SyncAll", OpKind::SyncAll)] {
        let mut mutant = program.clone();
        let blocks = mutant.ranks.iter_mut().flat_map(|rank| &mut rank.blocks);
        blocks.for_each(|ops| ops.retain(|op| op.kind != kind));
        if mutant != *program {
            all.push((format!("no {name} at all"), mutant));
        }
    }
    all
}

#[derive(Debug, Default)]
struct Tally {
    mutants: u32,
    /// Shown to misbehave, and rejected.
    harmful: u32,
    /// Never seen to misbehave, and accepted.
    harmless: u32,
    /// Rejected, and not seen to misbehave in the few executions that are tried.
    unshown: u32,
    /// That no simulator would run, and rejected.
    malformed: u32,
}

/// What an execution shows to be wrong; nothing if it does not.
fn misbehaves(program: &Program) -> Result<Option<String>, RunError> {
    let config = Config::new(37, DataType::Int32).repeat(3);
    // Cells of 128 bytes: two launches.
    let config = config.hccl_buffer(128 * u64::from(program.frame.scratch.max(1)));
    let schedules = std::iter::once(Schedule::Fifo).chain((0..6).map(|seed| Schedule::Random { seed }));
    for schedule in schedules {
        let report = hcomm_sim::aiv::run(program, &config.clone().schedule(schedule))?;
        if !report.ok() {
            return Ok(Some(format!("{schedule:?}: {report}")));
        }
    }
    Ok(None)
}

fn compare(name: &str, ranks: u32, blocks: Option<u32>) -> Tally {
    let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
    let instance = instantiate(spec, &Shape::new(Layout::flat(ranks).unwrap())).unwrap();
    let blocks = blocks.unwrap_or_else(|| aiv::default_blocks(aiv::lanes(&instance)));
    let program = aiv::lower(&instance, blocks).unwrap();
    assert_eq!(aiv::check(&program, &Options::default()), []);
    assert_eq!(misbehaves(&program).unwrap(), None);
    let mut tally = Tally::default();
    let mut missed: BTreeMap<String, String> = BTreeMap::new();
    for (change, mutant) in mutants(&program) {
        tally.mutants += 1;
        let found = aiv::check(&mutant, &Options::default());
        match (misbehaves(&mutant), found.is_empty()) {
            (Ok(Some(_)), false) => tally.harmful += 1,
            (Ok(None), true) => tally.harmless += 1,
            (Ok(None), false) => tally.unshown += 1,
            (Err(_), false) => tally.malformed += 1,
            (Ok(Some(how)), true) => {
                missed.insert(change, how);
            }
            (Err(error), true) => {
                missed.insert(change, error.to_string());
            }
        }
    }
    assert!(missed.is_empty(), "{name} on {blocks} blocks: {tally:?} {missed:#?}\n{program}");
    assert!(tally.harmful > tally.unshown / 4, "{name}: few of the rejected are shown to misbehave: {tally:?}");
    tally
}

#[test]
fn mutants_that_misbehave_are_rejected() {
    let mut all = Vec::new();
    for name in ["mesh_all_gather", "ring_all_gather", "one_shot_all_reduce", "ring_all_reduce", "write_send_recv"] {
        for blocks in [None, Some(1), Some(2)] {
            all.push((name, blocks, compare(name, 2, blocks)));
        }
    }
    for (name, ranks, blocks) in [
        ("mesh_all_gather", 3, None),
        ("two_shot_all_reduce", 3, None),
        ("mesh_all_gather", 2, Some(3)),
        ("nhr_all_gather", 3, Some(2)),
        ("mesh_reduce", 3, None),
    ] {
        all.push((name, blocks, compare(name, ranks, blocks)));
    }
    assert!(all.iter().map(|(_, _, tally)| tally.harmless).sum::<u32>() > 0);
    assert!(all.iter().all(|(_, _, tally)| tally.harmful > 0), "{all:?}");
}

/// What changes nothing is not rejected.
#[test]
fn barriers_and_modes_that_come_twice_are_accepted() {
    for name in ["mesh_all_gather", "one_shot_all_reduce"] {
        let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
        let instance = instantiate(spec, &Shape::new(Layout::flat(3).unwrap())).unwrap();
        let mut program = aiv::lower_default(&instance).unwrap();
        for ops in program.ranks.iter_mut().flat_map(|rank| &mut rank.blocks) {
            let twice = |op: &Op| {
                let again = !matches!(op.kind, OpKind::Copy(_) | OpKind::Record(_) | OpKind::Wait(_));
                std::iter::repeat_n(*op, 1 + usize::from(again))
            };
            *ops = ops.iter().flat_map(twice).collect();
        }
        assert_eq!(aiv::check(&program, &Options::default()), [], "{program}");
        assert_eq!(misbehaves(&program).unwrap(), None);
    }
}
