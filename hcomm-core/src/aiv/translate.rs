//! An AIV program as a program of threads and one-bit notifies, which is what the checks are for.
//!
//! * A block is a thread. A launch begins and ends with all blocks of a rank: the main thread forks and joins the others.
//! * A flag that is given a new value for every use and compared for equality is as good as a bit that a wait clears:
//!   [`flags`](super::flags) shows that values are new and that the k-th wait is for the k-th record's. Then a record
//!   that comes before the wait has seen the last value loses that, just as one of a notify that is still set.
//! * `SyncAll` is a record of every block to the main one, and of that one to every other.
//! * A part of a chunk is a chunk: a slot has `parts` times as many, and part j of chunk c is chunk c · parts + j.

use super::program::{Copy, Flag, Op, OpKind, Program};
use crate::ids::SpanId;
use crate::program::{self, Cell, RankProgram, Transfer};

/// The program of threads that does the same. `program` is one that the structure checks found nothing wrong with.
pub fn translate(program: &Program) -> program::Program {
    let (frame, parts) = (&program.frame, program.parts.max(1));
    let flag_parts = program.flag_parts();
    let named = |name: &String| -> Vec<String> {
        match flag_parts {
            1 => vec![name.clone()],
            _ => (0..flag_parts).map(|part| format!("{name} (part {part})")).collect(),
        }
    };
    let classes = frame.classes();
    let rank = |(rank, blocks): (u32, &super::program::Rank)| {
        let number = blocks.blocks.len() as u32;
        let thread = |(block, ops): (u32, &Vec<Op>)| {
            let atomic = false;
            let mut thread =
                Thread { rank, block, blocks: number, parts, flag_parts, classes, atomic, ops: Vec::new() };
            thread.fork();
            ops.iter().for_each(|op| thread.push(op));
            thread.join(ops.last().map_or(SpanId(0), |op| op.at));
            thread.ops
        };
        RankProgram { threads: (0..).zip(&blocks.blocks).map(thread).collect() }
    };
    program::Program {
        split: frame.split.saturating_mul(parts),
        scratch: frame.scratch.saturating_mul(parts),
        notifies: frame.notifies.iter().flat_map(named).collect(),
        ranks: (0..).zip(&program.ranks).map(rank).collect(),
        ..frame.clone()
    }
}

/// A block under way.
struct Thread {
    rank: u32,
    block: u32,
    /// Of the rank.
    blocks: u32,
    parts: u32,
    flag_parts: u32,
    classes: u32,
    /// Whether copies are reductions.
    atomic: bool,
    ops: Vec<program::Op>,
}

impl Thread {
    fn op(&mut self, kind: program::OpKind, at: SpanId) {
        self.ops.push(program::Op { kind, at });
    }

    /// The launch begins.
    fn fork(&mut self) {
        self.release(SpanId(0));
    }

    /// The launch ends.
    fn join(&mut self, at: SpanId) {
        self.gather(at);
    }

    /// All blocks are there, for the main one to know.
    fn gather(&mut self, at: SpanId) {
        if self.block > 0 {
            self.op(program::OpKind::ThreadNotifyRecord { thread: 0, notify: self.block - 1 }, at);
            return;
        }
        for block in 1..self.blocks {
            self.op(program::OpKind::ThreadNotifyWait { notify: block - 1 }, at);
        }
    }

    /// The main block lets the others go on.
    fn release(&mut self, at: SpanId) {
        if self.block > 0 {
            self.op(program::OpKind::ThreadNotifyWait { notify: 0 }, at);
            return;
        }
        for thread in 1..self.blocks {
            self.op(program::OpKind::ThreadNotifyRecord { thread, notify: 0 }, at);
        }
    }

    fn push(&mut self, op: &Op) {
        let notify = |flag: &Flag| flag.notify * self.flag_parts + flag.part;
        match &op.kind {
            OpKind::SetAtomic => self.atomic = true,
            OpKind::SetAtomicNone => self.atomic = false,
            OpKind::PipeBarrier => {}
            OpKind::Record(flag) => {
                let kind = program::OpKind::ChannelNotifyRecord { peer: flag.peer, notify: notify(flag) };
                self.op(kind, op.at);
            }
            OpKind::Wait(flag) => {
                let kind = program::OpKind::ChannelNotifyWait { peer: flag.peer, notify: notify(flag) };
                self.op(kind, op.at);
            }
            OpKind::SyncAll => {
                self.gather(op.at);
                self.release(op.at);
            }
            OpKind::Copy(copy) => self.copy(copy, op.at),
        }
    }

    fn copy(&mut self, copy: &Copy, at: SpanId) {
        let parts = self.parts;
        let cell = |cell: Cell, chunk: u32| Cell { chunk: cell.chunk.saturating_add(chunk), ..cell };
        let of = |first: u32, part: u32, len: u32| {
            let at = |gm: Cell| {
                let chunk = cell(gm, first).chunk.saturating_mul(parts).saturating_add(part);
                Cell { chunk, ..gm }
            };
            let class = copy.class.saturating_add(first) % self.classes.max(1);
            Transfer { dst: at(copy.dst.cell), src: at(copy.src.cell), len, class: class * parts + part }
        };
        let moved: Vec<Transfer> = match copy.part {
            None => vec![of(0, 0, copy.len.saturating_mul(parts))],
            Some(part) => (0..copy.len).map(|i| of(i, part.first, part.len)).collect(),
        };
        let (me, to, from) = (self.rank, copy.dst.rank, copy.src.rank);
        for transfer in moved {
            let kind = match (to == me, from == me, self.atomic) {
                (true, true, false) => program::OpKind::LocalCopy(transfer),
                (true, true, true) => program::OpKind::LocalReduce(transfer),
                (true, false, false) => program::OpKind::Read(from, transfer),
                (true, false, true) => program::OpKind::ReadReduce(from, transfer),
                (false, _, false) => program::OpKind::Write(to, transfer),
                (false, _, true) => program::OpKind::WriteReduce(to, transfer),
            };
            self.op(kind, at);
        }
    }
}
