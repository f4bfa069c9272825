//! Speed of the byte simulator: `cargo bench -p hcomm-sim`.

#![allow(missing_docs, reason = "a benchmark")]

#[path = "../tests/it/support.rs"]
mod support;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use hcomm_core::dtype::DataType;
use hcomm_core::program::Program;
use hcomm_sim::{Config, Schedule, run};

fn main() {
    divan::main();
}

fn measure(bencher: Bencher<'_, '_>, program: &Program, config: &Config) {
    let bencher = match run(program, config) {
        Ok(report) if report.ok() => {
            bencher.counter(ItemsCount::new(report.operations)).counter(BytesCount::new(report.bytes_checked))
        }
        other => panic!("{other:?}"),
    };
    bencher.bench_local(|| run(program, config));
}

/// 16 GB of outputs.
#[divan::bench(sample_count = 10)]
fn mesh_all_gather_64_ranks_1000003_fp32(bencher: Bencher<'_, '_>) {
    measure(bencher, &support::mesh_all_gather(64), &Config::new(1_000_003, DataType::Fp32));
}

/// Operations: 655,000 of them, on 16 bytes a chunk.
#[divan::bench(sample_count = 5)]
fn ring_all_reduce_256_ranks_1024_fp32(bencher: Bencher<'_, '_>) {
    measure(bencher, &support::ring_all_reduce(256), &Config::new(1024, DataType::Fp32));
}

/// The same without data: what the engine itself takes.
#[divan::bench(sample_count = 5)]
fn ring_all_reduce_256_ranks_0_fp32(bencher: Bencher<'_, '_>) {
    measure(bencher, &support::ring_all_reduce(256), &Config::new(0, DataType::Fp32));
}

/// Every step a choice.
#[divan::bench(sample_count = 5)]
fn ring_all_reduce_64_ranks_256_fp32_random(bencher: Bencher<'_, '_>) {
    let config = Config::new(256, DataType::Fp32).schedule(Schedule::Random { seed: 1 });
    measure(bencher, &support::ring_all_reduce(64), &config);
}

/// Arithmetic: 256 MB of inputs, and as many of every rank's results.
#[divan::bench(sample_count = 3, args = [DataType::Fp32, DataType::Bf16, DataType::Int8])]
fn ring_all_reduce_64_ranks_1000003(bencher: Bencher<'_, '_>, dtype: DataType) {
    measure(bencher, &support::ring_all_reduce(64), &Config::new(1_000_003, dtype));
}
