//! No algorithm of the library is faster than its operator's bound, on any cluster; and some reach it.
#![allow(clippy::unwrap_used, reason = "tests")]

use hcomm_algos::LIBRARY;
use hcomm_core::aiv;
use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower;
use hcomm_core::operator::{CountsBy, Operator};
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::{Spec, Verify};
use hcomm_sim::Config;
use hcomm_sim::bound::{bandwidth, bound};
use hcomm_sim::cluster::{Aiv, Cluster, Engine, PRESETS};
use hcomm_sim::time::{AnyProgram, Options, Prepared};

/// Layouts on which both the algorithm and the cluster can be.
fn layouts(spec: &Spec<'_>, cluster: &Cluster) -> Vec<Layout> {
    let mut layouts = vec![cluster.layout];
    match spec.headers.verify {
        Verify::Ranks(..) => layouts.extend([1, 2, 5, 8].map(|ranks| Layout::flat(ranks).unwrap())),
        Verify::Layouts(own) => layouts.extend(own.iter().filter(|layout| layout.ranks() <= 16)),
    }
    layouts.retain(|layout| cluster.admits(layout).is_ok());
    layouts
}

/// The same for all, or unequal ones.
fn counts(operator: Operator, ranks: u32, count: u64) -> Counts {
    let ranks = u64::from(ranks);
    match operator.counts() {
        CountsBy::All => Counts::Same(count),
        CountsBy::Rank => Counts::by_rank(&(0..ranks).map(|rank| count * (rank % 3)).collect::<Vec<_>>()),
        CountsBy::Pair => {
            let row = |from: u64| (0..ranks).map(|to| count * ((from + 2 * to) % 3)).collect();
            Counts::by_pair(&(0..ranks).map(row).collect::<Vec<_>>())
        }
    }
}

fn program(spec: &Spec<'_>, shape: &Shape) -> Option<Program> {
    instantiate(spec, shape).ok().map(|instance| lower(&instance))
}

/// Times a program at several counts and compares each with the bound. Returns how many.
fn compare<'p>(program: impl Into<AnyProgram<'p>>, cluster: &Cluster, numbers: &[u64]) -> usize {
    let program = program.into();
    let frame = program.frame();
    let prepared = Prepared::new(program, cluster, DataType::Fp32, ReduceOp::Sum).unwrap();
    for &count in numbers {
        let counts = counts(frame.operator, frame.num_ranks(), count);
        let config = Config::new(0, DataType::Fp32).counts(counts.clone());
        let timing = prepared.run(&config, &Options::default()).unwrap();
        let bound = bound(program, &counts, 4, cluster);
        assert!(
            bound.time <= timing.time * (1.0 + 1e-9),
            "{} on {} of {}, {}, {count}: {} below {bound:?}",
            frame.algorithm,
            program.engine().name(),
            frame.shape.layout,
            cluster.name,
            timing.time
        );
    }
    numbers.len()
}

#[test]
fn no_algorithm_beats_its_bound() {
    let mut compared = 0;
    for (preset, _) in PRESETS {
        let real = Cluster::preset(preset).unwrap();
        // The bound must hold where operations cost nothing, too, and where reductions are what takes the time.
        let free = Cluster { engine: Engine::FREE, aiv: Aiv::FREE, ..real.clone() };
        let reducing = Engine { local_reduce: 0.1, inline_reduce: 0.1, ai_cpu_reduce: 0.1, ..Engine::FREE };
        let slow = Cluster { engine: reducing, aiv: Aiv::FREE, ..real.clone() };
        let cases: [(&Cluster, &[u64]); 3] = [(&real, &[0, 1000, 300_000]), (&free, &[300_000]), (&slow, &[300_000])];
        for (cluster, numbers) in cases {
            for spec in LIBRARY {
                for layout in layouts(spec, cluster) {
                    // Large layouts take long, and once is enough.
                    if layout.ranks() > 16 && *cluster != real {
                        continue;
                    }
                    let mut shape = Shape::new(layout);
                    if spec.operator.has_root() {
                        shape.root = layout.ranks() / 2;
                    }
                    let Ok(instance) = instantiate(spec, &shape) else { continue };
                    let program = lower(&instance);
                    compared += compare(&program, cluster, numbers);
                    if aiv::admits_layout(cluster.product, &layout).is_ok()
                        && spec.offers(hcomm_core::spec::Engine::Aiv)
                        && layout.ranks() <= 8
                    {
                        compared += compare(&aiv::lower_default(&instance).unwrap(), cluster, numbers);
                    }
                }
            }
        }
    }
    assert!(compared > 2500, "{compared}");
}

/// Where links are all that costs, good algorithms are at the bound.
#[test]
fn the_bound_is_reached() {
    let cases = [
        ("mesh_all_gather", "a2-server", 8, 1.0),
        ("mesh_all_to_all", "a2-server", 8, 1.0),
        ("two_shot_all_reduce", "a2-server", 8, 1.0),
        ("mesh_scatter", "a2-server", 8, 1.0),
        ("ring_all_reduce", "950-clos", 8, 1.0),
        ("ring_all_gather", "950-clos", 8, 1.0),
        ("ring_reduce_scatter", "950-clos", 8, 1.0),
    ];
    for (name, preset, ranks, expected) in cases {
        let mut cluster = Cluster { engine: Engine::FREE, ..Cluster::preset(preset).unwrap() };
        cluster.levels.iter_mut().for_each(|level| level.latency = 0.0);
        let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
        let program = program(spec, &Shape::new(Layout::flat(ranks).unwrap())).unwrap();
        let config = Config::new(40_000_000, DataType::Fp32).hccl_buffer(4 << 30);
        let prepared = Prepared::new(&program, &cluster, DataType::Fp32, ReduceOp::Sum).unwrap();
        let time = prepared.run(&config, &Options::default()).unwrap().time;
        let efficiency = bound(&program, &config.counts, 4, &cluster).time / time;
        assert!((efficiency - expected).abs() < 0.02, "{name} on {preset}: {efficiency}");
    }
}

#[test]
fn bounds_by_hand() {
    let cluster = Cluster { engine: Engine::FREE, ..Cluster::preset("a2-multi").unwrap() };
    let of = |name: &str, count: u64| {
        let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
        let program = program(spec, &Shape::new(cluster.layout)).unwrap();
        bound(&program, &Counts::Same(count), 4, &cluster)
    };
    // A rank gets 15 · 4 MB, over 7 links of 18.3 GB/s and a port of 20 GB/s. (Into a node it is 32 MB at 160 GB/s.)
    let gather = of("ring_all_gather", 1_000_000);
    assert!((gather.time - (900.0 + 60e6 / 148.1)).abs() < 1e-6, "{gather:?}");
    assert_eq!((gather.latency, gather.cut.as_str()), (900.0, "60.000 MB into rank 0 at 148.1 GB/s"));
    // An all-to-all sends 8 · 8 slots out of a node.
    let exchange = of("pairwise_all_to_all", 1_000_000);
    assert!((exchange.time - (6400.0 + 256e6 / 160.0)).abs() < 1e-6, "{exchange:?}");
    // All-reduce: 30 · 4 MB between ranks. (Between nodes it is 2 · 4 MB at 320 GB/s in all.)
    let reduce = of("ring_all_reduce", 1_000_000);
    let ranks = 16.0 * (7.0 * 18.3 + 20.0);
    assert!((reduce.time - (900.0 + 120e6 / ranks)).abs() < 1e-6, "{reduce:?}");
    // A barrier crosses once.
    assert!((of("mesh_barrier", 0).time - 6000.0).abs() < 1e-9);
}

#[test]
fn bandwidths_are_the_fields() {
    let all_reduce = bandwidth(Operator::AllReduce, 8, 1e6, 1e4);
    assert_eq!((all_reduce.alg, all_reduce.bus), (100.0, 175.0));
    assert_eq!(bandwidth(Operator::AllGather, 4, 1e6, 1e4).bus, 75.0);
    assert_eq!(bandwidth(Operator::Broadcast, 4, 1e6, 1e4).bus, 100.0);
}

/// Where memory is slower than all links together, writing the output is what takes the time.
#[test]
fn outputs_must_be_written() {
    let mut cluster = Cluster { engine: Engine::FREE, aiv: Aiv::FREE, ..Cluster::preset("a2-server").unwrap() };
    (cluster.engine.local, cluster.engine.local_copy) = (700.0, 1.5);
    let spec = LIBRARY.iter().find(|spec| spec.snake == "mesh_all_gather").unwrap();
    let program = program(spec, &Shape::new(Layout::flat(8).unwrap())).unwrap();
    let found = bound(&program, &Counts::Same(1_000_000), 4, &cluster);
    // 32 MB by copies and seven links; into the rank it is 28 MB by links alone.
    let expected = 700.0 + 32e6 / (1.5 + 7.0 * 18.3);
    assert!((found.time - expected).abs() < 1e-6 * expected, "{found:?} and not {expected}");
    assert_eq!(found.cut, "32.000 MB to write on rank 0");
    let alone = self::program(spec, &Shape::new(Layout::flat(1).unwrap())).unwrap();
    let found = bound(&alone, &Counts::Same(1_000_000), 4, &cluster);
    assert!((found.time - (700.0 + 4e6 / 1.5)).abs() < 1e-6, "{found:?}");
}
