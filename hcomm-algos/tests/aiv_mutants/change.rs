//! What is changed in a program of blocks.

use hcomm_core::aiv::{Flag, Op, OpKind, Parts, Program};

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
pub(crate) fn mutants(program: &Program) -> Vec<(String, Program)> {
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
