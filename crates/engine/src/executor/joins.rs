//! Selects from any sources: reads each when its turn comes, and finds the rows that meet (JOI-15 to JOI-24).
//!
//! In: the plan of the sources, and for a sub-select the rows around it. Out: rows that have one row of each
//! source, in the order of the first source, then of the second, whatever the order of reading.

use futures_util::future::try_join_all;
use qlio_data::{Text, Value};
use qlio_plan::operator::{
    Equality, JoinKey, Joins, Placement, Program, Reading, Scan, Select, Side,
};

use super::{
    asking::Fetched,
    conditions::own,
    pushdown,
    statement::{Resolved, local_rows, resolve},
};
use crate::{
    budget::{Budget, VALUE_BYTES},
    deadline::Deadline,
    error::RunError,
    http,
    operator::{
        join::{cross_product, pairs, too_many_rows},
        join_keys::opener_of,
        opening::open_large,
        pieces::{self, PIECE},
        program::Machine,
        project,
        rows::{Relation, Rows, ValueRows},
        tuples::{NO_ROW, Numbered, Tuples},
    },
    own::Own,
    run::Run,
};

/// Bytes of a pair of row numbers.
pub(super) const PAIR_BYTES: usize = 8;

/// Rows that are looked at before others may have their turn.
const BLOCK_ROWS: usize = 256;

/// What the reading of the sources of one select shares.
pub(super) struct Reader<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) select: &'a Select,
    pub(super) joins: &'a Joins,
    pub(super) machine: &'a Machine<'a>,
    pub(super) deadline: Deadline,
    pub(super) rows_max: usize,
}

/// What has been read of a source before its turn.
enum Read {
    Whole(Relation),
    Asked(Fetched),
}

/// The rows of a select; `around` are those that it is run for, if it depends on some.
pub(super) async fn read(
    run: &Run<'_>,
    select: &Select,
    joins: &Joins,
    machine: &Machine<'_>,
    around: Option<Rows>,
) -> Result<Relation<Tuples>, RunError> {
    let reader = Reader {
        run,
        select,
        joins,
        machine,
        // All sources are one statement.
        deadline: run.deadline.of_statement(select.scan.delays.deadline_ms),
        rows_max: run.engine.settings().join_rows_max,
    };
    let count = joins.source_count();
    let mut sources: Vec<Numbered> = (0..=count).map(|_| Numbered::unread()).collect();
    let mut len = 1;
    let is_dependent = around.is_some();
    if let Some(rows) = around {
        len = rows.len();
        let numbers = (0..len as u32).collect();
        sources[count] = Numbered { rows, numbers };
        if len == 0 {
            return Ok(Relation::Rows(Tuples::of_sources(sources, 0)));
        }
    }
    let mut tuples = Tuples::of_sources(sources, len);
    let mut whole = reader.read_whole().await?;
    if !is_dependent && let Some(Relation::Value(value)) = &whole[0] {
        // An absent first source gives an absent result, an empty one an empty list.
        return Ok(Relation::Value(value.clone()));
    }
    let mut early: Vec<Option<Fetched>> = joins.placements.iter().map(|_| None).collect();
    for (place, placement) in joins.placements.iter().enumerate() {
        let is_unit = place == 0 && !is_dependent;
        let read = match whole[placement.source].take() {
            Some(read) => Some(Read::Whole(read)),
            None if early[place].is_none() => {
                reader.fetch_beside(place, &tuples, &mut early).await?;
                early[place].take().map(Read::Asked)
            }
            None => early[place].take().map(Read::Asked),
        };
        tuples = reader.place(placement, tuples, read, is_unit).await?;
        run.budget.charge_rows(tuples.len())?;
    }
    if !joins.is_in_order {
        let order = reader.text_order(&tuples).await?;
        tuples = tuples.select(&run.budget, order).await?;
    }
    Ok(Relation::Rows(tuples))
}

impl Reader<'_> {
    pub(super) fn scan(&self, source: usize) -> &Scan {
        self.joins.scan(self.select, source)
    }

    /// Reads all sources that need nothing of the others, at the same time.
    async fn read_whole(&self) -> Result<Vec<Option<Relation>>, RunError> {
        let mut whole: Vec<Option<Relation>> =
            (0..self.joins.source_count()).map(|_| None).collect();
        let placements = self.joins.placements.iter();
        let own = placements.filter(|placement| matches!(placement.reading, Reading::Whole));
        let own: Vec<usize> = own.map(|placement| placement.source).collect();
        let reads = own.iter().map(|source| self.read_source(*source, Vec::new()));
        if let [_] = own.as_slice() {
            for (source, read) in own.iter().zip(reads) {
                whole[*source] = Some(read.await?);
            }
            return Ok(whole);
        }
        for (source, read) in own.iter().zip(try_join_all(reads).await?) {
            whole[*source] = Some(read);
        }
        Ok(whole)
    }

    /// What the table of a source is asked for: by the statement, by rows that are there, and by tests.
    pub(super) async fn own(
        &self,
        source: usize,
        bound: Vec<(Text, Value)>,
    ) -> Result<Own, RunError> {
        let mut own = own(self.run, &self.scan(source).conditions).await?;
        own.extend(bound);
        pushdown::bind_source(self.machine, &self.joins.pushed, source, &mut own).await;
        Ok(own)
    }

    /// The rows of a source; a table is given these parameters besides those of the statement.
    pub(super) async fn read_source(
        &self,
        source: usize,
        bound: Vec<(Text, Value)>,
    ) -> Result<Relation, RunError> {
        let scan = self.scan(source);
        match Box::pin(resolve(self.run, &scan.source)).await? {
            Resolved::Local(value) => local_rows(self.run, scan, value).await,
            Resolved::Table(table) => {
                let own = self.own(source, bound).await?;
                http::scan_source(self.run, self.select, scan, self.deadline, table, own).await
            }
        }
    }

    /// Adds a source to the rows that are there.
    async fn place(
        &self,
        placement: &Placement,
        tuples: Tuples,
        read: Option<Read>,
        is_unit: bool,
    ) -> Result<Tuples, RunError> {
        let scan = self.scan(placement.source);
        let (rows, mut found) = match &placement.reading {
            Reading::Elements { side, column } => {
                let (rows, owners) = self.elements(scan, &tuples, *side, *column).await?;
                let pairs = owners.iter().zip(0..).map(|(owner, row)| (*owner, row));
                let candidates = pieces::collect(&self.run.budget, pairs).await?;
                let found = self.test(placement, &tuples, &rows, candidates).await?;
                (rows, found)
            }
            Reading::Whole => {
                let rows = match read {
                    Some(Read::Whole(read)) => read.into_rows(),
                    _ => None,
                };
                let rows = rows.unwrap_or_else(|| Rows::new(scan.width()));
                if is_unit {
                    let pairs = (0..rows.len() as u32).map(|row| (0, row));
                    let candidates = pieces::collect(&self.run.budget, pairs).await?;
                    let found = self.test(placement, &tuples, &rows, candidates).await?;
                    (rows, found)
                } else {
                    let found = self.meet(placement, &placement.keys, &tuples, &rows).await?;
                    (rows, found)
                }
            }
            Reading::Asked(bindings) => {
                let fetched = match read {
                    Some(Read::Asked(fetched)) => fetched,
                    _ => self.fetch(placement, bindings, &tuples).await?,
                };
                self.divide(placement, bindings, fetched, &tuples).await?
            }
        };
        if placement.is_left {
            found = fill_missing(&self.run.budget, found, tuples.len()).await?;
            if found.len() > self.rows_max {
                return Err(too_many_rows(self.rows_max));
            }
        }
        self.run.budget.charge_memory(found.len() * (1 + self.joins.source_count()) * 4)?;
        let tuples = tuples.extend(&self.run.budget, placement.source, rows, &found).await?;
        match &placement.filter {
            None => Ok(tuples),
            Some(filter) => self.keep(filter, tuples).await,
        }
    }

    async fn keep(&self, filter: &Program, tuples: Tuples) -> Result<Tuples, RunError> {
        let mut kept = Vec::new();
        let mut stack = Vec::new();
        for number in 0..tuples.len() {
            let tuple = tuples.tuple(number);
            if self.machine.run(filter, &mut stack, tuple, number).await?.is_truthy() {
                kept.push(number as u32);
            }
            if self.machine.budget.spend(filter.operations.len()) {
                self.machine.budget.pause().await?;
            }
        }
        tuples.select(self.machine.budget, kept).await
    }

    /// The elements of lists in the rows that are there, and for each the row that it belongs to. What is no list is
    /// one element, null none.
    async fn elements(
        &self,
        scan: &Scan,
        tuples: &Tuples,
        side: Side,
        column: usize,
    ) -> Result<(Rows, Vec<u32>), RunError> {
        let budget = &self.run.budget;
        let mut elements = Vec::new();
        let mut owners = Vec::new();
        for number in 0..tuples.len() {
            let value = tuples.tuple(number).cell(side, column).value();
            let value = open_large(self.run, value).await?;
            let before = elements.len();
            match value.elements() {
                Some(items) => {
                    budget.charge_memory(items.len() * (VALUE_BYTES + 4))?;
                    elements.extend(items.iter().filter(|item| !item.is_absent()).cloned());
                }
                None if value.is_nothing() => {}
                None => elements.push(value),
            }
            let count = elements.len() - before;
            owners.extend(std::iter::repeat_n(number as u32, count));
            if elements.len() > self.rows_max {
                return Err(too_many_rows(self.rows_max));
            }
            if budget.spend(1 + count) {
                budget.pause().await?;
            }
        }
        if elements.is_empty() {
            return Ok((Rows::new(scan.width()), owners));
        }
        let rows = project::project(self.run, scan, Value::array(elements)).await?.into_rows();
        Ok((rows.unwrap_or_else(|| Rows::new(scan.width())), owners))
    }

    /// The pairs that meet in keys and pass the test.
    pub(super) async fn meet(
        &self,
        placement: &Placement,
        keys: &[Equality],
        tuples: &Tuples,
        rows: &Rows,
    ) -> Result<Vec<(u32, u32)>, RunError> {
        if keys.is_empty() {
            return self.product(placement, tuples, rows).await;
        }
        let budget = &self.run.budget;
        let mut values = ValueRows::with_capacity(keys.len(), tuples.len());
        budget.charge_memory(tuples.len() * (keys.len() * VALUE_BYTES + 4))?;
        let opener = opener_of(self.run);
        let mut numbers = Vec::with_capacity(tuples.len());
        let (mut stack, mut row) = (Vec::new(), Vec::with_capacity(keys.len()));
        for number in 0..tuples.len() {
            let tuple = tuples.tuple(number);
            row.clear();
            for key in keys {
                let value = self.machine.run(&key.value, &mut stack, tuple, number).await?;
                match opener.usable(value, key.nulls).await? {
                    Some(value) => row.push(value),
                    None => break,
                }
            }
            if row.len() == keys.len() {
                values.push(row.drain(..));
                numbers.push(number as u32);
            }
            if budget.spend(keys.len()) {
                budget.pause().await?;
            }
        }
        let main = Rows::from(values);
        let join_keys: Vec<JoinKey> = (0..)
            .zip(keys)
            .map(|(main_column, key)| JoinKey {
                main_column,
                joined_column: key.column,
                joined_name: Text::default(),
            })
            .collect();
        let mut found = pairs(opener, &main, rows, &join_keys, self.rows_max).await?;
        for (tuple, _) in &mut found {
            *tuple = numbers[*tuple as usize];
        }
        self.test(placement, tuples, rows, found).await
    }

    /// Each row beside each, as far as they pass the test.
    async fn product(
        &self,
        placement: &Placement,
        tuples: &Tuples,
        rows: &Rows,
    ) -> Result<Vec<(u32, u32)>, RunError> {
        let budget = &self.run.budget;
        let product = tuples.len().saturating_mul(rows.len());
        if placement.test.is_none() && product > self.rows_max {
            return Err(cross_product(self.rows_max, tuples.len(), rows.len()));
        }
        let mut found = Vec::new();
        let mut stack = Vec::new();
        let units = placement.test.as_ref().map_or(1, |test| test.operations.len());
        for number in 0..tuples.len() {
            let tuple = tuples.tuple(number);
            let before = found.len();
            for (place, row) in rows.iter().enumerate() {
                if place % BLOCK_ROWS == 0 {
                    let block = BLOCK_ROWS.min(rows.len() - place);
                    budget.charge_pairs(block as u64)?;
                    if budget.spend(block * units) {
                        budget.pause().await?;
                    }
                }
                let holds = match &placement.test {
                    None => true,
                    Some(test) => {
                        let beside = tuple.beside(placement.source, row);
                        self.machine.run(test, &mut stack, beside, place).await?.is_truthy()
                    }
                };
                if holds {
                    found.push((number as u32, place as u32));
                }
            }
            if found.len() > self.rows_max {
                return Err(too_many_rows(self.rows_max));
            }
            budget.charge_memory((found.len() - before) * PAIR_BYTES)?;
        }
        Ok(found)
    }

    /// The pairs that pass the test of a source.
    pub(super) async fn test(
        &self,
        placement: &Placement,
        tuples: &Tuples,
        rows: &Rows,
        mut candidates: Vec<(u32, u32)>,
    ) -> Result<Vec<(u32, u32)>, RunError> {
        let Some(test) = &placement.test else { return Ok(candidates) };
        let budget = &self.run.budget;
        let mut stack = Vec::new();
        let mut kept = 0;
        for place in 0..candidates.len() {
            let (number, row) = candidates[place];
            let tuple = tuples.tuple(number as usize);
            let beside = tuple.beside(placement.source, rows.row(row as usize));
            if self.machine.run(test, &mut stack, beside, row as usize).await?.is_truthy() {
                candidates[kept] = (number, row);
                kept += 1;
            }
            if budget.spend(test.operations.len()) {
                budget.pause().await?;
            }
        }
        candidates.truncate(kept);
        Ok(candidates)
    }

    /// The order of rows by the rows around, then by the first source, then by the second: a counting sort by
    /// each, from the last on.
    async fn text_order(&self, tuples: &Tuples) -> Result<Vec<u32>, RunError> {
        let budget = &self.run.budget;
        let mut order = pieces::collect(budget, 0..tuples.len() as u32).await?;
        let count = self.joins.source_count();
        for source in (0..count).rev().chain([count]) {
            let Some(source) = tuples.sources().get(source) else { continue };
            if source.numbers.is_empty() {
                continue;
            }
            // What has no row stands last, of which there is one at most beside others.
            let slots = source.rows.len() + 1;
            budget.charge_memory((slots + order.len()) * 4)?;
            let slot = |tuple: u32| (source.numbers[tuple as usize] as usize).min(slots - 1);
            let mut starts = vec![0_u32; slots + 1];
            for piece in order.chunks(PIECE) {
                for tuple in piece {
                    starts[slot(*tuple) + 1] += 1;
                }
                pieces::count(budget, piece.len()).await?;
            }
            let mut before = 0;
            for piece in starts.chunks_mut(PIECE) {
                for start in piece.iter_mut() {
                    before += *start;
                    *start = before;
                }
                pieces::count(budget, piece.len()).await?;
            }
            let mut sorted = vec![0; order.len()];
            for piece in order.chunks(PIECE) {
                for tuple in piece {
                    let start = &mut starts[slot(*tuple)];
                    sorted[*start as usize] = *tuple;
                    *start += 1;
                }
                pieces::count(budget, piece.len()).await?;
            }
            order = sorted;
        }
        Ok(order)
    }
}

/// The pairs, and for each row without a partner a pair with nothing, in the order of the rows.
async fn fill_missing(
    budget: &Budget,
    found: Vec<(u32, u32)>,
    count: usize,
) -> Result<Vec<(u32, u32)>, RunError> {
    let mut filled = Vec::with_capacity(found.len().max(count));
    let mut next = 0;
    for piece in found.chunks(PIECE) {
        for (number, row) in piece {
            if next < *number {
                let missing = (next..*number).map(|missing| (missing, NO_ROW));
                pieces::extend(budget, &mut filled, missing).await?;
            }
            next = number + 1;
            filled.push((*number, *row));
        }
        pieces::count(budget, piece.len()).await?;
    }
    let missing = (next..count as u32).map(|missing| (missing, NO_ROW));
    pieces::extend(budget, &mut filled, missing).await?;
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::budget::turns::turns_of;

    #[test]
    fn rows_without_a_partner_stay_in_their_places() {
        let none = NO_ROW;
        let filled = |found: Vec<(u32, u32)>, count| {
            let budget = Budget::unlimited();
            fill_missing(&budget, found, count).now_or_never().expect("short").expect("no limit")
        };
        assert_eq!(
            filled(vec![(1, 7), (1, 9), (3, 0)], 5),
            [(0, none), (1, 7), (1, 9), (2, none), (3, 0), (4, none)]
        );
        assert_eq!(filled(Vec::new(), 2), [(0, none), (1, none)]);
        assert_eq!(filled(Vec::new(), 0), []);
    }

    #[test]
    fn rows_without_a_partner_are_filled_in_turns() {
        let count = 4_000_000;
        let found = vec![(count - 1, 3)];
        let (filled, turns) =
            turns_of(async |budget| fill_missing(budget, found.clone(), count as usize).await);
        assert_eq!((filled.len(), filled.last()), (count as usize, Some(&(count - 1, 3))));
        assert!(turns > 1, "{turns} turns");
    }
}
