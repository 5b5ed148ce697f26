//! Tests of rows: comparisons, patterns, conditions in the form that parameters have, and what joins them.

use qlio_data::{Value, compute::test};
use qlio_syntax::{
    ast,
    diagnostic::{Diagnostic, codes},
};

use super::{super::mentions::names_one_of, Compiler, group::of_path};
use crate::operator::{Expected, Given, NestedManner, Operation, PatternManner};

impl Compiler<'_, '_, '_, '_> {
    /// A condition in the form that parameters have: here it tests the row.
    pub(super) fn condition(&mut self, condition: &ast::Condition) {
        let (path, expected) = match condition {
            ast::Condition::Test(test) => return self.emit(test),
            // The checks of `syntax` have refused functions inside of expressions.
            ast::Condition::Call(call) => return self.refuse_function(call.span),
            ast::Condition::Equals { path, operand, .. } => {
                if let ast::OperandKind::Path(right) = &operand.kind
                    && self.rows.is_own(self.lowering, right)
                {
                    self.path(path);
                    self.path(right);
                    return self.operations.push(Operation::Equals);
                }
                (path, Expected::Equals(self.lowering.operand(operand)))
            }
            ast::Condition::InList { path, items, .. } => {
                let items = items.iter().map(|item| self.lowering.listed_operand(item)).collect();
                (path, Expected::List(items))
            }
            ast::Condition::InSelect { path, select, .. } => {
                let aliases = self.lowering.aliases();
                let aliases: Vec<&str> = aliases.iter().map(String::as_str).collect();
                if names_one_of(select, &aliases) {
                    self.path(path);
                    self.sub_select(select, NestedManner::List);
                    return self.operations.push(Operation::Equals);
                }
                (path, Expected::Select(Box::new(self.lowering.apart(select))))
            }
        };
        let given = self.given(Given::Condition(expected));
        self.expected.push((path.span, given));
        if self.groups.is_some() || self.is_output(path) {
            // What is behind the rows has no column of all matches: the value is all there is.
            self.emit(&of_path(path));
            return self.operations.push(Operation::Expected(given));
        }
        let (side, column) = self.rows.key(self.lowering, path);
        self.operations.push(Operation::Matches { side, column, given });
    }

    /// Terms of which the first that decides ends the evaluation: a falsy one of all, a truthy one of any.
    pub(super) fn joined<T>(&mut self, terms: &[T], is_any: bool, emit: impl Fn(&mut Self, &T)) {
        let mut jumps = Vec::new();
        for (position, term) in terms.iter().enumerate() {
            let start = self.operations.len();
            emit(self, term);
            if let Some(truth) = self.constant_from(start).map(Value::is_truthy) {
                self.operations.truncate(start);
                if truth == is_any {
                    // The rest is never looked at.
                    self.constant(Value::Bool(is_any));
                    return self.decide(jumps, is_any);
                }
                if position + 1 < terms.len() {
                    continue;
                }
                self.constant(Value::Bool(!is_any));
            } else if position + 1 < terms.len() {
                jumps.push(self.operations.len());
                self.operations.push(Operation::Jump(0));
            } else {
                self.operations.push(Operation::Truth);
            }
        }
        self.decide(jumps, is_any);
    }

    /// The end of joined terms, where those that decide lead to.
    fn decide(&mut self, jumps: Vec<usize>, is_any: bool) {
        if jumps.is_empty() {
            return;
        }
        self.operations.push(Operation::Jump(self.operations.len() + 2));
        let decided = self.operations.len();
        self.constant(Value::Bool(is_any));
        for jump in jumps {
            self.operations[jump] = if is_any {
                Operation::JumpIfTrue(decided)
            } else {
                Operation::JumpIfFalse(decided)
            };
        }
    }

    pub(super) fn compare(
        &mut self,
        left: &ast::Expression,
        comparison: ast::Comparison,
        right: &ast::Expression,
    ) {
        self.emit(left);
        self.emit(right);
        let operation = match comparison {
            ast::Comparison::Equals | ast::Comparison::Same => Operation::Equals,
            ast::Comparison::Differs => {
                self.operations.push(Operation::Equals);
                Operation::Not
            }
            ast::Comparison::Less => Operation::Compare(test::Comparison::Less),
            ast::Comparison::LessOrEqual => Operation::Compare(test::Comparison::LessOrEqual),
            ast::Comparison::Greater => Operation::Compare(test::Comparison::Greater),
            ast::Comparison::GreaterOrEqual => Operation::Compare(test::Comparison::GreaterOrEqual),
        };
        self.operations.push(operation);
    }

    pub(super) fn like(
        &mut self,
        value: &ast::Expression,
        manner: ast::PatternManner,
        pattern: &ast::Expression,
    ) {
        let manner = match manner {
            ast::PatternManner::Like => PatternManner::Like,
            ast::PatternManner::LikeAnyCase => PatternManner::LikeAnyCase,
            ast::PatternManner::Matches => PatternManner::Matches,
        };
        self.emit(value);
        let start = self.operations.len();
        self.emit(pattern);
        let Some(constant) = self.constant_from(start) else {
            let place = self.place(pattern.span, &[pattern.span]);
            return self.operations.push(Operation::LikeDynamic(manner, place));
        };
        let compiled = match constant.scalar_text() {
            Some(text) => manner.compile(&text).map_err(|error| error.to_string()),
            None => Err("a pattern is a text".to_owned()),
        };
        match compiled {
            Ok(compiled) => {
                self.operations.truncate(start);
                self.operations.push(Operation::Like(Box::new(compiled)));
            }
            Err(reason) => self.lowering.problems.push(Diagnostic::error(
                codes::BAD_PATTERN,
                pattern.span,
                reason,
            )),
        }
    }
}
