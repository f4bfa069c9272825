//! What a race is told as (H201, H202).

use rustc_hash::FxHashSet;

use super::findings::Findings;
use super::model::Model;
use super::sweep::Unordered;
use super::words::{self, bare_run};
use crate::diag::{Code, Diagnostic};
use crate::ids::SpanId;
use crate::program::Cell;

/// What an access does to a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    /// Adds to it: reads and writes, in whatever order with other additions.
    Reduce,
    Write,
}

/// Two accesses that nothing orders, or one that the caller's own come between.
#[derive(Clone, Copy)]
pub(super) enum Clash {
    /// Two operations; the first came first in the execution that was looked at.
    Accesses { owner: u32, cell: Cell, first: Touch, second: Touch },
    /// The owner may not have started: its buffer is still the caller's.
    BeforeStart { owner: u32, cell: Cell, touch: Touch },
    /// The owner may have ended: its buffer is the caller's again.
    AfterEnd { owner: u32, cell: Cell, touch: Touch },
}

impl Touch {
    /// `reads it`
    fn it(self) -> &'static str {
        match self {
            Touch::Read => "reads it",
            Touch::Reduce => "adds to it",
            Touch::Write => "writes it",
        }
    }

    /// `still read it`
    fn still(self) -> &'static str {
        match self {
            Touch::Read => "still read it",
            Touch::Reduce => "still add to it",
            Touch::Write => "still write it",
        }
    }
}

/// Tells the races. The result has the statements of those within one repetition.
pub(super) fn report(
    model: &Model<'_>,
    mut found: Vec<Unordered<Clash>>,
    findings: &mut Findings<'_>,
) -> FxHashSet<SpanId> {
    // A race within a repetition is one between repetitions too; told once, as the former.
    found.sort_by_key(|unordered| unordered.next);
    let mut racy = FxHashSet::default();
    for unordered in &mut found {
        in_order_of_source(model, unordered);
        let (first, second) = (model.op(unordered.source).at, model.op(unordered.target).at);
        match unordered.about {
            Clash::Accesses { owner, cell, first: touch, second: other } => {
                if !unordered.next {
                    racy.extend([first, second]);
                }
                let both_reduce = touch == Touch::Reduce && other == Touch::Reduce;
                let code = if both_reduce { Code::H202 } else { Code::H201 };
                let both = [first.min(second), first.max(second)];
                findings.add(code, 0, both, || {
                    if both_reduce { either_order(model, unordered, owner, cell) } else { accesses(model, unordered) }
                });
            }
            Clash::BeforeStart { owner, cell, touch } => {
                racy.insert(second);
                findings.add(Code::H201, 1, [second; 2], || before_start(model, unordered.target, owner, cell, touch));
            }
            Clash::AfterEnd { owner, cell, touch } => {
                racy.insert(first);
                findings.add(Code::H201, 2, [first; 2], || after_end(model, unordered.source, owner, cell, touch));
            }
        }
    }
    racy
}

/// Two accesses of one repetition that nothing orders have no order: what is written first is told as the one that has
/// to come first.
fn in_order_of_source(model: &Model<'_>, unordered: &mut Unordered<Clash>) {
    let (first, second) = (model.op(unordered.source).at, model.op(unordered.target).at);
    if let Clash::Accesses { first: touch, second: other, .. } = &mut unordered.about
        && !unordered.next
        && words::span(model.program, second) < words::span(model.program, first)
    {
        std::mem::swap(touch, other);
        std::mem::swap(&mut unordered.source, &mut unordered.target);
    }
}

/// Who carries the two operations out: their ranks, or their threads if the rank is the same.
fn actors(model: &Model<'_>, first: u32, second: u32) -> (String, String) {
    if model.rank_of(first) != model.rank_of(second) {
        (format!("rank {}", model.rank_of(first)), format!("rank {}", model.rank_of(second)))
    } else {
        (words::thread(model, model.thread_of(first)), words::thread(model, model.thread_of(second)))
    }
}

fn accesses(model: &Model<'_>, unordered: &Unordered<Clash>) -> Diagnostic {
    let &Unordered { source: first, target: second, next, about } = unordered;
    let Clash::Accesses { owner, cell, first: touch, second: other } = about else {
        return Diagnostic::new(Code::H201, "race", None);
    };
    let span = |op: u32| words::span(model.program, model.op(op).at);
    let (early, late) = actors(model, first, second);
    let place = format!("{} of rank {owner}", bare_run(cell, 1));
    let pass = words::pass(model.program);
    let message = if next {
        format!(
            "race between two {pass}s on {place}: {late} {} in the next {pass} while {early} may {} in this one",
            other.it(),
            touch.still()
        )
    } else {
        format!("race on {place}: {late} {} while {early} may {}", other.it(), touch.still())
    };
    let same_rank = model.rank_of(first) == model.rank_of(second);
    let (p, q) = (model.rank_of(first), model.rank_of(second));
    let line = span(first).map_or(String::new(), |at| format!(" (line {})", at.line));
    let help = if same_rank {
        "do both in one lane, or end the `par` between them: what comes after a `par` waits for all its lanes".into()
    } else if next {
        format!(
            "rank {p} has to acknowledge: let it `signal` rank {q} after its last use of the chunk{line}, and let rank \
             {q} `wait` for that before it touches the chunk again"
        )
    } else if model.op(first).at == model.op(second).at {
        format!(
            "ranks {} and {} meet on one chunk in one step: check the chunk index; if it is meant, let rank {p} `signal` \
             rank {q} after its access, and rank {q} `wait` for that before its own",
            p.min(q),
            p.max(q)
        )
    } else if touch == Touch::Write && other == Touch::Write {
        format!(
            "give each rank a chunk of its own, or let rank {p} `signal` rank {q} after it has written{line}, and rank \
             {q} `wait` for that first"
        )
    } else {
        format!("let rank {p} `signal` rank {q} after this access{line}, and rank {q} `wait` for that before its own")
    };
    let related = format!("{early} {} here", touch.it());
    Diagnostic::new(Code::H201, message, span(second))
        .with_related(related, span(first))
        .with_help(help)
        .on(model.num_ranks(), owner)
}

fn either_order(model: &Model<'_>, unordered: &Unordered<Clash>, owner: u32, cell: Cell) -> Diagnostic {
    let &Unordered { source: first, target: second, .. } = unordered;
    let span = |op: u32| words::span(model.program, model.op(op).at);
    let (early, late) = actors(model, first, second);
    let message = format!(
        "{early} and {late} add to {} of rank {owner} in either order, and the algorithm is `deterministic`",
        bare_run(cell, 1)
    );
    Diagnostic::new(Code::H202, message, span(second))
        .with_related(format!("{early} adds to it here"), span(first))
        .with_help(
            "let one of them wait for the other, gather the contributions in chunks of their own and add them \
                    in one lane, or drop the header `deterministic;`",
        )
        .on(model.num_ranks(), owner)
}

fn before_start(model: &Model<'_>, op: u32, owner: u32, cell: Cell, touch: Touch) -> Diagnostic {
    let rank = model.rank_of(op);
    let who = if rank == owner { words::thread(model, model.thread_of(op)) } else { format!("rank {rank}") };
    let message = format!(
        "race with the caller on {} of rank {owner}: {who} {}, and rank {owner} may not have started",
        bare_run(cell, 1),
        touch.it()
    );
    let help = if rank == owner {
        "let the main thread start this thread: record a notify that the thread waits for first".into()
    } else {
        format!("let rank {owner} `signal` rank {rank} when it starts, and rank {rank} `wait` for that before this")
    };
    Diagnostic::new(Code::H201, message, words::span(model.program, model.op(op).at))
        .with_help(help)
        .on(model.num_ranks(), owner)
}

fn after_end(model: &Model<'_>, op: u32, owner: u32, cell: Cell, touch: Touch) -> Diagnostic {
    let rank = model.rank_of(op);
    let who = if rank == owner { words::thread(model, model.thread_of(op)) } else { format!("rank {rank}") };
    let message = format!(
        "race with the caller on {} of rank {owner}: {who} may {} when rank {owner} has ended",
        bare_run(cell, 1),
        touch.still()
    );
    let help = if rank == owner {
        "let the main thread wait for this thread at the end".into()
    } else {
        format!("let rank {rank} `signal` rank {owner} after this, and rank {owner} `wait` for that before it ends")
    };
    Diagnostic::new(Code::H201, message, words::span(model.program, model.op(op).at))
        .with_help(help)
        .on(model.num_ranks(), owner)
}
