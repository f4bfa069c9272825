//! The outputs against what the operator promises (H302).

use super::findings::Findings;
use super::matching::Matching;
use super::memory::Memory;
use super::model::{Model, NONE};
use super::result::{State, copies};
use super::values::{self, Run, UNWRITTEN, Value, Values};
use super::words::{self, bare_run, run};
use crate::diag::{Code, Diagnostic};
use crate::operator::{Buffer, Expected};
use crate::program::{Cell, Transfer};

/// Operations on the way of a wrong value that a message lists.
const MOST_HOPS: usize = 4;

/// An output chunk that is not what it should be.
struct Wrong {
    rank: u32,
    chunk: u32,
    expected: Expected,
    value: Value,
}

/// How it is wrong: what tells two faults on one line apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Misplaced,
    Missing,
    Twice,
    MissingAndTwice,
    Other,
}

/// Tells what is wrong with the outputs. Chunks that nothing wrote are told only if nothing else is wrong: they may
/// be what another fault should have written.
pub(super) fn check(
    model: &Model<'_>,
    matching: &Matching,
    memory: &Memory,
    state: &State,
    findings: &mut Findings<'_>,
) {
    let program = model.program;
    let mut is_wrong = false;
    let mut unwritten: Option<(u32, u32)> = None;
    for rank in 0..program.num_ranks() {
        for chunk in 0..program.chunks(Buffer::Output, rank) {
            let cell = memory.cell(rank, Cell { buffer: Buffer::Output, chunk });
            let value = state.held[cell as usize];
            let expected = program.operator.expected(&program.shape, program.split, rank, chunk);
            if holds(&state.values, value, expected, program.num_ranks()) {
                continue;
            }
            if value == UNWRITTEN {
                unwritten.get_or_insert((rank, chunk));
                continue;
            }
            let writer = state.writer[cell as usize];
            let wrong = Wrong { rank, chunk, expected, value };
            if writer == NONE {
                // In place, this chunk is the input's, and nothing has replaced it.
                unwritten.get_or_insert((rank, chunk));
                continue;
            }
            is_wrong = true;
            let at = model.op(writer).at;
            let kind = wrong.kind(&state.values, program.num_ranks());
            findings.add(Code::H302, kind as u32, [at; 2], || describe(model, matching, memory, state, &wrong, writer));
        }
    }
    if let Some((rank, chunk)) = unwritten.filter(|_| !is_wrong) {
        never_written(model, rank, chunk, findings);
    }
}

fn holds(values: &Values, value: Value, expected: Expected, ranks: u32) -> bool {
    match expected {
        Expected::Copy { rank, chunk } => {
            let input = values.input(rank);
            input.start + chunk == value && value < input.end
        }
        Expected::Reduction { chunk } => values.is_reduction(value, chunk, ranks),
    }
}

/// What the operator asks for, as contributions.
fn runs_of(expected: Expected, ranks: u32) -> [Run; 1] {
    match expected {
        Expected::Copy { rank, chunk } => [Run { chunk, from: rank, to: rank + 1, times: 1 }],
        Expected::Reduction { chunk } => [Run { chunk, from: 0, to: ranks, times: 1 }],
    }
}

impl Wrong {
    fn kind(&self, values: &Values, ranks: u32) -> Kind {
        let Expected::Reduction { chunk } = self.expected else {
            return if values.as_input(self.value).is_some() { Kind::Misplaced } else { Kind::Other };
        };
        let (runs, more) = values.contributions(self.value);
        if more {
            return Kind::Other;
        }
        if runs.iter().any(|run| run.chunk != chunk) {
            return Kind::Misplaced;
        }
        let is_missing = !missing(&runs, ranks).is_empty();
        match (is_missing, runs.iter().any(|run| run.times > 1)) {
            (true, true) => Kind::MissingAndTwice,
            (true, false) => Kind::Missing,
            (false, true) => Kind::Twice,
            (false, false) => Kind::Other,
        }
    }

    /// The sentence: what is there, and what should be.
    fn message(&self, values: &Values, ranks: u32) -> String {
        let Wrong { rank, chunk, .. } = *self;
        let (runs, more) = values.contributions(self.value);
        let place = bare_run(Cell { buffer: Buffer::Output, chunk }, 1);
        let is = values::describe(&runs, more);
        let should = values::describe(&runs_of(self.expected, ranks), false);
        let lacks = || format!("the contribution of {} is missing", words::ranks(&missing(&runs, ranks)));
        let doubled = || {
            let twice: Vec<(u32, u32)> =
                runs.iter().filter(|run| run.times > 1).map(|run| (run.from, run.to)).collect();
            format!("the contribution of {} is added more than once", words::ranks(&twice))
        };
        match self.kind(values, ranks) {
            Kind::Missing => format!("{place} of rank {rank} ends without all contributions: {}", lacks()),
            Kind::Twice => format!("{place} of rank {rank} ends with too much: {}", doubled()),
            Kind::MissingAndTwice => {
                format!("{place} of rank {rank} ends as a wrong sum: {}, and {}", lacks(), doubled())
            }
            Kind::Misplaced | Kind::Other => format!("{place} of rank {rank} ends as {is}, and should be {should}"),
        }
    }
}

/// The ranks that none of the runs, of one chunk, has.
fn missing(runs: &[Run], ranks: u32) -> Vec<(u32, u32)> {
    let mut missing = Vec::new();
    let mut next = 0;
    for run in runs {
        if run.from > next {
            missing.push((next, run.from));
        }
        next = next.max(run.to);
    }
    if next < ranks {
        missing.push((next, ranks));
    }
    missing
}

fn describe(
    model: &Model<'_>,
    matching: &Matching,
    memory: &Memory,
    state: &State,
    wrong: &Wrong,
    writer: u32,
) -> Diagnostic {
    let ranks = model.num_ranks();
    let span = words::span(model.program, model.op(writer).at);
    let mut diagnostic = Diagnostic::new(Code::H302, wrong.message(&state.values, ranks), span);
    let output = memory.cell(wrong.rank, Cell { buffer: Buffer::Output, chunk: wrong.chunk });
    let kind = wrong.kind(&state.values, ranks);
    let is_doubled = matches!(kind, Kind::Twice | Kind::MissingAndTwice);
    for (op, j) in way(model, matching, memory, writer, output, is_doubled) {
        let rank = model.rank_of(op);
        let kind = &model.op(op).kind;
        let (Some(transfer), Some((to, from))) = (kind.transfer(), kind.sides(rank)) else { continue };
        let [dst, src] = [transfer.dst, transfer.src].map(|cell| Cell { chunk: cell.chunk + j, ..cell });
        let (dst, src) = (run(dst, 1, to, rank), run(src, 1, from, rank));
        let verb = if copies(kind) { "copies" } else { "adds" };
        let story = if is_doubled { "it adds up this way" } else { "it came this way" };
        let message = format!("{story}: rank {rank} {verb} {src} to {dst}");
        diagnostic = diagnostic.with_related(message, words::span(model.program, model.op(op).at));
    }
    let help = match kind {
        Kind::Missing => "add every rank's contribution, its own included, once",
        Kind::Twice | Kind::MissingAndTwice => {
            "add every rank's contribution once: look for a chunk that is sent twice"
        }
        Kind::Misplaced | Kind::Other => "check the chunk indices on the way: which chunk is sent, and where to",
    };
    diagnostic.with_help(help).on(ranks, wrong.rank)
}

/// The operations that brought the value before the last one did, latest first, each with the chunk of its run: where
/// what was copied or added last comes from, or with `sums` all that was added up.
fn way(model: &Model<'_>, matching: &Matching, memory: &Memory, last: u32, output: u32, sums: bool) -> Vec<(u32, u32)> {
    let mut hops = Vec::new();
    let mut cell = output;
    let mut is_found = false;
    for &op in matching.order.iter().rev() {
        is_found |= op == last;
        let kind = &model.op(op).kind;
        let (Some(transfer), Some((to, from))) = (kind.transfer(), kind.sides(model.rank_of(op))) else { continue };
        let Transfer { dst, src, len, .. } = *transfer;
        let j = cell.wrapping_sub(memory.cell(to, dst));
        if !is_found || j >= len {
            continue;
        }
        if op != last {
            hops.push((op, j));
        }
        let source = memory.cell(from, src) + j;
        if source == cell || hops.len() == MOST_HOPS {
            break;
        }
        if copies(kind) || !sums {
            cell = source;
        }
    }
    hops
}

fn never_written(model: &Model<'_>, rank: u32, chunk: u32, findings: &mut Findings<'_>) {
    let (program, ranks) = (model.program, model.num_ranks());
    let expected = program.operator.expected(&program.shape, program.split, rank, chunk);
    let should = values::describe(&runs_of(expected, ranks), false);
    let place = bare_run(Cell { buffer: Buffer::Output, chunk }, 1);
    // The nearest that there is to a place for something that is not there: where the rank, or another, writes output.
    let writes_output = |op: &u32| {
        let kind = &model.op(*op).kind;
        let is_output = kind.transfer().is_some_and(|transfer| transfer.dst.buffer == Buffer::Output);
        is_output.then(|| kind.sides(model.rank_of(*op)).map(|(to, _)| to))?
    };
    let all = (0..model.num_ops()).filter_map(|op| writes_output(&op).map(|to| (op, to)));
    let nearest = all.min_by_key(|&(op, to)| (to != rank, op)).map(|(op, _)| model.op(op).at);
    let diagnostic = Diagnostic::new(
        Code::H302,
        format!("{place} of rank {rank} is never written, and should be {should}"),
        nearest.and_then(|at| findings.span(at)),
    )
    .with_help(format!("let a `copy_out` or a transfer write {place} on rank {rank}"))
    .on(ranks, rank);
    findings.add_global(diagnostic);
}
