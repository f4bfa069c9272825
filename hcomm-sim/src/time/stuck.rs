//! Finds out what everything waits for when nothing goes on.

use std::collections::HashMap;

use super::exec::{Engine, State};
use super::fault::{Stuck, StuckTransfer, StuckWait};
use super::schedule::Signal;
use super::schedule::{Schedule, is_setter};
use crate::bytes::plan::Notify;
use crate::cluster::Network;
use crate::error::Place;
use crate::hang::Recorder;
use crate::report::NotifyName;
use hcomm_core::program::Program;

/// Where everything stands, if not every thread has ended. Linear in the program.
pub(super) fn stuck(engine: &Engine<'_, '_>, network: &Network<'_>, timeout: f64) -> Option<Stuck> {
    let schedule = engine.schedule;
    if engine.tasks.iter().all(|task| task.state == State::Done) {
        return None;
    }
    let mut stuck = Stuck {
        at: engine.tasks.iter().map(|task| task.clock).fold(engine.now, f64::max),
        completed: Vec::new(),
        waits: Vec::new(),
        transfers: Vec::new(),
        stalled: Vec::new(),
        timeout,
    };
    let recorders = recorders(engine);
    let mut completes = vec![true; schedule.program.num_ranks() as usize];
    for (number, (thread, task)) in (0u32..).zip(schedule.threads.iter().zip(&engine.tasks)) {
        completes[thread.rank as usize] &= task.state == State::Done;
        let placed = || Place { round: task.round.into(), ..place(schedule, number, task.at) };
        match task.state {
            State::Waits => {
                let Some(signal) = schedule.signal(task.at) else { continue };
                let step = &schedule.steps[task.at as usize];
                let recorder = match recorders.get(&step.notify) {
                    Some((thread, at, round)) => {
                        Recorder::Waits(Place { round: (*round).into(), ..place(schedule, *thread, *at) })
                    }
                    None => Recorder::Nobody { lost: 0 },
                };
                let notify = name(schedule.program, signal);
                stuck.waits.push(StuckWait { place: placed(), notify, recorder, since: task.clock });
            }
            State::Flows | State::Reduces | State::Begins => {
                let path = schedule.steps[task.at as usize].path;
                let link = engine.flows.dead(path).map_or_else(String::new, |link| network.name(link));
                stuck.transfers.push(StuckTransfer { place: placed(), link, since: task.clock });
            }
            State::Meets => {
                // A block that waits for something else is why the others do not go on.
                let first = number - thread.thread;
                let missing = (first..first + schedule.blocks)
                    .find(|other| !matches!(engine.tasks[*other as usize].state, State::Meets | State::Done));
                let recorder = missing.map_or(Recorder::Nobody { lost: 0 }, |other| {
                    let task = &engine.tasks[other as usize];
                    Recorder::Missing(Place { round: task.round.into(), ..place(schedule, other, task.at) })
                });
                let notify = NotifyName::Meeting { rank: thread.rank };
                stuck.waits.push(StuckWait { place: placed(), notify, recorder, since: task.clock });
            }
            State::Stalled if stuck.stalled.last() != Some(&thread.rank) => stuck.stalled.push(thread.rank),
            _ => {}
        }
    }
    stuck.completed = (0..).zip(completes).filter(|(_, completes)| *completes).map(|(rank, _)| rank).collect();
    Some(stuck)
}

/// For every notify that is waited for: the nearest record of it that has not been carried out.
fn recorders(engine: &Engine<'_, '_>) -> HashMap<u32, (u32, u32, u32)> {
    let schedule = engine.schedule;
    let mut found: HashMap<u32, (u32, u32, u32)> = HashMap::new();
    let waits = engine.tasks.iter().filter(|task| task.state == State::Waits);
    let wanted: std::collections::HashSet<u32> = waits.map(|task| schedule.steps[task.at as usize].notify).collect();
    for (number, (thread, task)) in (0u32..).zip(schedule.threads.iter().zip(&engine.tasks)) {
        if task.state == State::Done {
            continue;
        }
        // This round's first, then the next one's, if there is one.
        let again = if u64::from(task.round) + 1 < engine.rounds() { thread.begin..task.at } else { 0..0 };
        let rest = (task.at..thread.end).map(|at| (at, task.round)).chain(again.map(|at| (at, task.round + 1)));
        for (at, round) in rest {
            let step = &schedule.steps[at as usize];
            if is_setter(step) && wanted.contains(&step.notify) {
                found.entry(step.notify).or_insert((number, at, round));
            }
        }
    }
    found
}

/// Where a step of a thread is, in the first round.
pub(super) fn place(schedule: &Schedule<'_>, thread: u32, step: u32) -> Place {
    let at = schedule.threads[thread as usize];
    schedule.code.place(at.rank, at.thread, step.saturating_sub(at.begin) as usize)
}

/// A notify, for people.
pub(super) fn name(program: &Program, signal: Signal) -> NotifyName {
    let name = |notify: u32| program.notifies.get(notify as usize).cloned().unwrap_or_default();
    match signal {
        Signal::Notify(Notify::Thread { rank, thread, notify }) => NotifyName::Thread { rank, thread, notify },
        Signal::Notify(Notify::Channel { rank, peer, notify }) => {
            NotifyName::Channel { rank, peer, notify, name: name(notify) }
        }
        Signal::Flag((rank, peer, notify, part)) => NotifyName::Flag { rank, peer, name: name(notify), part },
    }
}
