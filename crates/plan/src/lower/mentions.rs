//! The paths that a select reads, wherever they stand: for finding out which sources something needs.

use qlio_syntax::ast::{
    Arg, ColumnValue, Columns, Condition, Expression, ExpressionKind, GroupKeys, Grouping, Joint,
    ObjectMember, OperandKind, Path, Segment, Select, Source,
};

use super::{path_text, without_alias};

/// Whether a path begins with an alias, or is it.
pub(super) fn begins_with(path: &Path, alias: &str) -> bool {
    without_alias(path, alias).is_some() || path_text(path) == alias
}

/// A lone word as a path.
pub(super) fn word_path(word: &qlio_syntax::ast::Ident) -> Path {
    let segment = Segment::Member { name: word.text.clone(), is_quoted: false };
    Path { segments: vec![segment], span: word.span }
}

/// A dotted name as a path.
pub(super) fn name_path(name: &qlio_syntax::ast::Name) -> Path {
    let member = |word: &str| Segment::Member { name: word.to_owned(), is_quoted: false };
    Path { segments: name.text.split('.').map(member).collect(), span: name.span }
}

/// Calls `found` with every path of a condition, those of sub-selects included.
pub(super) fn of_condition(condition: &Condition, found: &mut dyn FnMut(&Path)) {
    match condition {
        Condition::Equals { path, operand, .. } => {
            found(path);
            if let OperandKind::Path(right) = &operand.kind {
                found(right);
            }
        }
        Condition::InList { path, items, .. } => {
            found(path);
            for item in items {
                if let OperandKind::Path(item) = &item.kind {
                    found(item);
                }
            }
        }
        Condition::InSelect { path, select, .. } => {
            found(path);
            of_select(select, found);
        }
        Condition::Call(call) => {
            for argument in &call.args {
                if let Arg::Path(path) = argument {
                    found(path);
                }
            }
        }
        Condition::Test(test) => of_expression(test, found),
    }
}

/// Calls `found` with every path of an expression, those of sub-selects included.
pub(super) fn of_expression(expression: &Expression, found: &mut dyn FnMut(&Path)) {
    match &expression.kind {
        ExpressionKind::Path(path) => found(path),
        ExpressionKind::Word(word) => found(&word_path(word)),
        ExpressionKind::Condition(condition) => of_condition(condition, found),
        ExpressionKind::Select { select, .. } | ExpressionKind::InSelect { select, .. } => {
            of_select(select, found);
        }
        ExpressionKind::Object(members) => {
            for member in members {
                match member {
                    ObjectMember::Path(path) => found(path),
                    ObjectMember::Star(star) => {
                        if let Some(alias) = &star.alias {
                            found(&word_path(alias));
                        }
                    }
                    ObjectMember::Named { .. } => {}
                }
            }
        }
        _ => {}
    }
    expression.each_child(&mut |child| of_expression(child, found));
}

/// Calls `found` with every path of a select.
pub(super) fn of_select(select: &Select, found: &mut dyn FnMut(&Path)) {
    for source in &select.sources {
        match &source.select {
            Some(inner) => of_select(inner, found),
            None => found(&name_path(&source.name)),
        }
        if let Some(on) = &source.on {
            of_expression(on, found);
        }
    }
    if let Columns::List(columns) = &select.columns {
        for column in columns {
            match &column.value {
                ColumnValue::Path(path) => found(path),
                ColumnValue::Call(call) => of_condition(&Condition::Call(call.clone()), found),
                ColumnValue::Expression(expression) => of_expression(expression, found),
                ColumnValue::Star(star) => {
                    if let Some(alias) = &star.alias {
                        found(&word_path(alias));
                    }
                }
            }
        }
    }
    for condition in &select.conditions {
        of_condition(condition, found);
    }
    for expression in behind_rows(select) {
        of_expression(expression, found);
    }
    for union in &select.unions {
        of_select(&union.select, found);
    }
}

/// What is said of groups and of the order.
fn behind_rows(select: &Select) -> impl Iterator<Item = &Expression> {
    let keys = match &select.grouping {
        Some(Grouping { keys: GroupKeys::List(keys), .. }) => keys.as_slice(),
        _ => &[],
    };
    keys.iter().chain(&select.having).chain(select.order.iter().map(|key| &key.value))
}

/// Whether an expression has a select inside.
pub(super) fn has_select(expression: &Expression) -> bool {
    let mut has = false;
    expression.each_select(&mut |_| has = true);
    has
}

/// Whether a select can be read by what older scripts needed: one source, or two that a comma joins, and no
/// sub-select that depends on the row.
pub(super) fn is_plain(select: &Select, is_table: &dyn Fn(&str) -> bool) -> bool {
    let is_first = |source: &Source| source.select.is_none() && source.joint == Joint::Comma;
    let are_plain = match select.sources.as_slice() {
        [only] => is_first(only),
        [main, joined] => {
            is_first(main)
                && is_first(joined)
                && main.alias.is_some()
                && joined.alias.is_some()
                && !select.conditions.is_empty()
                && (is_table(&joined.name.text) || !is_list_of(joined, main))
                && has_plain_columns(select)
        }
        _ => false,
    };
    are_plain && !has_dependent_select(select)
}

fn has_plain_columns(select: &Select) -> bool {
    let aliases: Vec<_> =
        select.sources.iter().filter_map(|source| source.alias.as_ref()).collect();
    let mut is_row = false;
    let mut look = |path: &Path| is_row |= aliases.iter().any(|it| path_text(path) == it.text);
    let Columns::List(columns) = &select.columns else { return false };
    let is_plain = columns.iter().all(|column| match &column.value {
        ColumnValue::Star(_) => false,
        ColumnValue::Path(path) => {
            look(path);
            true
        }
        ColumnValue::Call(_) => true,
        ColumnValue::Expression(expression) => {
            of_expression(expression, &mut look);
            let mut has_star = false;
            find_star(expression, &mut has_star);
            !has_star
        }
    });
    behind_rows(select).for_each(|expression| of_expression(expression, &mut look));
    select.conditions.iter().for_each(|condition| of_condition(condition, &mut look));
    is_plain && !is_row
}

fn find_star(expression: &Expression, has_star: &mut bool) {
    if let ExpressionKind::Object(members) = &expression.kind {
        *has_star |= members.iter().any(|member| matches!(member, ObjectMember::Star(_)));
    }
    expression.each_child(&mut |child| find_star(child, has_star));
}

/// Whether a source is named as a list in the rows of another.
pub(super) fn is_list_of(source: &Source, base: &Source) -> bool {
    let Some(alias) = &base.alias else { return false };
    source.name.text.strip_prefix(alias.text.as_str()).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether a select has a select in its expressions, or one behind `in` that names a source of this one.
fn has_dependent_select(select: &Select) -> bool {
    let aliases: Vec<&str> = select
        .sources
        .iter()
        .filter_map(|source| source.alias.as_ref())
        .map(|alias| alias.text.as_str())
        .collect();
    let mut has = false;
    let mut look = |expression: &Expression| has |= has_value_select(expression, &aliases);
    if let Columns::List(columns) = &select.columns {
        for column in columns {
            if let ColumnValue::Expression(expression) = &column.value {
                look(expression);
            }
        }
    }
    behind_rows(select).for_each(&mut look);
    select.sources.iter().filter_map(|source| source.on.as_ref()).for_each(&mut look);
    for condition in &select.conditions {
        match condition {
            Condition::Test(test) => has |= has_value_select(test, &aliases),
            Condition::InSelect { select, .. } => has |= names_one_of(select, &aliases),
            Condition::Equals { .. } | Condition::InList { .. } | Condition::Call(_) => {}
        }
    }
    has
}

fn has_value_select(expression: &Expression, aliases: &[&str]) -> bool {
    let mut has = match &expression.kind {
        ExpressionKind::Select { .. } | ExpressionKind::InSelect { .. } => true,
        ExpressionKind::Condition(condition) => match &**condition {
            Condition::InSelect { select, .. } => names_one_of(select, aliases),
            _ => false,
        },
        _ => false,
    };
    expression.each_child(&mut |child| has |= has_value_select(child, aliases));
    has
}

/// Whether a select reads a column of one of these sources, which no source of its own hides.
pub(super) fn names_one_of(select: &Select, aliases: &[&str]) -> bool {
    let mut names = false;
    let own: Vec<&str> = select
        .sources
        .iter()
        .filter_map(|source| source.alias.as_ref())
        .map(|alias| alias.text.as_str())
        .collect();
    let visible: Vec<&str> = aliases.iter().copied().filter(|alias| !own.contains(alias)).collect();
    of_select(select, &mut |path| {
        names |= visible.iter().any(|alias| begins_with(path, alias));
    });
    names
}
