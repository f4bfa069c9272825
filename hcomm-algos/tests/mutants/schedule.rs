//! Schedulers that look for trouble, and a log of when every operation was over.

use hcomm_core::program::Program;
use hcomm_sim::{Scheduler, Turn};

/// Who goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Any thread, step by step.
    Random(u64),
    /// The thread that could go on last: one thread at a time runs as far ahead as it can.
    Lifo,
    /// Threads by a random priority, which changes now and then.
    Priority(u64),
    /// The threads of a rank only when nobody else can go on.
    StarveRank(u32),
    /// A thread only when nobody else can go on.
    StarveThread(u32),
    /// One operation of one thread only when nobody else can go on, in every repetition.
    Hold(u32, usize),
}

/// Threads and operations of a program, and how often it is repeated, as a run counts them.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Of every thread: its rank, whether it is the main thread, and its operations.
    pub(crate) threads: Vec<(u32, bool, usize)>,
    pub(crate) rounds: u64,
    pub(crate) invocations: u64,
    /// Where the times of every thread start in the log.
    start: Vec<usize>,
}

impl Shape {
    pub(crate) fn new(program: &Program, rounds: u64, invocations: u64) -> Shape {
        let mut threads = Vec::new();
        for (rank, queues) in (0..).zip(&program.ranks) {
            for (thread, queue) in queues.threads.iter().enumerate() {
                threads.push((rank, thread == 0, queue.len()));
            }
        }
        let mut start = vec![0];
        for (.., ops) in &threads {
            start.push(start[start.len() - 1] + (ops + 1) * (rounds * invocations) as usize);
        }
        Shape { threads, rounds, invocations, start }
    }

    pub(crate) fn repetitions(&self) -> u64 {
        self.rounds * self.invocations
    }

    /// Where the log has an operation; the end of a repetition counts as one.
    pub(crate) fn place(&self, thread: u32, op: usize, repetition: u64) -> usize {
        let ops = self.threads[thread as usize].2;
        self.start[thread as usize] + repetition as usize * (ops + 1) + op
    }

    pub(crate) fn main_of(&self, rank: u32) -> u32 {
        self.threads.iter().position(|thread| (thread.0, thread.1) == (rank, true)).unwrap() as u32
    }
}

/// Not yet over, or not yet begun.
pub(crate) const NEVER: u32 = u32::MAX;

/// When everything was over in one run.
pub(crate) struct Log {
    pub(crate) over: Vec<u32>,
    /// When the main thread of every rank began every invocation.
    pub(crate) begun: Vec<u32>,
}

/// The policy at work.
pub(crate) struct Adversary<'s> {
    policy: Policy,
    shape: &'s Shape,
    random: u64,
    priority: Vec<u64>,
    ready: Vec<Turn>,
    at: Vec<Option<Turn>>,
    chosen: Option<u32>,
    clock: u32,
    pub(crate) log: Log,
}

impl<'s> Adversary<'s> {
    pub(crate) fn new(policy: Policy, shape: &'s Shape) -> Adversary<'s> {
        let seed = match policy {
            Policy::Random(seed) | Policy::Priority(seed) => seed,
            _ => 1,
        };
        let ranks = shape.threads.iter().map(|thread| thread.0 as usize + 1).max().unwrap_or(0);
        let log = Log {
            over: vec![NEVER; shape.start[shape.threads.len()]],
            begun: vec![NEVER; ranks * shape.invocations as usize],
        };
        let mut adversary = Adversary {
            policy,
            shape,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            priority: Vec::new(),
            ready: Vec::new(),
            at: vec![None; shape.threads.len()],
            chosen: None,
            clock: 0,
            log,
        };
        adversary.priority = (0..shape.threads.len()).map(|_| adversary.draw()).collect();
        adversary
    }

    /// xorshift64*: small, and the same everywhere.
    fn draw(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 8
    }

    fn any(&mut self) -> usize {
        (self.draw() % self.ready.len() as u64) as usize
    }

    /// Any thread that is not kept back, or any if all are.
    fn any_but(&mut self, is_kept: impl Fn(&Turn) -> bool) -> usize {
        let free: Vec<usize> = (0..self.ready.len()).filter(|&at| !is_kept(&self.ready[at])).collect();
        if free.is_empty() { self.any() } else { free[(self.draw() % free.len() as u64) as usize] }
    }

    fn choose(&mut self) -> usize {
        match self.policy {
            Policy::Random(_) => self.any(),
            Policy::Lifo => self.ready.len() - 1,
            Policy::Priority(_) => {
                let most = |at: &usize| self.priority[self.ready[*at].thread as usize];
                let at = (0..self.ready.len()).max_by_key(most).unwrap();
                if self.draw().is_multiple_of(16) {
                    let thread = self.ready[at].thread as usize;
                    self.priority[thread] = self.draw();
                }
                at
            }
            Policy::StarveRank(rank) => {
                let shape = self.shape;
                self.any_but(|turn| shape.threads[turn.thread as usize].0 == rank)
            }
            Policy::StarveThread(thread) => self.any_but(|turn| turn.thread == thread),
            Policy::Hold(thread, op) => self.any_but(|turn| (turn.thread, turn.op) == (thread, op)),
        }
    }

    fn over(&mut self, turn: Turn) {
        let repetition = turn.invocation * self.shape.rounds + turn.round.min(self.shape.rounds - 1);
        self.log.over[self.shape.place(turn.thread, turn.op, repetition)] = self.clock;
        self.clock += 1;
    }
}

impl Scheduler for Adversary<'_> {
    fn ready(&mut self, _: u32) {
        unreachable!("the engine says where threads are");
    }

    fn ready_at(&mut self, turn: Turn) {
        if self.chosen == Some(turn.thread) {
            self.chosen = None;
        }
        let before = self.at[turn.thread as usize].replace(turn);
        if let Some(before) = before.filter(|before| *before != turn) {
            self.over(before);
        }
        self.ready.push(turn);
    }

    fn next(&mut self) -> Option<u32> {
        // Who does not come back has ended, or waits.
        if let Some(thread) = self.chosen.take()
            && let Some(turn) = self.at[thread as usize]
            && turn.op == self.shape.threads[thread as usize].2
        {
            self.over(turn);
        }
        if self.ready.is_empty() {
            return None;
        }
        let at = self.choose();
        let turn = self.ready.remove(at);
        let (rank, is_main, _) = self.shape.threads[turn.thread as usize];
        let begun = &mut self.log.begun[(u64::from(rank) * self.shape.invocations + turn.invocation) as usize];
        if is_main && *begun == NEVER {
            *begun = self.clock;
        }
        self.chosen = Some(turn.thread);
        Some(turn.thread)
    }

    fn runs_until_blocked(&self) -> bool {
        false
    }
}
