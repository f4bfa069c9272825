//! Programs by hand, as the lowering would make them: for tests and benchmarks of the checks.
//!
//! A statement's span is its line, so that tests can ask for lines.

#![allow(dead_code, reason = "the benchmarks use a part of it")]

use hcomm_core::ids::SpanId;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::{Cell, Op, OpKind, Program, RankProgram, Source, Transfer};
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::Span;

pub(crate) const READY: u32 = 0;
pub(crate) const DONE: u32 = 1;
const LINES: u32 = 100;

pub(crate) fn input(chunk: u32) -> Cell {
    Cell { buffer: Buffer::Input, chunk }
}

pub(crate) fn output(chunk: u32) -> Cell {
    Cell { buffer: Buffer::Output, chunk }
}

pub(crate) fn scratch(chunk: u32) -> Cell {
    Cell { buffer: Buffer::Scratch, chunk }
}

/// One chunk of length class 0.
pub(crate) fn one(dst: Cell, src: Cell) -> Transfer {
    Transfer { dst, src, len: 1, class: 0 }
}

/// A run of chunks of length classes from 0 on.
pub(crate) fn many(dst: Cell, src: Cell, len: u32) -> Transfer {
    Transfer { dst, src, len, class: 0 }
}

/// One chunk of a length class.
pub(crate) fn classed(dst: Cell, src: Cell, class: u32) -> Transfer {
    Transfer { dst, src, len: 1, class }
}

/// A program without operations.
pub(crate) fn program(operator: Operator, ranks: u32, split: u32, scratch: u32) -> Program {
    let layout = Layout::flat(ranks).unwrap();
    Program {
        algorithm: "test".into(),
        operator,
        shape: Shape::new(layout),
        split,
        scratch,
        deterministic: false,
        symmetric: false,
        notifies: vec!["ready".into(), "done".into(), "spare".into()],
        source: Source {
            file: "test.rs".into(),
            spans: (0..LINES).map(|line| Span { line, column: 1, end_line: line, end_column: 9 }).collect(),
        },
        ranks: vec![RankProgram { threads: vec![Vec::new()] }; ranks as usize],
    }
}

/// Appends to one thread of one rank.
pub(crate) struct On<'a> {
    queues: &'a mut RankProgram,
    thread: usize,
}

pub(crate) fn on(program: &mut Program, rank: u32, thread: u32) -> On<'_> {
    let queues = &mut program.ranks[rank as usize];
    while queues.threads.len() <= thread as usize {
        queues.threads.push(Vec::new());
    }
    On { queues, thread: thread as usize }
}

impl On<'_> {
    pub(crate) fn op(&mut self, line: u32, kind: OpKind) -> &mut Self {
        self.queues.threads[self.thread].push(Op { kind, at: SpanId(line) });
        self
    }

    pub(crate) fn copy(&mut self, line: u32, transfer: Transfer) -> &mut Self {
        self.op(line, OpKind::LocalCopy(transfer))
    }

    pub(crate) fn reduce(&mut self, line: u32, transfer: Transfer) -> &mut Self {
        self.op(line, OpKind::LocalReduce(transfer))
    }

    pub(crate) fn write(&mut self, line: u32, peer: u32, transfer: Transfer) -> &mut Self {
        self.op(line, OpKind::Write(peer, transfer))
    }

    pub(crate) fn write_reduce(&mut self, line: u32, peer: u32, transfer: Transfer) -> &mut Self {
        self.op(line, OpKind::WriteReduce(peer, transfer))
    }

    pub(crate) fn read(&mut self, line: u32, peer: u32, transfer: Transfer) -> &mut Self {
        self.op(line, OpKind::Read(peer, transfer))
    }

    pub(crate) fn signal(&mut self, line: u32, peer: u32, notify: u32) -> &mut Self {
        self.op(line, OpKind::ChannelNotifyRecord { peer, notify })
    }

    pub(crate) fn wait(&mut self, line: u32, peer: u32, notify: u32) -> &mut Self {
        self.op(line, OpKind::ChannelNotifyWait { peer, notify })
    }
}

/// The main thread starts lanes 1 to `lanes - 1`.
pub(crate) fn fork(program: &mut Program, rank: u32, line: u32, lanes: u32) {
    for thread in 1..lanes {
        on(program, rank, 0).op(line, OpKind::ThreadNotifyRecord { thread, notify: 0 });
        on(program, rank, thread).op(line, OpKind::ThreadNotifyWait { notify: 0 });
    }
}

/// The main thread waits for lanes 1 to `lanes - 1`.
pub(crate) fn join(program: &mut Program, rank: u32, line: u32, lanes: u32) {
    for thread in 1..lanes {
        on(program, rank, thread).op(line, OpKind::ThreadNotifyRecord { thread: 0, notify: thread - 1 });
        on(program, rank, 0).op(line, OpKind::ThreadNotifyWait { notify: thread - 1 });
    }
}

/// Everyone else, from `rank + 1` on.
pub(crate) fn peers(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    (1..ranks).map(move |distance| (rank + distance) % ranks)
}

/// Full mesh, one lane a peer: lines 1 copy_in, 2 par, 3 and 4 pre_sync, 5 move, 6 and 7 post_sync, 8 copy_out.
pub(crate) fn mesh_all_gather(ranks: u32) -> Program {
    let mut p = program(Operator::AllGather, ranks, 1, ranks);
    for rank in 0..ranks {
        on(&mut p, rank, 0).copy(1, one(scratch(rank), input(0)));
        mesh_exchange(&mut p, rank, |_| one(scratch(rank), scratch(rank)));
        on(&mut p, rank, 0).copy(8, many(output(0), scratch(0), ranks));
    }
    p
}

/// Two-way handshake with every peer, each in a lane, around a write.
fn mesh_exchange(p: &mut Program, rank: u32, transfer: impl Fn(u32) -> Transfer) {
    let ranks = p.num_ranks();
    fork(p, rank, 2, ranks - 1);
    for (lane, peer) in (0..).zip(peers(rank, ranks)) {
        on(p, rank, lane)
            .signal(3, peer, READY)
            .wait(4, peer, READY)
            .write(5, peer, transfer(peer))
            .signal(6, peer, DONE)
            .wait(7, peer, DONE);
    }
    join(p, rank, 2, ranks - 1);
}

/// The small-message form: everything to everyone, then added in rank order. Lines as the mesh; 9 and on: adding.
pub(crate) fn one_shot_all_reduce(ranks: u32) -> Program {
    let mut p = program(Operator::AllReduce, ranks, 1, ranks);
    p.deterministic = true;
    for rank in 0..ranks {
        on(&mut p, rank, 0).copy(1, one(scratch(rank), input(0)));
        mesh_exchange(&mut p, rank, |_| one(scratch(rank), scratch(rank)));
        on(&mut p, rank, 0).copy(8, one(output(0), scratch(0)));
        for r in 1..ranks {
            on(&mut p, rank, 0).reduce(9, one(output(0), scratch(r)));
        }
    }
    p
}

/// Reduce-scatter and all-gather, each in one step with everyone at once. Scratch: what is mine, then what comes in.
pub(crate) fn all_pairs_all_reduce(ranks: u32) -> Program {
    let mut p = program(Operator::AllReduce, ranks, ranks, 2 * ranks);
    for rank in 0..ranks {
        on(&mut p, rank, 0).copy(1, many(scratch(0), input(0), ranks));
        mesh_exchange(&mut p, rank, |peer| classed(scratch(ranks + rank), scratch(peer), peer));
        for peer in peers(rank, ranks) {
            on(&mut p, rank, 0).reduce(8, classed(scratch(rank), scratch(ranks + peer), rank));
        }
        fork(&mut p, rank, 9, ranks - 1);
        for (lane, peer) in (0..).zip(peers(rank, ranks)) {
            on(&mut p, rank, lane)
                .signal(10, peer, READY)
                .wait(11, peer, READY)
                .write(12, peer, classed(scratch(rank), scratch(rank), rank))
                .signal(13, peer, DONE)
                .wait(14, peer, DONE);
        }
        join(&mut p, rank, 9, ranks - 1);
        on(&mut p, rank, 0).copy(15, many(output(0), scratch(0), ranks));
    }
    p
}

/// Two lanes: what goes out to the right, and what comes in from the left.
pub(crate) fn ring_all_gather(ranks: u32) -> Program {
    let mut p = program(Operator::AllGather, ranks, 1, ranks);
    for rank in 0..ranks {
        let (next, prev) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        on(&mut p, rank, 0).copy(1, one(scratch(rank), input(0)));
        for step in 0..ranks - 1 {
            let chunk = (rank + ranks - step) % ranks;
            fork(&mut p, rank, 2, 2);
            on(&mut p, rank, 0).wait(3, next, READY).write(4, next, one(scratch(chunk), scratch(chunk)));
            on(&mut p, rank, 0).signal(5, next, DONE);
            on(&mut p, rank, 1).signal(6, prev, READY).wait(7, prev, DONE);
            join(&mut p, rank, 2, 2);
        }
        on(&mut p, rank, 0).copy(8, many(output(0), scratch(0), ranks));
    }
    p
}

/// One lane; reduce-scatter by write-reduce round the ring, then all-gather: 5 operations a step.
pub(crate) fn ring_all_reduce(ranks: u32) -> Program {
    let mut p = program(Operator::AllReduce, ranks, ranks, ranks);
    for rank in 0..ranks {
        let (next, prev) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        on(&mut p, rank, 0).copy(1, many(scratch(0), input(0), ranks));
        for step in 0..ranks - 1 {
            let chunk = (rank + ranks - step) % ranks;
            on(&mut p, rank, 0)
                .signal(2, prev, READY)
                .wait(3, next, READY)
                .write_reduce(4, next, classed(scratch(chunk), scratch(chunk), chunk))
                .signal(5, next, DONE)
                .wait(6, prev, DONE);
        }
        for step in 0..ranks - 1 {
            let chunk = (rank + 1 + ranks - step) % ranks;
            on(&mut p, rank, 0)
                .signal(7, prev, READY)
                .wait(8, next, READY)
                .write(9, next, classed(scratch(chunk), scratch(chunk), chunk))
                .signal(10, next, DONE)
                .wait(11, prev, DONE);
        }
        on(&mut p, rank, 0).copy(12, many(output(0), scratch(0), ranks));
    }
    p
}

/// HCCL's NHR schedule.
pub(crate) fn nhr_all_gather(ranks: u32) -> Program {
    let mut p = program(Operator::AllGather, ranks, 1, ranks);
    let steps = ranks.next_power_of_two().trailing_zeros();
    for rank in 0..ranks {
        on(&mut p, rank, 0).copy(1, one(scratch(rank), input(0)));
        for step in 0..steps {
            let delta = 1 << (steps - 1 - step);
            let (to, from) = ((rank + delta) % ranks, (rank + ranks - delta % ranks) % ranks);
            on(&mut p, rank, 0).signal(2, from, READY).wait(3, to, READY);
            for i in 0..(ranks - 1 + delta) / (2 * delta) {
                let chunk = (i64::from(rank) - 2 * i64::from(delta) * i64::from(i)).rem_euclid(i64::from(ranks)) as u32;
                on(&mut p, rank, 0).write(4, to, one(scratch(chunk), scratch(chunk)));
            }
            on(&mut p, rank, 0).signal(5, to, DONE).wait(6, from, DONE);
        }
        on(&mut p, rank, 0).copy(7, many(output(0), scratch(0), ranks));
    }
    p
}

/// The sender stages; the receiver reads straight into its output.
pub(crate) fn read_send_recv() -> Program {
    let mut p = program(Operator::SendRecv, 2, 1, 1);
    on(&mut p, 0, 0).copy(1, one(scratch(0), input(0))).signal(2, 1, READY).wait(3, 1, DONE);
    on(&mut p, 1, 0).wait(4, 0, READY).read(5, 0, one(output(0), scratch(0))).signal(6, 0, DONE);
    p
}

/// All ranks write-reduce into the root's one chunk, in lanes of the senders' choosing: unordered additions.
pub(crate) fn gather_reduce(ranks: u32) -> Program {
    let mut p = program(Operator::Reduce, ranks, 1, 2);
    on(&mut p, 0, 0).copy(1, one(scratch(0), input(0)));
    for rank in 1..ranks {
        on(&mut p, 0, 0).signal(2, rank, READY);
        on(&mut p, rank, 0)
            .copy(3, one(scratch(1), input(0)))
            .wait(4, 0, READY)
            .write_reduce(5, 0, one(scratch(0), scratch(1)))
            .signal(6, 0, DONE);
    }
    for rank in 1..ranks {
        on(&mut p, 0, 0).wait(7, rank, DONE);
    }
    on(&mut p, 0, 0).copy(8, one(output(0), scratch(0)));
    p
}

/// Broadcast down a binomial tree from rank 0.
pub(crate) fn tree_broadcast(ranks: u32) -> Program {
    let mut p = program(Operator::Broadcast, ranks, 1, 1);
    on(&mut p, 0, 0).copy(1, one(scratch(0), input(0)));
    for rank in 0..ranks {
        let first = if rank == 0 { 0 } else { rank.ilog2() + 1 };
        if rank > 0 {
            let parent = rank - (1 << rank.ilog2());
            on(&mut p, rank, 0).signal(2, parent, READY).wait(3, parent, DONE);
        }
        for child in (first..).map(|bit| rank + (1 << bit)).take_while(|&child| child < ranks) {
            on(&mut p, rank, 0)
                .wait(4, child, READY)
                .write(5, child, one(scratch(0), scratch(0)))
                .signal(6, child, DONE);
        }
        on(&mut p, rank, 0).copy(7, one(output(0), scratch(0)));
    }
    p
}

/// Every rank tells the one 2^k further on, in round k. Twice, as one pass does not say that its signals were taken.
pub(crate) fn dissemination_barrier(ranks: u32) -> Program {
    let mut p = program(Operator::Barrier, ranks, 1, 0);
    let rounds = ranks.next_power_of_two().trailing_zeros();
    p.notifies = (0..2 * rounds).map(|round| format!("round{round}")).collect();
    for rank in 0..ranks {
        for notify in 0..2 * rounds {
            let distance = 1 << (notify % rounds);
            let (to, from) = ((rank + distance) % ranks, (rank + ranks - distance % ranks) % ranks);
            on(&mut p, rank, 0).signal(1, to, notify).wait(2, from, notify);
        }
    }
    p
}
