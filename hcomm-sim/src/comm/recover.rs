//! What happens after a failure: suspend and resume, and the repetition of operators (facts 11.3).

use crate::comm::error::{Code, CommError, Result, in_status, internal, timeout};
use crate::comm::group::Group;
use crate::comm::launch::{Launches, Open};
use crate::comm::monitor::Moment;
use crate::comm::rank::{Is, RankState};
use crate::comm::sync::{MutexGuard, lock};
use crate::comm::thread::Side;
use hcomm_core::product::Product;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks at something that others do.
const LOOK: Duration = Duration::from_micros(200);

/// When a [state callback](crate::comm::Communicator::on_state) is called (`HcclCommStatePhase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatePhase {
    /// Before the tasks may go on: flags in memory are to be cleared now.
    ResumePre,
    /// After.
    ResumePost,
    /// Before resources are given back.
    DestroyPre,
    /// After.
    DestroyPost,
}

/// The repetition of operators.
#[derive(Debug, Default)]
pub(crate) struct Repeating {
    /// Whether one is being repeated.
    is_busy: bool,
    /// A rank that has failed meanwhile.
    again: Option<(u32, CommError)>,
}

/// What is called when the state of a communicator changes.
type StateCallback = Arc<dyn Fn(StatePhase) + Send + Sync>;

/// The callbacks of a rank, by name.
#[derive(Default)]
pub(crate) struct Callbacks {
    all: Vec<(String, StateCallback)>,
}

impl Callbacks {
    pub(crate) fn set(&mut self, name: &str, callback: StateCallback) {
        self.all.retain(|(other, _)| other != name);
        self.all.push((name.to_owned(), callback));
    }
}

impl std::fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all.iter().map(|(name, _)| name)).finish()
    }
}

impl RankState {
    /// Calls all callbacks. One that panics is an error, and keeps neither the others nor what is under way from going on.
    pub(crate) fn tell(&self, phase: StatePhase) -> Result<()> {
        // Without the lock: a callback may ask the communicator.
        let callbacks: Vec<(String, StateCallback)> = lock(&self.callbacks).all.clone();
        let mut result = Ok(());
        for (name, callback) in callbacks {
            let called = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| callback(phase)));
            if called.is_err() {
                let panicked = internal(format!("the callback `{name}` panicked in {phase:?} of {}", self.who()));
                result = result.and(Err(panicked));
            }
        }
        result
    }

    /// Stops what runs, and waits until nothing does.
    pub(crate) fn suspend(&self) -> Result<()> {
        self.is_there()?;
        self.stop(Is::Suspended, None);
        // What was being called is queued by now, or was refused.
        drop(lock(&self.launches));
        drop(lock(&self.order));
        self.stop(Is::Suspended, None);
        self.note(Moment::Suspended);
        self.until_still()
    }

    /// Waits until no task is carried out.
    pub(crate) fn until_still(&self) -> Result<()> {
        let until = self.core.after(self.config.timeouts.meet());
        for queue in self.queues() {
            if !queue.until_still(Some(until)) {
                return Err(timeout(format!("a task of {} does not end", self.who())));
            }
        }
        Ok(())
    }

    /// Clears all notifies when all ranks have come, and goes on.
    pub(crate) fn resume(&self) -> Result<()> {
        self.is_there()?;
        if lock(&self.status).is != Is::Suspended {
            return Err(in_status(format!("{} is not suspended: suspend it on all ranks, then resume it", self.who())));
        }
        let until = || self.core.after(self.config.timeouts.meet());
        self.group.all_come(&self.core, self.rank, until())?;
        let before = self.tell(StatePhase::ResumePre);
        self.clear_flags();
        lock(&self.group.agreement).clear();
        lock(&self.group.messages).clear();
        lock(&self.launches).restart();
        lock(&self.order).restart();
        lock(&self.open).clear();
        // Nobody records before everybody has cleared.
        self.group.all_come(&self.core, self.rank, until())?;
        {
            let mut status = lock(&self.status);
            if status.is == Is::Suspended {
                status.is = Is::Ready;
                status.error = None;
            }
        }
        self.note(Moment::Resumed);
        before.and(self.tell(StatePhase::ResumePost))
    }

    /// Clears the notifies of its threads and of its ends of channels.
    fn clear_flags(&self) {
        lock(&self.threads).all.iter().for_each(|thread| thread.clear_flags());
        lock(&self.channels).all.iter().for_each(|channel| channel.mine.clear_flags());
    }

    /// Those of what the device does only.
    fn clear_device_flags(&self) {
        let threads = lock(&self.threads).all.clone();
        threads.iter().filter(|thread| thread.side == Side::Device).for_each(|thread| thread.clear_flags());
        let channels = lock(&self.channels).all.clone();
        let device = channels.iter().filter(|channel| channel.engine.side() == Side::Device);
        device.for_each(|channel| channel.mine.clear_flags());
    }

    /// How many of its notifies are set.
    pub(crate) fn flags_set(&self) -> usize {
        let threads: usize = lock(&self.threads).all.iter().map(|thread| thread.flags_set()).sum();
        let channels: usize = lock(&self.channels).all.iter().map(|channel| channel.mine.flags_set()).sum();
        threads + channels
    }

    /// Whether a failure may be answered by repeating the operator: an error completion on A3, if it is configured.
    pub(crate) fn may_retry(&self, error: &CommError) -> bool {
        error.code == Code::Remote && self.core.product == Product::A3 && self.config.retry.max_count > 0
    }
}

impl Group {
    /// Starts the repetition of the operator that failed on a rank, unless it is under way.
    pub(crate) fn retry(self: &Arc<Self>, failed: &RankState, error: CommError) {
        // What is queued on the rank is dropped at once; the host's streams go on waiting.
        failed.drop_device_tasks();
        {
            let mut repeating = lock(&self.repeating);
            if repeating.is_busy {
                // If this is one of the attempt that is being made now, there must be another.
                repeating.again.get_or_insert((failed.rank, error));
                return;
            }
            repeating.is_busy = true;
        }
        let Some(core) = failed.core.me.upgrade() else {
            return;
        };
        let (group, engine, rank) = (self.clone(), core.clone(), failed.rank);
        core.engine.submit(engine, Box::new(move || group.repeat_until_done((rank, error))));
    }

    fn repeat_until_done(&self, mut failure: (u32, CommError)) {
        loop {
            let result = self.repeat(failure.0, &failure.1);
            let mut repeating = lock(&self.repeating);
            match (result, repeating.again.take()) {
                (Ok(()), Some(again)) => failure = again,
                (Ok(()), None) => {
                    repeating.is_busy = false;
                    return;
                }
                (Err(why), _) => {
                    repeating.is_busy = false;
                    drop(repeating);
                    return self.give_up(&why);
                }
            }
        }
    }

    fn states(&self) -> Vec<Arc<RankState>> {
        (0..self.size()).filter_map(|rank| self.rank(rank)).collect()
    }

    /// All ranks fail.
    fn give_up(&self, why: &CommError) {
        for state in self.states() {
            state.totals.failed(why.code);
            state.note(Moment::Failed(why.clone(), state.waiting()));
            state.stop(Is::Failed, Some(why.clone()));
        }
    }

    /// Stops all ranks in the same operator and starts it again.
    fn repeat(&self, failed: u32, error: &CommError) -> Result<()> {
        let states = self.states();
        let Some(first) = states.get(failed as usize).filter(|_| states.len() == self.size() as usize) else {
            return Err(not_repeated("", "a rank has been destroyed", error));
        };
        let (core, retry) = (first.core.clone(), first.config.retry);
        let Some(Open { number, job, attempts }) = lock(&first.open).front().cloned() else {
            return Err(not_repeated("", "it is not known", error));
        };
        let algorithm = &job.program.algorithm;
        let refuse = |why: &str| {
            self.note_not_repeated(&states, algorithm, why);
            Err(not_repeated(algorithm, why, error))
        };
        if attempts >= retry.max_count {
            return refuse(&format!("it has been repeated {attempts} times"));
        }
        let mut launches = match self.all_called(&states, number) {
            Ok(launches) => launches,
            Err(why) => return refuse(&why),
        };
        for state in &states {
            state.drop_device_tasks();
        }
        for state in &states {
            state.until_threads_are_still()?;
        }
        // Now that nothing moves: what has failed by now was of the attempt before.
        lock(&self.repeating).again = None;
        for (rank, state) in states.iter().enumerate() {
            let why = match lock(&state.open).front() {
                Some(open) if open.number != number || open.job.is_finished() => format!("rank {rank} has finished it"),
                None => format!("rank {rank} has finished it"),
                Some(open) if open.job.modifies_input => {
                    format!("its input may have been overwritten: input and output of rank {rank} overlap")
                }
                Some(_) => continue,
            };
            return refuse(&why);
        }
        let pause = if attempts == 0 { retry.hold_ms } else { retry.interval_ms };
        std::thread::sleep(core.second * pause / 1000);
        states.iter().for_each(|state| state.clear_device_flags());
        for (state, launches) in states.iter().zip(&mut launches) {
            state.totals.retried();
            state.note(Moment::Retried { algorithm: algorithm.clone(), attempt: attempts + 1 });
            state.start_again(launches)?;
        }
        Ok(())
    }

    fn note_not_repeated(&self, states: &[Arc<RankState>], algorithm: &str, why: &str) {
        for state in states {
            state.note(Moment::NotRetried { algorithm: algorithm.to_owned(), why: why.to_owned() });
        }
    }

    /// The operators of all ranks, locked, when all have called operator `number` and none the next. A rank that is about
    /// to call one holds the lock, perhaps while it waits for others to call: so all are locked, or none.
    fn all_called<'s>(
        &self,
        states: &'s [Arc<RankState>],
        number: u64,
    ) -> std::result::Result<Vec<MutexGuard<'s, Launches>>, String> {
        let until = states[0].core.after(states[0].config.timeouts.meet());
        loop {
            let locked: Option<Vec<_>> = states.iter().map(|state| state.launches.try_lock().ok()).collect();
            if let Some(locked) = locked {
                let mut all = true;
                for ((rank, state), launches) in (0..).zip(states).zip(&locked) {
                    let front = lock(&state.open).front().map(|open| open.number);
                    match front {
                        Some(front) if front == number => {}
                        Some(front) if front < number => all = false,
                        None if launches.number <= number => all = false,
                        _ => return Err(format!("rank {rank} has finished it")),
                    }
                }
                if all {
                    return Ok(locked);
                }
            }
            if Instant::now() > until || states.iter().any(|state| state.is_ready().is_err()) {
                return Err("not all ranks have come to it".into());
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn not_repeated(algorithm: &str, why: &str, error: &CommError) -> CommError {
    let operator = if algorithm.is_empty() { "the operator".into() } else { format!("`{algorithm}`") };
    CommError::new(Code::OpRetryFail, format!("{operator} failed and was not repeated, since {why}: {error}"))
}
