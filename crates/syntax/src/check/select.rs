//! Columns, joins and row functions.

use std::fmt::Write as _;

use super::{Checker, Site};
use crate::{
    ast::{
        Arg, Call, Column, ColumnValue, Columns, Condition, Expression, ExpressionKind, GroupKeys,
        Grouping, ObjectMember, OperandKind, Path, Segment, Select, SortKey, Source,
    },
    caught::first_name,
    diagnostic::codes,
    functions::{AGGREGATE_NAMES, FUNCTION_NAMES},
    parser::last_name,
    source::Span,
    spelling,
};

/// Checks the columns and, with several sources, that everything names its source.
pub(super) fn check<'s>(checker: &mut Checker<'s>, site: Site, node: &'s Select) {
    aliases(checker, site, &node.columns, node.span);
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
    match node.sources.as_slice() {
        [] | [_] => {}
        [main, joiner] => join(checker, site, node, [main, joiner]),
        [_, _, third, ..] => {
            let message = "Statement must have no more than two tables in the from clause";
            // A colon behind `Line` too, as it was in ql.io 0.8 (EXE-20).
            let wire = format!("Line: {}: {message}", site.line);
            checker.add_literal(site, codes::TOO_MANY_SOURCES, third.span, message, wire);
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
    let meant = checker.guess(module, known);
    let diagnostic = checker.add(site, codes::UNRESOLVED_UDF, call.callee.span, &message);
    diagnostic.hints.push(match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if module == call.callee.text => format!(
            "there is no built-in function of this name; bind one of a module first: \
             `{module} = require(\"….js\")`"
        ),
        None => format!("bind the module first: `{module} = require(\"….js\")`"),
    });
}

fn join(checker: &mut Checker<'_>, site: Site, node: &Select, sources: [&Source; 2]) {
    if node.conditions.is_empty() {
        let span = sources[0].span.to(sources[1].span);
        // A blank at the end, as it was in ql.io 0.8 (EXE-20).
        let message = "Missing join condition in statement ";
        checker.add(site, codes::MISSING_JOIN_CONDITION, span, message);
    }
    let prefixes = Prefixes(sources);
    match &node.columns {
        Columns::Star(span) => {
            let message = "select * is not supported in joins";
            checker.add(site, codes::STAR_IN_JOIN, *span, message);
        }
        Columns::List(columns) => {
            for column in columns {
                match &column.value {
                    ColumnValue::Path(path) => require_prefix(checker, site, &prefixes, path),
                    ColumnValue::Call(call) => arguments(checker, site, &prefixes, call),
                    ColumnValue::Expression(expression) => {
                        prefixed(checker, site, &prefixes, &[], expression);
                    }
                    ColumnValue::Star(star) => {
                        let message = "select * is not supported in joins";
                        checker.add(site, codes::STAR_IN_JOIN, star.span, message);
                    }
                }
            }
        }
    }
    let outputs = output_names(&node.columns);
    let keys = match &node.grouping {
        Some(Grouping { keys: GroupKeys::List(keys), .. }) => keys.as_slice(),
        _ => &[],
    };
    // The order of a union is about the rows of all its selects.
    let order: &[SortKey] = if node.unions.is_empty() { &node.order } else { &[] };
    let order = order.iter().map(|key| &key.value);
    for expression in keys.iter().chain(&node.having).chain(order) {
        prefixed(checker, site, &prefixes, &outputs, expression);
    }
    for condition in &node.conditions {
        match condition {
            Condition::Equals { path, operand, .. } => {
                require_prefix(checker, site, &prefixes, path);
                if let OperandKind::Path(right) = &operand.kind
                    && let (Some(left), Some(side)) = (prefixes.of(path), prefixes.of(right))
                    && left == side
                {
                    report_unprefixed(checker, site, &prefixes, right);
                }
            }
            Condition::InList { path, .. } | Condition::InSelect { path, .. } => {
                require_prefix(checker, site, &prefixes, path);
            }
            Condition::Call(call) => arguments(checker, site, &prefixes, call),
            Condition::Test(test) => prefixed(checker, site, &prefixes, &[], test),
        }
    }
}

/// The names of the members of a row that is an object.
fn output_names(columns: &Columns) -> Vec<&str> {
    let Columns::List(columns) = columns else { return Vec::new() };
    let mut names = Vec::new();
    for column in columns {
        match (&column.alias, &column.value) {
            (Some(alias), _) => names.push(alias.text.as_str()),
            (None, ColumnValue::Path(path)) => names.extend(last_name(path)),
            (
                None,
                ColumnValue::Expression(Expression {
                    kind: ExpressionKind::Object(members), ..
                }),
            ) => {
                for member in members {
                    match member {
                        ObjectMember::Named { key, .. } => names.push(key),
                        ObjectMember::Path(path) => names.extend(last_name(path)),
                        ObjectMember::Star(_) => {}
                    }
                }
            }
            (None, _) => {}
        }
    }
    names
}

/// Every column of an expression in a join names its source, unless it is one of the names of the output.
fn prefixed(
    checker: &mut Checker<'_>,
    site: Site,
    prefixes: &Prefixes<'_>,
    outputs: &[&str],
    expression: &Expression,
) {
    let is_output = |path: &Path| matches!(path.segments.as_slice(), [Segment::Member { name, .. }] if outputs.contains(&name.as_str()));
    let outputs_inside = match &expression.kind {
        ExpressionKind::Aggregate(_) => &[],
        _ => outputs,
    };
    match &expression.kind {
        ExpressionKind::Path(path) if is_output(path) => {}
        ExpressionKind::Path(path) => require_prefix(checker, site, prefixes, path),
        ExpressionKind::Condition(condition) => {
            if let Some(path) = condition.path().filter(|path| !is_output(path)) {
                require_prefix(checker, site, prefixes, path);
            }
        }
        ExpressionKind::Object(members) => {
            for member in members {
                match member {
                    ObjectMember::Path(path) => require_prefix(checker, site, prefixes, path),
                    ObjectMember::Star(star) => {
                        let message = "select * is not supported in joins";
                        checker.add(site, codes::STAR_IN_JOIN, star.span, message);
                    }
                    ObjectMember::Named { .. } => {}
                }
            }
        }
        _ => {}
    }
    expression.each_child(&mut |child| prefixed(checker, site, prefixes, outputs_inside, child));
}

/// The aliases of a join.
struct Prefixes<'s>([&'s Source; 2]);

impl Prefixes<'_> {
    /// Which source a path belongs to.
    fn of(&self, path: &Path) -> Option<usize> {
        self.0.iter().position(|source| {
            source.alias.as_ref().is_some_and(|alias| has_prefix(path, &alias.text))
        })
    }

    /// Advice about a path that has none of them.
    fn hint(&self, path: &Path) -> Option<String> {
        let aliases: Vec<&str> =
            self.0.iter().filter_map(|source| Some(source.alias.as_ref()?.text.as_str())).collect();
        if aliases.is_empty() {
            return Some("give both tables an alias, and begin each column with one".to_owned());
        }
        if path.segments.len() == 1 {
            let prefixes: Vec<String> = aliases.iter().map(|alias| format!("`{alias}.`")).collect();
            return Some(format!("begin it with {}", prefixes.join(" or ")));
        }
        let meant = spelling::closest(first_name(path), aliases)?;
        Some(format!("did you mean `{meant}`?"))
    }
}

/// Whether the path starts with all words of the alias and goes on.
fn has_prefix(path: &Path, alias: &str) -> bool {
    let mut segments = path.segments.iter();
    let is_prefix = alias
        .split('.')
        .all(|word| matches!(segments.next(), Some(Segment::Member { name, .. }) if name == word));
    is_prefix && segments.next().is_some()
}

fn require_prefix(checker: &mut Checker<'_>, site: Site, prefixes: &Prefixes<'_>, path: &Path) {
    if prefixes.of(path).is_none() {
        report_unprefixed(checker, site, prefixes, path);
    }
}

fn report_unprefixed(checker: &mut Checker<'_>, site: Site, prefixes: &Prefixes<'_>, path: &Path) {
    let message = format!("Column {} not prefixed or prefix not found", path_text(path));
    let diagnostic = checker.add(site, codes::UNPREFIXED_COLUMN, path.span, &message);
    // A column of the wrong side has a prefix that is known.
    if prefixes.of(path).is_none() {
        diagnostic.hints.extend(prefixes.hint(path));
    }
}

/// Columns given to a function of a join need a prefix as well.
fn arguments(checker: &mut Checker<'_>, site: Site, prefixes: &Prefixes<'_>, call: &Call) {
    for argument in &call.args {
        let Arg::Path(path) = argument else { continue };
        if prefixes.of(path).is_some() {
            continue;
        }
        let text = path_text(path);
        let (code, message) = if path.segments.len() == 1 {
            (codes::UNPREFIXED_ARGUMENT, format!("Arg {text} not prefixed"))
        } else {
            (codes::UNKNOWN_ARGUMENT_PREFIX, format!("Alias of arg {text} not found"))
        };
        let diagnostic = checker.add(site, code, path.span, &message);
        diagnostic.hints.extend(prefixes.hint(path));
    }
}

/// A path as messages name it: without quotes (PTH-2).
fn path_text(path: &Path) -> String {
    let mut text = String::new();
    for (index, segment) in path.segments.iter().enumerate() {
        let written = match segment {
            Segment::Member { name, .. } if index == 0 => write!(text, "{name}"),
            Segment::Member { name, is_quoted: true } => write!(text, "[{name}]"),
            Segment::Member { name, is_quoted: false } => write!(text, ".{name}"),
            Segment::Descendant(name) => write!(text, "..{name}"),
            Segment::Index(index) => write!(text, "[{index}]"),
            Segment::Wildcard => write!(text, "[*]"),
            Segment::Slice { start, end, step } => {
                let part = |number: &Option<i64>| number.map_or(String::new(), |n| n.to_string());
                let step = step.map_or(String::new(), |step| format!(":{step}"));
                write!(text, "[{}:{}{step}]", part(start), part(end))
            }
            Segment::Filter(expression) => write!(text, "[?({expression})]"),
            Segment::Computed(expression) => write!(text, "[({expression})]"),
        };
        written.expect("writing to a String cannot fail");
    }
    text
}
