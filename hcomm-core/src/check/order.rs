//! Happens-before by look-up: what the shape of well-formed programs shows at once.
//!
//! Two rules, both sound (what they show is so) and together enough for nearly all that correct programs ask:
//!
//! * **Same rank, through the main thread.** An operation is over before the main thread's first wait that follows
//!   it (its *join*), and starts after the main thread's last record before it (its *fork*). If the join of x is not
//!   after the fork of y, x is before y.
//! * **Two ranks, through one signal.** x is before y if there is a record u on x's rank with a wait v on y's rank,
//!   x not after u and v not after y by the first rule.
//!
//! What they do not show is decided exactly by [`sweep`](super::sweep).

use super::matching::Matching;
use super::model::Model;

/// Positions on the main thread are operation numbers plus one. There is none: before all others.
pub(super) const NEVER_FORKED: u32 = 0;
/// There is no position on the main thread: after all others.
pub(super) const NEVER_JOINED: u32 = u32::MAX;

/// The look-up tables.
pub(super) struct Order<'m, 'p> {
    model: &'m Model<'p>,
    /// Of every operation, the first position of its rank's main thread that is not before it.
    join: Vec<u32>,
    /// Of every operation, the last position of its rank's main thread that is not after it.
    fork: Vec<u32>,
    /// The first signal of every channel end, towards the peer; and the end of the last one's.
    start: Vec<u32>,
    /// Signals of a channel end in the order of their records.
    by_record: Vec<Signal>,
    /// Signals of a channel end in the order of their waits.
    by_wait: Vec<Signal>,
    /// Signals of a channel end in the order of their records' forks: fork, least join of the waits from here on.
    by_fork: Vec<(u32, u32)>,
    /// Signals of a channel end in the order of their waits' joins: join, greatest fork of the records up to here.
    by_join: Vec<(u32, u32)>,
}

/// A matched record and wait of a channel.
#[derive(Clone, Copy)]
struct Signal {
    record: u32,
    wait: u32,
    /// In the order of records: the least join of this wait and those of the later records of the same thread.
    /// In the order of waits: the greatest fork of this record and those of the earlier waits of the same thread.
    reach: u32,
}

/// How many signals the rules look at where both ends have to be on given threads.
const LOOK: usize = 4;

impl<'m, 'p> Order<'m, 'p> {
    pub(super) fn new(model: &'m Model<'p>, matching: &Matching) -> Order<'m, 'p> {
        let ops = model.num_ops() as usize;
        let mut order = Order {
            model,
            join: vec![NEVER_JOINED; ops],
            fork: vec![NEVER_FORKED; ops],
            start: vec![0; model.num_channels() as usize + 1],
            by_record: Vec::new(),
            by_wait: Vec::new(),
            by_fork: Vec::new(),
            by_join: Vec::new(),
        };
        for rank in 0..model.num_ranks() {
            for thread in model.threads_of(rank) {
                order.fork_and_join(rank, thread, matching);
            }
        }
        order.collect_signals(matching);
        order
    }

    fn fork_and_join(&mut self, rank: u32, thread: u32, matching: &Matching) {
        let main = self.model.main_of(rank);
        if thread == main {
            for op in self.model.ops_of(main) {
                (self.fork[op as usize], self.join[op as usize]) = (op + 1, op + 1);
            }
            return;
        }
        let main = self.model.ops_of(main);
        let on_main = |op: u32| matching.mate(op).filter(|mate| main.contains(mate)).map(|mate| mate + 1);
        let mut fork = NEVER_FORKED;
        for op in self.model.ops_of(thread) {
            if let Some(record) = on_main(op).filter(|_| self.model.is_wait(op)) {
                fork = fork.max(record);
            }
            self.fork[op as usize] = fork;
        }
        let mut join = NEVER_JOINED;
        for op in self.model.ops_of(thread).rev() {
            if let Some(wait) = on_main(op).filter(|_| !self.model.is_wait(op)) {
                join = join.min(wait);
            }
            self.join[op as usize] = join;
        }
    }

    fn collect_signals(&mut self, matching: &Matching) {
        let model = self.model;
        let channel_signal = |op: u32| {
            let channel = model.channel_of(op).filter(|_| !model.is_wait(op))?;
            Some((channel, matching.mate(op)?))
        };
        for op in 0..model.num_ops() {
            if let Some((channel, _)) = channel_signal(op) {
                self.start[channel as usize + 1] += 1;
            }
        }
        for channel in 1..self.start.len() {
            self.start[channel] += self.start[channel - 1];
        }
        let all = self.start.last().map_or(0, |&all| all as usize);
        self.by_record = vec![Signal { record: 0, wait: 0, reach: 0 }; all];
        let mut next = self.start.clone();
        for op in 0..model.num_ops() {
            if let Some((channel, wait)) = channel_signal(op) {
                let at = &mut next[channel as usize];
                self.by_record[*at as usize] = Signal { record: op, wait, reach: 0 };
                *at += 1;
            }
        }
        self.by_wait = self.by_record.clone();
        self.by_fork = self.by_record.iter().map(|signal| self.ends(signal)).collect();
        self.by_join = self.by_fork.iter().map(|&(fork, join)| (join, fork)).collect();
        for channel in 0..model.num_channels() {
            self.sort_signals(self.start[channel as usize] as usize..self.start[channel as usize + 1] as usize);
        }
    }

    /// Where a signal starts on the sender's main thread, and where it ends on the receiver's.
    fn ends(&self, signal: &Signal) -> (u32, u32) {
        (self.fork[signal.record as usize], self.join[signal.wait as usize])
    }

    fn sort_signals(&mut self, range: std::ops::Range<usize>) {
        let model = self.model;
        let mut later: Option<(u32, u32)> = None;
        for at in range.clone().rev() {
            let Signal { record, wait, .. } = self.by_record[at];
            let (thread, join) = (model.thread_of(record), self.join[wait as usize]);
            let reach = later.filter(|&(after, _)| after == thread).map_or(join, |(_, least)| least.min(join));
            self.by_record[at].reach = reach;
            later = Some((thread, reach));
        }
        self.by_wait[range.clone()].sort_unstable_by_key(|signal| signal.wait);
        let mut earlier: Option<(u32, u32)> = None;
        for at in range.clone() {
            let Signal { record, wait, .. } = self.by_wait[at];
            let (thread, fork) = (model.thread_of(wait), self.fork[record as usize]);
            let reach = earlier.filter(|&(before, _)| before == thread).map_or(fork, |(_, most)| most.max(fork));
            self.by_wait[at].reach = reach;
            earlier = Some((thread, reach));
        }
        let by_fork = &mut self.by_fork[range.clone()];
        by_fork.sort_unstable();
        let mut least = NEVER_JOINED;
        for (_, join) in by_fork.iter_mut().rev() {
            least = least.min(*join);
            *join = least;
        }
        let by_join = &mut self.by_join[range];
        by_join.sort_unstable();
        let mut most = NEVER_FORKED;
        for (_, fork) in by_join.iter_mut() {
            most = most.max(*fork);
            *fork = most;
        }
    }

    /// The first position of the main thread of `owner` that is not before `x`, as far as the rules show.
    pub(super) fn over_by(&self, x: u32, owner: u32) -> u32 {
        if self.model.rank_of(x) == owner {
            return self.join[x as usize];
        }
        let Some(channel) = self.channel(x, owner) else { return NEVER_JOINED };
        let on_thread = self.recorded_from(channel, x).first().map_or(NEVER_JOINED, |signal| signal.reach);
        on_thread.min(self.join_after(channel, self.join[x as usize]))
    }

    /// The last position of the main thread of `owner` that is not after `y`, as far as the rules show.
    pub(super) fn starts_after(&self, y: u32, owner: u32) -> u32 {
        if self.model.rank_of(y) == owner {
            return self.fork[y as usize];
        }
        let Some(channel) = self.channel(y, owner).map(|channel| self.model.other_end(channel)) else {
            return NEVER_FORKED;
        };
        let on_thread = self.taken_up_to(channel, y).last().map_or(NEVER_FORKED, |signal| signal.reach);
        on_thread.max(self.fork_before(channel, self.fork[y as usize]))
    }

    /// Whether the rules show that `x` is before `y` in every repetition.
    pub(super) fn before(&self, x: u32, y: u32) -> bool {
        let (from, to) = (self.model.rank_of(x), self.model.rank_of(y));
        if from == to {
            return self.before_on_rank(x, y);
        }
        let Some(channel) = self.channel(x, to) else { return false };
        let (x_join, y_fork) = (self.join[x as usize], self.fork[y as usize]);
        let (sent, taken) = (self.recorded_from(channel, x), self.taken_up_to(channel, y));
        sent.first().is_some_and(|signal| signal.reach <= y_fork)
            || taken.last().is_some_and(|signal| x_join <= signal.reach)
            || self.join_after(channel, x_join) <= y_fork
            || sent.iter().any(|signal| self.same_thread_up_to(signal.wait, y))
            || taken.iter().any(|signal| self.same_thread_up_to(x, signal.record))
    }

    /// Whether the rules show that `x` of one repetition is before `y` of the next.
    pub(super) fn before_next(&self, x: u32, y: u32) -> bool {
        let (from, to) = (self.model.rank_of(x), self.model.rank_of(y));
        if from == to {
            return self.before_next_on_rank(x, y);
        }
        let Some(channel) = self.channel(x, to) else { return false };
        let (joined, forked) = (self.is_joined(x), self.is_forked(y));
        let (sent, taken) = (self.recorded_from(channel, x), self.taken_up_to(channel, y));
        let all = &self.by_record[self.signals(channel)];
        // The signal in x's repetition, the step to the next one on y's rank.
        let late = || {
            let joins = sent.first().is_some_and(|signal| signal.reach != NEVER_JOINED)
                || self.join_after(channel, self.join[x as usize]) != NEVER_JOINED;
            (forked && joins) || sent.iter().any(|signal| self.before_next_on_rank(signal.wait, y))
        };
        // The step to the next one on x's rank, the signal in y's repetition.
        let early = || {
            let forks = taken.last().is_some_and(|signal| signal.reach != NEVER_FORKED)
                || self.fork_before(channel, self.fork[y as usize]) != NEVER_FORKED;
            (joined && forks) || taken.iter().any(|signal| self.before_next_on_rank(x, signal.record))
        };
        late() || early() || {
            let on_threads = |signal: &Signal| {
                (self.same_thread_up_to(x, signal.record) && self.same_thread(signal.wait, y))
                    || (self.same_thread(x, signal.record) && self.same_thread_up_to(signal.wait, y))
            };
            all.iter().take(LOOK).any(on_threads) || all.iter().rev().take(LOOK).any(on_threads)
        }
    }

    /// Whether the main thread goes on only after `x`.
    fn is_joined(&self, x: u32) -> bool {
        self.join[x as usize] != NEVER_JOINED
    }

    /// Whether `y` comes only after the main thread has started.
    fn is_forked(&self, y: u32) -> bool {
        self.fork[y as usize] != NEVER_FORKED
    }

    fn same_thread(&self, x: u32, y: u32) -> bool {
        self.model.thread_of(x) == self.model.thread_of(y)
    }

    fn same_thread_up_to(&self, x: u32, y: u32) -> bool {
        x <= y && self.same_thread(x, y)
    }

    fn before_on_rank(&self, x: u32, y: u32) -> bool {
        if self.same_thread(x, y) { x < y } else { self.join[x as usize] <= self.fork[y as usize] }
    }

    fn before_next_on_rank(&self, x: u32, y: u32) -> bool {
        self.same_thread(x, y) || (self.is_joined(x) && self.is_forked(y))
    }

    /// The channel end of the rank of `op` towards `peer`.
    fn channel(&self, op: u32, peer: u32) -> Option<u32> {
        self.model
            .channel_of(op)
            .filter(|_| super::model::peer_of(&self.model.op(op).kind) == Some(peer))
            .or_else(|| self.model.channel_between(self.model.rank_of(op), peer))
    }

    fn signals(&self, channel: u32) -> std::ops::Range<usize> {
        self.start[channel as usize] as usize..self.start[channel as usize + 1] as usize
    }

    /// The first few signals whose record is on the thread of `x` and not before it.
    fn recorded_from(&self, channel: u32, x: u32) -> &[Signal] {
        let signals = &self.by_record[self.signals(channel)];
        let end = self.model.ops_of(self.model.thread_of(x)).end;
        let rest = &signals[signals.partition_point(|signal| signal.record < x)..];
        let few = &rest[..rest.len().min(LOOK)];
        &few[..few.partition_point(|signal| signal.record < end)]
    }

    /// The last few signals whose wait is on the thread of `y` and not after it.
    fn taken_up_to(&self, channel: u32, y: u32) -> &[Signal] {
        let signals = &self.by_wait[self.signals(channel)];
        let start = self.model.ops_of(self.model.thread_of(y)).start;
        let rest = &signals[..signals.partition_point(|signal| signal.wait <= y)];
        let few = &rest[rest.len().saturating_sub(LOOK)..];
        &few[few.partition_point(|signal| signal.wait < start)..]
    }

    /// The least join of the waits whose records' forks are not before the position.
    fn join_after(&self, channel: u32, position: u32) -> u32 {
        let signals = &self.by_fork[self.signals(channel)];
        signals.get(signals.partition_point(|&(fork, _)| fork < position)).map_or(NEVER_JOINED, |&(_, join)| join)
    }

    /// The greatest fork of the records whose waits' joins are not after the position.
    fn fork_before(&self, channel: u32, position: u32) -> u32 {
        let signals = &self.by_join[self.signals(channel)];
        let end = signals.partition_point(|&(join, _)| join <= position);
        end.checked_sub(1).map_or(NEVER_FORKED, |last| signals[last].1)
    }
}
