//! Which nodes may start: demand, edges, fallbacks and blocks (EXE-16, IFS-4, TRY-6).
//!
//! In: which node has finished. Out: which nodes are ready. The scheduler evaluates nothing and does
//! no I/O, so every interleaving can be tested by feeding it completions in any order.
//!
//! A node is *demanded* when something needs it, *ready* when it is demanded, everything it waits
//! for is settled and its block is decided for it, and *settled* when its chain of alternatives has
//! an outcome or its branch was not taken. Each edge is counted down once, so a run costs time
//! linear in nodes and edges. What a failing statement means for the others is in [`recovery`].

mod recovery;

use std::collections::VecDeque;

use qlio_data::Value;
use qlio_plan::{Node, NodeId, NodeKind, Plan};
use smallvec::{SmallVec, smallvec};

use recovery::Recovery;

/// As many nodes as most scripts have, and few enough to be kept without memory of their own.
const NODES_USUAL: usize = 8;

/// How far the blocks of a `try` have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Body,
    Catches,
    Finally,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    is_demanded: bool,
    is_settled: bool,
    /// The node's block was decided for it.
    is_open: bool,
    /// What has to happen before it is ready.
    pending: u32,
    /// For blocks: members of the current phase that are not complete.
    remaining: u32,
}

pub(super) struct Scheduler<'p> {
    plan: &'p Plan,
    states: SmallVec<[State; NODES_USUAL]>,
    phases: Vec<(NodeId, Phase)>,
    ready: VecDeque<NodeId>,
    undecided: VecDeque<NodeId>,
    /// Made by the first failure that a `try` catches.
    recovery: Option<Box<Recovery>>,
    value: Option<Value>,
}

impl<'p> Scheduler<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self {
            plan,
            states: smallvec![State::default(); plan.nodes.len()],
            phases: Vec::new(),
            ready: VecDeque::new(),
            undecided: VecDeque::new(),
            recovery: None,
            value: None,
        }
    }

    /// Demands the roots of the plan.
    pub(super) fn start(&mut self) {
        for root in &self.plan.roots {
            self.demand(*root);
        }
    }

    /// The next node to run.
    pub(super) fn next_ready(&mut self) -> Option<NodeId> {
        self.ready.pop_front()
    }

    /// The next `try` whose body is over and whose catches have to be decided.
    pub(super) fn next_undecided_try(&mut self) -> Option<NodeId> {
        self.undecided.pop_front()
    }

    /// The value of the script, once its chain is settled.
    pub(super) fn into_value(self) -> Option<Value> {
        self.value
    }

    /// Makes a later alternative run.
    pub(super) fn open_fallback(&mut self, id: NodeId) {
        self.states[id.index()].is_open = true;
        self.demand(id);
    }

    /// Takes the outcome of a chain; `id` is the alternative that gave it.
    pub(super) fn settle(&mut self, id: NodeId, value: Value) {
        let first = self.plan.node(id).fallback_of.unwrap_or(id);
        if first == self.plan.value {
            self.value = Some(value);
        }
        self.settle_node(first);
        self.complete(first);
    }

    /// Takes the branch of an `if`, and skips the other; `skipped` is shown each statement that is skipped.
    pub(super) fn decide_if(&mut self, id: NodeId, is_true: bool, skipped: &mut dyn FnMut(&Node)) {
        let NodeKind::If(block) = &self.plan.node(id).kind else { return };
        let (taken, other) =
            if is_true { (&block.then, &block.otherwise) } else { (&block.otherwise, &block.then) };
        self.skip(other, skipped);
        self.states[id.index()].remaining = taken.len() as u32;
        self.settle_node(id);
        self.open(taken);
        if taken.is_empty() {
            self.complete(id);
        }
    }

    /// Starts the body of a `try`, and what its catch conditions read.
    pub(super) fn begin_try(&mut self, id: NodeId) {
        let NodeKind::Try(block) = &self.plan.node(id).kind else { return };
        self.phases.push((id, Phase::Body));
        let awaited = block.condition_dependencies.iter().filter(|node| {
            !self.states[node.index()].is_settled && self.fails_within(**node, id).is_none()
        });
        self.states[id.index()].remaining = (block.body.len() + awaited.count()) as u32;
        self.open(&block.body);
        for dependency in &block.condition_dependencies {
            self.demand(*dependency);
        }
    }

    /// Starts the catches whose conditions are true, and skips the others.
    pub(super) fn decide_catches(
        &mut self,
        id: NodeId,
        chosen: &[bool],
        skipped: &mut dyn FnMut(&Node),
    ) {
        let NodeKind::Try(block) = &self.plan.node(id).kind else { return };
        self.set_phase(id, Phase::Catches);
        self.release_caught(id);
        let mut remaining = 0;
        for (catch, is_chosen) in block.catches.iter().zip(chosen) {
            if *is_chosen {
                remaining += catch.body.len() as u32;
            } else {
                self.skip(&catch.body, skipped);
            }
        }
        self.states[id.index()].remaining = remaining;
        for (catch, is_chosen) in block.catches.iter().zip(chosen) {
            if *is_chosen {
                self.open(&catch.body);
            }
        }
        if remaining == 0 {
            self.advance_try(id);
        }
    }

    fn demand(&mut self, id: NodeId) {
        // An explicit stack: a chain of dependencies may be as long as the script.
        let mut stack: SmallVec<[NodeId; NODES_USUAL]> = smallvec![id];
        while let Some(id) = stack.pop() {
            let node = self.plan.node(id);
            if self.has_failed(id) {
                continue;
            }
            let state = &mut self.states[id.index()];
            if state.is_demanded || state.is_settled {
                continue;
            }
            // What a branch needs is needed once the branch is taken (EXE-4, EXE-5); until
            // then only the decision is. `open` demands the statement again.
            if let Some(block) = node.block
                && !state.is_open
            {
                stack.push(block.block);
                continue;
            }
            state.is_demanded = true;
            if self.doom_by_dependency(node) {
                continue;
            }
            let mut pending = 0;
            // Pushed in reverse, so that what stands first starts first.
            for dependency in node.dependencies.iter().rev().chain(node.orphans.iter().rev()) {
                if !self.states[dependency.index()].is_settled {
                    pending += 1;
                    stack.push(*dependency);
                }
            }
            self.states[id.index()].pending = pending;
            if pending == 0 {
                self.ready.push_back(id);
            }
        }
    }

    /// Opens the statements of a branch that was taken; all of them are demanded.
    fn open(&mut self, nodes: &[NodeId]) {
        for id in nodes {
            self.states[id.index()].is_open = true;
            self.demand(*id);
        }
    }

    /// Skips the statements of a branch that was not taken, at any depth.
    fn skip(&mut self, nodes: &[NodeId], skipped: &mut dyn FnMut(&Node)) {
        let mut stack: Vec<NodeId> = nodes.iter().rev().copied().collect();
        while let Some(id) = stack.pop() {
            let node = self.plan.node(id);
            skipped(node);
            match &node.kind {
                NodeKind::If(block) => stack.extend(block.then.iter().chain(&block.otherwise)),
                NodeKind::Try(block) => {
                    stack.extend(block.body.iter().chain(&block.finally));
                    stack.extend(block.catches.iter().flat_map(|catch| &catch.body));
                }
                _ => {}
            }
            self.settle_node(id);
        }
    }

    /// One of the things a node waits for has happened.
    fn release(&mut self, id: NodeId) {
        if self.is_doomed(id) {
            return;
        }
        let state = &mut self.states[id.index()];
        state.pending -= 1;
        if state.pending == 0 {
            self.ready.push_back(id);
        }
    }

    fn settle_node(&mut self, id: NodeId) {
        let state = &mut self.states[id.index()];
        if state.is_settled {
            return;
        }
        state.is_settled = true;
        let plan = self.plan;
        for dependent in &plan.node(id).dependents {
            let waiting = plan.node(*dependent);
            if is_condition_of(id, waiting) {
                if self.phase(*dependent) == Some(Phase::Body) {
                    self.complete_one(*dependent);
                }
            } else if self.states[dependent.index()].is_demanded {
                self.release(*dependent);
            }
        }
    }

    /// A statement and everything it started is over.
    fn complete(&mut self, id: NodeId) {
        if let Some(block) = self.plan.node(id).block {
            self.complete_one(block.block);
        }
    }

    /// One member of a block's current phase is complete.
    fn complete_one(&mut self, block: NodeId) {
        let state = &mut self.states[block.index()];
        state.remaining = state.remaining.saturating_sub(1);
        if state.remaining > 0 {
            return;
        }
        match &self.plan.node(block).kind {
            NodeKind::Try(_) => self.advance_try(block),
            _ => self.complete(block),
        }
    }

    fn advance_try(&mut self, id: NodeId) {
        let NodeKind::Try(block) = &self.plan.node(id).kind else { return };
        if self.is_broken(id) {
            self.end_broken_try(id);
            return;
        }
        match self.phase(id) {
            Some(Phase::Body) => self.undecided.push_back(id),
            Some(Phase::Catches) if !block.finally.is_empty() => {
                self.set_phase(id, Phase::Finally);
                self.states[id.index()].remaining = block.finally.len() as u32;
                self.open(&block.finally);
            }
            _ => {
                self.settle_node(id);
                self.complete(id);
            }
        }
    }

    fn phase(&self, id: NodeId) -> Option<Phase> {
        self.phases.iter().rev().find(|(block, _)| *block == id).map(|(_, phase)| *phase)
    }

    fn set_phase(&mut self, id: NodeId, phase: Phase) {
        if let Some((_, current)) = self.phases.iter_mut().find(|(block, _)| *block == id) {
            *current = phase;
        }
    }
}

/// Whether `waiting` is a `try` that awaits `id` with its catch conditions.
fn is_condition_of(id: NodeId, waiting: &Node) -> bool {
    match &waiting.kind {
        NodeKind::Try(block) => block.condition_dependencies.contains(&id),
        _ => false,
    }
}
