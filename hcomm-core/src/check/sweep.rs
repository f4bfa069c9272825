//! Happens-before, decided: which of many operations come before which others, by following every path.
//!
//! What the look-ups of [`order`](super::order) do not show ends up here, true or not, so that the answer never
//! depends on a rule of thumb. Up to 512 sources at a time travel as bits through one execution: along threads,
//! and with every signal from its record to its wait. A bit that is there when a target runs means "before".

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::matching::Matching;
use super::model::{Model, NONE};

/// Sources of one pass.
const BATCH: usize = 512;
const WORDS: usize = BATCH / 64;
/// How many questions are gathered before they are decided, so that memory stays bounded.
const GATHER: usize = 1 << 19;

/// Whether all of a group of operations come before a target.
struct Ask<T> {
    group: u32,
    target: u32,
    /// Whether the target is in the repetition after the sources'.
    next: bool,
    /// Faults of one kind at one pair of statements are one fault: once it is found, other cases need no answer.
    key: u64,
    about: T,
}

/// Gathers questions and answers them many at a time.
pub(super) struct Sweep<'m, 'p, T> {
    model: &'m Model<'p>,
    matching: &'m Matching,
    /// Where every operation is in the execution; made for the first question.
    position: Vec<u32>,
    asks: Vec<Ask<T>>,
    groups: Vec<(u32, u32)>,
    sources: Vec<u32>,
    single: FxHashMap<u32, u32>,
    /// The first case of every key.
    found: Vec<Unordered<T>>,
    keys: FxHashSet<u64>,
}

/// A source that does not come before a target.
pub(super) struct Unordered<T> {
    pub(super) source: u32,
    pub(super) target: u32,
    pub(super) next: bool,
    pub(super) about: T,
}

impl<'m, 'p, T: Copy> Sweep<'m, 'p, T> {
    pub(super) fn new(model: &'m Model<'p>, matching: &'m Matching) -> Sweep<'m, 'p, T> {
        Sweep {
            model,
            matching,
            position: Vec::new(),
            asks: Vec::new(),
            groups: Vec::new(),
            sources: Vec::new(),
            single: FxHashMap::default(),
            found: Vec::new(),
            keys: FxHashSet::default(),
        }
    }

    /// A group of sources, for several questions. It is good until the next [`answer_if_many`](Self::answer_if_many).
    pub(super) fn group(&mut self, sources: impl IntoIterator<Item = u32>) -> u32 {
        let start = self.sources.len() as u32;
        self.sources.extend(sources);
        self.groups.push((start, self.sources.len() as u32));
        self.groups.len() as u32 - 1
    }

    /// The group of one source.
    pub(super) fn single(&mut self, source: u32) -> u32 {
        if let Some(&group) = self.single.get(&source) {
            return group;
        }
        let group = self.group([source]);
        self.single.insert(source, group);
        group
    }

    /// Whether all of the group come before `target`, or are it.
    pub(super) fn ask(&mut self, group: u32, target: u32, next: bool, key: u64, about: T) {
        if !self.keys.contains(&key) {
            self.asks.push(Ask { group, target, next, key, about });
        }
    }

    /// Adds a fault that needs no answer.
    pub(super) fn note(&mut self, key: u64, unordered: Unordered<T>) {
        if self.keys.insert(key) {
            self.found.push(unordered);
        }
    }

    /// Answers what was asked, if it is much. Groups are void afterwards: the result says whether they are.
    pub(super) fn answer_if_many(&mut self) -> bool {
        let is_many = self.asks.len() + self.sources.len() >= GATHER;
        if is_many {
            self.answer();
        }
        is_many
    }

    /// The first case of every kind of fault, in the order in which they were asked.
    pub(super) fn finish(mut self) -> Vec<Unordered<T>> {
        self.answer();
        self.found
    }

    fn answer(&mut self) {
        if self.asks.is_empty() {
            self.clear();
            return;
        }
        if self.position.is_empty() {
            self.position = vec![0; self.model.num_ops() as usize];
            for (position, &op) in (0..).zip(&self.matching.order) {
                self.position[op as usize] = position;
            }
        }
        let mut first = 0;
        let mut pass = Pass::new(self.model.num_threads() as usize, self.model.num_ops() as usize);
        let mut cases: Vec<Option<u32>> = vec![None; self.asks.len()];
        while first < self.sources.len() {
            let end = (first + BATCH).min(self.sources.len());
            self.answer_batch(first as u32..end as u32, &mut pass, &mut cases);
            first = end;
        }
        for (ask, case) in self.asks.iter().zip(cases) {
            let Some(source) = case else { continue };
            if self.keys.insert(ask.key) {
                let Ask { target, next, about, .. } = *ask;
                self.found.push(Unordered { source, target, next, about });
            }
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.asks.clear();
        self.groups.clear();
        self.sources.clear();
        self.single.clear();
    }

    /// Notes for every question a source of the batch that does not come before its target.
    fn answer_batch(&self, batch: Range<u32>, pass: &mut Pass, cases: &mut [Option<u32>]) {
        let failed: FxHashSet<u64> =
            self.asks.iter().zip(&*cases).filter(|(_, case)| case.is_some()).map(|(ask, _)| ask.key).collect();
        let mut targets: Vec<(bool, u32, u32)> = Vec::new();
        for (at, ask) in (0..).zip(&self.asks) {
            let (start, end) = self.groups[ask.group as usize];
            if start < batch.end && end > batch.start && cases[at as usize].is_none() && !failed.contains(&ask.key) {
                targets.push((ask.next, self.position[ask.target as usize], at));
            }
        }
        let Some(&last) = targets.iter().max() else { return };
        targets.sort_unstable();
        let mut sources: Vec<(u32, u32)> =
            batch.clone().map(|at| (self.position[self.sources[at as usize] as usize], at - batch.start)).collect();
        sources.sort_unstable();

        pass.reset();
        let (mut targets, mut sources) = (targets.into_iter().peekable(), sources.into_iter().peekable());
        for next in [false, true] {
            // Nothing travels before the first source.
            let begin = if next { 0 } else { sources.peek().map_or(0, |&(position, _)| position) };
            while let Some((.., at)) = targets.next_if(|target| !next && !target.0 && target.1 < begin) {
                cases[at as usize] = self.missing(&self.asks[at as usize], &batch, None);
            }
            for (position, &op) in (begin..).zip(&self.matching.order[begin as usize..]) {
                if (next, position) > (last.0, last.1) {
                    break;
                }
                let thread = self.model.thread_of(op) as usize;
                let has_notify = self.model.notify_of(op).is_some();
                if has_notify && self.model.is_wait(op) {
                    pass.receive(thread, op);
                }
                while let Some((_, bit)) = sources.next_if(|source| !next && source.0 == position) {
                    pass.set(thread, bit);
                }
                while let Some((.., at)) = targets.next_if(|target| (target.0, target.1) == (next, position)) {
                    cases[at as usize] = self.missing(&self.asks[at as usize], &batch, pass.seen(thread));
                }
                if has_notify
                    && !self.model.is_wait(op)
                    && let Some(wait) = self.matching.mate(op)
                {
                    pass.send(thread, wait);
                }
            }
        }
    }

    /// A source of the question and of the batch that is not among the seen ones.
    fn missing(&self, ask: &Ask<T>, batch: &Range<u32>, seen: Option<&[u64; WORDS]>) -> Option<u32> {
        let (start, end) = self.groups[ask.group as usize];
        let mut of_batch = start.max(batch.start)..end.min(batch.end);
        let is_seen = |bit: u32| seen.is_some_and(|bits| bits[bit as usize / 64] & (1 << (bit % 64)) != 0);
        of_batch.find(|source| !is_seen(source - batch.start)).map(|source| self.sources[source as usize])
    }
}

/// What travels in one pass.
struct Pass {
    /// What is known on every thread.
    threads: Vec<[u64; WORDS]>,
    /// Whether anything is.
    is_set: Vec<bool>,
    /// What is under way to a wait, by the wait.
    slot_of: Vec<u32>,
    slots: Vec<[u64; WORDS]>,
    free: Vec<u32>,
}

impl Pass {
    fn new(threads: usize, ops: usize) -> Pass {
        Pass {
            threads: vec![[0; WORDS]; threads],
            is_set: vec![false; threads],
            slot_of: vec![NONE; ops],
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    fn reset(&mut self) {
        // A pass that stopped early left something under way.
        if self.free.len() != self.slots.len() {
            self.slot_of.fill(NONE);
            self.free = (0..self.slots.len() as u32).collect();
        }
        self.threads.fill([0; WORDS]);
        self.is_set.fill(false);
    }

    fn set(&mut self, thread: usize, bit: u32) {
        self.threads[thread][bit as usize / 64] |= 1 << (bit % 64);
        self.is_set[thread] = true;
    }

    fn seen(&self, thread: usize) -> Option<&[u64; WORDS]> {
        self.is_set[thread].then(|| &self.threads[thread])
    }

    fn send(&mut self, thread: usize, wait: u32) {
        if !self.is_set[thread] {
            return;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push([0; WORDS]);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = self.threads[thread];
        self.slot_of[wait as usize] = slot;
    }

    fn receive(&mut self, thread: usize, wait: u32) {
        let slot = std::mem::replace(&mut self.slot_of[wait as usize], NONE);
        if slot == NONE {
            return;
        }
        for (mine, theirs) in self.threads[thread].iter_mut().zip(&self.slots[slot as usize]) {
            *mine |= theirs;
        }
        self.is_set[thread] = true;
        self.free.push(slot);
    }
}
