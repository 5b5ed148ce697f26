//! Random selects, run here and by `SQLite`, which must show the same rows; and what holds among selects.
//!
//! Where the two mean something else, the text for `SQLite` says so: there, a comparison with null is false, `==`
//! is `is`, and null comes last. Texts and numbers stand in columns of their own, since only here they are
//! equal. `DIFFERENTIAL_QUERIES` says how many are asked.

#![expect(clippy::format_push_string, reason = "what is asked for matters here, and not the time")]

mod query;
mod random;

use qlio_data::{
    Value,
    codec::json,
    compute::aggregate::{Aggregate, EXAMPLE_ROWS},
};
use qlio_engine::{Caller, ClientRequest, Engine, EngineOptions, Limits};
use qlio_plan::{
    Catalog, CompileOptions, Origin,
    catalog::{CatalogBuilder, NoResources},
};
use query::Question;
use random::Random;
use rusqlite::{Connection, types::ValueRef};
use tokio::runtime::{Builder, Runtime};

/// Queries of one script, which share its tables.
const QUERIES_PER_SCRIPT: u64 = 20;

/// The rows of both sides, in their order.
type Answer = Vec<Vec<Cell>>;

/// A value that both know.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    Number(f64),
    Text(String),
}

impl Cell {
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => {
                (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1.0)
            }
            _ => self == other,
        }
    }
}

struct Bench {
    runtime: Runtime,
    engine: Engine,
    catalog: Catalog,
}

impl Bench {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let mut options = EngineOptions::default();
        options.settings.limits = Limits { cpu_ms: u64::MAX, ..Limits::ROUTE };
        let engine = Engine::new(options).expect("an engine");
        let (catalog, _) = CatalogBuilder::new(Value::Absent, &NoResources).finish();
        Self { runtime, engine, catalog }
    }

    fn run(&self, text: &str) -> Result<Value, String> {
        let options =
            CompileOptions { origin: Origin::Stored, file: "script", resources: &NoResources };
        let compiled = qlio_plan::compile(text, &self.catalog, &options)
            .map_err(|problems| format!("does not compile: {problems:?}"))?;
        let request = ClientRequest::default();
        let run = self.engine.run(&compiled.plan, &self.catalog, &request, Caller::Operator);
        match self.runtime.block_on(run) {
            Ok(answer) => Ok(answer.value),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What these queries give, asked one by one if not all can be answered.
    fn answers(&self, tables: &str, questions: &[Question]) -> Vec<Result<Answer, String>> {
        let mut script = tables.to_owned();
        let mut members = Vec::new();
        for (number, question) in questions.iter().enumerate() {
            script.push_str(&format!("q{number} = {}\n", question.ql));
            members.push(format!("\"q{number}\": \"{{q{number}}}\""));
        }
        script.push_str(&format!("return {{{}}}", members.join(", ")));
        let numbered = questions.iter().enumerate();
        match self.run(&script) {
            Ok(value) => numbered
                .map(|(number, question)| {
                    Ok(answer_of(&value.member(&format!("q{number}")), question.width))
                })
                .collect(),
            Err(_) => questions
                .iter()
                .map(|question| {
                    let value = self.run(&format!("{tables}return {}", question.ql))?;
                    Ok(answer_of(&value, question.width))
                })
                .collect(),
        }
    }
}

fn answer_of(value: &Value, width: usize) -> Answer {
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
        number => json::to_string(number)
            .parse()
            .map_or_else(|_| Cell::Text(format!("{number:?}")), Cell::Number),
    }
}

fn ask_sqlite(connection: &Connection, question: &Question) -> Answer {
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
                Cell::Text(String::from_utf8_lossy(text).into_owned())
            }
        };
        answer.push((0..question.width).map(cell).collect());
    }
    answer
}

/// Whether two answers are the same, in any order unless the query has one.
fn are_alike(mine: &Answer, theirs: &Answer, is_ordered: bool) -> bool {
    let is_same = |left: &Vec<Cell>, right: &Vec<Cell>| {
        left.iter().zip(right).all(|(left, right)| left.is_like(right))
    };
    if mine.len() != theirs.len() {
        return false;
    }
    if is_ordered {
        return mine.iter().zip(theirs).all(|(left, right)| is_same(left, right));
    }
    let mut left_over: Vec<_> = theirs.iter().collect();
    mine.iter().all(|row| {
        let found = left_over.iter().position(|other| is_same(row, other));
        found.map(|place| left_over.swap_remove(place)).is_some()
    })
}

/// Asks as many queries from one seed on; gives the disagreements.
fn compare(seed: u64, queries: u64) -> Vec<String> {
    let bench = Bench::new();
    let mut found = Vec::new();
    for script in 0..queries.div_ceil(QUERIES_PER_SCRIPT) {
        let mut random = Random::new(seed.wrapping_add(script));
        let tables = random::tables(&mut random);
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch(&tables.sql).expect("tables");
        let questions: Vec<Question> =
            (0..QUERIES_PER_SCRIPT).map(|_| query::question(&mut random)).collect();
        let answers = bench.answers(&tables.ql, &questions);
        for (question, mine) in questions.iter().zip(answers) {
            let theirs = ask_sqlite(&connection, question);
            if !matches!(&mine, Ok(mine) if are_alike(mine, &theirs, question.is_ordered)) {
                found.push(format!(
                    "{}return {}\n-- {}\nmine: {mine:?}\nSQLite: {theirs:?}",
                    tables.ql, question.ql, question.sql
                ));
            }
        }
        if found.len() > 5 {
            break;
        }
    }
    found
}

/// How many queries each of the two tests asks.
#[expect(clippy::disallowed_methods, reason = "how long a test runs is no setting")]
fn queries() -> u64 {
    let count = std::env::var("DIFFERENTIAL_QUERIES").ok().and_then(|count| count.parse().ok());
    count.unwrap_or(10_000_u64).div_ceil(2)
}

fn assert_the_same_rows(seed: u64) {
    let found = compare(seed, queries());
    assert!(found.is_empty(), "{} disagreements\n\n{}", found.len(), found.join("\n\n"));
}

#[test]
fn sqlite_shows_the_same_rows() {
    assert_the_same_rows(1);
}

/// At the same time as the first half.
#[test]
fn sqlite_shows_the_same_rows_again() {
    assert_the_same_rows(1 << 40);
}

#[test]
fn the_examples_of_aggregates_give_what_they_say() {
    let bench = Bench::new();
    for (call, result) in Aggregate::ALL.iter().flat_map(|aggregate| aggregate.examples()) {
        let script = format!("rows = {EXAMPLE_ROWS}\nreturn select value {call} from rows");
        let value = bench.run(&script).unwrap_or_else(|error| panic!("{call}: {error}"));
        assert_eq!(json::to_string(&value), format!("[{result}]"), "{call}");
    }
}

#[test]
fn rows_are_split_by_a_test_and_tiled_by_bounds() {
    let bench = Bench::new();
    let sorted = |value: &Value| {
        let mut rows: Vec<_> =
            value.elements().unwrap_or_default().iter().map(json::to_string).collect();
        rows.sort_unstable();
        rows
    };
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let tables = random::tables(&mut random);
        let test = query::row_test(&mut random);
        let mut script = format!(
            "{}whole = select * from t\nyes = select * from t where {test}\n\
             no = select * from t where not ({test})\n\
             both = select * from t where {test} union all select * from t where not ({test})\n\
             order = select value id from t order by a desc, b, id\n",
            tables.ql
        );
        let mut tiles = Vec::new();
        for tile in 0..5 {
            let offset = 2 * tile;
            script.push_str(&format!(
                "t{tile} = select value id from t order by a desc, b, id limit 2 offset {offset}\n"
            ));
            tiles.push(format!("\"{{t{tile}}}\""));
        }
        script.push_str(&format!(
            "tiles = [{}]\nreturn {{\"whole\": \"{{whole}}\", \"yes\": \"{{yes}}\", \"no\": \"{{no}}\", \
             \"both\": \"{{both}}\", \"order\": \"{{order}}\", \"tiles\": \"{{tiles}}\"}}",
            tiles.join(", ")
        ));
        let value = bench.run(&script).unwrap_or_else(|error| panic!("{error}\n{script}"));
        let whole = sorted(&value.member("whole"));
        let mut parts = sorted(&value.member("yes"));
        parts.extend(sorted(&value.member("no")));
        parts.sort_unstable();
        assert_eq!(parts, whole, "{script}");
        assert_eq!(sorted(&value.member("both")), whole, "{script}");
        let tiled: Vec<String> = value
            .member("tiles")
            .elements()
            .unwrap_or_default()
            .iter()
            .flat_map(|tile| tile.elements().unwrap_or_default().into_owned())
            .map(|id| json::to_string(&id))
            .collect();
        let order = value.member("order");
        let ids: Vec<_> =
            order.elements().unwrap_or_default().iter().map(json::to_string).collect();
        assert_eq!(tiled, ids, "{script}");
    }
}
