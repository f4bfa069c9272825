//! Sources to specs and specs to what ranks do, for tests.
#![allow(dead_code, reason = "each test uses a part")]

use hcomm_core::diag::Diagnostic;
use hcomm_core::instance::{Instance, TaskKind, instantiate};
use hcomm_core::operator::Buffer;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::SpecBuf;

/// The spec of a `collective!` block's inside.
pub(crate) fn spec(source: &str) -> SpecBuf {
    let tokens = source.parse().unwrap_or_else(|error| panic!("{error}: {source}"));
    match hcomm_lang::parse(tokens, "test.rs") {
        Ok(mut parsed) => parsed.remove(0).spec,
        Err(error) => panic!("{error}: {source}"),
    }
}

pub(crate) fn flat(ranks: u32) -> Shape {
    Shape::new(Layout::flat(ranks).unwrap())
}

pub(crate) fn at(source: &str, shape: &Shape) -> Result<Instance, Vec<Diagnostic>> {
    spec(source).with_spec(|spec| instantiate(spec, shape))
}

/// The chunks of `output` that each rank copies to, in order: a program's values made visible.
pub(crate) fn written(instance: &Instance) -> Vec<Vec<u32>> {
    let chunks = |kind: &TaskKind| match kind {
        TaskKind::Copy(run) if run.dst.buffer == Buffer::Output => Some(run.dst.chunk),
        _ => None,
    };
    instance.ranks.iter().map(|tasks| tasks.iter().filter_map(|task| chunks(&task.kind)).collect()).collect()
}

/// The first fault of a program, as `code: message`, or what it does not have.
pub(crate) fn fault(source: &str, shape: &Shape) -> String {
    match at(source, shape) {
        Ok(_) => "no fault".into(),
        Err(faults) => {
            let place = faults[0].at.map_or(String::new(), |at| format!("{}:{}: ", at.line, at.column));
            format!("{place}{}", faults[0])
        }
    }
}
