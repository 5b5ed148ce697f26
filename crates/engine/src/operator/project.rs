//! Projection: a value to rows of column values (`language.md` 5.9).

use std::borrow::Cow;

use qlio_data::{
    Value,
    path::{Options, Path},
};
use qlio_plan::operator::{ColumnPath, Scan, ScanColumns};

use super::rows::{Rows, Table};
use crate::{error::RunError, run::Run};

/// Reads the columns of a scan. `select *`, a falsy value and an empty array come out unchanged;
/// an array gives one row per element, anything else one row.
pub(crate) fn project(run: &Run<'_>, scan: &Scan, value: Value) -> Result<Rows, RunError> {
    let ScanColumns::List(columns) = &scan.columns else { return Ok(Rows::Whole(value)) };
    if !value.is_truthy() || (value.is_array() && value.is_empty()) {
        return Ok(Rows::Whole(value));
    }
    let mut paths = Vec::with_capacity(columns.len());
    for column in columns {
        paths.push(match &column.path {
            ColumnPath::Static(path) => Cow::Borrowed(path),
            ColumnPath::Dynamic(template) => {
                let text = template.fill(run)?.scalar_text().unwrap_or_default();
                Cow::Owned(Path::parse(&text)?)
            }
        });
    }
    let elements = value.elements();
    let mut table =
        Table::with_capacity(columns.len(), elements.as_ref().map_or(1, |elements| elements.len()));
    match elements {
        Some(elements) => {
            for element in elements.iter() {
                push_row(run, &paths, element, &mut table)?;
            }
        }
        None => push_row(run, &paths, &value, &mut table)?,
    }
    Ok(Rows::Table(table))
}

fn push_row(
    run: &Run<'_>,
    paths: &[Cow<'_, Path>],
    element: &Value,
    table: &mut Table,
) -> Result<(), RunError> {
    let element = element.open();
    let mut row = Vec::with_capacity(paths.len());
    for path in paths {
        row.push(column_value(run, path, &element)?);
    }
    table.push(row);
    Ok(())
}

/// No match is absent, one match is itself, several are a list.
fn column_value(run: &Run<'_>, path: &Path, element: &Value) -> Result<Value, RunError> {
    let mut matches = path.select(element, run, Options { flatten: path.has_descent() })?;
    Ok(match matches.len() {
        0 => Value::Absent,
        1 => matches.swap_remove(0),
        _ => Value::array(matches),
    })
}
