//! How fast an algorithm is timed, from its description on: `cargo run --release -p hcomm-sim --example speed --
//! ring_all_reduce 1024 950-mesh`. The process's memory is for `/usr/bin/time -v` to say.

#![allow(missing_docs, clippy::print_stdout, reason = "an example")]

use std::time::Instant;

use hcomm_algos::LIBRARY;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower_owned;
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::Config;
use hcomm_sim::cluster::Cluster;
use hcomm_sim::time::{Options, Prepared};

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, ranks, cluster] = &args[..] else { return Err("ALGORITHM RANKS CLUSTER".into()) };
    let spec = LIBRARY.iter().find(|spec| spec.snake == name).ok_or("no such algorithm")?;
    let layout = ranks.parse().ok().and_then(Layout::flat).ok_or("no such number of ranks")?;
    let cluster = Cluster::preset(cluster).ok_or("no such preset")?;
    let start = Instant::now();
    let instance = instantiate(spec, &Shape::new(layout)).map_err(|faults| format!("{faults:?}"))?;
    let program = lower_owned(instance);
    let lowered = start.elapsed();
    let prepared =
        Prepared::new(&program, &cluster, DataType::Fp32, ReduceOp::Sum).map_err(|error| error.to_string())?;
    let ready = start.elapsed();
    let config = Config::new(1 << 18, DataType::Fp32);
    let timing = prepared.run(&config, &Options::default()).map_err(|error| error.to_string())?;
    let done = start.elapsed();
    let simulated = (done - ready).as_secs_f64();
    println!(
        "{name} on {ranks} ranks: {} operations; lowered {lowered:.2?}, prepared {:.2?}, timed {simulated:.3} s: {:.1} M \
         operations a second; {:.2} us",
        timing.operations,
        ready - lowered,
        timing.operations as f64 / simulated / 1e6,
        timing.time / 1000.0
    );
    Ok(())
}
