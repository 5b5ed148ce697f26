//! Selects inside of expressions that depend on the row (SUB-1 to SUB-7): each is run once for all rows there
//! are, and its rows are divided among them.
//!
//! The rows around a select are its first source. So what its conditions say of them joins like anything else,
//! tables are asked for all rows at once, and a select inside of this one sees the rows of all.

use futures_util::future::try_join_all;
use qlio_data::Value;
use qlio_plan::operator::{Joins, Nested, NestedManner, Stage};
use qlio_syntax::diagnostic::codes;

use super::steps;
use crate::{
    budget::VALUE_BYTES,
    error::RunError,
    operator::{
        rows::{Rows, ValueRows},
        tuples::Tuples,
    },
    run::Run,
};

/// Adds the values of the sub-selects that a step needs to the rows that it is for.
pub(super) async fn attach(
    run: &Run<'_>,
    joins: &Joins,
    stage: Stage,
    mut rows: Tuples,
) -> Result<Tuples, RunError> {
    let due: Vec<usize> =
        (0..joins.nested.len()).filter(|place| joins.nested[*place].stage == stage).collect();
    if due.is_empty() {
        return Ok(rows);
    }
    let values = due.iter().map(|place| values(run, &joins.nested[*place], &rows));
    let values = try_join_all(values).await?;
    for (place, values) in due.into_iter().zip(values) {
        let mut column = ValueRows::with_capacity(1, values.len());
        for value in values {
            column.push([value]);
        }
        rows.attach(joins.nested_side(place), column.into());
    }
    Ok(rows)
}

/// The value of a sub-select for each row.
async fn values(run: &Run<'_>, nested: &Nested, rows: &Tuples) -> Result<Vec<Value>, RunError> {
    let select = &nested.select;
    let (Some(joins), Some(steps)) = (&select.joins, &select.steps) else {
        return Err(RunError::internal("a dependent sub-select has no sources"));
    };
    let width = joins.around.len();
    run.budget.charge_memory(rows.len() * width * VALUE_BYTES)?;
    let mut around = ValueRows::with_capacity(width, rows.len());
    for number in 0..rows.len() {
        let tuple = rows.tuple(number);
        around.push(joins.around.iter().map(|(side, column)| tuple.cell(*side, *column).value()));
        if run.budget.spend(1 + width) {
            run.budget.pause().await?;
        }
    }
    let groups =
        Box::pin(steps::finish_groups(run, select, joins, steps, Rows::from(around))).await?;
    let mut values = Vec::with_capacity(groups.len());
    for group in groups {
        values.push(match nested.manner {
            NestedManner::List => Value::array(group),
            NestedManner::Exists => Value::Bool(!group.is_empty()),
            NestedManner::One => one_of(group, select.line)?,
        });
    }
    if run.budget.spend(values.len()) {
        run.budget.pause().await?;
    }
    Ok(values)
}

/// What the rows of a select give that does not depend on the row.
pub(super) fn of_rows(value: Value, manner: NestedManner, line: u32) -> Result<Value, RunError> {
    let rows: Vec<Value> = match value.elements() {
        Some(rows) => rows.into_owned(),
        None if value.is_nothing() => Vec::new(),
        None => vec![value],
    };
    Ok(match manner {
        NestedManner::List => Value::array(rows),
        NestedManner::Exists => Value::Bool(!rows.is_empty()),
        NestedManner::One => one_of(rows, line)?,
    })
}

fn one_of(mut rows: Vec<Value>, line: u32) -> Result<Value, RunError> {
    match rows.len() {
        0 => Ok(Value::Null),
        1 => Ok(rows.swap_remove(0)),
        count => {
            let message = format!(
                "the select in parentheses is one value and gives {count} rows; write `[select …]` for a list, or `limit 1`"
            );
            Err(RunError::client(codes::SEVERAL_ROWS, message).at_line(line))
        }
    }
}
