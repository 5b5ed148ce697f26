//! Runs a plan one statement at a time, as its watcher lets them through (WSK-9).
//!
//! The first statement that may run, runs at once. Every later one waits until the watcher steps, in
//! the order in which they became ready unless the watcher chooses; a step does not wait for what is already
//! running. `if` and `try` wait like other statements, and so does the choice among the catches of a `try`. After
//! each statement that ends while others wait, the watcher is told the variables. Everything else is
//! as without steps, which is why the parts are those of the parent module.

use std::pin::pin;

use futures_util::{
    StreamExt,
    future::{Either, select},
    stream::FuturesUnordered,
};
use qlio_data::{Object, Value};
use qlio_plan::{NodeId, NodeKind};

use super::{Scheduler, Started, decide_try, fail_doomed, finish, start, wait_for};
use crate::{
    error::RunError,
    event::{Event, EventKind, Place, Stepper, place_of},
    run::Run,
};

/// What may happen next, if the watcher lets it.
#[derive(Debug, Clone, Copy)]
enum Move {
    /// A statement starts.
    Start(NodeId),
    /// The catches of a `try` are chosen among.
    Catches(NodeId),
}

impl Move {
    fn node(self) -> NodeId {
        match self {
            Self::Start(id) | Self::Catches(id) => id,
        }
    }

    fn place(self, run: &Run<'_>) -> Place {
        let node = run.plan.node(self.node());
        match (self, &node.kind) {
            (Self::Catches(_), NodeKind::Try(block)) => {
                let line = block.catches.first().map_or(node.line, |catch| catch.line);
                Place { line: Some(line), catch: Some(0), ..place_of(node) }
            }
            _ => place_of(node),
        }
    }
}

/// What waits to be let through.
struct Queue<'s> {
    stepper: &'s Stepper,
    waiting: Vec<Move>,
    has_begun: bool,
}

impl Queue<'_> {
    /// The next move that needs no step; what needs one is put in the queue.
    fn next(&mut self, scheduler: &mut Scheduler<'_>, run: &Run<'_>) -> Option<Move> {
        loop {
            let (next, is_free) = if let Some(block) = scheduler.next_undecided_try() {
                // Without catches there is nothing to choose.
                let node = run.plan.node(block);
                let has_catches =
                    matches!(&node.kind, NodeKind::Try(parts) if !parts.catches.is_empty());
                (Move::Catches(block), !has_catches)
            } else {
                let id = scheduler.next_ready()?;
                (Move::Start(id), !std::mem::replace(&mut self.has_begun, true))
            };
            if is_free || self.stepper.is_released() {
                return Some(next);
            }
            self.waiting.push(next);
            self.stepper.wait_for(next.node().0);
        }
    }

    /// What the watcher has let through.
    fn take(&mut self, statement: u32) -> Option<Move> {
        let position = self.waiting.iter().position(|next| next.node().0 == statement)?;
        Some(self.waiting.remove(position))
    }
}

/// Like [`super::execute`], with a stop before each statement but the first.
pub(super) async fn execute(run: &Run<'_>, stepper: &Stepper) -> Result<Value, RunError> {
    let mut scheduler = Scheduler::new(run.plan);
    let mut in_flight = FuturesUnordered::new();
    let mut queue = Queue { stepper, waiting: Vec::new(), has_begun: false };
    let mut stepped = None;
    let mut has_ended = false;
    scheduler.start();
    loop {
        while let Some(next) = stepped.take().or_else(|| queue.next(&mut scheduler, run)) {
            match next {
                Move::Start(id) => match start(run, &mut scheduler, run.plan.node(id)) {
                    Started::Done(outcome) => {
                        finish(run, &mut scheduler, id, outcome)?;
                        has_ended = true;
                    }
                    Started::Block => has_ended = true,
                    Started::Later(value) => {
                        in_flight.push(Box::pin(wait_for(run, run.plan.node(id), value)));
                    }
                },
                Move::Catches(block) => {
                    decide_try(run, &mut scheduler, block)?;
                    has_ended = true;
                }
            }
            fail_doomed(run, &mut scheduler)?;
        }
        if std::mem::take(&mut has_ended) && !queue.waiting.is_empty() {
            tell_pause(run, &queue.waiting);
        }
        let let_through = match (in_flight.is_empty(), queue.waiting.is_empty()) {
            (true, true) if scheduler.release_stuck() => continue,
            (true, true) => break,
            (false, true) => Either::Left(in_flight.next().await),
            (true, false) => Either::Right(stepper.next().await),
            (false, false) => match select(in_flight.next(), pin!(stepper.next())).await {
                Either::Left((ended, _)) => Either::Left(ended),
                Either::Right((statement, _)) => Either::Right(statement),
            },
        };
        match let_through {
            Either::Left(Some((id, outcome))) => {
                finish(run, &mut scheduler, id, outcome)?;
                fail_doomed(run, &mut scheduler)?;
                has_ended = true;
            }
            Either::Left(None) => {}
            Either::Right(statement) => stepped = queue.take(statement),
        }
    }
    scheduler
        .into_value()
        .ok_or_else(|| RunError::internal("the plan came to a stop before its value was known"))
}

fn tell_pause(run: &Run<'_>, waiting: &[Move]) {
    let Some(observation) = &run.observation else { return };
    if !observation.wants(EventKind::Debug) {
        return;
    }
    let slots = run.slots.borrow();
    let variables: Object = run
        .plan
        .symbols
        .iter()
        .zip(slots.iter())
        .filter(|(symbol, value)| !symbol.name.is_empty() && !value.is_absent())
        .map(|(symbol, value)| (symbol.name.clone(), value.clone()))
        .collect();
    drop(slots);
    let waiting = waiting.iter().map(|next| next.place(run)).collect();
    observation.tell(Event::Paused { variables, waiting });
}
