//! From rows to the value of a select: objects, lists or bare values (`docs/language/reference/select.md`).
//!
//! Rows that are text become text, straight from where they stand; others become values. Both say the
//! same.

use std::ops::Range;

use qlio_data::{
    Object, Text, Value,
    codec::json::{RowForm, RowWriter},
};
use qlio_plan::operator::{Output, OutputColumn, OutputValue, Side};

use super::rows::Relation;
use super::tuples::Tuples;
use crate::{
    budget::{Budget, VALUE_BYTES},
    error::RunError,
};

/// Bare values up to this number cost no more than their text, and are mostly looked at: ids that the
/// next calls are made for.
const BARE_VALUES_MAX: usize = 64;

/// Rows that are written before others may have their turn.
const BLOCK_ROWS: usize = 64;

/// Texts of so many bytes are still near the processor when they are written; to look at them before costs more than
/// to wait for them.
const NEAR_BYTES_MAX: usize = 256 * 1024;

/// All of so many rows, by block.
fn blocks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(BLOCK_ROWS).map(move |start| start..rows.min(start + BLOCK_ROWS))
}

/// The value of rows; `computed` holds, for each output column that is a call, the values by row.
pub(crate) async fn shape(
    budget: &Budget,
    output: &Output,
    rows: Tuples,
    computed: &[Vec<Value>],
) -> Result<Value, RunError> {
    let is_bare = output.is_flat && rows.len() <= BARE_VALUES_MAX;
    if !is_bare
        && rows.is_text()
        && let Some(text) = TextOutput::of(output)
    {
        return text.write(budget, &rows).await;
    }
    shape_values(budget, output, rows, computed).await
}

/// The value of rows, its rows being values: for functions, which look at them.
pub(crate) async fn shape_values(
    budget: &Budget,
    output: &Output,
    mut rows: Tuples,
    computed: &[Vec<Value>],
) -> Result<Value, RunError> {
    let (count, width) = (rows.len(), output.columns.len());
    let row_bytes = VALUE_BYTES * (1 + width * if output.has_aliases { 2 } else { 1 });
    budget.charge_memory(count.saturating_mul(row_bytes))?;
    let mut shaped = Vec::with_capacity(count);
    let is_last = find_last_uses(output);
    for block in blocks(count) {
        let units = block.len() * (1 + width);
        match rows.values_mut() {
            Some(values) => shaped.extend(block.map(|row| {
                shape_row(output, row, computed, |index, _, column| {
                    if is_last[index] {
                        values.take(row, column)
                    } else {
                        values.value(row, column).clone()
                    }
                })
            })),
            None => shaped.extend(block.map(|row| {
                let tuple = rows.tuple(row);
                let cell = |_, side, column| tuple.cell(side, column).value();
                shape_row(output, row, computed, cell)
            })),
        }
        if budget.spend(units) {
            budget.pause().await?;
        }
    }
    Ok(Value::array(shaped))
}

/// One row; `cell` gives the value for the output column at an index, which shows this column of that
/// side.
#[inline]
fn shape_row(
    output: &Output,
    row: usize,
    computed: &[Vec<Value>],
    mut cell: impl FnMut(usize, Side, usize) -> Value,
) -> Value {
    let mut calls = computed.iter();
    let mut value = |index: usize, column: &OutputColumn| match &column.value {
        OutputValue::Column { side, column } => cell(index, *side, *column),
        OutputValue::Call(_) | OutputValue::Computed(_) => {
            calls.next().map_or(Value::Absent, |values| values[row].clone())
        }
    };
    if output.has_aliases {
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
    }
}

/// For each output column, whether no later one shows the same value: then it can be moved.
fn find_last_uses(output: &Output) -> Vec<bool> {
    let source = |column: &OutputColumn| match column.value {
        OutputValue::Column { side, column } => Some((side, column)),
        OutputValue::Call(_) | OutputValue::Computed(_) => None,
    };
    let sources: Vec<_> = output.columns.iter().map(source).collect();
    (0..sources.len()).map(|index| !sources[index + 1..].contains(&sources[index])).collect()
}

/// Lists and bare values have no place for what is absent.
fn or_null(value: Value) -> Value {
    if value.is_absent() { Value::Null } else { value }
}

/// One answer as it would be without function columns, for merging blocks.
pub(crate) async fn shape_answer(
    budget: &Budget,
    output: &Output,
    answer: Relation,
) -> Result<Value, RunError> {
    match answer {
        Relation::Value(value) => Ok(value),
        Relation::Rows(rows) => shape(budget, output, rows.into(), &[]).await,
    }
}

/// An output that can be written as text: no function is called, and members have different names.
struct TextOutput<'o> {
    /// The member names; empty for lists and bare values.
    names: Vec<&'o str>,
    is_flat: bool,
    /// Which columns are shown, in order.
    columns: Vec<(Side, usize)>,
}

impl<'o> TextOutput<'o> {
    fn of(output: &'o Output) -> Option<Self> {
        let mut names = Vec::new();
        let mut columns = Vec::with_capacity(output.columns.len());
        for column in &output.columns {
            let OutputValue::Column { side, column: position } = column.value else { return None };
            columns.push((side, position));
            if output.has_aliases {
                let name: &Text = column.alias.as_ref()?;
                names.push(&**name);
            }
        }
        let mut sorted = names.clone();
        sorted.sort_unstable();
        let is_distinct = sorted.windows(2).all(|pair| pair[0] != pair[1]);
        let is_flat = output.is_flat;
        (is_distinct && !columns.is_empty()).then_some(Self { names, is_flat, columns })
    }

    async fn write(&self, budget: &Budget, rows: &Tuples) -> Result<Value, RunError> {
        let form = match (self.names.is_empty(), self.is_flat) {
            (false, _) => RowForm::Object(&self.names),
            (true, true) => RowForm::Bare,
            (true, false) => RowForm::List,
        };
        let mut writer = RowWriter::new(form, self.columns.len());
        let bytes = rows.json_bytes(&self.columns);
        let memory_left = budget.memory_left();
        if bytes < memory_left {
            writer.reserve(rows.len(), bytes);
        }
        let are_far = rows.are_moved() && bytes > NEAR_BYTES_MAX;
        for block in blocks(rows.len()) {
            let units = block.len() * self.columns.len();
            if are_far {
                rows.bring_in(block.clone(), &self.columns);
            }
            if !self.write_block(&mut writer, rows, block, memory_left) {
                return Err(budget.refuse_memory());
            }
            if budget.spend(units) {
                budget.pause().await?;
            }
        }
        budget.charge_memory(writer.bytes())?;
        Ok(writer.finish())
    }

    /// Whether the text of these rows, too, has place in the memory left. They are not alike: what was expected of
    /// them is an average.
    fn write_block(
        &self,
        writer: &mut RowWriter,
        rows: &Tuples,
        block: Range<usize>,
        memory_left: usize,
    ) -> bool {
        if let Some((table, selected)) = rows.table() {
            // Nearly all rows are those of one table, whose cells need not be looked for.
            return block.into_iter().all(|number| {
                let row = selected.map_or(number, |selected| selected[number] as usize);
                writer.push(|position| (table, row, self.columns[position].1));
                writer.bytes() <= memory_left
            });
        }
        block.into_iter().all(|number| {
            let tuple = rows.tuple(number);
            writer.push(|position| {
                let (side, column) = self.columns[position];
                tuple.cell(side, column)
            });
            writer.bytes() <= memory_left
        })
    }
}
