//! Queues and flags of the communicator under a model checker: their very sources, with locks whose interleavings shuttle
//! chooses. A wake-up that is lost is a deadlock, which it finds.
//!
//! A schedule that fails is printed, and `shuttle::replay` runs it again.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(dead_code, unreachable_pub, unused_imports, reason = "the sources have more than is used here")]

mod comm;

use comm::error::{Code, CommError, Result};
use comm::notify::{Event, FlagName, Notify, Recorded};
use comm::queue::{Action, Call, Driver, Owned, Owner, Queue, QueueKind, Task};
use comm::sync::{Arc, Condvar, Mutex, lock};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Schedules of each kind.
const SCHEDULES: usize = if cfg!(feature = "sweep") { 20_000 } else { 150 };

/// A driver whose workers are threads of the model. Time is what a test says it is.
struct Model {
    ready: Mutex<(VecDeque<Arc<Queue>>, bool)>,
    work: Condvar,
    lost: AtomicU64,
    start: Instant,
}

impl Model {
    fn new() -> Arc<Model> {
        let ready = Mutex::new((VecDeque::new(), false));
        Arc::new(Model { ready, work: Condvar::new(), lost: AtomicU64::new(0), start: Instant::now() })
    }

    fn workers(self: &Arc<Model>, number: usize) -> Vec<thread::JoinHandle<()>> {
        let work = |model: Arc<Model>| {
            move || {
                let mut ready = lock(&model.ready);
                loop {
                    if let Some(queue) = ready.0.pop_front() {
                        drop(ready);
                        queue.run(&*model);
                        ready = lock(&model.ready);
                    } else if ready.1 {
                        return;
                    } else {
                        ready = model.work.wait(ready).unwrap();
                    }
                }
            }
        };
        (0..number).map(|_| thread::spawn(work(self.clone()))).collect()
    }

    /// Ends the workers when the queues are done.
    fn end(&self, queues: &[&Arc<Queue>], workers: Vec<thread::JoinHandle<()>>) {
        for queue in queues {
            assert!(queue.until_done(queue.queued(), None));
        }
        lock(&self.ready).1 = true;
        self.work.notify_all();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    }

    fn record(&self, notify: &Notify) -> bool {
        match notify.record() {
            Recorded::Set => false,
            Recorded::Lost => {
                self.lost.fetch_add(1, Ordering::SeqCst);
                true
            }
            Recorded::Answers(waiter) => {
                waiter.queue.wake(self, waiter.token);
                false
            }
        }
    }
}

impl Driver for Model {
    fn ready(&self, queue: Arc<Queue>) {
        lock(&self.ready).0.push_back(queue);
        self.work.notify_one();
    }

    fn execute(&self, action: &Action) -> Result<bool> {
        match action {
            Action::Record { notify, .. } => Ok(self.record(notify)),
            _ => Ok(false),
        }
    }

    fn kernel(&self, queue: Arc<Queue>, token: u64, (call, owner): (Call, Option<Owned>)) {
        let result = call();
        queue.done(owner, result);
        queue.wake(self, token);
    }

    fn deadline(&self, seconds: u32) -> Option<Instant> {
        (seconds > 0).then(|| self.start + Duration::from_secs(u64::from(seconds)))
    }

    fn alarm(&self, _: Arc<Queue>, _: Instant) {}

    fn is_stopped(&self, _: u32) -> bool {
        false
    }
}

/// A rank that stops at its first failure.
struct Rank {
    epoch: AtomicU64,
    failures: AtomicU64,
    queues: Mutex<Vec<Arc<Queue>>>,
    model: Arc<Model>,
}

impl Rank {
    fn new(model: &Arc<Model>) -> Arc<Rank> {
        let (epoch, failures) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Rank { epoch, failures, queues: Mutex::new(Vec::new()), model: model.clone() })
    }

    fn stop(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let queues = lock(&self.queues).clone();
        queues.iter().for_each(|queue| queue.drop_stale(&*self.model));
    }
}

impl Owner for Rank {
    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    fn reason(&self) -> CommError {
        CommError::new(Code::Suspending, "stopped")
    }

    fn failed(&self, _: CommError) {
        self.failures.fetch_add(1, Ordering::SeqCst);
        self.stop();
    }

    fn carried_out(&self, _: &Action, _: bool) {}

    fn parked(&self) {}

    fn unanswered(&self, _: &Queue, _: &Notify, _: u32) -> CommError {
        CommError::new(Code::Timeout, "not answered")
    }
}

fn flag(notify: u32) -> Arc<Notify> {
    Notify::new(FlagName::Thread { rank: 0, thread: 0, notify })
}

fn record(notify: &Arc<Notify>) -> Task {
    Task { action: Action::Record { notify: notify.clone(), hop: None }, owner: None }
}

fn wait(notify: &Arc<Notify>) -> Task {
    Task { action: Action::Wait { notify: notify.clone(), seconds: 1 }, owner: None }
}

fn owned(task: Task, rank: &Arc<Rank>) -> Task {
    let epoch = rank.epoch();
    Task { owner: Some((rank.clone(), epoch)), ..task }
}

/// The model's threads block on its locks: a lost wake-up is a deadlock.
fn explore(test: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(test, SCHEDULES);
    shuttle::check_pct(test, SCHEDULES, 3);
}

#[test]
fn handshakes_end() {
    explore(|| {
        let model = Model::new();
        let workers = model.workers(2);
        let (a, b) = (Queue::new(0, QueueKind::Thread(0)), Queue::new(1, QueueKind::Thread(1)));
        let (ready, done) = (flag(0), flag(1));
        // Twice round: the same bits again.
        for _ in 0..2 {
            a.push(&*model, [record(&ready), wait(&done)]);
            b.push(&*model, [wait(&ready), record(&done)]);
        }
        model.end(&[&a, &b], workers);
        assert!(!ready.is_set() && !done.is_set());
        assert_eq!(model.lost.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_record_and_the_alarm_do_not_both_answer_a_wait() {
    explore(|| {
        let model = Model::new();
        let workers = model.workers(1);
        let queue = Queue::new(0, QueueKind::Stream);
        let ready = flag(0);
        queue.push(&*model, [wait(&ready)]);
        let recorder = {
            let (model, ready) = (model.clone(), ready.clone());
            thread::spawn(move || model.record(&ready))
        };
        let alarm = {
            let (model, queue) = (model.clone(), queue.clone());
            thread::spawn(move || queue.expire(&*model, model.start + Duration::from_secs(2)))
        };
        assert!(!recorder.join().unwrap());
        alarm.join().unwrap();
        model.end(&[&queue], workers);
        let timed_out = !queue.take_failed().is_empty();
        // Answered and clear, or timed out and set.
        assert_eq!(ready.is_set(), timed_out);
    });
}

#[test]
fn a_stop_lets_every_queue_go_on() {
    explore(|| {
        let model = Model::new();
        let workers = model.workers(2);
        let rank = Rank::new(&model);
        let (a, b) = (Queue::new(0, QueueKind::Thread(0)), Queue::new(0, QueueKind::Thread(1)));
        *lock(&rank.queues) = vec![a.clone(), b.clone()];
        let (ready, done, never) = (flag(0), flag(1), flag(2));
        a.push(&*model, [record(&ready), wait(&done), wait(&never), record(&ready)].map(|task| owned(task, &rank)));
        b.push(&*model, [wait(&ready), record(&done), wait(&never)].map(|task| owned(task, &rank)));
        let stopper = {
            let rank = rank.clone();
            thread::spawn(move || rank.stop())
        };
        stopper.join().unwrap();
        // Nobody sets `never`: only the stop ends these queues.
        model.end(&[&a, &b], workers);
        // What is queued from now on is carried out.
        assert_eq!(rank.failures.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_timeout_stops_the_rank_once() {
    explore(|| {
        let model = Model::new();
        let workers = model.workers(2);
        let rank = Rank::new(&model);
        let (a, b) = (Queue::new(0, QueueKind::Thread(0)), Queue::new(0, QueueKind::Stream));
        *lock(&rank.queues) = vec![a.clone(), b.clone()];
        let (never, done) = (flag(0), flag(1));
        a.push(&*model, [wait(&never), record(&done)].map(|task| owned(task, &rank)));
        b.push(&*model, [wait(&done)].map(|task| owned(task, &rank)));
        let alarms: Vec<_> = [&a, &b]
            .map(|queue| {
                let (model, queue) = (model.clone(), queue.clone());
                thread::spawn(move || {
                    // Until it rings while the queue is parked.
                    while !queue.is_done() {
                        queue.expire(&*model, model.start + Duration::from_secs(2));
                        thread::yield_now();
                    }
                })
            })
            .into();
        alarms.into_iter().for_each(|alarm| alarm.join().unwrap());
        model.end(&[&a, &b], workers);
        assert_eq!(rank.epoch(), rank.failures.load(Ordering::SeqCst));
        assert!(rank.epoch() >= 1 && !b.take_failed().is_empty());
        assert!(!done.is_set() && !never.is_set());
    });
}

#[test]
fn a_closed_queue_wakes_who_waits_for_it() {
    explore(|| {
        let model = Model::new();
        let workers = model.workers(1);
        let queue = Queue::new(0, QueueKind::Stream);
        let ready = flag(0);
        queue.push(&*model, [wait(&ready), record(&ready)]);
        let recorder = {
            let model = model.clone();
            thread::spawn(move || model.record(&ready))
        };
        let closer = {
            let (model, queue) = (model.clone(), queue.clone());
            thread::spawn(move || queue.close(&*model))
        };
        closer.join().unwrap();
        recorder.join().unwrap();
        model.end(&[&queue], workers);
    });
}

#[test]
fn events_let_all_go_on() {
    explore(|| {
        let model = Model::new();
        let workers = model.workers(2);
        let event = Arc::new(Event::default());
        let queues: Vec<_> = (0..3).map(|_| Queue::new(0, QueueKind::Stream)).collect();
        let number = event.queue_record();
        let task = |action| Task { action, owner: None };
        queues[1].push(&*model, [task(Action::Await(event.clone(), number))]);
        queues[0].push(&*model, [task(Action::Reach(event.clone(), number))]);
        queues[2].push(&*model, [task(Action::Await(event.clone(), number))]);
        model.end(&queues.iter().collect::<Vec<_>>(), workers);
        assert!(event.is_reached());
    });
}
