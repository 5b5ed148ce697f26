//! The columns that scripts read, and those that a select makes.
//!
//! In: a script. Out: names. A table does not say what its rows hold, so what selects read of it is the
//! best that is known.

use qlio_syntax::{
    ast::{
        self, ColumnValue, Columns, Condition, Expression, ExpressionKind, GroupKeys, ObjectMember,
        Path, Select,
    },
    parse,
    source::Span,
    visit::each_select,
};

use super::COLUMNS_MAX;
use crate::lower::{path_text, without_alias};

/// The columns that the selects of a script read from a source, wherever they stand.
pub(super) fn seen(script: &ast::Script, name: &str, found: &mut Vec<String>) {
    each_select(script, &mut |select| {
        for source in select.sources.iter().filter(|source| source.name.text == name) {
            let alias = source.alias.as_ref().map(|alias| alias.text.as_str());
            each_path(select, &mut |path| {
                let text = match alias.and_then(|alias| without_alias(path, alias)) {
                    Some(path) => path_text(&path),
                    None if select.sources.len() > 1 => return,
                    None => path_text(path),
                };
                if found.len() < COLUMNS_MAX && !text.contains('{') && !found.contains(&text) {
                    found.push(text);
                }
            });
        }
    });
}

/// The paths of a select that are columns. Conditions by `=` are parameters of a table.
fn each_path(select: &Select, visit: &mut dyn FnMut(&Path)) {
    if let Columns::List(columns) = &select.columns {
        for column in columns {
            match &column.value {
                ColumnValue::Path(path) => visit(path),
                ColumnValue::Expression(expression) => in_expression(expression, visit),
                ColumnValue::Call(_) | ColumnValue::Star(_) => {}
            }
        }
    }
    for condition in &select.conditions {
        if let Condition::Test(test) = condition {
            in_expression(test, visit);
        }
    }
    let on = select.sources.iter().filter_map(|source| source.on.as_ref());
    let keys = match &select.grouping {
        Some(ast::Grouping { keys: GroupKeys::List(keys), .. }) => keys.as_slice(),
        _ => &[],
    };
    let order = select.order.iter().map(|key| &key.value);
    for expression in on.chain(keys).chain(&select.having).chain(order) {
        in_expression(expression, visit);
    }
}

fn in_expression(expression: &Expression, visit: &mut dyn FnMut(&Path)) {
    match &expression.kind {
        ExpressionKind::Path(path) => visit(path),
        ExpressionKind::Condition(condition) => condition.path().into_iter().for_each(&mut *visit),
        ExpressionKind::Object(members) => {
            for member in members {
                if let ObjectMember::Path(path) = member {
                    visit(path);
                }
            }
        }
        _ => {}
    }
    expression.each_child(&mut |child| in_expression(child, visit));
}

/// The names of the output, where `group by`, `having` or `order by` may use them: `replace` is the word
/// that is being written.
pub(super) fn outputs_at(text: &str, replace: Span) -> Vec<String> {
    let (start, end) = (replace.start as usize, replace.end as usize);
    // The word need not be there yet, and without one the clause is broken.
    let whole = format!("{}x {}", &text[..start], &text[end..]);
    let mut names = Vec::new();
    each_select(&parse(&whole).script, &mut |select| {
        let holds = |span: Span| span.start <= replace.start && replace.start < span.end;
        let keys = select.grouping.as_ref().map(|grouping| grouping.span);
        let order = select.order.iter().map(|key| key.value.span);
        let having = select.having.as_ref().map(|having| having.span);
        if !keys.into_iter().chain(order).chain(having).any(holds) {
            return;
        }
        // Of selects in each other the innermost comes last.
        names.clear();
        let Columns::List(columns) = &select.columns else { return };
        names.extend(columns.iter().filter_map(|column| Some(column.alias.as_ref()?.text.clone())));
        let members = columns.iter().filter_map(|column| match &column.value {
            ColumnValue::Expression(Expression {
                kind: ExpressionKind::Object(members), ..
            }) => Some(members),
            _ => None,
        });
        names.extend(members.flatten().filter_map(|member| match member {
            ObjectMember::Named { key, .. } => Some(key.clone()),
            ObjectMember::Path(_) | ObjectMember::Star(_) => None,
        }));
    });
    names
}
