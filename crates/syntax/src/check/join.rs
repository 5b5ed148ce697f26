//! Selects from several sources: everything names its source, and each source its alias.
//!
//! The form that older scripts could write, two names and a comma, keeps the rules that it had.

use std::fmt::Write as _;

use super::{Checker, Site};
use crate::{
    ast::{
        Arg, Call, ColumnValue, Columns, Condition, Expression, ExpressionKind, GroupKeys,
        Grouping, Joint, ObjectMember, OperandKind, Path, Segment, Select, SortKey, Source,
    },
    caught::first_name,
    diagnostic::codes,
    parser::last_name,
    spelling,
};

/// Whether a select is a join as older scripts could write it: two names, a comma, plain columns, and conditions.
fn is_plain_join(node: &Select) -> bool {
    let [main, joined] = node.sources.as_slice() else { return false };
    let has_new_column = match &node.columns {
        Columns::Star(_) => false,
        Columns::List(columns) => columns.iter().any(|column| {
            matches!(column.value, ColumnValue::Expression(_) | ColumnValue::Star(_))
        }),
    };
    let is_named = |source: &Source| source.select.is_none() && source.joint == Joint::Comma;
    !node.conditions.is_empty()
        && is_named(main)
        && is_named(joined)
        && !is_list_of(joined, std::slice::from_ref(main))
        && !has_new_column
        && !node.is_value
}

/// Whether a source is a list in the rows of one before it: its name begins with that one's alias.
fn is_list_of(source: &Source, before: &[Source]) -> bool {
    source.select.is_none()
        && before.iter().filter_map(|source| source.alias.as_ref()).any(|alias| {
            let rest = source.name.text.strip_prefix(alias.text.as_str());
            rest.is_some_and(|rest| rest.starts_with('.'))
        })
}

/// A select inside of an expression must not give its sources the names of those around it.
pub(super) fn refuse_hidden_aliases(checker: &mut Checker<'_>, site: Site, node: &Select) {
    for alias in node.sources.iter().filter_map(|source| source.alias.as_ref()) {
        if checker.around.contains(&alias.text.as_str()) {
            let message = format!("`{}` is the alias of a source around this select", alias.text);
            let diagnostic = checker.add(site, codes::REPEATED_ALIAS, alias.span, &message);
            diagnostic.hints.push("give one of them another name".to_owned());
        }
    }
}

/// Checks a select from several sources; so many of the known aliases are those around it.
pub(super) fn check(checker: &mut Checker<'_>, site: Site, node: &Select, outside: usize) {
    let is_plain = is_plain_join(node);
    if !is_plain {
        aliases(checker, site, node);
    }
    let around = checker.around[..outside].to_vec();
    let prefixes = Prefixes { sources: &node.sources, around: &around };
    match &node.columns {
        Columns::Star(span) if is_plain => {
            let message = "select * is not supported in joins";
            let diagnostic = checker.add(site, codes::STAR_IN_JOIN, *span, message);
            let hint = "name the columns, or let `join … on` join the sources: its rows have a `*`";
            diagnostic.hints.push(hint.to_owned());
        }
        Columns::Star(_) => {}
        Columns::List(columns) => {
            for column in columns {
                match &column.value {
                    ColumnValue::Path(path) if is_plain && prefixes.is_alias(path) => {
                        report_unprefixed(checker, site, &prefixes, path);
                    }
                    ColumnValue::Path(path) => require_prefix(checker, site, &prefixes, path),
                    ColumnValue::Call(call) => arguments(checker, site, &prefixes, call),
                    ColumnValue::Expression(expression) => {
                        prefixed(checker, site, &prefixes, &[], expression);
                    }
                    ColumnValue::Star(_) => {}
                }
            }
        }
    }
    for (position, source) in node.sources.iter().enumerate() {
        let Some(on) = &source.on else { continue };
        let sources = &node.sources[..=position];
        let prefixes = Prefixes { sources, around: &around };
        prefixed(checker, site, &prefixes, &[], on);
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
                    && is_plain
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

/// Every source of several has an alias of its own.
fn aliases(checker: &mut Checker<'_>, site: Site, node: &Select) {
    for (position, source) in node.sources.iter().enumerate() {
        let Some(alias) = &source.alias else {
            if source.select.is_some() {
                let message = "this select needs an alias, because there are several sources";
                let diagnostic = checker.add(site, codes::MISSING_ALIAS, source.name.span, message);
                diagnostic.hints.push("write `(select …) as x`".to_owned());
                continue;
            }
            let message =
                format!("`{}` needs an alias, because there are several sources", source.name.text);
            let diagnostic = checker.add(site, codes::MISSING_ALIAS, source.span, &message);
            let name = source.name.text.rsplit('.').next().unwrap_or_default();
            diagnostic.hints.push(format!("write `{} as {}`", source.name.text, shorten(name)));
            continue;
        };
        let is_same = |other: &Source| other.alias.as_ref().is_some_and(|it| it.text == alias.text);
        if node.sources[..position].iter().any(is_same) {
            let message = format!("two sources have the alias `{}`", alias.text);
            let diagnostic = checker.add(site, codes::REPEATED_ALIAS, alias.span, &message);
            diagnostic.hints.push("give one of them another name".to_owned());
        }
    }
}

/// The alias that a hint proposes.
fn shorten(name: &str) -> String {
    name.chars().next().map_or_else(|| "x".to_owned(), String::from)
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
                    ObjectMember::Star(_) | ObjectMember::Named { .. } => {}
                }
            }
        }
        _ => {}
    }
    expression.each_child(&mut |child| prefixed(checker, site, prefixes, outputs_inside, child));
}

/// The aliases of a join.
struct Prefixes<'s> {
    sources: &'s [Source],
    /// The aliases of the selects around it.
    around: &'s [&'s str],
}

impl Prefixes<'_> {
    /// Which source a path belongs to.
    fn of(&self, path: &Path) -> Option<usize> {
        self.sources.iter().position(|source| {
            source.alias.as_ref().is_some_and(|alias| has_prefix(path, &alias.text))
        })
    }

    /// Whether a path is a column of a source, of these or of one around them, or the row itself.
    fn is_known(&self, path: &Path) -> bool {
        let is_around = |alias: &&str| has_prefix(path, alias) || path_text(path) == **alias;
        self.of(path).is_some() || self.is_alias(path) || self.around.iter().any(is_around)
    }

    /// Whether a path is the alias of a source and nothing else.
    fn is_alias(&self, path: &Path) -> bool {
        let text = path_text(path);
        self.sources.iter().filter_map(|source| source.alias.as_ref()).any(|it| it.text == text)
    }

    /// Advice about a path that has none of them.
    fn hint(&self, path: &Path) -> Option<String> {
        let aliases: Vec<&str> = self
            .sources
            .iter()
            .filter_map(|source| Some(source.alias.as_ref()?.text.as_str()))
            .collect();
        if aliases.is_empty() {
            let which = if self.sources.len() == 2 { "both tables" } else { "each source" };
            return Some(format!("give {which} an alias, and begin each column with one"));
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
    if !prefixes.is_known(path) {
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
