//! `hcomm resources`

use serde_json::json;

use super::args::Resources as Command;
use super::describe::{Align, counts_json, table};
use super::report::{self, Style};
use super::{Answer, Failure, select};
use crate::product::Product;
use crate::resources::{self, Resources};
use crate::spec::{BudgetField, Engine, Spec};

pub(super) fn resources(
    library: &[&Spec<'static>],
    command: &Command,
    json: bool,
    style: Style,
) -> Result<Answer, Failure> {
    let spec = select::algorithm(library, &command.algorithm)?;
    let shape = select::shape(spec, &command.place)?;
    let engine = select::engine(spec, &command.place.kernel)?;
    // For the faults that counting alone would not find on every rank.
    let instance = select::instance(spec, &shape, style)?;
    let kernel = match engine {
        Engine::AiCpu => None,
        Engine::Aiv => {
            // The counts are the same on all products.
            let program = select::blocks(&instance, &command.place.kernel, Product::A950);
            Some(program.map_err(|fault| report::failure(spec.file, &[fault], style))?)
        }
    };
    let mut per_rank = Vec::new();
    for rank in 0..shape.ranks() {
        match resources::of_rank(spec, &shape, rank) {
            Ok(need) => {
                per_rank.push(kernel.as_ref().map_or(need, |kernel| select::kernel_needs(kernel, rank, need)));
            }
            Err(fault) => return Err(report::failure(spec.file, &[fault.diagnostic(spec, &shape, rank)], style)),
        }
    }
    let max = per_rank.iter().copied().fold(Resources::default(), Resources::max);
    let text = if json {
        let value = json!({
            "algorithm": spec.snake,
            "operator": spec.operator.name(),
            "engine": engine.name(),
            "ranks": shape.ranks(),
            "max": counts_json(&max, engine),
            "per_rank": per_rank.iter().map(|need| counts_json(need, engine)).collect::<Vec<_>>(),
        });
        format!("{value:#}\n")
    } else {
        let title = format!("{}: {} on {}, {} ranks\n\n", spec.snake, spec.operator, engine.name(), shape.ranks());
        title + &rows(&max, &per_rank, engine)
    };
    Ok(Answer { text, holds: true })
}

/// The counts of an engine, by name.
fn columns(engine: Engine) -> &'static [(&'static str, BudgetField)] {
    match engine {
        Engine::AiCpu => &[
            ("threads", BudgetField::Threads),
            ("notify_num_per_thread", BudgetField::NotifyNumPerThread),
            ("thread_notifies", BudgetField::ThreadNotifies),
            ("channels", BudgetField::Channels),
            ("notify_num_per_channel", BudgetField::NotifyNumPerChannel),
            ("channel_notifies", BudgetField::ChannelNotifies),
            ("scratch_chunks", BudgetField::Scratch),
        ],
        Engine::Aiv => &[
            ("blocks", BudgetField::Blocks),
            ("flags", BudgetField::Flags),
            ("channels", BudgetField::Channels),
            ("scratch_chunks", BudgetField::Scratch),
        ],
    }
}

/// A table with one row for the ranks that need the same.
fn rows(max: &Resources, per_rank: &[Resources], engine: Engine) -> String {
    let columns = columns(engine);
    let heads = std::iter::once(String::new()).chain(columns.iter().map(|(name, _)| (*name).to_owned()));
    let counts = |need: &Resources| columns.iter().map(|(_, field)| need.get(*field)).collect::<Vec<_>>();
    let row = |name: String, need: &Resources| {
        std::iter::once(name).chain(counts(need).iter().map(ToString::to_string)).collect::<Vec<_>>()
    };
    let mut rows = vec![heads.collect(), row("maximum".into(), max)];
    let mut first = 0;
    for group in per_rank.chunk_by(|a, b| counts(a) == counts(b)) {
        let last = first + group.len() - 1;
        let name = if first == last { format!("rank {first}") } else { format!("ranks {first}-{last}") };
        rows.push(row(name, &group[0]));
        first = last + 1;
    }
    let mut align = vec![Align::Right; columns.len() + 1];
    align[0] = Align::Left;
    table(&rows, &align)
}
