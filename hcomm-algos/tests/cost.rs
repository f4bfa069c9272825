//! The cost of every algorithm, counted in its task graph, is the closed form that its documentation promises.
//!
//! A path through the graph is a chain of things that come one after another. Its steps are its transfers (several to
//! one peer in a row are one), its bytes what they move between ranks, its reductions what is reduced on the way. Of
//! each, the longest path counts; the unit of bytes is a chunk, of which the message has n.
//!
//! Where a formula comes from HCCL's algorithm pages, it is written as there (facts 9.3).
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use hcomm_algos::LIBRARY;
use hcomm_core::graph::{Edge, TaskGraph};
use hcomm_core::instance::{Instance, TaskKind, instantiate};
use hcomm_core::operator::Operator;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::Spec;
use petgraph::Direction::Incoming;
use petgraph::algo::toposort;
use petgraph::visit::EdgeRef;

/// Steps, chunks moved between ranks, and chunks reduced.
type Cost = (u64, u64, u64);

fn instance(spec: &Spec<'_>, shape: &Shape) -> Instance {
    instantiate(spec, shape).unwrap()
}

/// The longest paths of a graph.
fn cost(instance: &Instance) -> Cost {
    let graph = TaskGraph::new(instance).graph;
    let mut best = vec![(0, 0, 0); graph.node_count()];
    let mut most = (0, 0, 0);
    for node in toposort(&graph, None).unwrap() {
        let task = graph[node];
        let mut reach: Cost = (0, 0, 0);
        let mut goes_on = false;
        for edge in graph.edges_directed(node, Incoming) {
            let before = best[edge.source().index()];
            reach = (reach.0.max(before.0), reach.1.max(before.1), reach.2.max(before.2));
            let same_peer = graph[edge.source()].kind.peer() == task.kind.peer();
            goes_on |= *edge.weight() == Edge::Order && same_peer && graph[edge.source()].kind.run().is_some();
        }
        if let Some(run) = task.kind.run() {
            let moves = task.kind.peer().is_some();
            let reduces =
                matches!(task.kind, TaskKind::Reduce(_) | TaskKind::WriteReduce(..) | TaskKind::ReadReduce(..));
            reach.0 += u64::from(moves && !goes_on);
            reach.1 += if moves { u64::from(run.len) } else { 0 };
            reach.2 += if reduces { u64::from(run.len) } else { 0 };
        }
        best[node.index()] = reach;
        most = (most.0.max(reach.0), most.1.max(reach.1), most.2.max(reach.2));
    }
    most
}

/// The numbers in the formulas.
#[derive(Clone, Copy)]
struct Given {
    /// Ranks.
    p: u64,
    /// ⌈log p⌉
    log: u64,
    /// Chunks of the message: of the larger buffer.
    n: u64,
    /// Pods, nodes of a pod, ranks of a node.
    pods: u64,
    nodes: u64,
    locals: u64,
}

fn log(x: u64) -> u64 {
    u64::from(x.next_power_of_two().ilog2())
}

/// The formula of an algorithm; `None` for those that have a test of their own.
///
/// A V operator with slices of one size costs what the one without V costs.
fn formula(name: &str, given: Given) -> Option<Cost> {
    let name = &name.replace("batch_send_recv", "all_to_all");
    let name = name.trim_end_matches("_vc").trim_end_matches("_v");
    let Given { p, log: steps, n, pods, nodes, locals } = given;
    let slice = n / p;
    // All nodes, and what a level costs that has one member only: nothing.
    let all_nodes = pods * nodes;
    let inside = u64::from(locals > 1);
    // Powers of two: 2^k ≤ p.
    let k = u64::from(p.ilog2());
    let q = 1 << k;
    let extra = u64::from(p != q);
    Some(match name {
        // Mesh, one step for each exchange.
        "mesh_all_gather" | "mesh_scatter" | "mesh_gather" | "star_scatter" | "star_gather" | "mesh_all_to_all" => {
            (1, slice, 0)
        }
        "zero_copy_mesh_all_gather" | "zero_copy_mesh_all_to_all" => (1, slice, 0),
        "zero_copy_ring_all_gather" => (p - 1, (p - 1) * slice, 0),
        "zero_copy_mesh_reduce_scatter" => (p - 1, slice, slice),
        "zero_copy_mesh_all_reduce" => (p, 2 * slice, slice),
        "mesh_reduce_scatter" => (1, slice, (p - 1) * slice),
        "two_shot_all_reduce" | "mesh_reduce" => (2, 2 * slice, (p - 1) * slice),
        "mesh_broadcast" => (2, 2 * slice, 0),
        "one_shot_all_reduce" | "star_reduce" => (1, n, (p - 1) * n),
        "star_broadcast" | "read_send_recv" | "write_send_recv" => (1, n, 0),
        "bounded_mesh_all_gather" => ((p - 1).div_ceil(8), (p - 1).div_ceil(8) * slice, 0),
        "grouped_mesh_all_to_all" => ((p - 1).div_ceil(16), (p - 1).div_ceil(16) * slice, 0),
        // Ring and pairwise.
        "ring_all_gather" | "pairwise_all_to_all" => (p - 1, (p - 1) * slice, 0),
        "ring_reduce_scatter" => (p - 1, (p - 1) * slice, (p - 1) * slice),
        "ring_all_reduce" => (2 * (p - 1), 2 * (p - 1) * slice, (p - 1) * slice),
        "ring_broadcast" => (p - 1, (p - 1) * n, 0),
        "ring_reduce" => (p - 1, (p - 1) * n, (p - 1) * n),
        "bidirectional_ring_all_gather" => (p / 2, p / 2 * slice, 0),
        "bidirectional_ring_all_reduce" => (2 * (p - 1), (p - 1) * slice, (p - 1) * slice / 2),
        // Recursive halving and doubling.
        "rhd_all_gather" | "rhd_reduce_scatter" => {
            let halves: u64 = (1..=k).map(|i| p.div_ceil(1 << i)).sum();
            let bytes = slice * halves + extra * (n + slice);
            (k + 2 * extra, bytes, if name == "rhd_all_gather" { 0 } else { slice * halves + extra * n })
        }
        "rhd_all_reduce" => (2 * k + 2 * extra, 2 * (q - 1) * n / q + extra * 2 * n, (q - 1) * n / q + extra * n),
        "rhd_reduce" => (2 * k + extra, 2 * (q - 1) * n / q + extra * n, (q - 1) * n / q + extra * n),
        "rhd_broadcast" | "binomial_broadcast" => (steps, steps * n, 0),
        "binomial_reduce" => (steps, steps * n, steps * n),
        // NHR, NB, and trees of slices.
        "nhr_all_gather" | "nb_all_gather" | "nhr_scatter" | "nb_scatter" | "binomial_scatter" | "binomial_gather" => {
            (steps, (p - 1) * slice, 0)
        }
        "nhr_reduce_scatter" | "nb_reduce_scatter" => (steps, (p - 1) * slice, (p - 1) * slice),
        "nhr_all_reduce" | "nb_all_reduce" => (2 * steps, 2 * (p - 1) * slice, (p - 1) * slice),
        "nhr_broadcast" | "nb_broadcast" => (2 * steps, 2 * (p - 1) * slice, 0),
        // Levels.
        "hierarchical_all_gather" => (inside + log(all_nodes), inside * slice + (all_nodes - 1) * n / all_nodes, 0),
        "hierarchical_reduce_scatter" => {
            let between = (all_nodes - 1) * n / all_nodes;
            (inside + log(all_nodes), inside * slice + between, between + (locals - 1) * slice)
        }
        "hierarchical_all_reduce" => {
            let between = (all_nodes - 1) * slice;
            (
                2 * inside + 2 * log(all_nodes),
                inside * 2 * n / locals + 2 * between,
                (locals - 1) * n / locals + between,
            )
        }
        "hierarchical_broadcast" => {
            let levels = log(all_nodes);
            (2 * inside + levels, (2 * inside + levels) * n / locals, 0)
        }
        "hierarchical_reduce" => {
            let levels = log(all_nodes);
            (2 * inside + levels, (2 * inside + levels) * n / locals, (locals - 1 + levels) * n / locals)
        }
        "hierarchical_scatter" | "hierarchical_gather" => {
            (inside + log(all_nodes), inside * slice + (all_nodes - 1) * n / all_nodes, 0)
        }
        "hierarchical_all_to_all" => (inside + all_nodes - 1, inside * n / locals + (all_nodes - 1) * n / all_nodes, 0),
        "three_level_all_gather" => {
            (inside + log(nodes) + log(pods), inside * slice + (nodes - 1) * n / all_nodes + (pods - 1) * n / pods, 0)
        }
        "three_level_reduce_scatter" => {
            let between = (nodes - 1) * n / all_nodes + (pods - 1) * n / pods;
            (inside + log(nodes) + log(pods), inside * slice + between, between + (locals - 1) * slice)
        }
        "three_level_all_reduce" => {
            let between = (nodes - 1) * n / (nodes * locals) + (pods - 1) * slice;
            (
                2 * (inside + log(nodes) + log(pods)),
                inside * 2 * n / locals + 2 * between,
                (locals - 1) * n / locals + between,
            )
        }
        "three_level_broadcast" => {
            let levels = log(nodes) + log(pods);
            (2 * inside + levels, (2 * inside + levels) * n / locals, 0)
        }
        "three_level_reduce" => {
            let levels = log(nodes) + log(pods);
            (2 * inside + levels, (2 * inside + levels) * n / locals, (locals - 1 + levels) * n / locals)
        }
        // With the same β on both kinds of links, the larger of the two is either.
        "pipeline_all_gather" => (all_nodes - 1 + inside, (all_nodes - 1 + inside) * slice, 0),
        "pipeline_reduce_scatter" => (all_nodes - 1 + inside, (all_nodes - 1 + inside) * slice, (p - 1) * slice),
        "pipeline_all_reduce" => (2 * (all_nodes - 1 + inside), 2 * (all_nodes - 1 + inside) * slice, (p - 1) * slice),
        _ if name.starts_with("ahc_") || name.ends_with("_barrier") => return None,
        _ => panic!("{name} has no closed form here"),
    })
}

#[test]
fn every_cost_is_its_closed_form() {
    let flat: Vec<u32> = (2..=20).chain([31, 32, 33]).collect();
    let mut compared = 0;
    for spec in LIBRARY {
        for layout in support::layouts(spec, &flat) {
            for shape in support::some_roles(spec, layout) {
                let instance = instance(spec, &shape);
                let slots = spec.operator.largest_slots(layout.ranks());
                let (p, nodes) = (u64::from(layout.ranks()), u64::from(layout.nodes()));
                let pods = u64::from(layout.pods());
                let n = u64::from(slots * instance.split);
                // The formulas divide by the number of ranks; a message that is one chunk counts as p.
                let scale = if n.is_multiple_of(p) { 1 } else { p };
                let given = Given { p, log: log(p), n: n * scale, pods, nodes: nodes / pods, locals: p / nodes };
                if let Some(formula) = formula(spec.snake, given) {
                    let (steps, bytes, reduced) = cost(&instance);
                    assert_eq!((steps, bytes * scale, reduced * scale), formula, "{} {shape:?}", spec.snake);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// AHC's formula adds up what the largest group does inside and what the smallest does between groups, so the two are
/// counted apart.
#[test]
fn ahc_costs() {
    for spec in LIBRARY.iter().filter(|spec| spec.snake.starts_with("ahc_")) {
        for layout in support::layouts(spec, &[20]) {
            let sizes: Vec<u64> = (0..layout.nodes()).map(|node| layout.locals_of(node).unwrap().into()).collect();
            let (groups, p) = (sizes.len() as u64, u64::from(layout.ranks()));
            let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
            let instance = instance(spec, &Shape::new(layout));
            // Chunks that each rank sends, or in an all-gather gets, inside its group and between groups. (An all-reduce
            // does both: it sends what it gets.)
            let mut moved = vec![(0, 0); layout.ranks() as usize];
            for (rank, tasks) in (0..).zip(&instance.ranks) {
                for (peer, run) in tasks.iter().filter_map(|task| task.kind.peer().zip(task.kind.run())) {
                    let of = if spec.operator == Operator::AllGather { peer } else { rank };
                    let (inside, between) = &mut moved[of as usize];
                    let is_own_group = layout.place(rank).0 == layout.place(peer).0;
                    *(if is_own_group { inside } else { between }) += u64::from(run.len);
                }
            }
            let inside = moved.iter().map(|(inside, _)| *inside).max().unwrap();
            let between = moved.iter().map(|(_, between)| *between).max().unwrap();
            let n = u64::from(instance.split) * if spec.operator == Operator::AllReduce { 1 } else { p };
            let (steps, ..) = cost(&instance);
            if spec.operator == Operator::AllReduce {
                assert_eq!(steps, 2 * (log(most) + log(groups)), "{layout}");
                assert_eq!(inside, 2 * (most - 1) * n / most, "{layout}");
                assert_eq!(between, 2 * (groups - 1) * n / (groups * least), "{layout}");
            } else {
                // The step inside in which runs of single slots move has (m+d-1) of them.
                assert_eq!(steps, log(most) + log(groups) + u64::from(most > 1), "{} {layout}", spec.snake);
                let slot_runs = (most - 1) * (n / p) / most;
                assert_eq!(inside, (most - 1) * n / most + slot_runs, "{} {layout}", spec.snake);
                assert_eq!(between, (p - least) * (n / p) / least, "{} {layout}", spec.snake);
            }
        }
    }
}

/// Steps of a barrier are signals that wait for one another.
#[test]
fn barrier_costs() {
    for (name, steps) in [("mesh_barrier", (|_| 2) as fn(u64) -> u64), ("dissemination_barrier", |p| log(p) + 1)] {
        let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
        for ranks in 2..=33 {
            let graph = TaskGraph::new(&instance(spec, &Shape::new(Layout::flat(ranks).unwrap()))).graph;
            let mut best = vec![0; graph.node_count()];
            for node in toposort(&graph, None).unwrap() {
                let reach = graph
                    .edges_directed(node, Incoming)
                    .map(|edge| best[edge.source().index()] + u64::from(*edge.weight() == Edge::Notify));
                best[node.index()] = reach.max().unwrap_or(0);
            }
            assert_eq!(best.into_iter().max(), Some(steps(ranks.into())), "{name} on {ranks}");
        }
    }
}

/// Peers and slices of NHR at every step, as HCCL computes them (facts 8.3): receiver, reduces, slices.
type Step = (u32, bool, Vec<u32>);

fn hccl_all_gather(p: u32, r: u32) -> Vec<Step> {
    let n = u32::BITS - (p - 1).leading_zeros();
    let step = |s: u32| {
        let slices = (p - 1 + (1 << (n - 1 - s))) / (1 << (n - s));
        let to = (r + (1 << (n - 1 - s))) % p;
        let mut slice = r;
        let mut sent = Vec::new();
        for _ in 0..slices {
            sent.push(slice);
            slice = (slice + p - (1 << (n - s)) % p) % p;
        }
        (to, false, sent)
    };
    (0..n).map(step).collect()
}

fn hccl_reduce_scatter(p: u32, r: u32) -> Vec<Step> {
    let n = u32::BITS - (p - 1).leading_zeros();
    let step = |s: u32| {
        let slices = (p - 1 + (1 << s)) / (1 << (s + 1));
        let to = (r + p - (1 << s)) % p;
        let mut slice = to;
        let mut sent = Vec::new();
        for _ in 0..slices {
            sent.push(slice);
            slice = (slice + p - (1 << (s + 1)) % p) % p;
        }
        (to, true, sent)
    };
    (0..n).map(step).collect()
}

/// What a rank of an NHR algorithm sends, by step: a step begins where it signals that it is ready.
fn sent(instance: &Instance, rank: u32) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for task in &instance.ranks[rank as usize] {
        let (to, reduces, run) = match task.kind {
            TaskKind::Record(_, 0) => {
                steps.push((u32::MAX, false, Vec::new()));
                continue;
            }
            TaskKind::Write(to, run) => (to, false, run),
            TaskKind::WriteReduce(to, run) => (to, true, run),
            _ => continue,
        };
        let step = steps.last_mut().unwrap();
        assert!(step.2.is_empty() || (step.0, step.1) == (to, reduces));
        assert_eq!(run.src, run.dst);
        (step.0, step.1) = (to, reduces);
        step.2.extend(run.src.chunk..run.src.chunk + run.len);
    }
    steps
}

#[test]
fn nhr_is_hccls() {
    let spec = |name: &str| LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
    for p in 2..=64 {
        let shape = Shape::new(Layout::flat(p).unwrap());
        let instances =
            ["nhr_all_gather", "nhr_reduce_scatter", "nhr_all_reduce"].map(|name| instance(spec(name), &shape));
        for rank in 0..p {
            let (gather, scatter) = (hccl_all_gather(p, rank), hccl_reduce_scatter(p, rank));
            assert_eq!(sent(&instances[0], rank), gather, "all-gather, rank {rank} of {p}");
            assert_eq!(sent(&instances[1], rank), scatter, "reduce-scatter, rank {rank} of {p}");
            assert_eq!(sent(&instances[2], rank), [scatter, gather].concat(), "all-reduce, rank {rank} of {p}");
        }
    }
}
