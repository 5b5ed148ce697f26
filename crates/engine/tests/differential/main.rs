//! Random selects, run here and by `SQLite`, which must show the same rows; and what holds among selects.
//!
//! Where the two mean something else, the text for `SQLite` says so: there, a comparison with null is false, `==`
//! is `is`, null comes last, and what is absent equals nothing. Texts and numbers stand in columns of their own,
//! since only here they are equal. `DIFFERENTIAL_QUERIES` says how many are asked, and `DIFFERENTIAL_SEED` from
//! where on. What disagrees is shown as small as it can be made.

#![expect(clippy::format_push_string, reason = "what is asked for matters here, and not the time")]

mod answer;
mod pair;
mod query;
mod random;
mod shrink;
mod sources;
mod tables;
mod terms;

use answer::{Answer, answer_of, are_alike, ask_sqlite};
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
use rusqlite::Connection;
use tokio::runtime::{Builder, Runtime};

/// Queries of one script, which share its tables.
const QUERIES_PER_SCRIPT: u64 = 20;

/// Disagreements that are shown.
const SHOWN_MAX: usize = 5;

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

    /// What a query gives.
    fn answer(&self, tables: &str, question: &Question) -> Result<Answer, String> {
        let value = self.run(&format!("{tables}return {}", question.ql))?;
        Ok(answer_of(&value, question.width))
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
            Err(_) => questions.iter().map(|question| self.answer(tables, question)).collect(),
        }
    }

    /// Where the two disagree about what these choices make, with both answers.
    fn disagreement(&self, tables: &[u32], question: &[u32]) -> Option<String> {
        let tables = tables::tables(&mut Random::again(tables.to_vec()));
        let question = query::question(&mut Random::again(question.to_vec()));
        let connection = database(&tables.sql);
        let theirs = ask_sqlite(&connection, &question);
        let mine = self.answer(&tables.ql, &question);
        if matches!(&mine, Ok(mine) if are_alike(mine, &theirs, question.is_ordered)) {
            return None;
        }
        let (ql, sql) = (&question.ql, &question.sql);
        Some(format!("{}return {ql}\n-- {sql}\nmine: {mine:?}\nSQLite: {theirs:?}", tables.ql))
    }
}

fn database(tables: &str) -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    connection.execute_batch(tables).expect("tables");
    connection
}

/// Asks as many queries from one seed on; gives the disagreements, each as small as it can be made.
fn compare(seed: u64, queries: u64) -> Vec<String> {
    let bench = Bench::new();
    let mut found = Vec::new();
    for script in 0..queries.div_ceil(QUERIES_PER_SCRIPT) {
        let mut of_tables = Random::new(seed.wrapping_add(script));
        let tables = tables::tables(&mut of_tables);
        let connection = database(&tables.sql);
        let mut random = Random::new(seed.wrapping_add(script).rotate_left(32));
        let mut made = Vec::new();
        let mut questions = Vec::new();
        for _ in 0..QUERIES_PER_SCRIPT {
            random.choices.clear();
            questions.push(query::question(&mut random));
            made.push(random.choices.clone());
        }
        let answers = bench.answers(&tables.ql, &questions);
        for ((question, mine), choices) in questions.iter().zip(answers).zip(made) {
            let theirs = ask_sqlite(&connection, question);
            if matches!(&mine, Ok(mine) if are_alike(mine, &theirs, question.is_ordered)) {
                continue;
            }
            let fails =
                |tables: &[u32], question: &[u32]| bench.disagreement(tables, question).is_some();
            let (of_tables, choices) = shrink::shrink(of_tables.choices.clone(), choices, fails);
            found.push(bench.disagreement(&of_tables, &choices).unwrap_or_else(|| {
                format!("among others only: {}return {}", tables.ql, question.ql)
            }));
        }
        if found.len() >= SHOWN_MAX {
            break;
        }
    }
    found
}

#[expect(clippy::disallowed_methods, reason = "how long a test runs is no setting")]
fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|number| number.parse().ok())
}

/// Asks half of the queries.
fn assert_the_same_rows(part: u64) {
    let seed = number_of("DIFFERENTIAL_SEED").unwrap_or(1) + (part << 40);
    let queries = number_of("DIFFERENTIAL_QUERIES").unwrap_or(10_000).div_ceil(2);
    let found = compare(seed, queries);
    assert!(found.is_empty(), "{} disagreements\n\n{}", found.len(), found.join("\n\n"));
}

#[test]
fn sqlite_shows_the_same_rows() {
    assert_the_same_rows(0);
}

/// At the same time as the first half.
#[test]
fn sqlite_shows_the_same_rows_again() {
    assert_the_same_rows(1);
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
        let tables = tables::tables(&mut random);
        let test = query::row_test(&mut random);
        let mut script = format!(
            "{}whole = select * from t\nyes = select * from t where {test}\n\
             no = select * from t where not ({test})\n\
             both = select * from t where {test} union all select * from t where not ({test})\n\
             order = select value id from t order by c desc, b, id\n",
            tables.ql
        );
        let mut tiles = Vec::new();
        for tile in 0..5 {
            let offset = 2 * tile;
            script.push_str(&format!(
                "t{tile} = select value id from t order by c desc, b, id limit 2 offset {offset}\n"
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
