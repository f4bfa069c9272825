//! Where nothing is shared, the simulated time is the closed form of the algorithm (HCCL's algorithm pages) to 1e-9.
//!
//! Operations cost nothing but α, which a transfer pays once for each step; n is the message, the larger buffer.
#![allow(clippy::unwrap_used, reason = "tests")]

use hcomm_algos::LIBRARY;
use hcomm_core::aiv;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower;
use hcomm_core::operator::Operator;
use hcomm_core::product::Product;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::Config;
use hcomm_sim::cluster::{Aiv, Cluster, Engine, Fabric, Level, Scope};
use hcomm_sim::time::{AnyProgram, Options, simulate};

const ALPHA: f64 = 1234.5;
const BETA: f64 = 1.0 / 17.3;
const GAMMA: f64 = 1.0 / 291.7;

/// A full mesh on which only links and reductions take time.
fn mesh() -> Cluster {
    let engine = Engine { local_reduce: 1.0 / GAMMA, inline_reduce: 1.0 / GAMMA, ..Engine::FREE };
    let level = Level {
        name: "link".into(),
        scope: Scope::Node,
        fabric: Fabric::Mesh,
        gbps: 1.0 / BETA,
        sharing: 1,
        node_gbps: None,
        latency: ALPHA,
        notify_latency: 0.0,
    };
    let layout = Layout::flat(8).unwrap();
    let (name, about) = ("test".into(), String::new());
    Cluster { name, about, product: Product::A950, layout, dies: 1, engine, aiv: Aiv::FREE, levels: vec![level] }
}

fn program(name: &str, shape: &Shape) -> Program {
    let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
    lower(&instantiate(spec, shape).unwrap())
}

/// Its time, and the bytes of the message.
fn timed(program: AnyProgram<'_>, cluster: &Cluster) -> (f64, f64) {
    let (ranks, p) = (program.frame().num_ranks(), u64::from(program.frame().num_ranks()));
    // Divisible by all that cut it: p, 2^⌊log p⌋, and 128 bytes for each.
    let n = p * u64::from(ranks.next_power_of_two()) * 128 * 3;
    let slots = match program.frame().operator {
        Operator::AllGather | Operator::ReduceScatter | Operator::AllToAll => p,
        Operator::Scatter | Operator::Gather => p,
        _ => 1,
    };
    let config = Config::new(n / slots / 4, DataType::Fp32).reduce(ReduceOp::Sum);
    (simulate(program, cluster, &config, &Options::default()).unwrap().time, n as f64)
}

/// Times α, times nβ, times nγ.
type Form = fn(f64, f64) -> (f64, f64, f64);

fn log(p: f64) -> f64 {
    p.log2().ceil()
}

/// For p ranks; the second argument is 2^⌊log p⌋.
const FORMS: &[(&str, Form)] = &[
    ("mesh_all_gather", |p, _| (1.0, 1.0 / p, 0.0)),
    ("mesh_reduce_scatter", |p, _| (1.0, 1.0 / p, (p - 1.0) / p)),
    ("mesh_scatter", |p, _| (1.0, 1.0 / p, 0.0)),
    ("mesh_gather", |p, _| (1.0, 1.0 / p, 0.0)),
    ("mesh_broadcast", |p, _| (2.0, 2.0 / p, 0.0)),
    ("mesh_reduce", |p, _| (2.0, 2.0 / p, (p - 1.0) / p)),
    ("mesh_all_to_all", |p, _| (1.0, 1.0 / p, 0.0)),
    ("two_shot_all_reduce", |p, _| (2.0, 2.0 / p, (p - 1.0) / p)),
    ("one_shot_all_reduce", |p, _| (1.0, 1.0, p - 1.0)),
    ("star_broadcast", |_, _| (1.0, 1.0, 0.0)),
    ("star_reduce", |p, _| (1.0, 1.0, p - 1.0)),
    ("read_send_recv", |_, _| (1.0, 1.0, 0.0)),
    ("write_send_recv", |_, _| (1.0, 1.0, 0.0)),
    ("ring_all_gather", |p, _| (p - 1.0, (p - 1.0) / p, 0.0)),
    ("ring_reduce_scatter", |p, _| (p - 1.0, (p - 1.0) / p, (p - 1.0) / p)),
    ("ring_all_reduce", |p, _| (2.0 * (p - 1.0), 2.0 * (p - 1.0) / p, (p - 1.0) / p)),
    ("ring_broadcast", |p, _| (p - 1.0, p - 1.0, 0.0)),
    ("ring_reduce", |p, _| (p - 1.0, p - 1.0, p - 1.0)),
    ("pairwise_all_to_all", |p, _| (p - 1.0, (p - 1.0) / p, 0.0)),
    ("nhr_all_gather", |p, _| (log(p), (p - 1.0) / p, 0.0)),
    ("nhr_reduce_scatter", |p, _| (log(p), (p - 1.0) / p, (p - 1.0) / p)),
    ("nhr_all_reduce", |p, _| (2.0 * log(p), 2.0 * (p - 1.0) / p, (p - 1.0) / p)),
    ("nhr_broadcast", |p, _| (2.0 * log(p), 2.0 * (p - 1.0) / p, 0.0)),
    ("nhr_scatter", |p, _| (log(p), (p - 1.0) / p, 0.0)),
    ("nb_all_gather", |p, _| (log(p), (p - 1.0) / p, 0.0)),
    ("nb_reduce_scatter", |p, _| (log(p), (p - 1.0) / p, (p - 1.0) / p)),
    ("nb_all_reduce", |p, _| (2.0 * log(p), 2.0 * (p - 1.0) / p, (p - 1.0) / p)),
    ("rhd_all_gather", |p, q| rhd(p, q, false)),
    ("rhd_reduce_scatter", |p, q| rhd(p, q, true)),
    ("rhd_broadcast", |p, _| (log(p), log(p), 0.0)),
    ("rhd_reduce", |p, q| {
        let extra = f64::from(p > q);
        (2.0 * q.log2() + extra, 2.0 * (q - 1.0) / q + extra, (q - 1.0) / q + extra)
    }),
    ("rhd_all_reduce", |p, q| {
        let extra = f64::from(p > q);
        (2.0 * q.log2() + 2.0 * extra, 2.0 * (q - 1.0) / q + 2.0 * extra, (q - 1.0) / q + extra)
    }),
    ("binomial_broadcast", |p, _| (log(p), log(p), 0.0)),
    ("binomial_reduce", |p, _| (log(p), log(p), log(p))),
];

fn rhd(p: f64, q: f64, reduces: bool) -> (f64, f64, f64) {
    let halves: f64 = (1..=q.log2() as i32).map(|i| (p / 2f64.powi(i)).ceil()).sum::<f64>() / p;
    let extra = f64::from(p > q);
    let bytes = halves + extra * (1.0 + 1.0 / p);
    (q.log2() + 2.0 * extra, bytes, if reduces { halves + extra } else { 0.0 })
}

/// A full mesh for kernels whose cores cost nothing: the forms are the same.
#[test]
fn kernels_on_free_cores_take_the_closed_forms() {
    let cluster = mesh();
    let mut compared = 0;
    for (name, form) in FORMS {
        let spec = LIBRARY.iter().find(|spec| spec.snake == *name).unwrap();
        for ranks in [2, 3, 4, 7, 8, 16] {
            let shape = Shape::new(Layout::flat(ranks).unwrap());
            let program = aiv::lower_default(&instantiate(spec, &shape).unwrap()).unwrap();
            let (timing, n) = timed((&program).into(), &cluster);
            let (alphas, bytes, reduced) = form(f64::from(ranks), f64::from(1 << ranks.ilog2()));
            let expected = alphas * ALPHA + bytes * n * BETA + reduced * n * GAMMA;
            let error = (timing - expected).abs() / expected;
            assert!(error < 1e-9, "{name} on {ranks}: {timing} and not {expected}");
            compared += 1;
        }
    }
    assert_eq!(compared, FORMS.len() * 6);
}

#[test]
fn uncontended_times_are_the_closed_forms() {
    let cluster = mesh();
    let mut compared = 0;
    for (name, form) in FORMS {
        for ranks in (2..=17).chain([32, 33, 64]) {
            let shape = Shape::new(Layout::flat(ranks).unwrap());
            let program = program(name, &shape);
            let (timing, n) = timed((&program).into(), &cluster);
            let (alphas, bytes, reduced) = form(f64::from(ranks), f64::from(1 << ranks.ilog2()));
            let expected = alphas * ALPHA + bytes * n * BETA + reduced * n * GAMMA;
            let error = (timing - expected).abs() / expected;
            assert!(error < 1e-9, "{name} on {ranks}: {timing} and not {expected}");
            compared += 1;
        }
    }
    assert_eq!(compared, FORMS.len() * 19);
}
