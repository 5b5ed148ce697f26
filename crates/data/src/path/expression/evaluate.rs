//! Evaluation on one element.

use std::cmp::Ordering;

use super::{Expression, Node, Operator, operand::Operand};
use crate::{
    Scope, Text, Value,
    path::{PathError, step},
};

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// `@`.
    pub(crate) current: &'a Value,
    /// `$`.
    pub(crate) root: &'a Value,
    /// The variables.
    pub(crate) scope: &'a dyn Scope,
}

impl Expression {
    /// Whether the expression is truthy there.
    pub(crate) fn is_true(&self, place: Place<'_>) -> Result<bool, PathError> {
        Ok(self.operand(&self.root, place)?.is_truthy())
    }

    /// The name or index that it computes there; `None` if it is absent or null.
    pub(crate) fn step(&self, place: Place<'_>) -> Result<Option<Text>, PathError> {
        Ok(match self.operand(&self.root, place)? {
            Operand::Absent | Operand::Null => None,
            operand => Some(operand.to_text()),
        })
    }

    /// Recursion is as deep as the tree, which `TERMS_MAX` bounds.
    fn operand(&self, node: &Node, place: Place<'_>) -> Result<Operand, PathError> {
        Ok(match node {
            Node::Literal(literal) => Operand::literal(literal),
            Node::Current => Operand::of(place.current),
            Node::Root => Operand::of(place.root),
            Node::Variable { slot: Some(slot), .. } => Operand::of(&place.scope.slot(*slot)),
            Node::Variable { name, slot: None } => match place.scope.name(name) {
                Value::Absent if &**name == "undefined" => Operand::Absent,
                Value::Absent => {
                    return Err(PathError::expression(
                        format!("{name} is not defined"),
                        &self.text,
                    ));
                }
                value => Operand::of(&value),
            },
            Node::Member { of, name } => self.member(&self.operand(of, place)?, name)?,
            Node::Element { of, at } => {
                let of = self.operand(of, place)?;
                let at = self.operand(at, place)?.to_text();
                self.member(&of, &at)?
            }
            Node::Not(of) => Operand::Bool(!self.operand(of, place)?.is_truthy()),
            Node::Negate(of) => self.operand(of, place)?.negate(),
            Node::Binary { operator, left, right } => self.binary(*operator, left, right, place)?,
        })
    }

    fn member(&self, of: &Operand, name: &str) -> Result<Operand, PathError> {
        match of {
            Operand::Absent | Operand::Null => {
                let what = if matches!(of, Operand::Null) { "null" } else { "an absent value" };
                let reason = format!("cannot read `{name}` of {what}");
                Err(PathError::expression(reason, &self.text))
            }
            _ => Ok(Operand::of(&step::member(&of.clone().into_value(), name))),
        }
    }

    fn binary(
        &self,
        operator: Operator,
        left: &Node,
        right: &Node,
        place: Place<'_>,
    ) -> Result<Operand, PathError> {
        let left = self.operand(left, place)?;
        match operator {
            Operator::Or if left.is_truthy() => return Ok(left),
            Operator::And if !left.is_truthy() => return Ok(left),
            _ => {}
        }
        let right = self.operand(right, place)?;
        let number = |compute: fn(f64, f64) -> f64| {
            Operand::number(compute(left.to_number(), right.to_number()))
        };
        let is_ordered =
            |accept: fn(Ordering) -> bool| Operand::Bool(left.compare(&right).is_some_and(accept));
        Ok(match operator {
            Operator::Or | Operator::And => right,
            Operator::Equal => Operand::Bool(left.equals(&right)),
            Operator::NotEqual => Operand::Bool(!left.equals(&right)),
            Operator::Same => Operand::Bool(left.is_same(&right)),
            Operator::NotSame => Operand::Bool(!left.is_same(&right)),
            Operator::Less => is_ordered(Ordering::is_lt),
            Operator::LessOrEqual => is_ordered(Ordering::is_le),
            Operator::Greater => is_ordered(Ordering::is_gt),
            Operator::GreaterOrEqual => is_ordered(Ordering::is_ge),
            Operator::Add => left.plus(&right),
            Operator::Subtract => number(|left, right| left - right),
            Operator::Multiply => number(|left, right| left * right),
            Operator::Divide => number(|left, right| left / right),
            Operator::Remainder => number(|left, right| left % right),
        })
    }
}
