//! Joins and sub-selects against each other: what must be the same however it is said.

use std::fmt::Write as _;

use proptest::{collection::vec, prelude::*, sample::select};
use qlio_data::{Value, codec::json};
use qlio_engine::{Caller, ClientRequest, Engine, EngineOptions};
use qlio_plan::{Catalog, CompileOptions, Origin, catalog::NoResources};

/// Keys of rows: few, so that they meet, and of all kinds that keys may be.
const KEYS: [&str; 9] = ["1", "\"1\"", "2", "\"x\"", "null", "[1, 2]", "[]", "[null, 2]", "true"];

/// Orders of three sources.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Rows with a number, and perhaps two keys.
fn rows() -> impl Strategy<Value = String> {
    let key = || proptest::option::weighted(0.9, select(&KEYS[..]));
    vec((key(), key()), 0..7).prop_map(|rows| {
        let member = |name: &str, key: Option<&str>| {
            key.map(|key| format!(", \"{name}\": {key}")).unwrap_or_default()
        };
        let rows = rows.into_iter().enumerate();
        let rows: Vec<String> = rows
            .map(|(number, (k, m))| {
                format!("{{\"n\": {number}{}{}}}", member("k", k), member("m", m))
            })
            .collect();
        format!("[{}]", rows.join(", "))
    })
}

/// The rows that each select gives, as texts.
fn run(tables: &[String; 3], selects: &[String]) -> Result<Vec<Vec<String>>, TestCaseError> {
    let mut script = String::new();
    // Writing to a text never fails.
    for (name, rows) in ["a", "b", "c"].iter().zip(tables) {
        let _ = writeln!(script, "{name} = {rows}");
    }
    let mut results = Vec::new();
    for (number, select) in selects.iter().enumerate() {
        let _ = writeln!(script, "r{number} = {select}");
        results.push(format!("\"{{r{number}}}\""));
    }
    let _ = write!(script, "return [{}]", results.join(", "));
    let engine = Engine::new(EngineOptions::default()).expect("an engine");
    let options =
        CompileOptions { origin: Origin::Stored, file: "script", resources: &NoResources };
    let catalog = Catalog::default();
    let compiled = qlio_plan::compile(&script, &catalog, &options)
        .map_err(|problems| TestCaseError::fail(format!("{problems:?}\n{script}")))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let request = ClientRequest::default();
    let answer = runtime
        .expect("a runtime")
        .block_on(engine.run(&compiled.plan, &catalog, &request, Caller::Operator))
        .map_err(|error| TestCaseError::fail(format!("{error}\n{script}")))?;
    let lists = answer.value.elements().expect("a list").into_owned();
    let texts = |list: &Value| list.elements().expect("rows").iter().map(json::to_string).collect();
    Ok(lists.iter().map(texts).collect())
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_sources_gives_the_same_rows(a in rows(), b in rows(), c in rows(), is_test: bool) {
        let equals = if is_test { "==" } else { "=" };
        let selects: Vec<String> = ORDERS
            .iter()
            .map(|order| {
                let sources: Vec<_> = order.iter().map(|at| ["a as x", "b as y", "c as z"][*at]).collect();
                format!(
                    "select value [x.n, y.n, z.n] from {} where x.k {equals} y.k and y.m {equals} z.m",
                    sources.join(", ")
                )
            })
            .collect();
        let results = run(&[a, b, c], &selects)?;
        let first = sorted(results[0].clone());
        for result in results {
            prop_assert_eq!(&sorted(result), &first);
        }
    }

    #[test]
    fn a_left_join_is_the_join_and_the_rows_without_a_partner(a in rows(), b in rows()) {
        let selects = [
            "select value [x.n, y.n] from a as x left join b as y on y.k = x.k",
            "select value [x.n, y.n] from a as x join b as y on y.k = x.k",
            "select value [x.n, null] from a as x where not exists (select y.n from b as y where y.k = x.k)",
        ].map(str::to_owned);
        let results = run(&[a, b, "[]".to_owned()], &selects)?;
        let mut both = results[1].clone();
        both.extend(results[2].iter().cloned());
        prop_assert_eq!(sorted(results[0].clone()), sorted(both));
    }

    #[test]
    fn a_list_for_each_row_holds_the_rows_of_the_join(a in rows(), b in rows(), c in rows()) {
        let selects = [
            "select value [x.n, y.n, z.n] from a as x join b as y on y.k = x.k join c as z on z.m = y.m",
            "select value [select value [x.n, y.n, z.n] from b as y join c as z on z.m = y.m where y.k = x.k] from a as x",
            "select value [select value [select value [x.n, y.n, z.n] from c as z where z.m = y.m] from b as y where y.k = x.k] from a as x",
        ].map(str::to_owned);
        let results = run(&[a, b, c], &selects)?;
        let opened = |rows: &[String], depth: usize| {
            let mut values: Vec<Value> =
                rows.iter().map(|row| json::parse_str(row).expect("JSON")).collect();
            for _ in 0..depth {
                values = values
                    .iter()
                    .flat_map(|value| value.elements().expect("a list").into_owned())
                    .collect();
            }
            values.iter().map(json::to_string).collect::<Vec<_>>()
        };
        prop_assert_eq!(&opened(&results[1], 1), &results[0]);
        prop_assert_eq!(&opened(&results[2], 2), &results[0]);
    }
}
