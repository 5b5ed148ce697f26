//! Runs a plan one statement at a time, as its watcher lets them through (WSK-9).
//!
//! The first statement that may run, runs at once. Every later one waits until the watcher steps, in
//! the order in which they became ready; a step does not wait for what is already running. After
//! each statement that ends while others wait, the watcher is told the variables. Everything else is
//! as without steps, which is why the parts are those of the parent module.

use std::{collections::VecDeque, pin::pin};

use futures_util::{
    StreamExt,
    future::{Either, select},
    stream::FuturesUnordered,
};
use qlio_data::{Object, Value};
use qlio_plan::{NodeId, NodeKind};

use super::{Scheduler, Started, decide_catches, finish, start, wait_for};
use crate::{
    error::RunError,
    event::{Event, EventKind, Stepper},
    run::Run,
};

/// Like [`super::execute`], with a stop before each statement but the first.
pub(super) async fn execute(run: &Run<'_>, stepper: &Stepper) -> Result<Value, RunError> {
    let mut scheduler = Scheduler::new(run.plan);
    let mut in_flight = FuturesUnordered::new();
    let mut waiting: VecDeque<NodeId> = VecDeque::new();
    let mut stepped = None;
    let mut has_begun = false;
    let mut has_ended = false;
    scheduler.start();
    loop {
        while let Some(id) = stepped
            .take()
            .or_else(|| hold_back(run, &mut scheduler, &mut waiting, &mut has_begun, stepper))
        {
            let node = run.plan.node(id);
            match start(run, &mut scheduler, node) {
                Started::Done(outcome) => {
                    finish(run, &mut scheduler, id, outcome)?;
                    has_ended = true;
                }
                Started::Block => {}
                Started::Later(value) => in_flight.push(Box::pin(wait_for(run, node, value))),
            }
            decide_catches(run, &mut scheduler)?;
        }
        if std::mem::take(&mut has_ended) && !waiting.is_empty() {
            tell_pause(run);
        }
        let ended = match (in_flight.is_empty(), waiting.is_empty()) {
            (true, true) if scheduler.release_stuck() => continue,
            (true, true) => break,
            (false, true) => in_flight.next().await,
            (true, false) => {
                stepper.next().await;
                None
            }
            (false, false) => match select(in_flight.next(), pin!(stepper.next())).await {
                Either::Left((ended, _)) => ended,
                Either::Right(_) => None,
            },
        };
        match ended {
            Some((id, outcome)) => {
                finish(run, &mut scheduler, id, outcome)?;
                decide_catches(run, &mut scheduler)?;
                has_ended = true;
            }
            None => stepped = waiting.pop_front(),
        }
    }
    scheduler
        .into_value()
        .ok_or_else(|| RunError::internal("the plan came to a stop before its value was known"))
}

/// The next node that may start without a step; what may not is put in the queue.
fn hold_back(
    run: &Run<'_>,
    scheduler: &mut Scheduler<'_>,
    waiting: &mut VecDeque<NodeId>,
    has_begun: &mut bool,
    stepper: &Stepper,
) -> Option<NodeId> {
    while let Some(id) = scheduler.next_ready() {
        // A block only decides what comes next, so stopping there would show nothing new.
        let is_block = matches!(run.plan.node(id).kind, NodeKind::If(_) | NodeKind::Try(_));
        if is_block || !std::mem::replace(has_begun, true) {
            return Some(id);
        }
        waiting.push_back(id);
        stepper.wait_for_one_more();
    }
    None
}

fn tell_pause(run: &Run<'_>) {
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
    observation.tell(Event::Paused { variables });
}
