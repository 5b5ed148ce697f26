//! Running the programs of expressions over rows (ADR 0028).
//!
//! In: a program, a row, the values that are the same for all rows. Out: a value. One [`Machine`] serves
//! all programs and rows of a statement, so that a row costs no allocation but those of its values. What would
//! hold the worker too long is done [`apart`].

mod apart;
mod operands;

use std::{cell::Cell, sync::Arc};

use qlio_data::{
    Text, Value,
    compute::{
        ComputeError,
        function::{Context, Function},
        number,
    },
};
use qlio_plan::operator::{Calculation, Operation, Place, Program};
use qlio_syntax::diagnostic::codes;

use super::{filter::Expectation, tuples::Tuple};
use crate::{
    budget::{Budget, VALUE_BYTES},
    error::{Origin, RunError},
    heavy::Heavy,
};
use apart::is_dropped_apart;
pub(super) use apart::{AT_ONCE_BYTES_MAX, DROPPED_HERE_MAX};
pub(crate) use apart::{do_apart, is_large, key_of};
use operands::{
    compare_at_once, fits_pattern, has_large_operands, holds, make_object, or_null, pop, pop_two,
};

/// A value that the statement has computed before its rows.
pub(crate) enum GivenValue {
    /// The value itself.
    Value(Value),
    /// What a condition expects.
    Expectation(Arc<Expectation>),
}

/// Bytes that functions read or make in about the time of one row.
const WORK_BYTES: usize = 64;

/// The work of compiling a pattern, which is looked at behind each.
const PATTERN_UNITS: usize = 1_024;

/// Where a program is.
#[derive(Default)]
struct Flow {
    next: usize,
    guards: Vec<Guarded>,
}

/// What `try` is around of: where it ends, and the height of the stack before it.
struct Guarded {
    end: usize,
    depth: usize,
}

impl Flow {
    /// What `try` is around of is null; anything else ends the select.
    fn recover(&mut self, stack: &mut Vec<Value>, error: RunError) -> Result<(), RunError> {
        if error.code != codes::WRONG_OPERAND {
            return Err(error);
        }
        let Some(guarded) = self.guards.pop() else { return Err(error) };
        stack.truncate(guarded.depth);
        stack.push(Value::Null);
        self.next = guarded.end;
        Ok(())
    }
}

/// Why a program has stopped.
enum Stop {
    /// It has come to its end.
    Ended,
    /// Others may have their turn.
    Due,
    /// The next operation would hold the worker too long.
    Large,
}

/// What programs of a statement share.
pub(crate) struct Machine<'a> {
    pub(crate) budget: &'a Budget,
    /// Who does what would take too long here.
    pub(crate) heavy: &'a Heavy,
    pub(crate) givens: &'a [GivenValue],
    /// The name of the source, for messages.
    pub(crate) source: &'a Text,
    /// The rows are groups, for messages.
    pub(crate) has_groups: bool,
    /// Who is at fault if a row has a value that cannot be computed with.
    pub(crate) fault: Origin,
    /// The time and what else functions need.
    pub(crate) context: Context<'a>,
    /// Divisions by zero so far, which give null.
    pub(crate) zero_divisions: Cell<usize>,
}

impl Machine<'_> {
    /// The value of a program for a row, whose number messages tell. `stack` is empty, and is empty again
    /// afterwards.
    ///
    /// # Errors
    /// A value that cannot be computed with; a limit of the run; as many jobs wait for a heavy thread as may.
    #[inline]
    pub(crate) async fn run(
        &self,
        program: &Program,
        stack: &mut Vec<Value>,
        row: Tuple<'_>,
        number: usize,
    ) -> Result<Value, RunError> {
        let mut flow = Flow::default();
        let outcome = match self.execute(&mut flow, program, stack, row, number) {
            Ok(Stop::Ended) => Ok(()),
            Ok(stop) => {
                Box::pin(self.run_in_turns(stop, &mut flow, program, stack, row, number)).await
            }
            Err(error) => Err(error),
        };
        let value = stack.pop().unwrap_or_default();
        stack.clear();
        outcome.map(|()| value)
    }

    /// Runs a program that has stopped to its end.
    async fn run_in_turns(
        &self,
        mut stop: Stop,
        flow: &mut Flow,
        program: &Program,
        stack: &mut Vec<Value>,
        row: Tuple<'_>,
        number: usize,
    ) -> Result<(), RunError> {
        loop {
            match stop {
                Stop::Ended => return Ok(()),
                Stop::Due => self.budget.pause().await?,
                Stop::Large => {
                    let Some(operation) = program.operations.get(flow.next) else { return Ok(()) };
                    flow.next += 1;
                    let done = self.do_apart(operation, program, stack, row, number).await;
                    done.or_else(|error| flow.recover(stack, error))?;
                }
            }
            stop = self.execute(flow, program, stack, row, number)?;
        }
    }

    fn execute(
        &self,
        flow: &mut Flow,
        program: &Program,
        stack: &mut Vec<Value>,
        row: Tuple<'_>,
        number: usize,
    ) -> Result<Stop, RunError> {
        loop {
            match self.go_on(flow, program, stack, row, number) {
                Ok(stop) => return Ok(stop),
                Err(error) => flow.recover(stack, error)?,
            }
        }
    }

    fn go_on(
        &self,
        flow: &mut Flow,
        program: &Program,
        stack: &mut Vec<Value>,
        row: Tuple<'_>,
        number: usize,
    ) -> Result<Stop, RunError> {
        while let Some(operation) = program.operations.get(flow.next) {
            match operation {
                Operation::Constant(value) => stack.push(value.clone()),
                Operation::Given(given) => stack.push(match &self.givens[*given] {
                    GivenValue::Value(value) => value.clone(),
                    GivenValue::Expectation(_) => Value::Absent,
                }),
                Operation::Column(side, column) => {
                    let cell = row.cell(*side, *column);
                    let then = program.operations.get(flow.next + 1..flow.next + 3);
                    if let Some(holds) = then.and_then(|then| compare_at_once(cell, then)) {
                        stack.push(Value::Bool(holds));
                        flow.next += 2;
                    } else {
                        stack.push(cell.value());
                    }
                }
                Operation::Jump(target) => {
                    flow.next = *target;
                    continue;
                }
                Operation::JumpIfFalse(target) => {
                    if !pop(stack).is_truthy() {
                        flow.next = *target;
                        continue;
                    }
                }
                Operation::JumpIfTrue(target) => {
                    if pop(stack).is_truthy() {
                        flow.next = *target;
                        continue;
                    }
                }
                Operation::Copy => {
                    let value = stack.last().cloned().unwrap_or_default();
                    stack.push(value);
                }
                Operation::Drop => {
                    stack.pop();
                }
                Operation::Guard(end) => {
                    flow.guards.push(Guarded { end: *end, depth: stack.len() });
                }
                Operation::Unguard => {
                    flow.guards.pop();
                }
                operation => match self.work_out(operation, program, stack, row, number)? {
                    Worked::Done => {}
                    Worked::Due => {
                        flow.next += 1;
                        return Ok(Stop::Due);
                    }
                    Worked::Large => return Ok(Stop::Large),
                },
            }
            flow.next += 1;
        }
        Ok(Stop::Ended)
    }

    /// Does an operation that leaves the way of the program alone, unless it would hold the worker too long.
    fn work_out(
        &self,
        operation: &Operation,
        program: &Program,
        stack: &mut Vec<Value>,
        row: Tuple<'_>,
        number: usize,
    ) -> Result<Worked, RunError> {
        if has_large_operands(operation, stack) {
            return Ok(Worked::Large);
        }
        let refuse = |place: usize, error| self.refuse(&program.places[place], &error, number);
        let result = match operation {
            Operation::Matches { side, column, given } => {
                let cell = row.cell(*side, *column).value();
                if is_large(&cell) {
                    return Ok(Worked::Large);
                }
                Value::Bool(self.is_expected(*given, &cell))
            }
            Operation::Expected(given) => Value::Bool(self.is_expected(*given, &pop(stack))),
            Operation::Compute(calculation, place) => {
                let computed = self.calculate(*calculation, stack);
                let computed = computed.map_err(|error| refuse(*place, error))?;
                if let Value::String(text) = &computed {
                    self.budget.charge_memory(text.len())?;
                }
                computed
            }
            Operation::Call { function, arguments, place } => {
                return self.call(function, *arguments, stack, |error| refuse(*place, error));
            }
            Operation::Negate(place) => {
                number::negate(&pop(stack)).map_err(|error| refuse(*place, error))?
            }
            Operation::LikeDynamic(manner, place) => {
                let (value, pattern) = pop_two(stack);
                // To compile it takes as long as many rows.
                let holds = self.budget.measure(|| fits_pattern(*manner, &value, &pattern))?;
                stack.push(Value::Bool(holds.map_err(|error| refuse(*place, error))?));
                return Ok(Worked::Due);
            }
            Operation::Object(names) => {
                let values = stack.split_off(stack.len().saturating_sub(names.len()));
                let object = make_object(names, values);
                self.budget.charge_memory(object.len() * 2 * VALUE_BYTES)?;
                Value::object(object)
            }
            Operation::List(count) => {
                let items = stack.split_off(stack.len().saturating_sub(*count));
                self.budget.charge_memory(items.len() * VALUE_BYTES)?;
                items.into_iter().map(or_null).collect()
            }
            test => Value::Bool(holds(test, stack)),
        };
        stack.push(result);
        Ok(Worked::Done)
    }

    /// Whether a value, or an element of it, is one that a condition expects.
    fn is_expected(&self, given: usize, value: &Value) -> bool {
        match &self.givens[given] {
            GivenValue::Expectation(expected) => expected.holds_for_some(value),
            GivenValue::Value(_) => false,
        }
    }

    fn calculate(
        &self,
        calculation: Calculation,
        stack: &mut Vec<Value>,
    ) -> Result<Value, ComputeError> {
        let (left, right) = pop_two(stack);
        let result = calculation.of(&left, &right)?;
        let is_division = matches!(calculation, Calculation::Divide | Calculation::Remainder);
        if is_division && result.is_nothing() && !left.is_nothing() && !right.is_nothing() {
            self.zero_divisions.set(self.zero_divisions.get() + 1);
        }
        Ok(result)
    }

    /// Calls a function with the last values, counts its work and notes a division by zero.
    fn call(
        &self,
        function: &Function,
        count: usize,
        stack: &mut Vec<Value>,
        refuse: impl FnOnce(ComputeError) -> RunError,
    ) -> Result<Worked, RunError> {
        let first = stack.len().saturating_sub(count);
        let arguments = &stack[first..];
        if function.effort(arguments, AT_ONCE_BYTES_MAX) > AT_ONCE_BYTES_MAX {
            return Ok(Worked::Large);
        }
        let compiled = self.context.compiled();
        let result = match function.call(&self.context, arguments) {
            Ok(result) => result,
            Err(ComputeError::TooLong) => return Ok(Worked::Large),
            Err(error) => return Err(refuse(error)),
        };
        let is_division = matches!(function.name, "mod" | "div");
        if is_division && result.is_nothing() && !arguments.iter().any(Value::is_nothing) {
            self.zero_divisions.set(self.zero_divisions.get() + 1);
        }
        let read: usize = arguments.iter().map(size_of).sum();
        let made = size_of(&result);
        self.budget.charge_memory(made)?;
        if arguments.iter().any(is_dropped_apart) {
            self.heavy.drop_apart(stack.split_off(first));
        }
        stack.truncate(first);
        stack.push(result);
        // Long texts and lists take time, and patterns, of which a row alone says nothing.
        let patterns = (self.context.compiled() - compiled) as usize * PATTERN_UNITS;
        let is_due = self.budget.spend(1 + (read + made) / WORK_BYTES + patterns);
        Ok(if is_due { Worked::Due } else { Worked::Done })
    }

    /// A group has values that give nothing together.
    #[cold]
    pub(crate) fn refuse_group(
        &self,
        place: &Place,
        error: &ComputeError,
        group: usize,
    ) -> RunError {
        let message =
            format!("`{}`: {error} in group {} of {}", place.text, group + 1, self.source);
        RunError::new(codes::WRONG_OPERAND, self.fault, message).at_line(place.line)
    }

    /// A row has a value that cannot be computed with.
    #[cold]
    pub(crate) fn refuse(&self, place: &Place, error: &ComputeError, row: usize) -> RunError {
        let operand = error.position().and_then(|position| place.operands.get(position));
        let text = &place.text;
        let what = match operand {
            Some(operand) if operand != text => format!("`{text}`: `{operand}`"),
            _ => format!("`{text}`"),
        };
        let reason = match (operand, error) {
            (Some(operand), ComputeError::WrongOperand { found, wanted, .. })
                if operand != text =>
            {
                format!(" is {found} and not {wanted}")
            }
            (Some(_), ComputeError::WrongOperand { found, wanted, .. }) => {
                format!(": {found} and not {wanted}")
            }
            _ => format!(": {error}"),
        };
        let unit = if self.has_groups { "group" } else { "row" };
        let message = format!("{what}{reason} in {unit} {} of {}", row + 1, self.source);
        RunError::new(codes::WRONG_OPERAND, self.fault, message).at_line(place.line)
    }
}

/// What has become of an operation.
enum Worked {
    Done,
    /// It is done, and others may have their turn.
    Due,
    /// It would hold the worker too long, and is not done.
    Large,
}

/// About how many bytes a value takes by itself, without what its elements hold.
fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) | Value::Raw(text) => text.len(),
        Value::Array(_) | Value::Object(_) => value.len() * VALUE_BYTES,
        _ => 0,
    }
}
