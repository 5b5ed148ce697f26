//! Expressions, operands and conditions: from templates to values.

use qlio_data::{Object, Value};
use qlio_plan::{
    Node,
    operator::{Expression, Logic, Operand},
};

use crate::{error::RunError, run::Run};

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
