//! In-order queues of tasks. A queue whose next task waits is parked and costs nothing until it is woken.
//!
//! Lock order: a queue, then a flag. Who records holds the flag's lock only to take the waiter out, and locks that
//! waiter's queue afterwards: its wait was registered with the queue locked, so it is parked by then.

use crate::comm::error::{CommError, Result};
use crate::comm::notify::{Event, Notify, Waiter};
use crate::comm::sync::{Arc, Condvar, Mutex, MutexGuard, lock};
use hcomm_core::dtype::{DataType, ReduceOp};
use std::collections::VecDeque;
use std::fmt;
use std::time::Instant;

/// Two devices, in the direction of what goes over the link between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// Something to call.
pub(crate) type Call = Box<dyn FnOnce() -> Result<()> + Send>;

/// What a task does.
pub(crate) enum Action {
    /// Copies bytes, then sets a flag if there is one.
    Copy { dst: u64, src: u64, len: u64, hop: Option<Hop>, then: Option<Arc<Notify>> },
    /// Reduces elements, then sets a flag if there is one.
    Reduce {
        dst: u64,
        src: u64,
        count: u64,
        dtype: DataType,
        reduce: ReduceOp,
        hop: Option<Hop>,
        then: Option<Arc<Notify>>,
    },
    /// Sets a flag.
    Record { notify: Arc<Notify>, hop: Option<Hop> },
    /// Waits for a flag and clears it. 0 seconds is for ever.
    Wait { notify: Arc<Notify>, seconds: u32 },
    /// Reaches a record of an event.
    Reach(Arc<Event>, u64),
    /// Waits for a record of an event.
    Await(Arc<Event>, u64),
    /// Calls something short.
    Call(Call),
    /// Calls something that may block, on a thread of its own.
    Kernel(Call),
}

/// Whose tasks they are: a rank of a communicator. What was queued before it was stopped is dropped.
pub(crate) trait Owner: Send + Sync {
    /// Counts how often it was stopped.
    fn epoch(&self) -> u64;
    /// What is said about tasks that are dropped.
    fn reason(&self) -> CommError;
    /// One of its tasks failed.
    fn failed(&self, error: CommError);
    /// One of its tasks was carried out. `lost` says that its record was lost.
    fn carried_out(&self, action: &Action, lost: bool);
    /// One of its waits found nothing.
    fn parked(&self);
    /// How a wait of it is told that was not answered.
    fn unanswered(&self, queue: &Queue, notify: &Notify, seconds: u32) -> CommError;
}

/// Whose a task is, and how often that had been stopped when it was queued.
pub(crate) type Owned = (Arc<dyn Owner>, u64);

/// A task in a queue.
pub(crate) struct Task {
    pub(crate) action: Action,
    pub(crate) owner: Option<Owned>,
}

impl Task {
    fn is_stale(&self) -> bool {
        self.owner.as_ref().is_some_and(|(owner, epoch)| owner.epoch() != *epoch)
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}

/// What a queue asks of who runs it.
pub(crate) trait Driver {
    /// The queue can go on.
    fn ready(&self, queue: Arc<Queue>);
    /// Carries out a copy, a reduction or a record. Returns whether its record was lost.
    fn execute(&self, action: &Action) -> Result<bool>;
    /// Calls something on a thread of its own, and [`Queue::wake`]s the queue when it is done.
    fn kernel(&self, queue: Arc<Queue>, token: u64, task: (Call, Option<Owned>));
    /// When `seconds` are over.
    fn deadline(&self, seconds: u32) -> Option<Instant>;
    /// Calls [`Queue::expire`] at that time.
    fn alarm(&self, queue: Arc<Queue>, at: Instant);
    /// Whether the device does nothing at present.
    fn is_stopped(&self, device: u32) -> bool;
}

/// What a queue belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueKind {
    /// A stream of a user: it goes on after a failed task, and keeps what failed for who synchronises.
    Stream,
    /// A thread of a rank, counted in the order of their making.
    Thread(u32),
}

/// Tasks in order.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) device: u32,
    pub(crate) kind: QueueKind,
    state: Mutex<State>,
    /// Signalled when a task is done.
    progress: Condvar,
}

#[derive(Debug)]
struct State {
    tasks: VecDeque<Task>,
    status: Status,
    /// Counts parkings.
    token: u64,
    /// When the alarm rings that is set for this queue.
    alarm: Option<Instant>,
    queued: u64,
    done: u64,
    failed: Vec<CommError>,
    closed: bool,
}

#[derive(Debug)]
enum Status {
    /// There is nothing to do.
    Idle,
    /// It is waiting for a worker, or has one.
    Ready,
    /// Its first task waits.
    Parked(Park),
}

#[derive(Debug)]
struct Park {
    token: u64,
    on: On,
    owner: Option<OwnerMark>,
    deadline: Option<Instant>,
    seconds: u32,
}

struct OwnerMark(Arc<dyn Owner>, u64);

impl fmt::Debug for OwnerMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {}", self.1)
    }
}

#[derive(Debug)]
enum On {
    Notify(Arc<Notify>),
    Event(Arc<Event>),
    /// A call on another thread: it cannot be interrupted.
    Kernel,
    /// A device that does nothing: there is no task yet.
    Device,
}

/// How many tasks a queue may do before others get their turn.
const SLICE: usize = 64;

impl Queue {
    pub(crate) fn new(device: u32, kind: QueueKind) -> Arc<Queue> {
        let state = State {
            tasks: VecDeque::new(),
            status: Status::Idle,
            token: 0,
            alarm: None,
            queued: 0,
            done: 0,
            failed: Vec::new(),
            closed: false,
        };
        Arc::new(Queue { device, kind, state: Mutex::new(state), progress: Condvar::new() })
    }

    /// Puts tasks at the end. A queue that is closed drops them.
    pub(crate) fn push(self: &Arc<Queue>, driver: &dyn Driver, tasks: impl IntoIterator<Item = Task>) {
        let mut state = lock(&self.state);
        if state.closed {
            drop(state);
            Queue::abandon(driver, tasks);
            return;
        }
        let before = state.tasks.len();
        state.tasks.extend(tasks);
        state.queued += (state.tasks.len() - before) as u64;
        let wakes = matches!(state.status, Status::Idle) && !state.tasks.is_empty();
        if wakes {
            state.status = Status::Ready;
        }
        drop(state);
        if wakes {
            driver.ready(self.clone());
        }
    }

    /// Drops tasks of a queue that is gone. Who waits for a record of an event among them is not to wait for ever.
    pub(crate) fn abandon(driver: &dyn Driver, tasks: impl IntoIterator<Item = Task>) {
        for task in tasks {
            if let Action::Reach(event, number) = &task.action {
                for waiter in event.reach(*number) {
                    waiter.queue.wake(driver, waiter.token);
                }
            }
        }
    }

    /// Does tasks until there are none, the next one waits, or others are to have their turn.
    pub(crate) fn run(self: &Arc<Queue>, driver: &dyn Driver) {
        for _ in 0..SLICE {
            let mut state = lock(&self.state);
            if driver.is_stopped(self.device) && !state.closed {
                self.park(&mut state, On::Device, None, None, 0);
                return;
            }
            let Some(task) = state.tasks.pop_front() else {
                state.status = Status::Idle;
                self.progress.notify_all();
                return;
            };
            if state.closed || task.is_stale() {
                if let Some((owner, _)) = &task.owner {
                    self.keep(&mut state, owner.reason());
                }
                self.finish(&mut state);
                continue;
            }
            let Task { action, owner } = task;
            match action {
                Action::Wait { notify, seconds } => {
                    let token = state.token + 1;
                    if notify.take_or_wait(|| Waiter { queue: self.clone(), token }) {
                        self.finish(&mut state);
                        continue;
                    }
                    let deadline = driver.deadline(seconds);
                    if let Some((owner, _)) = &owner {
                        owner.parked();
                    }
                    self.park(&mut state, On::Notify(notify), owner, deadline, seconds);
                    self.arm(state, driver, deadline);
                    return;
                }
                Action::Await(event, number) => {
                    let token = state.token + 1;
                    if event.reached_or_wait(number, || Waiter { queue: self.clone(), token }) {
                        self.finish(&mut state);
                        continue;
                    }
                    self.park(&mut state, On::Event(event), owner, None, 0);
                    return;
                }
                Action::Reach(event, number) => {
                    self.finish(&mut state);
                    drop(state);
                    for waiter in event.reach(number) {
                        waiter.queue.wake(driver, waiter.token);
                    }
                }
                Action::Kernel(call) => {
                    self.park(&mut state, On::Kernel, None, None, 0);
                    let token = state.token;
                    drop(state);
                    driver.kernel(self.clone(), token, (call, owner));
                    return;
                }
                Action::Call(call) => {
                    drop(state);
                    let result = call();
                    self.done(owner, result);
                }
                action => {
                    drop(state);
                    let result = driver.execute(&action).map(|lost| {
                        if let Some((owner, _)) = &owner {
                            owner.carried_out(&action, lost);
                        }
                    });
                    self.done(owner, result);
                }
            }
        }
        driver.ready(self.clone());
    }

    fn park(&self, state: &mut State, on: On, owner: Option<Owned>, deadline: Option<Instant>, seconds: u32) {
        state.token += 1;
        let owner = owner.map(|(owner, epoch)| OwnerMark(owner, epoch));
        state.status = Status::Parked(Park { token: state.token, on, owner, deadline, seconds });
        self.progress.notify_all();
    }

    /// Sees to it that an alarm rings no later than `deadline`. One is enough for a queue: it looks again when it rings.
    fn arm(self: &Arc<Queue>, mut state: MutexGuard<'_, State>, driver: &dyn Driver, deadline: Option<Instant>) {
        let Some(at) = deadline.filter(|at| state.alarm.is_none_or(|set| set > *at)) else {
            return;
        };
        state.alarm = Some(at);
        drop(state);
        driver.alarm(self.clone(), at);
    }

    fn finish(&self, state: &mut State) {
        state.done += 1;
        self.progress.notify_all();
    }

    /// Keeps a failure for who synchronises. The same one, of tasks that one stop has dropped, is kept once.
    fn keep(&self, state: &mut State, error: CommError) {
        if self.kind == QueueKind::Stream && state.failed.last() != Some(&error) {
            state.failed.push(error);
        }
    }

    /// A task is done, well or not.
    pub(crate) fn done(&self, owner: Option<Owned>, result: Result<()>) {
        let mut state = lock(&self.state);
        if let Err(error) = result {
            self.keep(&mut state, error.clone());
            drop(state);
            if let Some((owner, epoch)) = owner
                && owner.epoch() == epoch
            {
                owner.failed(error);
            }
            state = lock(&self.state);
        }
        self.finish(&mut state);
    }

    /// The wait of a number is answered.
    pub(crate) fn wake(self: &Arc<Queue>, driver: &dyn Driver, token: u64) {
        let state = lock(&self.state);
        if let Status::Parked(park) = &state.status
            && park.token == token
        {
            let is_task = !matches!(park.on, On::Device | On::Kernel);
            self.release(state, driver, is_task);
        }
    }

    fn release(self: &Arc<Queue>, mut state: MutexGuard<'_, State>, driver: &dyn Driver, task_is_done: bool) {
        state.status = Status::Ready;
        if task_is_done {
            self.finish(&mut state);
        }
        drop(state);
        driver.ready(self.clone());
    }

    /// The alarm rings.
    pub(crate) fn expire(self: &Arc<Queue>, driver: &dyn Driver, now: Instant) {
        let mut state = lock(&self.state);
        state.alarm = None;
        let Status::Parked(Park { token, on: On::Notify(notify), owner, deadline: Some(deadline), seconds }) =
            &state.status
        else {
            return;
        };
        let (token, deadline, seconds) = (*token, *deadline, *seconds);
        if driver.is_stopped(self.device) {
            // Nothing happens on it, time-outs included.
            let again = driver.deadline(seconds);
            self.arm(state, driver, again);
            return;
        }
        if now < deadline {
            self.arm(state, driver, Some(deadline));
            return;
        }
        if !notify.withdraw(self, token) {
            return; // A record has answered it, and is about to say so.
        }
        let (notify, owner) = (notify.clone(), owner.as_ref().map(|mark| (mark.0.clone(), mark.1)));
        let error = match &owner {
            Some((owner, _)) => owner.unanswered(self, &notify, seconds),
            None => crate::comm::error::timeout(format!("{} was not set within {seconds} s", notify.name)),
        };
        self.keep(&mut state, error.clone());
        drop(state);
        if let Some((owner, epoch)) = &owner
            && owner.epoch() == *epoch
        {
            owner.failed(error);
        }
        // Stopping the owner may have released it already.
        self.wake(driver, token);
    }

    /// Lets a parked queue go on whose owner has been stopped since.
    pub(crate) fn drop_stale(self: &Arc<Queue>, driver: &dyn Driver) {
        let mut state = lock(&self.state);
        let Status::Parked(Park { token, on, owner: Some(OwnerMark(owner, epoch)), .. }) = &state.status else {
            return;
        };
        if owner.epoch() == *epoch {
            return;
        }
        let withdrawn = match on {
            On::Notify(notify) => notify.withdraw(self, *token),
            On::Event(event) => event.withdraw(self, *token),
            On::Kernel | On::Device => false,
        };
        if withdrawn {
            let reason = owner.reason();
            self.keep(&mut state, reason);
            self.release(state, driver, true);
        }
    }

    /// Lets a queue go on that was parked because its device did nothing.
    pub(crate) fn restart(self: &Arc<Queue>, driver: &dyn Driver) {
        let state = lock(&self.state);
        if matches!(&state.status, Status::Parked(Park { on: On::Device, .. })) {
            self.release(state, driver, false);
        }
    }

    /// Drops all tasks, and all that come.
    pub(crate) fn close(self: &Arc<Queue>, driver: &dyn Driver) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.done += state.tasks.len() as u64;
        let tasks = std::mem::take(&mut state.tasks);
        self.progress.notify_all();
        let withdrawn = match &state.status {
            Status::Parked(Park { token, on: On::Notify(notify), .. }) => notify.withdraw(self, *token),
            Status::Parked(Park { token, on: On::Event(event), .. }) => event.withdraw(self, *token),
            Status::Parked(Park { on: On::Device, .. }) => {
                self.release(state, driver, false);
                Queue::abandon(driver, tasks);
                return;
            }
            _ => false,
        };
        if withdrawn {
            self.release(state, driver, true);
        } else {
            drop(state);
        }
        Queue::abandon(driver, tasks);
    }

    /// How many tasks have been queued so far.
    pub(crate) fn queued(&self) -> u64 {
        lock(&self.state).queued
    }

    /// Whether all tasks are done.
    pub(crate) fn is_done(&self) -> bool {
        let state = lock(&self.state);
        state.done >= state.queued
    }

    /// Takes out what failed.
    pub(crate) fn take_failed(&self) -> Vec<CommError> {
        std::mem::take(&mut lock(&self.state).failed)
    }

    /// Blocks until the first `number` tasks are done. False if that takes past `until`.
    pub(crate) fn until_done(&self, number: u64, until: Option<Instant>) -> bool {
        self.until(until, |state| state.done >= number || state.closed)
    }

    /// Blocks until no worker carries out a task of it: it is idle or parked. False if that takes past `until`.
    pub(crate) fn until_still(&self, until: Option<Instant>) -> bool {
        self.until(until, |state| match &state.status {
            Status::Idle => true,
            Status::Ready => false,
            Status::Parked(park) => !matches!(park.on, On::Kernel),
        })
    }

    fn until(&self, until: Option<Instant>, holds: impl Fn(&State) -> bool) -> bool {
        let mut state = lock(&self.state);
        while !holds(&state) {
            state = match until {
                None => self.progress.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner),
                Some(until) => {
                    let Some(left) = until.checked_duration_since(Instant::now()) else {
                        return false;
                    };
                    let waited = self.progress.wait_timeout(state, left);
                    waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
            };
        }
        true
    }

    /// What its first task waits for, if it waits for a notify.
    pub(crate) fn waits_for(&self) -> Option<crate::comm::notify::FlagName> {
        match &lock(&self.state).status {
            Status::Parked(Park { on: On::Notify(notify), .. }) => Some(notify.name),
            _ => None,
        }
    }
}
