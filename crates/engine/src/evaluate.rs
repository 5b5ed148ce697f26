//! Expressions, operands and conditions: from templates to values.

use std::sync::Arc;

use qlio_data::{Object, Value, template::Template};
use qlio_plan::{
    Node,
    operator::{Expression, Logic, Operand},
};

use crate::{budget::VALUE_BYTES, error::RunError, run::Run};

/// The value of a template. What is made anew for it counts as memory of the run; what it only names
/// has been counted.
pub(crate) fn fill(run: &Run<'_>, template: &Template) -> Result<Value, RunError> {
    let value = template.fill(run)?;
    match &value {
        Value::String(text) if !template.single_token() => run.budget.charge_memory(text.len())?,
        Value::Array(matches) if Arc::strong_count(matches) == 1 => {
            run.budget.work(matches.len());
            run.budget.charge_memory(matches.len() * VALUE_BYTES)?;
        }
        _ => {}
    }
    Ok(value)
}

/// A JSON literal with its tokens filled.
pub(crate) fn expression(run: &Run<'_>, expression: &Expression) -> Result<Value, RunError> {
    match expression {
        Expression::Constant(value) => Ok(value.clone()),
        Expression::Template(template) => fill(run, template),
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
        Operand::Template(template) => fill(run, template),
        Operand::Word(word) => {
            let given = match word.split_once('.') {
                None => run.given(word),
                Some((root, _)) if run.given(root).is_absent() => Value::Absent,
                Some(_) => fill(run, &Template::parse(&format!("{{={word}}}")))?,
            };
            Ok(if given.is_absent() { Value::String(word.clone()) } else { given })
        }
    }
}

/// A condition of `if` or `catch`; unknown names are false.
pub(crate) fn logic(run: &Run<'_>, condition: &Logic) -> Result<bool, RunError> {
    Ok(match condition {
        Logic::Or(left, right) => logic(run, left)? || logic(run, right)?,
        Logic::And(left, right) => logic(run, left)? && logic(run, right)?,
        Logic::Not(inner) => !logic(run, inner)?,
        Logic::Name(template) => fill(run, template)?.is_truthy(),
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
