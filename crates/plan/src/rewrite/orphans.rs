//! Statements nobody needs are demanded by the value, so that every top-level statement runs before
//! the value is computed; statements needed only by blocks or fallbacks stay lazy (EXE-4, EXE-5).

use std::collections::HashSet;

use crate::node::{NodeId, NodeKind, Plan};

pub(super) fn apply(plan: &mut Plan, top_level: &[NodeId]) {
    let is_needed = find_needed(plan);
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
fn find_needed(plan: &Plan) -> Vec<bool> {
    let mut is_needed = vec![false; plan.nodes.len()];
    for node in &plan.nodes {
        let condition_dependencies = match &node.kind {
            NodeKind::Try(block) => block.condition_dependencies.as_slice(),
            _ => &[],
        };
        let around: HashSet<NodeId> = outwards(plan, node.id).collect();
        for dependency in node.dependencies.iter().chain(condition_dependencies) {
            let outside = outwards(plan, *dependency).skip(1).take_while(|id| !around.contains(id));
            for id in std::iter::once(*dependency).chain(outside) {
                is_needed[id.index()] = true;
            }
        }
    }
    is_needed
}

/// A node, then the blocks that it stands in, the innermost first.
fn outwards(plan: &Plan, node: NodeId) -> impl Iterator<Item = NodeId> {
    let block_of = |id: &NodeId| plan.node(*id).block.map(|outer| outer.block);
    std::iter::successors(Some(node), block_of)
}
