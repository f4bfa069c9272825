//! The proof: what can go wrong with a program in any execution is found by looking at one (DESIGN section 8).
//!
//! # What is meant
//!
//! Every rank has threads, each an in-order queue of operations, all concurrent. A notify is one bit: a record sets
//! it, a wait blocks until it is set and clears it. The whole repeats, for every round and for every invocation; a
//! thread's queue of one repetition follows its queue of the one before, and nothing else separates repetitions.
//! `scratch` is the same memory in all of them. `input` and `output` are the caller's before the main thread of their
//! rank starts and after it ends, and between repetitions.
//!
//! # What is checked
//!
//! | part | finds |
//! | --- | --- |
//! | `structure` | numbers out of range, peers and buffers that may not be reached: H303, H304 |
//! | `matching`, `unmatched`, `cycles` | waits that never end, records nobody takes: H101, H102 |
//! | `reuse` | a notify that can be set twice before it is taken: H103 |
//! | `races`, `clash` | conflicting accesses that nothing orders: H201, H202 |
//! | `result`, `outputs`, `barrier` | what is computed: H301, H302, and H303 for lengths |
//!
//! A part runs only on what the ones before it leave standing: after H303 or H304 from `structure`, or H101 or H102,
//! there is no execution to speak of, and one mistake should give one message.
//!
//! # Why it is exact
//!
//! Programs have no data-dependent branches. If the notifies match, and none can be set again before it was taken or
//! taken out of turn, every execution pairs the same records with the same waits. Then "happens before" is one
//! relation, a graph: program order, and an edge from every record to its wait. Two conflicting accesses that it does
//! not order can happen at once; if all are ordered, every execution computes the same values, and one symbolic
//! execution tells them. Nothing is approximated in between: where look-ups do not show an order, paths are followed
//! (`sweep`).
//!
//! Repetitions are not unrolled. An edge of the graph stays in a repetition (records and waits are even in each) or
//! goes along a thread to the next one, so the graph of any number of repetitions is the same from one to the next,
//! what is asked of two that follow each other holds for any two (see `races`), and a matching within one repetition
//! is that of all.
//!
//! The tests hold this against an oracle that knows nothing of it: all interleavings of three repetitions, on mutants
//! of correct programs and on random ones. They agree on every program, harmful or harmless.
//!
//! # What is not checked here
//!
//! Limits and budgets (H401), what an engine and product offer (H402), and the order of floating-point additions
//! beyond `deterministic` (H202). Another operator that runs before or after this one on the same communicator is
//! taken to leave scratch alone: a program may rely on what its own last repetition has acknowledged.

mod barrier;
mod clash;
mod cycles;
mod findings;
mod matching;
mod memory;
mod model;
mod order;
mod outputs;
mod races;
mod result;
mod reuse;
mod structure;
mod sweep;
mod unmatched;
mod values;
mod words;

use crate::diag::Diagnostic;
use crate::ids::SpanId;
use crate::operator::Operator;
use crate::program::Program;
use findings::Findings;
use matching::Matching;
use memory::Memory;
use model::Model;
use order::Order;
use races::Context;
use rustc_hash::FxHashSet;

/// The most chunks of all buffers of all ranks that the checks take.
pub const MAX_CELLS: u64 = 1 << 26;
/// The most chunks that all operations together may move.
pub const MAX_MOVED: u64 = 1 << 26;
/// The most operations that the checks take.
pub const MAX_OPS: u64 = 1 << 30;

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Report {
    /// Faults, by place in the source. Empty if the program does what its operator promises in every execution.
    pub diagnostics: Vec<Diagnostic>,
    /// Faults that there are only if input and output overlap as the operator defines it. Empty if there is no such
    /// form, or the program is wrong anyway.
    pub in_place: Vec<Diagnostic>,
}

/// Everything that is wrong with the program: each distinct fault once, by place in the source.
pub fn check(program: &Program) -> Vec<Diagnostic> {
    Checked::new(program).diagnostics
}

/// What is wrong with the program if its input and output overlap as the operator defines it, and only then. Empty if
/// the operator has no such form, or the program is wrong anyway.
pub fn in_place(program: &Program) -> Vec<Diagnostic> {
    report(program).in_place
}

/// [`check`] and [`in_place`] in one go.
pub fn report(program: &Program) -> Report {
    let checked = Checked::new(program);
    let in_place = if checked.diagnostics.is_empty() { checked.in_place() } else { Vec::new() };
    Report { diagnostics: checked.diagnostics, in_place }
}

/// What is wrong with the program whatever it computes: all but the result. For programs whose operator is not known,
/// such as recorded ones; the operator then only says how many chunks there are.
pub fn execution(program: &Program) -> Vec<Diagnostic> {
    let mut findings = Findings::new(program);
    structure::check(program, &mut findings);
    let execution = if findings.is_empty() { execute(program, &mut findings) } else { None };
    if let Some((model, matching)) = &execution {
        execution_faults(program, model, matching, &mut findings);
    }
    findings.finish()
}

/// Notifies that are reused and accesses that race. The result has the statements that race.
fn execution_faults(
    program: &Program,
    model: &Model<'_>,
    matching: &Matching,
    findings: &mut Findings<'_>,
) -> FxHashSet<SpanId> {
    let order = Order::new(model, matching);
    reuse::check(model, matching, &order, findings);
    let memory = Memory::new(program, false);
    races::check(Context { model, matching, order: &order, memory: &memory, in_place: false }, findings)
}

/// A program after the checks.
struct Checked<'p> {
    program: &'p Program,
    diagnostics: Vec<Diagnostic>,
    /// What an execution looks like, if there is one.
    execution: Option<(Model<'p>, Matching)>,
}

impl<'p> Checked<'p> {
    fn new(program: &'p Program) -> Checked<'p> {
        let mut findings = Findings::new(program);
        structure::check(program, &mut findings);
        let execution = if findings.is_empty() { execute(program, &mut findings) } else { None };
        if let Some((model, matching)) = &execution {
            let racy = execution_faults(program, model, matching, &mut findings);
            result::check(model, matching, &Memory::new(program, false), &racy, &mut findings);
            if program.operator == Operator::Barrier {
                barrier::check(model, matching, &mut findings);
            }
        }
        Checked { program, diagnostics: findings.finish(), execution }
    }

    /// Faults of the in-place form of a program that is right otherwise.
    fn in_place(&self) -> Vec<Diagnostic> {
        let Some((model, matching)) = self.execution.as_ref().filter(|_| memory::has_in_place(self.program)) else {
            return Vec::new();
        };
        let mut findings = Findings::new(self.program);
        let memory = Memory::new(self.program, true);
        structure::check_overlap(model, &memory, &mut findings);
        if findings.is_empty() {
            let order = Order::new(model, matching);
            let context = Context { model, matching, order: &order, memory: &memory, in_place: true };
            let racy = races::check(context, &mut findings);
            drop(order);
            result::check(model, matching, &memory, &racy, &mut findings);
        }
        let mut diagnostics = findings.finish();
        for diagnostic in &mut diagnostics {
            diagnostic.message = format!("in place, {}", diagnostic.message);
        }
        diagnostics
    }
}

fn execute<'p>(program: &'p Program, findings: &mut Findings<'_>) -> Option<(Model<'p>, Matching)> {
    let model = Model::new(program);
    let matching = matching::run(&model, findings)?;
    Some((model, matching))
}
