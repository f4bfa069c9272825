//! The links of a cluster that a program uses, by number, and the path of every pair of ranks.

use std::fmt;

use hcomm_core::shape::Layout;
use rustc_hash::FxHashMap;

use super::{Cluster, Fabric};

/// The most links that a transfer holds at once: core, port, node, node, port.
pub const MAX_HOPS: usize = 5;

/// A link by its number in the [`Network`].
pub type LinkId = u32;
/// A path by its number in the [`Network`].
pub type PathId = u32;

/// One direction of a link, or what the operations of a rank share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Link {
    /// The link of a mesh from a rank to another.
    Pair {
        /// The level, by its place in [`Cluster::levels`].
        level: u8,
        /// Who sends.
        from: u32,
        /// Who receives.
        to: u32,
    },
    /// The ports of a rank, and of those that share them, towards the switch. The rank is the first that shares.
    Out {
        /// The level.
        level: u8,
        /// The rank.
        rank: u32,
    },
    /// The ports from the switch.
    In {
        /// The level.
        level: u8,
        /// The rank.
        rank: u32,
    },
    /// From a node to the switch.
    NodeOut {
        /// The level.
        level: u8,
        /// The node.
        node: u32,
    },
    /// From the switch to a node.
    NodeIn {
        /// The level.
        level: u8,
        /// The node.
        node: u32,
    },
    /// The local copies of a rank.
    Copy(u32),
    /// The local reductions of a rank.
    Reduce(u32),
    /// The reductions of what arrives at a rank.
    Inline(u32),
    /// The arithmetic of a rank's AI CPU.
    AiCpu(u32),
    /// A Vector core that carries the data of a path through its Unified Buffer.
    Core {
        /// The rank.
        rank: u32,
        /// The block.
        block: u32,
        /// The path of the data.
        path: PathId,
    },
}

/// How data goes through a Vector core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThroughCore {
    /// GB/s into the Unified Buffer and out of it, apart from links.
    pub load: f64,
    /// See [`load`](Self::load).
    pub store: f64,
    /// Which of the two goes over the path.
    pub side: Side,
    /// Whether one piece is loaded while another one is stored.
    pub overlaps: bool,
}

/// Which part of a copy goes over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Loading: the source is elsewhere.
    Load,
    /// Storing: the destination is elsewhere.
    Store,
    /// Neither: both are in the rank's memory, which its copies share.
    Neither,
}

impl ThroughCore {
    /// Load and store rates where the path gives `gbps`.
    fn rates(&self, gbps: f64) -> (f64, f64) {
        match self.side {
            Side::Load => (self.load.min(gbps), self.store),
            Side::Store => (self.load, self.store.min(gbps)),
            Side::Neither => (self.load, self.store),
        }
    }

    /// What a copy gets that has the path to itself: pieces are loaded and stored in turn, or at once.
    fn most(&self, gbps: f64) -> f64 {
        let (load, store) = self.rates(gbps);
        if self.overlaps { load.min(store) } else { 1.0 / (1.0 / load + 1.0 / store) }
    }
}

/// A path through a core.
#[derive(Clone, Copy, Debug)]
struct CorePath {
    through: ThroughCore,
    /// The path without the core, the one with it, and the link that the core is.
    base: PathId,
    path: PathId,
    link: LinkId,
}

/// The links that a transfer holds at once, and what it takes beside them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    /// The links; [`hops`](Self::hops) says how many.
    links: [LinkId; MAX_HOPS],
    /// How many.
    count: u8,
    /// GB/s of its narrowest link: what a transfer gets that has all links to itself.
    pub gbps: f64,
    /// Until the first byte arrives, in nanoseconds.
    pub latency: f64,
    /// Until a notify is set at the other end, in nanoseconds.
    pub notify_latency: f64,
}

/// Links and paths that were asked for so far: a mesh of thousands of ranks has millions, and a ring uses few.
#[derive(Clone, Debug)]
pub struct Network<'c> {
    cluster: &'c Cluster,
    layout: Layout,
    links: Vec<(Link, f64)>,
    numbers: FxHashMap<Link, LinkId>,
    routes: Vec<Route>,
    /// By the ranks at the ends.
    paths: FxHashMap<(u32, u32), PathId>,
    /// By the one link of it.
    single: FxHashMap<Link, PathId>,
    /// By the link that the core is.
    cores: FxHashMap<Link, PathId>,
    core_paths: Vec<CorePath>,
}

impl Route {
    /// The links.
    pub fn hops(&self) -> &[LinkId] {
        &self.links[..usize::from(self.count)]
    }

    /// A route over links that give so much, without latencies.
    #[cfg(test)]
    pub(crate) fn over(links: &[LinkId], gbps: &[f64]) -> Route {
        let mut route = Route {
            links: [0; MAX_HOPS],
            count: links.len() as u8,
            gbps: f64::INFINITY,
            latency: 0.0,
            notify_latency: 0.0,
        };
        route.links[..links.len()].copy_from_slice(links);
        route.gbps = links.iter().map(|link| gbps[*link as usize]).fold(f64::INFINITY, f64::min);
        route
    }
}

impl<'c> Network<'c> {
    /// A network in which nothing was asked for.
    ///
    /// # Errors
    ///
    /// In words, if the cluster does not join the ranks of the layout.
    pub fn new(cluster: &'c Cluster, layout: Layout) -> Result<Network<'c>, String> {
        cluster.admits(&layout)?;
        let (numbers, paths, single, cores) = Default::default();
        let (links, routes, core_paths) = Default::default();
        Ok(Network { cluster, layout, links, numbers, routes, paths, single, cores, core_paths })
    }

    /// The path from a rank to another one. Both are below the layout's ranks.
    pub fn path(&mut self, from: u32, to: u32) -> PathId {
        if let Some(path) = self.paths.get(&(from, to)) {
            return *path;
        }
        let scope = self.cluster.scope_of(&self.layout, from, to);
        let mut links = Vec::with_capacity(MAX_HOPS);
        let (mut latency, mut notify_latency) = (0.0, 0.0);
        if let Some((index, level)) = self.cluster.level_for(scope) {
            let number = index as u8;
            (latency, notify_latency) = (level.latency, level.notify_latency);
            match level.fabric {
                Fabric::Mesh => links.push((Link::Pair { level: number, from, to }, level.gbps)),
                Fabric::Switch => {
                    let (from_node, to_node) = (self.layout.place(from).0, self.layout.place(to).0);
                    links.push((Link::Out { level: number, rank: self.port(from, level.sharing) }, level.gbps));
                    if let (Some(gbps), true) = (level.node_gbps, from_node != to_node) {
                        links.push((Link::NodeOut { level: number, node: from_node }, gbps));
                        links.push((Link::NodeIn { level: number, node: to_node }, gbps));
                    }
                    links.push((Link::In { level: number, rank: self.port(to, level.sharing) }, level.gbps));
                }
            }
        }
        let path = self.add(&links, latency, notify_latency);
        self.paths.insert((from, to), path);
        path
    }

    /// The path of what a rank does within its memory, at `gbps`.
    pub fn within(&mut self, link: Link, gbps: f64) -> PathId {
        if let Some(path) = self.single.get(&link) {
            return *path;
        }
        let path = self.add(&[(link, gbps)], 0.0, 0.0);
        self.single.insert(link, path);
        path
    }

    /// A path whose data go through a core, which is a link of their own that no other copy shares.
    pub fn through_core(&mut self, (rank, block): (u32, u32), base: PathId, through: ThroughCore) -> PathId {
        let link = Link::Core { rank, block, path: base };
        if let Some(path) = self.cores.get(&link) {
            return *path;
        }
        let route = self.routes[base as usize];
        let gbps = through.most(route.gbps);
        let path = if gbps < route.gbps {
            let mut links: Vec<(Link, f64)> = route.hops().iter().map(|hop| self.links[*hop as usize]).collect();
            links.push((link, gbps));
            let path = self.add(&links, route.latency, route.notify_latency);
            let link = self.links.len() as LinkId - 1;
            self.core_paths.push(CorePath { through, base, path, link });
            path
        } else {
            base
        };
        self.cores.insert(link, path);
        path
    }

    /// Nanoseconds a byte that the first piece (or the last one) takes by itself before (or after) loading and storing
    /// go on at once, and whether it is the first. Zero where they do not.
    pub fn fill(&self, through: &ThroughCore, base: PathId) -> (f64, bool) {
        let (load, store) = through.rates(self.routes[base as usize].gbps);
        let fastest = load.max(store);
        if through.overlaps && fastest > 0.0 { (1.0 / fastest, load >= store) } else { (0.0, true) }
    }

    fn add(&mut self, links: &[(Link, f64)], latency: f64, notify_latency: f64) -> PathId {
        let mut route = Route { links: [0; MAX_HOPS], count: 0, gbps: f64::INFINITY, latency, notify_latency };
        for ((link, gbps), place) in links.iter().zip(&mut route.links) {
            *place = *self.numbers.entry(*link).or_insert_with(|| {
                self.links.push((*link, *gbps));
                self.links.len() as LinkId - 1
            });
            route.count += 1;
            route.gbps = route.gbps.min(*gbps);
        }
        self.routes.push(route);
        self.routes.len() as PathId - 1
    }

    /// The first of the ranks of the node that share ports with a rank.
    fn port(&self, rank: u32, sharing: u32) -> u32 {
        let (_, local) = self.layout.place(rank);
        rank - local % sharing.max(1)
    }

    /// All paths that were asked for, by number.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// All links of these paths, by number, with their GB/s.
    pub fn links(&self) -> &[(Link, f64)] {
        &self.links
    }

    /// Which path a pair of ranks has, if it was asked for.
    pub fn known_path(&self, from: u32, to: u32) -> Option<PathId> {
        self.paths.get(&(from, to)).copied()
    }

    /// Changes what a link gives, from now on: for links that are slower than they should be.
    pub fn set_gbps(&mut self, link: LinkId, gbps: f64) {
        let Some(entry) = self.links.get_mut(link as usize) else { return };
        entry.1 = gbps;
        self.narrow(link);
        // A core that loads and stores in turn goes slower over a slower link.
        for CorePath { through, base, path, link: core } in self.core_paths.clone() {
            if self.routes[path as usize].hops().contains(&link) {
                self.links[core as usize].1 = through.most(self.routes[base as usize].gbps);
                self.narrow(core);
            }
        }
    }

    /// Finds out again what the paths over a link give.
    fn narrow(&mut self, link: LinkId) {
        for route in self.routes.iter_mut().filter(|route| route.hops().contains(&link)) {
            let narrowest = route.links[..usize::from(route.count)].iter().map(|link| self.links[*link as usize].1);
            route.gbps = narrowest.fold(f64::INFINITY, f64::min);
        }
    }

    /// The name of a link, for people: `hccs 0>1`, `roce out of rank 3`.
    pub fn name(&self, link: LinkId) -> String {
        self.links.get(link as usize).map_or_else(String::new, |(link, _)| link.name(self.cluster))
    }
}

impl Link {
    /// The name, for people.
    pub fn name(&self, cluster: &Cluster) -> String {
        struct Named<'a>(&'a Link, &'a Cluster);
        impl fmt::Display for Named<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let level = |level: &u8| self.1.levels.get(usize::from(*level)).map_or("link", |l| l.name.as_str());
                match self.0 {
                    Link::Pair { level: l, from, to } => write!(f, "{} {from}>{to}", level(l)),
                    Link::Out { level: l, rank } => write!(f, "{} out of rank {rank}", level(l)),
                    Link::In { level: l, rank } => write!(f, "{} into rank {rank}", level(l)),
                    Link::NodeOut { level: l, node } => write!(f, "{} out of node {node}", level(l)),
                    Link::NodeIn { level: l, node } => write!(f, "{} into node {node}", level(l)),
                    Link::Copy(rank) => write!(f, "copies of rank {rank}"),
                    Link::Reduce(rank) => write!(f, "reductions of rank {rank}"),
                    Link::Inline(rank) => write!(f, "inline reductions at rank {rank}"),
                    Link::AiCpu(rank) => write!(f, "AI CPU of rank {rank}"),
                    Link::Core { rank, block, .. } => write!(f, "block {block} of rank {rank}"),
                }
            }
        }
        Named(self, cluster).to_string()
    }

    /// Whether it joins ranks, in contrast to what a rank does within its memory.
    pub fn is_between_ranks(&self) -> bool {
        !matches!(self, Link::Copy(_) | Link::Reduce(_) | Link::Inline(_) | Link::AiCpu(_) | Link::Core { .. })
    }
}
