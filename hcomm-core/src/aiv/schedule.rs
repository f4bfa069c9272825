//! One execution of the AI CPU program, in ticks: what the lowering to blocks orders by.
//!
//! In a tick every thread carries out at most one operation, and a wait takes what was recorded in an earlier tick. So
//! whatever has to come before an operation has an earlier tick, and operations of several lanes that are put into one
//! block in the order of their ticks can still run: the order of this execution is one of theirs. (One lane after the
//! other would deadlock symmetric handshakes.)

use rustc_hash::FxHashMap;

use crate::program::{OpKind, Program};

/// The time and the use of the notify of every operation, by rank, thread and place.
pub(super) struct Schedule {
    slots: Vec<Vec<Vec<Slot>>>,
}

/// Of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// When.
    pub(super) tick: u32,
    /// Which use of its channel notify, from 0: the k-th record and the k-th wait.
    pub(super) step: u32,
}

/// Whose notify: rank, the peer or thread, whether it is a channel's, index.
type Notify = (u32, u32, bool, u32);

#[derive(Default)]
struct State {
    set: u32,
    parked: Option<(u32, u32)>,
    records: u32,
    waits: u32,
}

impl Schedule {
    /// Executes the program. What can never happen (a deadlock) has the ticks after the end, thread by thread.
    pub(super) fn new(program: &Program) -> Schedule {
        let slots: Vec<Vec<Vec<Slot>>> = program
            .ranks
            .iter()
            .map(|rank| rank.threads.iter().map(|ops| Vec::with_capacity(ops.len())).collect())
            .collect();
        let mut schedule = Schedule { slots };
        let mut notifies: FxHashMap<Notify, State> = FxHashMap::default();
        let mut ready: Vec<(u32, u32)> = (0..)
            .zip(&program.ranks)
            .flat_map(|(rank, threads)| (0..threads.threads.len() as u32).map(move |thread| (rank, thread)))
            .collect();
        let (mut tick, mut next, mut recorded) = (0, Vec::new(), Vec::new());
        while !ready.is_empty() {
            for &(rank, thread) in &ready {
                let done = &mut schedule.slots[rank as usize][thread as usize];
                let Some(op) = program.ranks[rank as usize].threads[thread as usize].get(done.len()) else { continue };
                let mut slot = Slot { tick, step: 0 };
                if let Some((notify, waits)) = notify_of(&op.kind, rank, thread) {
                    let state = notifies.entry(notify).or_default();
                    if waits && state.set == 0 {
                        state.parked = Some((rank, thread));
                        continue;
                    }
                    slot.step = state.next_step(waits);
                    if waits {
                        state.set -= 1;
                    } else {
                        recorded.push(notify);
                    }
                }
                done.push(slot);
                next.push((rank, thread));
            }
            for notify in recorded.drain(..) {
                if let Some(state) = notifies.get_mut(&notify) {
                    state.set += 1;
                    next.extend(state.parked.take());
                }
            }
            tick += 1;
            next.sort_unstable();
            next.dedup();
            ready.clear();
            std::mem::swap(&mut ready, &mut next);
        }
        schedule.finish(program, tick, &mut notifies);
        schedule
    }

    /// Gives what did not happen the ticks that follow.
    fn finish(&mut self, program: &Program, mut tick: u32, notifies: &mut FxHashMap<Notify, State>) {
        for (rank, threads) in (0..).zip(&program.ranks) {
            for (thread, ops) in (0..).zip(&threads.threads) {
                let done = &mut self.slots[rank as usize][thread as usize];
                for op in &ops[done.len()..] {
                    let step = notify_of(&op.kind, rank, thread)
                        .map_or(0, |(notify, waits)| notifies.entry(notify).or_default().next_step(waits));
                    done.push(Slot { tick, step });
                    tick += 1;
                }
            }
        }
    }

    /// The slot of an operation.
    pub(super) fn of(&self, rank: usize, thread: usize, op: usize) -> Slot {
        self.slots[rank][thread][op]
    }
}

impl State {
    fn next_step(&mut self, waits: bool) -> u32 {
        let count = if waits { &mut self.waits } else { &mut self.records };
        *count += 1;
        *count - 1
    }
}

/// The notify that an operation names, and whether it waits for it.
fn notify_of(kind: &OpKind, rank: u32, thread: u32) -> Option<(Notify, bool)> {
    match *kind {
        OpKind::ThreadNotifyRecord { thread, notify } => Some(((rank, thread, false, notify), false)),
        OpKind::ThreadNotifyWait { notify } => Some(((rank, thread, false, notify), true)),
        OpKind::ChannelNotifyRecord { peer, notify }
        | OpKind::WriteWithNotify(peer, _, notify)
        | OpKind::WriteReduceWithNotify(peer, _, notify) => Some(((peer, rank, true, notify), false)),
        OpKind::ChannelNotifyWait { peer, notify } => Some(((rank, peer, true, notify), true)),
        _ => None,
    }
}
