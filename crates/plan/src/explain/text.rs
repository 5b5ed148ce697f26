//! Plans as indented text: levels of what runs in parallel, and what each waits for.

use std::{collections::HashSet, fmt::Write};

use super::{Edge, EdgeKind, ExplainedNode, Explanation, Latency, latency::milliseconds};

/// Prints one level after the other, later alternatives of a fallback chain below their first one,
/// and at last how the total time comes about: in words, or with the times of a measured run
/// (`docs/reference/plan.md`).
pub fn to_text(explanation: &Explanation, latency: Option<&Latency>) -> String {
    let edges = explanation.edges_by_node();
    let mut out = String::new();
    for (level, nodes) in explanation.levels.iter().enumerate() {
        let parallel = if nodes.len() > 1 { ", in parallel" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "level {}{parallel}", level + 1);
        for position in nodes {
            let mut next = Some(*position);
            while let Some(position) = next {
                node(explanation, position, edges[position], latency, &mut out);
                let fallback = edges[position].iter().find(|edge| edge.kind == EdgeKind::Fallback);
                next = fallback.map(|edge| edge.to);
            }
        }
    }
    let last = explanation.nodes.len() - 1;
    let _ = writeln!(out, "then");
    node(explanation, last, edges[last], latency, &mut out);
    let total = latency.map_or_else(|| total(explanation), |latency| latency.summary(explanation));
    let _ = writeln!(out, "{total}");
    out
}

fn node(
    explanation: &Explanation,
    position: usize,
    edges: &[Edge],
    latency: Option<&Latency>,
    out: &mut String,
) {
    let node = &explanation.nodes[position];
    let mut notes = Vec::new();
    let mut note = |words: &str, kind: EdgeKind| {
        let to = edges.iter().filter(|edge| edge.kind == kind);
        let ids: Vec<_> = to.map(|edge| explanation.nodes[edge.to].id.as_str()).collect();
        if !ids.is_empty() {
            notes.push(format!("{words} {}", ids.join(", ")));
        }
    };
    note("after", EdgeKind::Dependency);
    note("also waits for", EdgeKind::Orphan);
    note("else", EdgeKind::Fallback);
    if let Some((block, branch)) = &node.scope {
        notes.push(format!("in {branch} of {block}"));
    }
    if !node.requires.is_empty() {
        notes.push(format!("requires {}", node.requires.join(" ")));
    }
    if let Some(timeout) = node.timeout_ms {
        notes.push(format!("timeout {timeout} ms"));
    }
    if let Some(latency) = latency {
        times(latency, position, &mut notes);
    }
    let notes = if notes.is_empty() { String::new() } else { format!("  -- {}", notes.join("; ")) };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "  {} {}{notes}", node.id, node.label());
    for reading in &node.readings {
        let _ = writeln!(out, "     {}", reading.line());
    }
    for source in &node.sources {
        let _ = writeln!(out, "     {}", source.line());
    }
}

/// Notes the measured times of a node.
fn times(latency: &Latency, position: usize, notes: &mut Vec<String>) {
    let Some(measured) = latency.measured(position) else { return };
    let (time, share) = (milliseconds(measured.elapsed), latency.share(position));
    notes.push(format!("{time}, {share} %"));
    if measured.requests > 0 {
        let plural = if measured.requests == 1 { "" } else { "s" };
        notes.push(format!("{} request{plural}", measured.requests));
    }
    if let Some(rows) = measured.rows {
        notes.push(format!("{rows} row{}", if rows == 1 { "" } else { "s" }));
    }
    if let Some((uri, elapsed)) = &measured.slowest {
        notes.push(format!("slowest {uri} {}", milliseconds(*elapsed)));
    }
}

/// `total = slowest of lines 3, 5, after line 1`.
pub(super) fn total(explanation: &Explanation) -> String {
    let rounds: Vec<String> =
        explanation.rounds.iter().rev().map(|round| slowest(explanation, round)).collect();
    if rounds.is_empty() {
        return "total = no requests".to_owned();
    }
    format!("total = {}", rounds.join(", after "))
}

/// Statements are known by their lines, or by their names where a line has several.
fn slowest(explanation: &Explanation, round: &[usize]) -> String {
    let nodes: Vec<&ExplainedNode> = round.iter().map(|at| &explanation.nodes[*at]).collect();
    let lines: HashSet<u32> = nodes.iter().map(|node| node.line).collect();
    if let [node] = nodes.as_slice() {
        return format!("line {}", node.line);
    }
    if lines.len() == nodes.len() {
        let lines: Vec<_> = nodes.iter().map(|node| node.line.to_string()).collect();
        return format!("slowest of lines {}", lines.join(", "));
    }
    let names: Vec<_> = nodes.iter().map(|node| node.assign.as_ref().unwrap_or(&node.id)).collect();
    let names: Vec<_> = names.into_iter().map(String::as_str).collect();
    format!("slowest of {}", names.join(", "))
}
