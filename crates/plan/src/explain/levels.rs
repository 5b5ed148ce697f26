//! Concurrency of a plan: levels of the picture, and rounds of requests.

use crate::{
    node::Plan,
    waits::{Chains, Waits},
};

/// Groups nodes by dependency depth: a node stands one level below the deepest thing it waits for.
/// Later alternatives of fallback chains stand in no level, because they usually do not run.
pub(super) fn levels(plan: &Plan) -> Vec<Vec<usize>> {
    let waits = Waits::of(plan, Chains::FirstOnly);
    let depths = waits.depths(|_| true);
    let shown = plan.nodes.iter().filter(|node| node.fallback_of.is_none());
    group(shown.map(|node| (node.id.index(), depths[node.id.index()])))
}

/// Groups the nodes that call upstreams by the number of such nodes that must finish before them.
pub(super) fn rounds(plan: &Plan, is_remote: &[bool]) -> Vec<Vec<usize>> {
    let waits = Waits::of(plan, Chains::FirstOnly);
    let is_counted =
        |position: usize| is_remote[position] && plan.nodes[position].fallback_of.is_none();
    let depths = waits.depths(|position| is_counted(position as usize));
    group((0..plan.nodes.len()).filter(|at| is_counted(*at)).map(|at| (at, depths[at])))
}

/// Positions by their depth, which counts from 1.
fn group(depths: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (position, depth) in depths {
        if groups.len() < depth {
            groups.resize_with(depth, Vec::new);
        }
        groups[depth - 1].push(position);
    }
    groups
}
