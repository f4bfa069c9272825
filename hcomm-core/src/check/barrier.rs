//! The promise of a barrier: every rank ends only after every rank has started (H302).

use super::findings::Findings;
use super::matching::Matching;
use super::model::Model;
use super::sweep::Sweep;
use super::words;
use crate::diag::{Code, Diagnostic};

/// Tells a rank that can end too early.
pub(super) fn check(model: &Model<'_>, matching: &Matching, findings: &mut Findings<'_>) {
    let ranks = model.num_ranks();
    if ranks < 2 {
        return;
    }
    let main = |rank: u32| model.ops_of(model.main_of(rank));
    if let Some(idle) = (0..ranks).find(|&rank| main(rank).is_empty()) {
        let message = format!("rank {idle} does nothing, so it can end before the others have started");
        findings.add_global(Diagnostic::new(Code::H302, message, None).with_help(HELP).on(ranks, idle));
        return;
    }
    // The start is before the first operation of the main thread, the end after its last.
    let mut sweep = Sweep::new(model, matching);
    let starts = sweep.group((0..ranks).map(|rank| main(rank).start));
    for rank in 0..ranks {
        sweep.ask(starts, main(rank).end - 1, false, 0, ());
    }
    for early in sweep.finish() {
        let (rank, other) = (model.rank_of(early.target), model.rank_of(early.source));
        let at = words::span(model.program, model.op(early.target).at);
        let message = format!("rank {rank} can end before rank {other} has started");
        findings.add_global(Diagnostic::new(Code::H302, message, at).with_help(HELP).on(ranks, rank));
    }
}

const HELP: &str = "every rank has to hear from every other one, itself or through others, before it ends";
