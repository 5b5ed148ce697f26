//! What the tests of a select make its table ask for (TAB-25).
//!
//! In: the steps of a select, and the values that are the same for all its rows. Out: parameters of the table.
//! Only what surely leaves no row out is asked for: the tests are made again on the rows that come.

use qlio_data::Value;
use qlio_plan::operator::{Given, Pushed, PushedValue, Select, Steps};

use super::{conditions::is_list, steps};
use crate::{
    error::RunError,
    operator::{
        program::{GivenValue, Machine},
        tuples::Tuple,
    },
    own::Own,
    run::Run,
};

/// What is asked of the table of a select.
pub(super) enum Bound {
    /// What its own values say. Here is what its tests compare with.
    Asks(Vec<GivenValue>),
    /// Nothing: no row could pass its tests.
    NeedsNothing,
}

/// Adds what the tests of a select bind to the values of its statement. What they compare with is computed
/// once.
pub(super) async fn bind(
    run: &Run<'_>,
    select: &Select,
    steps: &Steps,
    own: &mut Own,
) -> Result<Bound, RunError> {
    let givens = steps::givens(run, steps).await?;
    let machine = steps::machine(run, select, &givens);
    let mut stack = Vec::new();
    for pushed in &steps.pushed {
        let value = match &pushed.value {
            PushedValue::Condition(given) => {
                let value = expected(&givens[*given], &steps.givens[*given]);
                if value.is_array() && value.is_empty() {
                    return Ok(Bound::NeedsNothing);
                }
                value
            }
            // What cannot be computed fails with the first row that it is compared with.
            PushedValue::Program(program) => {
                let none = Tuple::without_cells();
                machine.run(program, &mut stack, none, 0).await.unwrap_or_default()
            }
        };
        if !is_askable(&value) {
            continue;
        }
        own.extend(pushed.name.clone().map(|name| (name, value.clone())));
        own.push((pushed.parameter.clone(), value));
    }
    Ok(Bound::Asks(givens))
}

/// Adds what tests of one of several sources make its table ask for; what it is asked for anyway stays.
pub(super) async fn bind_source(
    machine: &Machine<'_>,
    pushed: &[(usize, Pushed)],
    source: usize,
    own: &mut Own,
) {
    let mut stack = Vec::new();
    for (_, pushed) in pushed.iter().filter(|(of, _)| *of == source) {
        let PushedValue::Program(program) = &pushed.value else { continue };
        // What cannot be computed fails with the first row that it is compared with.
        let none = Tuple::without_cells();
        let value = machine.run(program, &mut stack, none, 0).await.unwrap_or_default();
        let is_given = own.iter().any(|(name, _)| *name == pushed.parameter);
        if !is_given && !value.is_array() && is_askable(&value) {
            own.push((pushed.parameter.clone(), value));
        }
    }
}

/// What a condition expects, as a parameter of the same condition has it: one value, or a list of them.
fn expected(value: &GivenValue, given: &Given) -> Value {
    let (GivenValue::Expectation(expectation), Given::Condition(condition)) = (value, given) else {
        return Value::Absent;
    };
    match expectation.values() {
        [single] if !is_list(condition) => single.clone(),
        values => values.iter().cloned().collect(),
    }
}

/// Whether a parameter can have a value: nothing and structures are no values of tokens, and a list with a null
/// in it would ask for too little.
fn is_askable(value: &Value) -> bool {
    match value.elements() {
        Some(elements) => {
            !elements.is_empty()
                && elements.iter().all(|element| !element.is_array() && is_askable(element))
        }
        None => value.scalar_text().is_some() && !value.is_nothing(),
    }
}
