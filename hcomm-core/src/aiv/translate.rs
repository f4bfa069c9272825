//! An AIV program as a program of threads and one-bit notifies, which is what the checks are for.
//!
//! * A block is a thread. A launch begins and ends with all blocks of a rank: the main thread forks and joins the others.
//! * A flag that is given a new value for every use and compared for equality is as good as a bit that a wait clears:
//!   [`flags`](super::flags) shows that values are new and that the k-th wait is for the k-th record's. Then a record
//!   that comes before the wait has seen the last value loses that, just as one of a notify that is still set.
//! * `SyncAll` is a record of every block to the main one, and of that one to every other.
//! * A part of a chunk is a chunk: a slot has `parts` times as many, and part j of chunk c is chunk c · parts + j.

use std::cell::Cell;

use super::pipes::Pipes;
use super::program::{Copy, Flag, Op, OpKind, Program};
use crate::ids::SpanId;
use crate::program::{self, RankProgram, Transfer};

/// The program of threads that does the same, where barriers keep copies where they stand. `program` is one that the
/// structure checks found nothing wrong with.
pub fn translate(program: &Program) -> program::Program {
    with(program, |_, _| Vec::new())
}

/// The most copies without a barrier between them that get threads of their own.
const MAX_LOOSE: usize = 64;

/// [`translate`] for a program where barriers are missing: copies that are not kept where they stand are on threads of
/// their own, which begin after the last barrier and end before the next. None if these were too many.
///
/// A pipe takes up copies in their order, so that one that reads a chunk has read it before a later one writes it.
pub(super) fn translate_loose(program: &Program) -> Option<program::Program> {
    let fits = Cell::new(true);
    let threads = with(program, |rank, block| {
        let ops = &program.ranks[rank as usize].blocks[block as usize];
        let segments = loose(ops);
        fits.set(fits.get() && segments.iter().all(|copies| copies.len() <= MAX_LOOSE));
        segments
    });
    fits.get().then_some(threads)
}

/// Of every segment between barriers, its copies if something in it is not kept behind them; none otherwise.
fn loose(ops: &[Op]) -> Vec<Vec<Copy>> {
    let mut segments = Vec::new();
    for segment in ops.split(|op| op.kind == OpKind::PipeBarrier) {
        let (mut pipes, mut is_loose, mut copies) = (Pipes::default(), false, Vec::new());
        for op in segment {
            match op.kind {
                OpKind::Copy(copy) => {
                    is_loose |= pipes.before_copy(&copy);
                    pipes.copy(&copy);
                    copies.push(copy);
                }
                OpKind::Record(_) => is_loose |= pipes.before_signal(),
                OpKind::Wait(_) => pipes.meet(),
                OpKind::SyncAll => {
                    is_loose |= pipes.before_signal();
                    pipes.meet();
                }
                OpKind::SetAtomic | OpKind::SetAtomicNone | OpKind::PipeBarrier => {}
            }
        }
        segments.push(if is_loose { copies } else { Vec::new() });
    }
    segments
}

fn with(program: &Program, loose: impl Fn(u32, u32) -> Vec<Vec<Copy>>) -> program::Program {
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
        let (mut threads, mut helpers) = (Vec::new(), Vec::new());
        for (block, ops) in (0..).zip(&blocks.blocks) {
            let mut thread = Thread {
                rank,
                block,
                blocks: number,
                parts,
                flag_parts,
                classes,
                atomic: false,
                ops: Vec::new(),
                loose: loose(rank, block),
                segment: 0,
                copies: 0,
                first_helper: number + helpers.len() as u32,
                helpers: Vec::new(),
            };
            thread.fork();
            thread.begin_segment(SpanId(0));
            ops.iter().for_each(|op| thread.push(op));
            let at = ops.last().map_or(SpanId(0), |op| op.at);
            thread.end_segment(at);
            thread.join(at);
            threads.push(thread.ops);
            helpers.extend(thread.helpers);
        }
        threads.extend(helpers);
        RankProgram { threads }
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
    /// Of every segment between barriers, the copies that have threads of their own.
    loose: Vec<Vec<Copy>>,
    segment: usize,
    /// Copies of the segment so far.
    copies: usize,
    /// The number of the first of these threads, and what they do.
    first_helper: u32,
    helpers: Vec<Vec<program::Op>>,
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

    /// How many copies of the segment have threads of their own.
    fn loose_copies(&self) -> usize {
        self.loose.get(self.segment).map_or(0, Vec::len)
    }

    /// Copies that nothing keeps may begin.
    fn begin_segment(&mut self, at: SpanId) {
        self.copies = 0;
        for helper in 0..self.loose_copies() {
            if helper == self.helpers.len() {
                self.helpers.push(Vec::new());
            }
            let thread = self.first_helper + helper as u32;
            self.op(program::OpKind::ThreadNotifyRecord { thread, notify: 0 }, at);
            let begin = program::OpKind::ThreadNotifyWait { notify: 0 };
            self.helpers[helper].push(program::Op { kind: begin, at });
        }
    }

    /// They are over.
    fn end_segment(&mut self, at: SpanId) {
        for helper in 0..self.loose_copies() {
            let notify = self.blocks + helper as u32;
            self.op(program::OpKind::ThreadNotifyWait { notify }, at);
            let over = program::OpKind::ThreadNotifyRecord { thread: self.block, notify };
            self.helpers[helper].push(program::Op { kind: over, at });
        }
        self.segment += 1;
    }

    /// A copy on a thread of its own, behind those that read what it writes.
    fn loose_copy(&mut self, copy: &Copy, moved: Vec<program::OpKind>, at: SpanId) {
        let me = self.copies;
        let touch = |a: super::program::Gm, a_len: u32, b: super::program::Gm, b_len: u32| {
            let end = |gm: super::program::Gm, len: u32| gm.cell.chunk.saturating_add(len);
            (a.rank, a.cell.buffer) == (b.rank, b.cell.buffer)
                && a.cell.chunk < end(b, b_len)
                && b.cell.chunk < end(a, a_len)
        };
        for before in 0..me {
            let other = self.loose[self.segment][before];
            let again = touch(other.dst, other.len, copy.dst, copy.len);
            if again || !touch(other.src, other.len, copy.dst, copy.len) {
                continue;
            }
            let notify = 1 + before as u32;
            let thread = self.first_helper + me as u32;
            let read = program::OpKind::ThreadNotifyRecord { thread, notify };
            self.helpers[before].push(program::Op { kind: read, at });
            self.helpers[me].push(program::Op { kind: program::OpKind::ThreadNotifyWait { notify }, at });
        }
        self.helpers[me].extend(moved.into_iter().map(|kind| program::Op { kind, at }));
    }

    fn push(&mut self, op: &Op) {
        let notify = |flag: &Flag| flag.notify * self.flag_parts + flag.part;
        match &op.kind {
            OpKind::SetAtomic => self.atomic = true,
            OpKind::SetAtomicNone => self.atomic = false,
            OpKind::PipeBarrier => {
                self.end_segment(op.at);
                self.begin_segment(op.at);
            }
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
        let cell = |cell: program::Cell, chunk: u32| program::Cell { chunk: cell.chunk.saturating_add(chunk), ..cell };
        let of = |first: u32, part: u32, len: u32| {
            let at = |gm: program::Cell| {
                let chunk = cell(gm, first).chunk.saturating_mul(parts).saturating_add(part);
                program::Cell { chunk, ..gm }
            };
            let class = copy.class.saturating_add(first) % self.classes.max(1);
            Transfer { dst: at(copy.dst.cell), src: at(copy.src.cell), len, class: class * parts + part }
        };
        let moved: Vec<Transfer> = match copy.part {
            None => vec![of(0, 0, copy.len.saturating_mul(parts))],
            Some(part) => (0..copy.len).map(|i| of(i, part.first, part.len)).collect(),
        };
        let (me, to, from) = (self.rank, copy.dst.rank, copy.src.rank);
        let kind = |transfer| match (to == me, from == me, self.atomic) {
            (true, true, false) => program::OpKind::LocalCopy(transfer),
            (true, true, true) => program::OpKind::LocalReduce(transfer),
            (true, false, false) => program::OpKind::Read(from, transfer),
            (true, false, true) => program::OpKind::ReadReduce(from, transfer),
            (false, _, false) => program::OpKind::Write(to, transfer),
            (false, _, true) => program::OpKind::WriteReduce(to, transfer),
        };
        let moved: Vec<program::OpKind> = moved.into_iter().map(kind).collect();
        if self.loose_copies() > 0 {
            self.loose_copy(copy, moved, at);
        } else {
            moved.into_iter().for_each(|kind| self.op(kind, at));
        }
        self.copies += 1;
    }
}
