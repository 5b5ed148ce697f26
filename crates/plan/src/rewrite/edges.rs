//! What a node reads becomes an edge to the node that binds it.
//!
//! Lowering notes the slots that a node reads in the place of its dependencies, because the nodes of
//! later statements are not known then. A slot that is only thrown has no node and makes no edge.

use crate::node::{Branch, NodeId, NodeKind, Plan};

pub(super) fn apply(plan: &mut Plan) {
    let symbols = std::mem::take(&mut plan.symbols);
    let resolve = |reads: &mut Vec<NodeId>| {
        let mut nodes: Vec<NodeId> = Vec::with_capacity(reads.len());
        for slot in reads.iter() {
            if let Some(node) = symbols[slot.index()].node
                && !nodes.contains(&node)
            {
                nodes.push(node);
            }
        }
        *reads = nodes;
    };
    for node in &mut plan.nodes {
        resolve(&mut node.dependencies);
        if let NodeKind::Try(block) = &mut node.kind {
            resolve(&mut block.condition_dependencies);
        }
        // A throw of an assigned name reads its own chain; a node never waits for itself.
        let first = node.fallback_of.unwrap_or(node.id);
        node.dependencies.retain(|dependency| *dependency != first);
    }
    plan.symbols = symbols;
}

/// A node on a cycle of edges, blocks included; the textually first one.
pub(crate) fn find_cycle(plan: &Plan) -> Option<NodeId> {
    // Depth-first search with an explicit stack: 0 new, 1 on the path, 2 finished.
    let mut state = vec![0_u8; plan.nodes.len()];
    for start in 0..plan.nodes.len() {
        if state[start] != 0 {
            continue;
        }
        let start = NodeId(start as u32);
        let mut stack = vec![(start, awaited(plan, start), 0)];
        state[start.index()] = 1;
        while let Some((id, edges, next)) = stack.last_mut() {
            let Some(target) = edges.get(*next).copied() else {
                state[id.index()] = 2;
                stack.pop();
                continue;
            };
            *next += 1;
            match state[target.index()] {
                0 => {
                    state[target.index()] = 1;
                    stack.push((target, awaited(plan, target), 0));
                }
                1 => {
                    let on_cycle = stack.iter().map(|(id, ..)| *id).skip_while(|id| *id != target);
                    return on_cycle.min_by_key(|id| plan.node(*id).span.start);
                }
                _ => {}
            }
        }
    }
    None
}

/// Whether `node` cannot finish before `other` has.
pub(super) fn awaits(plan: &Plan, node: NodeId, other: NodeId) -> bool {
    let mut is_seen = vec![false; plan.nodes.len()];
    let mut stack = vec![node];
    while let Some(id) = stack.pop() {
        if id == other {
            return true;
        }
        if !std::mem::replace(&mut is_seen[id.index()], true) {
            stack.extend(awaited(plan, id));
        }
    }
    false
}

/// Everything that must happen before a node can finish.
fn awaited(plan: &Plan, id: NodeId) -> Vec<NodeId> {
    let node = plan.node(id);
    let mut edges = node.dependencies.clone();
    edges.extend(&node.orphans);
    edges.extend(node.fallback);
    if let Some(block) = node.block {
        // A block's statements wait for its decision, which an `if` makes from its dependencies and
        // a `try` from its body; the body itself waits only for what is around the `try`.
        let outer = plan.node(block.block);
        match (&outer.kind, block.branch) {
            (NodeKind::Try(body), Branch::Catch(_) | Branch::Finally) => {
                edges.extend(&body.body);
                edges.extend(&body.condition_dependencies);
            }
            (NodeKind::Try(_), _) => edges.extend(&outer.dependencies),
            _ => edges.push(block.block),
        }
    }
    edges
}
