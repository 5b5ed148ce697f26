//! Runs a plan: starts every node as soon as its edges allow, on the task of the request.
//!
//! The [`scheduler`] knows which nodes may start; this module runs them. Nodes that need no exchange
//! run at once; the others become futures that are polled together. Nothing is spawned, so dropping
//! the run drops everything it started.
//!
//! Source: EXE-16.

mod asking;
mod conditions;
mod grouping;
mod join;
mod joins;
mod lookups;
mod nested;
mod pushdown;
mod scheduler;
#[cfg(test)]
mod scheduler_tests;
mod statement;
mod stepping;
mod steps;
mod union;
mod write;

use std::{
    future::poll_fn,
    pin::{Pin, pin},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use qlio_data::{Value, redact::redact};
use qlio_plan::{Node, NodeId, NodeKind, SlotId};
use smallvec::SmallVec;

use crate::{
    error::RunError,
    evaluate,
    event::{End, Event, Observation},
    lookups::is_large,
    run::Run,
};
use scheduler::Scheduler;

/// Units of work to start a statement.
const NODE_UNITS: usize = 16;

/// Runs the plan of `run` to its end and answers the value.
///
/// # Errors
/// The first error that no fallback caught; what was still running is dropped.
pub(crate) async fn execute(run: &Run<'_>) -> Result<Value, RunError> {
    if let Some(stepper) = run.observation.as_ref().and_then(Observation::stepper) {
        return Box::pin(stepping::execute(run, stepper)).await;
    }
    let mut scheduler = Scheduler::new(run.plan);
    // Made by the first statement that does not wait alone.
    let mut in_flight = None;
    // What was started since the last wait. One statement alone is awaited as it is; boxes keep
    // the large futures of statements from being moved about.
    let mut started: SmallVec<[Pin<Box<_>>; 1]> = SmallVec::new();
    scheduler.start();
    loop {
        while let Some(id) = scheduler.next_ready() {
            let node = run.plan.node(id);
            if run.budget.spend(NODE_UNITS) {
                run.budget.pause().await?;
            }
            match start(run, &mut scheduler, node) {
                Started::Done(outcome) => finish(run, &mut scheduler, id, outcome)?,
                Started::Block => {}
                Started::Later(value) => {
                    started.push(Box::pin(wait_for(run, node, value)));
                }
            }
            decide_catches(run, &mut scheduler)?;
        }
        let is_alone = in_flight.as_ref().is_none_or(FuturesUnordered::is_empty);
        let ended = if is_alone && started.len() < 2 {
            match started.pop() {
                Some(statement) => Some(statement.await),
                None => None,
            }
        } else {
            let in_flight = in_flight.get_or_insert_with(FuturesUnordered::new);
            in_flight.extend(started.drain(..));
            in_flight.next().await
        };
        let Some((id, outcome)) = ended else {
            if scheduler.release_stuck() {
                continue;
            }
            break;
        };
        finish(run, &mut scheduler, id, outcome)?;
        decide_catches(run, &mut scheduler)?;
    }
    scheduler
        .into_value()
        .ok_or_else(|| RunError::internal("the plan came to a stop before its value was known"))
}

/// Runs a statement that has to wait, unless its value is known. While it is polled, what it tells a watcher is
/// told in its name.
async fn wait_for(
    run: &Run<'_>,
    node: &Node,
    value: Option<Value>,
) -> (NodeId, Result<Value, RunError>) {
    let outcome = if let Some(value) = value {
        Ok(value)
    } else {
        let mut statement = pin!(statement::run(run, node));
        poll_fn(|context| {
            if let Some(observation) = &run.observation {
                observation.enter(node);
            }
            statement.as_mut().poll(context)
        })
        .await
    };
    (node.id, found_ahead(run, node, outcome).await)
}

/// The outcome of a node once what templates read of a large value has been found.
async fn found_ahead(
    run: &Run<'_>,
    node: &Node,
    outcome: Result<Value, RunError>,
) -> Result<Value, RunError> {
    if let (Some(slot), Ok(value)) = (node.target, &outcome)
        && is_large(value)
    {
        Box::pin(lookups::find_ahead(run, slot, value)).await?;
    }
    outcome
}

enum Started {
    /// The node's outcome is known.
    Done(Result<Value, RunError>),
    /// The node is a block; the scheduler goes on with its branches.
    Block,
    /// The node has to wait for something outside, or its value is known and so large that others must not
    /// wait while it is looked into.
    Later(Option<Value>),
}

fn start(run: &Run<'_>, scheduler: &mut Scheduler<'_>, node: &Node) -> Started {
    if let Some(observation) = &run.observation {
        observation.begin(node);
    }
    if let Err(error) = run.require_settings(&node.missing_settings) {
        return Started::Done(Err(error));
    }
    match evaluate::missing_prerequisite(run, node) {
        Ok(None) => {}
        Ok(Some(name)) => {
            run.warn(format!(
                "line {}: required parameter not found in context: {name}",
                node.line
            ));
            return Started::Done(Ok(Value::Absent));
        }
        Err(error) => return Started::Done(Err(error)),
    }
    match &node.kind {
        NodeKind::If(block) => match evaluate::logic(run, &block.condition) {
            Ok(is_true) => {
                end_block(run, node);
                scheduler.decide_if(node.id, is_true, &mut |node| skip(run, node));
                Started::Block
            }
            Err(error) => Started::Done(Err(error.at_line(node.line))),
        },
        NodeKind::Try(_) => {
            end_block(run, node);
            scheduler.begin_try(node.id);
            Started::Block
        }
        NodeKind::Select(_) | NodeKind::Write(_) | NodeKind::Delete(_) | NodeKind::Call(_) => {
            Started::Later(None)
        }
        _ => match statement::run_now(run, node) {
            Ok(value) if node.target.is_some() && is_large(&value) => Started::Later(Some(value)),
            outcome => Started::Done(outcome),
        },
    }
}

/// What a block itself does is over when it is known which of its statements go on.
fn end_block(run: &Run<'_>, node: &Node) {
    if let Some(observation) = &run.observation {
        observation.end(node, End::Done);
    }
}

/// A statement of a branch that is not taken binds null.
fn skip(run: &Run<'_>, node: &Node) {
    if let Some(slot) = node.target {
        run.set_slot(slot, Value::Null);
    }
    if let Some(observation) = &run.observation {
        observation.skip(node);
    }
}

/// Takes the outcome of a node: tries the next alternative, or binds the target and goes on.
fn finish(
    run: &Run<'_>,
    scheduler: &mut Scheduler<'_>,
    id: NodeId,
    outcome: Result<Value, RunError>,
) -> Result<(), RunError> {
    let node = run.plan.node(id);
    if let Some(observation) = &run.observation {
        observation.end(node, outcome.as_ref().map_or(End::Failed, End::Given));
    }
    // Nothing that the script says makes an answer of what a limit has refused.
    run.budget.check().map_err(|error| error.at_line(node.line))?;
    conclude(run, scheduler, node, outcome)
}

/// The same for an alternative that may not have run, because what it needs failed.
fn conclude(
    run: &Run<'_>,
    scheduler: &mut Scheduler<'_>,
    node: &Node,
    outcome: Result<Value, RunError>,
) -> Result<(), RunError> {
    let is_something = matches!(&outcome, Ok(value) if !value.is_nothing());
    if let Some(fallback) = node.fallback
        && !is_something
    {
        scheduler.open_fallback(fallback);
        return Ok(());
    }
    skip_alternatives(run, node);
    let value = match outcome {
        Ok(value) => value,
        Err(error) => return scheduler.fail(node.id, error.at_line(node.line)),
    };
    if let Some(slot) = node.target {
        run.set_slot(slot, value.clone());
        tell_assignment(run, slot, &value);
    }
    scheduler.settle(node.id, value);
    Ok(())
}

/// The later alternatives of a chain that has an outcome are not needed.
fn skip_alternatives(run: &Run<'_>, node: &Node) {
    let Some(observation) = &run.observation else { return };
    let mut next = node.fallback;
    while let Some(id) = next {
        let alternative = run.plan.node(id);
        observation.skip(alternative);
        next = alternative.fallback;
    }
}

fn tell_assignment(run: &Run<'_>, slot: SlotId, value: &Value) {
    let Some(observation) = &run.observation else { return };
    let name = &*run.plan.symbols[slot.index()].name;
    if !name.is_empty() && observation.wants_variable(name) {
        observation.tell(Event::Assigned { name, value });
    }
}

/// What must happen before another statement starts: what needs a failed statement fails as well, and
/// a `try` whose body has ended decides its catches, which may end the `try` and the one around it.
fn decide_catches(run: &Run<'_>, scheduler: &mut Scheduler<'_>) -> Result<(), RunError> {
    loop {
        fail_doomed(run, scheduler)?;
        if let Some(block) = scheduler.next_undecided_try() {
            decide_try(run, scheduler, block)?;
        } else {
            return Ok(());
        }
    }
}

/// What needs a failed statement fails as well.
fn fail_doomed(run: &Run<'_>, scheduler: &mut Scheduler<'_>) -> Result<(), RunError> {
    loop {
        while let Some(slot) = scheduler.next_unbound() {
            run.set_slot(slot, Value::Null);
        }
        let Some((id, error)) = scheduler.next_doomed() else { return Ok(()) };
        conclude(run, scheduler, run.plan.node(id), Err(error))?;
    }
}

fn decide_try(run: &Run<'_>, scheduler: &mut Scheduler<'_>, block: NodeId) -> Result<(), RunError> {
    let node = run.plan.node(block);
    let NodeKind::Try(parts) = &node.kind else { return Ok(()) };
    let caught = scheduler.caught(block).cloned();
    if let Some(slot) = node.target {
        bind_caught(run, slot, caught.as_ref());
    }
    let mut chosen = Vec::with_capacity(parts.catches.len());
    for catch in &parts.catches {
        match evaluate::logic(run, &catch.condition) {
            Ok(is_true) => chosen.push(is_true),
            Err(error) => {
                if let Some(observation) = &run.observation {
                    observation.tell_catches(node, &chosen, Some(chosen.len()));
                }
                return scheduler.fail_try(block, error);
            }
        }
    }
    if let Some(observation) = &run.observation {
        observation.tell_catches(node, &chosen, None);
    }
    let mut answers = parts.catches.iter().zip(&chosen);
    let is_dealt_with = answers.any(|(catch, is_chosen)| catch.names_error && *is_chosen);
    match caught {
        Some(error) if !is_dealt_with => scheduler.fail_try(block, error),
        _ => {
            scheduler.decide_catches(block, &chosen, &mut |node| skip(run, node));
            Ok(())
        }
    }
}

/// Binds what a `try` caught: the object that a client would be sent, without secrets; null if
/// nothing failed.
fn bind_caught(run: &Run<'_>, slot: SlotId, caught: Option<&RunError>) {
    let Some(error) = caught else { return run.set_slot(slot, Value::Null) };
    let value = redact(run.engine.describe_error(error), run.catalog.secrets());
    run.caught.borrow_mut().insert(slot, error.clone());
    run.set_slot(slot, value.clone());
    tell_assignment(run, slot, &value);
}
