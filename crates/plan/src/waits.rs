//! Waiting as a graph that is as large as the plan: the nodes that must be finished before another can
//! start or finish.
//!
//! In: a plan whose reads are edges. Out: [`Waits`], used to find cycles, to order writes and to
//! count levels. Blocks hold many statements back at once: the catches of a `try` wait for its whole
//! body, nested blocks included, and `finally` for all catches. Gates stand for these crowds, so that
//! the graph has one edge per statement and not one per pair of statements.

use std::collections::HashMap;

use crate::node::{Branch, Node, NodeId, NodeKind, Plan};

/// Gates per block; their order is that of the functions of [`Gates`].
const GATES: usize = 4;

/// A graph over the nodes of a plan, by position, and the gates behind them.
pub(crate) struct Waits {
    targets: Vec<Vec<u32>>,
    nodes: usize,
}

/// Which part of a fallback chain others wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chains {
    /// The chain is over when its last alternative is: what holds whatever happens.
    ToTheEnd,
    /// The first alternative succeeds: what usually happens.
    FirstOnly,
}

impl Waits {
    /// The graph of a plan.
    pub(crate) fn of(plan: &Plan, chains: Chains) -> Self {
        let gates = Gates::of(plan);
        let nodes = plan.nodes.len();
        let mut targets: Vec<Vec<u32>> = Vec::with_capacity(nodes + gates.by_block.len() * GATES);
        for node in &plan.nodes {
            let mut waits = positions(&node.dependencies);
            waits.extend(node.orphans.iter().map(|id| id.0));
            if chains == Chains::ToTheEnd {
                waits.extend(node.fallback.map(|id| id.0));
            }
            waits.extend(gates.before(plan, node));
            if matches!(node.kind, NodeKind::Try(_)) {
                waits.push(gates.body_done(node.id));
            }
            targets.push(waits);
        }
        targets.resize(nodes + gates.by_block.len() * GATES, Vec::new());
        for node in &plan.nodes {
            gates.fill(plan, node, &mut targets);
        }
        Self { targets, nodes }
    }

    /// The positions that a node or gate waits for.
    pub(crate) fn targets(&self, position: u32) -> &[u32] {
        &self.targets[position as usize]
    }

    /// Adds an edge between two nodes.
    pub(crate) fn add(&mut self, from: NodeId, to: NodeId) {
        self.targets[from.index()].push(to.0);
    }

    /// Nodes and gates together.
    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether a position is a node rather than a gate.
    pub(crate) fn is_node(&self, position: u32) -> bool {
        (position as usize) < self.nodes
    }

    /// Visits `start` and everything that it waits for, as far as `enter` allows, each after what it
    /// waits for. `enter` is asked once per edge and must refuse what it has allowed before.
    pub(crate) fn walk(
        &self,
        start: u32,
        mut enter: impl FnMut(u32) -> bool,
        mut visit: impl FnMut(u32),
    ) {
        if !enter(start) {
            return;
        }
        let mut path = vec![(start, 0)];
        while let Some((position, next)) = path.last_mut() {
            let Some(target) = self.targets(*position).get(*next).copied() else {
                visit(*position);
                path.pop();
                continue;
            };
            *next += 1;
            if enter(target) {
                path.push((target, 0));
            }
        }
    }

    /// For each position the largest number of counted nodes on a way to it, itself included.
    pub(crate) fn depths(&self, is_counted: impl Fn(u32) -> bool) -> Vec<usize> {
        let mut depths = vec![0; self.len()];
        let mut is_seen = vec![false; self.len()];
        for start in 0..self.len() as u32 {
            let enter = |at: u32| !std::mem::replace(&mut is_seen[at as usize], true);
            self.walk(start, enter, |position| {
                let awaited = self.targets(position).iter().map(|target| depths[*target as usize]);
                let own = usize::from(self.is_node(position) && is_counted(position));
                depths[position as usize] = awaited.max().unwrap_or(0) + own;
            });
        }
        depths
    }
}

/// The positions of the gates.
struct Gates {
    nodes: usize,
    by_block: HashMap<NodeId, usize>,
}

impl Gates {
    fn of(plan: &Plan) -> Self {
        let is_block = |node: &&Node| matches!(node.kind, NodeKind::If(_) | NodeKind::Try(_));
        let blocks = plan.nodes.iter().filter(is_block);
        let by_block = blocks.enumerate().map(|(number, node)| (node.id, number)).collect();
        Self { nodes: plan.nodes.len(), by_block }
    }

    fn gate(&self, block: NodeId, which: usize) -> u32 {
        (self.nodes + self.by_block[&block] * GATES + which) as u32
    }

    /// Open when the body of a `try` may start.
    fn entry(&self, block: NodeId) -> u32 {
        self.gate(block, 0)
    }

    /// Open when the body of a `try` is finished and the catch conditions can be evaluated.
    fn body_done(&self, block: NodeId) -> u32 {
        self.gate(block, 1)
    }

    /// Open when the chosen catches of a `try` are finished.
    fn caught(&self, block: NodeId) -> u32 {
        self.gate(block, 2)
    }

    /// Open when all statements of a block are finished; of another node, the node itself.
    fn done(&self, node: NodeId) -> u32 {
        if self.by_block.contains_key(&node) { self.gate(node, 3) } else { node.0 }
    }

    /// The gate that a node waits for because it stands in a block.
    fn before(&self, plan: &Plan, node: &Node) -> Option<u32> {
        let inside = node.block?;
        let is_try = matches!(plan.node(inside.block).kind, NodeKind::Try(_));
        Some(match inside.branch {
            Branch::Body if is_try => self.entry(inside.block),
            Branch::Catch(_) if is_try => self.body_done(inside.block),
            Branch::Finally if is_try => self.caught(inside.block),
            _ => inside.block.0,
        })
    }

    /// Adds what the gates of a node wait for, if it is a block.
    fn fill(&self, plan: &Plan, node: &Node, targets: &mut [Vec<u32>]) {
        let all_done =
            |nodes: &[NodeId]| -> Vec<u32> { nodes.iter().map(|id| self.done(*id)).collect() };
        let mut add = |gate: u32, waits: Vec<u32>| targets[gate as usize].extend(waits);
        match &node.kind {
            NodeKind::If(block) => {
                let done = self.done(node.id);
                add(done, vec![node.id.0]);
                add(done, all_done(&block.then));
                add(done, all_done(&block.otherwise));
            }
            NodeKind::Try(block) => {
                let (entry, body_done) = (self.entry(node.id), self.body_done(node.id));
                let (caught, done) = (self.caught(node.id), self.done(node.id));
                add(entry, positions(&node.dependencies));
                add(entry, self.before(plan, node).into_iter().collect());
                add(body_done, vec![entry]);
                add(body_done, all_done(&block.body));
                add(body_done, positions(&block.condition_dependencies));
                add(caught, vec![body_done]);
                for catch in &block.catches {
                    add(caught, all_done(&catch.body));
                }
                add(done, vec![caught, node.id.0]);
                add(done, all_done(&block.finally));
            }
            _ => {}
        }
    }
}

fn positions(ids: &[NodeId]) -> Vec<u32> {
    ids.iter().map(|id| id.0).collect()
}
