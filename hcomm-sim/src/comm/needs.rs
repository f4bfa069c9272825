//! What a program needs of a communicator: threads, peers, and notifies of both.

use hcomm_core::operator::Buffer;
use hcomm_core::program::{OpKind, Program};

/// Notifies that channels of operators get, if the operator does not need more: on A2 and A3 a channel never gets more
/// later (facts 13, trap 19).
const CHANNEL_NOTIFIES: u32 = 16;

/// The notify of channels that peers set for each other when they have done their part: behind the program's own.
pub(crate) fn fence_of(program: &Program) -> u32 {
    (program.notifies.len() as u32).max(CHANNEL_NOTIFIES - 1)
}

/// The notify of channels that peers set for each other when they begin. Only programs have it in which a rank writes to a
/// peer's scratch before that peer has said anything: what is there may be a message that the peer is sending, which the
/// writer has no part in.
pub(crate) fn greeting_of(program: &Program) -> Option<u32> {
    let threads = program.ranks.iter().flat_map(|rank| &rank.threads);
    let is_eager = |ops: &Vec<hcomm_core::program::Op>| {
        let mut heard = std::collections::BTreeSet::new();
        ops.iter().any(|op| match op.kind {
            OpKind::ChannelNotifyWait { peer, .. } => {
                heard.insert(peer);
                false
            }
            OpKind::Write(peer, transfer)
            | OpKind::WriteReduce(peer, transfer)
            | OpKind::WriteWithNotify(peer, transfer, _)
            | OpKind::WriteReduceWithNotify(peer, transfer, _) => {
                transfer.dst.buffer == Buffer::Scratch && !heard.contains(&peer)
            }
            _ => false,
        })
    };
    let (own, fence) = (program.notifies.len() as u32, fence_of(program));
    threads.into_iter().any(is_eager).then(|| if own < fence { fence - 1 } else { fence + 1 })
}

/// How many notifies the channels of a program need.
pub(crate) fn notifies_of_channels(program: &Program) -> u32 {
    fence_of(program).max(greeting_of(program).unwrap_or(0)) + 1
}

/// How many notifies each thread of a rank has: the main thread one more, for the start.
pub(crate) fn notifies_of(program: &Program, rank: u32) -> Vec<u32> {
    let threads = program.ranks.get(rank as usize).map_or(&[][..], |rank| &rank.threads);
    let mut notifies = vec![0; threads.len().max(1)];
    let mut need = |thread: usize, notify: u32| {
        if let Some(most) = notifies.get_mut(thread) {
            *most = notify.saturating_add(1).max(*most);
        }
    };
    for (thread, ops) in threads.iter().enumerate() {
        for op in ops {
            match op.kind {
                OpKind::ThreadNotifyRecord { thread, notify } => need(thread as usize, notify),
                OpKind::ThreadNotifyWait { notify } => need(thread, notify),
                _ => {}
            }
        }
    }
    // Too many are refused where threads are acquired.
    notifies[0] = notifies[0].saturating_add(1);
    notifies
}

/// Whom a rank has channels to: those that it names, and those that name it.
pub(crate) fn peers_of(program: &Program, rank: u32) -> Vec<u32> {
    let mut peers = std::collections::BTreeSet::new();
    for (other, ops) in (0..).zip(&program.ranks) {
        for op in ops.threads.iter().flatten() {
            let Some(peer) = peer_of(&op.kind) else {
                continue;
            };
            if other == rank {
                peers.insert(peer);
            } else if peer == rank {
                peers.insert(other);
            }
        }
    }
    peers.into_iter().filter(|peer| *peer != rank).collect()
}

fn peer_of(kind: &OpKind) -> Option<u32> {
    match kind {
        OpKind::Write(peer, _)
        | OpKind::Read(peer, _)
        | OpKind::WriteReduce(peer, _)
        | OpKind::ReadReduce(peer, _)
        | OpKind::WriteWithNotify(peer, _, _)
        | OpKind::WriteReduceWithNotify(peer, _, _)
        | OpKind::ChannelNotifyRecord { peer, .. }
        | OpKind::ChannelNotifyWait { peer, .. } => Some(*peer),
        _ => None,
    }
}
