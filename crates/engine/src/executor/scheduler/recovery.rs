//! What a failing statement means for the others, where a `try` catches errors (TRY-9 to TRY-15).
//!
//! In: the failure of a chain. Out: the statements that fail with it, one by one, and the variables
//! that get no value. The rules: an error belongs to the nearest `try` around it that catches errors
//! in its body; the other statements of that body go on, but those that need a failed one fail with
//! the same error, so that nothing runs on data that is missing; who stands outside waits until the
//! `try` is decided, or until nothing else can run. A `try` that the error passes through on its way ends without its catches and
//! `finally`, as the script would without the one that catches it.

use std::collections::{HashMap, HashSet, VecDeque};

use qlio_plan::{Branch, Node, NodeId, NodeKind, SlotId};

use super::{Phase, Scheduler, is_condition_of};
use crate::error::RunError;

/// What is known of failures; empty for nearly all runs.
#[derive(Default)]
pub(super) struct Recovery {
    /// The first error of each `try` that caught one.
    errors: HashMap<NodeId, RunError>,
    /// The chains whose readers outside wait for the decision of a `try`.
    held: HashMap<NodeId, Vec<NodeId>>,
    /// The same, by chain.
    holders: HashMap<NodeId, NodeId>,
    /// The `try`s that an error passed through.
    broken: HashSet<NodeId>,
    /// The chains that have failed, with those in blocks that have.
    failed: HashSet<NodeId>,
    /// The alternatives that need a failed statement and so do not run.
    doomed: HashSet<NodeId>,
    /// Those of them that have not failed yet, and the `try` that caught the error.
    to_fail: VecDeque<(NodeId, NodeId)>,
    /// The variables of failed statements.
    unbound: Vec<SlotId>,
}

impl Recovery {
    fn doom(&mut self, id: NodeId, catcher: NodeId) {
        if self.doomed.insert(id) {
            self.to_fail.push_back((id, catcher));
        }
    }
}

impl Scheduler<'_> {
    fn recovery(&mut self) -> &mut Recovery {
        self.recovery.get_or_insert_default()
    }

    /// Whether an error passed through this `try`.
    pub(super) fn is_broken(&self, id: NodeId) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.broken.contains(&id))
    }

    /// Whether the chain has failed, or stands in a block that has.
    pub(super) fn has_failed(&self, id: NodeId) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.failed.contains(&id))
    }

    /// Whether the alternative needs a failed statement and so does not run.
    pub(super) fn is_doomed(&self, id: NodeId) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.doomed.contains(&id))
    }

    /// Takes the failure of a chain; `id` is its last alternative, or a block that could not be
    /// decided.
    ///
    /// # Errors
    /// The error again, if no `try` catches it.
    pub(in crate::executor) fn fail(
        &mut self,
        id: NodeId,
        error: RunError,
    ) -> Result<(), RunError> {
        let first = self.plan.node(id).fallback_of.unwrap_or(id);
        let Some(catcher) = self.catcher(first) else { return Err(error) };
        self.recovery().errors.entry(catcher).or_insert(error);
        self.break_tries(first, catcher);
        self.fail_all(vec![first], catcher);
        self.complete(first);
        Ok(())
    }

    /// The next alternative that fails because it needs a failed statement, and why it failed.
    pub(in crate::executor) fn next_doomed(&mut self) -> Option<(NodeId, RunError)> {
        let recovery = self.recovery.as_mut()?;
        let (id, catcher) = recovery.to_fail.pop_front()?;
        // Whoever is doomed stands in a body that has caught an error.
        let error = recovery.errors.get(&catcher).cloned();
        Some((id, error.unwrap_or_else(|| RunError::internal("a caught error is missing"))))
    }

    /// The next variable that gets no value because its statement failed.
    pub(in crate::executor) fn next_unbound(&mut self) -> Option<SlotId> {
        self.recovery.as_mut()?.unbound.pop()
    }

    /// The error that a `try` caught.
    pub(in crate::executor) fn caught(&self, id: NodeId) -> Option<&RunError> {
        self.recovery.as_ref()?.errors.get(&id)
    }

    /// No catch dealt with the error of a `try`, or its catches could not be decided: the `try`
    /// itself fails.
    ///
    /// # Errors
    /// The error again, if no `try` around it catches it.
    pub(in crate::executor) fn fail_try(
        &mut self,
        id: NodeId,
        error: RunError,
    ) -> Result<(), RunError> {
        let Some(catcher) = self.catcher(id) else { return Err(error) };
        // Who needs what failed inside needs it still.
        let held = self.recovery().held.remove(&id).unwrap_or_default();
        self.recovery().errors.entry(catcher).or_insert(error);
        for failed in held {
            self.doom_dependents(failed, catcher, Some(id));
            self.hold(failed, catcher);
        }
        self.break_tries(id, catcher);
        self.fail_all(vec![id], catcher);
        self.complete(id);
        Ok(())
    }

    /// A `try` is decided: the readers outside of its error, and of what failed in it, go on.
    pub(super) fn release_caught(&mut self, id: NodeId) {
        let plan = self.plan;
        let is_read = || !plan.node(plan.value).orphans.contains(&id);
        if plan.node(id).target.is_some() && is_read() {
            self.settle_node(id);
        }
        self.release_held(id);
    }

    fn release_held(&mut self, id: NodeId) {
        let held = self.recovery.as_mut().and_then(|recovery| recovery.held.remove(&id));
        for failed in held.unwrap_or_default() {
            self.recovery().holders.remove(&failed);
            self.settle_node(failed);
        }
    }

    /// Lets all readers outside of failed statements go on, because a body waits for one of them;
    /// answers whether there were any.
    pub(in crate::executor) fn release_stuck(&mut self) -> bool {
        let Some(recovery) = &self.recovery else { return false };
        let mut blocks: Vec<NodeId> = recovery.held.keys().copied().collect();
        blocks.sort_unstable();
        for block in &blocks {
            self.release_held(*block);
        }
        !blocks.is_empty()
    }

    /// A `try` that an error passed through ends here.
    pub(super) fn end_broken_try(&mut self, id: NodeId) {
        if let Some(catcher) = self.catcher(id) {
            self.fail_all(vec![id], catcher);
        }
        self.complete(id);
    }

    /// Whether a node that is demanded needs a statement that has failed already; then it fails.
    pub(super) fn doom_by_dependency(&mut self, node: &Node) -> bool {
        if self.recovery.is_none() {
            return false;
        }
        let failed =
            node.dependencies.iter().find_map(|dependency| self.fails_within(*dependency, node.id));
        let Some(catcher) = failed else { return false };
        self.recovery().doom(node.id, catcher);
        true
    }

    /// The `try` that holds a failed chain, if `reader` stands in its body, so that the failure is
    /// one of the reader's too.
    pub(super) fn fails_within(&self, chain: NodeId, reader: NodeId) -> Option<NodeId> {
        let catcher = *self.recovery.as_ref()?.holders.get(&chain)?;
        self.stands_in_body(reader, catcher).then_some(catcher)
    }

    fn hold(&mut self, failed: NodeId, catcher: NodeId) {
        self.recovery().held.entry(catcher).or_default().push(failed);
        self.recovery().holders.insert(failed, catcher);
    }

    /// Marks chains and everything inside of blocks as failed.
    fn fail_all(&mut self, mut stack: Vec<NodeId>, catcher: NodeId) {
        let plan = self.plan;
        while let Some(first) = stack.pop() {
            let node = plan.node(first);
            if !self.recovery().failed.insert(first) {
                continue;
            }
            let is_decided =
                matches!(node.kind, NodeKind::Try(_)) && self.states[first.index()].is_settled;
            if let Some(slot) = node.target.filter(|_| !is_decided) {
                self.recovery().unbound.push(slot);
            }
            stack.extend(self.unopened_members(first));
            self.hold(first, catcher);
            self.doom_dependents(first, catcher, None);
        }
    }

    /// The statements that wait for a failed chain fail with it, as far as they stand in the body of
    /// `catcher`; those in the body of `known` are failed already.
    fn doom_dependents(&mut self, failed: NodeId, catcher: NodeId, known: Option<NodeId>) {
        let plan = self.plan;
        for dependent in &plan.node(failed).dependents {
            let (id, waiting) = (*dependent, plan.node(*dependent));
            let is_inside = id == catcher || self.stands_in_body(id, catcher);
            let is_known = known.is_some_and(|known| id == known || self.stands_in_body(id, known));
            if !is_inside || is_known {
                continue;
            }
            if is_condition_of(failed, waiting) {
                // Names without a value are false.
                if self.phase(id) == Some(Phase::Body) {
                    self.complete_one(id);
                }
                continue;
            }
            if self.states[id.index()].is_demanded && !self.has_failed(id) {
                self.recovery().doom(id, catcher);
            }
        }
    }

    /// The statements of a block that have not been opened and never will be.
    fn unopened_members(&self, id: NodeId) -> Vec<NodeId> {
        match &self.plan.node(id).kind {
            NodeKind::If(block) => [block.then.as_slice(), &block.otherwise].concat(),
            NodeKind::Try(block) => {
                let phase = self.phase(id);
                let mut members = Vec::new();
                if phase.is_none() {
                    members.extend(&block.body);
                }
                if matches!(phase, None | Some(Phase::Body)) {
                    members.extend(block.catches.iter().flat_map(|catch| &catch.body));
                }
                if phase != Some(Phase::Finally) {
                    members.extend(&block.finally);
                }
                members
            }
            _ => Vec::new(),
        }
    }

    /// The nearest `try` that catches errors and has the node in its body.
    fn catcher(&self, id: NodeId) -> Option<NodeId> {
        self.bodies_around(id).find(|block| self.plan.node(*block).target.is_some())
    }

    fn stands_in_body(&self, id: NodeId, of: NodeId) -> bool {
        self.bodies_around(id).any(|block| block == of)
    }

    /// The `try`s in whose body the node stands, the innermost first.
    fn bodies_around(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let place = |id: &NodeId| self.plan.node(*id).block;
        let outwards = std::iter::successors(place(&id), move |inside| place(&inside.block));
        outwards.filter(|inside| inside.branch == Branch::Body).map(|inside| inside.block)
    }

    /// Notes the `try`s between a failed node and the one that catches its error.
    fn break_tries(&mut self, id: NodeId, catcher: NodeId) {
        let mut inside = self.plan.node(id).block;
        while let Some(place) = inside.filter(|place| place.block != catcher) {
            let block = self.plan.node(place.block);
            if matches!(block.kind, NodeKind::Try(_)) {
                self.recovery().broken.insert(place.block);
            }
            inside = block.block;
        }
    }
}
