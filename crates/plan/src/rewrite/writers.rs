//! Writes to the same variable happen in text order (`language.md` 5.13).

use crate::{
    node::{NodeId, NodeKind, Plan, SlotId},
    operator::SourceKind,
};

pub(super) fn apply(plan: &mut Plan) {
    let writes: Vec<(SlotId, NodeId, NodeId)> = plan
        .nodes
        .iter()
        .filter_map(|node| {
            Some((written_slot(&node.kind)?, node.id, node.fallback_of.unwrap_or(node.id)))
        })
        .collect();
    // The writers of each slot so far, each after the one before it.
    let mut orders: Vec<Vec<NodeId>> = vec![Vec::new(); plan.symbols.len()];
    for (slot, node, first) in writes {
        let order = &mut orders[slot as usize];
        // Text order holds only where nothing else orders them: data may flow the other way.
        let is_later = |earlier: NodeId| {
            earlier == first
                || super::edges::awaits(plan, earlier, node)
                || super::edges::awaits(plan, earlier, first)
        };
        let place = order.iter().rposition(|earlier| !is_later(*earlier)).map_or(0, |at| at + 1);
        if let Some(earlier) = place.checked_sub(1).map(|at| order[at]) {
            let dependencies = &mut plan.nodes[node.index()].dependencies;
            if !dependencies.contains(&earlier) {
                dependencies.push(earlier);
            }
        }
        if !order.contains(&first) {
            order.insert(place, first);
        }
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
