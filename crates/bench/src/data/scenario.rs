//! The scripts A to D and what their upstreams answer (`docs/reference/bench.md`).
//!
//! The rows are padded so that the gateway's answers have the published sizes to the byte. Details and
//! reviews of scenario D come in different orders, so only a join by id gives the right rows.

use qlio_data::{Object, Value, codec::json};

use super::{number, object, text};
use crate::codec::positional;

/// One of the four scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// Everything that one API answers.
    A,
    /// Three columns of it.
    B,
    /// The second call needs the ids of the first.
    C,
    /// One call for ids, ten side by side for these, a join: a route.
    D,
}

impl Scenario {
    /// All four.
    pub const ALL: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
        }
    }

    /// The script of the scenario.
    pub fn script(self) -> &'static str {
        match self {
            Self::A => "select * from bench.search where q = \"ql\"",
            Self::B => {
                "select id as id, from_user_name as user_name, text as text from bench.search \
                 where q = \"ql\""
            }
            Self::C => {
                "select ItemID, Url, Location from bench.items where itemId in \
                 (select itemId from bench.find where keywords = 'mini')"
            }
            Self::D => ROUTE,
        }
    }

    /// The bytes of its answer.
    pub fn answer_bytes(self) -> usize {
        match self {
            Self::A => 5924,
            Self::B => 952,
            Self::C => 1377,
            Self::D => 600,
        }
    }

    /// Upstream requests that it makes.
    pub fn upstream_requests(self) -> usize {
        match self {
            Self::A | Self::B => 1,
            Self::C => 2,
            Self::D => 11,
        }
    }

    /// The right answer.
    pub fn answer(self) -> Value {
        match self {
            Self::A => search(),
            Self::B => {
                rows(&search(), &[("id", "id"), ("from_user_name", "user_name"), ("text", "text")])
            }
            // Columns without aliases make rows without names.
            Self::C => positional(&items()),
            Self::D => joined(),
        }
    }
}

/// The route of scenario D.
const ROUTE: &str = "\
p = select pid from bench.prods where k = 'mac';
d = select * from bench.details where id in ('{p}') and kind = 'Ref';
r = select * from bench.reviews where id in ('{p}') and kind = 'Ref';
return select d.id as id, d.Title as title, d.Count as reviewCount, r.Rating as rating
  from d as d, r as r where d.id = r.id
  via route '/myapi' using method get;
";

const SEARCH_ROWS: u64 = 10;
const FOUND_ROWS: u64 = 10;
const PRODUCTS: u64 = 5;

/// Text of `length` letters: words, so that it compresses like text.
fn filler(seed: u64, length: usize) -> String {
    const WORDS: [&str; 9] =
        ["gateway", "query", "table", "join", "route", "answer", "upstream", "row", "column"];
    let mut out = String::new();
    let mut at = seed as usize;
    while out.len() < length {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(WORDS[at % WORDS.len()]);
        // Visits all nine words before it repeats.
        at = (at * 7 + 2) % WORDS.len();
    }
    out.truncate(length);
    // A blank at the end would be hard to see in a report of differing bodies.
    if out.ends_with(' ') {
        out.pop();
        out.push('.');
    }
    out
}

/// Makes `rows` print `bytes` long: the text member of each row gets its share of what is missing.
fn padded(bytes: usize, member: &str, shown: impl Fn(&Value) -> Value, rows: Vec<Object>) -> Value {
    let value = |rows: &[Object]| Value::array(rows.iter().cloned().map(Value::object).collect());
    let missing = bytes.saturating_sub(json::to_string(&shown(&value(&rows))).len());
    let count = rows.len();
    let padded: Vec<Object> = rows
        .into_iter()
        .enumerate()
        .map(|(at, mut row)| {
            let share = missing / count + usize::from(at < missing % count);
            row.insert(member, text(filler(at as u64, share)));
            row
        })
        .collect();
    value(&padded)
}

/// The rows of `bench.search`.
pub fn search() -> Value {
    const SHOWN: [(&str, &str); 3] =
        [("id", "id"), ("from_user_name", "user_name"), ("text", "text")];
    let basic = (0..SEARCH_ROWS).map(|at| {
        [
            ("id", Value::from(164_000_000_017 + at * 7_919)),
            ("from_user_name", text(filler(at, 10))),
            ("text", text("")),
            ("created_at", text(format!("Tue, 31 Jan 2012 {:02}:12:00 +0000", 10 + at))),
            ("iso_language_code", text("en")),
            ("profile_image_url", text(format!("http://img.test/{}_normal.png", 900 + at))),
            ("metadata", object([("result_type", text("recent"))])),
            ("source", text("")),
        ]
        .into_iter()
        .collect::<Object>()
    });
    let with_text =
        padded(Scenario::B.answer_bytes(), "text", |value| rows(value, &SHOWN), basic.collect());
    let with_text = with_text.elements().unwrap_or_default();
    let objects = with_text.iter().filter_map(|row| match row {
        Value::Object(row) => Some((**row).clone()),
        _ => None,
    });
    padded(Scenario::A.answer_bytes(), "source", Value::clone, objects.collect())
}

/// What the API behind `bench.search` answers: the rows in an envelope.
pub fn search_answer() -> Value {
    object([
        ("completed_in", number(0.093)),
        ("page", Value::from(1)),
        ("query", text("ql")),
        ("results", search()),
    ])
}

fn item_id(at: u64) -> Value {
    text(format!("{}", 270_912_345_678 + at * 1_000_003))
}

/// What the API behind `bench.find` answers.
pub fn find_answer() -> Value {
    let found = (0..FOUND_ROWS)
        .map(|at| object([("itemId", item_id(at)), ("title", text(filler(at, 40)))]));
    object([
        ("ack", text("Success")),
        ("searchResult", object([("item", Value::array(found.collect()))])),
    ])
}

fn items() -> Value {
    let rows = (0..FOUND_ROWS).map(|at| {
        [
            ("ItemID", item_id(at)),
            ("Url", text("")),
            ("Location", text(["Bergen, NO", "Leith, UK"][(at % 2) as usize])),
        ]
        .into_iter()
        .collect::<Object>()
    });
    padded(Scenario::C.answer_bytes(), "Url", positional, rows.collect())
}

/// What the API behind `bench.items` answers: items with more members than anybody asks for.
pub fn items_answer() -> Value {
    let items = items();
    let items = items.elements().unwrap_or_default();
    let wide = items.iter().enumerate().map(|(at, item)| {
        object([
            ("ItemID", item.member("ItemID")),
            ("Url", item.member("Url")),
            ("Location", item.member("Location")),
            ("Title", text(filler(at as u64, 50))),
            ("Status", text("Active")),
            ("BidCount", Value::from(at as u64 * 3)),
        ])
    });
    object([("Ack", text("Success")), ("Item", Value::array(wide.collect()))])
}

fn product_id(at: u64) -> String {
    format!("{}", 1_012_345 + at * 7_001)
}

/// What the API behind `bench.prods` answers.
pub fn products_answer() -> Value {
    let products = (0..PRODUCTS)
        .map(|at| object([("pid", text(product_id(at))), ("name", text(filler(at, 20)))]));
    object([("products", Value::array(products.collect()))])
}

fn joined() -> Value {
    let rows = (0..PRODUCTS).map(|at| {
        [
            ("id", text(product_id(at))),
            ("title", text("")),
            ("reviewCount", Value::from(12 + at * 31)),
            ("rating", number(4.5 - f64::from(at as u32) / 4.0)),
        ]
        .into_iter()
        .collect::<Object>()
    });
    padded(Scenario::D.answer_bytes(), "title", Value::clone, rows.collect())
}

/// The detail row of a product; `None` if there is no such product.
pub fn detail(id: &str) -> Option<Value> {
    let row = joined_row(id)?;
    Some(object([
        ("id", row.member("id")),
        ("Title", row.member("title")),
        ("Count", row.member("reviewCount")),
        ("Stock", Value::from(7)),
    ]))
}

/// The review row that is answered when a product is asked for. It is that of another product: the
/// five answers together hold all reviews, in another order than the details.
pub fn review(id: &str) -> Option<Value> {
    let at = (0..PRODUCTS).find(|at| product_id(*at) == id)?;
    let row = joined_row(&product_id((at + 2) % PRODUCTS))?;
    Some(object([
        ("Rating", row.member("rating")),
        ("id", row.member("id")),
        ("Best", text("yes")),
    ]))
}

fn joined_row(id: &str) -> Option<Value> {
    let rows = joined();
    rows.elements()?.iter().find(|row| row.member("id").as_str() == Some(id)).cloned()
}

/// These members of every row, under other names.
fn rows(value: &Value, columns: &[(&str, &str)]) -> Value {
    let rows = value.elements().unwrap_or_default();
    let rows = rows.iter().map(|row| {
        Value::object(columns.iter().map(|(from, to)| (*to, row.member(from))).collect())
    });
    Value::array(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_published_sizes() {
        for scenario in Scenario::ALL {
            let bytes = json::to_string(&scenario.answer()).len();
            assert_eq!(bytes, scenario.answer_bytes(), "{scenario:?}");
        }
    }

    #[test]
    fn there_are_rows_enough() {
        assert!(Scenario::A.answer().len() >= 10 && Scenario::B.answer().len() >= 10);
        assert_eq!(Scenario::D.answer().len(), 5);
    }

    #[test]
    fn details_and_reviews_come_in_different_orders() {
        let answer = products_answer();
        for product in answer.member("products").elements().unwrap().iter() {
            let id = product.member("pid");
            let id = id.as_str().unwrap();
            assert_eq!(detail(id).unwrap().member("id").as_str(), Some(id));
            assert_ne!(review(id).unwrap().member("id").as_str(), Some(id));
        }
        assert!(detail("7").is_none());
    }
}
