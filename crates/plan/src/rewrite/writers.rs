//! Writes to the same variable happen in text order (EXE-7).

use std::collections::BTreeMap;

use crate::{
    node::{NodeId, NodeKind, Plan, SlotId},
    operator::SourceKind,
    waits::{Chains, Waits},
};

pub(super) fn apply(plan: &mut Plan) {
    let writers = writers_of_slots(plan);
    if writers.values().all(|chains| chains.len() < 2) {
        return;
    }
    let mut waits = Waits::of(plan, Chains::ToTheEnd);
    let mut order = Order::of(&waits);
    for chains in writers.into_values().filter(|chains| chains.len() > 1) {
        let firsts: Vec<NodeId> = chains.keys().copied().collect();
        let is_text_order = order.is_text_order(&firsts);
        let sorted = if is_text_order { firsts } else { order.sort(&waits, &firsts) };
        for pair in sorted.windows(2) {
            for node in &chains[&pair[1]] {
                let dependencies = &mut plan.nodes[node.index()].dependencies;
                if !dependencies.contains(&pair[0]) {
                    dependencies.push(pair[0]);
                    waits.add(*node, pair[0]);
                }
            }
        }
        if !is_text_order {
            // The new edges may not fit what was known of the order.
            order = Order::of(&waits);
        }
    }
}

/// For each variable the chains that write to it, in text order, and their nodes that do so.
fn writers_of_slots(plan: &Plan) -> BTreeMap<SlotId, BTreeMap<NodeId, Vec<NodeId>>> {
    let mut writers: BTreeMap<SlotId, BTreeMap<NodeId, Vec<NodeId>>> = BTreeMap::new();
    for node in &plan.nodes {
        if let Some(slot) = written_slot(&node.kind) {
            let first = node.fallback_of.unwrap_or(node.id);
            writers.entry(slot).or_default().entry(first).or_default().push(node.id);
        }
    }
    writers
}

/// One order of all nodes and gates in which each comes after what it waits for.
struct Order {
    rank: Vec<u32>,
    /// The number of the last call of [`Self::sorted`] that came by.
    seen_in: Vec<u32>,
    walks: u32,
}

impl Order {
    fn of(waits: &Waits) -> Self {
        let mut rank = vec![0; waits.len()];
        let mut is_seen = vec![false; waits.len()];
        let mut next = 0;
        for start in 0..waits.len() as u32 {
            let enter = |at: u32| !std::mem::replace(&mut is_seen[at as usize], true);
            waits.walk(start, enter, |position| {
                rank[position as usize] = next;
                next += 1;
            });
        }
        Self { rank, seen_in: vec![0; waits.len()], walks: 0 }
    }

    /// Whether the order of text is an order in which each of these nodes can come.
    fn is_text_order(&self, firsts: &[NodeId]) -> bool {
        firsts.is_sorted_by_key(|id| self.rank[id.index()])
    }

    /// The nodes in text order, but each after those of them that it waits for: data may flow against
    /// the order of text.
    fn sort(&mut self, waits: &Waits, firsts: &[NodeId]) -> Vec<NodeId> {
        // What ranks below all of them cannot lead to any of them.
        let rank_min = firsts.iter().map(|id| self.rank[id.index()]).min().unwrap_or(0);
        self.walks += 1;
        let mut sorted = Vec::with_capacity(firsts.len());
        for first in firsts {
            let enter = |position: u32| {
                let at = position as usize;
                self.rank[at] >= rank_min
                    && std::mem::replace(&mut self.seen_in[at], self.walks) != self.walks
            };
            waits.walk(first.0, enter, |position| {
                let node = NodeId(position);
                if firsts.binary_search(&node).is_ok() {
                    sorted.push(node);
                }
            });
        }
        sorted
    }
}

fn written_slot(kind: &NodeKind) -> Option<SlotId> {
    let source = match kind {
        NodeKind::Write(write) => &write.target,
        NodeKind::Delete(delete) => &delete.target,
        _ => return None,
    };
    match source.kind {
        SourceKind::Slot(slot) => Some(slot),
        _ => None,
    }
}
