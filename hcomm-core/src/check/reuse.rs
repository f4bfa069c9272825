//! A notify is one bit: nobody may set it again before the last time was taken (H103).
//!
//! For the k-th record of a notify and the one after it, the k-th wait has to come before the latter in every
//! execution; and the last wait of a repetition before the first record of the next. That also orders the records
//! among themselves, and the waits, whichever threads they are on.

use super::findings::Findings;
use super::matching::Matching;
use super::model::{Model, NONE};
use super::order::Order;
use super::sweep::{Sweep, Unordered};
use super::words;
use crate::diag::{Code, Diagnostic};

/// Tells notifies that can be set twice before they are taken.
pub(super) fn check(model: &Model<'_>, matching: &Matching, order: &Order<'_, '_>, findings: &mut Findings<'_>) {
    let mut sweep: Sweep<'_, '_, ()> = Sweep::new(model, matching);
    let mut ask = |wait: u32, record: u32, next: bool| {
        let known = if next { order.before_next(wait, record) } else { order.before(wait, record) };
        if !known {
            let key = u64::from(model.op(wait).at.0) << 32 | u64::from(model.op(record).at.0);
            let group = sweep.single(wait);
            sweep.ask(group, record, next, key, ());
            sweep.answer_if_many();
        }
    };
    // The first and the last record of every notify.
    let mut used = vec![(NONE, NONE); model.num_notifies() as usize];
    for &op in &matching.order {
        let Some(notify) = model.notify_of(op).filter(|_| !model.is_wait(op)) else { continue };
        let (first, last) = &mut used[notify as usize];
        if *first == NONE {
            *first = op;
        } else if let Some(wait) = matching.mate(*last) {
            ask(wait, op, false);
        }
        *last = op;
    }
    for (first, last) in used {
        if first != NONE
            && let Some(wait) = matching.mate(last)
        {
            ask(wait, first, true);
        }
    }
    for unordered in sweep.finish() {
        report(model, matching, &unordered, findings);
    }
}

fn report(model: &Model<'_>, matching: &Matching, unordered: &Unordered<()>, findings: &mut Findings<'_>) {
    let &Unordered { source: wait, target: record, next, .. } = unordered;
    let (at_wait, at_record) = (model.op(wait).at, model.op(record).at);
    let span = |at| words::span(model.program, at);
    findings.add(Code::H103, 0, [at_wait, at_record], || {
        let previous = matching.mate(wait).unwrap_or(record);
        let when = if next { " again in the next round" } else { " a second time" };
        let message = format!(
            "{}{when}, and {} may not have taken the first one: a notify is one bit, so one of the two is lost",
            words::records(model, record),
            words::waiter(model, record),
        );
        let mut diagnostic = Diagnostic::new(Code::H103, message, span(at_record));
        if previous != record && model.op(previous).at != at_record {
            let first = format!("{}, the first time", words::records(model, previous));
            diagnostic = diagnostic.with_related(first, span(model.op(previous).at));
        }
        let related = format!("{}; this has to come before the next signal", words::waits(model, wait));
        let lanes = model.thread_of(previous) != model.thread_of(record);
        let help = if lanes && model.rank_of(previous) == model.rank_of(record) {
            "two lanes share one notify: give each a name of its own (`signal P.name;` and `wait P.name;`)".into()
        } else if model.rank_of(wait) == model.rank_of(record) {
            format!("let {} answer after its wait, and wait for the answer before this", words::waiter(model, record))
        } else {
            format!(
                "let rank {} wait, before this, for something that rank {} signals after that wait",
                model.rank_of(record),
                model.rank_of(wait)
            )
        };
        diagnostic.with_related(related, span(at_wait)).with_help(help).on(model.num_ranks(), model.rank_of(record))
    });
}
