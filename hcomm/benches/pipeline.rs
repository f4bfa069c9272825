//! From spec to listing: `cargo bench -p hcomm`. What the macro proves when it expands, as it is built for a dev build:
//! `CARGO_PROFILE_BENCH_OPT_LEVEL=1 cargo bench -p hcomm --bench pipeline -- proves`.

use divan::{Bencher, black_box};
use hcomm::algos::{LIBRARY, MeshAllGather, NhrAllGather, OneShotAllReduce, RingAllReduce};
use hcomm::graph::TaskGraph;
use hcomm::instance::{Instance, instantiate};
use hcomm::lower::aicpu::lower;
use hcomm::resources;
use hcomm::shape::{Layout, Shape};
use hcomm::spec::Spec;

/// An algorithm and a rank count.
#[derive(Clone, Copy)]
struct Case(&'static Spec<'static>, u32);

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.0.snake, self.1)
    }
}

const CASES: [Case; 5] = [
    Case(&MeshAllGather::SPEC, 8),
    Case(&MeshAllGather::SPEC, 64),
    Case(&OneShotAllReduce::SPEC, 64),
    Case(&NhrAllGather::SPEC, 256),
    Case(&RingAllReduce::SPEC, 256),
];

fn main() {
    divan::main();
}

fn shape(ranks: u32) -> Shape {
    Shape::new(Layout::flat(ranks).unwrap_or_else(|| panic!("{ranks} ranks")))
}

fn instance(case: &Case) -> Instance {
    instantiate(case.0, &shape(case.1)).unwrap_or_else(|faults| panic!("{faults:?}"))
}

macro_rules! stage {
    ($stage:ident, $prepare:expr, $run:expr) => {
        mod $stage {
            use super::*;

            #[divan::bench(args = CASES)]
            fn case(bencher: Bencher, case: &Case) {
                let prepared = $prepare(case);
                bencher.bench(|| black_box($run(black_box(&prepared))));
            }
        }
    };
}

stage!(count, |case: &Case| *case, |case: &Case| { resources::of_shape(case.0, &shape(case.1)) });
stage!(instantiates, |case: &Case| *case, |case: &Case| instance(case));
stage!(graph, instance, TaskGraph::new);
stage!(lowers, instance, lower);
stage!(lists, |case: &Case| lower(&instance(case)), |program: &hcomm::program::Program| program.to_string());
stage!(json, |case: &Case| lower(&instance(case)), |program: &hcomm::program::Program| program.to_json());

/// An algorithm, by its place in the library.
#[divan::bench(args = LIBRARY.iter().map(|spec| spec.snake), sample_count = 5)]
fn proves(bencher: Bencher, name: &str) {
    let Some(spec) = LIBRARY.iter().find(|spec| spec.snake == name) else { return };
    bencher.bench(|| hcomm::verify::verify(black_box(spec)));
}
