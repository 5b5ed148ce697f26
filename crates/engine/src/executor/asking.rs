//! Asking tables for what the rows of other sources need (JOI-22): each value once, in batches where the table
//! declares by which column to tell its rows apart.

use std::{collections::HashMap, ops::Range, sync::Arc};

use foldhash::quality::RandomState;
use futures_util::future::{try_join, try_join_all};
use qlio_data::{Text, Value, codec::json};
use qlio_plan::{
    catalog::Table,
    operator::{Binding, JoinKey, Placement, Reading, Scan},
};
use qlio_syntax::diagnostic::codes;

use super::{
    joins::{PAIR_BYTES, Reader},
    statement::{Resolved, resolve},
};
use crate::{
    budget::VALUE_BYTES,
    error::RunError,
    http,
    operator::{
        join::{pairs, too_many_rows},
        join_keys::opener_of,
        opening::open_large,
        pieces,
        rows::{Relation, Rows, ValueRows},
        tuples::Tuples,
    },
};

/// Bytes of the text of a question that are made for a unit of work.
const KEY_BYTES_PER_UNIT: usize = 128;

/// What a table has answered, before its rows are divided.
pub(super) struct Fetched {
    answer: Answer,
    /// The rows that it was asked for are no longer the same: sources came since.
    is_early: bool,
}

enum Answer {
    /// A variable of the embedding caller has the table's name.
    Local(Rows),
    /// Nothing was to be asked.
    Nothing,
    /// One statement was made for all these values.
    AtOnce { rows: Rows, asked: Vec<Value> },
    /// A statement was made for each combination of values; each has its range of the rows.
    Each { rows: Rows, ranges: Vec<Range<u32>>, questions: Questions },
}

impl Reader<'_> {
    /// Asks the table of a source, and at the same time those that come behind it as far as they need nothing but
    /// the rows that are there and no test before them could drop rows (JOI-15). What others answer is put in
    /// their places.
    pub(super) async fn fetch_beside(
        &self,
        place: usize,
        tuples: &Tuples,
        early: &mut [Option<Fetched>],
    ) -> Result<(), RunError> {
        let Reading::Asked(_) = &self.joins.placements[place].reading else { return Ok(()) };
        let mut others = Vec::new();
        for (at, placement) in self.joins.placements.iter().enumerate().skip(place) {
            if let Reading::Asked(bindings) = &placement.reading
                && at > place
                && placement.asked_behind <= place
                && early[at].is_none()
            {
                others.push((at, placement, bindings));
            }
            if placement.test.is_some() || placement.filter.is_some() {
                break;
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        let own = async {
            let placement = &self.joins.placements[place];
            let Reading::Asked(bindings) = &placement.reading else { return Ok(None) };
            self.fetch(placement, bindings, tuples).await.map(Some)
        };
        let divisions = self.machine.zero_divisions.get();
        let fetches = others.iter().map(|(_, placement, bindings)| async {
            match self.fetch(placement, bindings, tuples).await {
                Ok(fetched) => Ok(Some(fetched)),
                // With fewer rows it may be possible: it is asked again when its turn comes.
                Err(error) if is_of_rows(&error) => Ok(None),
                Err(error) => Err(error),
            }
        });
        let (own, fetched) = try_join(own, try_join_all(fetches)).await?;
        self.machine.zero_divisions.set(divisions);
        early[place] = own;
        for ((at, ..), fetched) in others.into_iter().zip(fetched) {
            early[at] = fetched.map(|fetched| Fetched { is_early: true, ..fetched });
        }
        Ok(())
    }

    /// Asks a table for what the rows that are there need.
    pub(super) async fn fetch(
        &self,
        placement: &Placement,
        bindings: &[Binding],
        tuples: &Tuples,
    ) -> Result<Fetched, RunError> {
        let scan = self.scan(placement.source);
        let Resolved::Table(table) = Box::pin(resolve(self.run, &scan.source)).await? else {
            let rows = self.read_source(placement.source, Vec::new()).await?.into_rows();
            let rows = rows.unwrap_or_else(|| Rows::new(scan.width()));
            return Ok(Fetched { answer: Answer::Local(rows), is_early: false });
        };
        let questions = self.questions(bindings, tuples).await?;
        let answer = if questions.asked.is_empty() {
            Answer::Nothing
        } else if let [binding] = bindings
            && binding.is_declared
        {
            let asked: Vec<Value> = questions.asked.into_iter().flatten().collect();
            let bound = vec![(binding.parameter.clone(), Value::array(asked.clone()))];
            let rows = self.read_source(placement.source, bound).await?.into_rows();
            Answer::AtOnce { rows: rows.unwrap_or_else(|| Rows::new(scan.width())), asked }
        } else {
            self.ask_each(placement, bindings, table, questions).await?
        };
        Ok(Fetched { answer, is_early: false })
    }

    /// The pairs of rows that are there and rows of an answer.
    pub(super) async fn divide(
        &self,
        placement: &Placement,
        bindings: &[Binding],
        fetched: Fetched,
        tuples: &Tuples,
    ) -> Result<(Rows, Vec<(u32, u32)>), RunError> {
        let scan = self.scan(placement.source);
        match fetched.answer {
            Answer::Nothing => Ok((Rows::new(scan.width()), Vec::new())),
            Answer::Local(rows) => {
                let found = self.meet(placement, &placement.keys, tuples, &rows).await?;
                Ok((rows, found))
            }
            Answer::AtOnce { rows, asked } => {
                let without_test = Placement {
                    source: placement.source,
                    is_left: placement.is_left,
                    reading: Reading::Whole,
                    asked_behind: 0,
                    keys: Vec::new(),
                    test: None,
                    filter: None,
                };
                let found = self.meet(&without_test, &placement.keys, tuples, &rows).await?;
                let mut is_known = vec![false; rows.len()];
                for (_, row) in &found {
                    is_known[*row as usize] = true;
                }
                if fetched.is_early && is_known.contains(&false) {
                    self.know_asked(placement, asked, &rows, &mut is_known).await?;
                }
                self.warn_of_strangers(scan, &is_known);
                let found = self.test(placement, tuples, &rows, found).await?;
                Ok((rows, found))
            }
            Answer::Each { rows, ranges, mut questions } => {
                if fetched.is_early {
                    let divisions = self.machine.zero_divisions.get();
                    self.ask_again(bindings, &mut questions, tuples).await?;
                    self.machine.zero_divisions.set(divisions);
                }
                self.divide_each(placement, rows, ranges, questions, tuples).await
            }
        }
    }

    /// What is to be asked: the different values of the parameters, and which of them each row needs.
    async fn questions(
        &self,
        bindings: &[Binding],
        tuples: &Tuples,
    ) -> Result<Questions, RunError> {
        let mut questions = Questions::default();
        self.ask_again(bindings, &mut questions, tuples).await?;
        Ok(questions)
    }

    /// The same for other rows: what has been asked stays.
    async fn ask_again(
        &self,
        bindings: &[Binding],
        questions: &mut Questions,
        tuples: &Tuples,
    ) -> Result<(), RunError> {
        let budget = &self.run.budget;
        let Questions { asked, known, of_rows } = questions;
        of_rows.clear();
        // For each value the last row that needs it: one whose list has it twice needs it once.
        let mut needed_by = vec![usize::MAX; asked.len()];
        let mut stack = Vec::new();
        for number in 0..tuples.len() {
            let tuple = tuples.tuple(number);
            let mut combinations: Vec<Vec<Value>> = vec![Vec::new()];
            for binding in bindings {
                let value = self.machine.run(&binding.value, &mut stack, tuple, number).await?;
                let value = open_large(self.run, value).await?;
                let values = values_of(&value);
                let count = combinations.len().saturating_mul(values.len());
                let bytes = size_of::<Vec<Value>>() + bindings.len() * VALUE_BYTES;
                if count.saturating_mul(bytes) > budget.memory_left() {
                    return Err(budget.refuse_memory());
                }
                let longer = combinations.iter().flat_map(|before| {
                    values.iter().map(|value| before.iter().chain([value]).cloned().collect())
                });
                combinations = pieces::collect(budget, longer).await?;
                if budget.spend(1 + count) {
                    budget.pause().await?;
                }
            }
            for combination in combinations {
                let key = key_text(&combination);
                let next = asked.len() as u32;
                let length = key.len();
                let question = *known.entry(key).or_insert(next);
                if question == next {
                    budget.charge_memory(length + combination.len() * VALUE_BYTES)?;
                    asked.push(combination);
                    needed_by.push(usize::MAX);
                }
                if std::mem::replace(&mut needed_by[question as usize], number) != number {
                    of_rows.push((number as u32, question));
                }
                if budget.spend(1 + length / KEY_BYTES_PER_UNIT) {
                    budget.pause().await?;
                }
            }
        }
        budget.charge_memory(of_rows.len() * PAIR_BYTES)
    }

    /// Rows of an answer that hold one of the values that were asked for, whether or not a row still needs it.
    async fn know_asked(
        &self,
        placement: &Placement,
        asked: Vec<Value>,
        rows: &Rows,
        is_known: &mut [bool],
    ) -> Result<(), RunError> {
        let Some(key) = placement.keys.iter().find(|key| !key.is_answered) else { return Ok(()) };
        let budget = &self.run.budget;
        budget.charge_memory(asked.len() * VALUE_BYTES)?;
        let mut values = ValueRows::with_capacity(1, asked.len());
        for value in asked {
            values.push([value]);
        }
        let key =
            JoinKey { main_column: 0, joined_column: key.column, joined_name: Text::default() };
        let opener = opener_of(self.run);
        for (_, row) in pairs(opener, &values.into(), rows, &[key], self.rows_max).await? {
            is_known[row as usize] = true;
        }
        Ok(())
    }

    /// Rows that belong to no value that was asked for are dropped, and that is told.
    fn warn_of_strangers(&self, scan: &Scan, is_known: &[bool]) {
        let strangers = is_known.iter().filter(|is_known| !**is_known).count();
        if strangers > 0 {
            let (name, count) = (&scan.source.name, is_known.len());
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
    ) -> Result<Answer, RunError> {
        let scan = self.scan(placement.source);
        let own = self.own(placement.source, Vec::new()).await?;
        let owns = questions.asked.iter().map(|values| {
            let names = bindings.iter().map(|binding| binding.parameter.clone());
            own.iter().cloned().chain(names.zip(values.iter().cloned())).collect()
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
        Ok(Answer::Each { rows, ranges, questions })
    }

    /// The pairs of rows that are there and rows of the answers for what they need.
    async fn divide_each(
        &self,
        placement: &Placement,
        rows: Rows,
        ranges: Vec<Range<u32>>,
        questions: Questions,
        tuples: &Tuples,
    ) -> Result<(Rows, Vec<(u32, u32)>), RunError> {
        let budget = &self.run.budget;
        let opener = opener_of(self.run);
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
                    let value =
                        self.machine.run(&key.value, &mut stack, tuple, number as usize).await?;
                    keys.push((opener.usable(value, key.nulls).await?, key.column));
                }
            }
            for row in ranges[question as usize].clone() {
                let beside = rows.row(row as usize);
                let mut do_meet = true;
                for (value, column) in &keys {
                    do_meet = match value {
                        Some(value) => opener.meets_cell(value, beside.cell(*column)).await?,
                        None => false,
                    };
                    if !do_meet {
                        break;
                    }
                }
                if do_meet {
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
#[derive(Default)]
struct Questions {
    /// The values of the parameters, in the order of the rows that need them first.
    asked: Vec<Vec<Value>>,
    /// The number of each of them, by its text.
    known: HashMap<String, u32, RandomState>,
    /// For each row that is there what it needs, by number; a row whose value is a list needs several.
    of_rows: Vec<(u32, u32)>,
}

/// Whether an error is about the rows a table would be asked for, and nothing was sent: they are too many, or
/// hold what cannot be computed with.
fn is_of_rows(error: &RunError) -> bool {
    [codes::WRONG_OPERAND, codes::MAX_NESTED_REQUESTS].contains(&error.code)
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
