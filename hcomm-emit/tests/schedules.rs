//! Emitted schedules do what the evaluator says: every operation of every thread of every rank, with its bytes.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use hcomm_core::shape::Layout;
use hcomm_core::spec::{Spec, Verify};

/// The layouts that an algorithm is compared on.
fn layouts(spec: &Spec<'_>) -> Vec<Layout> {
    let flat = |ranks: &[u32]| ranks.iter().filter_map(|ranks| Layout::flat(*ranks)).collect();
    match spec.headers.verify {
        Verify::Ranks(..) if cfg!(feature = "sweep") => flat(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 20]),
        Verify::Ranks(..) => flat(&[2, 3, 5, 8]),
        Verify::Layouts(layouts) if cfg!(feature = "sweep") => layouts.to_vec(),
        Verify::Layouts(layouts) => layouts.iter().filter(|layout| layout.nodes() > 1).take(3).copied().collect(),
    }
}

#[test]
fn some_of_the_library() {
    const SOME: [&str; 15] = [
        "mesh_all_gather",
        "nhr_all_gather",
        "bounded_mesh_all_gather",
        "ahc_all_reduce",
        "pipeline_all_reduce",
        "one_shot_all_reduce",
        "hierarchical_broadcast",
        "binomial_gather",
        "read_send_recv",
        "dissemination_barrier",
        "hierarchical_reduce_scatter_v",
        "hierarchical_all_to_all_v",
        "zero_copy_mesh_all_gather",
        "zero_copy_mesh_all_reduce",
        "zero_copy_ring_all_gather",
    ];
    let specs: Vec<&Spec<'static>> =
        hcomm_algos::LIBRARY.iter().filter(|spec| SOME.contains(&spec.snake)).copied().collect();
    assert_eq!(specs.len(), SOME.len());
    support::compare(&support::driver("some", &specs), &specs, layouts);
}

#[test]
#[cfg_attr(not(feature = "sweep"), ignore = "every algorithm: run with --features sweep")]
fn the_whole_library() {
    support::compare(&support::driver("all", hcomm_algos::LIBRARY), hcomm_algos::LIBRARY, layouts);
}
