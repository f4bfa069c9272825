//! Clusters: which links join ranks, how fast they are, and what an operation costs beside the data.
//!
//! A [`Cluster`] is data: one of the [presets](PRESETS), or a file of the same form (`docs/clusters.md`). It says
//! nothing about how many ranks there are. With a [`Layout`] it gives the [`Network`]: the links of every path.
//!
//! Times are in nanoseconds, and so rates in bytes a nanosecond, which is GB/s.

mod file;
mod network;
pub mod rank_table;

use hcomm_core::product::Product;
use hcomm_core::shape::Layout;

pub use file::ClusterError;
pub use network::{Link, LinkId, MAX_HOPS, Network, PathId, Route, Side, ThroughCore};

/// A modelled cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// What it is, in a sentence.
    pub about: String,
    /// The product.
    pub product: Product,
    /// The layout that is taken where none is given.
    pub layout: Layout,
    /// Ranks of a device, at least 1: dies that a level of scope `device` joins.
    pub dies: u32,
    /// What operations of the AI CPU cost, and what a rank's memory gives.
    pub engine: Engine,
    /// What operations of a Vector core cost.
    pub aiv: Aiv,
    /// How ranks are joined, from the narrowest scope to the widest.
    pub levels: Vec<Level>,
}

/// What operations cost beside the time on links. Times in nanoseconds, rates in GB/s; a rate of infinity costs nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Engine {
    /// Before the first operation of a call.
    pub launch: f64,
    /// To start a local copy or reduction.
    pub local: f64,
    /// To start a transfer between ranks, once for each piece that lies in one place at both ends.
    pub transfer: f64,
    /// To record a notify of a thread.
    pub thread_record: f64,
    /// To record a notify of a channel.
    pub channel_record: f64,
    /// To wait for a notify that is set.
    pub wait: f64,
    /// How fast a rank copies within its memory; its copies share this.
    pub local_copy: f64,
    /// How fast a rank's local reductions go; they share this.
    pub local_reduce: f64,
    /// How fast what arrives at a rank is reduced into its memory, behind the link; arrivals share this.
    pub inline_reduce: f64,
    /// How fast the AI CPU reduces what the hardware does not.
    pub ai_cpu_reduce: f64,
}

/// What operations of a Vector core (a block of an AIV kernel) cost. Times in nanoseconds, rates in GB/s; a rate of
/// infinity is no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aiv {
    /// Before the first operation of a kernel: every round is a launch.
    pub launch: f64,
    /// To start a copy, once for each run that lies in one place at both ends.
    pub copy: f64,
    /// To write a flag, with the pipe barriers around it.
    pub record: f64,
    /// To read a flag once: a wait polls, so that it ends with the first poll that begins when the flag is there.
    pub poll: f64,
    /// From the last block's `SyncAll` until all go on.
    pub sync: f64,
    /// A pipe barrier, beside the end of the copies before it.
    pub barrier: f64,
    /// How fast a core loads from global memory into its Unified Buffer.
    pub load: f64,
    /// How fast it stores.
    pub store: f64,
    /// How fast it stores in an atomic mode.
    pub atomic: f64,
}

/// Links of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The name of the links: `hccs`.
    pub name: String,
    /// Which pairs of ranks it joins. A pair uses the narrowest level that joins it.
    pub scope: Scope,
    /// How it joins them.
    pub fabric: Fabric,
    /// GB/s of a link (mesh) or of a rank's ports together (switch), in each direction at once.
    pub gbps: f64,
    /// Neighbouring ranks that share the ports, at least 1. Switch only.
    pub sharing: u32,
    /// GB/s between a node and the switch, in each direction, where that is less than its ports give. Switch only.
    pub node_gbps: Option<f64>,
    /// From the start of a transfer until its first byte arrives, in nanoseconds.
    pub latency: f64,
    /// From the end of a record until the notify is set at the other end, in nanoseconds.
    pub notify_latency: f64,
}

/// Which pairs of ranks a level joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Ranks of one device.
    Device,
    /// Ranks of one node.
    Node,
    /// Ranks of one pod.
    Pod,
    /// All ranks.
    Cluster,
}

/// How a level joins ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fabric {
    /// Every pair has a link of its own.
    Mesh,
    /// Every rank has ports to a switch that takes all they can send.
    Switch,
}

/// The presets by name, with their files.
pub const PRESETS: [(&str, &str); 5] = [
    ("a2-server", include_str!("presets/a2-server.toml")),
    ("a2-multi", include_str!("presets/a2-multi.toml")),
    ("a3-superpod", include_str!("presets/a3-superpod.toml")),
    ("950-mesh", include_str!("presets/950-mesh.toml")),
    ("950-clos", include_str!("presets/950-clos.toml")),
];

impl Scope {
    /// All scopes, from the narrowest.
    pub const ALL: [Scope; 4] = [Scope::Device, Scope::Node, Scope::Pod, Scope::Cluster];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Device => "device",
            Scope::Node => "node",
            Scope::Pod => "pod",
            Scope::Cluster => "cluster",
        }
    }
}

impl Engine {
    /// Operations that cost nothing: what is left is the time on links.
    pub const FREE: Engine = Engine {
        launch: 0.0,
        local: 0.0,
        transfer: 0.0,
        thread_record: 0.0,
        channel_record: 0.0,
        wait: 0.0,
        local_copy: f64::INFINITY,
        local_reduce: f64::INFINITY,
        inline_reduce: f64::INFINITY,
        ai_cpu_reduce: f64::INFINITY,
    };
}

impl Aiv {
    /// Operations that cost nothing: what is left is the time on links.
    pub const FREE: Aiv = Aiv {
        launch: 0.0,
        copy: 0.0,
        record: 0.0,
        poll: 0.0,
        sync: 0.0,
        barrier: 0.0,
        load: f64::INFINITY,
        store: f64::INFINITY,
        atomic: f64::INFINITY,
    };
}

impl Cluster {
    /// The preset of that name.
    pub fn preset(name: &str) -> Option<Cluster> {
        let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        // A test reads them all.
        Cluster::from_toml(text).ok()
    }

    /// The device (of the node) that holds place `local` of a node.
    pub fn device(&self, local: u32) -> u32 {
        local / self.dies.max(1)
    }

    /// The narrowest scope that holds both ranks.
    pub fn scope_of(&self, layout: &Layout, a: u32, b: u32) -> Scope {
        let ((node_a, local_a), (node_b, local_b)) = (layout.place(a), layout.place(b));
        if node_a != node_b {
            let same_pod = layout.pod_of(node_a) == layout.pod_of(node_b);
            return if same_pod { Scope::Pod } else { Scope::Cluster };
        }
        let same_device = self.dies > 1 && self.device(local_a) == self.device(local_b);
        if same_device { Scope::Device } else { Scope::Node }
    }

    /// The level that joins ranks whose narrowest common scope this is, and its place in [`levels`](Self::levels).
    pub fn level_for(&self, scope: Scope) -> Option<(usize, &Level)> {
        self.levels.iter().enumerate().find(|(_, level)| level.scope >= scope)
    }

    /// Why the cluster does not join the ranks of a layout, if it does not.
    pub fn admits(&self, layout: &Layout) -> Result<(), String> {
        let needs = match (layout.pods(), layout.nodes(), layout.ranks()) {
            (_, _, 1) => return Ok(()),
            (1, 1, _) => Scope::Node,
            (1, ..) => Scope::Pod,
            _ => Scope::Cluster,
        };
        if self.level_for(needs).is_some() {
            return Ok(());
        }
        let widest = self.levels.last().map_or("no rank to any other", |level| match level.scope {
            Scope::Device => "the ranks of a device",
            Scope::Node => "the ranks of a node",
            Scope::Pod => "the nodes of a pod",
            Scope::Cluster => "all ranks",
        });
        Err(format!("{} joins {widest}, and the layout {layout} needs links of scope `{}`", self.name, needs.name()))
    }
}

#[cfg(test)]
mod tests;
