//! Races by observation: two conflicting accesses that came in one order in one run, and in the other in another.
//!
//! Bytes do not show every race. Two copies of the same bytes to the same place, or two additions of integers in
//! either order, come out the same. But if nothing orders two operations, holding back the one lets the other come
//! first, and the other way round: two runs show it. Nothing here knows happens-before.

use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::{OpKind, Program};

use crate::schedule::{Log, NEVER, Shape};

/// Conflicting operations of two threads.
struct Pair {
    a: At,
    b: At,
    /// Whether they conflict in one repetition only: on `input` and `output`, of which every round has its own part.
    is_alone: bool,
    /// Whether both add, so that the order of the additions is what is at stake.
    adds: bool,
}

/// An operation: its thread, counted over all ranks, and its place in the queue.
type At = (u32, usize);

/// What is looked at in every run of one program.
pub(crate) struct Watch {
    shape: Shape,
    pairs: Vec<Pair>,
    /// By pair, repetition of the first, and how much later the second is (-1, 0, 1): which orders were seen.
    seen: Vec<u8>,
    /// Operations that touch a rank's input or output.
    of_caller: Vec<(At, u32)>,
    is_barrier: bool,
    ranks: u32,
    /// Accesses in either order, one of them a write.
    pub(crate) race: Option<String>,
    /// Additions in either order, in an algorithm that is `deterministic`.
    pub(crate) additions: Option<String>,
    /// A rank that left a barrier before another one had come.
    pub(crate) early: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Read,
    Reduce,
    Write,
}

/// A run of chunks that an operation touches: rank, buffer, first, end.
type Place = (u32, Buffer, u32, u32);

fn touches(kind: &OpKind, rank: u32) -> Vec<(Touch, Place)> {
    let (Some(transfer), Some((to, from))) = (kind.transfer(), kind.sides(rank)) else { return Vec::new() };
    let place = |rank, cell: hcomm_core::program::Cell| (rank, cell.buffer, cell.chunk, cell.chunk + transfer.len);
    let touch = if kind.reduces() { Touch::Reduce } else { Touch::Write };
    vec![(touch, place(to, transfer.dst)), (Touch::Read, place(from, transfer.src))]
}

impl Watch {
    pub(crate) fn new(program: &Program, rounds: u64, invocations: u64) -> Watch {
        let shape = Shape::new(program, rounds, invocations);
        let mut all: Vec<(At, Touch, Place)> = Vec::new();
        let mut thread = 0;
        for (rank, queues) in (0..).zip(&program.ranks) {
            for queue in &queues.threads {
                for (op, at) in queue.iter().enumerate() {
                    all.extend(touches(&at.kind, rank).into_iter().map(|(touch, place)| ((thread, op), touch, place)));
                }
                thread += 1;
            }
        }
        let mut pairs = Vec::new();
        for (i, &(a, touch, place)) in all.iter().enumerate() {
            for &(b, other, place_b) in &all[i + 1..] {
                let together =
                    (place.0, place.1) == (place_b.0, place_b.1) && place.2 < place_b.3 && place_b.2 < place.3;
                let conflict = match (touch, other) {
                    (Touch::Read, Touch::Read) => false,
                    (Touch::Reduce, Touch::Reduce) => program.deterministic,
                    _ => true,
                };
                if a.0 != b.0 && together && conflict {
                    let adds = touch == Touch::Reduce && other == Touch::Reduce;
                    pairs.push(Pair { a, b, is_alone: place.1 != Buffer::Scratch, adds });
                }
            }
        }
        let of_caller = all
            .iter()
            .filter(|(.., place)| place.1 != Buffer::Scratch)
            .map(|&(at, _, (owner, ..))| (at, owner))
            .collect();
        Watch {
            seen: vec![0; pairs.len() * shape.repetitions() as usize * 3],
            pairs,
            of_caller,
            is_barrier: program.operator == Operator::Barrier,
            ranks: program.num_ranks(),
            shape,
            race: None,
            additions: None,
            early: None,
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Takes in a run that came to its end.
    pub(crate) fn look(&mut self, log: &Log) {
        let repetitions = self.shape.repetitions();
        let over = |(thread, op): At, repetition: u64| log.over[self.shape.place(thread, op, repetition)];
        for (pair, &Pair { a, b, is_alone, adds }) in self.pairs.iter().enumerate() {
            for repetition in 0..repetitions {
                for later in 0..3u64 {
                    let Some(other) = (repetition + later).checked_sub(1).filter(|other| *other < repetitions) else {
                        continue;
                    };
                    if is_alone && other != repetition {
                        continue;
                    }
                    let order = if over(a, repetition) < over(b, other) { 1 } else { 2 };
                    let seen = &mut self.seen[(pair * repetitions as usize + repetition as usize) * 3 + later as usize];
                    *seen |= order;
                    let found = if adds { &mut self.additions } else { &mut self.race };
                    if *seen == 3 && found.is_none() {
                        *found =
                            Some(format!("{a:?} of repetition {repetition} and {b:?} of {other}, in either order"));
                    }
                }
            }
        }
        self.look_at_caller(log);
        if self.is_barrier {
            self.look_at_barrier(log);
        }
    }

    /// When the caller gets its buffers back at the end of an invocation.
    fn hand_over(&self, log: &Log, rank: u32, invocation: u64) -> u32 {
        let (main, rounds) = (self.shape.main_of(rank), self.shape.rounds);
        let end = self.shape.threads[main as usize].2;
        log.over[self.shape.place(main, end, (invocation + 1) * rounds - 1)]
    }

    /// An access to the caller's buffers while they are the caller's.
    fn look_at_caller(&mut self, log: &Log) {
        for &((thread, op), owner) in &self.of_caller {
            for repetition in 0..self.shape.repetitions() {
                let invocation = repetition / self.shape.rounds;
                let over = log.over[self.shape.place(thread, op, repetition)];
                let is_late = over > self.hand_over(log, owner, invocation) && over != NEVER;
                let is_early = invocation > 0 && over < self.hand_over(log, owner, invocation - 1);
                if self.race.is_none() && (is_late || is_early) {
                    self.race =
                        Some(format!("{:?} of repetition {repetition} and the caller of rank {owner}", (thread, op)));
                }
            }
        }
    }

    fn look_at_barrier(&mut self, log: &Log) {
        for invocation in 0..self.shape.invocations {
            let begun = |rank: u32| log.begun[(u64::from(rank) * self.shape.invocations + invocation) as usize];
            for rank in 0..self.ranks {
                let end = self.hand_over(log, rank, invocation);
                // A number of the clock is taken by what is over next, so that equal means later.
                if let Some(other) = (0..self.ranks).find(|&other| end < begun(other)) {
                    self.early = Some(format!("rank {rank} leaves invocation {invocation} before rank {other} enters"));
                }
            }
        }
    }
}
