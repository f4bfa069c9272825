//! The checks against runs: every way to break every algorithm of the library, judged by both.
//!
//! A mutant is a program with one change ([`change`], `support/slips.rs`). What it does is found out by running it
//! ([`truth`]); what the checks say is asked only afterwards. They must reject every mutant that some run shows to be
//! wrong, and no other.
//!
//! The ordinary run takes a few mutants of every algorithm. All of them, at more ranks, and the tables of
//! `docs/mutants.md`:
//!
//! ```sh
//! UPDATE_DOCS=1 cargo test --release -p hcomm-algos --features sweep --test mutants
//! ```
#![allow(clippy::unwrap_used, reason = "tests")]

mod change;
mod schedule;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod truth;
mod watch;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hcomm_algos::LIBRARY;
use hcomm_core::check::check;
use hcomm_core::diag::Diagnostic;
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower;
use hcomm_core::program::Program;
use hcomm_core::shape::Shape;
use hcomm_core::spec::Spec;

use support::slips::slips;
use table::{Table, Tally};
use truth::{Effort, Truth, truth};

const SWEEP: bool = cfg!(feature = "sweep");

/// How much of it.
struct Scale {
    ranks: &'static [u32],
    /// Roles of one layout.
    roles: usize,
    /// At most so many mutants of one program, and slips of one algorithm.
    most: usize,
    effort: Effort,
}

const SCALE: Scale = if SWEEP {
    Scale { ranks: &[2, 3, 4, 5, 6], roles: 2, most: 400, effort: Effort::MUCH }
} else {
    Scale { ranks: &[3, 4], roles: 1, most: 24, effort: Effort::LITTLE }
};

fn shapes(spec: &Spec<'_>) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let flat = if SWEEP { &SCALE.ranks[..4] } else { &SCALE.ranks[..1] };
    let ranks = if support::is_flat(spec) { flat } else { SCALE.ranks };
    for layout in support::layouts(spec, ranks) {
        let mut roles = support::some_roles(spec, layout);
        // The first and the last: those in between are like them.
        if roles.len() > SCALE.roles {
            roles.drain(1..=roles.len() - SCALE.roles);
        }
        shapes.extend(roles);
    }
    shapes
}

/// Every n-th, so that no more than `most` remain; which of them depends on `start`.
fn some<T>(all: Vec<T>, most: usize, start: usize) -> Vec<T> {
    let step = all.len().div_ceil(most).max(1);
    all.into_iter().skip(start % step).step_by(step).collect()
}

/// What both say about one mutant.
fn judge(program: &Program) -> (Truth, Vec<Diagnostic>) {
    let mut known = truth(program, SCALE.effort);
    let found = check(program);
    if !known.is_wrong() && !found.is_empty() {
        known = truth(program, Effort::FULL);
    }
    (known, found)
}

fn tally(known: &Truth, found: &[Diagnostic]) -> Tally {
    let (is_wrong, is_rejected) = (known.is_wrong(), !found.is_empty());
    let count = |is: bool| u32::from(is);
    Tally {
        mutants: 1,
        refused: count(matches!(known, Truth::Refused(_))),
        harmful: count(matches!(known, Truth::Harmful(_))),
        race: count(matches!(known, Truth::Race(_))),
        additions: count(matches!(known, Truth::Additions(_))),
        harmless: count(!is_wrong),
        caught: count(is_wrong && is_rejected),
        missed: count(is_wrong && !is_rejected),
        false_alarms: count(!is_wrong && is_rejected),
    }
}

/// All mutants of one algorithm.
fn algorithm(number: usize, spec: &Spec<'_>) -> Table {
    let mut table = Table::default();
    let name = (number, spec.snake);
    let mut add = |kind: &str, what: String, known: &Truth, found: &[Diagnostic]| {
        let one = tally(known, found);
        table.add(name, kind, &one);
        if one.missed + one.false_alarms > 0 {
            let said: Vec<String> = found.iter().map(ToString::to_string).collect();
            table.disagreements.push(format!("{}, {kind}, {what}\n  runs: {known:?}\n  checks: {said:?}", spec.snake));
        }
    };
    for shape in shapes(spec) {
        let at = format!("{} root {} src {}", shape.layout, shape.root, shape.src);
        let original = lower(&instantiate(spec, &shape).unwrap());
        let (known, found) = judge(&original);
        add("none", at.clone(), &known, &found);
        for mutant in some(change::mutants(&original), SCALE.most, number) {
            let (known, found) = judge(&mutant.program);
            let what = format!("{at}, {} {}", mutant.kind, mutant.what);
            add(mutant.kind, what.clone(), &known, &found);
            // What does no harm may do some together with another change.
            if !known.is_wrong() && found.is_empty() {
                let mut second = change::mutants(&mutant.program);
                let second = second.swap_remove(what.len() * 7919 % second.len());
                let (known, found) = judge(&second.program);
                add("two changes", format!("{what}, {} {}", second.kind, second.what), &known, &found);
            }
        }
        for slip in some(slips(spec), SCALE.most, number) {
            let kind = format!("text: {}", slip.kind);
            let what = format!("{at}, `{}` ({})", slip.text, slip.nth);
            match slip.spec.with_spec(|spec| instantiate(spec, &shape)) {
                Err(faults) => add(&kind, what, &Truth::Refused(faults[0].to_string()), &faults),
                Ok(instance) => {
                    let (known, found) = judge(&lower(&instance));
                    add(&kind, what, &known, &found);
                }
            }
        }
    }
    table
}

/// All algorithms, on all cores.
fn all() -> Table {
    let (next, table) = (AtomicUsize::new(0), Mutex::new(Table::default()));
    // For work on one algorithm.
    let only = std::env::var("MUTANTS_OF").ok();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(spec) = LIBRARY.get(number) else { break };
                    if only.as_ref().is_some_and(|only| only != spec.snake) {
                        continue;
                    }
                    let of_one = algorithm(number, spec);
                    table.lock().unwrap().merge(of_one);
                }
            });
        }
    });
    table.into_inner().unwrap()
}

#[test]
fn the_checks_reject_what_misbehaves_and_nothing_else() {
    let table = all();
    let total = table.total();
    let all = table.disagreements.join("\n");
    assert!(table.disagreements.is_empty(), "{} disagreements, {total:?}\n{all}", table.disagreements.len());
    if std::env::var_os("MUTANTS_OF").is_some() {
        return;
    }
    assert!(total.harmful > 500 && total.harmless > 20, "{total:?}");
    if SWEEP {
        compare_with_docs(&table.page());
    }
}

/// `docs/mutants.md` is what the sweep finds.
fn compare_with_docs(page: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/mutants.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == page, "docs/mutants.md is not up to date: run with UPDATE_DOCS=1");
}
