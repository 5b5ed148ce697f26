//! Plans as indented text: levels of what runs in parallel, and what each waits for.

use std::fmt::Write;

use super::{EdgeKind, Explanation};

/// Prints one level per step. Total time is at most the sum over levels of the slowest node.
pub fn to_text(explanation: &Explanation) -> String {
    let mut out = String::new();
    for (level, nodes) in explanation.levels.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "step {}{}",
            level + 1,
            if nodes.len() > 1 { ", in parallel" } else { "" }
        );
        for position in nodes {
            node(explanation, *position, &mut out);
        }
    }
    let last = explanation.nodes.len() - 1;
    let _ = writeln!(out, "then");
    node(explanation, last, &mut out);
    out
}

fn node(explanation: &Explanation, position: usize, out: &mut String) {
    let node = &explanation.nodes[position];
    let mut notes = Vec::new();
    let waits = ids(explanation, position, |kind| kind == EdgeKind::Dependency);
    if !waits.is_empty() {
        notes.push(format!("after {waits}"));
    }
    let orphans = ids(explanation, position, |kind| kind == EdgeKind::Orphan);
    if !orphans.is_empty() {
        notes.push(format!("also waits for {orphans}"));
    }
    let fallback = ids(explanation, position, |kind| kind == EdgeKind::Fallback);
    if !fallback.is_empty() {
        notes.push(format!("else {fallback}"));
    }
    if let Some((block, branch)) = &node.scope {
        notes.push(format!("in {branch} of {block}"));
    }
    if !node.requires.is_empty() {
        notes.push(format!("requires {}", node.requires.join(" ")));
    }
    if let Some(timeout) = node.timeout_ms {
        notes.push(format!("timeout {timeout} ms"));
    }
    let notes = if notes.is_empty() { String::new() } else { format!("  -- {}", notes.join("; ")) };
    let _ = writeln!(out, "  {} {}{notes}", node.id, node.label());
}

fn ids(explanation: &Explanation, from: usize, is_wanted: impl Fn(EdgeKind) -> bool) -> String {
    let edges = explanation.edges.iter().filter(|edge| edge.from == from && is_wanted(edge.kind));
    let ids: Vec<_> = edges.map(|edge| explanation.nodes[edge.to].id.as_str()).collect();
    ids.join(", ")
}
