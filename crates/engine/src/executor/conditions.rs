//! What the conditions of a statement expect; sub-selects are run for it.

use qlio_data::Value;
use qlio_plan::operator::{Condition, Expected, Select};

use super::statement;
use crate::{error::RunError, evaluate::operand, own::Own, run::Run};

/// The values that a condition expects, as one value: a list for `in`.
pub(crate) async fn expected(run: &Run<'_>, condition: &Condition) -> Result<Value, RunError> {
    expected_value(run, &condition.expected).await
}

/// What is expected, as one value: a list for `in`.
pub(crate) async fn expected_value(run: &Run<'_>, expected: &Expected) -> Result<Value, RunError> {
    match expected {
        Expected::Equals(value) => operand(run, value),
        Expected::List(items) => {
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                let value = operand(run, item)?;
                match value.elements() {
                    Some(elements) => values
                        .extend(elements.iter().filter(|element| !element.is_absent()).cloned()),
                    None if value.is_absent() => {}
                    None => values.push(value),
                }
            }
            Ok(Value::array(values))
        }
        Expected::Select(select) => sub_select(run, select).await,
    }
}

/// Whether a condition expects a list whatever its values are.
pub(super) fn is_list(expected: &Expected) -> bool {
    match expected {
        Expected::Equals(_) => false,
        Expected::List(_) | Expected::Select(_) => true,
    }
}

/// A sub-select as a list, whatever its value is: nothing has no element, a value is one.
async fn sub_select(run: &Run<'_>, select: &Select) -> Result<Value, RunError> {
    let value = Box::pin(statement::select(run, select)).await?;
    Ok(match value {
        value if value.is_array() => value,
        value if value.is_nothing() => Value::array(Vec::new()),
        value => Value::array(vec![value]),
    })
}

/// All conditions of a statement, evaluated concurrently; a later one on the same name stands later.
pub(crate) async fn own(run: &Run<'_>, conditions: &[Condition]) -> Result<Own, RunError> {
    let has_sub_select =
        conditions.iter().any(|condition| matches!(condition.expected, Expected::Select(_)));
    let mut own = Own::with_capacity(conditions.len() + 2);
    if has_sub_select {
        let values = conditions.iter().map(|condition| expected(run, condition));
        let values = futures_util::future::try_join_all(values).await?;
        own.extend(conditions.iter().map(|condition| condition.name.clone()).zip(values));
    } else {
        for condition in conditions {
            own.push((condition.name.clone(), expected(run, condition).await?));
        }
    }
    Ok(own)
}
