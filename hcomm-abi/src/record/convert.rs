//! Calls as a program that the checks take.

use super::cut::Chunks;
use super::operands::{Claim, Operands};
use super::{Bytes, Call, Flag, Record, What};
use hcomm_core::ids::SpanId;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::{Cell, Op, OpKind, Program, RankProgram, Source, Transfer};
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::Span;
use std::collections::{BTreeMap, BTreeSet};

/// A record as programs.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What was called, as if nothing came before and nothing after: a barrier at the end orders the last call before
    /// the first one of a repetition.
    pub once: Program,
    /// What was called, as it is, which the checks take to be repeated.
    pub again: Program,
    /// Whether what moves is whole chunks at both ends, so that the program computes what the calls do.
    pub exact: bool,
}

/// The operator that a recorded program names. Which one it really is, nobody has said: this one has as many chunks as
/// there may be.
const ANY: Operator = Operator::AllToAll;

/// Calls as programs. `None` if there are more ranks than a program can have, or none.
pub fn convert(record: &Record) -> Option<Recorded> {
    let layout = Layout::flat(record.ranks)?;
    let chunks = Chunks::new(record);
    let split = chunks.most(Buffer::Input).max(chunks.most(Buffer::Output)).div_ceil(record.ranks).max(1);
    let (mut threads, again) = program(record, &chunks, ANY, Shape { layout, root: 0, src: 0, dst: 0 }, split);
    let mut once = again.clone();
    threads.ends_with_a_barrier(&mut once, record);
    Some(Recorded { once, again, exact: chunks.exact })
}

/// One call of an operator as the program of that operator. The error says why that is not possible.
pub(super) fn of_operator(record: &Record, claim: &Claim) -> Result<Program, String> {
    let roles = || format!("{} of {} ranks has no such roles", claim.operator, record.ranks);
    let shape = claim.shape(record.ranks).ok_or_else(roles)?;
    let operands = Operands::find(record, claim, &shape)?;
    let (chunks, split) = Chunks::of_operator(record, &operands);
    if !chunks.exact {
        return Err("the ranges of its calls have too many boundaries".into());
    }
    let (_, mut program) = program(record, &chunks, claim.operator, shape, split);
    if !assign_classes(&mut program) {
        return Err("it does not run to its end".into());
    }
    Ok(program)
}

fn program(record: &Record, chunks: &Chunks, operator: Operator, shape: Shape, split: u32) -> (Threads, Program) {
    let mut threads = Threads::new(record);
    for (index, call) in record.calls.iter().enumerate() {
        threads.call(index as u32, call, chunks);
    }
    let mut program = Program {
        algorithm: "recorded".into(),
        operator,
        shape,
        split,
        scratch: chunks.most(Buffer::Scratch),
        deterministic: false,
        // Which memory a peer may reach, the communicator knows, and has refused what it may not.
        symmetric: true,
        notifies: (0..threads.channel_notifies).map(|notify| format!("notify {notify}")).collect(),
        source: source(record),
        ranks: threads.ranks.iter().map(|rank| RankProgram { threads: rank.queues.clone() }).collect(),
    };
    threads.streams_meet(&mut program);
    (threads, program)
}

/// Gives every transfer its length class: an operand's chunk has its place's, and a cell of scratch that of what it holds
/// at the time. For that the program is run once, in any order that its notifies allow. False if it does not end.
fn assign_classes(program: &mut Program) -> bool {
    let classes = program.classes().max(1);
    let mut cells: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut flags: BTreeSet<(u32, Flag)> = BTreeSet::new();
    let mut next: Vec<Vec<usize>> = program.ranks.iter().map(|rank| vec![0; rank.threads.len()]).collect();
    loop {
        let mut moved = false;
        for (rank, nexts) in (0u32..).zip(&mut next) {
            for (thread, at) in (0u32..).zip(nexts) {
                while let Some(op) = program.ranks[rank as usize].threads[thread as usize].get(*at).copied() {
                    let set = match op.kind {
                        OpKind::ThreadNotifyWait { notify } => {
                            if !flags.remove(&(rank, Flag::Thread { thread, notify })) {
                                break;
                            }
                            None
                        }
                        OpKind::ChannelNotifyWait { peer, notify } => {
                            if !flags.remove(&(rank, Flag::Channel { peer, notify })) {
                                break;
                            }
                            None
                        }
                        OpKind::ThreadNotifyRecord { thread, notify } => Some((rank, Flag::Thread { thread, notify })),
                        OpKind::ChannelNotifyRecord { peer, notify } => {
                            Some((peer, Flag::Channel { peer: rank, notify }))
                        }
                        _ => None,
                    };
                    flags.extend(set);
                    if let (Some(transfer), Some(owners)) = (op.kind.transfer(), op.kind.sides(rank)) {
                        let class = class_of(program, &cells, transfer, owners);
                        if transfer.dst.buffer == Buffer::Scratch {
                            let (owner, first) = (owners.0, transfer.dst.chunk);
                            cells.extend((0..transfer.len).map(|at| ((owner, first + at), (class + at) % classes)));
                        }
                        let kind = with_transfer(op.kind, Transfer { class, ..*transfer });
                        program.ranks[rank as usize].threads[thread as usize][*at].kind = kind;
                    }
                    *at += 1;
                    moved = true;
                }
            }
        }
        if !moved {
            break;
        }
    }
    let ends = |(rank, next): (&RankProgram, &Vec<usize>)| rank.threads.iter().map(Vec::len).eq(next.iter().copied());
    program.ranks.iter().zip(&next).all(ends)
}

/// The class of the first chunk of a transfer.
fn class_of(program: &Program, cells: &BTreeMap<(u32, u32), u32>, transfer: &Transfer, (to, from): (u32, u32)) -> u32 {
    let ends = [(transfer.src, from), (transfer.dst, to)];
    let operand = ends.iter().find(|(cell, _)| cell.buffer != Buffer::Scratch);
    match operand {
        Some((cell, owner)) => program.class_of(cell.buffer, *owner, cell.chunk),
        None => cells.get(&(from, transfer.src.chunk)).copied().unwrap_or(0),
    }
}

fn with_transfer(kind: OpKind, transfer: Transfer) -> OpKind {
    match kind {
        OpKind::LocalCopy(_) => OpKind::LocalCopy(transfer),
        OpKind::LocalReduce(_) => OpKind::LocalReduce(transfer),
        OpKind::Write(peer, _) => OpKind::Write(peer, transfer),
        OpKind::Read(peer, _) => OpKind::Read(peer, transfer),
        OpKind::WriteReduce(peer, _) => OpKind::WriteReduce(peer, transfer),
        OpKind::ReadReduce(peer, _) => OpKind::ReadReduce(peer, transfer),
        other => other,
    }
}

/// A place for every call: its number stands for the line.
fn source(record: &Record) -> Source {
    let span = |call: &Call| {
        let line = u32::try_from(call.number).unwrap_or(u32::MAX);
        Span { line, column: 1, end_line: line, end_column: 1 }
    };
    Source { file: "call".into(), spans: record.calls.iter().map(span).collect() }
}

/// The threads of a rank: streams of the host first.
struct RankThreads {
    /// By number in the record.
    place: BTreeMap<u32, u32>,
    /// How many of them are streams.
    streams: u32,
    queues: Vec<Vec<Op>>,
    /// The next notify of each that no call uses.
    free: Vec<u32>,
    /// Launches whose operations a thread has waited for.
    begun: Vec<Option<u32>>,
}

struct Threads {
    ranks: Vec<RankThreads>,
    /// By rank and launch: threads that the kernel used, in the order of their first use.
    launches: BTreeMap<(u32, u32), Vec<u32>>,
    /// By launch and thread: the notify that stands for "the kernel has been launched".
    start: BTreeMap<(u32, u32, u32), u32>,
    channel_notifies: u32,
}

impl Threads {
    fn new(record: &Record) -> Threads {
        let mut host: Vec<Vec<u32>> = vec![Vec::new(); record.ranks as usize];
        let mut device = host.clone();
        let mut most: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut channel_notifies = 0;
        for call in &record.calls {
            let list = if call.is_host { &mut host } else { &mut device };
            let list = &mut list[call.rank as usize];
            if !list.contains(&call.thread) {
                list.push(call.thread);
            }
            let flag = match &call.what {
                What::Record(flag) | What::Wait(flag) => Some(*flag),
                What::Move { then, .. } => *then,
                What::Launch { .. } => None,
            };
            match flag {
                Some(Flag::Thread { thread, notify }) => {
                    let most = most.entry((call.rank, thread)).or_default();
                    *most = (*most).max(notify.saturating_add(1));
                    // A thread that nothing is queued on is one all the same.
                    if !host[call.rank as usize].contains(&thread) && !device[call.rank as usize].contains(&thread) {
                        device[call.rank as usize].push(thread);
                    }
                }
                Some(Flag::Channel { notify, .. }) => channel_notifies = channel_notifies.max(notify.saturating_add(1)),
                None => {}
            }
        }
        for (device, host) in device.iter_mut().zip(&host) {
            device.retain(|thread| !host.contains(thread));
            device.sort_unstable();
        }
        let ranks = (0u32..).zip(host.into_iter().zip(device)).map(|(rank, (host, device))| {
            // A rank without a stream still has a main thread, which does nothing.
            let streams = host.len().max(1) as u32;
            let numbers: Vec<u32> = host.iter().chain(&device).copied().collect();
            let first = if host.is_empty() { 1 } else { 0 };
            let count = numbers.len() + first as usize;
            let mut free = vec![0; count];
            for (place, number) in (first..).zip(&numbers) {
                free[place as usize] = most.get(&(rank, *number)).copied().unwrap_or(0);
            }
            RankThreads {
                place: numbers.into_iter().zip(first..).collect(),
                streams,
                queues: vec![Vec::new(); count],
                free,
                begun: vec![None; count],
            }
        });
        let ranks: Vec<RankThreads> = ranks.collect();
        let mut threads = Threads { ranks, launches: BTreeMap::new(), start: BTreeMap::new(), channel_notifies };
        threads.find_launches(record);
        threads
    }

    /// Which threads each kernel uses, and a notify for each that nothing else uses.
    fn find_launches(&mut self, record: &Record) {
        let launched = record.calls.iter().filter_map(|call| match &call.what {
            What::Launch { id, .. } => Some((call.rank, *id)),
            _ => None,
        });
        let launched: BTreeSet<(u32, u32)> = launched.collect();
        for call in &record.calls {
            let Some(launch) = call.launch.filter(|launch| launched.contains(&(call.rank, *launch))) else { continue };
            let rank = &mut self.ranks[call.rank as usize];
            let place = rank.place[&call.thread];
            let used = self.launches.entry((call.rank, launch)).or_default();
            if place >= rank.streams && !used.contains(&place) {
                used.push(place);
                let notify = rank.free[place as usize];
                rank.free[place as usize] += 1;
                self.start.insert((call.rank, launch, place), notify);
            }
        }
    }

    fn call(&mut self, index: u32, call: &Call, chunks: &Chunks) {
        let at = SpanId(index);
        let rank = &mut self.ranks[call.rank as usize];
        let place = rank.place[&call.thread] as usize;
        if let Some(launch) = call.launch
            && rank.begun[place] != Some(launch)
            && let Some(&notify) = self.start.get(&(call.rank, launch, place as u32))
        {
            rank.begun[place] = Some(launch);
            rank.queues[place].push(Op { kind: OpKind::ThreadNotifyWait { notify }, at });
        }
        let mut push = |kind| rank.queues[place].push(Op { kind, at });
        match &call.what {
            What::Launch { id, .. } => {
                for &thread in self.launches.get(&(call.rank, *id)).map_or(&[][..], Vec::as_slice) {
                    let notify = self.start[&(call.rank, *id, thread)];
                    push(OpKind::ThreadNotifyRecord { thread, notify });
                }
            }
            What::Record(Flag::Channel { peer, notify }) => {
                push(OpKind::ChannelNotifyRecord { peer: *peer, notify: *notify });
            }
            What::Wait(Flag::Channel { peer, notify }) => {
                push(OpKind::ChannelNotifyWait { peer: *peer, notify: *notify });
            }
            What::Record(Flag::Thread { thread, notify }) => {
                let thread = rank.place[thread];
                rank.queues[place].push(Op { kind: OpKind::ThreadNotifyRecord { thread, notify: *notify }, at });
            }
            What::Wait(Flag::Thread { notify, .. }) => push(OpKind::ThreadNotifyWait { notify: *notify }),
            What::Move { dst, src, reduces, then } => {
                for transfer in transfers(chunks, dst, src) {
                    if let Some(kind) = moves(call.rank, dst.rank, src.rank, *reduces, transfer) {
                        push(kind);
                    }
                }
                if let Some(Flag::Channel { peer, notify }) = then {
                    push(OpKind::ChannelNotifyRecord { peer: *peer, notify: *notify });
                }
            }
        }
    }

    /// Where a rank has several streams, the others start after the first one and end before it: all are the caller's.
    fn streams_meet(&mut self, program: &mut Program) {
        let at = SpanId(0);
        for (rank, program) in self.ranks.iter_mut().zip(&mut program.ranks) {
            for thread in 1..rank.streams {
                let (start, end) = (rank.fresh(thread), rank.fresh(0));
                let threads = &mut program.threads;
                threads[thread as usize].insert(0, Op { kind: OpKind::ThreadNotifyWait { notify: start }, at });
                threads[0].insert(0, Op { kind: OpKind::ThreadNotifyRecord { thread, notify: start }, at });
                threads[thread as usize].push(Op { kind: OpKind::ThreadNotifyRecord { thread: 0, notify: end }, at });
                threads[0].push(Op { kind: OpKind::ThreadNotifyWait { notify: end }, at });
            }
        }
    }

    /// All threads of all ranks meet when everything has been done, and before they start again. A thread of its own
    /// sees to it on every rank, so that what the main thread has to order is still the main thread's to order.
    fn ends_with_a_barrier(&mut self, program: &mut Program, record: &Record) {
        let Some(last) = record.calls.len().checked_sub(1) else { return };
        let at = SpanId(last as u32);
        let (ranks, notify) = (self.ranks.len() as u32, self.channel_notifies);
        program.notifies.push("the end".into());
        for (me, (rank, program)) in (0u32..).zip(self.ranks.iter_mut().zip(&mut program.ranks)) {
            let keeper = rank.queues.len() as u32;
            let mut keeps = Vec::new();
            let mut push = |kind| keeps.push(Op { kind, at });
            for (thread, queue) in (0u32..).zip(&mut program.threads) {
                let start = rank.fresh(thread);
                push(OpKind::ThreadNotifyRecord { thread, notify: start });
                queue.insert(0, Op { kind: OpKind::ThreadNotifyWait { notify: start }, at: SpanId(0) });
                queue.push(Op { kind: OpKind::ThreadNotifyRecord { thread: keeper, notify: thread }, at });
            }
            (0..keeper).for_each(|thread| push(OpKind::ThreadNotifyWait { notify: thread }));
            if me == 0 {
                (1..ranks).for_each(|peer| push(OpKind::ChannelNotifyWait { peer, notify }));
                (1..ranks).for_each(|peer| push(OpKind::ChannelNotifyRecord { peer, notify }));
            } else {
                push(OpKind::ChannelNotifyRecord { peer: 0, notify });
                push(OpKind::ChannelNotifyWait { peer: 0, notify });
            }
            program.threads.push(keeps);
        }
    }
}

impl RankThreads {
    /// A notify of a thread that nothing else uses.
    fn fresh(&mut self, thread: u32) -> u32 {
        let free = &mut self.free[thread as usize];
        *free += 1;
        *free - 1
    }
}

/// A move as runs of chunks: one, unless the two ends could not be cut alike.
fn transfers(chunks: &Chunks, dst: &Bytes, src: &Bytes) -> Vec<Transfer> {
    if dst.len == 0 {
        return Vec::new();
    }
    let ((to, to_first, to_len), (from, from_first, from_len)) = (chunks.of(dst), chunks.of(src));
    let transfer = |to_at, from_at, len| Transfer {
        dst: Cell { buffer: to, chunk: to_first + to_at },
        src: Cell { buffer: from, chunk: from_first + from_at },
        len,
        class: 0,
    };
    if to_len == from_len {
        return vec![transfer(0, 0, to_len)];
    }
    // What is touched is right; what comes from where is not.
    (0..to_len.max(from_len)).map(|at| transfer(at.min(to_len - 1), at.min(from_len - 1), 1)).collect()
}

/// The operation that moves it, by whose memory it is. `None` for what the caller has no part in.
fn moves(me: u32, dst: u32, src: u32, reduces: bool, transfer: Transfer) -> Option<OpKind> {
    Some(match (dst == me, src == me, reduces) {
        (true, true, false) => OpKind::LocalCopy(transfer),
        (true, true, true) => OpKind::LocalReduce(transfer),
        (false, true, false) => OpKind::Write(dst, transfer),
        (false, true, true) => OpKind::WriteReduce(dst, transfer),
        (true, false, false) => OpKind::Read(src, transfer),
        (true, false, true) => OpKind::ReadReduce(src, transfer),
        (false, false, _) => return None,
    })
}
