//! Warnings about parameters of tables that stand where they test rows and ask for nothing.
//!
//! The rows are right if the table sends the columns, so nothing stops; but a table that is asked for less
//! than is meant sends more than is needed, or what its defaults say.

use qlio_syntax::{
    ast::{self, Comparison, Expression, ExpressionKind, VerbKind},
    diagnostic::codes,
};

use super::{
    Lowering,
    condition::strip_alias,
    path, path_text,
    warning::{NAMES_SHOWN_MAX, root},
};
use crate::catalog::ColumnParameter;

impl Lowering<'_> {
    /// Warns that `=` on a table stands below `or` or `not`, where it tests rows and asks for nothing;
    /// once for a statement. `tables` are its sources that are tables; with several sources each path
    /// names its own.
    pub(super) fn warn_tested_parameters(&mut self, select: &ast::Select, tables: &[&ast::Source]) {
        if tables.is_empty() {
            return;
        }
        let mut tested = Vec::new();
        for condition in &select.conditions {
            if let ast::Condition::Test(test) = condition {
                tested_below(test, false, &mut tested);
            }
        }
        let aliases = || tables.iter().filter_map(|source| source.alias.as_ref());
        let is_alone = select.sources.len() == 1;
        tested.retain(|path| {
            let names = |alias: &ast::Name| path::without_alias(path, &alias.text).is_some();
            is_alone || aliases().any(names)
        });
        let [first, more @ ..] = tested.as_slice() else { return };
        let message = format!("`{}` is tested here, and asks for nothing", path_text(first));
        let Some(mut warning) = self.warning(codes::TESTED_PARAMETER, first.span, message) else {
            return;
        };
        for path in more.iter().take(NAMES_SHOWN_MAX) {
            warning = warning.label(path.span, "this one, too");
        }
        let note = "below `or` and `not`, a condition decides about rows that the table has sent";
        self.problems.push(warning.note(note).hint("write `==`, which never asks"));
    }

    /// Warns that `=` or `in` compares a parameter of a lone table with something computed, which tests rows
    /// and asks for nothing; once for a statement. `declared` are the columns that may be asked for all the same.
    pub(super) fn warn_computed_parameter(
        &mut self,
        tests: &[&ast::Condition],
        source: &ast::Source,
        declared: &[ColumnParameter],
    ) {
        let Some(used) = self.used_parameters(&source.name.text, VerbKind::Select) else { return };
        let alias = source.alias.as_ref().map(|alias| alias.text.as_str());
        let is_parameter = |path: &ast::Path| {
            let name = path_text(&strip_alias(path, alias));
            let is_declared = declared.iter().any(|column| *column.column == *name);
            used.roots.contains(root(&name)) && !is_declared
        };
        let computed = tests.iter().filter_map(|test| computed_comparison(test));
        let found = computed.into_iter().find(|(path, _)| is_parameter(path));
        let Some((path, values)) = found else { return };
        let message = format!("`{}` is tested here, and asks for nothing", path_text(path));
        let Some(warning) = self.warning(codes::TESTED_PARAMETER, path.span, message) else {
            return;
        };
        let note = "a table is asked for texts, numbers and tokens; what is computed tests the rows that it has sent";
        let hint = match values.iter().find_map(lone_member) {
            Some(name) => format!("a token stands in quotes: `\"{{{name}}}\"`"),
            None => "write `==`, which never asks".to_owned(),
        };
        self.problems.push(warning.note(note).hint(hint));
    }
}

/// The paths that `=` compares below `or` or `not`.
fn tested_below<'e>(test: &'e Expression, is_below: bool, found: &mut Vec<&'e ast::Path>) {
    match &test.kind {
        ExpressionKind::Any(items) => {
            for item in items {
                tested_below(item, true, found);
            }
        }
        ExpressionKind::Not { inner, is_infix: false } => tested_below(inner, true, found),
        ExpressionKind::All(items) => {
            for item in items {
                tested_below(item, is_below, found);
            }
        }
        ExpressionKind::Group(inner) => tested_below(inner, is_below, found),
        ExpressionKind::Condition(condition) if is_below => {
            if let ast::Condition::Equals { path, is_in: false, .. } = &**condition {
                found.push(path);
            }
        }
        ExpressionKind::Compare { left, comparison: Comparison::Equals, .. } if is_below => {
            if let ExpressionKind::Path(path) = &left.kind {
                found.push(path);
            }
        }
        _ => {}
    }
}

/// The column and the values of `=` and `in` with something computed.
fn computed_comparison(test: &ast::Condition) -> Option<(&ast::Path, &[Expression])> {
    let ast::Condition::Test(test) = test else { return None };
    let (left, values) = match &test.kind {
        ExpressionKind::Compare { left, comparison: Comparison::Equals, right } => {
            (left, std::slice::from_ref(&**right))
        }
        ExpressionKind::In { value, items, .. } => (value, items.as_slice()),
        _ => return None,
    };
    let ExpressionKind::Path(path) = &left.kind else { return None };
    Some((path, values))
}

/// The path of `{path}`, an object that looks like a token.
fn lone_member(value: &Expression) -> Option<String> {
    match &value.kind {
        ExpressionKind::Object(members) => match members.as_slice() {
            [ast::ObjectMember::Path(path)] => Some(path_text(path)),
            _ => None,
        },
        _ => None,
    }
}
