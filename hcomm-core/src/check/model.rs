//! The program as flat arrays: operations, threads, channels and notifies by number.
//!
//! Operations are numbered thread by thread and threads rank by rank, so that the operations of a thread are
//! contiguous and in order, and "earlier on the same thread" is a comparison of two numbers.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::program::{Op, OpKind, Program};

/// No operation, no channel, no notify.
pub(super) const NONE: u32 = u32::MAX;

/// Marks the notify of an operation that waits for it. Notifies have lower numbers.
const WAIT: u32 = 1 << 31;

/// A structurally valid program, numbered.
pub(super) struct Model<'p> {
    pub(super) program: &'p Program,
    /// The queue of every thread.
    threads: Vec<&'p [Op]>,
    /// The first operation of every thread, and the end of the last.
    thread_start: Vec<u32>,
    /// The first thread of every rank, which is its main thread, and the end of the last rank's.
    rank_start: Vec<u32>,
    thread_rank: Vec<u32>,
    thread_of: Vec<u32>,
    channel: Vec<u32>,
    /// By operation, with [`WAIT`] if it waits.
    notify: Vec<u32>,
    notifies: u32,
    channels: Channels,
}

/// The ends of channels: (rank, peer) for every peer that the rank uses or that uses it.
struct Channels {
    /// The first channel end of every rank, and the end of the last rank's.
    start: Vec<u32>,
    /// The peer of every channel end; ascending for a rank.
    peer: Vec<u32>,
    /// The other end.
    mate: Vec<u32>,
}

impl<'p> Model<'p> {
    /// Numbers a program that [`structure`](super::structure) found nothing wrong with.
    pub(super) fn new(program: &'p Program) -> Model<'p> {
        let mut model = Model {
            program,
            threads: Vec::new(),
            thread_start: vec![0],
            rank_start: vec![0],
            thread_rank: Vec::new(),
            thread_of: Vec::with_capacity(program.num_ops() as usize),
            channel: Vec::new(),
            notify: Vec::new(),
            notifies: 0,
            channels: Channels::new(program),
        };
        for (rank, queues) in (0u32..).zip(&program.ranks) {
            // A rank without a queue has a main thread that does nothing.
            let idle = queues.threads.is_empty().then_some(&[][..]);
            for queue in queues.threads.iter().map(Vec::as_slice).chain(idle) {
                let (thread, end) = (model.threads.len() as u32, model.thread_of.len() + queue.len());
                model.thread_of.resize(end, thread);
                model.thread_start.push(end as u32);
                model.thread_rank.push(rank);
                model.threads.push(queue);
            }
            model.rank_start.push(model.threads.len() as u32);
        }
        model.number_channels();
        model.number_notifies();
        model
    }

    fn number_channels(&mut self) {
        self.channel.reserve_exact(self.thread_of.len());
        let mut end_with = vec![NONE; self.num_ranks() as usize];
        for rank in 0..self.num_ranks() {
            for end in self.channels.of(rank) {
                end_with[self.channels.peer[end as usize] as usize] = end;
            }
            for thread in self.threads_of(rank) {
                for op in self.threads[thread as usize] {
                    self.channel.push(peer_of(&op.kind).map_or(NONE, |peer| end_with[peer as usize]));
                }
            }
        }
    }

    fn number_notifies(&mut self) {
        // Owner, index: threads own the first numbers, channel ends the others.
        let threads = self.threads.len() as u32;
        let key = |model: &Model<'_>, op: u32| -> Option<(u32, u32)> {
            let channel = model.channel[op as usize];
            match model.op(op).kind {
                OpKind::ThreadNotifyRecord { thread, notify } => {
                    Some((model.rank_start[model.rank_of(op) as usize] + thread, notify))
                }
                OpKind::ThreadNotifyWait { notify } => Some((model.thread_of(op), notify)),
                OpKind::ChannelNotifyWait { notify, .. } => Some((threads + channel, notify)),
                OpKind::ChannelNotifyRecord { notify, .. }
                | OpKind::WriteWithNotify(_, _, notify)
                | OpKind::WriteReduceWithNotify(_, _, notify) => {
                    Some((threads + model.channels.mate[channel as usize], notify))
                }
                _ => None,
            }
        };
        let mut most = vec![0u32; threads as usize + self.channels.peer.len()];
        for op in 0..self.num_ops() {
            if let Some((owner, index)) = key(self, op) {
                most[owner as usize] = most[owner as usize].max(index.saturating_add(1));
            }
        }
        // Numbers without gaps while indices are what programs have; a table if a few of them are huge.
        let total: u64 = most.iter().map(|&most| u64::from(most)).sum();
        let mut notify = vec![NONE; self.num_ops() as usize];
        if total <= 8 * u64::from(self.num_ops()) + 1024 && total < u64::from(WAIT) {
            let mut next = 0;
            for first in &mut most {
                (*first, next) = (next, next + *first);
            }
            for op in 0..self.num_ops() {
                if let Some((owner, index)) = key(self, op) {
                    notify[op as usize] = most[owner as usize] + index;
                }
            }
            self.notifies = next;
        } else {
            let mut table = FxHashMap::default();
            for op in 0..self.num_ops() {
                if let Some(key) = key(self, op) {
                    let next = table.len() as u32;
                    notify[op as usize] = *table.entry(key).or_insert(next);
                }
            }
            self.notifies = table.len() as u32;
        }
        for (op, notify) in (0..).zip(&mut notify) {
            if matches!(self.op(op).kind, OpKind::ThreadNotifyWait { .. } | OpKind::ChannelNotifyWait { .. }) {
                *notify |= WAIT;
            }
        }
        self.notify = notify;
    }

    pub(super) fn num_ranks(&self) -> u32 {
        self.rank_start.len() as u32 - 1
    }

    pub(super) fn num_threads(&self) -> u32 {
        self.threads.len() as u32
    }

    pub(super) fn num_ops(&self) -> u32 {
        self.thread_of.len() as u32
    }

    pub(super) fn num_notifies(&self) -> u32 {
        self.notifies
    }

    /// The operation of that number.
    pub(super) fn op(&self, op: u32) -> &'p Op {
        let thread = self.thread_of[op as usize] as usize;
        &self.threads[thread][(op - self.thread_start[thread]) as usize]
    }

    pub(super) fn thread_of(&self, op: u32) -> u32 {
        self.thread_of[op as usize]
    }

    pub(super) fn rank_of(&self, op: u32) -> u32 {
        self.thread_rank[self.thread_of[op as usize] as usize]
    }

    pub(super) fn rank_of_thread(&self, thread: u32) -> u32 {
        self.thread_rank[thread as usize]
    }

    /// The thread's number on its rank.
    pub(super) fn local_thread(&self, thread: u32) -> u32 {
        thread - self.rank_start[self.thread_rank[thread as usize] as usize]
    }

    /// The threads of a rank; the first is the main one.
    pub(super) fn threads_of(&self, rank: u32) -> Range<u32> {
        self.rank_start[rank as usize]..self.rank_start[rank as usize + 1]
    }

    /// The main thread of a rank.
    pub(super) fn main_of(&self, rank: u32) -> u32 {
        self.rank_start[rank as usize]
    }

    /// The operations of a thread.
    pub(super) fn ops_of(&self, thread: u32) -> Range<u32> {
        self.thread_start[thread as usize]..self.thread_start[thread as usize + 1]
    }

    /// The notify that the operation sets or waits for.
    pub(super) fn notify_of(&self, op: u32) -> Option<u32> {
        Some(self.notify[op as usize]).filter(|&notify| notify != NONE).map(|notify| notify & !WAIT)
    }

    /// Whether the operation waits for its notify, rather than setting it.
    pub(super) fn is_wait(&self, op: u32) -> bool {
        let notify = self.notify[op as usize];
        notify != NONE && notify & WAIT != 0
    }

    /// The rank that the operation sets a notify for, if it does.
    pub(super) fn signalled_rank(&self, op: u32) -> Option<u32> {
        match self.op(op).kind {
            OpKind::ThreadNotifyRecord { .. } => Some(self.rank_of(op)),
            OpKind::ChannelNotifyRecord { peer, .. }
            | OpKind::WriteWithNotify(peer, ..)
            | OpKind::WriteReduceWithNotify(peer, ..) => Some(peer),
            _ => None,
        }
    }

    /// This rank's end of the channel that the operation uses.
    pub(super) fn channel_of(&self, op: u32) -> Option<u32> {
        Some(self.channel[op as usize]).filter(|&channel| channel != NONE)
    }

    /// `rank`'s end of its channel to `peer`.
    pub(super) fn channel_between(&self, rank: u32, peer: u32) -> Option<u32> {
        let ends = self.channels.of(rank);
        let peers = &self.channels.peer[ends.start as usize..ends.end as usize];
        peers.binary_search(&peer).ok().map(|at| ends.start + at as u32)
    }

    /// The other end of a channel.
    pub(super) fn other_end(&self, channel: u32) -> u32 {
        self.channels.mate[channel as usize]
    }

    /// Ends of channels, over all ranks.
    pub(super) fn num_channels(&self) -> u32 {
        self.channels.peer.len() as u32
    }
}

impl Channels {
    fn new(program: &Program) -> Channels {
        let ranks = program.ranks.len();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut seen_by = vec![NONE; ranks];
        for (rank, queues) in (0u32..).zip(&program.ranks) {
            for op in queues.threads.iter().flatten() {
                if let Some(peer) = peer_of(&op.kind)
                    && seen_by[peer as usize] != rank
                {
                    seen_by[peer as usize] = rank;
                    pairs.push((rank, peer));
                    pairs.push((peer, rank));
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut start = vec![0u32; ranks + 1];
        for &(rank, _) in &pairs {
            start[rank as usize + 1] += 1;
        }
        for rank in 0..ranks {
            start[rank + 1] += start[rank];
        }
        // Ends are sorted by rank, so those that name a peer meet that peer's own list in order.
        let mut cursor = start.clone();
        let mut mate = vec![0u32; pairs.len()];
        for (end, &(_, peer)) in pairs.iter().enumerate() {
            mate[end] = cursor[peer as usize];
            cursor[peer as usize] += 1;
        }
        Channels { start, peer: pairs.into_iter().map(|(_, peer)| peer).collect(), mate }
    }

    fn of(&self, rank: u32) -> Range<u32> {
        self.start[rank as usize]..self.start[rank as usize + 1]
    }
}

/// The rank at the other end of the channel that an operation uses.
pub(super) fn peer_of(kind: &OpKind) -> Option<u32> {
    match *kind {
        OpKind::LocalCopy(_)
        | OpKind::LocalReduce(_)
        | OpKind::ThreadNotifyRecord { .. }
        | OpKind::ThreadNotifyWait { .. } => None,
        OpKind::Write(peer, _)
        | OpKind::Read(peer, _)
        | OpKind::WriteReduce(peer, _)
        | OpKind::ReadReduce(peer, _)
        | OpKind::WriteWithNotify(peer, ..)
        | OpKind::WriteReduceWithNotify(peer, ..)
        | OpKind::ChannelNotifyRecord { peer, .. }
        | OpKind::ChannelNotifyWait { peer, .. } => Some(peer),
    }
}
