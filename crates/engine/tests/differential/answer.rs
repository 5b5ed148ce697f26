//! The rows of both sides, and whether they are the same.

use qlio_data::{Value, codec::json};
use rusqlite::{Connection, types::ValueRef};

use super::query::Question;

/// The rows of one side, in their order.
pub(crate) type Answer = Vec<Vec<Cell>>;

/// A value that both know.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Number(f64),
    Text(String),
    List(Vec<Self>),
}

impl Cell {
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => {
                (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1.0)
            }
            (Self::List(left), Self::List(right)) => are_like(left, right),
            _ => self == other,
        }
    }

    /// Where it stands among others: numbers that are nearly the same may be apart.
    fn place(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Number(number) => format!("{:.6e}", number + 0.0),
            Self::Text(text) => format!("\"{text}\""),
            Self::List(items) => {
                format!("[{}]", items.iter().map(Self::place).collect::<Vec<_>>().join(","))
            }
        }
    }
}

fn are_like(left: &[Cell], right: &[Cell]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.is_like(right))
}

pub(crate) fn answer_of(value: &Value, width: usize) -> Answer {
    let rows = value.elements().unwrap_or_default();
    let cells = |row: &Value| {
        (0..width).map(|column| cell_of(&row.member(&format!("x{column}")))).collect()
    };
    rows.iter().map(cells).collect()
}

fn cell_of(value: &Value) -> Cell {
    match value {
        Value::String(text) => Cell::Text(text.to_string()),
        value if value.is_nothing() => Cell::Null,
        value => match value.elements() {
            Some(items) => Cell::List(items.iter().map(cell_of).collect()),
            None => json::to_string(value)
                .parse()
                .map_or_else(|_| Cell::Text(format!("{value:?}")), Cell::Number),
        },
    }
}

pub(crate) fn ask_sqlite(connection: &Connection, question: &Question) -> Answer {
    let mut statement =
        connection.prepare(&question.sql).unwrap_or_else(|error| panic!("{error}: {question:?}"));
    let mut rows = statement.query([]).expect("an answer");
    let mut answer = Vec::new();
    while let Some(row) = rows.next().unwrap_or_else(|error| panic!("{error}: {question:?}")) {
        let cell = |column| match row.get_ref(column).expect("a column") {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(_) | ValueRef::Real(_) => {
                Cell::Number(row.get(column).expect("a number"))
            }
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                let text = String::from_utf8_lossy(text).into_owned();
                if question.lists.contains(&column) {
                    cell_of(&json::parse_str(&text).expect("a list"))
                } else {
                    Cell::Text(text)
                }
            }
        };
        answer.push((0..question.width).map(cell).collect());
    }
    answer
}

/// Whether two answers are the same, in any order unless the query has one.
pub(crate) fn are_alike(mine: &Answer, theirs: &Answer, is_ordered: bool) -> bool {
    if mine.len() != theirs.len() {
        return false;
    }
    let is_same = |(left, right): (&Vec<Cell>, &Vec<Cell>)| are_like(left, right);
    if is_ordered {
        return mine.iter().zip(theirs).all(is_same);
    }
    let sorted = |answer: &Answer| {
        let mut answer = answer.clone();
        answer.sort_by_cached_key(|row| row.iter().map(Cell::place).collect::<Vec<_>>());
        answer
    };
    if sorted(mine).iter().zip(&sorted(theirs)).all(is_same) {
        return true;
    }
    let mut left_over: Vec<_> = theirs.iter().collect();
    mine.iter().all(|row| {
        let found = left_over.iter().position(|other| are_like(row, other));
        found.map(|place| left_over.swap_remove(place)).is_some()
    })
}
