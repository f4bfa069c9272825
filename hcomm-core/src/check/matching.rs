//! Which record wakes which wait: one execution of the program, and what stops it (H101, H102).
//!
//! The execution lets a notify count, as if it were a semaphore, and pairs the k-th record of a notify with its k-th
//! wait. Programs have no data-dependent branches, so if [`reuse`](super::reuse) then shows that records and waits of
//! a notify take turns in *every* execution, counting and one bit are the same, and the pairs are those of every
//! execution. If it does not show that, there is an execution in which a record is lost or goes to the wrong wait.

use std::collections::VecDeque;

use super::cycles;
use super::findings::Findings;
use super::model::{Model, NONE};
use super::unmatched;

/// One complete execution of one repetition.
pub(super) struct Matching {
    /// All operations, in an order in which they can run: every wait is after its record.
    pub(super) order: Vec<u32>,
    /// The wait of every record and the record of every wait; [`NONE`] for other operations.
    mate: Vec<u32>,
}

impl Matching {
    /// The wait that the record wakes, or the record that wakes the wait.
    pub(super) fn mate(&self, op: u32) -> Option<u32> {
        Some(self.mate[op as usize]).filter(|&mate| mate != NONE)
    }
}

/// Runs the program. `None` if it cannot run to its end, or leaves a notify set: then `findings` says why.
pub(super) fn run(model: &Model<'_>, findings: &mut Findings<'_>) -> Option<Matching> {
    let uneven = unmatched::uneven(model);
    let mut run = Execution::new(model);
    run.advance();
    if uneven.is_empty() && run.order.len() == model.num_ops() as usize {
        return Some(Matching { order: run.order, mate: run.mate });
    }
    unmatched::report(model, &uneven, findings);
    // A wait that nobody records is told already. What only waits because of it is not a deadlock of its own, so let
    // such waits pass and see who still stands.
    while run.forgive() {
        run.advance();
    }
    if run.order.len() < model.num_ops() as usize {
        cycles::report(model, &run.stuck(), &uneven, findings);
    }
    None
}

/// An execution under way.
struct Execution<'m, 'p> {
    model: &'m Model<'p>,
    order: Vec<u32>,
    mate: Vec<u32>,
    /// Of every notify, the records that no wait took yet, or the waits that found no record: the first and the last.
    /// The links between them are in `mate`, which they do not use for anything else yet.
    queue: Vec<(u32, u32)>,
    /// Records of every notify that have not run.
    to_come: Vec<u32>,
    /// The next operation of every thread.
    next: Vec<u32>,
    blocked: Vec<bool>,
    ready: VecDeque<u32>,
}

impl<'m, 'p> Execution<'m, 'p> {
    fn new(model: &'m Model<'p>) -> Execution<'m, 'p> {
        let mut to_come = vec![0; model.num_notifies() as usize];
        for op in 0..model.num_ops() {
            if let Some(notify) = model.notify_of(op).filter(|_| !model.is_wait(op)) {
                to_come[notify as usize] += 1;
            }
        }
        let threads = model.num_threads();
        Execution {
            model,
            order: Vec::with_capacity(model.num_ops() as usize),
            mate: vec![NONE; model.num_ops() as usize],
            queue: vec![(NONE, NONE); model.num_notifies() as usize],
            to_come,
            next: (0..threads).map(|thread| model.ops_of(thread).start).collect(),
            blocked: vec![false; threads as usize],
            ready: (0..threads).collect(),
        }
    }

    /// Runs until every thread is at its end or blocked.
    fn advance(&mut self) {
        while let Some(thread) = self.ready.pop_front() {
            let end = self.model.ops_of(thread).end;
            while self.next[thread as usize] < end {
                let op = self.next[thread as usize];
                // A thread that was woken is at its wait, which has its record.
                let woken = std::mem::take(&mut self.blocked[thread as usize]);
                if let Some(notify) = self.model.notify_of(op)
                    && !woken
                {
                    if !self.model.is_wait(op) {
                        self.record(notify, op);
                    } else if !self.wait(notify, op) {
                        self.blocked[thread as usize] = true;
                        break;
                    }
                }
                self.order.push(op);
                self.next[thread as usize] += 1;
            }
        }
    }

    /// Whether the wait found a record.
    fn wait(&mut self, notify: u32, wait: u32) -> bool {
        let first = self.queue[notify as usize].0;
        if first == NONE || self.model.is_wait(first) {
            self.push(notify, wait);
            return false;
        }
        self.pop(notify);
        self.pair(first, wait);
        true
    }

    fn record(&mut self, notify: u32, record: u32) {
        self.to_come[notify as usize] -= 1;
        let first = self.queue[notify as usize].0;
        if first == NONE || !self.model.is_wait(first) {
            self.push(notify, record);
            return;
        }
        self.pop(notify);
        self.pair(record, first);
        self.ready.push_back(self.model.thread_of(first));
    }

    fn pair(&mut self, record: u32, wait: u32) {
        self.mate[record as usize] = wait;
        self.mate[wait as usize] = record;
    }

    fn push(&mut self, notify: u32, op: u32) {
        let (first, last) = &mut self.queue[notify as usize];
        if *first == NONE {
            *first = op;
        } else {
            self.mate[*last as usize] = op;
        }
        *last = op;
    }

    fn pop(&mut self, notify: u32) {
        let first = &mut self.queue[notify as usize].0;
        *first = std::mem::replace(&mut self.mate[*first as usize], NONE);
    }

    /// Lets the waits pass that no record is left for. Whether there were any.
    fn forgive(&mut self) -> bool {
        for thread in 0..self.model.num_threads() {
            let Some((_, notify)) = self.waiting(thread) else { continue };
            if self.to_come[notify as usize] == 0 {
                // Nothing records this notify any more, so its queue is of no use to anybody either.
                self.queue[notify as usize] = (NONE, NONE);
                self.ready.push_back(thread);
            }
        }
        !self.ready.is_empty()
    }

    /// The wait that the thread stands at, and its notify.
    fn waiting(&self, thread: u32) -> Option<(u32, u32)> {
        let wait = self.next[thread as usize];
        self.blocked[thread as usize].then(|| self.model.notify_of(wait).map(|notify| (wait, notify)))?
    }

    /// The waits that threads stand at.
    fn stuck(&self) -> Vec<u32> {
        (0..self.model.num_threads()).filter_map(|thread| self.waiting(thread)).map(|(wait, _)| wait).collect()
    }
}
