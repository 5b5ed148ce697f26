//! The watched side of one run: who watches, which statement is being polled, when each began.
//!
//! What has begun ends with the run, however that ends: dropping an [`Observation`] tells of every request
//! without an answer and of every statement without an end, and of those that have never begun.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use qlio_data::Value;
use qlio_plan::{Node, NodeId, NodeKind, Plan, operator::WriteKind};
use tokio::time::Instant;

use super::{Event, EventKind, FailedRequestEvent, Place, Stepper, Watch};

/// What is said of a request whose statement did not wait for its answer.
const GIVEN_UP: &str = "given up";

/// A request without an answer.
pub(crate) struct OpenExchange {
    pub(crate) id: String,
    pub(crate) place: Option<Place>,
    pub(crate) started: Instant,
}

/// How a statement ends.
#[derive(Clone, Copy)]
pub(crate) enum End<'v> {
    /// With a value.
    Given(&'v Value),
    /// It gives none.
    Done,
    Failed,
    /// The run has ended before it.
    Cancelled,
}

/// What a watched run keeps for its events.
pub(crate) struct Observation<'a> {
    watch: &'a Watch<'a>,
    plan: &'a Plan,
    /// The statement that is being polled. Statements run interleaved on one task, so this is set anew
    /// whenever one is polled.
    place: Cell<Option<Place>>,
    begun: RefCell<BTreeMap<NodeId, Instant>>,
    /// What has begun, or is known not to; filled if somebody wants to know of the others.
    settled: RefCell<BTreeSet<NodeId>>,
    open: RefCell<BTreeMap<u64, OpenExchange>>,
    exchanges: Cell<u64>,
    id: OnceCell<String>,
}

impl<'a> Observation<'a> {
    pub(crate) fn new(watch: &'a Watch<'a>, plan: &'a Plan) -> Self {
        Self {
            watch,
            plan,
            place: Cell::new(None),
            begun: RefCell::default(),
            settled: RefCell::default(),
            open: RefCell::default(),
            exchanges: Cell::new(0),
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

    /// The statement that is being polled.
    pub(crate) fn place(&self) -> Option<Place> {
        self.place.get()
    }

    /// What happens from here on belongs to this statement.
    pub(crate) fn enter(&self, node: &Node) {
        self.place.set(Some(place_of(node)));
    }

    /// A statement starts.
    pub(crate) fn begin(&self, node: &Node) {
        self.enter(node);
        if !self.is_statement(node) {
            return;
        }
        self.settle(node);
        if self.wants(EventKind::Success) || self.wants(EventKind::Error) {
            self.begun.borrow_mut().insert(node.id, Instant::now());
        }
        if self.wants(EventKind::InFlight) {
            self.tell(Event::Started { place: place_of(node), verb: verb_of(node) });
        }
    }

    /// A statement is over.
    pub(crate) fn end(&self, node: &Node, end: End<'_>) {
        self.enter(node);
        self.give_up_exchanges(Some(node.id.0));
        let begun = self.begun.borrow_mut().remove(&node.id);
        if let Some(begun) = begun {
            self.tell_end(place_of(node), end, begun);
        }
    }

    /// A statement will not run.
    pub(crate) fn skip(&self, node: &Node) {
        if self.wants(EventKind::Skipped) && self.is_statement(node) && self.settle(node) {
            self.tell(Event::Skipped { place: place_of(node) });
            self.tell_catches(node, &[], None);
        }
    }

    /// Which catches of a `try` are taken, as far as that is known, and the one that could not be decided.
    pub(crate) fn tell_catches(&self, node: &Node, chosen: &[bool], failed: Option<usize>) {
        let NodeKind::Try(block) = &node.kind else { return };
        for (number, catch) in block.catches.iter().enumerate() {
            let place = Place {
                line: Some(catch.line),
                statement: node.id.0,
                catch: u32::try_from(number).ok(),
            };
            let is_failed = failed == Some(number);
            if !is_failed && !chosen.get(number).copied().unwrap_or(false) {
                if self.wants(EventKind::Skipped) {
                    self.tell(Event::Skipped { place });
                }
                continue;
            }
            if self.wants(EventKind::InFlight) {
                self.tell(Event::Started { place, verb: "" });
            }
            let end = if is_failed { End::Failed } else { End::Done };
            self.tell_end(place, end, Instant::now());
        }
    }

    /// A request is told; answers its number.
    pub(crate) fn open_exchange(&self, exchange: OpenExchange) -> u64 {
        let number = self.exchanges.get() + 1;
        self.exchanges.set(number);
        if self.wants(EventKind::RequestFailed) {
            self.open.borrow_mut().insert(number, exchange);
        }
        number
    }

    /// A request is answered.
    pub(crate) fn close_exchange(&self, number: u64) {
        self.open.borrow_mut().remove(&number);
    }

    /// A request will not be answered.
    pub(crate) fn fail_exchange(&self, number: u64, error: &str) {
        let exchange = self.open.borrow_mut().remove(&number);
        if let Some(OpenExchange { id, place, started }) = exchange {
            let elapsed = started.elapsed();
            self.tell(Event::RequestFailed(FailedRequestEvent { place, id: &id, error, elapsed }));
        }
    }

    /// Nobody waits any more for the answers to the requests of a statement, or of all.
    fn give_up_exchanges(&self, statement: Option<u32>) {
        let is_given_up = |exchange: &OpenExchange| {
            statement.is_none() || exchange.place.map(|place| place.statement) == statement
        };
        let open = self.open.borrow();
        let numbers: Vec<u64> =
            open.iter().filter(|(_, one)| is_given_up(one)).map(|(number, _)| *number).collect();
        drop(open);
        for number in numbers {
            self.fail_exchange(number, GIVEN_UP);
        }
    }

    fn tell_end(&self, place: Place, end: End<'_>, begun: Instant) {
        let (is_success, value) = match end {
            End::Given(value) => (true, Some(value)),
            End::Done => (true, None),
            End::Failed | End::Cancelled => (false, None),
        };
        let kind = if is_success { EventKind::Success } else { EventKind::Error };
        if self.wants(kind) {
            let elapsed = begun.elapsed();
            let is_cancelled = matches!(end, End::Cancelled);
            self.tell(Event::Ended { place, is_success, is_cancelled, elapsed, value });
        }
    }

    /// Notes that it is known what becomes of a statement; answers whether it was not.
    fn settle(&self, node: &Node) -> bool {
        self.wants(EventKind::Skipped) && self.settled.borrow_mut().insert(node.id)
    }

    /// Whether the node was written as a statement: the value that stands in for a missing `return` was not.
    fn is_statement(&self, node: &Node) -> bool {
        let stands_in = self.plan.value == node.id
            && (node.span.start == node.span.end
                || node.target.is_none()
                    && matches!(node.kind, NodeKind::Reference { is_return: false, .. }));
        !stands_in
    }
}

/// The run is over, or was given up.
impl Drop for Observation<'_> {
    fn drop(&mut self) {
        self.give_up_exchanges(None);
        for (id, begun) in self.begun.take() {
            self.tell_end(place_of(self.plan.node(id)), End::Cancelled, begun);
        }
        if self.wants(EventKind::Skipped) {
            self.plan.nodes.iter().for_each(|node| self.skip(node));
        }
    }
}

/// A bare `return name` has no line (TRC-6).
pub(crate) fn place_of(node: &Node) -> Place {
    let line = match node.kind {
        NodeKind::Reference { is_return: true, .. } => None,
        _ => Some(node.line),
    };
    Place { line, statement: node.id.0, catch: None }
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
