//! From rows to the value of a select: objects, lists or bare values (`language.md` 5.9).

use qlio_data::{Object, Value};
use qlio_plan::operator::{Output, OutputColumn, OutputValue, Side};

use super::rows::{Rows, Table};
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
#[derive(Debug)]
pub(crate) struct Shaped {
    pub(crate) rows: Rows,
    pub(crate) layout: Layout,
}

/// Turns rows into the value of the statement.
pub(crate) fn shape(run: &Run<'_>, output: &Output, shaped: &Shaped) -> Result<Value, RunError> {
    let table = match &shaped.rows {
        Rows::Whole(value) => return Ok(value.clone()),
        Rows::Table(table) => table,
    };
    let computed = crate::function::output_calls(run, output, table, shaped.layout)?;
    Ok(shape_table(output, table, shaped.layout, &computed))
}

/// `computed` holds, for each output column that is a call, the values by row.
fn shape_table(output: &Output, table: &Table, layout: Layout, computed: &[Vec<Value>]) -> Value {
    let mut rows = Vec::with_capacity(table.len());
    for (index, row) in table.rows().enumerate() {
        let mut calls = computed.iter();
        let mut value = |column: &OutputColumn| match &column.value {
            OutputValue::Column { side, column } => row[layout.position(*side, *column)].clone(),
            OutputValue::Call(_) => {
                calls.next().map_or(Value::Absent, |values| values[index].clone())
            }
        };
        rows.push(if output.has_aliases {
            let mut object = Object::with_capacity(output.columns.len());
            for column in &output.columns {
                let value = value(column);
                if let Some(alias) = &column.alias
                    && !value.is_absent()
                {
                    object.insert(alias.clone(), value);
                }
            }
            Value::object(object)
        } else if output.is_flat {
            let value = output.columns.first().map_or(Value::Absent, &mut value);
            if value.is_absent() { Value::Null } else { value }
        } else {
            let values = output.columns.iter().map(|column| match value(column) {
                Value::Absent => Value::Null,
                value => value,
            });
            values.collect()
        });
    }
    Value::array(rows)
}

impl From<Rows> for Shaped {
    fn from(rows: Rows) -> Self {
        let main_width = match &rows {
            Rows::Table(table) => table.width(),
            Rows::Whole(_) => 0,
        };
        Self { rows, layout: Layout { main_width } }
    }
}

/// The rows of one answer as they would be without function columns, for merging blocks.
pub(crate) fn plain(output: &Output, rows: &Rows) -> Value {
    match rows {
        Rows::Whole(value) => value.clone(),
        Rows::Table(table) => shape_table(output, table, Layout { main_width: table.width() }, &[]),
    }
}

/// Rows as lists, for answers whose rows are joined afterwards.
pub(crate) fn lists(rows: &Rows) -> Value {
    match rows {
        Rows::Whole(value) => value.clone(),
        Rows::Table(table) => table.rows().map(|row| row.iter().cloned().collect()).collect(),
    }
}
