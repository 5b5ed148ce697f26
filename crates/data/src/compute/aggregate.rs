//! Many values to one: what the aggregates of a group add up.
//!
//! Each [`Accumulator`] takes the values of a group in their order and gives one value in the end.
//! Null and absent values are skipped, and of nothing the result is null, unless an aggregate says
//! otherwise. What it holds is counted in [`Accumulator::bytes`], for the budget of a run; `distinct`,
//! `order by`, `limit` and `filter` are the work of whoever adds.

use super::{
    ComputeError, Decimal, OutOfRange, number,
    order::Key,
    text::{self, TextWriter},
};
use crate::{Object, Text, Value};

/// The most elements of a list, and members of an object, that an aggregate makes.
const ELEMENTS_MAX: usize = 4_000_000;

/// An aggregate function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// `count(x)`: how many are not null; `count(*)` how many there are.
    Count,
    /// `sum(x)`
    Sum,
    /// `avg(x)`
    Avg,
    /// `min(x)`
    Min,
    /// `max(x)`
    Max,
    /// `array_agg(x)`: of nothing an empty list.
    ArrayAgg,
    /// `string_agg(x, separator)`
    StringAgg,
    /// `object_agg(key, value)`: of nothing an empty object; null values stay.
    ObjectAgg,
    /// `bool_and(x)`
    BoolAnd,
    /// `bool_or(x)`
    BoolOr,
    /// `first(x)`: of the first row, even if it is null.
    First,
    /// `last(x)`: of the last row, even if it is null.
    Last,
    /// `any_value(x)`: the first that is not null.
    AnyValue,
    /// `median(x)`
    Median,
    /// `stddev(x)`: of the sample.
    Stddev,
    /// `variance(x)`: of the sample.
    Variance,
}

/// What the reference and editors say of an aggregate.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Its name.
    pub name: &'static str,
    /// Name and parameters.
    pub signature: &'static str,
    /// What it gives, in one sentence.
    pub summary: &'static str,
}

/// The rows that examples are about.
pub const EXAMPLE_ROWS: &str = r#"[{"k": "a", "x": 4}, {"k": "b", "x": null}, {"k": "a", "x": 1}]"#;

impl Aggregate {
    /// All of them, in the order of the reference.
    pub const ALL: [Self; 16] = [
        Self::Count,
        Self::Sum,
        Self::Avg,
        Self::Min,
        Self::Max,
        Self::Median,
        Self::Stddev,
        Self::Variance,
        Self::BoolAnd,
        Self::BoolOr,
        Self::First,
        Self::Last,
        Self::AnyValue,
        Self::ArrayAgg,
        Self::StringAgg,
        Self::ObjectAgg,
    ];

    /// The aggregate of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aggregate| aggregate.describe().name == name)
    }

    /// How many arguments it takes; `count(*)` has none.
    pub fn arguments(self) -> usize {
        match self {
            Self::StringAgg | Self::ObjectAgg => 2,
            _ => 1,
        }
    }

    /// Its entry in the reference.
    pub fn describe(self) -> Description {
        let (name, signature, summary) = match self {
            Self::Count => (
                "count",
                "count(*), count(x)",
                "The number of rows, or of values that are not null.",
            ),
            Self::Sum => ("sum", "sum(x)", "The sum of numbers."),
            Self::Avg => ("avg", "avg(x)", "The mean of numbers."),
            Self::Min => ("min", "min(x)", "The first value in the order of `order by`."),
            Self::Max => ("max", "max(x)", "The last value in the order of `order by`."),
            Self::Median => {
                ("median", "median(x)", "The number in the middle, or the mean of the two there.")
            }
            Self::Stddev => {
                ("stddev", "stddev(x)", "The standard deviation of a sample; null for one number.")
            }
            Self::Variance => {
                ("variance", "variance(x)", "The variance of a sample; null for one number.")
            }
            Self::BoolAnd => ("bool_and", "bool_and(x)", "Whether all values count as true."),
            Self::BoolOr => ("bool_or", "bool_or(x)", "Whether some value counts as true."),
            Self::First => ("first", "first(x)", "The value of the first row, even if it is null."),
            Self::Last => ("last", "last(x)", "The value of the last row, even if it is null."),
            Self::AnyValue => ("any_value", "any_value(x)", "Some value that is not null."),
            Self::ArrayAgg => {
                ("array_agg", "array_agg(x)", "A list of the values; of nothing an empty one.")
            }
            Self::StringAgg => (
                "string_agg",
                "string_agg(x, separator)",
                "The texts of the values with a separator between them.",
            ),
            Self::ObjectAgg => (
                "object_agg",
                "object_agg(key, value)",
                "An object; of several values of one key the last. Of nothing an empty one.",
            ),
        };
        Description { name, signature, summary }
    }

    /// Calls and what they give of [`EXAMPLE_ROWS`], as JSON.
    pub fn examples(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Count => &[("count(*)", "3"), ("count(x)", "2"), ("count(distinct k)", "2")],
            Self::Sum => &[("sum(x)", "5"), ("sum(x) filter (where x > 9)", "null")],
            Self::Avg => &[("avg(x)", "2.5")],
            Self::Min => &[("min(x)", "1")],
            Self::Max => &[("max(k)", r#""b""#)],
            Self::Median => &[("median(x)", "2.5")],
            Self::Stddev => &[("stddev(x)", "2.121320343559642")],
            Self::Variance => &[("variance(x)", "4.5")],
            Self::BoolAnd => &[("bool_and(x > 2)", "false")],
            Self::BoolOr => &[("bool_or(x > 2)", "true")],
            Self::First => &[("first(x)", "4"), ("first(k order by x)", r#""a""#)],
            Self::Last => &[("last(x)", "1")],
            Self::AnyValue => &[("any_value(x)", "4")],
            Self::ArrayAgg => {
                &[("array_agg(x)", "[4,1]"), ("array_agg(x order by x limit 1)", "[1]")]
            }
            Self::StringAgg => &[("string_agg(distinct k, '-')", r#""a-b""#)],
            Self::ObjectAgg => &[("object_agg(k, x)", r#"{"a":1,"b":null}"#)],
        }
    }
}

/// An aggregate and what has been added to it.
#[derive(Debug)]
pub struct Accumulator {
    aggregate: Aggregate,
    /// Values that were not skipped.
    count: u64,
    state: State,
    bytes: usize,
}

#[derive(Debug)]
enum State {
    Nothing,
    /// A sum; with the sum of squared distances from the mean of those before, see `spread`.
    Sum(Decimal),
    Spread {
        mean: f64,
        squares: f64,
    },
    Best(Key, Value),
    One(Value),
    Bool(bool),
    Values(Vec<Value>),
    Numbers(Vec<Decimal>),
    Text(TextWriter),
    Object(Object),
}

impl Accumulator {
    /// An aggregate of nothing yet.
    pub fn new(aggregate: Aggregate) -> Self {
        let state = match aggregate {
            Aggregate::Count
            | Aggregate::Min
            | Aggregate::Max
            | Aggregate::First
            | Aggregate::Last
            | Aggregate::AnyValue => State::Nothing,
            Aggregate::Sum | Aggregate::Avg => State::Sum(Decimal::ZERO),
            Aggregate::Stddev | Aggregate::Variance => State::Spread { mean: 0.0, squares: 0.0 },
            Aggregate::BoolAnd => State::Bool(true),
            Aggregate::BoolOr => State::Bool(false),
            Aggregate::ArrayAgg => State::Values(Vec::new()),
            Aggregate::Median => State::Numbers(Vec::new()),
            Aggregate::StringAgg => State::Text(TextWriter::new()),
            Aggregate::ObjectAgg => State::Object(Object::new()),
        };
        Self { aggregate, count: 0, state, bytes: 0 }
    }

    /// Adds a row for `count(*)`.
    pub fn add_row(&mut self) {
        self.count += 1;
    }

    /// Adds the value of an aggregate of one argument.
    pub fn add(&mut self, value: &Value) -> Result<(), ComputeError> {
        self.add_with(value, &Value::Absent)
    }

    /// Adds the two values of `string_agg` and `object_agg`; others take the first alone.
    pub fn add_with(&mut self, value: &Value, second: &Value) -> Result<(), ComputeError> {
        let keeps_null = matches!(self.aggregate, Aggregate::First | Aggregate::Last);
        if value.is_nothing() && !keeps_null {
            return Ok(());
        }
        let is_first = self.count == 0;
        match &mut self.state {
            State::Nothing | State::Best(..) | State::One(_) => self.choose(value, is_first)?,
            State::Sum(sum) => {
                if let Some(number) = number::read(value)? {
                    *sum = sum.plus(number).map_err(|OutOfRange| ComputeError::OutOfRange {
                        what: format!("{sum} + {number}"),
                    })?;
                }
            }
            State::Spread { mean, squares } => {
                // Welford's way: no difference of large sums.
                let number = to_float(value)?;
                #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^53")]
                let count = (self.count + 1) as f64;
                let distance = number - *mean;
                *mean += distance / count;
                *squares += distance * (number - *mean);
            }
            State::Bool(result) => {
                let is_and = self.aggregate == Aggregate::BoolAnd;
                *result = if is_and {
                    *result && value.is_truthy()
                } else {
                    *result || value.is_truthy()
                };
            }
            State::Values(values) => {
                check_room(values.len())?;
                values.push(value.clone());
                self.bytes += size_of::<Value>();
            }
            State::Numbers(numbers) => {
                check_room(numbers.len())?;
                numbers.extend(number::read(value)?);
                self.bytes += size_of::<Decimal>();
            }
            State::Text(out) => {
                if !is_first {
                    out.push(&text::read(second).map_err(|error| error.at(1))?)?;
                }
                out.push(&text::read(value)?)?;
                self.bytes = out.len();
            }
            State::Object(object) => {
                check_room(object.len())?;
                let key: Text = text::read(value)?;
                // An absent member would leave the object.
                let member = if second.is_absent() { Value::Null } else { second.clone() };
                self.bytes += key.len() + 2 * size_of::<Value>();
                object.insert(key, member);
            }
        }
        self.count += 1;
        Ok(())
    }

    fn choose(&mut self, value: &Value, is_first: bool) -> Result<(), ComputeError> {
        match self.aggregate {
            Aggregate::Min | Aggregate::Max => self.choose_best(value, Key::of(value)?),
            Aggregate::Last => self.state = State::One(value.clone()),
            Aggregate::First | Aggregate::AnyValue if is_first => {
                self.state = State::One(value.clone());
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a value to `min` or `max` whose key is known, because to make it takes long.
    pub fn add_keyed(&mut self, value: &Value, key: Key) {
        self.choose_best(value, key);
        self.count += 1;
    }

    fn choose_best(&mut self, value: &Value, key: Key) {
        let is_better = match &self.state {
            State::Best(best, _) if self.aggregate == Aggregate::Min => key < *best,
            State::Best(best, _) => key > *best,
            _ => true,
        };
        if is_better {
            self.bytes = key.bytes();
            self.state = State::Best(key, value.clone());
        }
    }

    /// About how many bytes it holds, beside values that it shares.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The result.
    pub fn finish(self) -> Result<Value, ComputeError> {
        let of_nothing = self.count == 0;
        Ok(match self.state {
            _ if self.aggregate == Aggregate::Count => Value::from(self.count),
            State::Values(values) => Value::array(values),
            State::Object(object) => Value::object(object),
            _ if of_nothing => Value::Null,
            State::Sum(sum) if self.aggregate == Aggregate::Avg => {
                quotient(sum, Decimal::from(self.count))?
            }
            State::Sum(sum) => sum.into(),
            State::Spread { .. } if self.count == 1 => Value::Null,
            State::Spread { squares, .. } => {
                #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^53")]
                let variance = squares / (self.count - 1) as f64;
                let is_root = self.aggregate == Aggregate::Stddev;
                number::of_float(if is_root { variance.sqrt() } else { variance }, "variance")?
            }
            // What is absent in the first row is null.
            State::Nothing | State::Best(_, Value::Absent) | State::One(Value::Absent) => {
                Value::Null
            }
            State::Best(_, value) | State::One(value) => value,
            State::Bool(result) => Value::Bool(result),
            State::Numbers(numbers) => median(numbers)?,
            State::Text(text) => Value::from(text.finish()),
        })
    }
}

fn check_room(len: usize) -> Result<(), ComputeError> {
    if len < ELEMENTS_MAX {
        return Ok(());
    }
    Err(ComputeError::TooLarge {
        limit: "aggregate_elements_max",
        maximum: ELEMENTS_MAX,
        unit: "elements",
    })
}

fn to_float(value: &Value) -> Result<f64, ComputeError> {
    let number = number::read(value)?.unwrap_or_default();
    number.to_float().ok_or_else(|| ComputeError::OutOfRange { what: number.to_string() })
}

fn quotient(left: Decimal, right: Decimal) -> Result<Value, ComputeError> {
    match left.divided_by(right) {
        None => Ok(Value::Null),
        Some(result) => result
            .map(Value::from)
            .map_err(|OutOfRange| ComputeError::OutOfRange { what: format!("{left} / {right}") }),
    }
}

fn median(mut numbers: Vec<Decimal>) -> Result<Value, ComputeError> {
    let middle = numbers.len() / 2;
    let is_even = numbers.len().is_multiple_of(2);
    let (below, upper, _) = numbers.select_nth_unstable(middle);
    let upper = *upper;
    let Some(lower) = below.iter().max().filter(|_| is_even) else { return Ok(upper.into()) };
    let sum = lower
        .plus(upper)
        .map_err(|OutOfRange| ComputeError::OutOfRange { what: format!("{lower} + {upper}") })?;
    quotient(sum, Decimal::from(2_u64))
}

#[cfg(test)]
mod tests;
