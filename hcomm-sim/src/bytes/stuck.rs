//! Finds out who waits for whom when nothing can go on.

use crate::bytes::exec::{Engine, State};
use crate::hang::{Hang, Recorder, Waiting};
use hcomm_core::program::OpKind;
use rustc_hash::FxHashMap;

/// Who a thread that cannot go on waits for.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// A thread, which would come to a record at this operation.
    Record(u32, usize),
    /// Nobody.
    Nobody,
}

/// Describes the hang, if not every thread is done. Linear in the program.
pub(crate) fn hang(engine: &Engine<'_, '_>) -> Option<Hang> {
    let tasks = &engine.tasks;
    if tasks.iter().all(|task| task.state == State::Done) {
        return None;
    }
    let next = who_is_next(engine);
    let successor = |next: &Next| match next {
        Next::Record(thread, _) => Some(*thread),
        Next::Nobody => None,
    };
    let cycle = find_cycle(&next.iter().map(successor).collect::<Vec<_>>());
    let mut waiting = Vec::new();
    let mut index = FxHashMap::default();
    for (thread, task) in (0u32..).zip(tasks) {
        if task.state != State::Waits {
            continue;
        }
        let notify = engine.plan.threads[thread as usize].notifies[task.op];
        let recorder = match next[thread as usize] {
            Next::Record(recorder, op) => Recorder::Waits(engine.place(recorder, op)),
            _ => Recorder::Nobody { lost: engine.flags.lost(notify) },
        };
        index.insert(thread, waiting.len());
        waiting.push(Waiting { place: engine.place(thread, task.op), notify: engine.notify_name(notify), recorder });
    }
    let cycle = cycle.iter().filter_map(|thread| index.get(thread).copied()).collect();
    Some(Hang { waiting, cycle })
}

/// For every thread, who it waits for.
fn who_is_next(engine: &Engine<'_, '_>) -> Vec<Next> {
    let mut next = vec![Next::Nobody; engine.tasks.len()];
    let mut wanted: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (thread, task) in (0u32..).zip(&engine.tasks) {
        if task.state == State::Waits {
            let notify = engine.plan.threads[thread as usize].notifies[task.op];
            wanted.entry(notify).or_default().push(thread);
        }
    }
    // How far a record is from where its thread is: the nearest one is the one that is missing.
    let mut nearest: FxHashMap<u32, usize> = FxHashMap::default();
    for (thread, (planned, task)) in (0u32..).zip(engine.plan.threads.iter().zip(&engine.tasks)) {
        let another_round = task.round + 1 < engine.rounds.rounds || task.invocation + 1 < engine.repeat;
        if task.state == State::Done {
            continue;
        }
        for (op, (kind, notify)) in planned.ops.iter().map(|op| op.kind).zip(&planned.notifies).enumerate() {
            if !records(kind) || (op < task.op && !another_round) {
                continue;
            }
            let Some(waiting) = wanted.get(notify) else { continue };
            let distance = if op >= task.op { op - task.op } else { op + planned.ops.len() - task.op };
            let best = nearest.entry(*notify).or_insert(usize::MAX);
            if distance < *best {
                *best = distance;
                for waiting in waiting {
                    next[*waiting as usize] = Next::Record(thread, op);
                }
            }
        }
    }
    next
}

fn records(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::ThreadNotifyRecord { .. }
            | OpKind::ChannelNotifyRecord { .. }
            | OpKind::WriteWithNotify(..)
            | OpKind::WriteReduceWithNotify(..)
    )
}

/// The first cycle, from its lowest thread on. Every thread has at most one next one, so a walk that comes to a thread
/// of its own has found it.
pub(crate) fn find_cycle(next: &[Option<u32>]) -> Vec<u32> {
    let mut walk_of = vec![u32::MAX; next.len()];
    for start in 0..next.len() as u32 {
        let mut here = start;
        while walk_of[here as usize] == u32::MAX {
            walk_of[here as usize] = start;
            match next[here as usize] {
                Some(thread) => here = thread,
                None => break,
            }
        }
        if walk_of[here as usize] != start || next[here as usize].is_none() {
            continue;
        }
        let mut cycle = vec![here];
        let mut other = here;
        while let Some(thread) = next[other as usize] {
            if thread == here {
                break;
            }
            cycle.push(thread);
            other = thread;
        }
        let lowest = cycle.iter().enumerate().min_by_key(|(_, thread)| **thread).map_or(0, |(index, _)| index);
        cycle.rotate_left(lowest);
        return cycle;
    }
    Vec::new()
}
