//! The rows of pages, put together as if they had come in one answer.

use qlio_data::Value;

use crate::{
    budget::VALUE_BYTES,
    error::RunError,
    http::Call,
    operator::{
        opening::open_large,
        rows::{Relation, Rows, ValueRows},
    },
    run::Run,
};

/// The rows so far.
pub(super) struct PageRows<'r> {
    run: &'r Run<'r>,
    rows: Rows,
    /// Rows as they are, where no columns are read.
    values: Option<Vec<Value>>,
}

impl<'r> PageRows<'r> {
    pub(super) fn new(call: &'r Call<'_>) -> Self {
        let width = call.scan.map_or(0, qlio_plan::operator::Scan::width);
        Self { run: call.run, rows: Rows::new(width), values: (width == 0).then(Vec::new) }
    }

    /// Adds the rows of a page; gives how many these are. What is no list is one row, and nothing is none.
    pub(super) async fn add(&mut self, relation: Relation) -> Result<u64, RunError> {
        let value = match relation {
            Relation::Rows(rows) => {
                let count = rows.len();
                self.rows.append(rows);
                return Ok(count as u64);
            }
            Relation::Value(value) => value,
        };
        let Some(values) = &mut self.values else {
            if value.is_nothing() || value.is_array() {
                return Ok(0);
            }
            // An answer such as `0` is a row like any other, without columns.
            let width = self.rows.width();
            let mut row = ValueRows::with_capacity(width, 1);
            row.push(std::iter::repeat_n(Value::Absent, width));
            self.rows.append(row.into());
            return Ok(1);
        };
        let value = self.run.let_go(open_large(self.run, value).await?);
        let before = values.len();
        match value.elements() {
            Some(elements) => {
                self.run.budget.charge_memory(elements.len() * VALUE_BYTES)?;
                values.extend(elements.iter().cloned());
            }
            None if value.is_nothing() => {}
            None => values.push(Value::clone(&value)),
        }
        let count = values.len() - before;
        if self.run.budget.spend(count) {
            self.run.budget.pause().await?;
        }
        Ok(count as u64)
    }

    /// All of them; none is an empty list.
    pub(super) fn into_relation(self) -> Relation {
        match self.values {
            Some(values) => Relation::Value(Value::array(values)),
            None if self.rows.len() == 0 => Relation::Value(Value::array(Vec::new())),
            None => Relation::Rows(self.rows),
        }
    }
}
