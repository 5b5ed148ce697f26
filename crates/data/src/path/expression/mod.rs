//! The closed expression language of `[?(…)]` and `[(…)]` (PTH-5 to PTH-8).
//!
//! In: the text between the parentheses, once. Out: an [`Expression`] that is evaluated on one
//! element (`@`), the root (`$`) and the script's variables, with the conversions of JavaScript.
//! There are no calls, no assignments and no loops, so evaluation ends after at most
//! [`TERMS_MAX`] steps.

mod evaluate;
mod operand;
mod parse;

use crate::{Text, scope::SlotId};

pub(crate) use evaluate::Place;

use super::PathError;

/// The deepest nesting of parentheses and prefix operators.
pub const DEPTH_MAX: usize = 64;

/// The most names, literals and operators of one expression.
pub const TERMS_MAX: usize = 256;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: Text,
    root: Node,
}

/// A node of the tree.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    Literal(Literal),
    /// `@`.
    Current,
    /// `$`.
    Root,
    Variable {
        name: Text,
        slot: Option<SlotId>,
    },
    /// `of.name`, `of["name"]`, `of[3]`.
    Member {
        of: Box<Node>,
        name: Text,
    },
    /// `of[expression]`.
    Element {
        of: Box<Node>,
        at: Box<Node>,
    },
    Not(Box<Node>),
    Negate(Box<Node>),
    Binary {
        operator: Operator,
        left: Box<Node>,
        right: Box<Node>,
    },
}

/// A literal.
#[derive(Debug, Clone, PartialEq)]
enum Literal {
    Null,
    Bool(bool),
    /// A whole number that fits 64 bits, with or without a sign.
    Int(i128),
    Float(f64),
    Text(Text),
}

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Same,
    NotSame,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Expression {
    /// Reads an expression. The error displays as `jsonPath: <reason>: <expression>`.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Ok(Self { text: text.into(), root: parse::parse(text)? })
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of the variables it reads, in text order, repeated names too.
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut open = vec![&self.root];
        while let Some(node) = open.pop() {
            match node {
                Node::Variable { name, .. } => names.push(name.as_str()),
                Node::Member { of, .. } | Node::Not(of) | Node::Negate(of) => open.push(of),
                Node::Element { of: left, at: right } | Node::Binary { left, right, .. } => {
                    open.push(right);
                    open.push(left);
                }
                Node::Literal(_) | Node::Current | Node::Root => {}
            }
        }
        names
    }

    /// Gives variables their slots; a name without a slot stays a name.
    pub fn bind(&mut self, slot_of: &mut dyn FnMut(&str) -> Option<SlotId>) {
        let mut open = vec![&mut self.root];
        while let Some(node) = open.pop() {
            match node {
                Node::Variable { name, slot } => *slot = slot_of(name),
                Node::Member { of, .. } | Node::Not(of) | Node::Negate(of) => open.push(of),
                Node::Element { of: left, at: right } | Node::Binary { left, right, .. } => {
                    open.push(right);
                    open.push(left);
                }
                Node::Literal(_) | Node::Current | Node::Root => {}
            }
        }
    }
}
