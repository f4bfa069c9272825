//! The listing of every algorithm at 2, 4 and 5 ranks: what people read, and what a change of lowering would change.
#![allow(clippy::unwrap_used, reason = "tests")]

use hcomm_algos::LIBRARY;
use hcomm_core::draw;
use hcomm_core::graph::TaskGraph;
use hcomm_core::instance::{Instance, instantiate};
use hcomm_core::lower::aicpu::lower;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};

fn instance(index: usize, ranks: u32) -> Instance {
    instantiate(LIBRARY[index], &Shape::new(Layout::flat(ranks).unwrap())).unwrap()
}

#[test]
fn listings() {
    for (index, spec) in LIBRARY.iter().enumerate() {
        for ranks in [2, 4, 5] {
            insta::assert_snapshot!(format!("{}_{ranks}", spec.snake), lower(&instance(index, ranks)).to_string());
        }
    }
}

#[test]
fn graphs() {
    for (index, spec) in LIBRARY.iter().enumerate() {
        let graph = TaskGraph::new(&instance(index, 3));
        insta::assert_snapshot!(format!("{}_dot", spec.snake), draw::dot(&graph));
        insta::assert_snapshot!(format!("{}_mermaid", spec.snake), draw::mermaid(&graph));
    }
}

#[test]
fn json_reads_back_as_the_same_program() {
    for (index, spec) in LIBRARY.iter().enumerate() {
        for ranks in [2, 3, 8] {
            let program = lower(&instance(index, ranks));
            assert_eq!(Program::from_json(&program.to_json()).as_ref(), Ok(&program), "{} at {ranks}", spec.snake);
        }
    }
    insta::assert_snapshot!("ring_all_gather_json", lower(&instance(1, 2)).to_json());
}
