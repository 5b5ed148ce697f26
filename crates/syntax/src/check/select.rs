//! Columns, expressions and row functions.

use super::{Checker, Site, join};
use crate::{
    ast::{
        Call, Column, ColumnValue, Columns, Condition, Expression, ExpressionKind, GroupKeys,
        Grouping, Select,
    },
    diagnostic::codes,
    functions::{self, AGGREGATE_NAMES, FUNCTION_NAMES},
    parser::last_name,
    source::Span,
};

/// Checks the columns and, with several sources, that everything names its source.
pub(super) fn check<'s>(checker: &mut Checker<'s>, site: Site, node: &'s Select) {
    aliases(checker, site, &node.columns, node.span);
    let outside = checker.around.len();
    let own = node.sources.iter().filter_map(|source| source.alias.as_ref());
    checker.around.extend(own.map(|alias| alias.text.as_str()));
    if let Columns::List(columns) = &node.columns {
        for column in columns {
            match &column.value {
                ColumnValue::Call(call) => row_function(checker, site, call),
                ColumnValue::Expression(expression) => {
                    inner(checker, site, expression, Around::Group);
                }
                ColumnValue::Path(_) | ColumnValue::Star(_) => {}
            }
        }
    }
    if let Some(Grouping { keys: GroupKeys::List(keys), .. }) = &node.grouping {
        for key in keys {
            inner(checker, site, key, Around::Key);
        }
    }
    if let Some(having) = &node.having {
        inner(checker, site, having, Around::Group);
    }
    let around = if node.unions.is_empty() { Around::Group } else { Around::Union };
    for key in &node.order {
        inner(checker, site, &key.value, around);
    }
    for union in &node.unions {
        checker.select(site, &union.select);
    }
    if node.sources.len() > 1 {
        join::check(checker, site, node, outside);
    }
    for source in &node.sources {
        if let Some(on) = &source.on {
            inner(checker, site, on, Around::Row);
        }
    }
}

impl<'s> Checker<'s> {
    /// Checks what holds for the conditions of every statement.
    pub(super) fn conditions(&mut self, site: Site, conditions: &'s [Condition]) {
        for condition in conditions {
            match condition {
                Condition::Call(call) => row_function(self, site, call),
                Condition::InSelect { select, .. } => self.select(site, select),
                Condition::Test(test) => inner(self, site, test, Around::Row),
                Condition::Equals { .. } | Condition::InList { .. } => {}
            }
        }
    }
}

/// What an expression is about, which decides whether aggregates may stand in it (GRP-6).
#[derive(Clone, Copy)]
enum Around {
    /// Groups: columns, `having`, `order by`.
    Group,
    /// Rows: `where`.
    Row,
    /// A key of `group by`.
    Key,
    /// The rows that an aggregate looks at.
    Aggregate,
    /// The rows of a union: its order.
    Union,
}

impl Around {
    /// Why an aggregate cannot stand there, and what to write.
    fn refusal(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Group => None,
            Self::Row => Some((
                "looks at all rows of a group, and `where` at one",
                "groups are tested by `having` behind `group by`",
            )),
            Self::Key => Some((
                "looks at the rows of a group, so it makes no groups",
                "bind the select that computes it to a variable, and group that",
            )),
            Self::Union => Some((
                "looks at the rows of a group, and the order of a union at rows that are made",
                "give it a name in each of the selects, and order by that",
            )),
            Self::Aggregate => Some((
                "stands inside of another aggregate",
                "bind the inner select to a variable, and aggregate that",
            )),
        }
    }
}

/// Checks what stands inside an expression: functions of modules are called for all rows at once, so
/// they cannot; sub-selects are statements of their own.
fn inner<'s>(checker: &mut Checker<'s>, site: Site, expression: &'s Expression, around: Around) {
    let mut of_children = around;
    if let ExpressionKind::Aggregate(call) = &expression.kind {
        if let Some((reason, hint)) = around.refusal() {
            let message = format!("`{}` {reason}", call.name);
            let diagnostic =
                checker.add(site, codes::MISPLACED_AGGREGATE, call.name_span, &message);
            diagnostic.hints.push(hint.to_owned());
        }
        of_children = Around::Aggregate;
    }
    if let ExpressionKind::Condition(condition) = &expression.kind {
        match &**condition {
            Condition::Call(call) if !checker.variables.contains_key(call.callee.first_word()) => {
                row_function(checker, site, call);
            }
            Condition::Call(call) => {
                let name = &call.callee.text;
                let message = format!("{name} is called inside an expression");
                let diagnostic =
                    checker.add(site, codes::MISPLACED_FUNCTION, call.callee.span, &message);
                let hint = "a function of a module stands alone as a column or condition: give it a \
                            column of its own, and select from the variable that holds the rows";
                diagnostic.hints.push(hint.to_owned());
            }
            Condition::InSelect { select, .. } => checker.select(site, select),
            Condition::Equals { .. } | Condition::InList { .. } | Condition::Test(_) => {}
        }
    }
    if let ExpressionKind::Select { select, .. } | ExpressionKind::InSelect { select, .. } =
        &expression.kind
    {
        join::refuse_hidden_aliases(checker, site, select);
        checker.select(site, select);
    }
    expression.each_child(&mut |child| inner(checker, site, child, of_children));
}

/// Either all columns have an alias or none; beside expressions, and beside `*`, a bare column is called
/// by its last name (EXP-9).
pub(super) fn aliases(checker: &mut Checker<'_>, site: Site, columns: &Columns, span: Span) {
    let Columns::List(columns) = columns else { return };
    let has_star = columns.iter().any(|column| matches!(column.value, ColumnValue::Star(_)));
    let named = columns.iter().filter(|column| column.alias.is_some()).count();
    if (named == 0 && !has_star) || named == columns.len() {
        return;
    }
    let is_new =
        |column: &Column| matches!(column.value, ColumnValue::Expression(_) | ColumnValue::Star(_));
    if columns.iter().any(is_new) {
        for column in columns.iter().filter(|column| column.alias.is_none()) {
            let is_named = match &column.value {
                ColumnValue::Path(path) => last_name(path).is_some(),
                ColumnValue::Star(_) => true,
                ColumnValue::Call(_) | ColumnValue::Expression(_) => false,
            };
            if !is_named {
                let message = "this column needs a name, because the rows are objects";
                let diagnostic = checker.add(site, codes::UNNAMED_OUTPUT, column.span, message);
                diagnostic.hints.push("give it one: `… as name`".to_owned());
            }
        }
        return;
    }
    let message = "Not all selected columns are using aliases.";
    let bare = columns.iter().find(|column| column.alias.is_none());
    let diagnostic =
        checker.add(site, codes::MIXED_ALIASES, bare.map_or(span, column_span), message);
    diagnostic.hints.push("give every column an alias, or none".to_owned());
}

fn column_span(column: &Column) -> Span {
    column.span
}

/// A row function must come from a module that the script binds.
fn row_function(checker: &mut Checker<'_>, site: Site, call: &Call) {
    if checker.variables.contains_key(call.callee.first_word()) {
        return;
    }
    let message = format!("UDF {} not resolved", call.callee.text);
    let module = call.callee.first_word();
    let mut known: Vec<_> = checker.variables.keys().copied().collect();
    if module == call.callee.text {
        known.extend(FUNCTION_NAMES.iter().chain(AGGREGATE_NAMES));
    }
    let elsewhere = (module == call.callee.text).then(|| functions::written_for(module)).flatten();
    let meant = checker.guess(module, known);
    let diagnostic = checker.add(site, codes::UNRESOLVED_UDF, call.callee.span, &message);
    diagnostic.hints.push(match meant {
        _ if elsewhere.is_some() => format!("write {}", elsewhere.unwrap_or_default()),
        Some(meant) => format!("did you mean `{meant}`?"),
        None if module == call.callee.text => format!(
            "there is no built-in function of this name; bind one of a module first: \
             `{module} = require(\"….js\")`"
        ),
        None => format!("bind the module first: `{module} = require(\"….js\")`"),
    });
}
