//! Variables and inline tables that a node reads become edges to the nodes that bind and create them.
//!
//! Lowering notes the variables by their slots, because the nodes of later statements are not known
//! then. A name that is only thrown is set by any of its throws, so a node that reads it waits for
//! those that stand before it.

use std::collections::BTreeMap;

use super::Noted;
use crate::{
    node::{NodeId, NodeKind, Plan, SlotId},
    waits::{Chains, Waits},
};

/// A node waits for the nodes that bind the variables it reads.
pub(super) fn to_bindings(plan: &mut Plan, noted: &Noted) {
    let mut flag_readers: BTreeMap<SlotId, Vec<NodeId>> = BTreeMap::new();
    let (nodes, symbols) = (&mut plan.nodes, &plan.symbols);
    for (node, reads) in nodes.iter_mut().zip(&noted.reads) {
        // A throw of an assigned name reads its own chain; a node never waits for itself.
        let first = node.fallback_of.unwrap_or(node.id);
        // Slots are noted once per node, and no two of them have the same node.
        for slot in reads {
            match symbols[slot.index()].node {
                Some(binding) if binding != first => node.dependencies.push(binding),
                Some(_) => {}
                None => flag_readers.entry(*slot).or_default().push(node.id),
            }
        }
    }
    for (id, reads) in &noted.condition_reads {
        if let NodeKind::Try(block) = &mut nodes[id.index()].kind {
            let bindings = reads.iter().filter_map(|slot| symbols[slot.index()].node);
            block.condition_dependencies.extend(bindings);
        }
    }
    to_throws(plan, &flag_readers);
}

/// A node that reads a flag waits for the throws of it that stand before, unless they wait for it.
fn to_throws(plan: &mut Plan, flag_readers: &BTreeMap<SlotId, Vec<NodeId>>) {
    if flag_readers.is_empty() {
        return;
    }
    let mut waits = Waits::of(plan, Chains::ToTheEnd);
    for at in 0..plan.nodes.len() {
        let throw = &plan.nodes[at];
        let NodeKind::Throw { slot, .. } = throw.kind else { continue };
        let (throw, start) = (throw.id, throw.span.start);
        let is_before = |reader: &&NodeId| start < plan.node(**reader).span.start;
        let readers = flag_readers.get(&slot).into_iter().flatten().filter(is_before);
        let readers: Vec<NodeId> = readers.copied().collect();
        if readers.is_empty() {
            continue;
        }
        let mut is_awaited = vec![false; waits.len()];
        waits.walk(throw.0, |at| !std::mem::replace(&mut is_awaited[at as usize], true), |_| ());
        for reader in readers.into_iter().filter(|reader| !is_awaited[reader.index()]) {
            plan.nodes[reader.index()].dependencies.push(throw);
            waits.add(reader, throw);
        }
    }
}

/// A statement on an inline table waits for its `create table`.
pub(super) fn to_creates(plan: &mut Plan, table_reads: &[(NodeId, usize)]) {
    if table_reads.is_empty() {
        return;
    }
    let mut creates = vec![None; plan.inline_tables.len()];
    for node in &plan.nodes {
        if let NodeKind::Create(table) = node.kind {
            creates[table] = Some(node.fallback_of.unwrap_or(node.id));
        }
    }
    for (reader, table) in table_reads {
        let node = &mut plan.nodes[reader.index()];
        let first = node.fallback_of.unwrap_or(node.id);
        if let Some(create) = creates[*table].filter(|create| *create != first)
            && !node.dependencies.contains(&create)
        {
            node.dependencies.push(create);
        }
    }
}

/// A node on a cycle of edges, blocks included; the textually first one.
pub(crate) fn find_cycle(plan: &Plan) -> Option<NodeId> {
    let waits = Waits::of(plan, Chains::ToTheEnd);
    // Depth-first search with an explicit stack.
    let mut state = vec![Search::New; waits.len()];
    for start in 0..plan.nodes.len() as u32 {
        if state[start as usize] != Search::New {
            continue;
        }
        state[start as usize] = Search::OnPath;
        let mut path = vec![(start, 0)];
        while let Some((position, next)) = path.last_mut() {
            let Some(target) = waits.targets(*position).get(*next).copied() else {
                state[*position as usize] = Search::Finished;
                path.pop();
                continue;
            };
            *next += 1;
            match state[target as usize] {
                Search::New => {
                    state[target as usize] = Search::OnPath;
                    path.push((target, 0));
                }
                Search::OnPath => {
                    let on_cycle = path.iter().map(|(at, _)| *at).skip_while(|at| *at != target);
                    let nodes = on_cycle.filter(|at| waits.is_node(*at)).map(NodeId);
                    return nodes.min_by_key(|id| plan.node(*id).span.start);
                }
                Search::Finished => {}
            }
        }
    }
    None
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    New,
    OnPath,
    Finished,
}
