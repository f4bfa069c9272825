//! The task graph: a petgraph DAG of tasks over all ranks (DESIGN section 7).
//!
//! Nodes are the tasks of an [`Instance`], rank by rank in its order, so node indices are stable from run to run. A
//! `par` has a node where it forks and one where it joins, which keeps the edges linear in the tasks.

use std::collections::VecDeque;

use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use rustc_hash::FxHashMap;

use crate::ids::SpanId;
use crate::instance::{Instance, TaskKind};
use crate::program::Source;

/// A task of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// On which rank.
    pub rank: u32,
    /// On which lane of it.
    pub lane: u32,
    /// What it does.
    pub kind: TaskKind,
    /// The statement, in [`TaskGraph::source`].
    pub at: SpanId,
}

/// Why one task comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edge {
    /// They are on one lane.
    Order,
    /// A `par` starts a lane.
    Fork,
    /// A `par` waits for a lane.
    Join,
    /// A wait takes what a record set: the k-th on a notify takes the k-th.
    Notify,
}

impl Edge {
    /// The name in DESIGN section 7.
    pub const fn name(self) -> &'static str {
        match self {
            Edge::Order => "order",
            Edge::Fork => "fork",
            Edge::Join => "join",
            Edge::Notify => "notify",
        }
    }
}

/// The tasks of all ranks and why one comes before another.
#[derive(Clone, Debug)]
pub struct TaskGraph {
    /// The graph. It has a cycle exactly if the algorithm deadlocks.
    pub graph: StableDiGraph<Node, Edge>,
    /// The algorithm's name on the command line.
    pub algorithm: String,
    /// How many ranks.
    pub ranks: u32,
    /// Names of the channel notifies, by index.
    pub notifies: Vec<String>,
    /// Where the statements are written.
    pub source: Source,
}

/// Sender, receiver, notify.
type Channel = (u32, u32, u32);

impl TaskGraph {
    /// The graph of an instance.
    pub fn new(instance: &Instance) -> TaskGraph {
        let tasks = instance.num_tasks();
        let mut graph = StableDiGraph::with_capacity(tasks, 2 * tasks);
        let mut records: FxHashMap<Channel, VecDeque<NodeIndex>> = FxHashMap::default();
        let mut waits: Vec<(Channel, NodeIndex)> = Vec::new();
        for (rank, tasks) in (0..).zip(&instance.ranks) {
            // The last task of each lane; lane 0's survives the end of a `par`.
            let mut last: Vec<Option<NodeIndex>> = vec![None];
            let mut fork = None;
            for task in tasks {
                let node = graph.add_node(Node { rank, lane: task.lane, kind: task.kind, at: task.at });
                let lane = task.lane as usize;
                match task.kind {
                    TaskKind::Join => {
                        for (i, end) in last.drain(..).enumerate() {
                            if let Some(end) = end {
                                let edge = if i == 0 { Edge::Order } else { Edge::Join };
                                graph.add_edge(end, node, edge);
                            }
                        }
                        last.push(Some(node));
                        fork = None;
                    }
                    _ => {
                        if last.len() <= lane {
                            last.resize(lane + 1, None);
                        }
                        match (last[lane], fork) {
                            (Some(before), _) => {
                                graph.add_edge(before, node, Edge::Order);
                            }
                            (None, Some(fork)) => {
                                graph.add_edge(fork, node, Edge::Fork);
                            }
                            (None, None) => {}
                        }
                        last[lane] = Some(node);
                    }
                }
                match task.kind {
                    TaskKind::Fork => fork = Some(node),
                    TaskKind::Record(peer, notify) => records.entry((rank, peer, notify)).or_default().push_back(node),
                    TaskKind::Wait(peer, notify) => waits.push(((peer, rank, notify), node)),
                    _ => {}
                }
            }
        }
        for (channel, wait) in waits {
            if let Some(record) = records.get_mut(&channel).and_then(VecDeque::pop_front) {
                graph.add_edge(record, wait, Edge::Notify);
            }
        }
        TaskGraph {
            graph,
            algorithm: instance.algorithm.clone(),
            ranks: instance.shape.ranks(),
            notifies: instance.notifies.clone(),
            source: instance.source.clone(),
        }
    }
}
