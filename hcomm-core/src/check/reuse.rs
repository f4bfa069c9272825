//! A notify is one bit: nobody may set it again before the last time was taken, nor wait for it out of turn (H103).
//!
//! For the k-th record of a notify and the one after it, in every execution
//!
//! * the k-th wait comes before the next record, so that no record is lost, and the records are in order whichever
//!   threads they are on;
//! * the k-th wait comes before whatever precedes the next wait on its thread, so that no wait takes the record that
//!   was meant for another. (That the next wait's own record comes later is no help: it is this record that might go
//!   to the wrong one.) On one thread that is always so.
//!
//! The last record of a repetition is followed by the first of the next.

use super::findings::Findings;
use super::matching::Matching;
use super::model::{Model, NONE};
use super::order::Order;
use super::sweep::{Sweep, Unordered};
use super::words;
use crate::diag::{Code, Diagnostic};

/// What can come too early.
#[derive(Clone, Copy)]
enum Early {
    /// The next record.
    Record,
    /// The next wait.
    Wait(u32),
}

/// Tells notifies that can be set twice before they are taken, or taken out of turn.
pub(super) fn check(model: &Model<'_>, matching: &Matching, order: &Order<'_, '_>, findings: &mut Findings<'_>) {
    let mut turns = Turns { model, order, sweep: Sweep::new(model, matching) };
    // The first and the last record of every notify.
    let mut used = vec![(NONE, NONE); model.num_notifies() as usize];
    for &op in &matching.order {
        let Some(notify) = model.notify_of(op).filter(|_| !model.is_wait(op)) else { continue };
        let (first, last) = &mut used[notify as usize];
        if *first == NONE {
            *first = op;
        } else if let (Some(wait), Some(next)) = (matching.mate(*last), matching.mate(op)) {
            turns.one_after_another(wait, op, next, false);
        }
        *last = op;
    }
    for (first, last) in used {
        if first != NONE
            && let (Some(wait), Some(next)) = (matching.mate(last), matching.mate(first))
        {
            turns.one_after_another(wait, first, next, true);
        }
    }
    for unordered in turns.sweep.finish() {
        report(model, matching, &unordered, findings);
    }
}

struct Turns<'a, 'p> {
    model: &'a Model<'p>,
    order: &'a Order<'a, 'p>,
    sweep: Sweep<'a, 'p, Early>,
}

impl Turns<'_, '_> {
    /// A wait has to come before the next record and wait of its notify, which may be in the next repetition.
    fn one_after_another(&mut self, wait: u32, record: u32, next_wait: u32, in_next: bool) {
        self.ask(wait, record, in_next, Early::Record);
        let thread = self.model.thread_of(next_wait);
        if thread != self.model.thread_of(wait) {
            let ops = self.model.ops_of(thread);
            if next_wait > ops.start {
                self.ask(wait, next_wait - 1, in_next, Early::Wait(next_wait));
            } else if in_next {
                self.ask(wait, ops.end - 1, false, Early::Wait(next_wait));
            } else {
                // Nothing holds back the first operation of a thread.
                let key = self.key(wait, next_wait);
                let about = Early::Wait(next_wait);
                self.sweep.note(key, Unordered { source: wait, target: next_wait, next: in_next, about });
            }
        }
    }

    fn ask(&mut self, wait: u32, target: u32, in_next: bool, about: Early) {
        let is_known = if in_next { self.order.before_next(wait, target) } else { self.order.before(wait, target) };
        if !is_known {
            let early = if let Early::Wait(next) = about { next } else { target };
            let key = self.key(wait, early);
            let group = self.sweep.single(wait);
            self.sweep.ask(group, target, in_next, key, about);
            self.sweep.answer_if_many();
        }
    }

    /// The statements of the two.
    fn key(&self, wait: u32, early: u32) -> u64 {
        u64::from(self.model.op(wait).at.0) << 32 | u64::from(self.model.op(early).at.0)
    }
}

fn report(model: &Model<'_>, matching: &Matching, unordered: &Unordered<Early>, findings: &mut Findings<'_>) {
    let &Unordered { source: wait, target, next, about } = unordered;
    match about {
        Early::Record => {
            let at = [model.op(wait).at, model.op(target).at];
            findings.add(Code::H103, 0, at, || set_again(model, matching, wait, target, next));
        }
        Early::Wait(early) => {
            let (one, other) = (model.op(wait).at, model.op(early).at);
            let at = [one.min(other), one.max(other)];
            findings.add(Code::H103, 1, at, || taken_out_of_turn(model, wait, early));
        }
    }
}

fn set_again(model: &Model<'_>, matching: &Matching, wait: u32, record: u32, next: bool) -> Diagnostic {
    let span = |op| words::span(model.program, model.op(op).at);
    let previous = matching.mate(wait).unwrap_or(record);
    let again = format!(" again in the next {}", words::pass(model.program));
    let when = if next { &*again } else { " a second time" };
    let message = format!(
        "{}{when}, and {} may not have taken the first one: a notify is one bit, so one of the two is lost",
        words::records(model, record),
        words::waiter(model, record),
    );
    let mut diagnostic = Diagnostic::new(Code::H103, message, span(record));
    if previous != record && model.op(previous).at != model.op(record).at {
        diagnostic =
            diagnostic.with_related(format!("{}, the first time", words::records(model, previous)), span(previous));
    }
    let related = format!("{}; this has to come before the next signal", words::waits(model, wait));
    let is_own_rank = model.rank_of(wait) == model.rank_of(record);
    let help = if model.thread_of(previous) != model.thread_of(record) {
        "two lanes share one notify: give each a name of its own (`signal P.name;` and `wait P.name;`)".into()
    } else if is_own_rank {
        format!("let {} answer after its wait, and wait for the answer before this", words::waiter(model, record))
    } else {
        format!(
            "let rank {} wait, before this, for something that rank {} signals after that wait",
            model.rank_of(record),
            model.rank_of(wait)
        )
    };
    diagnostic.with_related(related, span(wait)).with_help(help).on(model.num_ranks(), model.rank_of(record))
}

fn taken_out_of_turn(model: &Model<'_>, wait: u32, early: u32) -> Diagnostic {
    let span = |op| words::span(model.program, model.op(op).at);
    let [one, other] = [wait, early].map(|op| words::thread(model, model.thread_of(op)));
    let message = format!(
        "two lanes on one notify: {}, on {other} and on {one}, and either may take it",
        words::waits(model, early)
    );
    Diagnostic::new(Code::H103, message, span(early))
        .with_related(format!("the other wait, on {one}"), span(wait))
        .with_help("give each lane a notify of its own: `signal P.name;` and `wait P.name;`")
        .on(model.num_ranks(), model.rank_of(early))
}
