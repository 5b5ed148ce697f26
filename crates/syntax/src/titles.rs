//! What the columns of a script's value are called, where its rows do not say so: for tables.
//!
//! In: the text of a script. Out: a title for each element of its rows, as the script writes the columns of the select
//! that gives the value. Nothing where rows have names of their own (SEL-7), or where it is not certain which select
//! gives the value. Pure, linear in the text.

use crate::{
    ast::{ColumnValue, Columns, Item, Primary, Script},
    parse,
};

/// Variables that only stand for others are followed so far.
const REFERENCES_MAX: usize = 16;

/// The titles of the columns of the value of `text`.
pub fn titles(text: &str) -> Option<Vec<String>> {
    let script = parse(text).script;
    let mut value = match (&script.result, script.items.last()) {
        (Some(result), _) => &result.alternatives,
        (None, Some(Item::Statement(last))) => &last.alternatives,
        _ => return None,
    };
    for _ in 0..REFERENCES_MAX {
        match value.as_slice() {
            [Primary::Reference(name)] => value = bound(&script, &name.text)?,
            [Primary::Select(select)] if !select.is_value => {
                return of_columns(text, &select.columns);
            }
            _ => return None,
        }
    }
    None
}

/// What the statement says that binds a variable outside of blocks.
fn bound<'s>(script: &'s Script, name: &str) -> Option<&'s Vec<Primary>> {
    script.items.iter().find_map(|item| match item {
        Item::Statement(statement) => {
            let binds = statement.target.as_ref().is_some_and(|target| target.text == name);
            binds.then_some(&statement.alternatives)
        }
        _ => None,
    })
}

fn of_columns(text: &str, columns: &Columns) -> Option<Vec<String>> {
    let Columns::List(columns) = columns else { return None };
    let title = |column: &crate::ast::Column| {
        let is_star = matches!(column.value, ColumnValue::Star(_));
        let written = || text[column.span.range()].split_whitespace().collect::<Vec<_>>().join(" ");
        (column.alias.is_none() && !is_star).then(written)
    };
    columns.iter().map(title).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_called_as_they_are_written() {
        for (text, expected) in [
            ("select a, b.c from t", Some(vec!["a", "b.c"])),
            ("return select t.a,\n  upper( t.b )\n from t", Some(vec!["t.a", "upper( t.b )"])),
            ("x = select a from t; y = 1; return x", Some(vec!["a"])),
            ("x = select a, b from t", Some(vec!["a", "b"])),
            ("x = select a, b from t return \"{x}\"", None),
            ("select a as b from t", None),
            ("select * from t", None),
            ("select value a from t", None),
            ("return select a from t || select b from t", None),
            ("x = y; y = x; return x", None),
            ("return z", None),
            ("if (a) { x = select a from t } return x", None),
            ("", None),
        ] {
            let found = titles(text);
            let found = found.as_ref().map(|list| list.iter().map(String::as_str).collect());
            assert_eq!(found, expected, "{text}");
        }
    }
}
