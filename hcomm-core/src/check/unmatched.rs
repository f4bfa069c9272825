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
}

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
            uneven.push(Uneven { notify, records: 0, waits: 0, record: None, wait: None });
            uneven.len() - 1
        });
        let counts = &mut uneven[at];
        if model.is_wait(op) {
            (counts.waits, counts.wait) = (counts.waits + 1, Some(op));
        } else {
            (counts.records, counts.record) = (counts.records + 1, Some(op));
        }
    }
    uneven
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
        let extra = if counts.records > counts.waits { counts.record } else { counts.wait };
        let Some(op) = extra else { continue };
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
                "let {} wait for it, or leave the signal out: a notify that stays set lets a wait of the next round \
                 pass too early",
                words::waiter(model, op)
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
                "{}, {} in all, and only {} {}",
                words::records(model, op),
                words::times(records),
                words::count(waits, "wait"),
                if waits == 1 { "takes it" } else { "take it" },
            ),
            format!("wait once for every signal ({} here)", words::count(records - waits, "wait") + " missing"),
        )
    } else {
        (
            format!(
                "{}, {} in all, and it is signalled only {}: the last wait never ends",
                words::waits(model, op),
                words::times(waits),
                words::times(records)
            ),
            format!("signal once for every wait ({} here)", words::count(waits - records, "signal") + " missing"),
        )
    };
    let mut diagnostic =
        Diagnostic::new(Code::H102, message, at(op)).with_help(help).on(model.num_ranks(), model.rank_of(op));
    let other = if records > waits { counts.wait } else { counts.record };
    if let Some(other) = other {
        let what = if records > waits { words::waits(model, other) } else { words::records(model, other) };
        diagnostic = diagnostic.with_related(what, at(other));
    }
    diagnostic
}
