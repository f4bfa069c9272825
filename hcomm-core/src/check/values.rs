//! What a chunk holds: which ranks' contributions, and how often.

use std::ops::Range;

use super::words;
use crate::program::Program;

/// The most runs that are kept of a value that is no result of any operator.
const MOST_RUNS: usize = 64;
/// The most runs of all values together.
const MOST_LIVE_RUNS: usize = 1 << 26;

/// Numbers of values. Those from `FIRST` on are the chunks of the inputs, and after these come sums.
pub(super) type Value = u32;
/// Nothing was written.
pub(super) const UNWRITTEN: Value = 0;
/// Something that a fault told elsewhere spoils.
pub(super) const SPOILT: Value = 1;
const FIRST: Value = 2;

/// A chunk of the input of some ranks, some number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) chunk: u32,
    pub(super) from: u32,
    /// The rank after the last.
    pub(super) to: u32,
    pub(super) times: u32,
}

/// Contributions that were added up.
struct Sum {
    /// How many chunks hold it.
    uses: u32,
    /// By chunk, then rank; of one chunk they do not overlap.
    runs: Vec<Run>,
    /// Whether there are more runs than are kept. No operator asks for such a value.
    more: bool,
}

/// All values.
pub(super) struct Values {
    /// The value of the first chunk of every rank's input, and the end of the last one's.
    inputs: Vec<Value>,
    sums: Vec<Sum>,
    free: Vec<Value>,
    live_runs: usize,
}

impl Values {
    pub(super) fn new(program: &Program) -> Values {
        let mut inputs = vec![FIRST];
        let mut next = FIRST;
        for rank in 0..program.num_ranks() {
            next += program.chunks(crate::operator::Buffer::Input, rank);
            inputs.push(next);
        }
        Values { inputs, sums: Vec::new(), free: Vec::new(), live_runs: 0 }
    }

    /// The values of a rank's input.
    pub(super) fn input(&self, rank: u32) -> Range<Value> {
        self.inputs[rank as usize]..self.inputs[rank as usize + 1]
    }

    /// The rank and chunk, if the value is a chunk of an input.
    pub(super) fn as_input(&self, value: Value) -> Option<(u32, u32)> {
        if value < FIRST || value >= self.first_sum() {
            return None;
        }
        // Ranks without input have the same start as the next one with it.
        let rank = self.inputs.partition_point(|&first| first <= value) - 1;
        Some((rank as u32, value - self.inputs[rank]))
    }

    /// Whether there are too many different values to go on.
    pub(super) fn is_full(&self) -> bool {
        self.live_runs > MOST_LIVE_RUNS
    }

    /// One more chunk holds the value.
    pub(super) fn retain(&mut self, value: Value) {
        if let Some(sum) = self.sum_index(value) {
            self.sums[sum].uses += 1;
        }
    }

    /// One chunk less holds the value.
    pub(super) fn release(&mut self, value: Value) {
        let Some(index) = self.sum_index(value) else { return };
        let sum = &mut self.sums[index];
        sum.uses -= 1;
        if sum.uses == 0 {
            self.live_runs -= sum.runs.len();
            sum.runs = Vec::new();
            self.free.push(value);
        }
    }

    /// The sum of two values, neither of them unwritten; held by nothing yet.
    pub(super) fn add(&mut self, a: Value, b: Value) -> Value {
        if a == SPOILT || b == SPOILT {
            return SPOILT;
        }
        let (mut own_a, mut own_b) = ([EMPTY], [EMPTY]);
        let (left, right) = (self.runs(a, &mut own_a), self.runs(b, &mut own_b));
        let mut runs = merge(left.0, right.0);
        let mut more = left.1 || right.1;
        let is_result = runs.iter().all(|run| run.chunk == runs[0].chunk && run.times == 1);
        if !is_result && runs.len() > MOST_RUNS {
            runs.truncate(MOST_RUNS);
            more = true;
        }
        runs.shrink_to_fit();
        self.live_runs += runs.len();
        let sum = Sum { uses: 0, runs, more };
        if let Some(value) = self.free.pop() {
            if let Some(index) = self.sum_index(value) {
                self.sums[index] = sum;
            }
            return value;
        }
        self.sums.push(sum);
        self.first_sum() + self.sums.len() as u32 - 1
    }

    /// The rank and chunk of one of its contributions, if it has any.
    pub(super) fn a_contribution(&self, value: Value) -> Option<(u32, u32)> {
        match self.sum_index(value) {
            Some(sum) => self.sums[sum].runs.first().map(|run| (run.from, run.chunk)),
            None => self.as_input(value),
        }
    }

    /// The contributions, and whether there are more of them.
    pub(super) fn contributions(&self, value: Value) -> (Vec<Run>, bool) {
        let mut own = [EMPTY];
        let (runs, more) = self.runs(value, &mut own);
        (runs.to_vec(), more)
    }

    /// Whether the value is one contribution of chunk `chunk` from each of `ranks` ranks.
    pub(super) fn is_reduction(&self, value: Value, chunk: u32, ranks: u32) -> bool {
        let mut own = [EMPTY];
        let (runs, more) = self.runs(value, &mut own);
        !more && *runs == [Run { chunk, from: 0, to: ranks, times: 1 }]
    }

    fn first_sum(&self) -> Value {
        self.inputs.last().copied().unwrap_or(FIRST)
    }

    fn sum_index(&self, value: Value) -> Option<usize> {
        value.checked_sub(self.first_sum()).map(|index| index as usize)
    }

    fn runs<'a>(&'a self, value: Value, own: &'a mut [Run; 1]) -> (&'a [Run], bool) {
        if let Some(index) = self.sum_index(value) {
            return (&self.sums[index].runs, self.sums[index].more);
        }
        match self.as_input(value) {
            Some((rank, chunk)) => {
                own[0] = Run { chunk, from: rank, to: rank + 1, times: 1 };
                (own, false)
            }
            None => (&[], false),
        }
    }
}

const EMPTY: Run = Run { chunk: 0, from: 0, to: 0, times: 0 };

/// The multiset union of two lists of runs, each sorted and free of overlaps.
fn merge(a: &[Run], b: &[Run]) -> Vec<Run> {
    let mut merged: Vec<Run> = Vec::with_capacity(a.len() + b.len());
    let mut push = |run: Run| match merged.last_mut() {
        Some(last) if last.chunk == run.chunk && last.to == run.from && last.times == run.times => last.to = run.to,
        _ => merged.push(run),
    };
    let (mut a, mut b) = (a.iter().copied(), b.iter().copied());
    let (mut left, mut right) = (a.next(), b.next());
    loop {
        match (left, right) {
            (None, None) => return merged,
            (Some(run), None) => {
                push(run);
                left = a.next();
            }
            (None, Some(run)) => {
                push(run);
                right = b.next();
            }
            (Some(l), Some(r)) if (l.chunk, l.to) <= (r.chunk, r.from) => {
                push(l);
                left = a.next();
            }
            (Some(l), Some(r)) if (r.chunk, r.to) <= (l.chunk, l.from) => {
                push(r);
                right = b.next();
            }
            (Some(l), Some(r)) => {
                // They overlap: first what only one of them has, then what both have, then the rests go on.
                let (from, both) = (l.from.min(r.from), l.from.max(r.from));
                if from < both {
                    push(Run { from, to: both, ..if l.from < r.from { l } else { r } });
                }
                let to = l.to.min(r.to);
                push(Run { from: both, to, times: l.times.saturating_add(r.times), ..l });
                left = if l.to > to { Some(Run { from: to, ..l }) } else { a.next() };
                right = if r.to > to { Some(Run { from: to, ..r }) } else { b.next() };
            }
        }
    }
}

/// Contributions as people say them: `rank 2's input[0]`, `the sum of input[1] of ranks 0 to 2`.
pub(super) fn describe(runs: &[Run], more: bool) -> String {
    const MOST: usize = 4;
    if let ([run], false) = (runs, more)
        && run.to - run.from == 1
        && run.times == 1
    {
        return format!("rank {}'s input[{}]", run.from, run.chunk);
    }
    let mut parts: Vec<String> = Vec::new();
    let mut rest = runs;
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|run| run.chunk == first.chunk && run.times == first.times).count();
        let ranges: Vec<(u32, u32)> = rest[..alike].iter().map(|run| (run.from, run.to)).collect();
        let times = if first.times == 1 { String::new() } else { format!(" {}", words::times(first.times)) };
        parts.push(format!("input[{}] of {}{times}", first.chunk, words::ranks(&ranges)));
        rest = &rest[alike..];
    }
    if parts.len() > MOST || more {
        parts.truncate(MOST);
        parts.push("more".into());
    }
    format!("the sum of {}", words::list(&parts))
}

#[cfg(test)]
mod tests {
    use super::{Run, merge};

    fn run(chunk: u32, from: u32, to: u32, times: u32) -> Run {
        Run { chunk, from, to, times }
    }

    #[test]
    fn neighbours_become_one_run() {
        assert_eq!(merge(&[run(0, 0, 2, 1)], &[run(0, 2, 3, 1)]), [run(0, 0, 3, 1)]);
        assert_eq!(merge(&[run(0, 3, 4, 1)], &[run(0, 0, 2, 1)]), [run(0, 0, 2, 1), run(0, 3, 4, 1)]);
    }

    #[test]
    fn what_both_have_counts_twice() {
        assert_eq!(merge(&[run(0, 0, 4, 1)], &[run(0, 1, 2, 1)]), [run(0, 0, 1, 1), run(0, 1, 2, 2), run(0, 2, 4, 1)]);
        assert_eq!(merge(&[run(0, 0, 2, 1)], &[run(0, 0, 2, 1)]), [run(0, 0, 2, 2)]);
        assert_eq!(merge(&[run(0, 1, 5, 1)], &[run(0, 0, 2, 3)]), [run(0, 0, 1, 3), run(0, 1, 2, 4), run(0, 2, 5, 1)]);
    }

    #[test]
    fn chunks_stay_apart() {
        assert_eq!(merge(&[run(1, 0, 2, 1)], &[run(0, 2, 3, 1)]), [run(0, 2, 3, 1), run(1, 0, 2, 1)]);
    }
}
