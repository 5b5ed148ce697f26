//! From rows to the value of a select: objects, lists or bare values (`language.md` 5.9).

use qlio_data::{Object, Value};
use qlio_plan::operator::{Output, OutputColumn, OutputValue, Select, Side};

use super::{
    cells::{TextShape, table_of},
    rows::{Rows, Table},
};
use crate::{error::RunError, run::Run};

/// Columns of the joined half stand behind those of the main half in a joined row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Number of columns of the main half.
    pub(crate) main_width: usize,
}

impl Layout {
    pub(crate) fn position(self, side: Side, column: usize) -> usize {
        match side {
            Side::Main => column,
            Side::Joined => self.main_width + column,
        }
    }
}

/// Rows together with where their halves stand.
#[derive(Debug, Clone)]
pub(crate) struct Shaped {
    pub(crate) rows: Rows,
    pub(crate) layout: Layout,
}

/// Turns rows into the value of the statement.
pub(crate) fn shape(run: &Run<'_>, select: &Select, shaped: Shaped) -> Result<Value, RunError> {
    let output = &select.output;
    let Shaped { rows, layout } = shaped;
    let mut table = match rows {
        Rows::Whole(value) => return Ok(value),
        Rows::Table(table) => table,
        Rows::Cells(cells) => match TextShape::of(output) {
            Some(text) => return Ok(text.rows(&cells)),
            None => table_of(&cells),
        },
    };
    let computed = crate::function::output_calls(run, select, &table, layout)?;
    let is_last = last_uses(output);
    let rows = table.len();
    Ok(shape_rows(output, rows, &computed, |row, index, side, column| {
        let value = table.value_mut(row, layout.position(side, column));
        if is_last[index] { std::mem::take(value) } else { value.clone() }
    }))
}

/// For each output column, whether no later one shows the same value: then it can be moved.
fn last_uses(output: &Output) -> Vec<bool> {
    let source = |column: &OutputColumn| match column.value {
        OutputValue::Column { side, column } => Some((side, column)),
        OutputValue::Call(_) => None,
    };
    let sources: Vec<_> = output.columns.iter().map(source).collect();
    (0..sources.len()).map(|index| !sources[index + 1..].contains(&sources[index])).collect()
}

/// `computed` holds, for each output column that is a call, the values by row; `cell` gives the value
/// of a row for the output column at an index, which shows this column of that side.
fn shape_rows(
    output: &Output,
    rows: usize,
    computed: &[Vec<Value>],
    mut cell: impl FnMut(usize, usize, Side, usize) -> Value,
) -> Value {
    let mut shaped = Vec::with_capacity(rows);
    for row in 0..rows {
        let mut calls = computed.iter();
        let mut value = |index: usize, column: &OutputColumn| match &column.value {
            OutputValue::Column { side, column } => cell(row, index, *side, *column),
            OutputValue::Call(_) => {
                calls.next().map_or(Value::Absent, |values| values[row].clone())
            }
        };
        shaped.push(if output.has_aliases {
            let mut object = Object::with_capacity(output.columns.len());
            for (index, column) in output.columns.iter().enumerate() {
                let value = value(index, column);
                if let Some(alias) = &column.alias
                    && !value.is_absent()
                {
                    object.insert(alias.clone(), value);
                }
            }
            Value::object(object)
        } else if output.is_flat {
            or_null(output.columns.first().map_or(Value::Absent, |column| value(0, column)))
        } else {
            let columns = output.columns.iter().enumerate();
            columns.map(|(index, column)| or_null(value(index, column))).collect()
        });
    }
    Value::array(shaped)
}

/// Lists and bare values have no place for what is absent.
pub(crate) fn or_null(value: Value) -> Value {
    if value.is_absent() { Value::Null } else { value }
}

impl From<Rows> for Shaped {
    fn from(rows: Rows) -> Self {
        let main_width = match &rows {
            Rows::Table(table) => table.width(),
            Rows::Cells(cells) => cells.width(),
            Rows::Whole(_) => 0,
        };
        Self { rows, layout: Layout { main_width } }
    }
}

/// The rows of one answer as they would be without function columns, for merging blocks.
pub(crate) fn plain(output: &Output, rows: &Rows) -> Value {
    match rows {
        Rows::Whole(value) => value.clone(),
        Rows::Table(table) => plain_table(output, table),
        Rows::Cells(cells) => plain_table(output, &table_of(cells)),
    }
}

fn plain_table(output: &Output, table: &Table) -> Value {
    let layout = Layout { main_width: table.width() };
    shape_rows(output, table.len(), &[], |row, _, side, column| {
        table.row(row)[layout.position(side, column)].clone()
    })
}

/// Rows as lists, for answers whose rows are joined afterwards.
pub(crate) fn lists(rows: &Rows) -> Value {
    match rows {
        Rows::Whole(value) => value.clone(),
        Rows::Table(table) => list_table(table),
        Rows::Cells(cells) => list_table(&table_of(cells)),
    }
}

fn list_table(table: &Table) -> Value {
    table.rows().map(|row| row.iter().cloned().collect()).collect()
}
