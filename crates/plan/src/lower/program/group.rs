//! Groups: what a name or an expression stands for behind them, and the aggregates they are made of.
//!
//! Behind `group by` there are no rows any more but groups, whose columns are the keys and the aggregates. An
//! expression that is a key is that column, an aggregate is one, and everything else is computed of these
//! (GRP-3). Expressions are the same if they are written the same, parentheses and aliases of sources aside.

use std::{collections::HashMap, fmt::Write as _};

use qlio_data::compute::aggregate::Aggregate;
use qlio_syntax::{
    ast::{self, ExpressionKind},
    diagnostic::{Diagnostic, codes},
    source::Span,
};

use super::{super::path_text, Compiler, OutputName};
use crate::operator::{AggregateCall, Grouping, Operation, OutputValue, Program, Side, SortKey};

/// The columns of the groups of a select.
#[derive(Default)]
pub(in crate::lower) struct Groups {
    keys: Vec<Program>,
    /// The place of each key, by how it is written.
    key_places: HashMap<String, usize>,
    aggregates: Vec<AggregateCall>,
    aggregate_places: HashMap<String, usize>,
}

impl Groups {
    pub(in crate::lower) fn finish(self, having: Option<Program>) -> Grouping {
        Grouping { keys: self.keys, aggregates: self.aggregates, having }
    }
}

impl<'s> Compiler<'_, '_, '_, 's> {
    /// Has all that is compiled from here on be about groups, if the select has any. The names of the output
    /// are known.
    pub(in crate::lower) fn begin_groups(&mut self, select: &'s ast::Select) {
        if !is_grouped(select) {
            return;
        }
        let mut groups = Groups::default();
        match &select.grouping {
            None => {}
            Some(ast::Grouping { keys: ast::GroupKeys::List(keys), .. }) => {
                for key in keys {
                    self.add_key(key, &mut groups);
                }
            }
            Some(ast::Grouping { keys: ast::GroupKeys::All(_), .. }) => {
                // What is selected is made of columns, whatever it is called.
                let outputs = std::mem::take(&mut self.outputs);
                let mut keys = Vec::new();
                collect_keys(select, &mut keys);
                for key in &keys {
                    self.add_key(key, &mut groups);
                }
                self.outputs = outputs;
            }
        }
        self.groups = Some(groups);
    }

    fn add_key(&mut self, key: &ast::Expression, groups: &mut Groups) {
        let identity = self.identity(key);
        if !groups.key_places.contains_key(&identity) {
            groups.key_places.insert(identity, groups.keys.len());
            groups.keys.push(self.program(key));
        }
    }

    /// Whether code for the expression is a column of the groups, which it is now.
    pub(super) fn is_group_column(&mut self, expression: &ast::Expression) -> bool {
        let Some(groups) = &self.groups else { return false };
        if groups.key_places.is_empty() {
            return false;
        }
        let identity = self.identity(expression);
        let Some(place) = groups.key_places.get(&identity) else { return false };
        self.operations.push(Operation::Column(Side::Main, *place));
        true
    }

    /// A path behind the groups that is no key.
    pub(in crate::lower) fn refuse_ungrouped(&mut self, span: Span) {
        let name = &self.lowering.text[span.range()];
        let message = format!("`{name}` is not the same for all rows of a group");
        let hint = format!(
            "write it behind `group by`, or say which value: `any_value({name})`; `group by all` groups by all \
             that is selected without an aggregate"
        );
        let problem = Diagnostic::error(codes::UNGROUPED_COLUMN, span, message).hint(hint);
        self.lowering.problems.push(problem);
        self.constant(qlio_data::Value::Absent);
    }

    /// A call of an aggregate: a column of the groups.
    pub(super) fn aggregate(&mut self, whole: &ast::Expression, call: &ast::AggregateCall) {
        let Some(mut groups) = self.groups.take() else {
            let message =
                format!("`{}` looks at the rows of a group, so it makes no groups", call.name);
            let hint = "bind the select that computes it to a variable, and group that";
            let problem = Diagnostic::error(codes::MISPLACED_AGGREGATE, whole.span, message);
            self.lowering.problems.push(problem.hint(hint));
            return self.constant(qlio_data::Value::Null);
        };
        let mut identity = self.identity(whole);
        if self.guards > 0 {
            identity.push('?');
        }
        let place = match groups.aggregate_places.get(&identity) {
            Some(place) => Some(*place),
            None => self.aggregate_call(whole, call).map(|call| {
                groups.aggregates.push(call);
                groups.aggregate_places.insert(identity, groups.aggregates.len() - 1);
                groups.aggregates.len() - 1
            }),
        };
        let first = groups.keys.len();
        self.groups = Some(groups);
        match place {
            Some(place) => self.operations.push(Operation::Column(Side::Main, first + place)),
            None => self.constant(qlio_data::Value::Null),
        }
    }

    /// The programs of an aggregate, which are about rows.
    fn aggregate_call(
        &mut self,
        whole: &ast::Expression,
        call: &ast::AggregateCall,
    ) -> Option<AggregateCall> {
        // A test says that all names of `syntax` are in the table.
        let aggregate = Aggregate::find(call.name)?;
        let count = call.arguments.len();
        let is_row_count = aggregate == Aggregate::Count && count == 0;
        if count != aggregate.arguments() && !is_row_count {
            let message = format!("`{}` is called with {count} arguments", call.name);
            let hint = format!("it is called as `{}`", aggregate.describe().signature);
            let problem = Diagnostic::error(codes::ARGUMENT_COUNT, whole.span, message).hint(hint);
            self.lowering.problems.push(problem);
            return None;
        }
        let outputs = std::mem::take(&mut self.outputs);
        let operations = std::mem::take(&mut self.operations);
        let places = std::mem::take(&mut self.places);
        let arguments = call.arguments.iter().map(|argument| self.program(argument)).collect();
        let order = call.order.iter().map(|key| self.sort_key(key)).collect();
        let filter = call.filter.as_ref().map(|filter| self.program(filter));
        let spans: Vec<_> = call.arguments.iter().map(|argument| argument.span).collect();
        let place = self.place_of(whole.span, &spans);
        self.outputs = outputs;
        self.operations = operations;
        self.places = places;
        Some(AggregateCall {
            aggregate,
            arguments,
            is_distinct: call.is_distinct,
            order,
            limit: call.limit.map(|limit| limit.value),
            filter,
            is_guarded: self.guards > 0,
            place,
        })
    }

    /// A column of the output that is a path.
    pub(in crate::lower) fn group_output(&mut self, path: &ast::Path) -> OutputValue {
        let program = self.program(&of_path(path));
        match program.operations.as_slice() {
            [Operation::Column(side, column)] => {
                OutputValue::Column { side: *side, column: *column }
            }
            _ => OutputValue::Computed(program),
        }
    }

    /// A key of an order.
    pub(in crate::lower) fn sort_key(&mut self, key: &ast::SortKey) -> SortKey {
        SortKey {
            program: self.program(&key.value),
            is_descending: key.direction == Some(ast::Direction::Descending),
            are_nulls_first: key.nulls == Some(ast::Nulls::First),
        }
    }

    /// What an expression is, wherever it stands.
    fn identity(&self, expression: &ast::Expression) -> String {
        let mut out = String::new();
        self.write_identity(expression, true, &mut out);
        out
    }

    /// With `has_outputs`, names of the output are what they stand for.
    fn write_identity(&self, expression: &ast::Expression, has_outputs: bool, out: &mut String) {
        // Writing to a text never fails.
        let _ = match &expression.kind {
            ExpressionKind::Group(inner) => return self.write_identity(inner, has_outputs, out),
            ExpressionKind::Path(path) => return self.write_path(path, has_outputs, out),
            ExpressionKind::Null => write!(out, "null"),
            ExpressionKind::Bool(value) => write!(out, "{value}"),
            ExpressionKind::Number(number) => write!(out, "{number}"),
            ExpressionKind::Text { text, .. } => write!(out, "{text:?}"),
            ExpressionKind::Token(token) => write!(out, "{{{token:?}}}"),
            ExpressionKind::Word(word) => write!(out, "word {:?}", word.text),
            ExpressionKind::Condition(condition) => {
                return self.write_condition(condition, has_outputs, out);
            }
            ExpressionKind::Not { .. } => write!(out, "not"),
            ExpressionKind::All(_) => write!(out, "and"),
            ExpressionKind::Any(_) => write!(out, "or"),
            ExpressionKind::Negative(_) => write!(out, "-"),
            ExpressionKind::Chain { rest, .. } => {
                rest.iter().try_for_each(|(operator, _)| write!(out, "{}", operator.symbol()))
            }
            ExpressionKind::Compare { comparison, .. } => write!(out, "{}", comparison.symbol()),
            ExpressionKind::In { .. } => write!(out, "in"),
            ExpressionKind::Between { .. } => write!(out, "between"),
            ExpressionKind::Like { manner, .. } => write!(out, "{}", manner.word()),
            ExpressionKind::Is { kind, .. } => write!(out, "is {}", kind.word()),
            ExpressionKind::Case { subject, otherwise, .. } => {
                write!(out, "case {} {}", subject.is_some(), otherwise.is_some())
            }
            ExpressionKind::Object(members) => {
                for member in members {
                    self.write_member(member, has_outputs, out);
                }
                write!(out, "{{}}")
            }
            ExpressionKind::List(_) => write!(out, "[]"),
            ExpressionKind::Function { name, .. } => write!(out, "{name}"),
            ExpressionKind::Select { select, .. } | ExpressionKind::InSelect { select, .. } => {
                // Two selects are never the same.
                write!(out, "select {}", select.span.start)
            }
            ExpressionKind::Aggregate(call) => {
                let directions =
                    call.order.iter().map(|key| (key.direction, key.nulls)).collect::<Vec<_>>();
                let limit = call.limit.map(|limit| limit.value);
                let filter = call.filter.is_some();
                let (name, distinct) = (call.name, call.is_distinct);
                write!(out, "{name} {distinct} {directions:?} {limit:?} {filter}")
            }
        };
        let has_outputs = has_outputs && !matches!(expression.kind, ExpressionKind::Aggregate(_));
        out.push('(');
        expression.each_child(&mut |child| {
            self.write_identity(child, has_outputs, out);
            out.push(',');
        });
        out.push(')');
    }

    fn write_path(&self, path: &ast::Path, has_outputs: bool, out: &mut String) {
        if has_outputs
            && let [ast::Segment::Member { name, is_quoted: false }] = path.segments.as_slice()
            && let Some(output) = self.outputs.get(name.as_str())
        {
            return match output {
                OutputName::Path(path) => self.write_path(path, false, out),
                OutputName::Expression(expression) => {
                    self.write_identity(expression, false, out);
                }
                OutputName::Call(span) => {
                    let _ = write!(out, "call {}", span.start);
                }
            };
        }
        let (path, is_row) = self.rows.own_path(path);
        let text = if is_row { String::new() } else { path_text(&path) };
        // Quoted segments with dots print like nested ones.
        let _ = write!(out, "`{text}` {}", if is_row { 0 } else { path.segments.len() });
    }

    fn write_condition(&self, condition: &ast::Condition, has_outputs: bool, out: &mut String) {
        let operands = match condition {
            ast::Condition::Equals { path, operand, .. } => {
                self.write_path(path, has_outputs, out);
                out.push('=');
                std::slice::from_ref(operand)
            }
            ast::Condition::InList { path, items, .. } => {
                self.write_path(path, has_outputs, out);
                out.push_str(" in ");
                items.as_slice()
            }
            ast::Condition::Test(test) => return self.write_identity(test, has_outputs, out),
            // Two selects are never the same.
            ast::Condition::InSelect { span, .. } => {
                let _ = write!(out, "select {}", span.start);
                return;
            }
            ast::Condition::Call(call) => {
                let _ = write!(out, "call {}", call.span.start);
                return;
            }
        };
        for operand in operands {
            if let ast::OperandKind::Path(path) = &operand.kind {
                self.write_path(path, has_outputs, out);
            } else {
                let _ = write!(out, "{:?}", operand.kind);
            }
            out.push(',');
        }
    }

    fn write_member(&self, member: &ast::ObjectMember, has_outputs: bool, out: &mut String) {
        match member {
            ast::ObjectMember::Named { key, .. } => {
                let _ = write!(out, "{key:?}:");
            }
            ast::ObjectMember::Path(path) => self.write_path(path, has_outputs, out),
            ast::ObjectMember::Star(star) => {
                let excluded: Vec<_> = star.excluded.iter().map(|name| &name.text).collect();
                let _ = write!(out, "* {excluded:?}");
            }
        }
        out.push(',');
    }
}

/// Whether the rows of a select are groups.
pub(in crate::lower) fn is_grouped(select: &ast::Select) -> bool {
    let in_columns = match &select.columns {
        ast::Columns::Star(_) => false,
        ast::Columns::List(columns) => columns.iter().any(|column| match &column.value {
            ast::ColumnValue::Expression(expression) => expression.has_aggregate(),
            _ => false,
        }),
    };
    select.grouping.is_some()
        || in_columns
        || select.order.iter().any(|key| key.value.has_aggregate())
}

/// What `group by all` groups by: all parts of the output without an aggregate, as far as constructors are
/// made of them.
fn collect_keys(select: &ast::Select, keys: &mut Vec<ast::Expression>) {
    let ast::Columns::List(columns) = &select.columns else { return };
    for column in columns {
        match &column.value {
            ast::ColumnValue::Path(path) => keys.push(of_path(path)),
            ast::ColumnValue::Expression(expression) => collect_parts(expression, keys),
            ast::ColumnValue::Call(_) | ast::ColumnValue::Star(_) => {}
        }
    }
}

fn collect_parts(expression: &ast::Expression, keys: &mut Vec<ast::Expression>) {
    match &expression.kind {
        ExpressionKind::Group(inner) => collect_parts(inner, keys),
        ExpressionKind::Object(members) => {
            for member in members {
                match member {
                    ast::ObjectMember::Named { value, .. } => collect_parts(value, keys),
                    ast::ObjectMember::Path(path) => keys.push(of_path(path)),
                    ast::ObjectMember::Star(_) => {}
                }
            }
        }
        ExpressionKind::List(items) => {
            for item in items {
                collect_parts(item, keys);
            }
        }
        ExpressionKind::Null
        | ExpressionKind::Bool(_)
        | ExpressionKind::Number(_)
        | ExpressionKind::Text { .. }
        | ExpressionKind::Token(_) => {}
        _ if expression.has_aggregate() => {}
        _ => keys.push(expression.clone()),
    }
}

/// A path as an expression.
pub(super) fn of_path(path: &ast::Path) -> ast::Expression {
    ast::Expression { kind: ExpressionKind::Path(path.clone()), span: path.span }
}

#[cfg(test)]
mod tests {
    use qlio_data::compute::aggregate::Aggregate;

    #[test]
    fn the_names_of_the_syntax_are_those_of_the_aggregates() {
        let mut names: Vec<_> =
            Aggregate::ALL.iter().map(|aggregate| aggregate.describe().name).collect();
        names.sort_unstable();
        assert_eq!(qlio_syntax::functions::AGGREGATE_NAMES, names);
    }
}
