//! Plans as DOT, for Graphviz and its relatives.

use std::fmt::Write;

use super::{EdgeKind, Explanation, Latency, latency::milliseconds};

/// Prints a directed graph: `return` on top, then what it waits for, and so on; edges go to what a
/// node waits for. With a measured run labels say how long nodes took, and the critical path is red.
pub fn to_dot(explanation: &Explanation, latency: Option<&Latency>) -> String {
    let edges = explanation.edges_by_node();
    let order = explanation.top_down();
    let is_critical = latency.map(Latency::is_critical).unwrap_or_default();
    let is_critical = |position: usize| is_critical.get(position).copied().unwrap_or(false);
    let mut out = String::from("digraph plan {\n  rankdir=TB; node [shape=box];\n");
    for position in &order {
        let node = &explanation.nodes[*position];
        let measured = latency.and_then(|latency| latency.measured(*position));
        let time = measured.map(|measured| format!(" {}", milliseconds(measured.elapsed)));
        let label = escape_label(&(node.label() + time.as_deref().unwrap_or_default()));
        let style = if is_critical(*position) { ", color=red, penwidth=3" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {} [label=\"{label}\"{style}];", node.id);
    }
    for edge in order.iter().flat_map(|position| edges[*position]) {
        let style = match edge.kind {
            _ if is_critical(edge.from) && is_critical(edge.to) => {
                " [color=red, penwidth=3]".to_owned()
            }
            EdgeKind::Dependency => String::new(),
            EdgeKind::Orphan => " [color=grey]".to_owned(),
            EdgeKind::Fallback => " [style=dashed]".to_owned(),
            EdgeKind::Scope(_) => {
                let branch = edge.kind.as_str().trim_start_matches("scope-");
                format!(" [style=dotted, label=\"{branch}\"]")
            }
        };
        let (from, to) = (&explanation.nodes[edge.from].id, &explanation.nodes[edge.to].id);
        let _ = writeln!(out, "  {from} -> {to}{style};");
    }
    out.push_str("}\n");
    out
}

fn escape_label(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"")
}
