//! Finds out who waits for whom when nothing can go on.

use super::exec::{Engine, State};
use super::plan::NO_FLAG;
use crate::bytes::stuck::find_cycle;
use crate::hang::{Hang, Recorder, Waiting};
use crate::report::NotifyName;
use hcomm_core::aiv::OpKind;
use rustc_hash::FxHashMap;

/// Describes the hang, if not every block is done. Linear in the program.
pub(crate) fn hang(engine: &Engine<'_>) -> Option<Hang> {
    if engine.blocks.iter().all(|block| block.state == State::Done) {
        return None;
    }
    let next = who_is_next(engine);
    let cycle = find_cycle(&next.iter().map(|next| next.map(|(block, _)| block)).collect::<Vec<_>>());
    let (mut waiting, mut index) = (Vec::new(), FxHashMap::default());
    for (number, block) in (0u32..).zip(&engine.blocks) {
        let planned = &engine.plan.blocks[number as usize];
        let rank = planned.rank;
        let other = next[number as usize].map(|(block, op)| engine.place(block, op));
        let nobody = Recorder::Nobody { lost: 0 };
        let (notify, recorder) = match block.state {
            State::Polls => (engine.flag_name(planned.flags[block.op]), other.map_or(nobody, Recorder::Waits)),
            State::Meets => (NotifyName::Meeting { rank }, other.map_or(nobody, Recorder::Missing)),
            State::NoCore => (NotifyName::Core { rank }, other.map_or(nobody, Recorder::Keeps)),
            State::Ready | State::Ended | State::Done => continue,
        };
        index.insert(number, waiting.len());
        waiting.push(Waiting { place: engine.place(number, block.op), notify, recorder });
    }
    let cycle = cycle.iter().filter_map(|block| index.get(block).copied()).collect();
    Some(Hang { waiting, cycle })
}

/// For every block, the one that it waits for, and at which operation that would come to it.
fn who_is_next(engine: &Engine<'_>) -> Vec<Option<(u32, usize)>> {
    let mut next = vec![None; engine.blocks.len()];
    let mut polled: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (number, block) in (0u32..).zip(&engine.blocks) {
        let siblings = || engine.plan.blocks_of(engine.plan.blocks[number as usize].rank);
        let at = |other: u32| (other, engine.blocks[other as usize].op);
        let state = |other: u32| engine.blocks[other as usize].state;
        match block.state {
            State::Polls => {
                polled.entry(engine.plan.blocks[number as usize].flags[block.op]).or_default().push(number);
            }
            State::Meets => {
                // A block that polls is nearer to the cause than one without a core.
                let missing = siblings().find(|other| state(*other) == State::Polls);
                let missing = missing.or_else(|| siblings().find(|other| state(*other) == State::NoCore));
                next[number as usize] =
                    missing.or_else(|| siblings().find(|other| state(*other) == State::Ended)).map(at);
            }
            State::NoCore => {
                let keeps = siblings().find(|other| matches!(state(*other), State::Polls | State::Meets));
                next[number as usize] = keeps.map(at);
            }
            State::Ready | State::Ended | State::Done => {}
        }
    }
    // The nearest record is the one that is missing; one of a later launch, if there is none in this.
    let mut nearest: FxHashMap<u32, usize> = FxHashMap::default();
    for (number, (planned, block)) in (0u32..).zip(engine.plan.blocks.iter().zip(&engine.blocks)) {
        let launch = &engine.launches[planned.rank as usize];
        let again = launch.round + 1 < engine.rounds.rounds || launch.invocation + 1 < engine.repeat;
        if block.state == State::Done {
            continue;
        }
        for (op, flag) in planned.flags.iter().enumerate() {
            let records = *flag != NO_FLAG && matches!(planned.ops[op].kind, OpKind::Record(_));
            let is_ahead = op >= block.op && block.state != State::Ended;
            if !records || !(is_ahead || again) {
                continue;
            }
            let Some(polled) = polled.get(flag) else { continue };
            let distance = if is_ahead { op - block.op } else { op + planned.ops.len() };
            let best = nearest.entry(*flag).or_insert(usize::MAX);
            if distance < *best {
                *best = distance;
                polled.iter().for_each(|waiting| next[*waiting as usize] = Some((number, op)));
            }
        }
    }
    next
}
