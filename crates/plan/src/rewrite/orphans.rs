//! Statements nobody needs are demanded by the value, so that every top-level statement runs before
//! the value is computed; statements needed only by blocks or fallbacks stay lazy (`language.md` 4.4).

use crate::node::{NodeId, NodeKind, Plan};

pub(super) fn apply(plan: &mut Plan, top_level: &[NodeId]) {
    let is_needed = needed(plan);
    let mut creates = Vec::new();
    let mut orphans = Vec::new();
    for id in top_level.iter().copied() {
        let node = plan.node(id);
        match node.kind {
            NodeKind::Create(_) => creates.push(id),
            _ if is_needed[id.index()] => {}
            _ => orphans.push(id),
        }
    }
    creates.extend(orphans);
    plan.roots.clone_from(&creates);
    plan.roots.push(plan.value);
    plan.nodes[plan.value.index()].orphans = creates;
    plan.is_simple = plan.nodes.iter().all(|node| node.block.is_none() && node.fallback.is_none());
}

/// For each node whether something else needs it. A block is needed when something outside of it
/// needs a variable that is bound inside.
fn needed(plan: &Plan) -> Vec<bool> {
    let mut is_needed = vec![false; plan.nodes.len()];
    let mut need = |reader: NodeId, dependency: NodeId| {
        is_needed[dependency.index()] = true;
        let mut block = plan.node(dependency).block;
        while let Some(outer) = block {
            if is_inside(plan, reader, outer.block) {
                break;
            }
            is_needed[outer.block.index()] = true;
            block = plan.node(outer.block).block;
        }
    };
    for node in &plan.nodes {
        for dependency in &node.dependencies {
            need(node.id, *dependency);
        }
        if let NodeKind::Try(block) = &node.kind {
            for dependency in &block.condition_dependencies {
                need(node.id, *dependency);
            }
        }
    }
    is_needed
}

/// Whether a node is a block or stands in it, at any depth.
fn is_inside(plan: &Plan, node: NodeId, block: NodeId) -> bool {
    let mut current = Some(node);
    while let Some(id) = current {
        if id == block {
            return true;
        }
        current = plan.node(id).block.map(|outer| outer.block);
    }
    false
}
