//! The engine against the naive interpreter: a random script gives the same value, whatever the
//! order in which its upstreams answer.

mod budgets;
mod expressions;
mod fixture;
mod joins;
mod listing;
mod operators;
mod tables;

use std::{sync::atomic::Ordering, time::Duration};

use fixture::{Fixture, Upstream, declarations};
use proptest::{
    collection::vec,
    prelude::any,
    test_runner::{Config, TestCaseError, TestRunner},
};
use qlio_data::{Value, codec::json};
use qlio_engine::{Caller, ClientRequest, Engine, EngineOptions, Limits};
use qlio_plan::{
    Catalog, CompileOptions, Origin,
    catalog::{CatalogBuilder, NoResources},
};
use qlio_testkit::reference::{self, Failure, random};
use tokio::runtime::{Builder, Runtime};

/// How often each script runs, every time with other delays; the first time without.
const RUNS: u64 = 4;
/// Longer than any script takes, so that a stall is a failure and not a hang.
const PATIENCE: Duration = Duration::from_secs(20);

struct Bench {
    runtime: Runtime,
    upstream: Upstream,
    engine: Engine,
    catalog: Catalog,
}

impl Bench {
    fn new() -> Self {
        Self::within(Limits { cpu_ms: u64::MAX, ..Limits::ROUTE })
    }

    /// With an engine whose runs may use no more than this.
    fn within(limits: Limits) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let upstream = runtime.block_on(Upstream::start());
        let mut options = EngineOptions::default();
        options.settings.nested_requests_max = 10_000;
        options.settings.limits = limits;
        let engine = Engine::new(options).expect("an engine");
        let mut builder = CatalogBuilder::new(Value::Absent, &NoResources);
        builder.add_table_file("tables.ql", &declarations(&upstream.address));
        let (catalog, problems) = builder.finish();
        assert!(problems.is_empty(), "{problems:?}");
        Self { runtime, upstream, engine, catalog }
    }

    /// The value of a script as JSON, or the message of its error.
    fn run(&self, text: &str, seed: u64) -> Result<String, String> {
        let options =
            CompileOptions { origin: Origin::Stored, file: "script", resources: &NoResources };
        let compiled = qlio_plan::compile(text, &self.catalog, &options)
            .map_err(|problems| format!("does not compile: {problems:?}"))?;
        self.upstream.seed.store(seed, Ordering::Relaxed);
        let request = ClientRequest::default();
        self.runtime.block_on(async {
            let run = self.engine.run(&compiled.plan, &self.catalog, &request, Caller::Operator);
            match tokio::time::timeout(PATIENCE, run).await {
                Ok(Ok(answer)) => Ok(text_of(&answer.value)),
                Ok(Err(error)) => Err(format!("{:?} {error}", error.origin)),
                Err(_) => Err("stalled".to_owned()),
            }
        })
    }
}

fn text_of(value: &Value) -> String {
    if value.is_absent() { "null".to_owned() } else { json::to_string(value) }
}

fn is_same(a: &str, b: &str) -> bool {
    match (json::parse_str(a), json::parse_str(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// What the script is worth by the book.
fn expected(text: &str) -> Result<String, Failure> {
    let parsed = qlio_syntax::parse(text);
    reference::run(&parsed.script, &Fixture).map(|value| text_of(&value))
}

/// Compares one script under several orders of answers.
fn compare(bench: &Bench, text: &str) -> Result<(), String> {
    let expected = expected(text);
    for seed in 0..RUNS {
        let actual = bench.run(text, seed);
        let agrees = match (&expected, &actual) {
            (Ok(expected), Ok(actual)) => is_same(expected, actual),
            (Err(Failure::Failed(_)), Err(message)) => {
                !message.starts_with("500")
                    && !message.starts_with("stalled")
                    && !message.starts_with("does not compile")
            }
            _ => false,
        };
        if !agrees {
            return Err(format!(
                "delays {seed}\nexpected {expected:?}\nactual   {actual:?}\n{text}"
            ));
        }
    }
    Ok(())
}

#[test]
fn a_random_script_gives_what_the_naive_interpreter_gives() {
    let bench = Bench::new();
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&vec(any::<u8>(), 0..400), |tape| {
        let text = random::script(&tape);
        compare(&bench, &text).map_err(TestCaseError::fail)
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn most_random_scripts_give_a_value_and_all_parts_of_the_language_occur() {
    let mut state = 1_u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let scripts: Vec<String> =
        (0..400).map(|_| random::script(&(0..250).map(|_| byte()).collect::<Vec<u8>>())).collect();
    let outcomes: Vec<_> = scripts.iter().map(|text| expected(text)).collect();
    let values = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let unsupported =
        outcomes.iter().filter(|outcome| matches!(outcome, Err(Failure::Unsupported(_)))).count();
    assert!(values >= 200, "only {values} of {} scripts give a value", scripts.len());
    assert_eq!(unsupported, 0);
    for part in [
        " as p, ",
        " in (select",
        "{^",
        " || ",
        "try {",
        "finally",
        "catch (",
        "else {",
        "insert into",
        "delete from",
        "from t1",
        "from t2",
        "limit ",
        "throw (",
    ] {
        let count = scripts.iter().filter(|text| text.contains(part)).count();
        assert!(count >= 20, "`{part}` occurs in {count} scripts only");
    }
}
