//! Which algorithm is the fastest for an operator on a cluster, by size.

use hcomm_core::aiv;
use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu;
use hcomm_core::operator::{CountsBy, Operator};
use hcomm_core::product::{Limits, Release};
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::{Engine, Spec, Verify};

use crate::bound::{self, Bound};
use crate::cluster::Cluster;
use crate::config::Config;
use crate::time::{AnyProgram, Options, Prepared, TimeError};

/// How much longer than the best an algorithm may take before it is given up.
const GIVE_UP: f64 = 4.0;
/// The most operations that one algorithm may take at one size.
const OPERATIONS: u64 = 50_000_000;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The operator.
    pub operator: Operator,
    /// The algorithms; those of other operators are left out.
    pub library: &'a [&'a Spec<'static>],
    /// Where.
    pub cluster: &'a Cluster,
    /// On which ranks, with source 0 and destination 1.
    pub layout: Layout,
    /// The root, where the operator has one.
    pub root: u32,
    /// On which engines.
    pub engines: Vec<Engine>,
    /// Bytes of the message, which is the larger of the buffers of a rank.
    pub sizes: Vec<u64>,
    /// The element type.
    pub dtype: DataType,
    /// The reduction.
    pub reduce: ReduceOp,
    /// Bytes of the HCCL buffer.
    pub hccl_buffer: u64,
    /// The CANN release, for the limits of a communicator.
    pub release: Release,
}

/// All sizes, and what was left out.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// By size.
    pub rows: Vec<Row>,
    /// Algorithms that cannot run there, and why.
    pub left_out: Vec<(String, String)>,
}

/// The algorithms at one size.
#[derive(Clone, Debug)]
pub struct Row {
    /// Bytes asked for.
    pub bytes: u64,
    /// The bound.
    pub bound: Bound,
    /// All that have a time, the fastest first.
    pub times: Vec<Choice>,
}

/// An algorithm on an engine, and its time at a size.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Its name.
    pub algorithm: String,
    /// The engine.
    pub engine: Engine,
    /// In nanoseconds.
    pub time: f64,
}

impl Row {
    /// How much longer the second one takes, as a part of the best one's time.
    pub fn margin(&self) -> Option<f64> {
        let (best, second) = (self.times.first()?.time, self.times.get(1)?.time);
        (best > 0.0).then_some((second - best) / best)
    }
}

/// Times every algorithm on every engine at every size. `progress` is told how many of how many are done.
///
/// An algorithm that takes far longer than the best one is given up, so that it has no time there.
///
/// # Errors
///
/// In words, if no algorithm can run on the layout, or none at any of the sizes.
pub fn tune(question: &Question<'_>, progress: &mut dyn FnMut(usize, usize)) -> Result<Tuning, String> {
    let mut left_out = Vec::new();
    question.cluster.admits(&question.layout)?;
    let programs = programs(question, &mut left_out);
    let Question { cluster, dtype, reduce, .. } = *question;
    let mut prepared: Vec<(AnyProgram<'_>, Prepared<'_, '_>)> = Vec::new();
    for program in &programs {
        let program = program.any();
        match Prepared::new(program, cluster, dtype, reduce) {
            Ok(ready) => prepared.push((program, ready)),
            Err(error) => left_out.push((name(program), error.to_string())),
        }
    }
    if prepared.is_empty() {
        return Err(none(question, &left_out));
    }
    let total = question.sizes.len() * prepared.len();
    let mut rows = Vec::new();
    // The best at a size is likely the best at the next one: it comes first, so that others are given up early.
    let mut order: Vec<usize> = (0..prepared.len()).collect();
    for bytes in &question.sizes {
        let counts = counts(question, *bytes);
        let config = Config::new(0, dtype).counts(counts.clone()).reduce(reduce).hccl_buffer(question.hccl_buffer);
        let mut times: Vec<(usize, f64)> = Vec::new();
        let mut best = f64::INFINITY;
        for (done, index) in order.iter().enumerate() {
            progress(rows.len() * prepared.len() + done, total);
            let options = Options { stop_after: best * GIVE_UP, ..Options::default() };
            let (program, ready) = &prepared[*index];
            match ready.run(&config.clone().operation_limit(OPERATIONS), &options) {
                Ok(timing) if !timing.is_stopped => {
                    best = best.min(timing.time);
                    times.push((*index, timing.time));
                }
                Ok(_) | Err(TimeError::Run(crate::RunError::Operations { .. })) => {}
                Err(error) => {
                    let name = name(*program);
                    if !left_out.iter().any(|(left, _)| *left == name) {
                        left_out.push((name, error.to_string()));
                    }
                }
            }
        }
        // Equal times: in the order of the library.
        times.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        order.sort_by_key(|index| times.iter().position(|(timed, _)| timed == index).unwrap_or(usize::MAX));
        // Below all, whatever the engine.
        let mut bound: Option<Bound> = None;
        for engine in [Engine::AiCpu, Engine::Aiv] {
            let Some((program, _)) = prepared.iter().find(|(program, _)| program.engine() == engine) else { continue };
            let of_engine = bound::bound(*program, &counts, dtype.size(), cluster);
            bound = bound.filter(|bound| bound.time <= of_engine.time).or(Some(of_engine));
        }
        let choice = |(index, time): &(usize, f64)| {
            let program = prepared[*index].0;
            Choice { algorithm: program.frame().algorithm.clone(), engine: program.engine(), time: *time }
        };
        let times = times.iter().map(choice).collect();
        rows.push(Row { bytes: *bytes, bound: bound.unwrap_or_default(), times });
    }
    progress(total, total);
    // A table without a choice is none.
    if rows.iter().all(|row| row.times.is_empty()) {
        return Err(none(question, &left_out));
    }
    Ok(Tuning { rows, left_out })
}

/// That nothing runs, and why.
fn none(question: &Question<'_>, left_out: &[(String, String)]) -> String {
    let why: Vec<String> = left_out.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    format!("no algorithm for {} runs on {}\n{}", question.operator, question.layout, why.join("\n"))
}

/// A program of either engine.
enum Lowered {
    Threads(Program),
    Blocks(aiv::Program),
}

impl Lowered {
    fn any(&self) -> AnyProgram<'_> {
        match self {
            Lowered::Threads(program) => program.into(),
            Lowered::Blocks(program) => program.into(),
        }
    }
}

/// The algorithm, and its engine where that is not the AI CPU.
fn name(program: AnyProgram<'_>) -> String {
    let name = &program.frame().algorithm;
    match program.engine() {
        Engine::AiCpu => name.clone(),
        engine => format!("{name} on {}", engine.name()),
    }
}

/// The programs of all algorithms of the operator that can run on the layout.
fn programs(question: &Question<'_>, left_out: &mut Vec<(String, String)>) -> Vec<Lowered> {
    let mut programs = Vec::new();
    let Question { cluster, layout, operator, dtype, reduce, .. } = question;
    let mut engines = question.engines.clone();
    if let (Err(fault), true) = (aiv::admits_layout(cluster.product, layout), engines.contains(&Engine::Aiv)) {
        left_out.push(("all on aiv".into(), fault.message));
        engines.retain(|engine| *engine != Engine::Aiv);
    }
    for spec in question.library.iter().filter(|spec| spec.operator == *operator) {
        let name = spec.snake.to_owned();
        if matches!(spec.headers.verify, Verify::Layouts(_)) && layout.nodes() == 1 {
            left_out.push((name, "it is for several nodes".into()));
            continue;
        }
        let shape = Shape { root: question.root, ..Shape::new(*layout) };
        let instance = match instantiate(spec, &shape) {
            Ok(instance) => instance,
            Err(faults) => {
                left_out.push((name, faults.first().map_or_else(String::new, |fault| fault.message.clone())));
                continue;
            }
        };
        let wants = |engine: Engine| engines.contains(&engine) && spec.offers(engine);
        let kernel = wants(Engine::Aiv).then(|| {
            let program = aiv::lower_default(&instance)?.on(cluster.product);
            aiv::admits(cluster.product, &program, *dtype, *reduce).map(|()| program)
        });
        if wants(Engine::AiCpu) {
            let program = aicpu::lower_owned(instance);
            let admitted = cluster.product.admits(&program, *dtype, *reduce);
            match admitted.err().or_else(|| Limits::of(question.release).program_overrun(&program, None)) {
                None => programs.push(Lowered::Threads(program)),
                Some(fault) => left_out.push((name.clone(), fault.message)),
            }
        }
        match kernel {
            Some(Ok(program)) => programs.push(Lowered::Blocks(program)),
            Some(Err(fault)) => left_out.push((format!("{name} on aiv"), fault.message)),
            None => {}
        }
    }
    programs
}

/// Counts for a message of so many bytes, rounded up to whole elements for each slot.
pub fn counts(question: &Question<'_>, bytes: u64) -> Counts {
    let slots = u64::from(question.operator.largest_slots(question.layout.ranks()).max(1));
    let count = bytes.div_ceil(slots * u64::from(question.dtype.size()));
    let ranks = question.layout.ranks() as usize;
    match question.operator.counts() {
        CountsBy::All => Counts::Same(count),
        CountsBy::Rank => Counts::by_rank(&vec![count; ranks]),
        CountsBy::Pair => Counts::by_pair(&vec![vec![count; ranks]; ranks]),
    }
}
