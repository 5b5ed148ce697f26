//! The names that a statement needs, as far as they can be seen in its text (EXE-17).
//!
//! In: one alternative. Out: candidates for names of variables and inline tables; most of them may
//! name neither. Columns of rows are not references, and neither are the two sides of a join.

use crate::{
    ast::{
        Arg, Bound, Call, ColumnValue, Columns, Condition, Expression, ExpressionKind, GroupKeys,
        Grouping, Insert, Json, JsonKind, Name, Operand, OperandKind, Path, Primary, Segment,
        Select,
    },
    caught::first_name,
    token,
};

/// Calls `found` with every name that the alternative refers to.
pub(super) fn references<'s>(primary: &'s Primary, found: &mut impl FnMut(&'s str)) {
    match primary {
        Primary::Select(node) => select(node, &[], found),
        Primary::Insert(node) => insert(node, found),
        Primary::Update(node) => {
            found(&node.target.name.text);
            text(&node.object.text, found);
        }
        Primary::Delete(node) => {
            found(&node.target.name.text);
            conditions(&node.conditions, &[], found);
        }
        Primary::Describe(node) => found(&node.source.name.text),
        Primary::Json(node) => json(node, found),
        Primary::Call(node) => call(node, true, found),
        Primary::Reference(name) => found(&name.text),
        Primary::Create(_) | Primary::Show(_) | Primary::DescribeRoute(_) => {}
    }
}

/// `around` are the aliases of the selects that this one stands in.
fn select<'s>(node: &'s Select, around: &[&'s str], found: &mut dyn FnMut(&'s str)) {
    let mut found = found;
    let found = &mut found;
    let aliases = node.sources.iter().filter_map(|source| source.alias.as_ref());
    let aliases: Vec<&str> = around.iter().copied().chain(aliases.map(Name::first_word)).collect();
    for source in &node.sources {
        match &source.select {
            Some(inner) => select(inner, around, found),
            None => found(&source.name.text),
        }
        if let Some(on) = &source.on {
            expression(on, &aliases, found);
        }
    }
    columns(&node.columns, &aliases, found);
    conditions(&node.conditions, &aliases, found);
    if let Some(Grouping { keys: GroupKeys::List(keys), .. }) = &node.grouping {
        for key in keys {
            expression(key, &aliases, found);
        }
    }
    let order = node.order.iter().map(|key| &key.value);
    for behind in node.having.iter().chain(order) {
        expression(behind, &aliases, found);
    }
    for union in &node.unions {
        select(&union.select, around, found);
    }
    for bound in [&node.limit, &node.offset].into_iter().flatten() {
        if let Bound::Token { text, .. } = bound {
            bare_token(text, found);
        }
    }
}

/// The names that an expression over rows refers to: those of its tokens and words.
fn expression<'s>(node: &'s Expression, aliases: &[&'s str], found: &mut impl FnMut(&'s str)) {
    match &node.kind {
        ExpressionKind::Text { text: value, .. } => text(value, found),
        ExpressionKind::Token(value) => bare_token(value, found),
        ExpressionKind::Word(word) => found(&word.text),
        ExpressionKind::Path(path) => quoted_parts(path, found),
        ExpressionKind::Condition(inner) => {
            conditions(std::slice::from_ref(&**inner), aliases, found);
        }
        ExpressionKind::Select { select: inner, .. } => select(inner, aliases, found),
        ExpressionKind::InSelect { value, select: inner } => {
            expression(value, aliases, found);
            select(inner, aliases, found);
        }
        _ => {
            // The visitor of children takes a trait object, whose type does not grow with the depth.
            let found: &mut dyn FnMut(&'s str) = found;
            let mut found = found;
            node.each_child(&mut |child| expression(child, aliases, &mut found));
        }
    }
}

/// A token without quotes and braces.
fn bare_token<'s>(token: &'s str, found: &mut impl FnMut(&'s str)) {
    let name = token.trim_start_matches(['=', '^']);
    let length = name.find(['.', '[', '{']).unwrap_or(name.len());
    found(&name[..length]);
}

fn columns<'s>(columns: &'s Columns, aliases: &[&'s str], found: &mut impl FnMut(&'s str)) {
    let Columns::List(columns) = columns else { return };
    for column in columns {
        match &column.value {
            ColumnValue::Path(path) => quoted_parts(path, found),
            ColumnValue::Call(node) => call(node, false, found),
            ColumnValue::Expression(node) => expression(node, aliases, found),
            ColumnValue::Star(_) => {}
        }
    }
}

fn insert<'s>(node: &'s Insert, found: &mut impl FnMut(&'s str)) {
    found(&node.target.name.text);
    if let Some(object) = &node.object {
        text(&object.text, found);
    }
    if let Some(list) = &node.columns {
        columns(list, &[], found);
    }
    for value in node.values.iter().flatten() {
        operand(value, &[], found);
    }
}

fn conditions<'s>(
    conditions: &'s [Condition],
    aliases: &[&'s str],
    found: &mut impl FnMut(&'s str),
) {
    for condition in conditions {
        match condition {
            Condition::Equals { path, operand: right, .. } => {
                quoted_parts(path, found);
                operand(right, aliases, found);
            }
            Condition::InList { path, items, .. } => {
                quoted_parts(path, found);
                for item in items {
                    operand(item, &[], found);
                }
            }
            Condition::InSelect { path, select: inner, .. } => {
                quoted_parts(path, found);
                select(inner, aliases, found);
            }
            Condition::Call(node) => call(node, false, found),
            Condition::Test(test) => expression(test, aliases, found),
        }
    }
}

/// A bareword that starts with an alias of the statement's sources is a column.
fn operand<'s>(operand: &'s Operand, aliases: &[&'s str], found: &mut impl FnMut(&'s str)) {
    match &operand.kind {
        OperandKind::Text(value) => text(value, found),
        OperandKind::Token(value) => bare_token(value, found),
        OperandKind::Path(path) => {
            let name = first_name(path);
            if !aliases.contains(&name) {
                found(name);
            }
        }
        OperandKind::Number(_) | OperandKind::Bool(_) | OperandKind::Null => {}
    }
}

/// A call of a statement has variables as arguments, a call per row has columns.
fn call<'s>(node: &'s Call, has_variables: bool, found: &mut impl FnMut(&'s str)) {
    found(node.callee.first_word());
    for argument in &node.args {
        match argument {
            Arg::Json(value) => json(value, found),
            Arg::Path(path) if has_variables => found(first_name(path)),
            Arg::Path(_) => {}
        }
    }
}

fn json<'s>(value: &'s Json, found: &mut impl FnMut(&'s str)) {
    match &value.kind {
        JsonKind::String(value) => text(value, found),
        JsonKind::Array(items) => items.iter().for_each(|item| json(item, found)),
        JsonKind::Object(members) => members.iter().for_each(|member| json(&member.value, found)),
        JsonKind::Null | JsonKind::Bool(_) | JsonKind::Number(_) => {}
    }
}

fn quoted_parts<'s>(path: &'s Path, found: &mut impl FnMut(&'s str)) {
    for segment in &path.segments {
        if let Segment::Member { name, is_quoted: true } = segment {
            text(name, found);
        }
    }
}

fn text<'s>(value: &'s str, found: &mut impl FnMut(&'s str)) {
    token::roots(value).into_iter().for_each(found);
}
