//! The watched side of one run: who watches, which statement is being polled, when each began.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
};

use qlio_plan::{Node, NodeId, NodeKind, Plan, operator::WriteKind};
use tokio::time::Instant;

use super::{Event, EventKind, Stepper, Watch};

/// What a watched run keeps for its events.
pub(crate) struct Observation<'a> {
    watch: &'a Watch<'a>,
    /// The line of the statement that is being polled. Statements run interleaved on one task, so
    /// this is set anew whenever one is polled.
    line: Cell<Option<u32>>,
    /// That statement.
    statement: Cell<Option<u32>>,
    begun: RefCell<HashMap<NodeId, Instant>>,
    id: OnceCell<String>,
}

impl<'a> Observation<'a> {
    pub(crate) fn new(watch: &'a Watch<'a>) -> Self {
        Self {
            watch,
            line: Cell::new(None),
            statement: Cell::new(None),
            begun: RefCell::default(),
            id: OnceCell::new(),
        }
    }

    pub(crate) fn stepper(&self) -> Option<&'a Stepper> {
        self.watch.stepper
    }

    pub(crate) fn wants(&self, kind: EventKind) -> bool {
        self.watch.subscription.has(kind)
    }

    pub(crate) fn wants_variable(&self, name: &str) -> bool {
        self.watch.subscription.has_variable(name)
    }

    pub(crate) fn tell(&self, event: Event<'_>) {
        (self.watch.tell)(event);
    }

    /// Names the run in its events.
    pub(crate) fn id(&self) -> &str {
        self.id.get_or_init(super::new_id)
    }

    /// The line of the statement that is being polled.
    pub(crate) fn line(&self) -> Option<u32> {
        self.line.get()
    }

    /// The statement that is being polled.
    pub(crate) fn statement(&self) -> Option<u32> {
        self.statement.get()
    }

    /// What happens from here on belongs to this statement.
    pub(crate) fn enter(&self, node: &Node) {
        self.line.set(line_of(node));
        self.statement.set(Some(node.id.0));
    }

    /// A statement starts.
    pub(crate) fn begin(&self, plan: &Plan, node: &Node) {
        self.enter(node);
        if !is_statement(plan, node) {
            return;
        }
        if self.wants(EventKind::Success) || self.wants(EventKind::Error) {
            self.begun.borrow_mut().insert(node.id, Instant::now());
        }
        if self.wants(EventKind::InFlight) {
            let (statement, verb) = (node.id.0, verb_of(node));
            self.tell(Event::Started { line: line_of(node), statement, verb });
        }
    }

    /// A statement is over.
    pub(crate) fn end(&self, node: &Node, is_success: bool) {
        self.enter(node);
        let Some(begun) = self.begun.borrow_mut().remove(&node.id) else { return };
        let kind = if is_success { EventKind::Success } else { EventKind::Error };
        if self.wants(kind) {
            let elapsed = begun.elapsed();
            let statement = node.id.0;
            self.tell(Event::Ended { line: line_of(node), statement, is_success, elapsed });
        }
    }
}

/// A bare `return name` has no line (TRC-6).
fn line_of(node: &Node) -> Option<u32> {
    match node.kind {
        NodeKind::Reference { is_return: true, .. } => None,
        _ => Some(node.line),
    }
}

/// What the statement does to an API; empty if it asks none.
fn verb_of(node: &Node) -> &'static str {
    match &node.kind {
        NodeKind::Select(_) => "select",
        NodeKind::Write(write) => match write.kind {
            WriteKind::Insert => "insert",
            WriteKind::Update => "update",
        },
        NodeKind::Delete(_) => "delete",
        _ => "",
    }
}

/// Whether the node was written as a statement: blocks are not, nor is the value that stands in for
/// a missing `return`.
fn is_statement(plan: &Plan, node: &Node) -> bool {
    let stands_in = || {
        plan.value == node.id
            && (node.span.start == node.span.end
                || node.target.is_none()
                    && matches!(node.kind, NodeKind::Reference { is_return: false, .. }))
    };
    !matches!(node.kind, NodeKind::If(_) | NodeKind::Try(_)) && !stands_in()
}
