//! How a statement knows the length class of the chunks that it moves.
//!
//! A chunk of `input` or `output` has its class from its place. A cell of scratch has the class of what it holds, which
//! a [`Program`] knows from its execution and emitted code does not. So a rule is looked for, statement by statement:
//! one that gives the class from what is at hand there, and that holds for every chunk of every program that is tried.

use std::collections::BTreeMap;

use hcomm_core::ids::SpanId;
use hcomm_core::instance::{Instance, TaskKind, instantiate};
use hcomm_core::lower::aicpu;
use hcomm_core::operator::{Buffer, CountsBy};
use hcomm_core::program::{Cell, Op, Program};
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::{Spec, Verify};

/// Where the class of a chunk comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The end that is not scratch, or there is but one class.
    Place,
    /// The number of the cell that is read, modulo the number of classes.
    Source,
    /// The number of the cell that is written, modulo the number of classes.
    Destination,
    /// What this rank itself last copied into the cell that is read.
    HeldBySource,
    /// What this rank itself last copied into the cell that is written.
    HeldByDestination,
    /// Where counts are by rank: the slot of this one.
    Of(Who),
    /// Where counts are by pair: the slot from the one to the other.
    Between(Who, Who),
}

/// A rank, as a statement can name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// This rank.
    Me,
    /// The rank at the other end.
    Peer,
    /// The number of the cell that is read, in slots, modulo the ranks.
    Source,
    /// The number of the cell that is written, in slots, modulo the ranks.
    Destination,
}

impl Who {
    const ALL: [Who; 4] = [Who::Me, Who::Peer, Who::Source, Who::Destination];
}

/// A chunk that a statement moved, in one of the programs.
#[derive(Clone, Copy, Debug)]
struct Seen {
    ranks: u32,
    split: u32,
    classes: u32,
    me: u32,
    peer: Option<u32>,
    src: u32,
    dst: u32,
    held: (Option<u32>, Option<u32>),
    class: u32,
}

impl Seen {
    fn who(&self, who: Who) -> Option<u32> {
        match who {
            Who::Me => Some(self.me),
            Who::Peer => self.peer,
            Who::Source => Some(self.src / self.split % self.ranks),
            Who::Destination => Some(self.dst / self.split % self.ranks),
        }
    }

    /// The class by a rule, if the rule has an answer.
    fn class(&self, rule: Rule) -> Option<u32> {
        let part = self.src % self.split;
        match rule {
            Rule::Place => (self.classes == 1).then_some(0),
            Rule::Source => Some(self.src % self.classes),
            Rule::Destination => Some(self.dst % self.classes),
            Rule::HeldBySource => self.held.1,
            Rule::HeldByDestination => self.held.0,
            Rule::Of(who) => Some(self.who(who)? * self.split + part),
            Rule::Between(from, to) => Some((self.who(from)? * self.ranks + self.who(to)?) * self.split + part),
        }
    }
}

/// The rules to try, plainest first.
fn candidates(counts: CountsBy) -> Vec<Rule> {
    let mut rules = vec![Rule::Place];
    match counts {
        CountsBy::All => {}
        CountsBy::Rank => rules.extend([Rule::Source, Rule::Destination]),
        CountsBy::Pair => {
            rules.extend(Who::ALL.iter().flat_map(|from| Who::ALL.iter().map(|to| Rule::Between(*from, *to))));
        }
    }
    match counts {
        CountsBy::All => rules.extend([Rule::Source, Rule::Destination]),
        CountsBy::Rank => rules.extend(Who::ALL.map(Rule::Of)),
        CountsBy::Pair => {}
    }
    rules.extend([Rule::HeldBySource, Rule::HeldByDestination]);
    rules
}

/// No rule fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRule {
    /// The statement.
    pub at: SpanId,
}

/// The rule of every statement that copies or reduces from scratch to scratch. A statement that is not in the answer
/// has an end that is not scratch, or never moves anything.
///
/// # Errors
///
/// The first statement that no rule fits.
pub fn rules(spec: &Spec<'_>) -> Result<BTreeMap<SpanId, Rule>, NoRule> {
    let mut left: BTreeMap<SpanId, Vec<Rule>> = BTreeMap::new();
    for shape in shapes(spec) {
        let Ok(instance) = instantiate(spec, &shape) else { continue };
        let program = aicpu::lower(&instance);
        for rank in 0..shape.ranks() {
            replay(&instance, &program, rank, &mut |at, seen| {
                let rules = left.entry(at).or_insert_with(|| candidates(spec.operator.counts()));
                rules.retain(|rule| seen.class(*rule) == Some(seen.class));
            });
        }
    }
    left.into_iter().map(|(at, rules)| rules.first().map(|rule| (at, *rule)).ok_or(NoRule { at })).collect()
}

/// The shapes that rules are tried on: those that the algorithm is verified for, and some larger ones.
fn shapes(spec: &Spec<'_>) -> Vec<Shape> {
    let layouts: Vec<Layout> = match spec.headers.verify {
        Verify::Ranks(first, last) => (1..=9).chain([11, 16]).chain([first, last]).filter_map(Layout::flat).collect(),
        Verify::Layouts(layouts) => layouts.to_vec(),
    };
    let mut shapes = Vec::new();
    for layout in layouts {
        if layout.ranks() > spec.max_ranks() || layout.ranks() > 32 {
            continue;
        }
        let mut roles = Some(Shape::first_roles(layout));
        while let Some(shape) = roles {
            shapes.push(shape);
            roles = shape.next_roles(spec.operator);
        }
    }
    shapes
}

/// Walks the tasks of a rank as emitted code does, and shows every chunk that moves between cells of scratch.
fn replay(instance: &Instance, program: &Program, rank: u32, show: &mut impl FnMut(SpanId, Seen)) {
    let mut next = vec![0; program.ranks[rank as usize].threads.len()];
    let mut held: Vec<Option<u32>> = vec![None; program.scratch as usize];
    let (ranks, split, classes) = (program.num_ranks(), program.split, program.classes());
    for task in &instance.ranks[rank as usize] {
        let Some(run) = task.kind.run() else { continue };
        let ops: &[Op] = &program.ranks[rank as usize].threads[task.lane as usize];
        let mut moved = 0;
        while moved < run.len {
            let op = &ops[next[task.lane as usize]];
            next[task.lane as usize] += 1;
            let Some(transfer) = op.kind.transfer() else { continue };
            let remote = |cell: Cell, other: bool| cell.buffer == Buffer::Scratch && !other;
            for j in 0..transfer.len {
                let class = (transfer.class + j) % classes;
                let (src, dst) = (transfer.src.chunk + j, transfer.dst.chunk + j);
                let writes = matches!(task.kind, TaskKind::Write(..) | TaskKind::WriteReduce(..));
                let reads = matches!(task.kind, TaskKind::Read(..) | TaskKind::ReadReduce(..));
                if transfer.src.buffer == Buffer::Scratch && transfer.dst.buffer == Buffer::Scratch {
                    let held_by = |cell: u32, other: bool| if other { None } else { held[cell as usize] };
                    let held = (held_by(dst, writes), held_by(src, reads));
                    show(
                        task.at,
                        Seen { ranks, split, classes, me: rank, peer: task.kind.peer(), src, dst, held, class },
                    );
                }
                if remote(transfer.dst, writes) && !op.kind.reduces() {
                    held[dst as usize] = Some(class);
                }
            }
            moved += transfer.len;
        }
    }
}
