//! Programs on real bytes.

pub(crate) mod combine;
mod exec;
mod flags;
pub(crate) mod memory;
pub(crate) mod plan;
pub(crate) mod space;
pub(crate) mod stuck;
pub(crate) mod verify;

use crate::config::{Config, Schedule};
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::report::{Events, Report};
use crate::scheduler::{Fifo, Random, Scheduler};
use exec::{Engine, Setup};
use hcomm_core::operator::Buffer;
use hcomm_core::program::{Op, Program};
use hcomm_core::sizes::Rounds;
use hcomm_core::spec::Engine as EngineName;
use memory::{Meter, Part};
use plan::Plan;
use space::Space;
use std::rc::Rc;
use verify::Verifier;

/// Sees the output of a rank when it has finished an invocation.
pub type Observer<'o> = &'o mut dyn FnMut(&Finished<'_>);

/// A rank that has finished an invocation.
#[derive(Debug)]
pub struct Finished<'r> {
    /// The invocation, from 0.
    pub invocation: u64,
    /// The rank.
    pub rank: u32,
    output: &'r [Part],
}

impl Finished<'_> {
    /// The output: every byte, or nothing where none was written or what was written came of such bytes.
    pub fn output(&self) -> impl Iterator<Item = Option<u8>> + '_ {
        self.output.iter().flat_map(|part| {
            let mut bytes = Vec::new();
            if let Part::Written(slice) = part
                && !slice.is_poison()
            {
                bytes.resize(slice.len as usize, 0);
                slice.read(&mut bytes);
            }
            let lost = if bytes.is_empty() { part.len() } else { 0 };
            bytes.into_iter().map(Some).chain((0..lost).map(|_| None))
        })
    }
}

/// Runs a program on all its ranks and compares every output with the operator's definition.
///
/// # Errors
///
/// If the program is not well-formed, the count does not fit, or a limit is exceeded. All that a run finds out about
/// the program is in the [`Report`], a hang included.
pub fn run(program: &Program, config: &Config) -> Result<Report, RunError> {
    match config.schedule {
        Schedule::Fifo => run_with(program, config, &mut Fifo::default(), &mut |_| {}),
        Schedule::Random { seed } => run_with(program, config, &mut Random::new(seed), &mut |_| {}),
    }
}

/// [`run`] with a scheduler of one's own, which takes the place of [`Config::schedule`], and a look at every output.
///
/// # Errors
///
/// As [`run`], or if the scheduler breaks its contract.
pub fn run_with(
    program: &Program,
    config: &Config,
    scheduler: &mut dyn Scheduler,
    observer: Observer<'_>,
) -> Result<Report, RunError> {
    let plan = Plan::new(program)?;
    if program.operator.reduces() && config.dtype.is_copied_only() {
        return Err(RunError::CopiedOnly { operator: program.operator, dtype: config.dtype });
    }
    let rounds = Rounds::new(program, config.counts.clone(), config.dtype.size(), config.hccl_buffer)?;
    let repeat = config.repeat.max(1);
    let operations = plan.operations().saturating_mul(u128::from(rounds.rounds)).saturating_mul(u128::from(repeat));
    if operations > u128::from(config.operation_limit) {
        return Err(RunError::Operations { need: operations, limit: config.operation_limit });
    }
    let need = results(&plan, &rounds);
    if need > config.memory_limit {
        return Err(RunError::Memory { need, limit: config.memory_limit });
    }
    let reduced = program.operator.reduces().then_some(config.reduce);
    let inputs = Rc::new(Inputs::new(config.seed, config.dtype, reduced, program.num_ranks()));
    // The estimate does not know what keeps an old result alive, so inputs never take more than half.
    let meter = Meter::new(config.memory_limit, need.max(config.memory_limit / 2));
    let space = Space::new(program, &rounds, config.in_place, inputs.clone(), meter.clone())?;
    let (count, number) = (rounds.count, rounds.rounds);
    let verifier = Verifier::new(program, rounds.clone(), inputs, config.reduce, config.repeat);
    let (dtype, reduce, memory_limit) = (config.dtype, config.reduce, config.memory_limit);
    let setup = Setup { rounds, repeat, dtype, reduce, space, verifier, observer, meter, memory_limit };
    let mut engine = Engine::new(plan, setup);
    engine.run(scheduler)?;
    engine.verifier.end();
    let mut left_set = Events::new();
    for notify in engine.flags.set() {
        left_set.add(|| engine.notify_name(notify));
    }
    Ok(Report {
        algorithm: program.algorithm.clone(),
        operator: program.operator,
        engine: EngineName::AiCpu,
        ranks: program.num_ranks(),
        count,
        dtype,
        reduce,
        in_place: config.in_place,
        repeat,
        rounds: number,
        operations: engine.operations,
        moved: engine.moved,
        bytes_checked: engine.verifier.bytes_checked,
        bytes_identical: engine.verifier.bytes_identical,
        hang: engine.hang(),
        left_set,
        mismatches: engine.verifier.mismatches,
        uninitialised: engine.uninitialised,
        overlaps: engine.overlaps,
        lost_records: engine.lost_records,
        stale: Events::new(),
        atomic: Events::new(),
        misaligned: Events::new(),
    })
}

/// How many bytes the results of reductions may take at once: of each buffer, what is ever reduced into.
fn results(plan: &Plan<'_>, rounds: &Rounds) -> u64 {
    let program = plan.program;
    let round = rounds.round(0);
    let mut reduced = vec![[0u64; Buffer::ALL.len()]; program.num_ranks() as usize];
    for thread in &plan.threads {
        for Op { kind, .. } in thread.ops.iter().filter(|op| op.kind.reduces()) {
            if let (Some(transfer), Some((to, _))) = (kind.transfer(), kind.sides(thread.rank)) {
                let bytes = &mut reduced[to as usize][transfer.dst.buffer as usize];
                // A chunk is no longer than a cell.
                *bytes = bytes.saturating_add(round.cell().saturating_mul(u64::from(transfer.len)));
            }
        }
    }
    let mut need = 0u64;
    for (rank, reduced) in (0..).zip(reduced) {
        for buffer in Buffer::ALL {
            // A cell of scratch is used again in every round, a chunk of an output is not.
            let rounds_kept = if buffer == Buffer::Scratch { 1 } else { rounds.rounds };
            let bytes = reduced[buffer as usize].saturating_mul(rounds_kept);
            need = need.saturating_add(bytes.min(space::bytes_of(program, rounds, rank, buffer)));
        }
    }
    need
}

/// Checks that everything which a program's operations name exists.
pub(crate) fn check(program: &hcomm_core::program::Program) -> Result<(), crate::error::RunError> {
    plan::Plan::new(program).map(drop)
}
