//! Operators of the library on a communicator: resources made once for each algorithm, then launches on streams.
//!
//! The life of a launch (facts 4.2): the thread of the user's stream sets the start notify of the main thread and waits
//! for the end; a kernel reads the context and queues the operator's tasks; the main thread's last task sets the notify
//! that the stream waits for.

use crate::comm::channel::ChannelDesc;
use crate::comm::config::Deterministic;
use crate::comm::context::MAX_TAG;
use crate::comm::error::{CommError, Result, internal, not_support, para, unavail};
use crate::comm::handle::{EventHandle, StreamHandle, ThreadHandle};
use crate::comm::kernel::kernel;
use crate::comm::memory::{Place, Region};
use crate::comm::monitor::Moment;
use crate::comm::needs::{fence_of, greeting_of, notifies_of, notifies_of_channels, peers_of};
use crate::comm::plane::DataPlane;
use crate::comm::queue::{Action, Task};
use crate::comm::rank::RankState;
use crate::comm::sync::lock;
use crate::comm::thread::{CommEngine, DedicatedThread, Side, Thread};
use crate::comm::window::{OperandPlace, Operands};
use hcomm_core::check;
use hcomm_core::counts::Counts;
use hcomm_core::diag::Code;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::Program;
use hcomm_core::sizes::Rounds;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Notifies of a stream's thread, and the one that the device sets at the end (facts 2.6).
const STREAM_NOTIFIES: u32 = 3;
pub(crate) const DONE: u32 = 0;

/// What an operator is called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpCall {
    /// Address of the input; of no meaning where the rank has none.
    pub input: u64,
    /// Address of the output; of no meaning where the rank has none.
    pub output: u64,
    /// Elements of slots.
    pub counts: Counts,
    /// Their type.
    pub dtype: DataType,
    /// What `+=` does.
    pub reduce: ReduceOp,
}

impl OpCall {
    /// `count` elements a slot, summed where they are reduced.
    pub fn new(input: u64, output: u64, count: u64, dtype: DataType) -> OpCall {
        OpCall { input, output, counts: Counts::Same(count), dtype, reduce: ReduceOp::Sum }
    }

    /// Sets counts that are not the same for all slots.
    #[must_use]
    pub fn counts(mut self, counts: Counts) -> OpCall {
        self.counts = counts;
        self
    }

    /// Sets the reduction.
    #[must_use]
    pub fn reduce(mut self, reduce: ReduceOp) -> OpCall {
        self.reduce = reduce;
        self
    }
}

/// What a rank keeps of its operators.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    /// By tag.
    ready: BTreeMap<String, Arc<Prepared>>,
    /// Threads for operators, with their notifies. They serve all algorithms, which never run at once.
    threads: Vec<(ThreadHandle, u32)>,
    /// The thread that the kernels are launched on, and the event that orders operators on different streams.
    unfold: Option<(ThreadHandle, EventHandle)>,
    /// The program of each tag, which has been looked at.
    known: BTreeMap<String, Arc<Program>>,
    /// Whether an algorithm orders its reductions, where it was asked: by tag.
    ordered: BTreeMap<String, bool>,
    /// Counts operators, to compare what ranks call.
    pub(crate) number: u64,
}

/// An operator that was launched and has not ended.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) number: u64,
    pub(crate) job: Arc<Job>,
    pub(crate) attempts: u32,
}

impl Launches {
    /// Forgets the operators, not their resources.
    pub(crate) fn restart(&mut self) {
        self.number = 0;
    }

    /// Looks at a program when it first comes: what its operations name must exist. Its name stands for it from then on.
    fn know(&mut self, tag: &str, program: &Arc<Program>) -> Result<()> {
        match self.known.get_mut(tag) {
            Some(known) if Arc::ptr_eq(known, program) => return Ok(()),
            Some(known) if **known == **program => {
                *known = program.clone();
                return Ok(());
            }
            Some(_) if self.ready.contains_key(tag) => {
                return Err(para(format!(
                    "another program was launched as `{}` on this communicator, and its resources are kept by that name: \
                     give this one another name",
                    program.algorithm
                )));
            }
            _ => {}
        }
        crate::bytes::check(program).map_err(|error| para(error.to_string()))?;
        self.known.insert(tag.to_owned(), program.clone());
        Ok(())
    }

    /// Forgets everything. Returns the event to give back.
    pub(crate) fn clear(&mut self) -> Option<EventHandle> {
        let event = self.unfold.map(|(_, event)| event);
        *self = Launches::default();
        event
    }
}

/// What the host knows of an algorithm whose resources are there.
#[derive(Debug)]
struct Prepared {
    context: Region,
    /// The main thread, as the host may record to it.
    main: ThreadHandle,
    /// Its notify for the start.
    start: u32,
    /// The notify of channels for the beginning, if the program needs one.
    greeting: Option<u32>,
}

/// What all ranks of a communicator must call alike, by number.
#[derive(Debug, Default)]
pub(crate) struct Agreement {
    first: u64,
    called: VecDeque<Called>,
}

#[derive(Debug)]
struct Called {
    what: What,
    by: u32,
    ranks: u32,
}

#[derive(Clone, Debug, PartialEq)]
struct What {
    algorithm: String,
    shape: hcomm_core::shape::Shape,
    counts: Counts,
    dtype: DataType,
    reduce: Option<ReduceOp>,
    /// Where operands are that peers reach in symmetric windows.
    places: Vec<OperandPlace>,
}

impl What {
    fn words(&self) -> String {
        let places =
            self.places.iter().map(|(name, window, at)| format!(", the {name} at byte {at} of window {window}"));
        let places: String = places.collect();
        let Counts::Same(count) = self.counts else {
            return format!("{} of {}{places}", self.algorithm, self.dtype);
        };
        let reduce = self.reduce.map_or(String::new(), |reduce| format!(", {reduce}"));
        let shape = &self.shape;
        let root = if shape.root > 0 { format!(", root {}", shape.root) } else { String::new() };
        format!("{} of {count} {}{reduce}{root}{places}", self.algorithm, self.dtype)
    }
}

impl Agreement {
    pub(crate) fn clear(&mut self) {
        *self = Agreement::default();
    }

    /// Compares operator `number` of a rank with what other ranks called.
    fn agree(&mut self, size: u32, rank: u32, number: u64, what: What) -> Result<()> {
        let Some(at) = number.checked_sub(self.first) else {
            return Err(internal(format!("operator {number} of rank {rank} was called by all ranks already")));
        };
        let at = at as usize;
        if at < self.called.len() {
            let called = &mut self.called[at];
            called.ranks += 1;
            if called.what != what {
                return Err(para(format!(
                    "the ranks do not call the same: operator {number} is {} on rank {}, and {} on rank {rank}",
                    called.what.words(),
                    called.by,
                    what.words()
                )));
            }
        } else {
            self.called.push_back(Called { what, by: rank, ranks: 1 });
        }
        while self.called.front().is_some_and(|called| called.ranks == size) {
            self.called.pop_front();
            self.first += 1;
        }
        Ok(())
    }
}

/// A rank's part in an operator that was called.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) program: Arc<Program>,
    pub(crate) call: OpCall,
    pub(crate) rounds: Rounds,
    /// Whether what the operator writes may be part of its input.
    pub(crate) modifies_input: bool,
    /// Where the operands are, if it is for symmetric windows.
    pub(crate) operands: Option<Operands>,
    pub(crate) context: Region,
    /// The main thread, and its notify for the start.
    pub(crate) main: ThreadHandle,
    pub(crate) start: u32,
    /// The notify of channels that peers set for each other when they begin, if the program needs one.
    pub(crate) greeting: Option<u32>,
    /// Whether the device has come to the end.
    finished: AtomicBool,
    /// The stream's thread, as the device may record to it.
    pub(crate) done: ThreadHandle,
}

impl Job {
    /// Whether the device has come to the end: what it did is done, and cannot be repeated.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    /// The notify of channels for the end of operators.
    pub(crate) fn fence(&self) -> u32 {
        fence_of(&self.program)
    }

    /// What a notify of a channel is for, in words.
    pub(crate) fn says(&self, notify: u32) -> Option<String> {
        let algorithm = &self.program.algorithm;
        match self.program.notifies.get(notify as usize) {
            Some(name) => Some(format!("`{name}` of `{algorithm}`")),
            None if Some(notify) == self.greeting => Some(format!("that of the beginning of `{algorithm}`")),
            None if notify == self.fence() => Some(format!("that of the end of `{algorithm}`")),
            None => None,
        }
    }

    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Release);
    }
}

impl RankState {
    /// Launches an operator on a stream.
    pub(crate) fn launch(self: &Arc<Self>, program: &Arc<Program>, call: &OpCall, stream: StreamHandle) -> Result<()> {
        self.is_ready()?;
        self.is_for(program)?;
        let tag = tag_of(program)?;
        let mut launches = lock(&self.launches);
        // Again, with the lock: whoever suspends takes it too, and drops what was queued before.
        self.is_ready()?;
        launches.know(&tag, program)?;
        let (rounds, input, output) = self.check_call(program, call, stream)?;
        let operands = self.operands(program, input, output)?;
        let operator = program.operator;
        self.check_order(&mut launches, program, call)?;
        let what = What {
            algorithm: program.algorithm.clone(),
            shape: program.shape,
            counts: call.counts.clone(),
            dtype: call.dtype,
            reduce: operator.reduces().then_some(call.reduce),
            places: operands.as_ref().map_or_else(Vec::new, |operands| operands.places(program)),
        };
        let number = launches.number;
        let agreed = lock(&self.group.agreement).agree(self.group.size(), self.rank, number, what);
        if let Err(error) = agreed {
            drop(launches);
            self.disagree(&error);
            return Err(error);
        }
        launches.number += 1;
        if rounds.count == 0 && operator != Operator::Barrier {
            return Ok(());
        }
        // The stream may be another one every time.
        let host = self.thread_of_stream(CommEngine::CpuTs, stream, STREAM_NOTIFIES)?;
        let done = self.export_threads(&[host], CommEngine::AiCpuTs)?[0];
        let (prepared, reused) = match launches.ready.get(&tag) {
            Some(prepared) => (prepared.clone(), true),
            None => (self.prepare(&mut launches, &tag, program)?, false),
        };
        if reused {
            self.totals.contexts_reused();
        }
        if let Some(operands) = &operands {
            self.ask_for(program, operands, notifies_of_channels(program))?;
        }
        let (unfold, ended) = self.unfold(&mut launches)?;
        // It may have waited for its peers for long.
        self.is_ready()?;
        let mut order = lock(&self.order);
        order.before_operator(&self.core, stream)?;
        let modifies_input = self.core.virtual_memory.share(input, output);
        let job = Arc::new(Job {
            program: program.clone(),
            call: call.clone(),
            rounds,
            modifies_input,
            operands,
            context: prepared.context,
            main: prepared.main,
            start: prepared.start,
            greeting: prepared.greeting,
            finished: AtomicBool::new(false),
            done,
        });
        self.totals.launched(job.rounds.rounds, input.size);
        self.note(Moment::Launched {
            algorithm: program.algorithm.clone(),
            count: job.rounds.count,
            dtype: call.dtype.name(),
            rounds: job.rounds.rounds,
            reused,
        });
        // At once: from here on what fails shows on the stream.
        let (me, mut plane) = (self.clone(), DataPlane::new(self.core.clone(), Side::Host));
        plane.batch_start(&tag)?;
        plane.thread_notify_record(host, prepared.main, prepared.start)?;
        plane.thread_notify_wait(host, DONE, self.config.timeouts.host())?;
        plane.call(
            host,
            Box::new(move || {
                me.ended(number);
                Ok(())
            }),
        )?;
        let unfold = self.own_thread(unfold)?;
        lock(&self.open).push_back(Open { number, job: job.clone(), attempts: 0 });
        plane.batch_end(&tag)?;
        self.queue_kernel(&unfold, &job);
        order.after_operator(&self.core, stream, ended)
    }

    /// Queues the kernel that queues the operator's tasks.
    fn queue_kernel(self: &Arc<Self>, unfold: &Thread, job: &Arc<Job>) {
        let (me, job) = (self.clone(), job.clone());
        let (owner, epoch) = self.owner(Side::Device);
        let kernel = Action::Call(Box::new(move || kernel(&me, &job, epoch)));
        let task = Task { action: kernel, owner: Some((owner, epoch)) };
        unfold.queue.push(&*self.core, [task]);
    }

    fn ended(&self, number: u64) {
        // Not with the launches locked: a worker must not wait for who launches.
        lock(&self.open).retain(|open| open.number != number);
        self.totals.completed();
    }

    /// Tells all ranks that they do not call the same.
    pub(crate) fn disagree(&self, error: &CommError) {
        for rank in 0..self.group.size() {
            if let Some(state) = self.group.rank(rank) {
                state.fail(error);
            }
        }
    }

    /// Starts the operators that are open again: the first has been started before, the others wait for the stream.
    pub(crate) fn start_again(self: &Arc<Self>, launches: &mut Launches) -> Result<()> {
        let (unfold, _) = self.unfold(launches)?;
        let jobs: Vec<Arc<Job>> = {
            let mut open = lock(&self.open);
            open.iter_mut().take(1).for_each(|first| first.attempts += 1);
            open.iter().map(|open| open.job.clone()).collect()
        };
        if let Some(first) = jobs.first() {
            self.own_thread(first.main)?.flag(first.start)?.set();
        }
        let unfold = self.own_thread(unfold)?;
        jobs.iter().for_each(|job| self.queue_kernel(&unfold, job));
        Ok(())
    }

    /// Waits until the device carries out no task.
    pub(crate) fn until_threads_are_still(&self) -> Result<()> {
        let until = self.core.after(self.config.timeouts.meet());
        let threads = lock(&self.threads).all.clone();
        for thread in threads.iter().filter(|thread| thread.stream.is_none()) {
            if !thread.queue.until_still(Some(until)) {
                return Err(internal(format!("a task of {} does not end", self.who())));
            }
        }
        Ok(())
    }

    /// If the communicator is to be deterministic, floats are added and multiplied in an order that does not change: what the
    /// checks say of the program (H202).
    fn check_order(&self, launches: &mut Launches, program: &Program, call: &OpCall) -> Result<()> {
        let matters = program.operator.reduces()
            && crate::value::rounds(call.dtype)
            && matches!(call.reduce, ReduceOp::Sum | ReduceOp::Prod);
        if self.config.deterministic == Deterministic::Off || !matters {
            return Ok(());
        }
        let ordered = *launches.ordered.entry(tag_of(program)?).or_insert_with(|| {
            let strict = Program { deterministic: true, ..program.clone() };
            let report = check::report(&strict);
            report.diagnostics.iter().all(|diagnostic| diagnostic.code != Code::H202)
        });
        match ordered {
            true => Ok(()),
            false => Err(not_support(format!(
                "`{}` does not always reduce in the same order (H202), and {} is to be deterministic",
                program.algorithm, self.group.name
            ))),
        }
    }

    /// Whether a program is one for this many ranks.
    fn is_for(&self, program: &Program) -> Result<()> {
        let (ranks, size) = (program.num_ranks(), self.group.size());
        if ranks == size {
            return Ok(());
        }
        let (algorithm, name) = (&program.algorithm, &self.group.name);
        Err(para(format!("`{algorithm}` is lowered for {ranks} ranks, and {name} has {size}")))
    }

    /// Checks what an operator is called with. Returns its rounds, and where input and output are.
    fn check_call(&self, program: &Program, call: &OpCall, stream: StreamHandle) -> Result<(Rounds, Region, Region)> {
        let queue = &self.core.streams.get(stream)?.queue;
        if queue.device != self.device {
            let device = queue.device;
            return Err(para(format!(
                "{} is on device {}, and the stream on device {device}",
                self.who(),
                self.device
            )));
        }
        if program.operator.reduces() && call.dtype.is_copied_only() {
            return Err(not_support(format!("{} are not reduced: they are only copied", call.dtype)));
        }
        self.core
            .product
            .admits(program, call.dtype, call.reduce)
            .map_err(|diagnostic| not_support(diagnostic.message))?;
        // What stages nothing needs no HCCL buffer.
        let buffer = if program.scratch == 0 { 0 } else { self.hccl_buffer()?.size };
        let rounds = Rounds::new(program, call.counts.clone(), call.dtype.size(), buffer)
            .map_err(|error| para(format!("`{}`: {error}", program.algorithm)))?;
        let region = |buffer: Buffer, addr: u64| -> Result<Region> {
            let elements = call.counts.elements(program, buffer, self.rank);
            let bytes = elements.checked_mul(u64::from(call.dtype.size()));
            let size = bytes.ok_or_else(|| para(format!("{elements} elements are too many")))?;
            let region = Region { addr, size };
            let name = buffer.name();
            if size == 0 {
                return Ok(region);
            }
            if program.operator.reduces() && !addr.is_multiple_of(u64::from(call.dtype.size())) {
                return Err(para(format!("the {name} at {addr:#x} is not aligned to {}", call.dtype)));
            }
            match self.core.memory.find(addr) {
                Some((allocation, Place::Device(device))) if device == self.device && allocation.holds(region) => {
                    Ok(region)
                }
                Some((allocation, place)) => Err(para(format!(
                    "the {name} of rank {} needs {size} bytes at {addr:#x} on device {}, and there are {allocation} on {place}",
                    self.rank, self.device
                ))),
                None => Err(para(format!("the {name} of rank {}: nothing is allocated at {addr:#x}", self.rank))),
            }
        };
        let (input, output) = (region(Buffer::Input, call.input)?, region(Buffer::Output, call.output)?);
        Ok((rounds, input, output))
    }

    /// The thread that kernels are launched on, and the event that orders operators.
    fn unfold(self: &Arc<Self>, launches: &mut Launches) -> Result<(ThreadHandle, EventHandle)> {
        if let Some(unfold) = launches.unfold {
            return Ok(unfold);
        }
        let thread = self.dedicated_thread(DedicatedThread::AicpuLaunch, 1)?;
        let unfold = (thread, self.core.create_event()?);
        launches.unfold = Some(unfold);
        Ok(unfold)
    }

    /// Whether the resources of an algorithm are there.
    pub(crate) fn is_prepared(&self, program: &Program) -> bool {
        tag_of(program).is_ok_and(|tag| lock(&self.launches).ready.contains_key(&tag)) && !self.must_ask(program)
    }

    /// Makes the resources of an algorithm, and its context last: what fails before leaves none behind.
    fn prepare(self: &Arc<Self>, launches: &mut Launches, tag: &str, program: &Program) -> Result<Arc<Prepared>> {
        let notifies = notifies_of(program, self.rank);
        let threads = self.operator_threads(launches, &notifies)?;
        let main = self.export_threads(&threads[..1], CommEngine::CpuTs)?[0];
        let peers = peers_of(program, self.rank);
        let need = notifies_of_channels(program);
        let mut channels = Vec::with_capacity(peers.len());
        if !peers.is_empty() {
            let descs: Vec<ChannelDesc> = peers.iter().map(|peer| ChannelDesc::new(*peer, need)).collect();
            lock(&self.channels).info = Some(format!("{tag}, an HCCL buffer of {} bytes", self.config.buffer_size));
            channels = self.acquire_channels(CommEngine::AiCpuTs, &descs)?;
        }
        let mut words = vec![threads.len() as u64];
        words.extend(threads.iter().map(|thread| thread.0));
        let start = notifies[0] - 1;
        words.push(peers.len() as u64);
        for (peer, handle) in peers.iter().zip(&channels) {
            let channel = self.own_channel(*handle)?;
            let has = channel.mine.notifies().min(channel.theirs.notifies());
            if has < need {
                return Err(unavail(format!(
                    "`{}` needs {need} notifies on the channel to rank {peer}, which was made with {has}, and on {} it keeps \
                     them",
                    program.algorithm, self.core.product
                )));
            }
            words.extend([u64::from(*peer), handle.0, channel.remote_buffer().addr]);
        }
        words.push(self.hccl_buffer()?.addr);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let size = bytes.len() as u64;
        let addr = self.create_context(tag, CommEngine::AiCpuTs, size)?;
        self.copy_context(tag, CommEngine::AiCpuTs, 0, &bytes)?;
        let prepared =
            Arc::new(Prepared { context: Region { addr, size }, main, start, greeting: greeting_of(program) });
        launches.ready.insert(tag.to_owned(), prepared.clone());
        Ok(prepared)
    }

    /// Threads with at least so many notifies each. Operators of a communicator follow each other, so all use the same.
    fn operator_threads(self: &Arc<Self>, launches: &mut Launches, notifies: &[u32]) -> Result<Vec<ThreadHandle>> {
        let is_short = |at: usize, want: u32| launches.threads.get(at).is_none_or(|(_, has)| *has < want);
        let short: Vec<usize> = (0..notifies.len()).filter(|at| is_short(*at, notifies[*at])).collect();
        if self.core.is_v2() && !short.is_empty() {
            // The same threads again, with what they lack.
            let wanted: Vec<u32> = notifies.to_vec();
            let threads = self.acquire_threads(CommEngine::AiCpu, &wanted)?;
            for (at, (thread, has)) in threads.into_iter().zip(wanted).enumerate() {
                match launches.threads.get_mut(at) {
                    Some(known) => known.1 = known.1.max(has),
                    None => launches.threads.push((thread, has)),
                }
            }
        } else if !short.is_empty() {
            // New ones: with some to spare, so that this does not happen often.
            let wanted: Vec<u32> =
                short.iter().map(|at| notifies[*at].checked_next_power_of_two().unwrap_or(u32::MAX).max(2)).collect();
            let threads = self.acquire_threads(CommEngine::AiCpu, &wanted)?;
            for (at, new) in short.into_iter().zip(threads.into_iter().zip(wanted)) {
                match launches.threads.get_mut(at) {
                    Some(known) => *known = new,
                    None => launches.threads.push(new),
                }
            }
        }
        Ok(launches.threads[..notifies.len()].iter().map(|(thread, _)| *thread).collect())
    }
}

/// The key of a context: all that decides which resources there are. Counts and types do not.
fn tag_of(program: &Program) -> Result<String> {
    let shape = &program.shape;
    let tag = format!(
        "{}/{}/{}-{}-{}/{}",
        program.algorithm, shape.layout, shape.root, shape.src, shape.dst, program.scratch
    );
    match tag.len() {
        0..=MAX_TAG => Ok(tag),
        len => Err(para(format!(
            "the name `{}` makes a tag of {len} bytes, and it has at most {MAX_TAG}",
            program.algorithm
        ))),
    }
}
