//! What the program computes: one execution on contributions instead of numbers (H301, H302, H303).
//!
//! Every repetition starts with nothing but the inputs: what an earlier one left in scratch or output is no value
//! that a correct program can use, as the first repetition has none.

use rustc_hash::FxHashSet;

use super::findings::Findings;
use super::matching::Matching;
use super::memory::Memory;
use super::model::{Model, NONE};
use super::outputs;
use super::values::{self, SPOILT, UNWRITTEN, Value, Values};
use super::words::{bare_run, run};
use crate::diag::{Code, Diagnostic};
use crate::ids::SpanId;
use crate::operator::{Buffer, CountsBy};
use crate::program::{Cell, OpKind, Program, Transfer};

/// The memory of all ranks after some operations.
pub(super) struct State {
    pub(super) values: Values,
    /// The value of every chunk.
    pub(super) held: Vec<Value>,
    /// The operation that wrote every chunk last.
    pub(super) writer: Vec<u32>,
}

/// Runs the program and compares the outputs. Whatever a statement in `racy` writes is unknown: its fault is told
/// already.
pub(super) fn check(
    model: &Model<'_>,
    matching: &Matching,
    memory: &Memory,
    racy: &FxHashSet<SpanId>,
    findings: &mut Findings<'_>,
) {
    let mut state = State::new(model.program, memory);
    let mut is_wrong = false;
    for &op in &matching.order {
        let kind = &model.op(op).kind;
        if let (Some(transfer), Some(sides)) = (kind.transfer(), kind.sides(model.rank_of(op))) {
            let mut step = Step { model, memory, op, transfer, sides, racy, findings };
            is_wrong |= step.run(&mut state);
        }
        if state.values.is_full() {
            let message = "the program adds contributions in more different ways than the checks can hold";
            findings.add_global(Diagnostic::new(Code::H302, message, None));
            return;
        }
    }
    // If something is wrong on the way, so are the outputs: one mistake should give one message.
    if !is_wrong && racy.is_empty() {
        outputs::check(model, matching, memory, &state, findings);
    }
}

impl State {
    fn new(program: &Program, memory: &Memory) -> State {
        let values = Values::new(program);
        let mut held = vec![UNWRITTEN; memory.total() as usize];
        for rank in 0..program.num_ranks() {
            let first = memory.cell(rank, Cell { buffer: Buffer::Input, chunk: 0 });
            for (cell, value) in (first..).zip(values.input(rank)) {
                held[cell as usize] = value;
            }
        }
        State { values, held, writer: vec![NONE; memory.total() as usize] }
    }

    fn put(&mut self, cell: u32, value: Value, writer: u32) {
        self.values.retain(value);
        let before = std::mem::replace(&mut self.held[cell as usize], value);
        self.values.release(before);
        self.writer[cell as usize] = writer;
    }
}

/// One operation.
struct Step<'a, 'p, 'f> {
    model: &'a Model<'p>,
    memory: &'a Memory,
    op: u32,
    transfer: &'a Transfer,
    /// Whose memory is written, whose is read.
    sides: (u32, u32),
    racy: &'a FxHashSet<SpanId>,
    findings: &'a mut Findings<'f>,
}

impl Step<'_, '_, '_> {
    /// Whether something was wrong with it.
    fn run(&mut self, state: &mut State) -> bool {
        let Transfer { dst, src, len, class } = *self.transfer;
        let (to, from) = (self.memory.cell(self.sides.0, dst), self.memory.cell(self.sides.1, src));
        let kind = &self.model.op(self.op).kind;
        let (classes, reduces) = (self.model.program.classes(), kind.reduces());
        let is_racy = !self.racy.is_empty() && self.racy.contains(&self.model.op(self.op).at);
        let mut is_wrong = false;
        for j in 0..len {
            let (mine, theirs) = (state.held[(to + j) as usize], state.held[(from + j) as usize]);
            let mut value = if reduces && mine != UNWRITTEN && theirs != UNWRITTEN {
                state.values.add(mine, theirs)
            } else {
                theirs
            };
            if is_racy {
                value = SPOILT;
            } else if theirs == UNWRITTEN || (reduces && mine == UNWRITTEN) {
                self.unwritten(j, theirs == UNWRITTEN);
                (value, is_wrong) = (SPOILT, true);
            } else if classes > 1 && theirs != SPOILT && mine != SPOILT {
                let claim = ((u64::from(class) + u64::from(j)) % u64::from(classes)) as u32;
                let into = if reduces { Some(mine) } else { None };
                if !self.lengths_agree(&state.values, j, claim, theirs, into) {
                    (value, is_wrong) = (SPOILT, true);
                }
            }
            // A copy of a chunk onto itself changes nothing.
            if to != from || reduces {
                state.put(to + j, value, self.op);
            }
        }
        is_wrong
    }

    fn unwritten(&mut self, j: u32, is_source: bool) {
        let (rank, at) = (self.model.rank_of(self.op), self.model.op(self.op).at);
        let (cell, owner) =
            if is_source { (self.transfer.src, self.sides.1) } else { (self.transfer.dst, self.sides.0) };
        let cell = Cell { chunk: cell.chunk + j, ..cell };
        let span = self.findings.span(at);
        let ranks = self.model.num_ranks();
        self.findings.add(Code::H301, u32::from(is_source), [at; 2], || {
            let verb = if is_source { "reads" } else { "adds to" };
            let message = format!("rank {rank} {verb} {}, which nothing has written before", run(cell, 1, owner, rank));
            let help = if is_source {
                format!("write {} first, or read a chunk that was written", bare_run(cell, 1))
            } else {
                format!(
                    "copy the first contribution into {} with `=`, then add the others with `+=`",
                    bare_run(cell, 1)
                )
            };
            Diagnostic::new(Code::H301, message, span).with_help(help).on(ranks, rank)
        });
    }

    /// Whether source, destination and the operation agree on the length of chunk `j`. What is added to is `into`.
    fn lengths_agree(&mut self, values: &Values, j: u32, claim: u32, value: Value, into: Option<Value>) -> bool {
        let program = self.model.program;
        let Transfer { dst, src, .. } = *self.transfer;
        let of_input = |(rank, chunk)| program.class_of(Buffer::Input, rank, chunk);
        let class = |value: Value| values.a_contribution(value).map_or(claim, of_input);
        let place = |cell: Cell, rank: u32| match cell.buffer {
            Buffer::Scratch => claim,
            buffer => program.class_of(buffer, rank, cell.chunk + j),
        };
        let (to_place, from_place) = (place(dst, self.sides.0), place(src, self.sides.1));
        let (have, into_class) = (class(value), into.map(class));
        if have == claim && from_place == claim && to_place == claim && into_class.is_none_or(|class| class == claim) {
            return true;
        }
        let (rank, at) = (self.model.rank_of(self.op), self.model.op(self.op).at);
        let (ranks, span) = (self.model.num_ranks(), self.findings.span(at));
        let from = run(Cell { chunk: src.chunk + j, ..src }, 1, self.sides.1, rank);
        let to = run(Cell { chunk: dst.chunk + j, ..dst }, 1, self.sides.0, rank);
        let name = |class: u32| length(program, class);
        self.findings.add(Code::H303, 5, [at; 2], || {
            let (runs, more) = values.contributions(value);
            let held = values::describe(&runs, more);
            let reduces = into.is_some();
            let problem = match into_class {
                Some(other) if other != have => {
                    format!("adds {held} ({}, in {from}) to {}, in {to}", name(have), name(other))
                }
                _ if dst.buffer != Buffer::Scratch && to_place != have => {
                    let verb = if reduces { "adds" } else { "copies" };
                    format!("{verb} {held} ({}, in {from}) to {to}, which is {}", name(have), name(to_place))
                }
                _ => format!("moves {held} from {from} as if it were {}; it is {}", name(claim), name(have)),
            };
            let message = format!("rank {rank} {problem}: their lengths differ");
            let help = match program.operator.counts() {
                CountsBy::All => format!(
                    "a slot is cut into {} chunks and the last ones may be shorter: move chunk k of a slot only to \
                     chunk k of a slot",
                    program.split
                ),
                CountsBy::Rank => "every rank has a count of its own: move a chunk only to where that rank's is".into(),
                CountsBy::Pair => {
                    "every pair of ranks has a count of its own: move a chunk only to where that pair's is".into()
                }
            };
            Diagnostic::new(Code::H303, message, span).with_help(help).on(ranks, rank)
        });
        false
    }
}

/// Whether the operation leaves its source in its destination, as against adding to it.
pub(super) fn copies(kind: &OpKind) -> bool {
    kind.transfer().is_some() && !kind.reduces()
}

/// A length class in words.
fn length(program: &Program, class: u32) -> String {
    let (owner, part) = (class / program.split.max(1), class % program.split.max(1));
    match program.operator.counts() {
        CountsBy::All => format!("chunk {class} of a slot"),
        CountsBy::Rank => format!("chunk {part} of rank {owner}'s slot"),
        CountsBy::Pair => {
            let (from, to) = (owner / program.num_ranks(), owner % program.num_ranks());
            format!("chunk {part} of what rank {from} sends to rank {to}")
        }
    }
}
