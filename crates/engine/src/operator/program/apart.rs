//! Operations of programs that would hold the worker too long: a heavy thread does them
//! (`docs/adr/0027-heavy-threads.md`).
//!
//! In: an operation, and its operands on the stack. Out: its result there, the time that it took charged.

use std::sync::Arc;

use qlio_data::{
    Value,
    compute::{
        ComputeError,
        effort::bytes_read,
        function::{Context, PatternCache},
        order::Key,
    },
};
use qlio_plan::operator::{Operation, Program};
use qlio_syntax::diagnostic::codes;

use super::{
    GivenValue, Machine,
    operands::{fits_pattern, holds, make_object, pop, pop_two},
    size_of,
};
use crate::{
    budget::Budget,
    error::RunError,
    heavy::{Heavy, Wanted},
    operator::{filter::Expectation, tuples::Tuple},
};

/// Operands of up to so many bytes are computed with at once, whatever is computed: nothing takes more than about
/// a millisecond.
pub(in crate::operator) const AT_ONCE_BYTES_MAX: usize = 32 * 1024;

/// The same for texts that are only copied or compared byte by byte.
const TEXT_AT_ONCE_BYTES_MAX: usize = 4 << 20;

/// Lists with more elements than these are dropped by another thread.
pub(in crate::operator) const DROPPED_HERE_MAX: usize = 4_096;

/// Bytes of a key that are made for a unit of work.
const KEY_BYTES_PER_UNIT: usize = 128;

/// Whether to compute with a value may take long.
pub(crate) fn is_large(value: &Value) -> bool {
    bytes_read(value, AT_ONCE_BYTES_MAX) > AT_ONCE_BYTES_MAX
}

/// The same where a text is only copied or compared.
pub(super) fn is_large_text(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > TEXT_AT_ONCE_BYTES_MAX,
        other => is_large(other),
    }
}

/// Whether to drop a value may take long.
pub(super) fn is_dropped_apart(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_)) && value.len() > DROPPED_HERE_MAX
}

/// The key of a value, for sorting and grouping; its bytes are charged.
pub(crate) async fn key_of(budget: &Budget, heavy: &Heavy, value: &Value) -> Result<Key, RunError> {
    let is_structure = matches!(value, Value::Array(_) | Value::Object(_) | Value::Raw(_));
    let key = if is_structure && is_large(value) {
        let value = value.clone();
        do_apart(budget, heavy, move |_| Key::of(&value)).await?
    } else {
        Key::of(value)
    };
    let key = key.map_err(|error| RunError::client(codes::WRONG_OPERAND, error.to_string()))?;
    if key.compared_bytes() > 0 {
        // Whoever looks for it looks at all of it.
        budget.work(key.compared_bytes() / KEY_BYTES_PER_UNIT);
        budget.charge_memory(key.bytes())?;
    }
    Ok(key)
}

/// What work gives that would hold this thread too long; its time is charged.
pub(crate) async fn do_apart<T: Send + 'static>(
    budget: &Budget,
    heavy: &Heavy,
    work: impl FnOnce(&Wanted) -> T + Send + 'static,
) -> Result<T, RunError> {
    let done = Box::pin(heavy.run(work)).await?;
    budget.charge_time(done.time)?;
    Ok(done.value)
}

/// An operation without ties to its row.
struct Task {
    operation: Operation,
    operands: Vec<Value>,
    /// What a condition expects.
    expected: Option<Arc<Expectation>>,
    /// The time of the request.
    now: (i64, u32),
}

impl Task {
    fn carry_out(mut self) -> Result<Value, ComputeError> {
        match self.operation {
            Operation::Call { function, .. } => {
                let patterns = PatternCache::default();
                let random: &dyn Fn() -> u128 = &|| uuid::Uuid::new_v4().as_u128();
                function.call(&Context::new(self.now, random, &patterns), &self.operands)
            }
            Operation::Compute(calculation, _) => {
                let (left, right) = pop_two(&mut self.operands);
                calculation.of(&left, &right)
            }
            Operation::LikeDynamic(manner, _) => {
                let (value, pattern) = pop_two(&mut self.operands);
                fits_pattern(manner, &value, &pattern).map(Value::Bool)
            }
            Operation::Object(names) => Ok(Value::object(make_object(&names, self.operands))),
            Operation::Matches { .. } | Operation::Expected(_) => {
                let value = pop(&mut self.operands);
                let is_expected = self.expected.is_some_and(|all| all.holds_for_some(&value));
                Ok(Value::Bool(is_expected))
            }
            test => Ok(Value::Bool(holds(&test, &mut self.operands))),
        }
    }
}

/// How many values an operation takes from the stack.
fn count_operands(operation: &Operation) -> usize {
    match operation {
        Operation::Call { arguments, .. } => *arguments,
        Operation::Object(names) => names.len(),
        Operation::In(count) => 1 + count,
        Operation::Between => 3,
        Operation::Compute(..)
        | Operation::LikeDynamic(..)
        | Operation::Equals
        | Operation::Meets
        | Operation::Compare(_) => 2,
        Operation::Matches { .. } => 0,
        _ => 1,
    }
}

impl Machine<'_> {
    /// Does an operation on a heavy thread; the result is on the stack.
    pub(super) async fn do_apart(
        &self,
        operation: &Operation,
        program: &Program,
        stack: &mut Vec<Value>,
        row: Tuple<'_>,
        number: usize,
    ) -> Result<(), RunError> {
        let mut operands = stack.split_off(stack.len().saturating_sub(count_operands(operation)));
        let expected = match operation {
            Operation::Matches { side, column, given } => {
                operands.push(row.cell(*side, *column).value());
                self.expectation(*given)
            }
            Operation::Expected(given) => self.expectation(*given),
            _ => None,
        };
        let task =
            Task { operation: operation.clone(), operands, expected, now: self.context.now() };
        let result = do_apart(self.budget, self.heavy, move |_| task.carry_out()).await?;
        let result = result.map_err(|error| match operation {
            Operation::Call { place, .. }
            | Operation::Compute(_, place)
            | Operation::LikeDynamic(_, place) => {
                self.refuse(&program.places[*place], &error, number)
            }
            _ => RunError::internal(format!("a test has failed: {error}")),
        })?;
        self.budget.charge_memory(size_of(&result))?;
        stack.push(result);
        Ok(())
    }

    fn expectation(&self, given: usize) -> Option<Arc<Expectation>> {
        match &self.givens[given] {
            GivenValue::Expectation(expected) => Some(Arc::clone(expected)),
            GivenValue::Value(_) => None,
        }
    }
}
