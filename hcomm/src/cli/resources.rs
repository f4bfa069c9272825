//! `hcomm resources`

use serde_json::json;

use super::args::Resources as Command;
use super::describe::{Align, counts_json, table};
use super::report::{self, Style};
use super::{Answer, Failure, select};
use crate::resources::{self, Resources};
use crate::spec::{Engine, Spec};

pub(super) fn resources(
    library: &[&Spec<'static>],
    command: &Command,
    json: bool,
    style: Style,
) -> Result<Answer, Failure> {
    let spec = select::algorithm(library, &command.algorithm)?;
    let shape = select::shape(spec, &command.place)?;
    // For the faults that counting alone would not find on every rank.
    select::instance(spec, &shape, style)?;
    let mut per_rank = Vec::new();
    for rank in 0..shape.ranks() {
        match resources::of_rank(spec, &shape, rank) {
            Ok(need) => per_rank.push(need),
            Err(fault) => return Err(report::failure(spec.file, &[fault.diagnostic(spec, &shape, rank)], style)),
        }
    }
    let max = per_rank.iter().copied().fold(Resources::default(), Resources::max);
    let text = if json {
        let value = json!({
            "algorithm": spec.snake,
            "operator": spec.operator.name(),
            "engine": Engine::AiCpu.name(),
            "ranks": shape.ranks(),
            "max": counts_json(&max),
            "per_rank": per_rank.iter().map(counts_json).collect::<Vec<_>>(),
        });
        format!("{value:#}\n")
    } else {
        let title = format!("{}: {} on ai_cpu, {} ranks\n\n", spec.snake, spec.operator, shape.ranks());
        title + &rows(&max, &per_rank)
    };
    Ok(Answer { text, holds: true })
}

/// A table with one row for the ranks that need the same.
fn rows(max: &Resources, per_rank: &[Resources]) -> String {
    let heads = [
        "",
        "threads",
        "notify_num_per_thread",
        "thread_notifies",
        "channels",
        "notify_num_per_channel",
        "channel_notifies",
        "scratch_chunks",
    ];
    let row = |name: String, need: &Resources| {
        let counts = [
            need.threads,
            need.notify_num_per_thread,
            need.thread_notifies,
            need.channels,
            need.notify_num_per_channel,
            need.channel_notifies,
            need.scratch_chunks,
        ];
        std::iter::once(name).chain(counts.iter().map(ToString::to_string)).collect::<Vec<_>>()
    };
    let mut rows = vec![heads.map(str::to_owned).to_vec(), row("maximum".into(), max)];
    let mut first = 0;
    for group in per_rank.chunk_by(|a, b| a == b) {
        let last = first + group.len() - 1;
        let name = if first == last { format!("rank {first}") } else { format!("ranks {first}-{last}") };
        rows.push(row(name, &group[0]));
        first = last + 1;
    }
    let mut align = vec![Align::Right; heads.len()];
    align[0] = Align::Left;
    table(&rows, &align)
}
