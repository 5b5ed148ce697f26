//! Filtering a variable (`language.md` 5.8).

use std::collections::HashMap;

use qlio_data::{
    Value,
    path::{Options, Path},
    value::loose::{LooseKey, loosely_equals},
};
use qlio_plan::operator::Scan;

use crate::{error::RunError, executor::Own, run::Run};

/// Expected values in lists longer than this are found by hash.
const HASHED_FROM: usize = 8;

/// The rows of `value` for which all conditions hold; `own` has the expected values in the order of
/// the scan's conditions. Without conditions the value is only unwrapped.
pub(crate) fn filter(
    run: &Run<'_>,
    scan: &Scan,
    value: Value,
    own: &Own,
) -> Result<Value, RunError> {
    let value = unwrap(pruned(scan, value)?);
    if scan.conditions.is_empty() {
        return Ok(value);
    }
    let matchers: Vec<_> = scan
        .conditions
        .iter()
        .zip(own)
        .map(|(condition, (_, expected))| Matcher::new(&condition.path, expected))
        .collect();
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
                if holds(row)? {
                    kept.push(row.clone());
                }
            }
            Ok(Value::array(kept))
        }
        None if value.is_nothing() => Ok(value),
        None if holds(&value)? => Ok(value),
        None => Ok(Value::array(Vec::new())),
    }
}

/// A raw variable decoded once, keeping only what the statement reads.
fn pruned(scan: &Scan, value: Value) -> Result<Value, RunError> {
    match value {
        Value::Raw(text) if !scan.projection.is_all() => {
            let limits = qlio_data::codec::DecodeLimits::default();
            qlio_data::codec::json::decode(text.into_bytes(), &scan.projection, &limits).map_err(
                |error| RunError::internal(format!("a kept slice does not decode: {error}")),
            )
        }
        other => Ok(other),
    }
}

/// `[[x]]` is treated as `x`.
pub(crate) fn unwrap(value: Value) -> Value {
    if value.is_array() && value.len() == 1 {
        let inner = value.element(0);
        if inner.is_array() && inner.len() == 1 {
            return inner.element(0);
        }
    }
    value
}

/// One condition with its expected values prepared.
pub(crate) struct Matcher<'a> {
    path: &'a Path,
    expected: Vec<Value>,
    index: Option<HashMap<LooseKey, Vec<usize>>>,
}

impl<'a> Matcher<'a> {
    /// `expected` may be a list: any of its elements; an element that is a list stands for its own.
    pub(crate) fn new(path: &'a Path, expected: &Value) -> Self {
        let mut values = Vec::new();
        match expected.elements() {
            Some(elements) => {
                for element in elements.iter() {
                    match element.elements() {
                        Some(inner) => values.extend(inner.iter().cloned()),
                        None => values.push(element.clone()),
                    }
                }
            }
            None => values.push(expected.clone()),
        }
        let index = (values.len() > HASHED_FROM).then(|| {
            let mut index: HashMap<LooseKey, Vec<usize>> = HashMap::with_capacity(values.len());
            for (position, value) in values.iter().enumerate() {
                index.entry(LooseKey::of(value)).or_default().push(position);
            }
            index
        });
        Self { path, expected: values, index }
    }

    /// Some match of the path in the row equals some expected value; no match never holds.
    pub(crate) fn holds(&self, run: &Run<'_>, row: &Value) -> Result<bool, RunError> {
        let matches = self.path.select(row, run, Options { flatten: true })?;
        Ok(matches.iter().any(|found| self.expects(found)))
    }

    fn expects(&self, found: &Value) -> bool {
        match &self.index {
            None => self.expected.iter().any(|expected| loosely_equals(found, expected)),
            Some(index) => index.get(&LooseKey::of(found)).is_some_and(|positions| {
                positions.iter().any(|position| loosely_equals(found, &self.expected[*position]))
            }),
        }
    }
}
