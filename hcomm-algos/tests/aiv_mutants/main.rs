//! Mutants of correct AIV programs: what some run shows to be wrong, the checks must reject, and nothing else.
#![allow(clippy::unwrap_used, reason = "tests")]

mod adversary;
mod change;
mod watch;
mod words;

use std::collections::BTreeMap;

use hcomm_algos::LIBRARY;
use hcomm_core::aiv::{self, Op, OpKind, Options, Program};
use hcomm_core::dtype::DataType;
use hcomm_core::instance::instantiate;
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::{Config, Report, RunError, Schedule};

use adversary::{Adversary, Blocks, PIPES, Pipes};
use change::mutants;
use watch::Watch;

const SWEEP: bool = cfg!(feature = "sweep");
/// Of so many mutants one is taken.
const STEP: usize = if SWEEP { 1 } else { 16 };

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    mutants: u32,
    /// That no simulator would run, and rejected.
    malformed: u32,
    /// Shown to misbehave, and rejected.
    harmful: u32,
    /// Conflicting accesses in either order, no byte wrong, and rejected.
    races: u32,
    /// Never seen to misbehave, and accepted.
    harmless: u32,
}

/// What executions show.
#[derive(Debug, PartialEq, Eq)]
enum Truth {
    Malformed(String),
    Harmful(String),
    /// Accesses in either order.
    Race(String),
    Harmless,
}

/// A size at which every part of every chunk has bytes, in two launches of three, and sizes at which every part is the
/// odd last one in turn.
fn configs(program: &Program) -> Vec<Config> {
    let (parts, split) = (u64::from(program.parts), u64::from(program.frame.split));
    let cell = 128 * parts;
    let config = |count: u64| {
        let config = Config::new(count, DataType::Int32).repeat(3);
        config.hccl_buffer(cell * u64::from(program.frame.scratch.max(1)))
    };
    std::iter::once(config(split * (2 * (cell / 4) + 5)))
        .chain((0..parts).map(|part| config(split * (8 * part + 5))))
        .collect()
}

/// Runs a program in orders that look for trouble: few if it is accepted, all that there are if it is rejected.
fn truth(program: &Program, accepted: bool) -> Truth {
    look(program, accepted).err().unwrap_or(Truth::Harmless)
}

fn fault(run: Result<Report, RunError>) -> Result<(), Truth> {
    match run {
        Err(error) => Err(Truth::Malformed(error.to_string())),
        Ok(report) if report.ok() => Ok(()),
        Ok(report) => Err(Truth::Harmful(report.to_string())),
    }
}

fn look(program: &Program, accepted: bool) -> Result<(), Truth> {
    let configs = configs(program);
    let main = &configs[0];
    for schedule in std::iter::once(Schedule::Fifo).chain((0..3).map(|seed| Schedule::Random { seed })) {
        fault(hcomm_sim::aiv::run(program, &main.clone().schedule(schedule)))?;
    }
    for config in &configs[1..] {
        fault(hcomm_sim::aiv::run(program, config))?;
    }
    // The counter wraps between the calls.
    fault(hcomm_sim::aiv::run(program, &main.clone().counter(aiv::MAX_COUNTER)))?;
    let per_rank = program.num_blocks();
    let number = per_rank * program.num_ranks();
    let mut watch = Watch::new(program.frame.deterministic);
    let mut race = None;
    let mut observe = |blocks: Blocks, pipes: Pipes| {
        let mut adversary = Adversary::new(blocks, pipes, number, per_rank);
        let mut log = Vec::new();
        let config = main.clone().repeat(2);
        fault(hcomm_sim::aiv::run_watched(program, &config, &mut adversary, &mut |access| log.push(access)))?;
        if race.is_none() {
            race = watch.look(&log);
        }
        Ok(race.clone())
    };
    let mut orders = vec![Blocks::Lifo, Blocks::Any(0)];
    if !accepted || SWEEP {
        orders.push(Blocks::Any(1));
        orders.extend((0..program.num_ranks()).map(Blocks::StarveRank));
        orders.extend((0..number).map(Blocks::Starve));
    }
    let mut shown = None;
    for blocks in orders {
        for pipes in PIPES {
            shown = observe(blocks, pipes)?;
        }
    }
    if shown.is_none() && (!accepted || SWEEP) {
        let ops = program.ranks.iter().flat_map(|rank| &rank.blocks).map(Vec::len);
        for (block, ops) in (0..).zip(ops) {
            for op in 0..ops {
                for pipes in PIPES {
                    shown = observe(Blocks::Hold(block, op), pipes)?;
                }
            }
        }
    }
    shown.map_or(Ok(()), |race| Err(Truth::Race(race)))
}

fn compare(name: &str, ranks: u32, blocks: Option<u32>) -> Tally {
    let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
    let instance = instantiate(spec, &Shape::new(Layout::flat(ranks).unwrap())).unwrap();
    let blocks = blocks.unwrap_or_else(|| aiv::default_blocks(aiv::lanes(&instance)));
    let program = aiv::lower(&instance, blocks).unwrap();
    assert_eq!(aiv::check(&program, &Options::default()), []);
    assert_eq!(truth(&program, !SWEEP), Truth::Harmless);
    let mut tally = Tally::default();
    let mut wrong: BTreeMap<String, String> = BTreeMap::new();
    // Another start for every program, so that all kinds of changes come up.
    let start = (name.len() + blocks as usize) % STEP;
    for (change, mutant) in mutants(&program).into_iter().skip(start).step_by(STEP) {
        tally.mutants += 1;
        let found = aiv::check(&mutant, &Options::default());
        let truth = truth(&mutant, found.is_empty());
        match (&truth, found.first()) {
            (Truth::Harmless, None) => tally.harmless += 1,
            (Truth::Malformed(_), Some(_)) => tally.malformed += 1,
            (Truth::Harmful(_), Some(_)) => tally.harmful += 1,
            (Truth::Race(_), Some(_)) => tally.races += 1,
            (Truth::Harmless, Some(fault)) => {
                wrong.insert(change, format!("rejected for nothing: {fault}"));
            }
            (truth, None) => {
                wrong.insert(change, format!("missed: {truth:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{name} on {blocks} blocks: {tally:?} {wrong:#?}\n{program}");
    tally
}

#[test]
fn mutants_that_do_wrong_are_rejected_and_no_others() {
    let mut all = Tally::default();
    let mut add = |one: Tally| {
        all.mutants += one.mutants;
        all.malformed += one.malformed;
        all.harmful += one.harmful;
        all.races += one.races;
        all.harmless += one.harmless;
    };
    for name in ["mesh_all_gather", "ring_all_gather", "one_shot_all_reduce", "ring_all_reduce", "write_send_recv"] {
        for blocks in [None, Some(1), Some(2)] {
            add(compare(name, 2, blocks));
        }
    }
    for (name, ranks, blocks) in [
        ("mesh_all_gather", 3, None),
        ("two_shot_all_reduce", 3, None),
        ("mesh_all_gather", 2, Some(3)),
        ("nhr_all_gather", 3, Some(2)),
        ("mesh_reduce", 3, None),
    ] {
        add(compare(name, ranks, blocks));
    }
    if SWEEP {
        for (name, ranks, blocks) in [
            ("one_shot_all_reduce", 3, Some(5)),
            ("two_shot_all_reduce", 2, Some(4)),
            ("mesh_reduce", 2, Some(3)),
            ("ring_reduce_scatter", 3, Some(2)),
            ("mesh_all_to_all", 3, Some(4)),
            ("nhr_broadcast", 3, None),
        ] {
            add(compare(name, ranks, blocks));
        }
    }
    assert!(all.harmful > 150 && all.races > 0 && all.harmless > 25 && all.malformed > 0, "{all:?}");
}

/// What changes nothing is not rejected.
#[test]
fn barriers_and_modes_that_come_twice_are_accepted() {
    for name in ["mesh_all_gather", "one_shot_all_reduce"] {
        let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
        let instance = instantiate(spec, &Shape::new(Layout::flat(3).unwrap())).unwrap();
        let mut program = aiv::lower_default(&instance).unwrap();
        for ops in program.ranks.iter_mut().flat_map(|rank| &mut rank.blocks) {
            let twice = |op: &Op| {
                let again = !matches!(op.kind, OpKind::Copy(_) | OpKind::Record(_) | OpKind::Wait(_));
                std::iter::repeat_n(*op, 1 + usize::from(again))
            };
            *ops = ops.iter().flat_map(twice).collect();
        }
        assert_eq!(aiv::check(&program, &Options::default()), [], "{program}");
        assert_eq!(truth(&program, true), Truth::Harmless);
    }
}
