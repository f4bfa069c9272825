//! `hcomm run`

use hcomm_sim::{Config, Moved, Report, RunError};
use serde_json::{Value, json};

use super::args::{Run as Command, Target};
use super::describe::{counts, counts_json};
use super::report::{self, Style};
use super::select::Lowered;
use super::{Answer, Failure, select, time};
use crate::aiv;
use crate::counts::Counts;
use crate::diag::{Code, Diagnostic};
use crate::dtype::ReduceOp;
use crate::operator::{CountsBy, Operator};
use crate::program::Program;
use crate::resources::{self, Resources};
use crate::sizes::SizeError;
use crate::spec::{Engine, Spec};

pub(super) fn run(library: &[&Spec<'static>], command: &Command, json: bool, style: Style) -> Result<Answer, Failure> {
    let target = target(command)?;
    let (mut lowered, need) = match (&command.program, &command.algorithm) {
        (Some(file), _) => (select::program_of(file)?, None),
        (None, name) => {
            let spec = select::algorithm(library, name.as_deref().unwrap_or_default())?;
            let shape = select::shape(spec, &command.place)?;
            let lowered = select::program(spec, &shape, &command.place.kernel, &target, style)?;
            let need = resources::of_shape(spec, &shape).ok().map(|need| match &lowered {
                Lowered::AiCpu(_) => need,
                Lowered::Aiv(program) => {
                    let of = |rank| select::kernel_needs(program, rank, need);
                    (0..shape.ranks()).map(of).fold(Resources::default(), Resources::max)
                }
            });
            (lowered, need)
        }
    };
    let reduce = command.reduce.unwrap_or(ReduceOp::Sum);
    let product = target.product();
    lowered.order_reductions(product, command.dtype, reduce);
    let (program, engine) = (lowered.frame(), lowered.engine());
    let file = program.source.file.clone();
    if let Some(overrun) = lowered.overrun(&target) {
        return Err(report::failure(&file, &[overrun], style));
    }
    lowered.admits_cores(command.cores)?;
    time::admits(command, program.num_ranks())?;
    if command.reduce.is_some() && !program.operator.reduces() {
        return Err(Failure::Usage(format!("`--reduce`: {} does not reduce", program.operator)));
    }
    let admitted = match &lowered {
        Lowered::AiCpu(program) => product.admits(program, command.dtype, reduce),
        Lowered::Aiv(program) => aiv::admits(product, program, command.dtype, reduce),
    };
    admitted.map_err(|diagnostic| report::failure(&file, &[diagnostic], style))?;
    let mut found = lowered.check(command.cores).diagnostics;
    let proven = found.is_empty();
    let counts = match (&command.counts, command.count) {
        (Some(counts), _) => counts.clone(),
        (None, Some(count)) if program.operator != Operator::Barrier => by_default(program, count),
        (None, None) if program.operator != Operator::Barrier => {
            let and = if program.operator.counts() == CountsBy::All { "" } else { ", or `--counts` of each one" };
            return Err(Failure::Usage(format!("`--count` says how many elements a slot has{and}")));
        }
        (None, _) => Counts::Same(0),
    };
    let mut config = Config::new(0, command.dtype)
        .counts(counts)
        .reduce(reduce)
        .hccl_buffer(command.hccl_buffer)
        .repeat(command.repeat.into())
        .in_place(command.in_place)
        .seed(command.seed);
    config.cores = command.cores;
    let report = match &lowered {
        Lowered::AiCpu(program) => hcomm_sim::run(program, &config),
        Lowered::Aiv(program) => hcomm_sim::aiv::run(program, &config),
    };
    let report = report.map_err(|error| match error {
        RunError::Size(SizeError::BufferTooSmall { .. }) => {
            let diagnostic = Diagnostic::new(Code::H401, error.to_string(), program.source.spans.first().copied());
            report::failure(&file, &[diagnostic.with_help("give it more with `--hccl-buffer`")], style)
        }
        // What the checks have found is why.
        RunError::Program { .. } | RunError::Operation { .. } if !found.is_empty() => {
            report::failure(&file, &found, style)
        }
        error => Failure::Usage(error.to_string()),
    })?;
    if found.is_empty() {
        found.extend(report.diagnostics());
    }
    let holds = proven && report.ok();
    // The time of what is wrong says nothing.
    let timed = if holds { time::timed(command, lowered.code(), &config, style)? } else { None };
    let written = match &timed {
        Some(timed) => timed.pictures(command, lowered.code(), &config, need.as_ref(), &report)?,
        None => None,
    };
    let text = match json {
        true => {
            let mut value = value(program, engine, need.as_ref(), &report, &found);
            if let Some(timed) = &timed {
                timed.json(lowered.code(), &mut value);
            }
            if let Some(written) = &written {
                value["trace"] = time::traced_json(written);
            }
            format!("{value:#}\n")
        }
        false => {
            let time = timed.as_ref().map(|timed| timed.text(lowered.code(), command.explain)).unwrap_or_default();
            let summary = summary(command, &lowered, need.as_ref(), &report, proven);
            let trace = written.as_ref().map(time::traced).unwrap_or_default();
            summary + &time + &trace + &report::text(&file, &found, style)
        }
    };
    Ok(Answer { text, holds: holds && timed.is_none_or(|timed| timed.completes()) })
}

/// What the program is for: the cluster says the product, and the program is lowered for that one.
fn target(command: &Command) -> Result<Target, Failure> {
    let target = command.target.clone();
    let Some(name) = &command.cluster else { return Ok(target) };
    let cluster = time::cluster(name)?;
    match target.product {
        Some(product) if product != cluster.product => Err(Failure::Usage(format!(
            "`--product {product}`: the cluster {} is of {}; leave `--product` out",
            cluster.name, cluster.product
        ))),
        _ => Ok(Target { product: Some(cluster.product), ..target }),
    }
}

/// Counts where one number is given: the same for all, or in the V operators 0, 1 and 2 times as many in turn.
fn by_default(program: &Program, count: u64) -> Counts {
    let ranks = u64::from(program.num_ranks());
    let turn = |i: u64| count.saturating_mul((i + 1) % 3);
    match program.operator.counts() {
        CountsBy::All => Counts::Same(count),
        CountsBy::Rank => Counts::by_rank(&(0..ranks).map(turn).collect::<Vec<_>>()),
        CountsBy::Pair => {
            let row = |from: u64| (0..ranks).map(|to| turn(from + 2 * to)).collect();
            Counts::by_pair(&(0..ranks).map(row).collect::<Vec<_>>())
        }
    }
}

/// What was run and what came of it.
fn summary(command: &Command, lowered: &Lowered, need: Option<&Resources>, report: &Report, proven: bool) -> String {
    let (program, engine) = (lowered.frame(), lowered.engine());
    let plural = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "{}: {} on {}, {}\n",
        program.algorithm,
        program.operator,
        engine.name(),
        plural(program.num_ranks().into(), "rank")
    );
    if let Some(need) = need {
        text += &format!("resources  {}\n", counts(need, engine));
    }
    let most = if program.operator.counts() == CountsBy::All { "" } else { "up to " };
    let mut data = match program.operator {
        Operator::Barrier => "none".to_owned(),
        _ => format!("{most}{} of {}", plural(report.count, "element"), command.dtype),
    };
    if program.operator.reduces() {
        data += &format!(", {}", report.reduce);
    }
    if command.in_place {
        data += ", in place";
    }
    let calls = if command.repeat > 1 { format!("{} calls of ", command.repeat) } else { String::new() };
    text += &format!(
        "data       {data}: {calls}{}, {}\n",
        plural(report.rounds, "round"),
        plural(report.operations, "operation")
    );
    let Moved { local, remote } = report.moved;
    text += &format!("moved      {}, {remote} of them between ranks\n", plural(local + remote, "byte"));
    text += match proven {
        true => "proven     no deadlock, no race, no lost notify, the right result\n",
        false => "NOT PROVEN see below\n",
    };
    let verdict = if report.ok() { "verified   " } else { "WRONG      " };
    let identical = match report.bytes_identical {
        0 => String::new(),
        n => format!(" ({n} by being the input's own bytes)"),
    };
    if report.hang.is_some() {
        return text + "WRONG      it does not end\n";
    }
    text + &format!(
        "{verdict}{} compared{identical}, {}\n",
        plural(report.bytes_checked, "byte"),
        match report.mismatches.count {
            0 if report.ok() => "all as they must be".into(),
            0 => "which are right, but the run is not".into(),
            n => plural(n, "element") + " not as they must be",
        }
    )
}

fn value(
    program: &Program,
    engine: Engine,
    need: Option<&Resources>,
    report: &Report,
    diagnostics: &[Diagnostic],
) -> Value {
    let file = &program.source.file;
    json!({
        "ok": report.ok() && diagnostics.is_empty(),
        "algorithm": program.algorithm,
        "operator": program.operator.name(),
        "engine": engine.name(),
        "ranks": program.num_ranks(),
        "count": report.count,
        "dtype": report.dtype.name(),
        "reduce": program.operator.reduces().then(|| report.reduce.name()),
        "in_place": report.in_place,
        "repeat": report.repeat,
        "bytes_checked": report.bytes_checked,
        "bytes_identical": report.bytes_identical,
        "mismatches": report.mismatches.count,
        "rounds": report.rounds,
        "operations": report.operations,
        "bytes_moved": report.moved.local + report.moved.remote,
        "bytes_moved_between_ranks": report.moved.remote,
        "resources": need.map(|need| counts_json(need, engine)),
        "diagnostics": diagnostics.iter().map(|diagnostic| report::value(file, diagnostic)).collect::<Vec<_>>(),
    })
}
