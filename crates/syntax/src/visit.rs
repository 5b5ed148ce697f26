//! Walking over a tree: every statement value, every select.
//!
//! In: a tree and a closure. Out: calls in text order. The recursion is as deep as the tree, which
//! the parser bounds.

use crate::ast::{
    ColumnValue, Columns, Condition, GroupKeys, Grouping, Item, Primary, Script, Select, Statement,
};

/// Visits every statement, those in blocks included, in text order.
pub fn each_statement<'s>(items: &'s [Item], visitor: &mut impl FnMut(&'s Statement)) {
    for item in items {
        match item {
            Item::Statement(statement) => visitor(statement),
            Item::If(node) => {
                each_statement(&node.then, visitor);
                each_statement(node.otherwise.as_deref().unwrap_or_default(), visitor);
            }
            Item::Try(node) => {
                each_statement(&node.body, visitor);
                for catch in &node.catches {
                    each_statement(&catch.body, visitor);
                }
                each_statement(node.finally.as_deref().unwrap_or_default(), visitor);
            }
            Item::Throw(_) => {}
        }
    }
}

/// Visits every alternative of every statement and of the `return`, in text order.
pub fn each_primary<'s>(script: &'s Script, visitor: &mut impl FnMut(&'s Primary)) {
    each_statement(&script.items, &mut |statement| {
        statement.alternatives.iter().for_each(&mut *visitor);
    });
    script.result.iter().flat_map(|result| &result.alternatives).for_each(visitor);
}

/// Visits every select, sub-selects behind the one they stand in.
pub fn each_select<'s>(script: &'s Script, visitor: &mut impl FnMut(&'s Select)) {
    each_primary(script, &mut |primary| match primary {
        Primary::Select(select) => with_sub_selects(select, visitor),
        Primary::Delete(delete) => in_conditions(&delete.conditions, visitor),
        _ => {}
    });
}

fn with_sub_selects<'s>(select: &'s Select, visitor: &mut impl FnMut(&'s Select)) {
    visitor(select);
    for source in &select.sources {
        if let Some(inner) = &source.select {
            with_sub_selects(inner, visitor);
        }
        if let Some(on) = &source.on {
            on.each_select(&mut |select| with_sub_selects(select, visitor));
        }
    }
    if let Columns::List(columns) = &select.columns {
        for column in columns {
            if let ColumnValue::Expression(expression) = &column.value {
                expression.each_select(&mut |select| with_sub_selects(select, visitor));
            }
        }
    }
    in_conditions(&select.conditions, visitor);
    if let Some(Grouping { keys: GroupKeys::List(keys), .. }) = &select.grouping {
        for key in keys {
            key.each_select(&mut |select| with_sub_selects(select, visitor));
        }
    }
    if let Some(having) = &select.having {
        having.each_select(&mut |select| with_sub_selects(select, visitor));
    }
    for union in &select.unions {
        with_sub_selects(&union.select, visitor);
    }
    for key in &select.order {
        key.value.each_select(&mut |select| with_sub_selects(select, visitor));
    }
}

fn in_conditions<'s>(conditions: &'s [Condition], visitor: &mut impl FnMut(&'s Select)) {
    for condition in conditions {
        match condition {
            Condition::InSelect { select, .. } => with_sub_selects(select, visitor),
            Condition::Test(test) => {
                test.each_select(&mut |select| with_sub_selects(select, visitor));
            }
            Condition::Equals { .. } | Condition::InList { .. } | Condition::Call(_) => {}
        }
    }
}
