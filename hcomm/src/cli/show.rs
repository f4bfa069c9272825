//! `hcomm show`

use super::args::{Format, Show as Command};
use super::report::Style;
use super::select::Lowered;
use super::{Answer, Failure, select};
use crate::aiv;
use crate::draw;
use crate::graph::TaskGraph;
use crate::listing::OneRank;
use crate::spec::Spec;

pub(super) fn show(library: &[&Spec<'static>], command: &Command, json: bool, style: Style) -> Result<Answer, Failure> {
    let spec = select::algorithm(library, &command.algorithm)?;
    let shape = select::shape(spec, &command.place)?;
    if let Some(rank) = command.rank
        && rank >= shape.ranks()
    {
        return Err(Failure::Usage(format!("`--rank {rank}`: ranks are 0 to {}", shape.ranks() - 1)));
    }
    let format = if json { Format::Json } else { command.format };
    if command.rank.is_some() && format != Format::Listing {
        return Err(Failure::Usage("`--rank` is for the listing: the other formats hold all ranks".into()));
    }
    let graph = || select::instance(spec, &shape, style).map(|instance| TaskGraph::new(&instance));
    let text = match format {
        Format::Dot => draw::dot(&graph()?),
        Format::Mermaid => draw::mermaid(&graph()?),
        Format::Listing | Format::Json => {
            let program = select::program(spec, &shape, &command.place.kernel, &command.target, style)?;
            match (&program, format, command.rank) {
                (Lowered::AiCpu(program), Format::Json, _) => program.to_json(),
                (Lowered::AiCpu(program), _, Some(rank)) => OneRank(program, rank).to_string(),
                (Lowered::AiCpu(program), _, None) => program.to_string(),
                (Lowered::Aiv(program), Format::Json, _) => program.to_json(),
                (Lowered::Aiv(program), _, Some(rank)) => aiv::OneRank(program, rank).to_string(),
                (Lowered::Aiv(program), _, None) => program.to_string(),
            }
        }
    };
    Ok(Answer { text, holds: true })
}
