//! Projection: a value or an answer to rows of columns (SEL-7).
//!
//! Most selects want plain members of JSON objects and look at none of them. Their rows stay places in
//! the text they came from; all others become values here.

use std::{borrow::Cow, sync::Arc};

use qlio_data::{
    Text, Value,
    codec::json::CellTable,
    path::{Options, Path, Segment},
};
use qlio_plan::operator::{ColumnPath, Scan, ScanColumns};

use super::{
    filter, opening,
    rows::{Relation, Rows, ValueRows},
};
use crate::{
    budget::{CELL_BYTES, Reserved, VALUE_BYTES},
    error::RunError,
    evaluate::fill,
    heavy::LetGo,
    run::Run,
};

/// An answer as a decoder has left it.
#[derive(Debug)]
pub(crate) enum Decoded {
    /// Its value, below the resultset.
    Value(Value),
    /// The same of a large answer, with the memory that is reserved for it until it is charged.
    Large(Value, Reserved),
    /// Its rows: a scan of plain columns was asked for, and there is at least one row.
    Cells(CellTable),
}

impl Decoded {
    /// The same with memory that is held for it until it is charged, if there is any. Rows need none, and what holds
    /// some already has that of its own.
    pub(crate) fn holding(self, held: Option<Reserved>) -> Self {
        match (self, held) {
            (Self::Value(value), Some(held)) => Self::Large(value, held),
            (decoded, _) => decoded,
        }
    }
}

/// The names of the columns of a scan if each is a plain member of its row. A key of a join may be one,
/// too: its matches are the member, or its elements.
pub(crate) fn plain_columns(scan: &Scan) -> Option<Vec<&str>> {
    let ScanColumns::List(columns) = &scan.columns else { return None };
    let mut names = Vec::with_capacity(columns.len());
    for column in columns {
        let ColumnPath::Static(path) = &column.path else { return None };
        let [Segment::Member(name)] = path.segments() else { return None };
        names.push(&**name);
    }
    Some(names)
}

/// The rows of a variable that nothing has looked into, or whose elements nothing has looked into, if all that is
/// looked at are plain members of them: they stay text (ADR 0014). `expected` has a name and a value for each of the
/// scan's conditions; only rows for which all of them hold are given.
pub(crate) async fn read_text_rows(
    run: &Run<'_>,
    scan: &Scan,
    value: &Value,
    expected: &[(Text, Value)],
) -> Result<Option<Rows>, RunError> {
    let Some(mut columns) = plain_columns(scan) else { return Ok(None) };
    let width = columns.len();
    let Some(tested) = filter::tested_columns(scan, &mut columns) else { return Ok(None) };
    let cells = opening::read_cells(run, value, &columns).await?;
    let Some(mut cells) = cells else { return Ok(None) };
    charge_cells(run, &cells)?;
    if run.budget.is_due() {
        run.budget.pause().await?;
    }
    if !tested.is_empty() {
        let Some(kept) = filter::find_cells(run, &cells, &tested, expected).await? else {
            return Ok(None);
        };
        run.budget.charge_rows(kept.len())?;
        cells.keep(&kept, width);
    }
    Ok(Some(cells.into()))
}

/// Charges rows that are places in a text, whose bytes have been charged.
fn charge_cells(run: &Run<'_>, cells: &CellTable) -> Result<(), RunError> {
    run.budget.charge_rows(cells.len())?;
    run.budget.charge_memory(cells.len() * cells.width() * CELL_BYTES)
}

/// Charges rows of values.
fn charge_values(run: &Run<'_>, rows: usize, width: usize) -> Result<(), RunError> {
    run.budget.charge_rows(rows)?;
    run.budget.charge_memory(rows.saturating_mul(width).saturating_mul(VALUE_BYTES))
}

/// The rows of an answer whose columns are places in its text.
pub(crate) fn project_cells(
    run: &Run<'_>,
    scan: Option<&Scan>,
    cells: CellTable,
) -> Result<Relation, RunError> {
    charge_cells(run, &cells)?;
    let rows = cells.into();
    if let Some(scan) = scan {
        warn_of_unmatched(run, scan, &rows);
    }
    Ok(Relation::Rows(rows))
}

/// Reads the columns of a scan. `select *`, a falsy value and an empty array come out unchanged;
/// an array gives one row per element, anything else one row.
pub(crate) async fn project(
    run: &Run<'_>,
    scan: &Scan,
    value: Value,
) -> Result<Relation, RunError> {
    let ScanColumns::List(columns) = &scan.columns else { return Ok(Relation::Value(value)) };
    if !value.is_truthy() || (value.is_array() && value.is_empty()) {
        return Ok(Relation::Value(value));
    }
    let mut paths = Vec::with_capacity(columns.len());
    for column in columns {
        let path = match &column.path {
            ColumnPath::Static(path) => Cow::Borrowed(path),
            ColumnPath::Dynamic(template) => {
                let text = fill(run, template)?.scalar_text().unwrap_or_default();
                Cow::Owned(Path::parse(&text)?)
            }
        };
        paths.push((path, column.is_key));
    }
    let value = opening::open_large(run, value).await?;
    let count = if value.is_array() { value.len() } else { 1 };
    charge_values(run, count, columns.len())?;
    let mut table = ValueRows::with_capacity(columns.len(), count);
    match (value, own_members(&paths)) {
        (Value::Array(elements), Some(names)) if Arc::strong_count(&elements) == 1 => {
            let apart = run.apart(count);
            let mut elements = LetGo::new(Arc::unwrap_or_clone(elements).into_iter(), apart);
            for element in elements.by_ref() {
                push_own_row(run, &paths, &names, element, &mut table)?;
                if run.budget.spend(paths.len()) {
                    run.budget.pause().await?;
                }
            }
        }
        (value, _) => {
            let value = run.let_go(value);
            match value.elements() {
                Some(elements) => {
                    for element in elements.iter() {
                        push_row(run, &paths, element, &mut table)?;
                        if run.budget.spend(paths.len()) {
                            run.budget.pause().await?;
                        }
                    }
                }
                None => push_row(run, &paths, &value, &mut table)?,
            }
        }
    }
    let rows = table.into();
    for (position, (path, _)) in paths.iter().enumerate().filter(|(_, (_, is_key))| !is_key) {
        warn_if_unmatched(run, scan, &rows, position, path);
    }
    Ok(Relation::Rows(rows))
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
    table: &mut ValueRows,
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

/// A column that is absent in every row is told, because it is easily misspelt.
pub(crate) fn warn_of_unmatched(run: &Run<'_>, scan: &Scan, rows: &Rows) {
    let ScanColumns::List(columns) = &scan.columns else { return };
    for (position, column) in columns.iter().enumerate() {
        if let ColumnPath::Static(path) = &column.path
            && !column.is_key
        {
            warn_if_unmatched(run, scan, rows, position, path);
        }
    }
}

fn warn_if_unmatched(run: &Run<'_>, scan: &Scan, rows: &Rows, position: usize, path: &Path) {
    if !rows.has_column(position) {
        let (source, path, count) = (&scan.source.name, path.text(), rows.len());
        run.warn(format!("column `{path}` matches nothing in {count} rows of {source}"));
    }
}

fn push_row(
    run: &Run<'_>,
    paths: &[(Cow<'_, Path>, bool)],
    element: &Value,
    table: &mut ValueRows,
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
