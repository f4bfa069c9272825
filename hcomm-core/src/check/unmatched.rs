//! Notifies that are set more often than waited for, or waited for more often than set (H102).

use rustc_hash::{FxHashMap, FxHashSet};

use super::findings::Findings;
use super::model::Model;
use super::words;
use crate::diag::{Code, Diagnostic};
use crate::ids::SpanId;
use crate::program::OpKind;

/// A notify whose records and waits differ in number in one repetition.
pub(super) struct Uneven {
    /// Its number.
    pub(super) notify: u32,
    pub(super) records: u32,
    pub(super) waits: u32,
    /// Its last record and its last wait.
    record: Option<u32>,
    wait: Option<u32>,
    /// Its statements: whether they wait, how often, and the last operation of each.
    statements: Vec<(SpanId, bool, u32, u32)>,
}

/// Statements of a notify that are told apart.
const MOST_STATEMENTS: usize = 16;

/// The uneven notifies, by the place of their first use.
pub(super) fn uneven(model: &Model<'_>) -> Vec<Uneven> {
    let mut balance = vec![0i64; model.num_notifies() as usize];
    for op in 0..model.num_ops() {
        if let Some(notify) = model.notify_of(op) {
            balance[notify as usize] += if model.is_wait(op) { -1 } else { 1 };
        }
    }
    if balance.iter().all(|&balance| balance == 0) {
        return Vec::new();
    }
    let mut uneven: Vec<Uneven> = Vec::new();
    let mut place = FxHashMap::default();
    for op in 0..model.num_ops() {
        let Some(notify) = model.notify_of(op).filter(|&notify| balance[notify as usize] != 0) else { continue };
        let at = *place.entry(notify).or_insert_with(|| {
            uneven.push(Uneven { notify, records: 0, waits: 0, record: None, wait: None, statements: Vec::new() });
            uneven.len() - 1
        });
        let counts = &mut uneven[at];
        counts.count_statement(model.op(op).at, model.is_wait(op), op);
        if model.is_wait(op) {
            (counts.waits, counts.wait) = (counts.waits + 1, Some(op));
        } else {
            (counts.records, counts.record) = (counts.records + 1, Some(op));
        }
    }
    uneven
}

impl Uneven {
    fn count_statement(&mut self, at: SpanId, waits: bool, op: u32) {
        if let Some(statement) = self.statements.iter_mut().find(|known| (known.0, known.1) == (at, waits)) {
            (statement.2, statement.3) = (statement.2 + 1, op);
        } else if self.statements.len() < MOST_STATEMENTS {
            self.statements.push((at, waits, 1, op));
        }
    }

    /// The operation that has no counterpart, most likely: of the kind that there is too much of, what remains when
    /// signals and waits that are written close together are taken as belonging together.
    fn extra(&self, model: &Model<'_>) -> Option<u32> {
        let too_many_waits = self.waits > self.records;
        let line = |at: SpanId| words::span(model.program, at).map_or(0, |span| span.line);
        let (mut many, mut few): (Vec<_>, Vec<_>) =
            self.statements.iter().copied().partition(|&(_, waits, ..)| waits == too_many_waits);
        let mut pairs: Vec<(u32, usize, usize)> = Vec::new();
        for (i, one) in many.iter().enumerate() {
            for (j, other) in few.iter().enumerate() {
                pairs.push((line(one.0).abs_diff(line(other.0)), i, j));
            }
        }
        pairs.sort_unstable();
        for (_, i, j) in pairs {
            let together = many[i].2.min(few[j].2);
            many[i].2 -= together;
            few[j].2 -= together;
        }
        let left = many.iter().find(|(.., times, _)| *times > 0).map(|&(.., last)| last);
        left.or(if too_many_waits { self.wait } else { self.record })
    }
}

/// Tells them, a missing wait together with the wait for something else that stands in its place.
pub(super) fn report(model: &Model<'_>, uneven: &[Uneven], findings: &mut Findings<'_>) {
    let counterparts = Counterparts::new(model, uneven);
    let mut told: FxHashSet<SpanId> = FxHashSet::default();
    for counts in uneven.iter().filter(|counts| counts.records == 0) {
        let Some(wait) = counts.wait else { continue };
        let Some(record) = counterparts.of(model, wait) else { continue };
        told.extend([model.op(wait).at, model.op(record).at]);
        findings.add(Code::H102, 0, [model.op(wait).at, model.op(record).at], || crossed(model, wait, record));
    }
    for counts in uneven {
        let Some(op) = counts.extra(model) else { continue };
        let at = model.op(op).at;
        if !told.contains(&at) {
            findings.add(Code::H102, 1, [at; 2], || one_sided(model, counts, op));
        }
    }
}

/// Records that nobody waits for, by what they may have been meant for.
struct Counterparts {
    /// By sender, receiver.
    other_index: FxHashMap<(u32, u32), u32>,
    /// By sender, index.
    other_receiver: FxHashMap<(u32, u32), u32>,
    /// By receiver, index.
    other_sender: FxHashMap<(u32, u32), u32>,
}

impl Counterparts {
    fn new(model: &Model<'_>, uneven: &[Uneven]) -> Counterparts {
        let mut counterparts = Counterparts {
            other_index: FxHashMap::default(),
            other_receiver: FxHashMap::default(),
            other_sender: FxHashMap::default(),
        };
        for record in uneven.iter().filter(|counts| counts.waits == 0).filter_map(|counts| counts.record) {
            if let Some(Signal { sender, receiver, index }) = Signal::of(model, record) {
                counterparts.other_index.entry((sender, receiver)).or_insert(record);
                counterparts.other_receiver.entry((sender, index)).or_insert(record);
                counterparts.other_sender.entry((receiver, index)).or_insert(record);
            }
        }
        counterparts
    }

    /// The record that may have been meant for the wait.
    fn of(&self, model: &Model<'_>, wait: u32) -> Option<u32> {
        let Signal { sender, receiver, index } = Signal::of(model, wait)?;
        let found = self.other_index.get(&(sender, receiver));
        let found = found.or_else(|| self.other_receiver.get(&(sender, index)));
        found.or_else(|| self.other_sender.get(&(receiver, index))).copied()
    }
}

/// A channel notify: who sets it for whom.
struct Signal {
    sender: u32,
    receiver: u32,
    index: u32,
}

impl Signal {
    fn of(model: &Model<'_>, op: u32) -> Option<Signal> {
        let rank = model.rank_of(op);
        match model.op(op).kind {
            OpKind::ChannelNotifyWait { peer, notify } => Some(Signal { sender: peer, receiver: rank, index: notify }),
            OpKind::ChannelNotifyRecord { peer, notify }
            | OpKind::WriteWithNotify(peer, _, notify)
            | OpKind::WriteReduceWithNotify(peer, _, notify) => {
                Some(Signal { sender: rank, receiver: peer, index: notify })
            }
            _ => None,
        }
    }
}

/// A wait for one thing and a record of another.
fn crossed(model: &Model<'_>, wait: u32, record: u32) -> Diagnostic {
    let at = |op| words::span(model.program, model.op(op).at);
    let message = format!("{}, which is never signalled", words::waits(model, wait));
    let related = format!("{}, and nobody waits for it", words::records(model, record));
    Diagnostic::new(Code::H102, message, at(wait))
        .with_related(related, at(record))
        .with_help(
            "make the two name the same notify and each other's rank; `signal P;` and `wait P;` mean `ready` in \
                    `pre_sync` and `done` in `post_sync`",
        )
        .on(model.num_ranks(), model.rank_of(wait))
}

/// Too many of one and too few of the other.
fn one_sided(model: &Model<'_>, counts: &Uneven, op: u32) -> Diagnostic {
    let at = |op| words::span(model.program, model.op(op).at);
    let Uneven { records, waits, .. } = *counts;
    let (message, help) = if waits == 0 {
        (
            format!("{}, and nobody waits for it", words::records(model, op)),
            format!(
                "let {} wait for it, or leave the signal out: a notify that stays set lets a wait of the next {} \
                 pass too early",
                words::waiter(model, op),
                words::pass(model.program)
            ),
        )
    } else if records == 0 {
        (
            format!("{}, which is never signalled: the wait never ends", words::waits(model, op)),
            format!("let {} signal it, or leave the wait out", words::recorder(model, op)),
        )
    } else if records > waits {
        (
            format!(
                "{} here, and no wait takes it: {} in all, and {}",
                words::records(model, op),
                words::count(records, "signal"),
                words::count(waits, "wait")
            ),
            format!("let {} wait once for every signal", words::waiter(model, op)),
        )
    } else {
        (
            format!(
                "{} here, and no signal is left for it: {} in all, and {}",
                words::waits(model, op),
                words::count(waits, "wait"),
                words::count(records, "signal")
            ),
            format!("let {} signal once for every wait", words::recorder(model, op)),
        )
    };
    let mut diagnostic =
        Diagnostic::new(Code::H102, message, at(op)).with_help(help).on(model.num_ranks(), model.rank_of(op));
    let other = if records > waits { counts.wait } else { counts.record };
    if let Some(other) = other {
        let what = if records > waits { words::waits(model, other) } else { words::records(model, other) };
        diagnostic = diagnostic.with_related(format!("{what} here"), at(other));
    }
    diagnostic
}
