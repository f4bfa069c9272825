//! Who runs the queues: a few workers, one timer, and threads for calls that may block.

use crate::comm::core::Core;
use crate::comm::error::{Result, internal};
use crate::comm::fault::Fate;
use crate::comm::notify::{Notify, Recorded};
use crate::comm::queue::{Action, Call, Driver, Hop, Owned, Queue};
use crate::comm::recover::Callbacks;
use crate::comm::sync::lock;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a thread for calls stays without one.
const IDLE: Duration = Duration::from_millis(200);

/// Work for the workers, the timer and the kernel threads.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    closed: AtomicBool,
    ready: Mutex<VecDeque<Arc<Queue>>>,
    work: Condvar,
    alarms: Mutex<Alarms>,
    ring: Condvar,
    kernels: Mutex<Kernels>,
    kernel: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Alarms {
    heap: BinaryHeap<Reverse<Alarm>>,
    number: u64,
}

#[derive(Debug)]
struct Alarm {
    at: Instant,
    number: u64,
    queue: Weak<Queue>,
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Alarm {}

impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Alarm {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

#[derive(Default)]
struct Kernels {
    calls: VecDeque<Box<dyn FnOnce() + Send>>,
    idle: usize,
    running: usize,
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} running, {} idle", self.running, self.idle)
    }
}

/// Starts workers and timer.
///
/// # Errors
///
/// If the system gives no threads.
pub(crate) fn start(core: &Arc<Core>, workers: usize) -> std::io::Result<()> {
    let mut threads = Vec::new();
    for worker in 0..workers.max(1) {
        let core = core.clone();
        threads.push(std::thread::Builder::new().name(format!("hcomm-worker-{worker}")).spawn(move || work(&core))?);
    }
    let timer = core.clone();
    threads.push(std::thread::Builder::new().name("hcomm-timer".into()).spawn(move || ring(&timer))?);
    lock_std(&core.engine.threads).extend(threads);
    Ok(())
}

fn lock_std<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work(core: &Arc<Core>) {
    let engine = &core.engine;
    loop {
        let mut ready = lock_std(&engine.ready);
        let queue = loop {
            if engine.closed.load(Ordering::Acquire) {
                return;
            }
            match ready.pop_front() {
                Some(queue) => break queue,
                None => ready = engine.work.wait(ready).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(ready);
        queue.run(&**core);
    }
}

fn ring(core: &Arc<Core>) {
    let engine = &core.engine;
    let mut alarms = lock_std(&engine.alarms);
    while !engine.closed.load(Ordering::Acquire) {
        let now = Instant::now();
        match alarms.heap.peek() {
            Some(Reverse(alarm)) if alarm.at <= now => {
                let queue = alarms.heap.pop().and_then(|Reverse(alarm)| alarm.queue.upgrade());
                drop(alarms);
                if let Some(queue) = queue {
                    queue.expire(&**core, now);
                }
                alarms = lock_std(&engine.alarms);
            }
            Some(Reverse(alarm)) => {
                let left = alarm.at - now;
                alarms = engine.ring.wait_timeout(alarms, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            None => alarms = engine.ring.wait(alarms).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl Engine {
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// From now on workers, timer and kernel threads end.
    fn mark_closed(&self) {
        // With the locks held, so that nobody is between looking and sleeping.
        let _guards = (lock_std(&self.ready), lock_std(&self.alarms), lock_std(&self.kernels));
        self.closed.store(true, Ordering::Release);
    }

    /// Waits for them, except for the one that calls this.
    fn join(&self) {
        self.work.notify_all();
        self.ring.notify_all();
        self.kernel.notify_all();
        let threads = std::mem::take(&mut *lock_std(&self.threads));
        for thread in threads {
            if thread.thread().id() != std::thread::current().id() {
                // A worker that panicked has said so.
                let _panicked = thread.join();
            }
        }
        lock_std(&self.ready).clear();
        lock_std(&self.alarms).heap.clear();
        lock_std(&self.kernels).calls.clear();
    }

    pub(crate) fn submit(&self, core: Arc<Core>, call: Box<dyn FnOnce() + Send>) {
        let mut kernels = lock_std(&self.kernels);
        if self.is_closed() {
            return;
        }
        kernels.calls.push_back(call);
        if kernels.calls.len() <= kernels.idle {
            drop(kernels);
            self.kernel.notify_one();
            return;
        }
        kernels.running += 1;
        drop(kernels);
        let spawned = std::thread::Builder::new().name("hcomm-kernel".into()).spawn(move || serve(&core.engine));
        if spawned.is_err() {
            // No thread for it: one that is busy takes it when it is done, and if there is none it is done here.
            let mut kernels = lock_std(&self.kernels);
            kernels.running -= 1;
            if kernels.running == 0
                && let Some(call) = kernels.calls.pop_front()
            {
                drop(kernels);
                call();
            }
        }
    }
}

fn serve(engine: &Engine) {
    let mut kernels = lock_std(&engine.kernels);
    loop {
        if let Some(call) = kernels.calls.pop_front() {
            drop(kernels);
            call();
            kernels = lock_std(&engine.kernels);
            continue;
        }
        if engine.is_closed() {
            break;
        }
        kernels.idle += 1;
        let (guard, waited) = engine.kernel.wait_timeout(kernels, IDLE).unwrap_or_else(PoisonError::into_inner);
        kernels = guard;
        kernels.idle -= 1;
        if waited.timed_out() && kernels.calls.is_empty() {
            break;
        }
    }
    kernels.running -= 1;
}

impl Core {
    /// Sets a flag. Returns whether the record was lost.
    fn record(&self, notify: &Notify, hop: Option<Hop>) -> Result<bool> {
        if let Some(hop) = hop {
            match self.faults.record(hop) {
                Fate::Arrives => {}
                Fate::Lost => {
                    self.note_lost(notify.name, "a fault was injected");
                    return Ok(true);
                }
                Fate::Fails(error) => return Err(error),
            }
        }
        match notify.record() {
            Recorded::Set => {}
            Recorded::Lost => {
                self.note_lost(notify.name, "it was set already, and a notify is one bit");
                return Ok(true);
            }
            Recorded::Answers(waiter) => waiter.queue.wake(self, waiter.token),
        }
        Ok(false)
    }

    /// Carries out a copy, a reduction or a record.
    fn carry_out(&self, action: &Action) -> Result<bool> {
        match action {
            Action::Copy { dst, src, len, hop, then } => {
                if let Some(hop) = hop {
                    self.faults.transfer(*hop)?;
                }
                self.memory.copy(*dst, *src, *len)?;
                then.as_ref().map_or(Ok(false), |notify| self.record(notify, *hop))
            }
            Action::Reduce { dst, src, count, dtype, reduce, hop, then } => {
                if let Some(hop) = hop {
                    self.faults.transfer(*hop)?;
                }
                self.memory.reduce(*dst, *src, *count, *dtype, *reduce)?;
                then.as_ref().map_or(Ok(false), |notify| self.record(notify, *hop))
            }
            Action::Record { notify, hop } => self.record(notify, *hop),
            // The queue does these itself.
            Action::Wait { .. } | Action::Await(..) | Action::Reach(..) | Action::Call(_) | Action::Kernel(_) => {
                Ok(false)
            }
        }
    }
}

impl Driver for Core {
    fn ready(&self, queue: Arc<Queue>) {
        let mut ready = lock_std(&self.engine.ready);
        ready.push_back(queue);
        drop(ready);
        self.engine.work.notify_one();
    }

    fn execute(&self, action: &Action) -> Result<bool> {
        // The memory may be somebody else's: if it panics, a worker is not to go with it.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.carry_out(action)))
            .unwrap_or_else(|_| Err(internal("a task panicked")))
    }

    fn kernel(&self, queue: Arc<Queue>, token: u64, (call, owner): (Call, Option<Owned>)) {
        let Some(core) = self.me.upgrade() else {
            return;
        };
        let engine = core.clone();
        self.engine.submit(
            engine,
            Box::new(move || {
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call))
                    .unwrap_or_else(|_| Err(internal("the kernel panicked")));
                queue.done(owner, result);
                queue.wake(&*core, token);
            }),
        );
    }

    fn deadline(&self, seconds: u32) -> Option<Instant> {
        (seconds > 0).then(|| Instant::now() + self.second * seconds)
    }

    fn alarm(&self, queue: Arc<Queue>, at: Instant) {
        let mut alarms = lock_std(&self.engine.alarms);
        alarms.number += 1;
        let number = alarms.number;
        let is_first = alarms.heap.peek().is_none_or(|Reverse(first)| at < first.at);
        alarms.heap.push(Reverse(Alarm { at, number, queue: Arc::downgrade(&queue) }));
        drop(alarms);
        if is_first {
            self.engine.ring.notify_one();
        }
    }

    fn is_stopped(&self, device: u32) -> bool {
        self.faults.is_stopped(device)
    }
}

impl Core {
    /// Lets the queues of a device go on that were parked while it did nothing.
    pub(crate) fn restart(&self, device: u32) {
        let threads = self.threads.all().into_iter().map(|thread| thread.queue.clone());
        let streams = self.streams.all().into_iter().map(|stream| stream.queue.clone());
        for queue in threads.chain(streams).filter(|queue| queue.device == device) {
            queue.restart(self);
        }
    }

    /// Ends everything: queues drop what they hold, and whoever waits is told.
    pub(crate) fn close(&self) {
        // First, so that whoever wakes finds it.
        self.engine.mark_closed();
        let threads = self.threads.all().into_iter().map(|thread| thread.queue.clone());
        let streams = self.streams.all().into_iter().map(|stream| stream.queue.clone());
        for queue in threads.chain(streams) {
            queue.close(self);
        }
        for comm in self.comms.all() {
            comm.group.left();
            // A callback may hold its communicator, and would keep it, and all of this, for ever.
            *lock(&comm.callbacks) = Callbacks::default();
        }
        drop(lock(&self.meetings));
        self.met.notify_all();
        self.engine.join();
        self.comms.clear();
        self.threads.clear();
        self.channels.clear();
        self.streams.clear();
        self.events.clear();
        self.windows.clear();
        lock(&self.meetings).clear();
    }
}
