//! The task graph as a picture: DOT for Graphviz, and Mermaid.
//!
//! One walk, two writers, as the text of a picture is a snapshot too: ranks are boxes, lanes are columns in them.

use crate::graph::{Edge, Node, TaskGraph};
use crate::instance::{Run, TaskKind};
use crate::listing::Cells;

/// The graph in the language of Graphviz.
pub fn dot(graph: &TaskGraph) -> String {
    draw(graph, &Dot)
}

/// The graph in the language of Mermaid.
pub fn mermaid(graph: &TaskGraph) -> String {
    draw(graph, &Mermaid)
}

/// What differs between the languages. Each answers a line or more of text.
trait GraphWrite {
    fn begin(&self, name: &str) -> String;
    fn begin_rank(&self, rank: u32) -> String;
    fn node(&self, index: usize, label: &str) -> String;
    fn end_rank(&self) -> String;
    fn edge(&self, from: usize, to: usize, edge: Edge) -> String;
    fn end(&self) -> String;
}

fn draw(graph: &TaskGraph, language: &dyn GraphWrite) -> String {
    let mut text = language.begin(&graph.algorithm);
    let mut at = None;
    for index in graph.graph.node_indices() {
        let node = &graph.graph[index];
        if at != Some(node.rank) {
            if at.is_some() {
                text += &language.end_rank();
            }
            text += &language.begin_rank(node.rank);
            at = Some(node.rank);
        }
        text += &language.node(index.index(), &label(graph, node));
    }
    if at.is_some() {
        text += &language.end_rank();
    }
    for index in graph.graph.edge_indices() {
        if let (Some((from, to)), Some(edge)) = (graph.graph.edge_endpoints(index), graph.graph.edge_weight(index)) {
            text += &language.edge(from.index(), to.index(), *edge);
        }
    }
    text + &language.end()
}

/// What a task does, in a few words.
fn label(graph: &TaskGraph, node: &Node) -> String {
    let moves = |run: &Run, to: &str, from: &str, sign: &str| {
        format!("{to}{} {sign} {from}{}", Cells(run.dst, run.len), Cells(run.src, run.len))
    };
    let rank = |peer: u32| format!("r{peer}.");
    let notify = |index: u32| graph.notifies.get(index as usize).map_or("?", String::as_str);
    let what = match node.kind {
        TaskKind::Copy(run) => moves(&run, "", "", "="),
        TaskKind::Reduce(run) => moves(&run, "", "", "+="),
        TaskKind::Write(peer, run) => moves(&run, &rank(peer), "", "="),
        TaskKind::Read(peer, run) => moves(&run, "", &rank(peer), "="),
        TaskKind::WriteReduce(peer, run) => moves(&run, &rank(peer), "", "+="),
        TaskKind::ReadReduce(peer, run) => moves(&run, "", &rank(peer), "+="),
        TaskKind::Record(peer, index) => format!("signal r{peer}.{}", notify(index)),
        TaskKind::Wait(peer, index) => format!("wait r{peer}.{}", notify(index)),
        TaskKind::Fork => "fork".into(),
        TaskKind::Join => "join".into(),
    };
    match node.kind {
        TaskKind::Fork | TaskKind::Join => what,
        _ => format!("{}: {what}", node.lane),
    }
}

struct Dot;

impl GraphWrite for Dot {
    fn begin(&self, name: &str) -> String {
        format!("digraph {name} {{\n  node [shape=box, fontname=monospace];\n")
    }

    fn begin_rank(&self, rank: u32) -> String {
        format!("  subgraph cluster_{rank} {{\n    label=\"rank {rank}\";\n")
    }

    fn node(&self, index: usize, label: &str) -> String {
        format!("    t{index} [label=\"{label}\"];\n")
    }

    fn end_rank(&self) -> String {
        "  }\n".into()
    }

    fn edge(&self, from: usize, to: usize, edge: Edge) -> String {
        let style = match edge {
            Edge::Order => "",
            Edge::Fork | Edge::Join => " [style=dotted]",
            Edge::Notify => " [style=dashed, color=blue, constraint=false]",
        };
        format!("  t{from} -> t{to}{style};\n")
    }

    fn end(&self) -> String {
        "}\n".into()
    }
}

struct Mermaid;

impl GraphWrite for Mermaid {
    fn begin(&self, name: &str) -> String {
        format!("---\ntitle: {name}\n---\nflowchart TB\n")
    }

    fn begin_rank(&self, rank: u32) -> String {
        format!("  subgraph rank{rank} [rank {rank}]\n")
    }

    fn node(&self, index: usize, label: &str) -> String {
        format!("    t{index}[\"{label}\"]\n")
    }

    fn end_rank(&self) -> String {
        "  end\n".into()
    }

    fn edge(&self, from: usize, to: usize, edge: Edge) -> String {
        match edge {
            Edge::Order => format!("  t{from} --> t{to}\n"),
            Edge::Fork | Edge::Join => format!("  t{from} -.-> t{to}\n"),
            Edge::Notify => format!("  t{from} == notify ==> t{to}\n"),
        }
    }

    fn end(&self) -> String {
        String::new()
    }
}
