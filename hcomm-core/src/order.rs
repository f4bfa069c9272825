//! One order in which a program's operations can happen.

use rustc_hash::FxHashMap;

use crate::program::{Op, OpKind, Program};

/// Which notify: whose, of which of its threads or at which of its channels, and the index.
type Flag = (u32, End, u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum End {
    Thread(u32),
    Channel(u32),
}

/// Visits the operations of all ranks in an order in which they can happen: each thread's in order, every wait after
/// its record. `visit` is given rank, thread and operation.
///
/// The first waiting thread takes a record; records count, so that a lost one does not stop the walk. What can never
/// happen (a deadlock) is visited at the end, thread by thread, and the answer is `false`.
pub fn visit<'p>(program: &'p Program, mut visit: impl FnMut(u32, u32, &'p Op)) -> bool {
    let mut next: Vec<Vec<usize>> = program.ranks.iter().map(|rank| vec![0; rank.threads.len()]).collect();
    let mut set: FxHashMap<Flag, u32> = FxHashMap::default();
    let mut waiting: FxHashMap<Flag, (u32, u32)> = FxHashMap::default();
    let mut ready: Vec<(u32, u32)> = Vec::new();
    for (rank, threads) in (0..).zip(&program.ranks) {
        ready.extend((0..threads.threads.len() as u32).map(|thread| (rank, thread)));
    }
    ready.reverse();
    while let Some((rank, thread)) = ready.pop() {
        let ops = &program.ranks[rank as usize].threads[thread as usize];
        let at = &mut next[rank as usize][thread as usize];
        while let Some(op) = ops.get(*at) {
            if let Some((owner, end, notify)) = waits(&op.kind, rank, thread) {
                match set.get_mut(&(owner, end, notify)) {
                    Some(count) if *count > 0 => *count -= 1,
                    _ => {
                        waiting.insert((owner, end, notify), (rank, thread));
                        break;
                    }
                }
            }
            visit(rank, thread, op);
            *at += 1;
            if let Some(flag) = records(&op.kind, rank) {
                *set.entry(flag).or_default() += 1;
                ready.extend(waiting.remove(&flag));
            }
        }
    }
    let mut complete = true;
    for (rank, threads) in (0..).zip(&program.ranks) {
        for (thread, ops) in (0..).zip(&threads.threads) {
            for op in &ops[next[rank as usize][thread as usize]..] {
                complete = false;
                visit(rank, thread, op);
            }
        }
    }
    complete
}

/// The flag that an operation waits for.
fn waits(kind: &OpKind, rank: u32, thread: u32) -> Option<Flag> {
    match kind {
        OpKind::ThreadNotifyWait { notify } => Some((rank, End::Thread(thread), *notify)),
        OpKind::ChannelNotifyWait { peer, notify } => Some((rank, End::Channel(*peer), *notify)),
        _ => None,
    }
}

/// The flag that an operation sets.
fn records(kind: &OpKind, rank: u32) -> Option<Flag> {
    match kind {
        OpKind::ThreadNotifyRecord { thread, notify } => Some((rank, End::Thread(*thread), *notify)),
        OpKind::ChannelNotifyRecord { peer, notify }
        | OpKind::WriteWithNotify(peer, _, notify)
        | OpKind::WriteReduceWithNotify(peer, _, notify) => Some((*peer, End::Channel(rank), *notify)),
        _ => None,
    }
}
