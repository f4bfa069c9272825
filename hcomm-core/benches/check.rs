//! The scale of the checks: how long a program of many ranks takes.
//!
//! `cargo bench -p hcomm-core --bench check`; the 1,024-rank mesh (9 million operations) takes its time.
#![allow(clippy::unwrap_used, reason = "benchmarks stop on the first surprise")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use hcomm_core::check::check;
use hcomm_core::program::Program;

#[path = "../tests/check/builders.rs"]
mod builders;

fn bench(criterion: &mut Criterion, name: &str, program: &Program) {
    let ops = program.num_ops();
    let mut group = criterion.benchmark_group("check");
    group.sample_size(10).measurement_time(Duration::from_secs(5)).throughput(criterion::Throughput::Elements(ops));
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            let found = check(black_box(program));
            assert!(found.is_empty(), "{found:?}");
        });
    });
    group.finish();
}

fn scale(criterion: &mut Criterion) {
    bench(criterion, "all-pairs all-reduce, 64 ranks", &builders::all_pairs_all_reduce(64));
    bench(criterion, "NHR all-gather, 256 ranks", &builders::nhr_all_gather(256));
    bench(criterion, "ring all-reduce, 256 ranks", &builders::ring_all_reduce(256));
    bench(criterion, "mesh all-gather, 1024 ranks", &builders::mesh_all_gather(1024));
}

criterion_group!(benches, scale);
criterion_main!(benches);
