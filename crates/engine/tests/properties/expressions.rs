//! Any expression over values of any kind gives a value, or one error that says which operand of which row it is
//! about; and what would need more than a run may use is refused before it is made.

use proptest::{
    prelude::Strategy,
    prop_assert,
    sample::select,
    test_runner::{Config, TestCaseError, TestRunner},
};
use qlio_data::{Value, codec::json, compute::function};
use qlio_engine::{Caller, ClientRequest, Engine, EngineOptions, Limits};
use qlio_plan::{Catalog, CompileOptions, Origin, catalog::NoResources};

/// Values of all kinds, hostile ones among them; each is a column of the one row, called `c0` and so on.
const CELLS: [&str; 26] = [
    "null",
    "true",
    "false",
    "0",
    "-1",
    "2.50",
    "1e999999999",
    "-1e-999999999",
    "123456789012345678901234567890123456789012345678901234567890",
    "9223372036854775808",
    "\"\"",
    "\"12\"",
    "\" 1e999999999 \"",
    "\"n/a\"",
    "\"a\\u0000é😀\"",
    "\"2026-02-29T25:61:61Z\"",
    "\"2026-11-25T15:04:05+23:59\"",
    "\"(a*)*b[\"",
    "\"%\\\\_%\"",
    "\"P9999999999Y\"",
    "\"Europe/Atlantis\"",
    "[]",
    "[1, null, \"x\", [2], {\"a\": 3}]",
    "{}",
    "{\"a\": [{\"b\": null}], \"key\": 1, \"value\": 2}",
    "\"yyyy%Q%\"",
];

const BINARY: [&str; 19] = [
    "+", "-", "*", "/", "%", "&", "==", "!=", "<", "<=", ">", ">=", "like", "ilike", "matches",
    "and", "or", "in", "=",
];

const KINDS: [&str; 7] = ["null", "missing", "text", "number", "boolean", "list", "object"];

/// An expression in parentheses.
fn expression() -> impl Strategy<Value = String> {
    let functions: Vec<_> = function::all().collect();
    let leaf = (0..CELLS.len() + 1).prop_map(|column| format!("c{column}"));
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let args = proptest::collection::vec(inner.clone(), 0..5);
        let call = (select(functions.clone()), args).prop_map(|(function, args)| {
            let counts = function.arguments();
            let count = args.len().clamp(*counts.start(), *counts.end());
            let args = args.iter().map(String::as_str).chain(std::iter::repeat("c0"));
            format!("{}({})", function.name, args.take(count).collect::<Vec<_>>().join(", "))
        });
        let binary = (inner.clone(), select(&BINARY[..]), inner.clone())
            .prop_map(|(left, operator, right)| format!("({left} {operator} {right})"));
        let is = (inner.clone(), select(&KINDS[..])).prop_map(|(value, kind)| format!("({value} is not {kind})"));
        let between = (inner.clone(), inner.clone(), inner.clone())
            .prop_map(|(value, low, high)| format!("({value} between {low} and {high})"));
        let choice = (inner.clone(), inner.clone(), inner.clone())
            .prop_map(|(test, then, other)| format!("case when {test} then {then} else {other} end"));
        let made = (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{a: {a}, l: [{b}, {a}]}}"));
        let negative = inner.clone().prop_map(|value| format!("(-{value})"));
        proptest::prop_oneof![3 => call, 3 => binary, 1 => is, 1 => between, 1 => choice, 1 => made, 1 => negative]
    })
}

struct Bench {
    engine: Engine,
    catalog: Catalog,
}

impl Bench {
    fn within(limits: Limits) -> Self {
        let mut options = EngineOptions::default();
        options.settings.limits = limits;
        options.settings.join_rows_max = 10_000_000;
        Self { engine: Engine::new(options).expect("an engine"), catalog: Catalog::default() }
    }

    /// The value of a script, or the code and the text of its error; `None` if it does not compile.
    fn run(&self, text: &str) -> Option<Result<Value, (u16, String)>> {
        let options =
            CompileOptions { origin: Origin::Stored, file: "script", resources: &NoResources };
        let compiled = qlio_plan::compile(text, &self.catalog, &options).ok()?;
        let request = ClientRequest::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let run = self.engine.run(&compiled.plan, &self.catalog, &request, Caller::Operator);
        let answer = runtime.expect("a runtime").block_on(run);
        Some(
            answer
                .map(|answer| answer.value)
                .map_err(|error| (error.code.number, error.to_string())),
        )
    }
}

fn row() -> String {
    let members: Vec<_> =
        CELLS.iter().enumerate().map(|(number, cell)| format!("\"c{number}\": {cell}")).collect();
    format!("{{{}}}", members.join(", "))
}

#[test]
fn an_expression_gives_a_value_or_one_error_with_its_place() {
    let bench = Bench::within(Limits { cpu_ms: u64::MAX, ..Limits::ROUTE });
    let row = row();
    let config = Config { cases: 1500, failure_persistence: None, ..Config::default() };
    let seen = std::cell::Cell::new((0, 0));
    let place = select(vec![
        "select value E from t",
        "select c0 as x from t where E",
        "select c0 from t order by E",
        "select count(*) as n from t group by E",
    ]);
    let outcome = TestRunner::new(config).run(&(expression(), place), |(expression, place)| {
        let script = format!("t = [{row}, {row}]\nreturn {}", place.replace('E', &expression));
        // What is wrong in any row is found when it is compiled.
        let Some(outcome) = bench.run(&script) else { return Ok(()) };
        let (values, errors) = seen.get();
        match outcome {
            Ok(value) => {
                seen.set((values + 1, errors));
                prop_assert!(json::parse_str(&json::to_string(&value)).is_ok());
            }
            Err((4101, message)) => {
                seen.set((values, errors + 1));
                let is_placed = message.contains('`') && message.contains(" of t");
                prop_assert!(is_placed && message.len() < 2000, "{message}\n{expression}");
            }
            Err((number, message)) => {
                return Err(TestCaseError::fail(format!("Q{number} {message}\n{expression}")));
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (values, errors) = seen.get();
    assert!(values > 150 && errors > 150, "{values} values, {errors} errors");
}

/// Each needs far more rows, pairs or bytes than the run may use; none of them is made.
#[test]
fn what_would_need_too_much_is_refused_before_it_is_made() {
    let bench = Bench::within(Limits { memory_mib: 16, ..Limits::ROUTE });
    let list: Vec<String> = (0..3000).map(|number| number.to_string()).collect();
    let rows: Vec<String> = (0..3000)
        .map(|number| format!("{{\"n\": {number}, \"l\": [{}]}}", list[..50].join(",")))
        .collect();
    let tables = format!("t = [{}]\n", rows.join(","));
    for select in [
        "select value [a.n, b.n] from t as a, t as b",
        "select value [a.n, b.n, c.n] from t as a, t as b, t as c",
        "select value [a.n, b.n] from t as a join t as b on a.n >= 0",
        "select value x from t as a, a.l as x, t as b, b.l as y",
        "select {a.n, all: [select value b.l from t as b where b.n >= a.n or true]} from t as a",
        "select value range(1, 1000000) from t as a",
        "select value repeat('x', 100000) from t as a",
        "select array_agg(range(1, 100000)) as l from t as a",
        "select distinct value [a.n, b.n] from t as a join t as b on true order by a.n limit 1",
    ] {
        let outcome = bench.run(&format!("{tables}return {select}"));
        let outcome = outcome.unwrap_or_else(|| panic!("does not compile: {select}"));
        let (number, message) = outcome.expect_err(select);
        assert!(
            message.contains("limits.") || message.contains("maxJoinRows"),
            "Q{number} {message}\n{select}"
        );
    }
}
