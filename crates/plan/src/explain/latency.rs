//! Where the time of a run went: the critical path, and what has slack (`docs/reference/plan.md`).
//!
//! In: a plan as a picture and what was measured of its nodes. Out: for each node when it could start at
//! the earliest, and how much later it could have started without a longer run. A node that was not
//! measured takes no time: it was not needed, or its branch was not taken. Linear in the picture.

use std::{fmt::Write, time::Duration};

use super::{EdgeKind, Explanation};

/// The measurements of one node.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// How long it took.
    pub elapsed: Duration,
    /// How many requests it sent.
    pub requests: u32,
    /// How many rows it gave, if it gave a list.
    pub rows: Option<u64>,
    /// The URI that took longest, and how long.
    pub slowest: Option<(String, Duration)>,
}

/// A run, measured.
#[derive(Debug)]
pub struct Latency {
    /// By position of the node; `None` was not measured.
    pub nodes: Vec<Option<NodeLatency>>,
    /// From the start to the value.
    pub total: Duration,
    /// Positions, first to last, of those that make up the total.
    pub critical_path: Vec<usize>,
}

/// One node of a measured run.
#[derive(Debug)]
pub struct NodeLatency {
    /// The measurements.
    pub measured: Measured,
    /// When everything that it waits for was over, since the start.
    pub start: Duration,
    /// How much later it could have started without a longer run.
    pub slack: Duration,
}

impl Latency {
    /// Reads the measurements, one per node of the picture, in its order.
    pub fn of(explanation: &Explanation, measured: Vec<Option<Measured>>) -> Self {
        let count = explanation.nodes.len();
        let mut measured = measured;
        measured.resize(count, None);
        let elapsed: Vec<Duration> = measured
            .iter()
            .map(|node| node.as_ref().map_or(Duration::ZERO, |m| m.elapsed))
            .collect();
        let waits = waits(explanation, &measured);
        let order = bottom_up(&waits);
        let mut start = vec![Duration::ZERO; count];
        let mut decisive: Vec<Option<usize>> = vec![None; count];
        for node in &order {
            for before in &waits[*node] {
                let end = start[*before] + elapsed[*before];
                if end > start[*node] || decisive[*node].is_none() {
                    (start[*node], decisive[*node]) = (end, Some(*before));
                }
            }
        }
        let last = count.saturating_sub(1);
        let total = start.get(last).copied().unwrap_or_default();
        let mut latest_end: Vec<Duration> =
            (0..count).map(|node| total.max(start[node] + elapsed[node])).collect();
        for node in order.iter().rev() {
            let latest_start = latest_end[*node].saturating_sub(elapsed[*node]);
            for before in &waits[*node] {
                latest_end[*before] = latest_end[*before].min(latest_start);
            }
        }
        let mut critical_path = Vec::new();
        let mut next = decisive.get(last).copied().flatten();
        while let Some(node) = next {
            if measured[node].is_some() {
                critical_path.push(node);
            }
            next = decisive[node];
        }
        critical_path.reverse();
        let nodes = measured.into_iter().enumerate().map(|(node, measured)| {
            let slack = latest_end[node].saturating_sub(start[node] + elapsed[node]);
            measured.map(|measured| NodeLatency { measured, start: start[node], slack })
        });
        Self { nodes: nodes.collect(), total, critical_path }
    }

    /// The part of the total that a node took, in percent.
    pub fn share(&self, position: usize) -> u64 {
        let elapsed = self.measured(position).map_or(Duration::ZERO, |measured| measured.elapsed);
        let share = elapsed.as_micros() * 100 / self.total.as_micros().max(1);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// The measurements of a node.
    pub fn measured(&self, position: usize) -> Option<&Measured> {
        self.nodes.get(position)?.as_ref().map(|node| &node.measured)
    }

    /// For each node whether the total is made of it.
    pub(super) fn is_critical(&self) -> Vec<bool> {
        let mut is_critical = vec![false; self.nodes.len()];
        for position in &self.critical_path {
            is_critical[*position] = true;
        }
        // The value is the end of every path.
        if let Some(last) = is_critical.last_mut() {
            *last = true;
        }
        is_critical
    }

    /// `total 212 ms; critical path [1] 80 ms -> [3] 120 ms; [2] 95 ms has 25 ms slack`.
    pub(super) fn summary(&self, explanation: &Explanation) -> String {
        let shown = |position: usize| {
            let elapsed = self.measured(position).map_or(Duration::ZERO, |m| m.elapsed);
            format!("[{}] {}", explanation.nodes[position].line, milliseconds(elapsed))
        };
        let path: Vec<String> = self.critical_path.iter().map(|node| shown(*node)).collect();
        let mut text = format!("total {}", milliseconds(self.total));
        // Writing to a string cannot fail.
        if !path.is_empty() {
            let _ = write!(text, "; critical path {}", path.join(" -> "));
        }
        for (position, node) in self.nodes.iter().enumerate() {
            if let Some(node) = node
                && node.slack > Duration::ZERO
            {
                let slack = milliseconds(node.slack);
                let _ = write!(text, "; {} has {slack} slack", shown(position));
            }
        }
        text
    }
}

/// Whole milliseconds from ten on, a tenth below: `12 ms`, `0.4 ms`.
pub(super) fn milliseconds(duration: Duration) -> String {
    let micros = duration.as_micros();
    let tenths = (micros + 50) / 100;
    if tenths >= 100 || tenths.is_multiple_of(10) {
        format!("{} ms", (micros + 500) / 1000)
    } else {
        format!("{}.{} ms", tenths / 10, tenths % 10)
    }
}

/// The nodes that each node waits for: its edges, with the last alternative that ran in the place of a chain.
fn waits(explanation: &Explanation, measured: &[Option<Measured>]) -> Vec<Vec<usize>> {
    let count = explanation.nodes.len();
    let mut alternative: Vec<Option<usize>> = vec![None; count];
    for edge in explanation.edges.iter().filter(|edge| edge.kind == EdgeKind::Fallback) {
        alternative[edge.from] = Some(edge.to);
    }
    // Chains are told from their ends, so that each is walked once.
    let mut ran: Vec<usize> = (0..count).collect();
    for first in 0..count {
        if explanation.nodes[first].fallback_of.is_some() {
            continue;
        }
        let mut next = alternative[first];
        while let Some(position) = next {
            if measured[position].is_some() {
                ran[first] = position;
            }
            next = alternative[position];
        }
    }
    let mut waits = vec![Vec::new(); count];
    for edge in &explanation.edges {
        match edge.kind {
            EdgeKind::Fallback => waits[edge.to].push(edge.from),
            EdgeKind::Dependency | EdgeKind::Orphan | EdgeKind::Scope(_) => {
                waits[edge.from].push(ran[edge.to]);
            }
        }
    }
    waits
}

/// All nodes, each after those that it waits for.
fn bottom_up(waits: &[Vec<usize>]) -> Vec<usize> {
    let mut waiting: Vec<usize> = waits.iter().map(Vec::len).collect();
    let mut waited_by: Vec<Vec<usize>> = vec![Vec::new(); waits.len()];
    for (node, before) in waits.iter().enumerate() {
        for before in before {
            waited_by[*before].push(node);
        }
    }
    let mut order: Vec<usize> = (0..waits.len()).filter(|node| waiting[*node] == 0).collect();
    let mut next = 0;
    while let Some(node) = order.get(next).copied() {
        next += 1;
        for after in &waited_by[node] {
            waiting[*after] -= 1;
            if waiting[*after] == 0 {
                order.push(*after);
            }
        }
    }
    order
}
