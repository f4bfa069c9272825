//! Speed of the time simulator: `cargo bench -p hcomm-sim --bench time`. Items are operations carried out.

#![allow(missing_docs, reason = "a benchmark")]

use divan::Bencher;
use divan::counter::ItemsCount;
use hcomm_algos::LIBRARY;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::Config;
use hcomm_sim::cluster::Cluster;
use hcomm_sim::time::{Options, Prepared};

fn main() {
    divan::main();
}

fn program(name: &str, ranks: u32) -> Program {
    let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap_or_else(|| panic!("{name}"));
    let layout = Layout::flat(ranks).unwrap_or_else(|| panic!("{ranks} ranks"));
    lower(&instantiate(spec, &Shape::new(layout)).unwrap_or_else(|faults| panic!("{faults:?}")))
}

fn measure(bencher: Bencher<'_, '_>, name: &str, ranks: u32, cluster: &str) {
    let cluster = Cluster::preset(cluster).unwrap_or_else(|| panic!("{cluster}"));
    let program = program(name, ranks);
    let config = Config::new(1 << 18, DataType::Fp32);
    let prepared = Prepared::new(&program, &cluster, DataType::Fp32, ReduceOp::Sum);
    let prepared = prepared.unwrap_or_else(|error| panic!("{error}"));
    let run = || prepared.run(&config, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let operations = run().operations;
    bencher.counter(ItemsCount::new(operations)).bench_local(|| run().time);
}

/// What LogGOPSim does: 1 MiB, all links alone.
#[divan::bench(args = [64, 256], sample_count = 10)]
fn ring_all_reduce_mesh(bencher: Bencher<'_, '_>, ranks: u32) {
    measure(bencher, "ring_all_reduce", ranks, "950-mesh");
}

/// The same on ports.
#[divan::bench(args = [64, 256], sample_count = 10)]
fn ring_all_reduce_clos(bencher: Bencher<'_, '_>, ranks: u32) {
    measure(bencher, "ring_all_reduce", ranks, "950-clos");
}

/// Every port shared by as many transfers as there are ranks.
#[divan::bench(args = [16, 64, 128], sample_count = 5)]
fn mesh_all_gather_clos(bencher: Bencher<'_, '_>, ranks: u32) {
    measure(bencher, "mesh_all_gather", ranks, "950-clos");
}

/// Ports shared by few, at different times.
#[divan::bench(args = [64, 256], sample_count = 5)]
fn nhr_all_reduce_clos(bencher: Bencher<'_, '_>, ranks: u32) {
    measure(bencher, "nhr_all_reduce", ranks, "950-clos");
}

/// From the program to what can be simulated.
#[divan::bench(args = [64, 256], sample_count = 10)]
fn prepare_ring_all_reduce(bencher: Bencher<'_, '_>, ranks: u32) {
    let cluster = Cluster::preset("950-mesh").unwrap_or_else(|| panic!("preset"));
    let program = program("ring_all_reduce", ranks);
    bencher
        .counter(ItemsCount::new(program.num_ops()))
        .bench_local(|| Prepared::new(&program, &cluster, DataType::Fp32, ReduceOp::Sum).is_ok());
}
