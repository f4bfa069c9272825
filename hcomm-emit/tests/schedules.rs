//! Emitted schedules do what the evaluator says: every operation of every thread of every rank, with its bytes.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use hcomm_core::counts::Counts;
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu;
use hcomm_core::operator::CountsBy;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::sizes::Rounds;
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

/// Counts to try: none, fewer than ranks, not a multiple of anything, several rounds.
fn counts(program: &Program, count: u64) -> Counts {
    let ranks = u64::from(program.num_ranks());
    let slot = |i: u64| count * (i % 3) / 2 + i % 2;
    match program.operator.counts() {
        CountsBy::All => Counts::Same(count),
        CountsBy::Rank => Counts::by_rank(&(0..ranks).map(slot).collect::<Vec<_>>()),
        CountsBy::Pair => {
            let row = |from: u64| (0..ranks).map(|to| slot(from * 5 + to * 7 + 1)).collect();
            Counts::by_pair(&(0..ranks).map(row).collect::<Vec<_>>())
        }
    }
}

fn compare(name: &str, specs: &[&Spec<'static>]) {
    let driver = support::driver(name, specs);
    let (mut input, mut wants) = (String::new(), Vec::new());
    for spec in specs {
        for layout in layouts(spec) {
            let mut roles = Some(Shape::first_roles(layout));
            while let Some(shape) = roles {
                roles = shape.next_roles(spec.operator);
                let Ok(instance) = instantiate(spec, &shape) else { continue };
                let program = aicpu::lower(&instance);
                for (count, element, cells) in [(0, 4, 1), (3, 2, 1), (1000, 4, 100), (5001, 4, 2)] {
                    let counts = counts(&program, count);
                    let buffer = 128 * cells * u64::from(program.scratch.max(1)) + 77;
                    let rounds = Rounds::new(&program, counts.clone(), element, buffer).unwrap();
                    for rank in 0..shape.ranks() {
                        input += &support::case(&program, &counts, (element, buffer), rank);
                        let what =
                            format!("{} on {layout}, root {}, count {count}, rank {rank}", spec.snake, shape.root);
                        wants.push((what, support::expected(&program, &rounds, rank)));
                    }
                }
            }
        }
    }
    let output = support::run(&driver, &input);
    let mut found = output.split("end\n");
    for (what, want) in &wants {
        let text = found.next().unwrap();
        let have = support::by_thread(text, want.len());
        if have != *want {
            for (thread, (have, want)) in have.iter().zip(want).enumerate() {
                let differ = have.iter().zip(want).position(|(have, want)| have != want);
                let at = differ.unwrap_or(have.len().min(want.len()));
                if have != want {
                    panic!(
                        "{what}, thread {thread}, operation {at}:\n have {:?}\n want {:?}",
                        have.get(at..have.len().min(at + 3)),
                        want.get(at..want.len().min(at + 3))
                    );
                }
            }
            panic!("{what}: {} threads, not {}", have.len(), want.len());
        }
    }
    assert_eq!(found.next(), Some(""));
    assert!(wants.len() > 20);
}

#[test]
fn some_of_the_library() {
    const SOME: [&str; 12] = [
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
    ];
    let specs: Vec<&Spec<'static>> =
        hcomm_algos::LIBRARY.iter().filter(|spec| SOME.contains(&spec.snake)).copied().collect();
    assert_eq!(specs.len(), SOME.len());
    compare("some", &specs);
}

#[test]
#[cfg_attr(not(feature = "sweep"), ignore = "every algorithm: run with --features sweep")]
fn the_whole_library() {
    compare("all", hcomm_algos::LIBRARY);
}
