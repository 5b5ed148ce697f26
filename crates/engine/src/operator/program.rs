//! Running the programs of expressions over rows (ADR 0028).
//!
//! In: a program, a row, the values that are the same for all rows. Out: a value. One [`Machine`] serves
//! all programs and rows of a statement, so that a row costs no allocation but those of its values.

use std::cell::Cell;

use qlio_data::{
    Object, Text, Value,
    compute::{
        ComputeError,
        function::{Context, Function},
        number, test,
    },
};
use qlio_plan::operator::{Calculation, MemberName, Operation, PatternManner, Place, Program};
use qlio_syntax::diagnostic::codes;

use super::{filter::Expectation, null_keys, tuples::Tuple};
use crate::{
    budget::{Budget, VALUE_BYTES},
    error::{Origin, RunError},
};

/// A value that the statement has computed before its rows.
pub(crate) enum GivenValue {
    /// The value itself.
    Value(Value),
    /// What a condition expects.
    Expectation(Expectation),
}

/// Bytes that functions read or make in about the time of one row.
const WORK_BYTES: usize = 64;

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

/// What programs of a statement share.
pub(crate) struct Machine<'a> {
    pub(crate) budget: &'a Budget,
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
    pub(crate) fn run(
        &self,
        program: &Program,
        stack: &mut Vec<Value>,
        row: Tuple<'_>,
        number: usize,
    ) -> Result<Value, RunError> {
        let outcome = self.execute(program, stack, row, number);
        let value = stack.pop().unwrap_or_default();
        stack.clear();
        outcome.map(|()| value)
    }

    fn execute(
        &self,
        program: &Program,
        stack: &mut Vec<Value>,
        row: Tuple<'_>,
        number: usize,
    ) -> Result<(), RunError> {
        let mut flow = Flow::default();
        loop {
            match self.go_on(&mut flow, program, stack, row, number) {
                Err(error) if error.code == codes::WRONG_OPERAND => {
                    // What `try` is around of is null; anything else ends the select.
                    let Some(guarded) = flow.guards.pop() else { return Err(error) };
                    stack.truncate(guarded.depth);
                    stack.push(Value::Null);
                    flow.next = guarded.end;
                }
                outcome => return outcome,
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
    ) -> Result<(), RunError> {
        while let Some(operation) = program.operations.get(flow.next) {
            flow.next += 1;
            match operation {
                Operation::Constant(value) => stack.push(value.clone()),
                Operation::Given(given) => stack.push(match &self.givens[*given] {
                    GivenValue::Value(value) => value.clone(),
                    GivenValue::Expectation(_) => Value::Absent,
                }),
                Operation::Column(side, column) => stack.push(row.cell(*side, *column).value()),
                Operation::Matches { side, column, given } => {
                    let cell = row.cell(*side, *column).value();
                    stack.push(Value::Bool(self.is_expected(*given, &cell)));
                }
                Operation::Expected(given) => {
                    let value = pop(stack);
                    stack.push(Value::Bool(self.is_expected(*given, &value)));
                }
                Operation::Jump(target) => flow.next = *target,
                Operation::JumpIfFalse(target) => {
                    if !pop(stack).is_truthy() {
                        flow.next = *target;
                    }
                }
                Operation::JumpIfTrue(target) => {
                    if pop(stack).is_truthy() {
                        flow.next = *target;
                    }
                }
                Operation::Copy => {
                    let value = stack.last().cloned().unwrap_or_default();
                    stack.push(value);
                }
                Operation::Drop => {
                    stack.pop();
                }
                Operation::Compute(calculation, place) => {
                    let result = self
                        .calculate(*calculation, stack)
                        .map_err(|error| self.refuse(&program.places[*place], &error, number))?;
                    if let Value::String(text) = &result {
                        self.budget.charge_memory(text.len())?;
                    }
                    stack.push(result);
                }
                Operation::Call { function, arguments, place } => {
                    let place = &program.places[*place];
                    let refuse = |error| self.refuse(place, &error, number);
                    self.call(function, *arguments, stack, refuse)?;
                }
                Operation::Guard(end) => {
                    flow.guards.push(Guarded { end: *end, depth: stack.len() });
                }
                Operation::Unguard => {
                    flow.guards.pop();
                }
                Operation::Negate(place) => {
                    let negative = number::negate(&pop(stack))
                        .map_err(|error| self.refuse(&program.places[*place], &error, number))?;
                    stack.push(negative);
                }
                Operation::LikeDynamic(manner, place) => {
                    let holds = self
                        .fits(*manner, stack)
                        .map_err(|error| self.refuse(&program.places[*place], &error, number))?;
                    stack.push(Value::Bool(holds));
                }
                Operation::Object(names) => {
                    let values = stack.split_off(stack.len().saturating_sub(names.len()));
                    stack.push(self.make_object(names, values)?);
                }
                Operation::List(count) => {
                    let items = stack.split_off(stack.len().saturating_sub(*count));
                    self.budget.charge_memory(items.len() * VALUE_BYTES)?;
                    stack.push(items.into_iter().map(or_null).collect());
                }
                test => apply_test(test, stack),
            }
        }
        Ok(())
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

    /// Whether a text fits a pattern that is a value of the row, and so is compiled for each.
    fn fits(&self, manner: PatternManner, stack: &mut Vec<Value>) -> Result<bool, ComputeError> {
        let (value, pattern) = pop_two(stack);
        let Some(text) = pattern.scalar_text() else { return Ok(false) };
        let compiled = manner.compile(&text);
        let compiled = compiled.map_err(|error| ComputeError::invalid(0, error.to_string()))?;
        self.budget.work(1 + text.len());
        Ok(test::matches(&value, &compiled))
    }

    /// Calls a function with the last values, counts its work and notes a division by zero.
    fn call(
        &self,
        function: &Function,
        count: usize,
        stack: &mut Vec<Value>,
        refuse: impl FnOnce(ComputeError) -> RunError,
    ) -> Result<(), RunError> {
        let first = stack.len().saturating_sub(count);
        let arguments = &stack[first..];
        let result = function.call(&self.context, arguments).map_err(refuse)?;
        let is_division = matches!(function.name, "mod" | "div");
        if is_division && result.is_nothing() && !arguments.iter().any(Value::is_nothing) {
            self.zero_divisions.set(self.zero_divisions.get() + 1);
        }
        let read: usize = arguments.iter().map(size_of).sum();
        let made = size_of(&result);
        // Long texts and lists take time, of which a row alone says nothing.
        self.budget.work(1 + (read + made) / WORK_BYTES);
        self.budget.charge_memory(made)?;
        stack.truncate(first);
        stack.push(result);
        Ok(())
    }

    fn make_object(&self, names: &[MemberName], values: Vec<Value>) -> Result<Value, RunError> {
        let mut object = Object::with_capacity(names.len());
        for (name, value) in names.iter().zip(values) {
            match name {
                MemberName::Named(name) => {
                    if !value.is_absent() {
                        object.insert(name.clone(), value);
                    }
                }
                MemberName::Members(excluded) => {
                    let opened = value.open();
                    let Value::Object(members) = &*opened else { continue };
                    for (name, member) in members.iter() {
                        if !excluded.contains(name) {
                            object.insert(name.clone(), member.clone());
                        }
                    }
                }
            }
        }
        self.budget.charge_memory(object.len() * 2 * VALUE_BYTES)?;
        Ok(Value::object(object))
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

/// About how many bytes a value takes by itself, without what its elements hold.
fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) | Value::Raw(text) => text.len(),
        Value::Array(_) | Value::Object(_) => value.len() * VALUE_BYTES,
        _ => 0,
    }
}

/// An operation that only tests what is on the stack.
fn apply_test(operation: &Operation, stack: &mut Vec<Value>) {
    let holds = match operation {
        Operation::Truth => pop(stack).is_truthy(),
        Operation::Not => !pop(stack).is_truthy(),
        Operation::Equals => {
            let (left, right) = pop_two(stack);
            are_equal(&left, &right)
        }
        Operation::Meets => {
            let (left, right) = pop_two(stack);
            null_keys::do_meet(left, right)
        }
        Operation::Compare(comparison) => {
            let (left, right) = pop_two(stack);
            comparison.holds(&left, &right)
        }
        Operation::In(count) => {
            let items = stack.split_off(stack.len().saturating_sub(*count));
            let value = pop(stack);
            items.iter().any(|item| are_equal(&value, item))
        }
        Operation::Between => {
            let (low, high) = pop_two(stack);
            test::is_between(&pop(stack), &low, &high)
        }
        Operation::Like(pattern) => test::matches(&pop(stack), pattern),
        Operation::Is(kind) => kind.is_of(&pop(stack)),
        // All others are done where the operations are counted.
        _ => return,
    };
    stack.push(Value::Bool(holds));
}

fn pop(stack: &mut Vec<Value>) -> Value {
    stack.pop().unwrap_or_default()
}

fn pop_two(stack: &mut Vec<Value>) -> (Value, Value) {
    let right = pop(stack);
    let left = pop(stack);
    (left, right)
}

/// What is absent equals nothing, not even null (SEL-16).
fn are_equal(left: &Value, right: &Value) -> bool {
    !left.is_absent() && !right.is_absent() && test::equals(left, right)
}

fn or_null(value: Value) -> Value {
    if value.is_absent() { Value::Null } else { value }
}
