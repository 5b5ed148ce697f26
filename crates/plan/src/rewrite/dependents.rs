//! The reverse edges, so that a finished node finds who waits for it.

use crate::node::{NodeId, NodeKind, Plan};

pub(super) fn apply(plan: &mut Plan) {
    let mut edges: Vec<(NodeId, NodeId)> = Vec::new();
    for node in &plan.nodes {
        edges.extend(
            node.dependencies.iter().chain(&node.orphans).map(|dependency| (*dependency, node.id)),
        );
        if let NodeKind::Try(block) = &node.kind {
            edges.extend(
                block.condition_dependencies.iter().map(|dependency| (*dependency, node.id)),
            );
        }
    }
    for (dependency, dependent) in edges {
        plan.nodes[dependency.index()].dependents.push(dependent);
    }
}
