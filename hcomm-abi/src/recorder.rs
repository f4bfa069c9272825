//! Notes what is called, and tells what is wrong with it when a communicator is destroyed, or the process ends.

use crate::memory::RawMemory;
use crate::record::{self, Bytes, Call, Flag, Record, What};
use crate::state::lock;
use hcomm_sim::comm::{CommHandle, EventHandle, Observer, Op, Place, Queued, StreamHandle, ThreadHandle};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Notes what is called.
#[derive(Debug)]
pub(crate) struct Recorder {
    start: Instant,
    memory: Arc<RawMemory>,
    check: bool,
    trace: Option<String>,
    notes: Mutex<Notes>,
    launches: AtomicU32,
    /// Faults that were told.
    faults: AtomicUsize,
    traces: AtomicUsize,
}

#[derive(Debug, Default)]
struct Notes {
    calls: u64,
    noted: Vec<Noted>,
    /// The streams that threads of the host are.
    streams: BTreeMap<ThreadHandle, StreamHandle>,
    /// The allocations that are HCCL buffers.
    buffers: BTreeSet<u64>,
    groups: Vec<Group>,
}

/// The communicators of the ranks of a group.
#[derive(Debug)]
struct Group {
    name: String,
    devices: Vec<u32>,
    /// By rank; `None` where the process does not have it, or has destroyed it.
    alive: Vec<Option<CommHandle>>,
    handles: BTreeMap<CommHandle, u32>,
}

#[derive(Clone, Debug)]
struct Noted {
    number: u64,
    micros: u64,
    function: &'static str,
    launch: Option<u32>,
    what: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Queued { queued: Queued, dst: Spot, src: Spot },
    Launch { id: u32, stream: StreamHandle, kernel: String },
    Event { event: EventHandle, stream: StreamHandle, waits: bool },
    Refused { rank: Option<(CommHandle, u32)>, sentence: String },
}

/// Where an address of an operation is, as it was when it was called: the same address may be another's later.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    allocation: u64,
    offset: u64,
    device: Option<u32>,
}

/// Notifies from this one on stand for events: no thread has so many.
const EVENTS: u32 = 1 << 20;

/// How many faults are told in full: one mistake often has many.
const MOST: usize = 16;

/// Bytes that an allocation may have in the record, where each has a range of its own.
const APART: u32 = 44;

impl Recorder {
    pub(crate) fn new(memory: Arc<RawMemory>, check: bool, trace: Option<String>) -> Recorder {
        Recorder {
            start: Instant::now(),
            memory,
            check,
            trace,
            notes: Mutex::default(),
            launches: AtomicU32::new(0),
            faults: AtomicUsize::new(0),
            traces: AtomicUsize::new(0),
        }
    }

    fn note(&self, what: Kind) {
        let micros = self.start.elapsed().as_micros() as u64;
        let (function, launch) = (crate::ffi::function(), crate::state::launch());
        let mut notes = lock(&self.notes);
        notes.calls += 1;
        let number = notes.calls;
        notes.noted.push(Noted { number, micros, function, launch, what });
    }

    /// A kernel is launched on a stream: the number of the launch.
    pub(crate) fn launch(&self, stream: StreamHandle, kernel: &str) -> u32 {
        let id = self.launches.fetch_add(1, Ordering::Relaxed) + 1;
        self.note(Kind::Launch { id, stream, kernel: kernel.to_owned() });
        id
    }

    /// An event is recorded on a stream, or waited for.
    pub(crate) fn event(&self, event: EventHandle, stream: StreamHandle, waits: bool) {
        self.note(Kind::Event { event, stream, waits });
    }

    /// A call of the data plane was refused.
    pub(crate) fn refused(&self, thread: ThreadHandle, sentence: &str) {
        let notes = lock(&self.notes);
        let of_thread = |noted: &Noted| match &noted.what {
            Kind::Queued { queued, .. } if queued.thread == thread => Some((queued.comm, queued.rank)),
            _ => None,
        };
        let rank = notes.noted.iter().rev().find_map(of_thread);
        drop(notes);
        self.note(Kind::Refused { rank, sentence: sentence.to_owned() });
    }

    pub(crate) fn stream_is(&self, thread: ThreadHandle, stream: StreamHandle) {
        lock(&self.notes).streams.insert(thread, stream);
    }

    /// An address is the first one of an HCCL buffer.
    pub(crate) fn buffer_is(&self, addr: u64) {
        if let Some((allocation, ..)) = self.memory.allocation(addr) {
            lock(&self.notes).buffers.insert(allocation);
        }
    }

    /// A rank has its communicator.
    pub(crate) fn entered(&self, comm: CommHandle, name: &str, rank: u32, devices: &[u32]) {
        let mut notes = lock(&self.notes);
        let open = |group: &&mut Group| {
            group.name == name
                && group.devices == devices
                && group.alive.get(rank as usize).is_some_and(Option::is_none)
        };
        let group = match notes.groups.iter_mut().find(open) {
            Some(group) if !group.handles.values().any(|other| *other == rank) => group,
            _ => {
                let alive = vec![None; devices.len()];
                let (name, devices) = (name.to_owned(), devices.to_vec());
                notes.groups.push(Group { name, devices, alive, handles: BTreeMap::new() });
                match notes.groups.last_mut() {
                    Some(group) => group,
                    None => return,
                }
            }
        };
        group.alive[rank as usize] = Some(comm);
        group.handles.insert(comm, rank);
    }

    /// A rank's communicator is about to be destroyed. When all of a group's are, what was called on them is told.
    pub(crate) fn leaves(&self, comm: CommHandle) {
        let mut notes = lock(&self.notes);
        let Some(at) = notes.groups.iter().position(|group| group.handles.contains_key(&comm)) else { return };
        let group = &mut notes.groups[at];
        for alive in group.alive.iter_mut().filter(|alive| **alive == Some(comm)) {
            *alive = None;
        }
        if group.alive.iter().all(Option::is_none) && group.handles.len() == group.devices.len() {
            let group = notes.groups.remove(at);
            let (record, refused) = notes.take(&group);
            drop(notes);
            self.tell(&record, &refused);
        }
    }

    /// The process ends: tells of all that is left. Returns how many faults there were in all.
    pub(crate) fn finish(&self) -> usize {
        loop {
            let mut notes = lock(&self.notes);
            let Some(group) = notes.groups.pop() else { break };
            let (record, refused) = notes.take(&group);
            drop(notes);
            self.tell(&record, &refused);
        }
        self.faults.load(Ordering::Relaxed)
    }

    fn tell(&self, record: &Record, refused: &[String]) {
        let Some(recorded) = record::convert(record) else { return };
        if let Some(trace) = &self.trace {
            let number = self.traces.fetch_add(1, Ordering::Relaxed);
            let path = if number == 0 { trace.clone() } else { format!("{trace}.{number}") };
            let timeline = record::timeline(record).to_string();
            for (path, text) in [(path.clone(), recorded.again.to_json()), (format!("{path}.timeline.json"), timeline)]
            {
                if let Err(error) = std::fs::write(&path, text) {
                    eprintln!("HCOMM_TRACE: {path}: {error}");
                }
            }
        }
        if !self.check {
            return;
        }
        let faults = record::check(record, &recorded);
        let results = self.results(record);
        let wrong: usize = results.iter().map(|(_, faults)| faults.len()).sum();
        let all = faults.len() + refused.len() + wrong;
        self.faults.fetch_add(all, Ordering::Relaxed);
        let words = match all {
            0 => "no faults".to_owned(),
            1 => "1 fault".to_owned(),
            _ => format!("{all} faults"),
        };
        let Record { name, ranks, calls } = record;
        let mut text = format!("HCOMM_CHECK: communicator {name}, {ranks} ranks, {} calls: {words}\n", calls.len());
        for sentence in refused {
            text.push_str(&format!("refused: {sentence}\n"));
        }
        let in_calls = results.iter().flat_map(|(which, faults)| {
            faults.iter().map(move |fault| format!("in call {which} of the operator: {fault}"))
        });
        let words: Vec<String> = faults.iter().map(ToString::to_string).chain(in_calls).collect();
        text.extend(words.iter().take(MOST).map(String::as_str));
        if let Some(more @ 1..) = words.len().checked_sub(MOST) {
            text.push_str(&format!("and {more} more\n"));
        }
        eprint!("{text}");
    }

    /// What is wrong with the results, if the environment says which operator it is.
    fn results(&self, record: &Record) -> Vec<(usize, Vec<record::Fault>)> {
        let Ok(text) = std::env::var("HCOMM_OPERATOR") else { return Vec::new() };
        let claim = record::Claim::parse(&text).ok_or_else(|| {
            "it is NAME, NAME:ROOT or send_recv:SOURCE:DESTINATION, with the name of an operator".to_owned()
        });
        claim.and_then(|claim| record::check_result(record, &claim)).unwrap_or_else(|why| {
            eprintln!("HCOMM_OPERATOR={text}: the results are not checked: {why}");
            Vec::new()
        })
    }
}

impl Observer for Recorder {
    fn queued(&self, queued: &Queued) {
        let (dst, src) = match queued.op {
            Op::LocalCopy { dst, src, .. }
            | Op::LocalReduce { dst, src, .. }
            | Op::Write { dst, src, .. }
            | Op::Read { dst, src, .. }
            | Op::WriteReduce { dst, src, .. }
            | Op::ReadReduce { dst, src, .. }
            | Op::WriteWithNotify { dst, src, .. }
            | Op::WriteReduceWithNotify { dst, src, .. } => (self.spot(dst), self.spot(src)),
            _ => (Spot::default(), Spot::default()),
        };
        self.note(Kind::Queued { queued: *queued, dst, src });
    }
}

impl Recorder {
    fn spot(&self, addr: u64) -> Spot {
        let Some((allocation, start, place)) = self.memory.allocation(addr) else { return Spot::default() };
        let device = match place {
            Place::Device(device) => Some(device),
            Place::Host => None,
        };
        Spot { allocation, offset: addr - start, device }
    }
}

impl Notes {
    /// The calls of a group, which are not kept any longer.
    fn take(&mut self, group: &Group) -> (Record, Vec<String>) {
        let mut numbers: BTreeMap<ThreadHandle, (u32, u32)> = BTreeMap::new();
        let mut launched: BTreeSet<u32> = BTreeSet::new();
        let mut most: BTreeMap<u32, u32> = BTreeMap::new();
        for noted in &self.noted {
            if let Kind::Queued { queued, .. } = &noted.what
                && let Some(rank) = group.handles.get(&queued.comm)
            {
                numbers.insert(queued.thread, (*rank, queued.number));
                launched.extend(noted.launch);
                let most = most.entry(*rank).or_default();
                *most = (*most).max(queued.number + 1);
            }
        }
        let streams: BTreeMap<(u32, StreamHandle), u32> = numbers
            .iter()
            .filter_map(|(thread, (rank, number))| Some(((*rank, *self.streams.get(thread)?), *number)))
            .collect();
        let (mut calls, mut refused) = (Vec::new(), Vec::new());
        let mut kept = Vec::new();
        // Where events were recorded last, and what is to be put there for those who wait.
        let mut events: BTreeMap<(u32, EventHandle), (usize, u32, u64, u64)> = BTreeMap::new();
        let mut orders: Vec<(usize, Call)> = Vec::new();
        for noted in std::mem::take(&mut self.noted) {
            let Noted { number, micros, function, launch, ref what } = noted;
            let call =
                |rank, thread, is_host, what| Call { number, micros, function, rank, thread, is_host, launch, what };
            match what {
                Kind::Queued { queued, dst, src } => {
                    let Some(rank) = group.handles.get(&queued.comm).copied() else {
                        kept.push(noted);
                        continue;
                    };
                    let mut thread_of = |handle: ThreadHandle| {
                        let next = most.entry(rank).or_default();
                        numbers
                            .entry(handle)
                            .or_insert_with(|| {
                                *next += 1;
                                (rank, *next - 1)
                            })
                            .1
                    };
                    let bytes = |spot: &Spot, len| {
                        let owner = spot.device.and_then(|device| group.devices.iter().position(|of| *of == device));
                        let memory = match self.buffers.contains(&spot.allocation) {
                            true => record::Memory::HcclBuffer,
                            false => record::Memory::Allocation,
                        };
                        let base = spot.allocation << APART;
                        let rank = owner.map_or(rank, |owner| owner as u32);
                        Bytes { rank, memory, base, addr: base + spot.offset, len }
                    };
                    let moves = |len, reduces, then: Option<(u32, u32)>| What::Move {
                        dst: bytes(dst, len),
                        src: bytes(src, len),
                        reduces,
                        then: then.map(|(peer, notify)| Flag::Channel { peer, notify }),
                    };
                    let what = match queued.op {
                        Op::LocalCopy { len, .. } | Op::Write { len, .. } | Op::Read { len, .. } => {
                            moves(len, false, None)
                        }
                        Op::LocalReduce { count, dtype, .. }
                        | Op::WriteReduce { count, dtype, .. }
                        | Op::ReadReduce { count, dtype, .. } => moves(count * u64::from(dtype.size()), true, None),
                        Op::WriteWithNotify { peer, len, notify, .. } => moves(len, false, Some((peer, notify))),
                        Op::WriteReduceWithNotify { peer, count, dtype, notify, .. } => {
                            moves(count * u64::from(dtype.size()), true, Some((peer, notify)))
                        }
                        Op::ThreadNotifyRecord { thread, notify } => {
                            What::Record(Flag::Thread { thread: thread_of(thread), notify })
                        }
                        Op::ThreadNotifyWait { notify, .. } => {
                            What::Wait(Flag::Thread { thread: queued.number, notify })
                        }
                        Op::ChannelNotifyRecord { peer, notify, .. } => What::Record(Flag::Channel { peer, notify }),
                        Op::ChannelNotifyWait { peer, notify, .. } => What::Wait(Flag::Channel { peer, notify }),
                        Op::ChannelFence { .. } => continue,
                    };
                    calls.push(call(rank, queued.number, launch.is_none(), what));
                }
                Kind::Launch { id, stream, kernel } => {
                    if !launched.contains(id) {
                        kept.push(noted);
                        continue;
                    }
                    let here =
                        |(at, thread): (&(u32, StreamHandle), &u32)| (at.1 == *stream).then_some((at.0, *thread));
                    if let Some((rank, thread)) = streams.iter().find_map(here) {
                        let what = What::Launch { id: *id, kernel: kernel.clone() };
                        calls.push(call(rank, thread, true, what));
                    }
                }
                Kind::Event { event, stream, waits } => {
                    // Other communicators may be used on the stream too.
                    kept.push(noted.clone());
                    let here =
                        |(at, thread): (&(u32, StreamHandle), &u32)| (at.1 == *stream).then_some((at.0, *thread));
                    let Some((rank, thread)) = streams.iter().find_map(here) else { continue };
                    let call =
                        |thread, what| Call { number, micros, function, rank, thread, is_host: true, launch, what };
                    if !waits {
                        events.insert((rank, *event), (calls.len(), thread, number, micros));
                    } else if let Some((at, from, number, micros)) = events.get(&(rank, *event)).copied()
                        && from != thread
                    {
                        // A notify of its own for each pair: an event stays set for all who wait.
                        let flag = Flag::Thread { thread, notify: EVENTS + orders.len() as u32 };
                        let function = "aclrtRecordEvent";
                        let record = Call { number, micros, function, ..call(from, What::Record(flag)) };
                        orders.push((at, record));
                        calls.push(call(thread, What::Wait(flag)));
                    }
                }
                Kind::Refused { rank, sentence } => match rank {
                    Some((comm, _)) if !group.handles.contains_key(comm) => kept.push(noted),
                    Some((_, rank)) => {
                        refused.push(format!("call {number}: {function} of rank {rank}: {sentence}"));
                    }
                    None => refused.push(format!("call {number}: {function}: {sentence}")),
                },
            }
        }
        self.noted = kept;
        orders.sort_by_key(|(at, _)| *at);
        for (at, record) in orders.into_iter().rev() {
            calls.insert(at, record);
        }
        (Record { name: group.name.clone(), ranks: group.devices.len() as u32, calls }, refused)
    }
}

/// The status that the process ends with if its calls were found at fault and nothing else has been said.
const FAULTS: i32 = 86;

extern "C" fn tell_at_exit() {
    let recorder = crate::state::state().ok().and_then(|state| state.recorder.as_ref());
    if recorder.is_some_and(|recorder| recorder.finish() > 0) {
        // SAFETY: both take nothing of ours; a null stream is all streams. What was printed is written out before the
        // process is ended with a status of ours: that of `main` cannot be read here.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(FAULTS);
        }
    }
}

/// Lets what is left be told when the process ends.
pub(crate) fn at_exit() {
    // SAFETY: the function lives as long as the library, which is never unloaded: its threads run until the end.
    let result = unsafe { libc::atexit(tell_at_exit) };
    if result != 0 {
        crate::log::warn("atexit", "refused: what is wrong is told only when communicators are destroyed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two streams of one rank: what the second does after a wait for the first comes after what that did.
    #[test]
    fn events_order_streams() {
        let (comm, streams) = (CommHandle(1), [StreamHandle(10), StreamHandle(11)]);
        let threads = [ThreadHandle(20), ThreadHandle(21)];
        for with_event in [true, false] {
            let mut notes = Notes::default();
            notes.streams.extend(threads.into_iter().zip(streams));
            let copy = |number: u32| {
                let op = Op::LocalCopy { dst: 0, src: 0, len: 8 };
                let thread = threads[number as usize];
                let queued = Queued { call: 0, comm, rank: 0, thread, number, op };
                let (dst, src) = (
                    Spot { allocation: 1, offset: 0, device: Some(0) },
                    Spot { allocation: 2, offset: 0, device: Some(0) },
                );
                Kind::Queued { queued, dst, src }
            };
            let event = |stream, waits| Kind::Event { event: EventHandle(5), stream, waits };
            let mut all = vec![copy(0), event(streams[0], false), event(streams[1], true), copy(1)];
            if !with_event {
                all.retain(|kind| !matches!(kind, Kind::Event { .. }));
            }
            for (number, what) in (1..).zip(all) {
                notes.noted.push(Noted { number, micros: number, function: "f", launch: None, what });
            }
            let handles = BTreeMap::from([(comm, 0)]);
            let group = Group { name: "one".into(), devices: vec![0], alive: vec![None], handles };
            let (record, _) = notes.take(&group);
            let found = record::convert(&record).map(|recorded| record::check(&record, &recorded));
            let races = found.unwrap_or_default().len();
            assert_eq!(races == 0, with_event, "{record:?}");
        }
    }
}
