//! How fast an operator can be on a cluster, whatever the algorithm: lower bounds by cuts (`docs/bounds.md` has the
//! proofs), and bandwidths as the field defines them.

use hcomm_core::counts::Counts;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec;

use crate::cluster::{Cluster, Fabric, Scope};
use crate::time::AnyProgram;

/// No algorithm takes less. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Bound {
    /// The bound: the largest of what follows from one cut, and of what reductions take.
    pub time: f64,
    /// The part of it that is there however few bytes there are.
    pub latency: f64,
    /// The part that the bytes take.
    pub bandwidth: f64,
    /// The cut that it follows from, for people.
    pub cut: String,
}

/// Bandwidths in GB/s.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Bandwidth {
    /// Bytes of the message by time.
    pub alg: f64,
    /// What a link would have to give in a ring: comparable with what links give, whatever the operator.
    pub bus: f64,
}

/// Bytes of the message, which is the larger of the buffers of a rank.
pub fn message_bytes(program: &Program, counts: &Counts, element: u32) -> f64 {
    let buffers = [Buffer::Input, Buffer::Output];
    let most = (0..program.num_ranks()).flat_map(|rank| buffers.map(|buffer| counts.elements(program, buffer, rank)));
    most.max().unwrap_or(0) as f64 * f64::from(element)
}

/// Algorithm and bus bandwidth for a message of `bytes` in `time` nanoseconds, as nccl-tests and HCCL's test define them.
pub fn bandwidth(operator: Operator, ranks: u32, bytes: f64, time: f64) -> Bandwidth {
    if time <= 0.0 {
        return Bandwidth::default();
    }
    let p = f64::from(ranks);
    let factor = match operator {
        Operator::AllReduce => 2.0 * (p - 1.0) / p,
        Operator::Broadcast | Operator::Reduce | Operator::SendRecv | Operator::Barrier | Operator::BatchSendRecv => {
            1.0
        }
        _ => (p - 1.0) / p,
    };
    let alg = bytes / time;
    Bandwidth { alg, bus: alg * factor }
}

/// The bound of a program's operator, on the program's engine.
pub fn bound<'p>(program: impl Into<AnyProgram<'p>>, counts: &Counts, element: u32, cluster: &Cluster) -> Bound {
    let code = program.into();
    let (program, starts) = (code.frame(), Starts::of(cluster, code.engine()));
    let needs = Needs { program, counts, element: f64::from(element) };
    let launch = starts.launch;
    let layout = &program.shape.layout;
    let mut best = Bound { time: launch, latency: launch, ..Bound::default() };
    let mut take = |latency: f64, bandwidth: f64, cut: String| {
        if launch + latency + bandwidth > best.time {
            best = Bound { time: launch + latency + bandwidth, latency: launch + latency, bandwidth, cut };
        }
    };
    for inner in [None, Some(Scope::Device), Some(Scope::Node), Some(Scope::Pod)] {
        let groups = groups(cluster, layout, inner);
        if groups.len() < 2 {
            continue;
        }
        let Some(latency) = latency(cluster, layout, inner, program.operator == Operator::Barrier, &starts) else {
            continue;
        };
        let what = inner.map_or("rank", Scope::name);
        if program.operator == Operator::Barrier {
            take(latency, 0.0, format!("every {what} hears of the others"));
            continue;
        }
        let mut capacity = 0.0;
        for group in &groups {
            let (into, out) = needs.crossing(group);
            let (bytes, way) = if into >= out { (into, "into") } else { (out, "out of") };
            let gbps = capacity_of(cluster, layout, inner, group);
            capacity += gbps;
            if bytes > 0.0 && gbps > 0.0 {
                let number = match inner {
                    None => group.start,
                    Some(_) => groups.iter().position(|other| other == group).unwrap_or_default() as u32,
                };
                take(latency, bytes / gbps, format!("{} {way} {what} {number} at {gbps:.1} GB/s", amount(bytes)));
            }
        }
        let total = needs.total(groups.len());
        if total > 0.0 && capacity > 0.0 {
            take(latency, total / capacity, format!("{} between {what}s at {capacity:.1} GB/s in all", amount(total)));
        }
    }
    let engine = &cluster.engine;
    let rate = engine.local_reduce + engine.inline_reduce + engine.ai_cpu_reduce;
    let reductions = needs.reductions() / (f64::from(program.num_ranks()) * rate);
    if reductions > 0.0 {
        take(0.0, reductions, "reductions, shared by all ranks".into());
    }
    // Every byte of an output is written once: by a copy within the rank, or by a transfer into it.
    let into = latency(cluster, layout, None, false, &starts).unwrap_or(f64::INFINITY);
    for rank in 0..program.num_ranks() {
        let bytes = needs.output(rank);
        let links = capacity_of(cluster, layout, None, &(rank..rank + 1));
        if bytes > 0.0 {
            let gbps = engine.local_copy + links;
            take(starts.local.min(into), bytes / gbps, format!("{} to write on rank {rank}", amount(bytes)));
        }
    }
    best
}

/// Bytes, for people: to the byte where there are few, and in MB of 10^6 as rates are.
fn amount(bytes: f64) -> String {
    match bytes {
        _ if bytes < 1e5 => format!("{bytes} bytes"),
        _ if bytes < 1e9 => format!("{:.3} MB", bytes / 1e6),
        _ => format!("{:.3} GB", bytes / 1e9),
    }
}

/// What it costs to start things on an engine.
struct Starts {
    launch: f64,
    local: f64,
    transfer: f64,
    record: f64,
}

impl Starts {
    fn of(cluster: &Cluster, engine: spec::Engine) -> Starts {
        let Cluster { engine: ai_cpu, aiv, .. } = cluster;
        match engine {
            spec::Engine::AiCpu => Starts {
                launch: ai_cpu.launch,
                local: ai_cpu.local,
                transfer: ai_cpu.transfer,
                record: ai_cpu.channel_record,
            },
            spec::Engine::Aiv => Starts { launch: aiv.launch, local: aiv.copy, transfer: aiv.copy, record: aiv.record },
        }
    }
}

/// The ranks that a scope holds together; every rank by itself for `None`.
fn groups(cluster: &Cluster, layout: &Layout, inner: Option<Scope>) -> Vec<std::ops::Range<u32>> {
    let mut groups: Vec<std::ops::Range<u32>> = Vec::new();
    for rank in 0..layout.ranks() {
        match groups.last_mut() {
            Some(group) if inner.is_some_and(|inner| cluster.scope_of(layout, group.start, rank) <= inner) => {
                group.end = rank + 1;
            }
            _ => groups.push(rank..rank + 1),
        }
    }
    groups
}

/// How many peers a rank has whose narrowest common scope is `scope`.
fn peers(cluster: &Cluster, layout: &Layout, rank: u32, scope: Scope) -> u32 {
    let (node, local) = layout.place(rank);
    let locals = layout.locals_of(node).unwrap_or(1);
    let device = cluster.device(local);
    let dies = if cluster.dies > 1 { cluster.dies.min(locals - device * cluster.dies) } else { 1 };
    match scope {
        Scope::Device => dies - 1,
        Scope::Node => locals - dies,
        Scope::Pod if layout.pods() == 1 => layout.ranks() - locals,
        Scope::Pod => layout.ranks() / layout.pods() - locals,
        Scope::Cluster if layout.pods() == 1 => 0,
        Scope::Cluster => layout.ranks() - layout.ranks() / layout.pods(),
    }
}

/// The scopes that pairs across the border of a group have.
fn across(inner: Option<Scope>) -> impl Iterator<Item = Scope> {
    Scope::ALL.into_iter().filter(move |scope| inner.is_none_or(|inner| *scope > inner))
}

/// What is paid before the first byte (or, in a barrier, the first notify) has crossed the border of a group.
fn latency(cluster: &Cluster, layout: &Layout, inner: Option<Scope>, is_barrier: bool, starts: &Starts) -> Option<f64> {
    let used = across(inner).filter(|scope| (0..layout.ranks()).any(|rank| peers(cluster, layout, rank, *scope) > 0));
    let levels = used.filter_map(|scope| cluster.level_for(scope));
    levels
        .map(|(_, level)| match is_barrier {
            true => (starts.record + level.notify_latency).min(starts.transfer + level.latency),
            false => starts.transfer + level.latency,
        })
        .min_by(f64::total_cmp)
}

/// GB/s across the border of a group, in either direction.
fn capacity_of(cluster: &Cluster, layout: &Layout, inner: Option<Scope>, group: &std::ops::Range<u32>) -> f64 {
    let mut sum = 0.0;
    for (index, level) in cluster.levels.iter().enumerate() {
        // By node: what its ranks' links and ports give.
        let mut of_node = 0.0;
        let (mut node, mut port) = (None, None);
        for rank in group.clone() {
            let (here, local) = layout.place(rank);
            if node.is_some_and(|node| node != here) {
                sum += limited(of_node, level.node_gbps, inner);
                of_node = 0.0;
            }
            node = Some(here);
            let scopes = across(inner).filter(|scope| cluster.level_for(*scope).is_some_and(|(i, _)| i == index));
            let joined: u32 = scopes.map(|scope| peers(cluster, layout, rank, scope)).sum();
            match level.fabric {
                Fabric::Mesh => of_node += f64::from(joined) * level.gbps,
                Fabric::Switch if joined > 0 => {
                    let first = rank - local % level.sharing;
                    if port != Some(first) {
                        of_node += level.gbps;
                    }
                    port = Some(first);
                }
                Fabric::Switch => {}
            }
        }
        sum += limited(of_node, level.node_gbps, inner);
    }
    sum
}

/// What leaves a node, where all that crosses the border does.
fn limited(gbps: f64, node_gbps: Option<f64>, inner: Option<Scope>) -> f64 {
    match node_gbps {
        Some(most) if inner >= Some(Scope::Node) => gbps.min(most),
        _ => gbps,
    }
}

/// What an operator must move.
struct Needs<'p> {
    program: &'p Program,
    counts: &'p Counts,
    element: f64,
}

impl Needs<'_> {
    fn slot(&self, buffer: Buffer, rank: u32, slot: u32) -> f64 {
        self.counts.extent(self.program, buffer, rank, slot).count as f64 * self.element
    }

    /// Bytes that must go into a group of ranks, and out of it. The group is not all ranks.
    fn crossing(&self, group: &std::ops::Range<u32>) -> (f64, f64) {
        let Shape { root, src, dst, .. } = self.program.shape;
        let all = 0..self.program.num_ranks();
        let has = |rank: u32| group.contains(&rank);
        let others = || all.clone().filter(|rank| !group.contains(rank));
        let n = || self.slot(Buffer::Input, root, 0);
        let when = |holds: bool, bytes: f64| if holds { bytes } else { 0.0 };
        let inputs = |ranks: &mut dyn Iterator<Item = u32>| ranks.map(|r| self.slot(Buffer::Input, r, 0)).sum::<f64>();
        let outputs =
            |ranks: &mut dyn Iterator<Item = u32>| ranks.map(|r| self.slot(Buffer::Output, r, 0)).sum::<f64>();
        match self.program.operator {
            Operator::AllGather | Operator::AllGatherV => (inputs(&mut others()), inputs(&mut group.clone())),
            Operator::ReduceScatter | Operator::ReduceScatterV => (outputs(&mut group.clone()), outputs(&mut others())),
            Operator::AllReduce => (n(), n()),
            Operator::Broadcast => (when(!has(root), n()), when(has(root), n())),
            Operator::Reduce => (when(has(root), n()), when(!has(root), n())),
            Operator::Scatter => match has(root) {
                true => (0.0, outputs(&mut others())),
                false => (outputs(&mut group.clone()), 0.0),
            },
            Operator::Gather => match has(root) {
                true => (inputs(&mut others()), 0.0),
                false => (0.0, inputs(&mut group.clone())),
            },
            Operator::AllToAll | Operator::AllToAllV | Operator::AllToAllVc | Operator::BatchSendRecv => {
                let (mut into, mut out) = (0.0, 0.0);
                for inside in group.clone() {
                    for outside in others() {
                        into += self.slot(Buffer::Input, outside, inside);
                        out += self.slot(Buffer::Input, inside, outside);
                    }
                }
                (into, out)
            }
            Operator::SendRecv => {
                let bytes = self.slot(Buffer::Input, src, 0);
                (when(has(dst) && !has(src), bytes), when(has(src) && !has(dst), bytes))
            }
            Operator::Barrier => (0.0, 0.0),
        }
    }

    /// Bytes that must cross borders between groups, all of them together, where that is more than the sum of what each
    /// group needs.
    fn total(&self, groups: usize) -> f64 {
        let bytes = match self.program.operator {
            Operator::AllReduce => 2.0 * (groups as f64 - 1.0),
            Operator::Broadcast | Operator::Reduce => groups as f64 - 1.0,
            _ => return 0.0,
        };
        bytes * self.slot(Buffer::Input, self.program.shape.root, 0)
    }

    /// Bytes that must be reduced into others, on all ranks together.
    fn reductions(&self) -> f64 {
        let ranks = self.program.num_ranks();
        let bytes = match self.program.operator {
            Operator::AllReduce | Operator::Reduce => self.slot(Buffer::Input, 0, 0),
            Operator::ReduceScatter | Operator::ReduceScatterV => {
                (0..ranks).map(|rank| self.slot(Buffer::Output, rank, 0)).sum()
            }
            _ => 0.0,
        };
        bytes * (f64::from(ranks) - 1.0)
    }

    /// Bytes of a rank's output.
    fn output(&self, rank: u32) -> f64 {
        let slots = self.program.operator.output_slots(&self.program.shape, rank);
        (0..slots).map(|slot| self.slot(Buffer::Output, rank, slot)).sum()
    }
}
