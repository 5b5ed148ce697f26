//! Writes to the same variable happen in text order (`language.md` 5.13).

use crate::{
    node::{NodeId, NodeKind, Plan, SlotId},
    operator::SourceKind,
};

pub(super) fn apply(plan: &mut Plan) {
    let mut last_writers: Vec<Option<NodeId>> = vec![None; plan.symbols.len()];
    let mut edges: Vec<(NodeId, NodeId)> = Vec::new();
    for node in &plan.nodes {
        let Some(slot) = written_slot(&node.kind) else { continue };
        let first = node.fallback_of.unwrap_or(node.id);
        if let Some(earlier) = last_writers[slot as usize].replace(first)
            && earlier != first
        {
            edges.push((node.id, earlier));
        }
    }
    for (node, earlier) in edges {
        // Text order holds only where nothing else orders them: data may flow the other way.
        if !super::edges::awaits(plan, earlier, node) {
            let dependencies = &mut plan.nodes[node.index()].dependencies;
            if !dependencies.contains(&earlier) {
                dependencies.push(earlier);
            }
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
