//! Asking tables for what the rows of other sources need (JOI-22): each value once, in batches where the table
//! declares by which column to tell its rows apart.

use std::{collections::HashMap, sync::Arc};

use foldhash::quality::RandomState;
use qlio_data::{Value, codec::json};
use qlio_plan::{
    catalog::Table,
    operator::{Binding, Placement, Reading, Scan},
};

use super::{
    conditions::own,
    joins::{PAIR_BYTES, Reader},
    statement::{Resolved, resolve},
};
use crate::{
    budget::VALUE_BYTES,
    error::RunError,
    http,
    operator::{
        join::{do_meet, too_many_rows},
        null_keys::usable,
        rows::{Relation, Rows},
        tuples::Tuples,
    },
};

impl Reader<'_> {
    /// Asks a table for what the rows that are there need.
    pub(super) async fn ask(
        &self,
        placement: &Placement,
        bindings: &[Binding],
        tuples: &Tuples,
    ) -> Result<(Rows, Vec<(u32, u32)>), RunError> {
        let scan = self.scan(placement.source);
        let Resolved::Table(table) = Box::pin(resolve(self.run, &scan.source)).await? else {
            // A variable of the embedding caller has the table's name.
            let rows = self.read_source(placement.source, Vec::new()).await?.into_rows();
            let rows = rows.unwrap_or_else(|| Rows::new(scan.width()));
            let found = self.meet(placement, &placement.keys, tuples, &rows).await?;
            return Ok((rows, found));
        };
        let questions = self.questions(bindings, tuples).await?;
        if questions.asked.is_empty() {
            return Ok((Rows::new(scan.width()), Vec::new()));
        }
        if let [binding] = bindings
            && binding.is_declared
        {
            return self.ask_at_once(placement, binding, questions, tuples).await;
        }
        self.ask_each(placement, bindings, table, questions, tuples).await
    }

    /// What is to be asked: the different values of the parameters, and which of them each row needs.
    async fn questions(
        &self,
        bindings: &[Binding],
        tuples: &Tuples,
    ) -> Result<Questions, RunError> {
        let budget = &self.run.budget;
        let mut known: HashMap<String, u32, RandomState> = HashMap::default();
        let mut questions = Questions { asked: Vec::new(), of_rows: Vec::new() };
        let mut stack = Vec::new();
        for number in 0..tuples.len() {
            let tuple = tuples.tuple(number);
            let mut combinations: Vec<Vec<Value>> = vec![Vec::new()];
            for binding in bindings {
                let value = self.machine.run(&binding.value, &mut stack, tuple, number)?;
                let values = values_of(&value);
                let longer = combinations.iter().flat_map(|before| {
                    values.iter().map(|value| before.iter().chain([value]).cloned().collect())
                });
                combinations = longer.collect();
                if budget.spend(1 + combinations.len()) {
                    budget.pause().await?;
                }
            }
            for combination in combinations {
                let key = key_text(&combination);
                let next = questions.asked.len() as u32;
                let length = key.len();
                let question = *known.entry(key).or_insert(next);
                if question == next {
                    budget.charge_memory(length + combination.len() * VALUE_BYTES)?;
                    questions.asked.push(combination);
                }
                questions.of_rows.push((number as u32, question));
            }
        }
        budget.charge_memory(questions.of_rows.len() * PAIR_BYTES)?;
        Ok(questions)
    }

    /// One statement for all values; the declared column tells whose rows are whose.
    async fn ask_at_once(
        &self,
        placement: &Placement,
        binding: &Binding,
        questions: Questions,
        tuples: &Tuples,
    ) -> Result<(Rows, Vec<(u32, u32)>), RunError> {
        let scan = self.scan(placement.source);
        let values: Value = questions.asked.into_iter().flatten().collect();
        let bound = vec![(binding.parameter.clone(), values)];
        let rows = self.read_source(placement.source, bound).await?.into_rows();
        let rows = rows.unwrap_or_else(|| Rows::new(scan.width()));
        let without_test = Placement {
            source: placement.source,
            is_left: placement.is_left,
            reading: Reading::Whole,
            keys: Vec::new(),
            test: None,
            filter: None,
        };
        let found = self.meet(&without_test, &placement.keys, tuples, &rows).await?;
        self.warn_of_strangers(scan, &rows, &found);
        let found = self.test(placement, tuples, &rows, found).await?;
        Ok((rows, found))
    }

    /// Rows that belong to no value that was asked for are dropped, and that is told.
    fn warn_of_strangers(&self, scan: &Scan, rows: &Rows, found: &[(u32, u32)]) {
        let mut is_known = vec![false; rows.len()];
        for (_, row) in found {
            is_known[*row as usize] = true;
        }
        let strangers = is_known.iter().filter(|is_known| !**is_known).count();
        if strangers > 0 {
            let (name, count) = (&scan.source.name, rows.len());
            self.run.warn(format!(
                "{strangers} of {count} rows of {name} belong to no value that was asked for"
            ));
        }
    }

    /// A statement for each combination of values: its rows are theirs.
    async fn ask_each(
        &self,
        placement: &Placement,
        bindings: &[Binding],
        table: &Arc<Table>,
        questions: Questions,
        tuples: &Tuples,
    ) -> Result<(Rows, Vec<(u32, u32)>), RunError> {
        let budget = &self.run.budget;
        let scan = self.scan(placement.source);
        let own = own(self.run, &scan.conditions).await?;
        let owns = questions.asked.into_iter().map(|values| {
            let names = bindings.iter().map(|binding| binding.parameter.clone());
            own.iter().cloned().chain(names.zip(values)).collect()
        });
        let answers = http::scan_each(
            self.run,
            self.select,
            scan,
            self.deadline,
            table,
            owns.collect(),
            placement.is_left,
        )
        .await?;
        let mut rows = Rows::new(scan.width());
        let mut ranges = Vec::with_capacity(answers.len());
        for answer in answers {
            let before = rows.len() as u32;
            if let Relation::Rows(answer) = answer {
                rows.append(answer);
            }
            if rows.len() > self.rows_max {
                return Err(too_many_rows(self.rows_max));
            }
            ranges.push(before..rows.len() as u32);
        }
        let mut found = Vec::new();
        let mut stack = Vec::new();
        let mut keys = Vec::new();
        let mut last = None;
        for (number, question) in questions.of_rows {
            let tuple = tuples.tuple(number as usize);
            if last != Some(number) {
                last = Some(number);
                keys.clear();
                for key in placement.keys.iter().filter(|key| !key.is_answered) {
                    let value = self.machine.run(&key.value, &mut stack, tuple, number as usize)?;
                    keys.push((usable(value, key.nulls), key.column));
                }
            }
            for row in ranges[question as usize].clone() {
                let beside = rows.row(row as usize);
                let meets = keys.iter().all(|(value, column)| {
                    value.as_ref().is_some_and(|value| do_meet(value, beside.cell(*column)))
                });
                if meets {
                    found.push((number, row));
                }
            }
            if found.len() > self.rows_max {
                return Err(too_many_rows(self.rows_max));
            }
            let count = ranges[question as usize].len();
            budget.charge_pairs(count as u64)?;
            if budget.spend(1 + count) {
                budget.pause().await?;
            }
        }
        budget.charge_memory(found.len() * PAIR_BYTES)?;
        let found = self.test(placement, tuples, &rows, found).await?;
        Ok((rows, found))
    }
}

/// The different values that a table is asked for.
struct Questions {
    /// The values of the parameters, in the order of the rows that need them first.
    asked: Vec<Vec<Value>>,
    /// For each row that is there what it needs, by number; a row whose value is a list needs several.
    of_rows: Vec<(u32, u32)>,
}

/// The values that a table is asked for: of a list its elements, null for nothing.
fn values_of(value: &Value) -> Vec<Value> {
    match value.elements() {
        Some(items) => items.iter().filter(|item| !item.is_nothing()).cloned().collect(),
        None if value.is_nothing() => Vec::new(),
        None => vec![value.clone()],
    }
}

/// What tells values from others in a request.
fn key_text(values: &[Value]) -> String {
    let mut key = String::new();
    for value in values {
        match value.scalar_text() {
            Some(text) => key.push_str(&text),
            None => key.push_str(&json::to_string(value)),
        }
        key.push('\u{0}');
    }
    key
}
