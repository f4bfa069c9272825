//! Small programs, made by hand: what the compiler will make of the algorithms of the design document, and programs
//! with a fault.

#![allow(dead_code, reason = "tests and benches each use some of it")]
#![allow(clippy::unwrap_used, reason = "tests")]

use hcomm_core::ids::SpanId;
use hcomm_core::operator::{Buffer, CountsBy, Expected, Operator};
use hcomm_core::program::{Cell, Op, OpKind, Program, RankProgram, Source, Transfer};
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::Span;

pub(crate) const READY: u32 = 0;
pub(crate) const DONE: u32 = 1;

pub(crate) fn shape(ranks: u32) -> Shape {
    Shape::new(Layout::flat(ranks).unwrap())
}

/// A program without operations, with one thread a rank. Span `n` is line `n + 1`.
pub(crate) fn empty(name: &str, operator: Operator, shape: Shape, split: u32, scratch: u32) -> Program {
    let line = |line| Span { line, column: 1, end_line: line, end_column: 9 };
    Program {
        algorithm: name.to_owned(),
        operator,
        shape,
        split,
        scratch,
        deterministic: false,
        symmetric: false,
        notifies: vec!["ready".to_owned(), "done".to_owned()],
        source: Source { file: "test.rs".to_owned(), spans: (1..=40).map(line).collect() },
        ranks: vec![RankProgram { threads: vec![Vec::new()] }; shape.ranks() as usize],
    }
}

/// Appends operations to a thread, each with its line.
pub(crate) struct At<'p>(pub(crate) &'p mut Program, pub(crate) u32, pub(crate) u32);

impl At<'_> {
    pub(crate) fn op(&mut self, line: u32, kind: OpKind) -> &mut Self {
        let threads = &mut self.0.ranks[self.1 as usize].threads;
        if threads.len() <= self.2 as usize {
            threads.resize(self.2 as usize + 1, Vec::new());
        }
        threads[self.2 as usize].push(Op { kind, at: SpanId(line - 1) });
        self
    }

    pub(crate) fn signal(&mut self, line: u32, peer: u32, notify: u32) -> &mut Self {
        self.op(line, OpKind::ChannelNotifyRecord { peer, notify })
    }

    pub(crate) fn wait(&mut self, line: u32, peer: u32, notify: u32) -> &mut Self {
        self.op(line, OpKind::ChannelNotifyWait { peer, notify })
    }

    pub(crate) fn start(&mut self, thread: u32, notify: u32) -> &mut Self {
        self.op(1, OpKind::ThreadNotifyRecord { thread, notify })
    }

    pub(crate) fn started(&mut self, notify: u32) -> &mut Self {
        self.op(1, OpKind::ThreadNotifyWait { notify })
    }
}

pub(crate) fn cell(buffer: Buffer, chunk: u32) -> Cell {
    Cell { buffer, chunk }
}

/// `dst = src`, `len` chunks, the first of class `class`.
pub(crate) fn transfer(dst: (Buffer, u32), src: (Buffer, u32), len: u32, class: u32) -> Transfer {
    Transfer { dst: cell(dst.0, dst.1), src: cell(src.0, src.1), len, class }
}

use Buffer::{Input, Output, Scratch};

/// The mesh all-gather of the design document: a lane for every peer.
pub(crate) fn mesh_all_gather(ranks: u32) -> Program {
    let mut program = empty("mesh_all_gather", Operator::AllGather, shape(ranks), 1, ranks);
    mesh(&mut program, 1);
    for rank in 0..ranks {
        let out = transfer((Output, 0), (Scratch, 0), ranks, 0);
        At(&mut program, rank, 0).op(9, OpKind::LocalCopy(out));
    }
    program
}

/// The one-shot all-reduce of the design document: gather everything, then add in rank order.
pub(crate) fn one_shot_all_reduce(ranks: u32) -> Program {
    let mut program = empty("one_shot_all_reduce", Operator::AllReduce, shape(ranks), 1, ranks);
    mesh(&mut program, 1);
    for rank in 0..ranks {
        let mut main = At(&mut program, rank, 0);
        main.op(9, OpKind::LocalCopy(transfer((Output, 0), (Scratch, 0), 1, 0)));
        for other in 1..ranks {
            main.op(10, OpKind::LocalReduce(transfer((Output, 0), (Scratch, other), 1, 0)));
        }
    }
    program
}

/// Every rank's input in every rank's scratch, by a write in a lane for each peer.
fn mesh(program: &mut Program, split: u32) {
    let ranks = program.num_ranks();
    for rank in 0..ranks {
        let own = rank * split;
        At(program, rank, 0).op(4, OpKind::LocalCopy(transfer((Scratch, own), (Input, 0), split, 0)));
        for lane in 1..ranks.saturating_sub(1) {
            At(program, rank, 0).start(lane, 0);
            At(program, rank, lane).started(0);
        }
        for lane in 0..ranks - 1 {
            let peer = (rank + 1 + lane) % ranks;
            let write = transfer((Scratch, own), (Scratch, own), split, 0);
            At(program, rank, lane).signal(6, peer, READY).wait(6, peer, READY);
            At(program, rank, lane).op(7, OpKind::Write(peer, write)).signal(8, peer, DONE).wait(8, peer, DONE);
        }
        for lane in 1..ranks.saturating_sub(1) {
            At(program, rank, lane).start(0, lane - 1);
            At(program, rank, 0).started(lane - 1);
        }
    }
}

/// Ring all-reduce: write-reduce round the ring, then write round the ring.
pub(crate) fn ring_all_reduce(ranks: u32) -> Program {
    let mut program = empty("ring_all_reduce", Operator::AllReduce, shape(ranks), ranks, ranks);
    for rank in 0..ranks {
        let (next, prev) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let mut main = At(&mut program, rank, 0);
        main.op(4, OpKind::LocalCopy(transfer((Scratch, 0), (Input, 0), ranks, 0)));
        for step in 0..2 * (ranks - 1) {
            let chunk = (rank + 2 * ranks - step) % ranks;
            let moved = transfer((Scratch, chunk), (Scratch, chunk), 1, chunk);
            main.signal(6, prev, READY).wait(6, next, READY);
            if step < ranks - 1 {
                main.op(7, OpKind::WriteReduce(next, moved));
            } else {
                main.op(8, OpKind::Write(next, moved));
            }
            main.signal(9, next, DONE).wait(9, prev, DONE);
        }
        main.op(11, OpKind::LocalCopy(transfer((Output, 0), (Scratch, 0), ranks, 0)));
    }
    program
}

/// The send_recv of the design document: the receiver reads what the sender has staged.
pub(crate) fn read_send_recv(ranks: u32) -> Program {
    let shape = shape(ranks);
    let (src, dst) = (shape.src, shape.dst);
    let mut program = empty("read_send_recv", Operator::SendRecv, shape, 1, 1);
    let stage = transfer((Scratch, 0), (Input, 0), 1, 0);
    At(&mut program, src, 0).op(3, OpKind::LocalCopy(stage)).signal(3, dst, READY).wait(3, dst, DONE);
    let fetch = transfer((Output, 0), (Scratch, 0), 1, 0);
    At(&mut program, dst, 0).wait(4, src, READY).op(4, OpKind::Read(src, fetch)).signal(4, src, DONE);
    program
}

/// Any operator: every rank stages its input, everybody waits for everybody, reads what its output must hold, and
/// everybody waits for everybody again.
pub(crate) fn pull(operator: Operator, shape: Shape, split: u32) -> Program {
    let ranks = shape.ranks();
    let scratch = operator.largest_slots(ranks) * split;
    let mut program = empty(&format!("pull_{operator}"), operator, shape, split, scratch);
    let everybody = |program: &mut Program, rank: u32, line: u32, notify: u32| {
        let others = (0..ranks).filter(|other| *other != rank);
        for peer in others.clone() {
            At(program, rank, 0).signal(line, peer, notify);
        }
        for peer in others {
            At(program, rank, 0).wait(line, peer, notify);
        }
    };
    for rank in 0..ranks {
        let inputs = program.chunks(Input, rank);
        if inputs > 0 {
            At(&mut program, rank, 0).op(3, OpKind::LocalCopy(transfer((Scratch, 0), (Input, 0), inputs, 0)));
        }
        everybody(&mut program, rank, 5, READY);
        for out in 0..program.chunks(Output, rank) {
            let (sources, chunk) = match operator.expected(&shape, split, rank, out) {
                Expected::Copy { rank, chunk } => (rank..rank + 1, chunk),
                Expected::Reduction { chunk } => (0..ranks, chunk),
            };
            for source in sources.clone() {
                let moved = transfer((Output, out), (Scratch, chunk), 1, out % split);
                let kind = match (source == rank, source == sources.start) {
                    (true, true) => OpKind::LocalCopy(moved),
                    (true, false) => OpKind::LocalReduce(moved),
                    (false, true) => OpKind::Read(source, moved),
                    (false, false) => OpKind::ReadReduce(source, moved),
                };
                At(&mut program, rank, 0).op(7, kind);
            }
        }
        everybody(&mut program, rank, 9, DONE);
    }
    program
}

/// The operators whose slots all have the same count; the others are in `tests/counts.rs`.
pub(crate) fn equal_slots() -> impl Iterator<Item = Operator> {
    Operator::ALL.into_iter().filter(|operator| operator.counts() == CountsBy::All)
}
