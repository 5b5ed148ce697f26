//! Projection: a value to rows of column values (`language.md` 5.9).

use std::{borrow::Cow, sync::Arc};

use qlio_data::{
    Value,
    codec::json::CellTable,
    path::{Options, Path, Segment},
};
use qlio_plan::operator::{ColumnPath, Scan, ScanColumns};

use super::{
    cells,
    rows::{Rows, Table},
};
use crate::{error::RunError, run::Run};

/// What a decoder has made of an answer.
#[derive(Debug)]
pub(crate) enum Decoded {
    /// Its value, below the resultset.
    Value(Value),
    /// Its rows: a scan of plain columns was asked for, and there is at least one row.
    Cells(CellTable),
}

/// The rows of an answer.
pub(crate) fn project_decoded(
    run: &Run<'_>,
    scan: &Scan,
    decoded: Decoded,
) -> Result<Rows, RunError> {
    match decoded {
        Decoded::Value(value) => project(run, scan, value),
        Decoded::Cells(cells) => {
            cells::warn_of_unmatched(run, scan, &cells);
            Ok(Rows::Cells(cells))
        }
    }
}

/// Reads the columns of a scan. `select *`, a falsy value and an empty array come out unchanged;
/// an array gives one row per element, anything else one row.
pub(crate) fn project(run: &Run<'_>, scan: &Scan, value: Value) -> Result<Rows, RunError> {
    let ScanColumns::List(columns) = &scan.columns else { return Ok(Rows::Whole(value)) };
    if !value.is_truthy() || (value.is_array() && value.is_empty()) {
        return Ok(Rows::Whole(value));
    }
    let mut paths = Vec::with_capacity(columns.len());
    for column in columns {
        let path = match &column.path {
            ColumnPath::Static(path) => Cow::Borrowed(path),
            ColumnPath::Dynamic(template) => {
                let text = template.fill(run)?.scalar_text().unwrap_or_default();
                Cow::Owned(Path::parse(&text)?)
            }
        };
        paths.push((path, column.is_key));
    }
    let mut table =
        Table::with_capacity(columns.len(), if value.is_array() { value.len() } else { 1 });
    match (value, own_members(&paths)) {
        (Value::Array(elements), Some(names)) if Arc::strong_count(&elements) == 1 => {
            for element in Arc::unwrap_or_clone(elements) {
                push_own_row(run, &paths, &names, element, &mut table)?;
            }
        }
        (value, _) => match value.elements() {
            Some(elements) => {
                for element in elements.iter() {
                    push_row(run, &paths, element, &mut table)?;
                }
            }
            None => push_row(run, &paths, &value, &mut table)?,
        },
    }
    let columns = paths.iter().map(|(path, is_key)| (&**path, *is_key));
    warn_of_unmatched(run, scan, table.len(), columns, |position| {
        table.rows().any(|row| !row[position].is_absent())
    });
    Ok(Rows::Table(table))
}

/// The names of the columns if each is a member of the row that no other column looks at: then it can be
/// moved.
fn own_members<'p>(paths: &'p [(Cow<'_, Path>, bool)]) -> Option<Vec<&'p str>> {
    let mut names: Vec<&str> = Vec::with_capacity(paths.len());
    for (path, is_key) in paths {
        match path.segments() {
            [Segment::Member(name)] if !is_key && !names.contains(&&**name) => names.push(name),
            _ => return None,
        }
    }
    Some(names)
}

/// A row of the members of an element that nobody else has.
fn push_own_row(
    run: &Run<'_>,
    paths: &[(Cow<'_, Path>, bool)],
    names: &[&str],
    element: Value,
    table: &mut Table,
) -> Result<(), RunError> {
    let element = match element {
        raw @ Value::Raw(_) => raw.open().into_owned(),
        element => element,
    };
    match element {
        Value::Object(object) => {
            let mut object = Arc::unwrap_or_clone(object);
            table.push(names.iter().map(|name| object.take(name)));
            Ok(())
        }
        // Names mean something else on lists and text.
        element => push_row(run, paths, &element, table),
    }
}

/// A column that is absent in every row is told, because it is easily misspelt. `columns` are those of
/// the scan: the path, and whether it is a key of a join.
pub(crate) fn warn_of_unmatched<'p>(
    run: &Run<'_>,
    scan: &Scan,
    rows: usize,
    columns: impl Iterator<Item = (&'p Path, bool)>,
    is_matched: impl Fn(usize) -> bool,
) {
    for (position, (path, is_key)) in columns.enumerate() {
        if !is_key && !is_matched(position) {
            let (source, path) = (&scan.source.name, path.text());
            run.warn(format!("column `{path}` matches nothing in {rows} rows of {source}"));
        }
    }
}

fn push_row(
    run: &Run<'_>,
    paths: &[(Cow<'_, Path>, bool)],
    element: &Value,
    table: &mut Table,
) -> Result<(), RunError> {
    let element = element.open();
    table.push_with(|row| {
        for (path, is_key) in paths {
            row.push(if *is_key {
                Value::array(path.select(&element, run, Options { flatten: true })?)
            } else {
                column_value(run, path, &element)?
            });
        }
        Ok(())
    })
}

/// No match is absent, one match is itself, several are a list.
fn column_value(run: &Run<'_>, path: &Path, element: &Value) -> Result<Value, RunError> {
    if let Some(value) = plain_member(path, element) {
        return Ok(value);
    }
    let mut matches = path.select(element, run, Options { flatten: path.has_descent() })?;
    Ok(match matches.len() {
        0 => Value::Absent,
        1 => matches.swap_remove(0),
        _ => Value::array(matches),
    })
}

/// The value of a path of names only, as long as it leads through decoded objects; `None` leaves it
/// to the general way.
fn plain_member(path: &Path, element: &Value) -> Option<Value> {
    let mut value = element;
    for segment in path.segments() {
        let (Segment::Member(name), Value::Object(object)) = (segment, value) else { return None };
        match object.get(name) {
            Some(member) => value = member,
            None => return Some(Value::Absent),
        }
    }
    Some(value.clone())
}
