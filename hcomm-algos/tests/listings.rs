//! Listings of every algorithm: what people read, and what a change of lowering would change. At 2, 4 and 5 ranks; of
//! an algorithm on nodes, at the two smallest layouts that it names.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use hcomm_algos::LIBRARY;
use hcomm_core::draw;
use hcomm_core::graph::TaskGraph;
use hcomm_core::instance::{Instance, instantiate};
use hcomm_core::lower::aicpu::lower;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};

fn instance(name: &str, layout: Layout) -> Instance {
    let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
    instantiate(spec, &Shape::new(layout)).unwrap()
}

/// `2x1` for 2 x 1, `1-2` for [1, 2].
fn file_name(layout: &Layout) -> String {
    layout.to_string().replace(", ", "-").replace([' ', '[', ']'], "")
}

#[test]
fn listings() {
    for spec in LIBRARY {
        let mut layouts = support::layouts(spec, &[2, 4, 5, 8]);
        layouts.truncate(if support::is_flat(spec) { 3 } else { 2 });
        assert!(layouts.len() > 1, "{}", spec.snake);
        for layout in layouts {
            let listing = lower(&instance(spec.snake, layout)).to_string();
            insta::assert_snapshot!(format!("{}_{}", spec.snake, file_name(&layout)), listing);
        }
    }
}

#[test]
fn graphs() {
    let three = Layout::flat(3).unwrap();
    let drawn = [
        ("mesh_all_gather", three),
        ("ring_all_gather", three),
        ("nhr_all_gather", three),
        ("one_shot_all_reduce", three),
        ("ring_all_reduce", three),
        ("read_send_recv", three),
        ("binomial_broadcast", three),
        ("pipeline_all_gather", Layout::equal(1, 2, 2).unwrap()),
    ];
    for (name, layout) in drawn {
        let graph = TaskGraph::new(&instance(name, layout));
        insta::assert_snapshot!(format!("{name}_dot"), draw::dot(&graph));
        insta::assert_snapshot!(format!("{name}_mermaid"), draw::mermaid(&graph));
    }
}

#[test]
fn json_reads_back_as_the_same_program() {
    for spec in LIBRARY {
        for layout in support::layouts(spec, &[2, 3, 8]) {
            let program = lower(&instance(spec.snake, layout));
            assert_eq!(Program::from_json(&program.to_json()).as_ref(), Ok(&program), "{} at {layout}", spec.snake);
        }
    }
    let two = Layout::flat(2).unwrap();
    insta::assert_snapshot!("ring_all_gather_json", lower(&instance("ring_all_gather", two)).to_json());
}
