//! HCCL's rank tables, as far as they tell how ranks are laid out: versions 1.0 (servers), 1.2 (superpods) and 2.0 (950).
//!
//! | version | node | pod |
//! | --- | --- | --- |
//! | 1.0 | a server of `server_list` | all servers |
//! | 1.2 | a server of `server_list` | a superpod of `super_pod_list` |
//! | 2.0 | the ranks with one `net_instance_id` at `net_layer` 0 | those with one at `net_layer` 1 |

use hcomm_core::shape::{Layout, MAX_RANKS, MAX_UNEQUAL_NODES};
use serde::Deserialize;
use serde_json::Value;

/// Why a rank table gives no layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RankTableError {
    /// It is not JSON, or a field has the wrong type.
    #[error("line {line}, column {column}: {message}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// It contradicts itself, or HCCL's rules.
    #[error("{0}")]
    Rule(String),
}

fn rule<T>(message: impl Into<String>) -> Result<T, RankTableError> {
    Err(RankTableError::Rule(message.into()))
}

#[derive(Deserialize)]
#[serde(expecting = "a rank table")]
struct Table {
    version: String,
    server_list: Option<Vec<Server>>,
    super_pod_list: Option<Vec<SuperPod>>,
    rank_count: Option<Value>,
    rank_list: Option<Vec<Rank>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a server")]
struct Server {
    server_id: String,
    device: Vec<Device>,
}

#[derive(Deserialize)]
#[serde(expecting = "a device")]
struct Device {
    rank_id: Value,
    super_device_id: Option<Value>,
}

#[derive(Deserialize)]
#[serde(expecting = "a superpod")]
struct SuperPod {
    super_pod_id: Value,
    server_list: Vec<ServerId>,
}

#[derive(Deserialize)]
#[serde(expecting = "a server")]
struct ServerId {
    server_id: String,
}

#[derive(Deserialize)]
#[serde(expecting = "a rank")]
struct Rank {
    rank_id: Value,
    level_list: Vec<NetLevel>,
}

#[derive(Deserialize)]
#[serde(expecting = "a level")]
struct NetLevel {
    net_layer: Value,
    net_instance_id: Value,
}

/// The layout of a rank table.
///
/// # Errors
///
/// What is wrong with the table, with its place where it is not JSON, and with the rank where a rule is broken.
pub fn layout(text: &str) -> Result<Layout, RankTableError> {
    let table: Table = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message).to_owned();
        RankTableError::Json { line, column, message }
    })?;
    match (table.version.as_str(), &table.server_list, &table.rank_list) {
        ("1.0" | "1.2", Some(servers), _) => by_server(servers, table.super_pod_list.as_deref()),
        ("2.0", _, Some(ranks)) => by_level(ranks, table.rank_count.as_ref()),
        ("1.0" | "1.2", None, _) => rule(format!("version {} has no `server_list`", table.version)),
        ("2.0", _, None) => rule("version 2.0 has no `rank_list`"),
        (other, ..) => rule(format!("there is no version \"{other}\": 1.0, 1.2 or 2.0")),
    }
}

/// Servers in the order of their ranks, in superpods where the table has them.
fn by_server(servers: &[Server], pods: Option<&[SuperPod]>) -> Result<Layout, RankTableError> {
    // Without the ids of devices in the superpod, HCCL takes servers for all there is.
    let named = servers.iter().flat_map(|server| &server.device).all(|device| device.super_device_id.is_some());
    let pods = pods.filter(|pods| named && !pods.is_empty());
    let mut nodes: Vec<(Vec<u32>, String)> = Vec::new();
    for server in servers {
        if nodes.iter().any(|(_, id)| *id == server.server_id) {
            return rule(format!("server {} is listed twice", server.server_id));
        }
        let ranks = server.device.iter().map(|device| number(&device.rank_id, "rank_id"));
        nodes.push((ranks.collect::<Result<_, _>>()?, server.server_id.clone()));
    }
    let pod_of = |server: &str| match pods {
        None => Ok(String::new()),
        Some(pods) => {
            let pod = pods.iter().find(|pod| pod.server_list.iter().any(|listed| listed.server_id == server));
            pod.map(|pod| word(&pod.super_pod_id))
                .map_or_else(|| rule(format!("server {server} is in no superpod")), Ok)
        }
    };
    let mut placed = Vec::new();
    for (ranks, id) in nodes {
        let pod = pod_of(&id)?;
        placed.extend(ranks.into_iter().map(|rank| Placed { rank, node: format!("server {id}"), pod: pod.clone() }));
    }
    arrange(placed)
}

/// Ranks by the instances of layers 0 and 1 that they are in.
fn by_level(ranks: &[Rank], count: Option<&Value>) -> Result<Layout, RankTableError> {
    if let Some(count) = count
        && number(count, "rank_count")? as usize != ranks.len()
    {
        return rule(format!("`rank_count` is {count}, and `rank_list` has {} ranks", ranks.len()));
    }
    let mut placed = Vec::new();
    for entry in ranks {
        let rank = number(&entry.rank_id, "rank_id")?;
        let (mut node, mut pod) = (None, None);
        for level in &entry.level_list {
            match number(&level.net_layer, "net_layer")? {
                0 => node = Some(word(&level.net_instance_id)),
                1 => pod = Some(word(&level.net_instance_id)),
                _ => {}
            }
        }
        // A rank that is in no instance of layer 0 is a node by itself.
        let node = node.map_or_else(|| format!("rank {rank} alone"), |node| format!("instance {node} of layer 0"));
        placed.push(Placed { rank, node, pod: pod.unwrap_or_default() });
    }
    arrange(placed)
}

struct Placed {
    rank: u32,
    node: String,
    pod: String,
}

/// The layout of ranks whose nodes and pods are runs of consecutive ranks.
fn arrange(mut placed: Vec<Placed>) -> Result<Layout, RankTableError> {
    if placed.is_empty() || placed.len() > MAX_RANKS as usize {
        return rule(format!("there are {} ranks: a communicator has between 1 and {MAX_RANKS}", placed.len()));
    }
    placed.sort_by_key(|placed| placed.rank);
    if let Some((expected, found)) = (0..).zip(&placed).find(|(expected, found)| *expected != found.rank) {
        return match found.rank < expected {
            true => rule(format!("rank {} is listed twice", found.rank)),
            false => rule(format!("rank {expected} is missing: ranks are 0 to {}", placed.len() - 1)),
        };
    }
    // Sizes of nodes, and nodes of pods, in order.
    let mut nodes: Vec<u32> = Vec::new();
    let mut pods: Vec<usize> = Vec::new();
    let mut seen = (std::collections::HashSet::new(), std::collections::HashSet::new());
    let mut before: Option<&Placed> = None;
    for here in &placed {
        let same_pod = before.is_some_and(|before| before.pod == here.pod);
        let same_node = before.is_some_and(|before| before.node == here.node);
        if !same_pod {
            if !seen.1.insert(&here.pod) {
                return rule(format!(
                    "rank {}: the ranks of superpod {} do not follow one another",
                    here.rank, here.pod
                ));
            }
            pods.push(0);
        }
        if !same_node {
            if !seen.0.insert(&here.node) {
                return rule(format!("rank {}: the ranks of {} do not follow one another", here.rank, here.node));
            }
            nodes.push(0);
            if let Some(last) = pods.last_mut() {
                *last += 1;
            }
        } else if !same_pod {
            return rule(format!("rank {}: {} is in two superpods", here.rank, here.node));
        }
        if let Some(last) = nodes.last_mut() {
            *last += 1;
        }
        before = Some(here);
    }
    let is_equal = nodes.windows(2).all(|pair| pair[0] == pair[1]) && pods.windows(2).all(|pair| pair[0] == pair[1]);
    let layout = match (pods.len(), is_equal) {
        (_, true) => Layout::equal(pods.len() as u32, pods[0] as u32, nodes[0]),
        (1, false) => Layout::unequal(&nodes),
        (_, false) => return rule("superpods or servers of different sizes: layouts of several pods have equal ones"),
    };
    layout.map_or_else(|| rule(format!("{} nodes of unequal size are more than {MAX_UNEQUAL_NODES}", nodes.len())), Ok)
}

/// A number, quoted as in versions 1.0 and 1.2 or not.
fn number(value: &Value, name: &str) -> Result<u32, RankTableError> {
    let number = match value {
        Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.map_or_else(|| rule(format!("`{name}` is {value}: it is a number")), Ok)
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
