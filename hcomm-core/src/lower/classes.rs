//! Which length class a cell of scratch holds when an operation reads it.
//!
//! A chunk of `input` or `output` has its class from its place; what is copied into a cell brings its class along.
//! So the classes follow from an execution in any order that the program allows. A run of chunks whose classes do not
//! follow one another is cut.

use crate::operator::Buffer;
use crate::order;
use crate::program::{Cell, Op, OpKind, Program, Transfer};

/// The class of a cell that nothing was copied to.
const UNKNOWN: u32 = u32::MAX;

/// Sets the class of every transfer, and cuts those whose chunks do not have consecutive classes.
pub(super) fn assign(program: &mut Program) {
    let classes = program.classes();
    if classes == 1 {
        return;
    }
    let mut cells: Vec<Vec<u32>> = vec![vec![UNKNOWN; program.scratch as usize]; program.ranks.len()];
    // By rank and thread, and for each of its transfers in order: a program may have millions, and is not made twice.
    let mut found: Vec<Vec<Found>> =
        program.ranks.iter().map(|rank| rank.threads.iter().map(|_| Found::default()).collect()).collect();
    order::visit(program, |rank, thread, op| {
        let (Some(transfer), Some((to, from))) = (op.kind.transfer(), op.kind.sides(rank)) else { return };
        let found = &mut found[rank as usize][thread as usize];
        let class_of = |cells: &[Vec<u32>], owner: u32, cell: Cell, j: u32| match cell.buffer {
            Buffer::Scratch => cells[owner as usize][(cell.chunk + j) as usize],
            buffer => program.class_of(buffer, owner, cell.chunk + j),
        };
        let mut j = 0;
        while j < transfer.len {
            let start = j;
            let mut first = class_of(&cells, from, transfer.src, j);
            if first == UNKNOWN {
                first = class_of(&cells, to, transfer.dst, j); // an uninitialised read: as long as where it goes
            }
            let first = if first == UNKNOWN { 0 } else { first };
            let mut class = first;
            loop {
                if transfer.dst.buffer == Buffer::Scratch && !op.kind.reduces() {
                    cells[to as usize][(transfer.dst.chunk + j) as usize] = class;
                }
                j += 1;
                class = (class + 1) % classes;
                if j == transfer.len || class_of(&cells, from, transfer.src, j) != class {
                    break;
                }
            }
            let cell = |side: Cell| Cell { chunk: side.chunk + start, ..side };
            if start == 0 {
                found.classes.push(first);
            }
            if start > 0 || j < transfer.len {
                let part = Transfer { dst: cell(transfer.dst), src: cell(transfer.src), len: j - start, class: first };
                found.parts.push((found.classes.len() - 1, part));
            }
        }
    });
    for (rank, found) in program.ranks.iter_mut().zip(found) {
        for (ops, found) in rank.threads.iter_mut().zip(found) {
            found.apply(ops);
        }
    }
}

/// What was found out about the transfers of a thread.
#[derive(Default)]
struct Found {
    /// The class of each.
    classes: Vec<u32>,
    /// Of those that are cut, the parts, each with the number of its transfer.
    parts: Vec<(usize, Transfer)>,
}

impl Found {
    fn apply(self, ops: &mut Vec<Op>) {
        let mut classes = self.classes.into_iter();
        if self.parts.is_empty() {
            for op in ops.iter_mut() {
                if let Some(transfer) = op.kind.transfer()
                    && let Some(class) = classes.next()
                {
                    op.kind = with_transfer(&op.kind, Transfer { class, ..*transfer });
                }
            }
            return;
        }
        let mut parts = self.parts.into_iter().peekable();
        let mut number = 0;
        let old = std::mem::take(ops);
        ops.reserve_exact(old.len() + parts.len());
        for op in old {
            let (Some(transfer), Some(class)) =
                (op.kind.transfer().copied(), op.kind.transfer().and_then(|_| classes.next()))
            else {
                ops.push(op);
                continue;
            };
            let mut is_whole = true;
            while let Some((_, part)) = parts.next_if(|(of, _)| *of == number) {
                ops.push(Op { kind: with_transfer(&op.kind, part), at: op.at });
                is_whole = false;
            }
            if is_whole {
                ops.push(Op { kind: with_transfer(&op.kind, Transfer { class, ..transfer }), at: op.at });
            }
            number += 1;
        }
    }
}

/// The same operation on another run. No fused operation comes here: fusing is a later pass.
fn with_transfer(kind: &OpKind, transfer: Transfer) -> OpKind {
    match kind {
        OpKind::LocalCopy(_) => OpKind::LocalCopy(transfer),
        OpKind::LocalReduce(_) => OpKind::LocalReduce(transfer),
        OpKind::Write(peer, _) => OpKind::Write(*peer, transfer),
        OpKind::Read(peer, _) => OpKind::Read(*peer, transfer),
        OpKind::WriteReduce(peer, _) => OpKind::WriteReduce(*peer, transfer),
        OpKind::ReadReduce(peer, _) => OpKind::ReadReduce(*peer, transfer),
        OpKind::WriteWithNotify(peer, _, notify) => OpKind::WriteWithNotify(*peer, transfer, *notify),
        OpKind::WriteReduceWithNotify(peer, _, notify) => OpKind::WriteReduceWithNotify(*peer, transfer, *notify),
        other => *other,
    }
}
