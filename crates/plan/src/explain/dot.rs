//! Plans as DOT, for Graphviz and its relatives.

use std::fmt::Write;

use super::{EdgeKind, Explanation};

/// Prints a directed graph: `return` on top, then what it waits for, and so on; edges go to what a
/// node waits for.
pub fn to_dot(explanation: &Explanation) -> String {
    let edges = explanation.edges_by_node();
    let order = explanation.top_down();
    let mut out = String::from("digraph plan {\n  rankdir=TB; node [shape=box];\n");
    for position in &order {
        let node = &explanation.nodes[*position];
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {} [label=\"{}\"];", node.id, escaped(&node.label()));
    }
    for edge in order.iter().flat_map(|position| edges[*position]) {
        let style = match edge.kind {
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

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"")
}
