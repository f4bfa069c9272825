//! AIV programs on real bytes: blocks that poll flags in memory and copy through their Unified Buffer.
//!
//! What differs from threads and notifies:
//!
//! * Every round is a launch. A rank's blocks begin it together, as far as there are cores, and it ends when all have.
//! * A flag is a value in memory, and stays there from launch to launch and from call to call. A wait passes when it is
//!   the expected one, whoever wrote it and when: a value that no record since the last wait has written is *stale*, and
//!   the report says so, as it does of a record over a value that its waiter has not seen.
//! * A block only says that a copy is to be done. Its pipes take copies up in order and read, and write in any order, at
//!   any time between the last pipe barrier before the copy and the next one (or the ends of the launch): also before a
//!   wait that stands before the copy, and after a record that stands after it, so that a missing barrier shows. A
//!   schedule that goes on until a block waits reads at once or, where it waits, ahead, and writes as late as it can.
//! * In the atomic mode every copy reduces, and a flag is a copy too: its value is added to the one that is there.

mod exec;
pub(crate) mod pieces;
mod pipes;
pub(crate) mod plan;
mod stuck;

use crate::bytes::memory::Meter;
use crate::bytes::space::Space;
use crate::bytes::verify::Verifier;
use crate::config::{Config, Schedule};
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::report::{Events, Report};
use crate::scheduler::{Fifo, Random, Scheduler};
use exec::{Engine, Setup};
use hcomm_core::aiv::Program;
use hcomm_core::sizes::Rounds;
pub use pipes::{Access, Touch};
use plan::Plan;
use std::rc::Rc;

/// Runs a program on all its ranks and compares every output with the operator's definition.
///
/// # Errors
///
/// If the program is not well-formed, the count does not fit, or a limit is exceeded. All that a run finds out about
/// the program is in the [`Report`], a hang included.
pub fn run(program: &Program, config: &Config) -> Result<Report, RunError> {
    match config.schedule {
        Schedule::Fifo => run_with(program, config, &mut Fifo::default()),
        Schedule::Random { seed } => run_with(program, config, &mut Random::new(seed)),
    }
}

/// [`run`] with a scheduler of one's own, which takes the place of [`Config::schedule`]. Its threads are the blocks of all
/// ranks and, where it goes step by step, behind them three times as many pipes: those that read the next copy that no
/// barrier keeps, those that write the oldest piece that was read, and those that write the newest.
///
/// # Errors
///
/// As [`run`], or if the scheduler breaks its contract.
pub fn run_with(program: &Program, config: &Config, scheduler: &mut dyn Scheduler) -> Result<Report, RunError> {
    run_watched(program, config, scheduler, &mut |_| {})
}

/// [`run_with`] that tells `observer` of every access of a copy to global memory, in the order in which they come.
///
/// # Errors
///
/// As [`run_with`].
pub fn run_watched(
    program: &Program,
    config: &Config,
    scheduler: &mut dyn Scheduler,
    observer: &mut dyn FnMut(Access),
) -> Result<Report, RunError> {
    let plan = Plan::new(program)?;
    let (frame, dtype) = (&program.frame, config.dtype);
    let rounds = Rounds::new(frame, config.counts.clone(), dtype.size(), config.hccl_buffer)?;
    let repeat = config.repeat.max(1);
    let piece = plan::piece(program, dtype, frame.operator.reduces());
    let operations = plan.operations(&rounds, piece).saturating_mul(u128::from(rounds.rounds));
    let operations = operations.saturating_mul(u128::from(repeat));
    if operations > u128::from(config.operation_limit) {
        return Err(RunError::Operations { need: operations, limit: config.operation_limit });
    }
    let need = plan.results(&rounds);
    if need > config.memory_limit {
        return Err(RunError::Memory { need, limit: config.memory_limit });
    }
    let reduced = frame.operator.reduces().then_some(config.reduce);
    let inputs = Rc::new(Inputs::new(config.seed, dtype, reduced, program.num_ranks()));
    // The estimate does not know what keeps an old result alive, so inputs never take more than half.
    let meter = Meter::new(config.memory_limit, need.max(config.memory_limit / 2));
    let space = Space::new(frame, &rounds, config.in_place, inputs.clone(), meter.clone())?;
    let (count, number) = (rounds.count, rounds.rounds);
    let verifier = Verifier::new(frame, rounds.clone(), inputs, config.reduce, config.repeat);
    let mut engine = Engine::new(plan, Setup { rounds, repeat, space, verifier, meter, config, observer });
    engine.run(scheduler)?;
    engine.verifier.end();
    let mut left_set = Events::new();
    for flag in engine.unseen() {
        left_set.add(|| engine.flag_name(flag));
    }
    Ok(Report {
        algorithm: frame.algorithm.clone(),
        operator: frame.operator,
        engine: hcomm_core::spec::Engine::Aiv,
        ranks: program.num_ranks(),
        count,
        dtype,
        reduce: config.reduce,
        in_place: config.in_place,
        repeat,
        rounds: number,
        operations: engine.operations,
        moved: engine.moved,
        bytes_checked: engine.verifier.bytes_checked,
        bytes_identical: engine.verifier.bytes_identical,
        hang: stuck::hang(&engine),
        left_set,
        mismatches: engine.verifier.mismatches,
        uninitialised: engine.uninitialised,
        overlaps: engine.overlaps,
        lost_records: engine.lost_records,
        stale: engine.stale,
        atomic: engine.atomic,
        misaligned: engine.misaligned,
    })
}
