//! A program, checked and made ready: everything that an operation names exists, and its notify is a number.
//!
//! A program may come from a hostile file, so nothing is taken for granted; what passes can be executed without
//! looking again.

use crate::error::{OperationFault, Place, ProgramFault, RunError};
use hcomm_core::operator::{Buffer, CountsBy};
use hcomm_core::program::{Cell, Op, OpKind, Program, Transfer};
use std::collections::HashMap;

/// A notify: one bit, at one end of a channel or of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Notify {
    /// Of a thread.
    Thread { rank: u32, thread: u32, notify: u32 },
    /// Of `rank`'s end of the channel to `peer`.
    Channel { rank: u32, peer: u32, notify: u32 },
}

/// A program whose operations are all well-formed.
#[derive(Debug)]
pub(crate) struct Plan<'p> {
    pub(crate) program: &'p Program,
    /// All threads, rank by rank.
    pub(crate) threads: Vec<PlannedThread<'p>>,
    /// All notifies that some operation names, by number.
    pub(crate) notifies: Vec<Notify>,
}

/// A thread: its operations, and beside each the number of the notify that it names, or [`NO_NOTIFY`].
#[derive(Debug)]
pub(crate) struct PlannedThread<'p> {
    pub(crate) rank: u32,
    pub(crate) thread: u32,
    pub(crate) ops: &'p [Op],
    pub(crate) notifies: Vec<u32>,
}

/// Of an operation that names no notify.
pub(crate) const NO_NOTIFY: u32 = u32::MAX;

impl<'p> Plan<'p> {
    pub(crate) fn new(program: &'p Program) -> Result<Plan<'p>, RunError> {
        well_formed(program).map_err(|fault| RunError::Program { algorithm: program.algorithm.clone(), fault })?;
        // Keys come from outside: not a place for a hash that can be foreseen.
        let mut numbers: HashMap<Notify, u32> = HashMap::new();
        let mut plan = Plan { program, threads: Vec::new(), notifies: Vec::new() };
        for (rank, rank_program) in (0..).zip(&program.ranks) {
            for (thread, ops) in (0..).zip(&rank_program.threads) {
                let mut notifies = Vec::with_capacity(ops.len());
                for (index, op) in ops.iter().enumerate() {
                    let notify = operation(program, rank, thread, op).map_err(|fault| {
                        let operation = Box::new(place(program, rank, thread, index));
                        RunError::Operation { operation, fault }
                    })?;
                    let number = notify.map_or(NO_NOTIFY, |notify| {
                        *numbers.entry(notify).or_insert_with(|| {
                            plan.notifies.push(notify);
                            plan.notifies.len() as u32 - 1
                        })
                    });
                    notifies.push(number);
                }
                plan.threads.push(PlannedThread { rank, thread, ops, notifies });
            }
        }
        Ok(plan)
    }

    /// At most so many operations in a round of all ranks, every chunk of a transfer counted, and every thread once.
    pub(crate) fn operations(&self) -> u128 {
        let ops = self.threads.iter().flat_map(|thread| thread.ops);
        ops.map(|op| u128::from(op.kind.transfer().map_or(1, |transfer| transfer.len))).sum::<u128>()
            + self.threads.len() as u128
    }
}

/// Where operation `index` of a thread is, in the first round.
pub(crate) fn place(program: &Program, rank: u32, thread: u32, index: usize) -> Place {
    let ops = program.ranks.get(rank as usize).and_then(|rank| rank.threads.get(thread as usize));
    let op = ops.and_then(|ops| ops.get(index));
    Place {
        rank,
        unit: "thread",
        thread,
        op: index,
        name: op.map_or("end", |op| op.kind.name()),
        round: 0,
        invocation: 0,
        at: op.and_then(|op| program.source.spans.get(op.at.index()).copied()),
    }
}

/// Checks what is not an operation's.
pub(crate) fn frame_is_well_formed(program: &Program) -> Result<(), ProgramFault> {
    let ranks = program.num_ranks();
    if program.split == 0 {
        return Err(ProgramFault::Split);
    }
    let shape = &program.shape;
    for (role, rank) in [("root", shape.root), ("src", shape.src), ("dst", shape.dst)] {
        if rank >= ranks {
            return Err(ProgramFault::Role { role, rank, ranks });
        }
    }
    Ok(())
}

fn well_formed(program: &Program) -> Result<(), ProgramFault> {
    let ranks = program.num_ranks();
    if program.ranks.len() != ranks as usize {
        return Err(ProgramFault::Ranks { have: program.ranks.len(), ranks });
    }
    frame_is_well_formed(program)?;
    if let Some(rank) = program.ranks.iter().position(|rank| rank.threads.is_empty()) {
        return Err(ProgramFault::NoThread { rank: rank as u32 });
    }
    let have = program.ranks.iter().map(|rank| rank.threads.len()).sum();
    if have >= u32::MAX as usize || program.num_ops() >= u64::from(u32::MAX) {
        return Err(ProgramFault::Threads { have });
    }
    Ok(())
}

/// Checks all that an operation names. Returns the notify, if it names one.
fn operation(program: &Program, rank: u32, thread: u32, op: &Op) -> Result<Option<Notify>, OperationFault> {
    let check_peer = |peer: u32| match peer {
        _ if peer >= program.num_ranks() => Err(OperationFault::Peer { peer, ranks: program.num_ranks() }),
        _ if peer == rank => Err(OperationFault::SelfPeer),
        _ => Ok(()),
    };
    let check_notify = |notify: u32| match program.notifies.len() {
        notifies if notify as usize >= notifies => Err(OperationFault::Notify { notify, notifies }),
        _ => Ok(()),
    };
    let notify = match op.kind {
        OpKind::LocalCopy(_) | OpKind::LocalReduce(_) => None,
        OpKind::Write(peer, _) | OpKind::Read(peer, _) | OpKind::WriteReduce(peer, _) | OpKind::ReadReduce(peer, _) => {
            check_peer(peer)?;
            None
        }
        OpKind::WriteWithNotify(peer, _, notify)
        | OpKind::WriteReduceWithNotify(peer, _, notify)
        | OpKind::ChannelNotifyRecord { peer, notify } => {
            check_peer(peer)?;
            check_notify(notify)?;
            Some(Notify::Channel { rank: peer, peer: rank, notify })
        }
        OpKind::ChannelNotifyWait { peer, notify } => {
            check_peer(peer)?;
            check_notify(notify)?;
            Some(Notify::Channel { rank, peer, notify })
        }
        OpKind::ThreadNotifyRecord { thread, notify } => {
            let threads = program.ranks[rank as usize].threads.len();
            if thread as usize >= threads {
                return Err(OperationFault::Thread { thread, threads });
            }
            Some(Notify::Thread { rank, thread, notify })
        }
        OpKind::ThreadNotifyWait { notify } => Some(Notify::Thread { rank, thread, notify }),
    };
    if let (Some(transfer), Some((to, from))) = (op.kind.transfer(), op.kind.sides(rank)) {
        check_transfer(program, transfer, to, from)?;
    }
    Ok(notify)
}

pub(crate) fn check_transfer(program: &Program, transfer: &Transfer, to: u32, from: u32) -> Result<(), OperationFault> {
    let (class, classes) = (transfer.class, program.classes());
    if class >= classes {
        return Err(OperationFault::Class { class, classes });
    }
    if transfer.dst.buffer == Buffer::Input {
        return Err(OperationFault::WritesInput);
    }
    for (rank, Cell { buffer, chunk }) in [(to, transfer.dst), (from, transfer.src)] {
        let (len, chunks) = (transfer.len, program.chunks(buffer, rank));
        if len == 0 || chunk.checked_add(len).is_none_or(|end| end > chunks) {
            return Err(OperationFault::Chunks { rank, buffer, chunk, len, chunks });
        }
        if buffer == Buffer::Scratch {
            continue;
        }
        // With one count for all, classes go round as chunks do, and the first tells of all.
        let looked_at = if program.operator.counts() == CountsBy::All { 1 } else { len };
        for (chunk, j) in (chunk..).zip(0..looked_at) {
            let (expected, class) = (program.class_of(buffer, rank, chunk), (class + j) % classes);
            if expected != class {
                return Err(OperationFault::ClassOfChunk { buffer, chunk, expected, class });
            }
        }
    }
    Ok(())
}
