//! Joins of two sources (`language.md` 5.11), by hash on the normal form of loose equality
//! (`decisions.md` 17).
//!
//! A local joined side is read once and indexed by its first key. A remote joined side is asked once
//! per row of the main side, with the joining values as parameters.

use std::{collections::HashMap, ops::ControlFlow};

use foldhash::quality::RandomState;
use qlio_data::{
    Text, Value,
    codec::json::CellTable,
    value::loose::{LooseKey, loosely_equals},
};
use qlio_plan::operator::{Join, JoinKey, Select};
use qlio_syntax::diagnostic::codes;

use super::{
    cell_join::{self, NotScalar},
    cells::{self, Keys, TextShape},
    rows::{Rows, Table, bounds},
    shape::{Layout, Shaped},
};
use crate::{
    error::RunError,
    executor::{Own, Resolved, local_rows, own, resolve_source},
    http,
    run::Run,
};

/// Runs both halves and combines them.
pub(crate) async fn join(run: &Run<'_>, select: &Select) -> Result<Shaped, RunError> {
    let Some(join) = &select.join else {
        return Err(RunError::internal("a join without a second source"));
    };
    let main = match resolve_source(run, &select.scan.source)? {
        Resolved::Local(value) => local_rows(run, &select.scan, value).await?,
        Resolved::Table(table) => {
            let own = own(run, &select.scan.conditions).await?;
            http::scan(run, select, table, own).await?
        }
    };
    let main = match main {
        Rows::Cells(cells) => match text_join(run, select, join, &cells)? {
            Some(value) => return Ok(Rows::Whole(value).into()),
            None => cells::table_of(&cells),
        },
        Rows::Table(table) => table,
        // Nothing to project: an absent main side gives an absent result, an empty one an empty list.
        Rows::Whole(value) => return Ok(Rows::Whole(value).into()),
    };
    let layout = Layout { main_width: main.width() };
    let mut joined = match resolve_source(run, &join.scan.source)? {
        Resolved::Local(value) => {
            let side = local_rows(run, &join.scan, value).await?.with_values();
            local_join(run, &main, &side, &join.keys)?
        }
        Resolved::Table(table) => {
            let own = own(run, &join.scan.conditions).await?;
            remote_join(run, select, &main, join, table, &own).await?
        }
    };
    joined.cut(select.limit, select.offset);
    Ok(Shaped { rows: Rows::Table(joined), layout })
}

/// The value of a join whose rows stay text on both sides; `None` if it is not of that kind.
fn text_join(
    run: &Run<'_>,
    select: &Select,
    join: &Join,
    main: &CellTable,
) -> Result<Option<Value>, RunError> {
    let Some(shape) = TextShape::of(&select.output).filter(|_| select.row_calls.is_empty()) else {
        return Ok(None);
    };
    let Resolved::Local(value) = resolve_source(run, &join.scan.source)? else { return Ok(None) };
    let Some(side) = cells::of_variable(&join.scan, &value, Keys::Allowed) else { return Ok(None) };
    let rows_max = run.engine.settings().join_rows_max;
    let (skip, take) = bounds(select.limit, select.offset);
    let shown = skip..skip.saturating_add(take);
    // Lists of things usually have one partner for each.
    let mut writer = shape.pair_writer(main, &side, main.len().min(take).min(rows_max));
    let mut found = 0;
    let outcome = cell_join::each_pair(main, &side, &join.keys, |pairs| {
        for pair in pairs {
            if shown.contains(&found) {
                writer.push(*pair);
            }
            found += 1;
        }
        if found > rows_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match outcome {
        Err(NotScalar) => Ok(None),
        Ok(ControlFlow::Break(())) => Err(too_many_rows(rows_max)),
        Ok(ControlFlow::Continue(())) => {
            cells::warn_of_unmatched(run, &join.scan, &side);
            Ok(Some(writer.finish()))
        }
    }
}

/// For each main row, in order, the matching rows of the other side, in order.
fn local_join(
    run: &Run<'_>,
    main: &Table,
    side: &Rows,
    keys: &[JoinKey],
) -> Result<Table, RunError> {
    let Rows::Table(side) = side else { return Ok(Table::new(main.width())) };
    let mut result = Table::new(main.width() + side.width());
    let rows_max = run.engine.settings().join_rows_max;
    let Some((first, rest)) = keys.split_first() else {
        for main_row in main.rows() {
            for side_row in side.rows() {
                push(&mut result, main_row, side_row, rows_max)?;
            }
        }
        return Ok(result);
    };
    let index = Index::of(side, first.joined_column);
    let mut candidates = Vec::new();
    for main_row in main.rows() {
        candidates.clear();
        each_expected(&main_row[first.main_column], |value| {
            candidates.extend(index.positions(value));
        });
        candidates.sort_unstable();
        candidates.dedup();
        for position in &candidates {
            let side_row = side.row(*position);
            // A hash says "perhaps"; loose equality decides.
            let is_match = std::iter::once(first)
                .chain(rest)
                .all(|key| values_join(&main_row[key.main_column], &side_row[key.joined_column]));
            if is_match {
                push(&mut result, main_row, side_row, rows_max)?;
            }
        }
    }
    Ok(result)
}

/// The positions of rows by the normal forms of a column's values.
struct Index {
    /// The first and the last entry of a form.
    ends: HashMap<LooseKey, (usize, usize), RandomState>,
    /// A position, and the next entry of the same form; the last one names itself.
    entries: Vec<(usize, usize)>,
}

impl Index {
    fn of(table: &Table, column: usize) -> Self {
        let ends = HashMap::with_capacity_and_hasher(table.len(), RandomState::default());
        let mut index = Self { ends, entries: Vec::with_capacity(table.len()) };
        for (position, row) in table.rows().enumerate() {
            each_element(&row[column], |value| index.add(LooseKey::of(value), position));
        }
        index
    }

    fn add(&mut self, key: LooseKey, position: usize) {
        let at = self.entries.len();
        self.entries.push((position, at));
        let (_, last) = self.ends.entry(key).or_insert((at, at));
        self.entries[*last].1 = at;
        *last = at;
    }

    /// The rows with a value of the same form, in order.
    fn positions(&self, value: &Value) -> impl Iterator<Item = usize> {
        let mut next = self.ends.get(&LooseKey::of(value)).map(|(first, _)| *first);
        std::iter::from_fn(move || {
            let at = next?;
            let (position, behind) = self.entries[at];
            next = (behind != at).then_some(behind);
            Some(position)
        })
    }
}

fn push(
    result: &mut Table,
    main: &[Value],
    side: &[Value],
    rows_max: usize,
) -> Result<(), RunError> {
    if result.len() >= rows_max {
        return Err(too_many_rows(rows_max));
    }
    result.push(main.iter().chain(side).cloned());
    Ok(())
}

fn too_many_rows(rows_max: usize) -> RunError {
    let message = format!(
        "the join gives more than maxJoinRows = {rows_max} rows; narrow it with conditions, or raise the setting"
    );
    RunError::client(codes::TOO_MANY_ROWS, message)
}

/// Some value of the one side equals some value of the other; a missing joined value never does.
fn values_join(main: &Value, side: &Value) -> bool {
    let mut is_match = false;
    each_expected(main, |expected| {
        each_element(side, |found| is_match |= loosely_equals(found, expected));
    });
    is_match
}

/// The joined side's values: the list of matches of its key column.
fn each_element(value: &Value, mut visit: impl FnMut(&Value)) {
    match value.elements() {
        Some(elements) => elements.iter().for_each(visit),
        None if value.is_absent() => {}
        None => visit(value),
    }
}

/// The main side's values: a list counts as any of its elements, and a list in it as any of its
/// own, as in filters; absent can still meet null.
fn each_expected(value: &Value, mut visit: impl FnMut(&Value)) {
    let Some(elements) = value.elements() else { return visit(value) };
    for element in elements.iter() {
        match element.elements() {
            Some(inner) => inner.iter().for_each(&mut visit),
            None => visit(element),
        }
    }
}

/// One request per main row, all prepared before the first is sent; equal ones are sent once.
async fn remote_join(
    run: &Run<'_>,
    select: &Select,
    main: &Table,
    join: &Join,
    table: &std::sync::Arc<qlio_plan::catalog::Table>,
    own: &Own,
) -> Result<Table, RunError> {
    let per_row = main.rows().map(|row| {
        let keys =
            join.keys.iter().map(|key| (key.joined_name.clone(), row[key.main_column].clone()));
        own.iter().cloned().chain(keys).collect::<Vec<(Text, Value)>>()
    });
    let answers = http::scan_each(run, select, &join.scan, table, per_row.collect()).await?;
    let mut result = Table::new(main.width() + join.scan.width());
    let rows_max = run.engine.settings().join_rows_max;
    for (main_row, rows) in main.rows().zip(answers) {
        // A whole value is an empty list or nothing at all: the main row has no partner.
        let Rows::Table(rows) = rows.with_values() else { continue };
        for side_row in rows.rows() {
            push(&mut result, main_row, side_row, rows_max)?;
        }
    }
    Ok(result)
}
