//! `hcomm tune`

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use hcomm_sim::tune::{Choice, Question, Row, Tuning};
use serde_json::json;

use super::args::{Engines, Tune as Command, TuneFormat};
use super::describe::{Align, table};
use super::time::{cluster, us};
use super::{Answer, Failure, select};
use crate::dtype::ReduceOp;
use crate::spec::{Engine, Spec};

pub(super) fn tune(library: &[&Spec<'static>], command: &Command, json: bool) -> Result<Answer, Failure> {
    let cluster = cluster(&command.cluster)?;
    if command.reduce.is_some() && !command.operator.reduces() {
        return Err(Failure::Usage(format!("`--reduce`: {} does not reduce", command.operator)));
    }
    let layout = match (&command.rank_table, command.ranks.or(command.layout)) {
        (Some(file), _) => select::rank_table(file)?,
        (None, layout) => layout.unwrap_or(cluster.layout),
    };
    let library: Vec<&Spec<'static>> =
        library.iter().copied().filter(|spec| command.symmetric || !spec.headers.symmetric).collect();
    let root = command.root.unwrap_or(0);
    if command.root.is_some() && !command.operator.has_root() {
        return Err(Failure::Usage(format!("`--root`: {} has no root", command.operator)));
    }
    if root >= layout.ranks() {
        return Err(Failure::Usage(format!("`--root {root}`: ranks are 0 to {}", layout.ranks() - 1)));
    }
    let engines = match command.engine {
        Engines::AiCpu => vec![Engine::AiCpu],
        Engines::Aiv => vec![Engine::Aiv],
        Engines::Both => vec![Engine::AiCpu, Engine::Aiv],
    };
    let question = Question {
        root,
        engines,
        operator: command.operator,
        library: &library,
        cluster: &cluster,
        layout,
        sizes: command.sizes.clone(),
        dtype: command.dtype,
        reduce: command.reduce.unwrap_or(ReduceOp::Sum),
        hccl_buffer: command.hccl_buffer,
        release: command.cann,
    };
    let shows = std::io::stderr().is_terminal();
    let mut progress = |done: usize, total: usize| {
        if shows {
            let end = if done == total { "\r\x1b[K" } else { "" };
            // A terminal that is gone does not matter.
            let _ = write!(std::io::stderr(), "\r{done} of {total} runs{end}");
        }
    };
    let tuning = hcomm_sim::tune::tune(&question, &mut progress).map_err(Failure::Usage)?;
    let text = match command.format {
        _ if json => format!("{:#}\n", value(&question, &tuning)),
        TuneFormat::Table => text(&question, &tuning),
        TuneFormat::Json => format!("{:#}\n", value(&question, &tuning)),
        TuneFormat::Cpp => cpp(&question, &tuning),
    };
    Ok(Answer { text, holds: true })
}

/// 1024 as 1K.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 30 && bytes.is_multiple_of(1 << 30) => format!("{}G", bytes >> 30),
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

fn text(question: &Question<'_>, tuning: &Tuning) -> String {
    let Question { operator, cluster, layout, dtype, .. } = question;
    let mut text =
        format!("{operator} of {dtype} on {}, {layout}: the fastest by size of the message\n\n", cluster.name);
    let header = ["SIZE", "BEST", "ENGINE", "TIME", "BOUND", "EFFICIENCY", "MARGIN", "NEXT"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for row in &tuning.rows {
        let best = row.times.first();
        let next = row.times.get(1);
        rows.push(vec![
            size(row.bytes),
            best.map_or_else(|| "-".into(), |best| best.algorithm.clone()),
            best.map_or_else(|| "-".into(), |best| best.engine.name().into()),
            best.map_or_else(|| "-".into(), |best| us(best.time)),
            us(row.bound.time),
            percent(efficiency(row)),
            row.margin().map_or_else(|| "-".into(), percent),
            next.map_or_else(|| "-".into(), |next| format!("{} on {}", next.algorithm, next.engine.name())),
        ]);
    }
    let (right, left) = (Align::Right, Align::Left);
    text += &table(&rows, &[right, left, left, right, right, right, right, left]);
    if !tuning.left_out.is_empty() {
        text += "\nleft out:\n";
        for (name, why) in &tuning.left_out {
            let _ = writeln!(text, "  {name}: {why}");
        }
    }
    text
}

fn efficiency(row: &Row) -> f64 {
    row.times.first().map_or(0.0, |best| if best.time > 0.0 { row.bound.time / best.time } else { 1.0 })
}

fn value(question: &Question<'_>, tuning: &Tuning) -> serde_json::Value {
    let rows = tuning.rows.iter().map(|row| {
        let times = row.times.iter().map(|Choice { algorithm, engine, time }| {
            json!({ "algorithm": algorithm, "engine": engine.name(), "time_us": time / 1000.0 })
        });
        json!({
            "bytes": row.bytes,
            "best": row.times.first().map(|best| &best.algorithm),
            "engine": row.times.first().map(|best| best.engine.name()),
            "bound_us": row.bound.time / 1000.0,
            "cut": row.bound.cut,
            "efficiency": efficiency(row),
            "margin": row.margin(),
            "times": times.collect::<Vec<_>>(),
        })
    });
    let left_out = tuning.left_out.iter().map(|(name, why)| json!({ "algorithm": name, "why": why }));
    json!({
        "operator": question.operator.name(),
        "cluster": question.cluster.name,
        "layout": question.layout.to_string(),
        "ranks": question.layout.ranks(),
        "root": question.operator.has_root().then_some(question.root),
        "dtype": question.dtype.name(),
        "hccl_buffer": question.hccl_buffer,
        "sizes": rows.collect::<Vec<_>>(),
        "left_out": left_out.collect::<Vec<_>>(),
    })
}

/// A table that C++ can search: the first entry whose size is not below the message's. Runs of sizes with the same best
/// algorithm are one entry.
fn cpp(question: &Question<'_>, tuning: &Tuning) -> String {
    let Question { operator, cluster, layout, dtype, .. } = question;
    let mut runs: Vec<(u64, &Choice)> = Vec::new();
    for row in &tuning.rows {
        let Some(best) = row.times.first() else { continue };
        match runs.last_mut() {
            Some((bytes, last)) if last.algorithm == best.algorithm && last.engine == best.engine => *bytes = row.bytes,
            _ => runs.push((row.bytes, best)),
        }
    }
    if let Some(last) = runs.last_mut() {
        last.0 = u64::MAX;
    }
    let mut text = format!(
        "// {operator} of {dtype} on {}, {layout}: simulated, by `hcomm tune`. Sizes are bytes of the larger buffer.\n\
         #pragma once\n\n#include <cstdint>\n\nnamespace hcomm {{\n\n\
         struct {operator}_choice {{\n    uint64_t maxBytes;\n    const char *algorithm;\n    const char *engine;\n}};\n\n\
         constexpr {operator}_choice {operator}_choices[] = {{\n",
        cluster.name
    );
    for (bytes, best) in &runs {
        let bytes = if *bytes == u64::MAX { "UINT64_MAX".to_owned() } else { format!("{bytes}ULL") };
        let _ = writeln!(text, "    {{{bytes}, \"{}\", \"{}\"}},", best.algorithm, best.engine.name());
    }
    let _ = write!(
        text,
        "}};\n\n/// The choice for a message of so many bytes.\ninline const {operator}_choice &choose_{operator}(uint64_t bytes)\n\
         {{\n    const {operator}_choice *choice = {operator}_choices;\n    while (bytes > choice->maxBytes) {{\n        \
         ++choice;\n    }}\n    return *choice;\n}}\n\n}} // namespace hcomm\n"
    );
    text
}
