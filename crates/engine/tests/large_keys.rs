//! Keys that are very long lists, or other large values, hold no worker: what joins, groups, sorts or tests them
//! lets others go first, and ends when its budget does (SAF-26).

use std::{pin::pin, sync::Arc, thread};

use qlio_data::{Value, codec::json};
use qlio_engine::{
    Caller, ClientRequest, Engine, EngineOptions, RunError,
    heavy::{Busy, Heavy, HeavyThreads, Job},
};
use qlio_plan::{
    Catalog, CompileOptions, Origin,
    catalog::{CatalogBuilder, NoResources},
};
use qlio_syntax::diagnostic::codes;
use tokio::runtime::{Builder, Runtime};

/// Elements of a long list.
const MANY: usize = 100_000;

/// Rows with a number each.
const SHORT_ROWS: usize = 3_000;

/// Turns that work takes at least which would else hold its thread for many milliseconds.
const TURNS_MIN: usize = 4;

/// A thread for each job.
#[derive(Debug)]
struct Elsewhere;

impl HeavyThreads for Elsewhere {
    #[expect(clippy::disallowed_methods, reason = "the heavy threads of this test")]
    fn take(&self, job: Job) -> Result<(), Busy> {
        thread::spawn(|| job.run());
        Ok(())
    }

    fn take_at(&self, _: usize, job: Job) -> Result<(), Busy> {
        self.take(job)
    }
}

struct Bench {
    runtime: Runtime,
    engine: Engine,
    catalog: Catalog,
}

impl Bench {
    /// One whose scripts of clients have so many milliseconds of the processor.
    fn new(cpu_ms: u64) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let heavy = Heavy::on(Arc::new(Elsewhere));
        let mut options = EngineOptions { heavy, ..EngineOptions::default() };
        options.settings.adhoc_limits.cpu_ms = cpu_ms;
        options.settings.adhoc_limits.memory_mib = 4_000;
        let engine = Engine::new(options).expect("an engine");
        let (catalog, _) = CatalogBuilder::new(Value::Absent, &NoResources).finish();
        Self { runtime, engine, catalog }
    }

    /// What a script gives, and how often it had its turn.
    fn run(&self, script: &str) -> (Result<String, RunError>, usize) {
        let options =
            CompileOptions { origin: Origin::AdHoc, file: "script", resources: &NoResources };
        let compiled = qlio_plan::compile(script, &self.catalog, &options).expect(script);
        let variables = [("long", long()), ("short", short())].into_iter().collect();
        let request = ClientRequest { variables, ..ClientRequest::default() };
        let caller = Caller::AdHoc { may_call_private: false };
        let run = self.engine.run(&compiled.plan, &self.catalog, &request, caller);
        let mut turns = 0;
        let outcome = self.runtime.block_on(async {
            let mut run = pin!(run);
            std::future::poll_fn(|context| {
                turns += 1;
                run.as_mut().poll(context)
            })
            .await
        });
        (outcome.map(|answer| json::to_string(&answer.value)), turns)
    }
}

/// Two rows with a long list each, which have half of their numbers in common.
fn long() -> Value {
    let list = |from: usize| {
        (from..from + MANY).map(|number| number.to_string()).collect::<Vec<_>>().join(",")
    };
    json::parse_str(&format!(r#"[{{"k":[{}]}},{{"k":[{}]}}]"#, list(0), list(MANY / 2)))
        .expect("valid JSON")
}

fn short() -> Value {
    let rows = (0..SHORT_ROWS).map(|number| format!(r#"{{"k":{number}}}"#)).collect::<Vec<_>>();
    json::parse_str(&format!("[{}]", rows.join(","))).expect("valid JSON")
}

/// Joins, and what they give.
const JOINS: &[(&str, &str)] = &[
    ("return select value count(*) from short as s join long as l on l.k = s.k", "[3000]"),
    ("return select value count(*) from long as l join short as s on s.k = l.k", "[3000]"),
    ("return select value count(*) from long as a join long as b on a.k = b.k", "[4]"),
    ("return select value count(*) from long as a left join long as b on a.k = b.k", "[4]"),
];

/// What else looks at keys.
const OTHERS: &[&str] = &[
    "return select s.k as k from long as l, short as s where l.k = s.k",
    "return select value count(*) from long as a, long as b where a.k == b.k",
    "return select value [select value s.k from short as s where s.k = l.k limit 1] from long as l",
    "return select value exists (select s.k from short as s where s.k == l.k) from long as l",
    "return select value count(*) from long group by k",
    "return select value element_at(k, 1) from long order by k desc",
    "return select distinct k from long",
    "return select value element_at(max(k), 1) from long",
    "return select value count(distinct k) from long",
    "return select value k from long union select value k from long",
    "return select value count(*) from long where k == 7",
    "return select value count(*) from long as a where a.k in (7, 100)",
];

#[test]
fn joins_by_long_lists_give_what_they_should_and_let_others_go_first() {
    let bench = Bench::new(600_000);
    for (script, expected) in JOINS {
        let (outcome, turns) = bench.run(script);
        assert_eq!(outcome.expect(script), *expected, "{script}");
        assert!(turns >= TURNS_MIN, "{turns} turns: {script}");
    }
}

#[test]
fn what_looks_at_long_lists_ends_with_its_budget() {
    let bench = Bench::new(5);
    for script in JOINS.iter().map(|(script, _)| script).chain(OTHERS) {
        let (outcome, _) = bench.run(script);
        let error = outcome.expect_err(script);
        assert_eq!(error.code, codes::RUN_LIMIT, "{script}: {error}");
    }
}
