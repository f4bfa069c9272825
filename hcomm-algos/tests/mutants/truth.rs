//! What a program does, found out by running it: on real bytes, in orders that look for trouble, for several rounds and
//! several invocations, on scratch that nothing has written. Nothing here asks the checks.

use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::CountsBy;
use hcomm_core::program::Program;
use hcomm_sim::{Config, Fifo, Report, RunError, run_with};

use crate::schedule::{Adversary, Policy};
use crate::watch::Watch;

/// What is known about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    /// No machine would run it: it contradicts itself.
    Refused(String),
    /// Some run does wrong: bytes, a lost record, a notify left set, a hang.
    Harmful(String),
    /// Two accesses to a chunk, one of them a write, came in either order, although no byte came out wrong.
    Race(String),
    /// Two additions to a chunk came in either order, in an algorithm that says that it is `deterministic`.
    Additions(String),
    /// No run showed anything.
    Harmless,
}

impl Truth {
    /// Whether the checks have to reject it.
    pub(crate) fn is_wrong(&self) -> bool {
        *self != Truth::Harmless
    }
}

/// How hard to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Random orders, and as many with random priorities.
    pub(crate) seeds: u64,
    /// Operations that are held back, each in a run of its own.
    pub(crate) holds: usize,
}

impl Effort {
    pub(crate) const FULL: Effort = Effort { seeds: 12, holds: usize::MAX };
    pub(crate) const MUCH: Effort = Effort { seeds: 8, holds: 120 };
    pub(crate) const LITTLE: Effort = Effort { seeds: 2, holds: 6 };
}

/// Elements are 8 bytes: 16 of them fill the smallest cell of scratch.
const DTYPE: DataType = DataType::Int64;
const PER_CELL: u64 = 16;

/// `count` elements a slot. Where counts may differ, they do in every turn but the first: any number up to `count`.
fn counts(program: &Program, count: u64, turn: u64) -> Counts {
    let ranks = u64::from(program.num_ranks());
    let of = |which: u64| match turn {
        0 => count,
        _ => (turn * 1021 + which + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) % (count + 1),
    };
    match program.operator.counts() {
        CountsBy::All => Counts::Same(count),
        CountsBy::Rank => Counts::by_rank(&(0..ranks).map(of).collect::<Vec<_>>()),
        CountsBy::Pair => {
            let row = |rank: u64| (0..ranks).map(|to| of(rank * ranks + to)).collect();
            Counts::by_pair(&(0..ranks).map(row).collect::<Vec<Vec<_>>>())
        }
    }
}

/// `count` elements through the smallest HCCL buffer that there can be.
fn config(program: &Program, count: u64, turn: u64, repeat: u64) -> Config {
    let cells = u64::from(program.scratch.max(1));
    let config = Config::new(0, DTYPE).counts(counts(program, count, turn)).reduce(ReduceOp::Sum).repeat(repeat);
    config.hccl_buffer(cells * 128).seed(count).memory_limit(1 << 28)
}

/// What is wrong with a run, if anything.
fn fault(run: Result<Report, RunError>) -> Result<u64, Truth> {
    match run {
        Err(error) => Err(Truth::Refused(error.to_string())),
        Ok(report) if report.ok() => Ok(report.rounds),
        Ok(report) => {
            let told = report.diagnostics().first().map(ToString::to_string).unwrap_or_default();
            Err(Truth::Harmful(told))
        }
    }
}

/// Elements of a slot that take two rounds and a bit, so that the last round has chunks of all lengths.
fn rounds_and_a_bit(program: &Program, bit: u64) -> u64 {
    2 * PER_CELL * u64::from(program.split) + bit
}

/// Finds out what a program does.
pub(crate) fn truth(program: &Program, effort: Effort) -> Truth {
    look(program, effort).err().unwrap_or(Truth::Harmless)
}

fn look(program: &Program, effort: Effort) -> Result<(), Truth> {
    let plain = |count: u64, turn: u64| {
        let config = config(program, count, turn, 3);
        fault(run_with(program, &config, &mut Fifo::default(), &mut |_| {}))
    };
    let split = u64::from(program.split);
    plain(rounds_and_a_bit(program, 3), 0)?;
    // So few elements that one chunk of a slot has one and the next has none: lengths that differ show.
    for count in 1..=split {
        plain(count, 0)?;
    }
    if program.operator.counts() != CountsBy::All {
        for turn in 1..=8 {
            plain(rounds_and_a_bit(program, 3), turn)?;
            plain(split + 1, turn)?;
        }
    }
    let many = config(program, rounds_and_a_bit(program, split / 2 + 1), 0, 2);
    let mut policies = vec![Policy::Lifo];
    policies.extend((0..program.num_ranks()).map(Policy::StarveRank));
    policies.extend((0..effort.seeds).flat_map(|seed| [Policy::Random(seed), Policy::Priority(seed + 1000)]));
    let mut watch = Watch::new(program, 3, 2);
    if program.scratch == 0 || program.operator == hcomm_core::operator::Operator::Barrier {
        // Without scratch there is nothing to cut rounds for.
        watch = Watch::new(program, 1, 2);
    }
    for policy in policies {
        observe(program, &many, policy, &mut watch)?;
    }
    let two = config(program, 2 * PER_CELL * split, 0, 2);
    let rounds = watch.shape().rounds.min(2);
    let mut holds = Watch::new(program, rounds, 2);
    let threads = watch.shape().threads.clone();
    let all: Vec<(u32, usize)> =
        (0..).zip(&threads).flat_map(|(thread, (.., ops))| (0..*ops).map(move |op| (thread, op))).collect();
    let step = all.len().div_ceil(effort.holds.max(1)).max(1);
    for &(thread, op) in all.iter().step_by(step) {
        observe(program, &two, Policy::Hold(thread, op), &mut holds)?;
    }
    for thread in 0..threads.len() as u32 {
        observe(program, &two, Policy::StarveThread(thread), &mut holds)?;
    }
    let (mut race, mut additions) = (None, None);
    for watch in [watch, holds] {
        if let Some(early) = watch.early {
            return Err(Truth::Harmful(early));
        }
        race = race.or(watch.race.map(Truth::Race));
        additions = additions.or(watch.additions.map(Truth::Additions));
    }
    race.or(additions).map_or(Ok(()), Err)
}

fn observe(program: &Program, config: &Config, policy: Policy, watch: &mut Watch) -> Result<(), Truth> {
    let shape = watch.shape().clone();
    let mut adversary = Adversary::new(policy, &shape);
    let rounds = fault(run_with(program, config, &mut adversary, &mut |_| {}))?;
    assert_eq!(rounds, shape.rounds, "{}", program.algorithm);
    watch.look(&adversary.log);
    Ok(())
}
