//! Expressions, operands and conditions: from templates to values.

use qlio_data::{Object, Text, Value};
use qlio_plan::{
    Node,
    operator::{Condition, Expected, Expression, Logic, Operand, Select},
};

use crate::{error::RunError, run::Run};

use super::statement;

/// The values of a statement by parameter name (CON-17).
pub(crate) type Own = Vec<(Text, Value)>;

/// A JSON literal with its tokens filled.
pub(crate) fn expression(run: &Run<'_>, expression: &Expression) -> Result<Value, RunError> {
    match expression {
        Expression::Constant(value) => Ok(value.clone()),
        Expression::Template(template) => Ok(template.fill(run)?),
        Expression::Array(elements) => elements
            .iter()
            .map(|element| self::expression(run, element))
            .collect::<Result<Vec<_>, _>>()
            .map(Value::array),
        Expression::Object(members) => {
            let mut object = Object::with_capacity(members.len());
            for (name, member) in members {
                let value = self::expression(run, member)?;
                if !value.is_absent() {
                    object.insert(name.clone(), value);
                }
            }
            Ok(Value::object(object))
        }
    }
}

/// The value of an operand.
pub(crate) fn operand(run: &Run<'_>, operand: &Operand) -> Result<Value, RunError> {
    match operand {
        Operand::Constant(value) => Ok(value.clone()),
        Operand::Template(template) => Ok(template.fill(run)?),
        Operand::Word(word) => {
            let given = match word.split_once('.') {
                None => run.given(word),
                Some((root, _)) if run.given(root).is_absent() => Value::Absent,
                Some(_) => {
                    qlio_data::template::Template::parse(&format!("{{={word}}}")).fill(run)?
                }
            };
            Ok(if given.is_absent() { Value::String(word.clone()) } else { given })
        }
    }
}

/// The values that a condition expects, as one value: a list for `in`.
pub(crate) async fn expected(run: &Run<'_>, condition: &Condition) -> Result<Value, RunError> {
    match &condition.expected {
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

/// A condition of `if` or `catch`; unknown names are false.
pub(crate) fn logic(run: &Run<'_>, condition: &Logic) -> Result<bool, RunError> {
    Ok(match condition {
        Logic::Or(left, right) => logic(run, left)? || logic(run, right)?,
        Logic::And(left, right) => logic(run, left)? && logic(run, right)?,
        Logic::Not(inner) => !logic(run, inner)?,
        Logic::Name(template) => template.fill(run)?.is_truthy(),
    })
}

/// The first `{^x}` token of a node that does not resolve.
pub(crate) fn missing_prerequisite(run: &Run<'_>, node: &Node) -> Result<Option<String>, RunError> {
    for template in &node.prerequisites {
        if let Some(name) = template.required_missing(run)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
