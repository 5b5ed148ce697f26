//! Filtering a variable (SEL-13).

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use qlio_data::{
    Text, Value,
    codec::json::CellTable,
    path::{Options, Path, Segment},
    projection::Projection,
    value::loose::{LooseValue, loosely_equals},
};
use qlio_plan::operator::{Condition, Scan};

use super::{hash_index::HashIndex, opening};
use crate::{
    budget::{Budget, VALUE_BYTES},
    error::RunError,
    heavy::JSON_TREE_AT_ONCE_BYTES_MAX,
    run::Run,
};

/// Expected values in lists longer than this are found by hash.
const HASHED_FROM: usize = 8;

/// The rows of `value` for which all conditions hold; `expected` has a name and a value for each of the
/// scan's conditions, in their order. Without conditions the value is only unwrapped.
pub(crate) async fn filter(
    run: &Run<'_>,
    scan: &Scan,
    value: Value,
    expected: &[(Text, Value)],
) -> Result<Value, RunError> {
    let value = unwrap(opening::prune(run, scan, value).await?);
    if scan.conditions.is_empty() {
        return Ok(value);
    }
    let value = run.let_go(opening::open_large(run, value).await?);
    let matchers = Matcher::all(run, &scan.conditions, expected).await?;
    let mut looked_at = Projection::none();
    scan.conditions.iter().for_each(|condition| looked_at.add_path(&condition.path));
    let holds = |row: &Value| -> Result<bool, RunError> {
        for matcher in &matchers {
            if !matcher.holds(run, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    match value.elements() {
        Some(rows) => {
            let mut kept = Vec::new();
            for row in rows.iter() {
                let is_match = match opening::narrow(run, row, &looked_at).await? {
                    None => holds(row)?,
                    Some(narrow) => holds(&narrow)?,
                };
                if is_match {
                    kept.push(row.clone());
                }
                if run.budget.spend(matchers.len()) {
                    run.budget.pause().await?;
                }
            }
            run.budget.charge_rows(rows.len())?;
            run.budget.charge_memory(kept.len() * VALUE_BYTES)?;
            Ok(Value::array(kept))
        }
        None if value.is_nothing() => Ok(value.take()),
        None => {
            let is_match = match opening::narrow(run, &value, &looked_at).await? {
                None => holds(&value)?,
                Some(narrow) => holds(&narrow)?,
            };
            Ok(if is_match { value.take() } else { Value::array(Vec::new()) })
        }
    }
}

/// Where the conditions of a scan look if each looks at a plain member of its row; what is not among `columns` yet
/// is added to them.
pub(super) fn tested_columns<'s>(scan: &'s Scan, columns: &mut Vec<&'s str>) -> Option<Vec<usize>> {
    if columns.is_empty() {
        // Rows of no column would be nothing once the conditions have been tested.
        return None;
    }
    let mut tested = Vec::with_capacity(scan.conditions.len());
    for condition in &scan.conditions {
        let [Segment::Member(name)] = condition.path.segments() else { return None };
        let known = columns.iter().position(|column| *column == &**name);
        tested.push(known.unwrap_or_else(|| {
            columns.push(name);
            columns.len() - 1
        }));
    }
    Some(tested)
}

/// The numbers of the rows for which all conditions hold, of which each looks at one of the columns `tested`; nothing
/// if a list among them is so large that to look into it takes long.
pub(super) async fn find_cells(
    run: &Run<'_>,
    cells: &CellTable,
    tested: &[usize],
    expected: &[(Text, Value)],
) -> Result<Option<Vec<u32>>, RunError> {
    let mut expectations = Vec::with_capacity(tested.len());
    for (_, expected) in expected {
        expectations.push(Expectation::new(&run.budget, expected).await?);
    }
    let compared: Vec<Vec<LooseValue<'_>>> = expectations.iter().map(Expectation::loose).collect();
    let mut kept = Vec::new();
    for row in 0..cells.len() {
        let mut is_match = true;
        for ((column, expectation), compared) in tested.iter().zip(&expectations).zip(&compared) {
            is_match = match cells.loose(row, *column) {
                _ if cells.is_absent(row, *column) => false,
                Some(found) => expectation.holds_loose(&found, compared),
                None => match cells.value(row, *column) {
                    Value::Raw(text) if text.len() > JSON_TREE_AT_ONCE_BYTES_MAX => {
                        return Ok(None);
                    }
                    list => expectation.holds_for_some(&list),
                },
            };
            if !is_match {
                break;
            }
        }
        if is_match {
            kept.push(row as u32);
        }
        if run.budget.spend(tested.len()) {
            run.budget.pause().await?;
        }
    }
    Ok(Some(kept))
}

/// `[[x]]` is treated as `x`.
pub(crate) fn unwrap(value: Value) -> Value {
    if let Value::Raw(text) = &value
        && !starts_with_two_lists(text)
    {
        return value;
    }
    if value.is_array() && value.len() == 1 {
        let inner = value.element(0);
        if inner.is_array() && inner.len() == 1 {
            return inner.element(0);
        }
    }
    value
}

/// Whether a text may be a list of a list; whoever only asks need not count the elements.
fn starts_with_two_lists(text: &str) -> bool {
    let inner = text.strip_prefix('[').map(str::trim_ascii_start);
    inner.is_some_and(|inner| inner.starts_with('['))
}

/// One condition with its expected values prepared.
pub(crate) struct Matcher<'a> {
    path: &'a Path,
    values: Expectation,
}

/// Expected values, prepared.
pub(crate) struct Expectation {
    expected: Vec<Value>,
    index: Option<(RandomState, HashIndex)>,
}

impl<'a> Matcher<'a> {
    /// Those of conditions; `expected` has a name and a value for each of them.
    ///
    /// # Errors
    /// The run has used its processor time.
    pub(crate) async fn all(
        run: &Run<'_>,
        conditions: &'a [Condition],
        expected: &[(Text, Value)],
    ) -> Result<Vec<Self>, RunError> {
        let mut matchers = Vec::with_capacity(conditions.len());
        for (condition, (_, expected)) in conditions.iter().zip(expected) {
            let values = Expectation::new(&run.budget, expected).await?;
            matchers.push(Self { path: &condition.path, values });
        }
        Ok(matchers)
    }

    /// Some match of the path in the row equals some expected value; no match never holds.
    pub(crate) fn holds(&self, run: &Run<'_>, row: &Value) -> Result<bool, RunError> {
        let matches = self.path.select(row, run, Options { flatten: true })?;
        Ok(matches.iter().any(|found| self.values.holds(found)))
    }
}

impl Expectation {
    /// `expected` may be a list: any of its elements; an element that is a list stands for its own.
    ///
    /// # Errors
    /// The run has used its processor time.
    pub(crate) async fn new(budget: &Budget, expected: &Value) -> Result<Self, RunError> {
        let mut values = Vec::new();
        match expected.elements() {
            Some(elements) => {
                for element in elements.iter() {
                    let before = values.len();
                    match element.elements() {
                        Some(inner) => values.extend(inner.iter().cloned()),
                        None => values.push(element.clone()),
                    }
                    if budget.spend(1 + values.len() - before) {
                        budget.pause().await?;
                    }
                }
            }
            None => values.push(expected.clone()),
        }
        if values.len() <= HASHED_FROM {
            return Ok(Self { expected: values, index: None });
        }
        let hasher = RandomState::default();
        let mut entries = Vec::with_capacity(values.len());
        for (value, number) in values.iter().zip(0..) {
            entries.push((hasher.hash_one(LooseValue::of(value)), number));
            if budget.spend(1) {
                budget.pause().await?;
            }
        }
        let index = HashIndex::of(budget, &entries, values.len(), false).await?;
        Ok(Self { expected: values, index: Some((hasher, index)) })
    }

    /// What is expected: any of these.
    pub(crate) fn values(&self) -> &[Value] {
        &self.expected
    }

    /// Whether some element of the cell of a key column is expected.
    pub(crate) fn holds_for_some(&self, cell: &Value) -> bool {
        match cell.elements() {
            Some(elements) => elements.iter().any(|element| self.holds(element)),
            None => !cell.is_absent() && self.holds(cell),
        }
    }

    /// What is expected, ready to be compared with many cells; nothing if it is found by hash.
    fn loose(&self) -> Vec<LooseValue<'_>> {
        let compared = if self.index.is_none() { &*self.expected } else { &[] };
        compared.iter().map(LooseValue::of).collect()
    }

    /// [`holds`](Self::holds) for a cell; `compared` is what [`loose`](Self::loose) gives.
    fn holds_loose(&self, found: &LooseValue<'_>, compared: &[LooseValue<'_>]) -> bool {
        match &self.index {
            None => compared.contains(found),
            Some((hasher, index)) => index
                .rows(hasher.hash_one(found))
                .any(|position| *found == LooseValue::of(&self.expected[position as usize])),
        }
    }

    fn holds(&self, found: &Value) -> bool {
        let is_expected = |expected: &Value| loosely_equals(found, expected);
        match &self.index {
            None => self.expected.iter().any(is_expected),
            Some((hasher, index)) => index
                .rows(hasher.hash_one(LooseValue::of(found)))
                .any(|position| is_expected(&self.expected[position as usize])),
        }
    }
}
