//! Who goes on when several threads could: all that is not decided by the program.

use crate::mix::{STEP, mix, scale};
use std::collections::VecDeque;

/// A thread that can go on, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its number, counted over all ranks.
    pub thread: u32,
    /// The operation of its queue that is next or under way; the length of the queue if it is at the end of a round.
    pub op: usize,
    /// The round, from 0.
    pub round: u64,
    /// The invocation, from 0.
    pub invocation: u64,
}

/// Chooses which thread goes on. It holds the threads that can.
///
/// The engine hands a thread over with [`ready`](Self::ready) when it can go on, and takes it back with
/// [`next`](Self::next); between the two it belongs to the scheduler, which must not lose or double it. A run is
/// determined by the program, the configuration and these choices.
pub trait Scheduler {
    /// Thread number `thread` (counted over all ranks) can go on.
    fn ready(&mut self, thread: u32);

    /// [`ready`](Self::ready) for a scheduler that wants to know where the thread is: what the engine calls.
    fn ready_at(&mut self, turn: Turn) {
        self.ready(turn.thread);
    }

    /// Takes out the thread that goes on; `None` if there is none.
    fn next(&mut self) -> Option<u32>;

    /// Whether a thread goes on until it blocks, and not just for one step.
    fn runs_until_blocked(&self) -> bool;
}

/// Each thread until it blocks, then the one that has waited longest.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    queue: VecDeque<u32>,
}

impl Scheduler for Fifo {
    fn ready(&mut self, thread: u32) {
        self.queue.push_back(thread);
    }

    fn next(&mut self) -> Option<u32> {
        self.queue.pop_front()
    }

    fn runs_until_blocked(&self) -> bool {
        true
    }
}

/// Any thread with the same probability, step by step.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    ready: Vec<u32>,
}

impl Random {
    /// The choices of this seed.
    pub fn new(seed: u64) -> Random {
        Random { state: mix(seed), ready: Vec::new() }
    }
}

impl Scheduler for Random {
    fn ready(&mut self, thread: u32) {
        self.ready.push(thread);
    }

    fn next(&mut self) -> Option<u32> {
        if self.ready.is_empty() {
            return None;
        }
        self.state = self.state.wrapping_add(STEP);
        let choice = scale(mix(self.state), self.ready.len() as u64);
        Some(self.ready.swap_remove(choice as usize))
    }

    fn runs_until_blocked(&self) -> bool {
        false
    }
}
