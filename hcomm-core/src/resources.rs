//! Exact resource counts (DESIGN section 6), from the same evaluator as everything else.

use std::collections::{BTreeMap, BTreeSet};

use crate::aiv::default_blocks;
use crate::eval::{Event, Fault, FaultKind, Machine, Step, tri};
use crate::ids::SpanId;
use crate::program::{OpKind, Program};
use crate::shape::{Layout, MAX_RANKS, Shape};
use crate::spec::{BudgetField, Spec};

/// What one rank needs, or the maximum over ranks.
///
/// The start signal from the host is not counted: emitted code adds it (facts 2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Lanes that run at once, the main one included.
    pub threads: u32,
    /// The largest number of notify indices on one thread: the argument of `HcclThreadAcquire`.
    pub notify_num_per_thread: u32,
    /// The exact sum over threads: fork and join take T-1 on the main thread and one on each other.
    pub thread_notifies: u32,
    /// Distinct peers.
    pub channels: u32,
    /// The largest number of notify indices on one channel: `HcclChannelDesc.notifyNum`.
    pub notify_num_per_channel: u32,
    /// The sum over channels.
    pub channel_notifies: u32,
    /// Cells of HCCL buffer.
    pub scratch_chunks: u32,
    /// AIV: blocks, one for each lane and one for the statements outside `par`, as far as there are cores. All ranks
    /// launch the maximum over ranks.
    pub blocks: u32,
    /// AIV: flags of 32 bytes that the rank waits for, in its own memory.
    pub flags: u32,
}

impl Resources {
    /// One of the counts.
    pub const fn get(&self, field: BudgetField) -> u32 {
        match field {
            BudgetField::Threads => self.threads,
            BudgetField::NotifyNumPerThread => self.notify_num_per_thread,
            BudgetField::ThreadNotifies => self.thread_notifies,
            BudgetField::Channels => self.channels,
            BudgetField::NotifyNumPerChannel => self.notify_num_per_channel,
            BudgetField::ChannelNotifies => self.channel_notifies,
            BudgetField::Scratch => self.scratch_chunks,
            BudgetField::Blocks => self.blocks,
            BudgetField::Flags => self.flags,
        }
    }

    /// The larger of each count.
    #[must_use]
    pub const fn max(self, other: Resources) -> Resources {
        const fn larger(a: u32, b: u32) -> u32 {
            if a > b { a } else { b }
        }
        Resources {
            threads: larger(self.threads, other.threads),
            notify_num_per_thread: larger(self.notify_num_per_thread, other.notify_num_per_thread),
            thread_notifies: larger(self.thread_notifies, other.thread_notifies),
            channels: larger(self.channels, other.channels),
            notify_num_per_channel: larger(self.notify_num_per_channel, other.notify_num_per_channel),
            channel_notifies: larger(self.channel_notifies, other.channel_notifies),
            scratch_chunks: larger(self.scratch_chunks, other.scratch_chunks),
            blocks: larger(self.blocks, other.blocks),
            flags: larger(self.flags, other.flags),
        }
    }
}

/// What `rank` of `shape` needs.
///
/// # Errors
///
/// The fault that ends the rank's evaluation.
pub const fn of_rank(spec: &Spec<'_>, shape: &Shape, rank: u32) -> Result<Resources, Fault> {
    let mut machine = tri!(Machine::new(spec, *shape, rank));
    // How many notify indices each channel needs, plus one so that a channel without any counts too.
    let mut channels = [0u8; MAX_RANKS as usize];
    let mut counts = Resources {
        threads: 1,
        notify_num_per_thread: 0,
        thread_notifies: 0,
        channels: 0,
        notify_num_per_channel: 0,
        channel_notifies: 0,
        scratch_chunks: machine.scratch(),
        blocks: 1,
        flags: 0,
    };
    // Which notifies of each peer are waited for, a bit each.
    let mut awaited = [[0u64; 4]; MAX_RANKS as usize];
    let (mut lane, mut lanes, mut inside) = (0, 0, false);
    loop {
        let (peer, indices, waits) = match machine.step() {
            Step::Done => break,
            Step::Fault(fault) => return Err(fault),
            Step::Event(event) => match event {
                Event::Fork { .. } => {
                    (lane, inside) = (0, true);
                    continue;
                }
                Event::Join { .. } => {
                    (lane, inside) = (0, false);
                    continue;
                }
                Event::Lane(this) => {
                    lane = this;
                    continue;
                }
                Event::Signal { peer, notify, .. } => (peer, notify.0 + 1, false),
                Event::Wait { peer, notify, .. } => (peer, notify.0 + 1, true),
                Event::Transfer { dst, src, .. } => (if dst.rank == rank { src.rank } else { dst.rank }, 0, false),
            },
        };
        // Only a lane that does something is a thread.
        if lane >= counts.threads {
            counts.threads = lane + 1;
        }
        if inside && lane >= lanes {
            lanes = lane + 1;
        }
        if peer == rank {
            continue;
        }
        if indices >= u8::MAX as u32 {
            return Err(Fault { kind: FaultKind::Malformed("a notify that is not there"), span: SpanId(0) });
        }
        if waits {
            let (notify, words) = (indices - 1, &mut awaited[peer as usize]);
            let (word, bit) = ((notify / 64) as usize, 1 << (notify % 64));
            counts.flags += (words[word] & bit == 0) as u32;
            words[word] |= bit;
        }
        let (had, need) = (channels[peer as usize] as u32, indices + 1);
        if had == 0 {
            counts.channels += 1;
        }
        if need > had {
            counts.channel_notifies += need - if had == 0 { 1 } else { had };
            channels[peer as usize] = need as u8;
        }
        if indices > counts.notify_num_per_channel {
            counts.notify_num_per_channel = indices;
        }
    }
    // Fork: one notify on every other thread. Join: one on the main thread for every other.
    let others = counts.threads - 1;
    counts.thread_notifies = 2 * others;
    counts.notify_num_per_thread = others;
    counts.blocks = default_blocks(lanes);
    Ok(counts)
}

/// The maximum over all ranks of `shape`, with its roles.
///
/// # Errors
///
/// The fault that ends a rank's evaluation.
pub const fn of_shape(spec: &Spec<'_>, shape: &Shape) -> Result<Resources, Fault> {
    let (mut most, mut rank) = (NONE, 0);
    while rank < shape.ranks() {
        most = most.max(tri!(of_rank(spec, shape, rank)));
        rank += 1;
    }
    Ok(most)
}

/// The maximum over all ranks and [roles](Shape::next_roles) of a layout.
///
/// # Errors
///
/// The fault that ends a rank's evaluation.
pub const fn of_layout(spec: &Spec<'_>, layout: Layout) -> Result<Resources, Fault> {
    let (mut most, mut roles) = (NONE, Some(Shape::first_roles(layout)));
    while let Some(shape) = roles {
        most = most.max(tri!(of_shape(spec, &shape)));
        roles = shape.next_roles(spec.operator);
    }
    Ok(most)
}

const NONE: Resources = Resources {
    threads: 0,
    notify_num_per_thread: 0,
    thread_notifies: 0,
    channels: 0,
    notify_num_per_channel: 0,
    channel_notifies: 0,
    scratch_chunks: 0,
    blocks: 0,
    flags: 0,
};

/// What a rank of a program for AI CPU uses, counted from its operations. It has no blocks and no flags.
pub fn of_program(program: &Program, rank: u32) -> Resources {
    let threads = program.ranks.get(rank as usize).map_or(&[][..], |rank| &rank.threads);
    let mut channels: BTreeMap<u32, u32> = BTreeMap::new();
    let mut flags: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (thread, ops) in (0..).zip(threads) {
        for op in ops {
            let (peer, indices) = match op.kind {
                OpKind::LocalCopy(_) | OpKind::LocalReduce(_) => continue,
                OpKind::Write(peer, _)
                | OpKind::Read(peer, _)
                | OpKind::WriteReduce(peer, _)
                | OpKind::ReadReduce(peer, _) => (peer, 0),
                OpKind::WriteWithNotify(peer, _, notify)
                | OpKind::WriteReduceWithNotify(peer, _, notify)
                | OpKind::ChannelNotifyRecord { peer, notify }
                | OpKind::ChannelNotifyWait { peer, notify } => (peer, notify.saturating_add(1)),
                OpKind::ThreadNotifyRecord { thread, notify } => {
                    flags.entry(thread).or_default().insert(notify);
                    continue;
                }
                OpKind::ThreadNotifyWait { notify } => {
                    flags.entry(thread).or_default().insert(notify);
                    continue;
                }
            };
            let most = channels.entry(peer).or_default();
            *most = indices.max(*most);
        }
    }
    let highest = flags.values().filter_map(BTreeSet::last).max();
    Resources {
        threads: threads.len() as u32,
        notify_num_per_thread: highest.map_or(0, |last| last.saturating_add(1)),
        thread_notifies: flags.values().map(|all| all.len() as u32).sum(),
        channels: channels.len() as u32,
        notify_num_per_channel: channels.values().copied().max().unwrap_or(0),
        channel_notifies: channels.values().fold(0, |sum, indices| sum.saturating_add(*indices)),
        scratch_chunks: program.scratch,
        blocks: 0,
        flags: 0,
    }
}
