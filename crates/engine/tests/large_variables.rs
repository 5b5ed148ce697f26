//! A statement that looks into a large variable asks the heavy threads, and gives the same as without them
//! (`docs/adr/0027-heavy-threads.md`).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use qlio_data::{Value, codec::json};
use qlio_engine::{
    Caller, ClientRequest, Engine, EngineOptions,
    heavy::{Busy, Heavy, HeavyThreads, Job},
};
use qlio_plan::{
    CompileOptions, Origin,
    catalog::{CatalogBuilder, NoResources},
};
use tokio::runtime::Builder;

/// Rows whose text every way of reading is too large for.
const MANY: usize = 20_000;
const FEW: usize = 20;

/// Does each job at once, and counts them.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl HeavyThreads for Counting {
    fn take(&self, job: Job) -> Result<(), Busy> {
        self.0.fetch_add(1, Ordering::Relaxed);
        job.run();
        Ok(())
    }

    fn take_at(&self, _: usize, job: Job) -> Result<(), Busy> {
        self.take(job)
    }
}

/// A variable that nothing has looked into.
fn rows(count: usize) -> Value {
    let row = |number: usize| format!(r#"{{"a":{number},"b":"x{number}","c":{{"d":[{number}]}}}}"#);
    let text = format!("[{}]", (0..count).map(row).collect::<Vec<_>>().join(","));
    let value = json::parse_str(&text).expect("valid JSON");
    assert!(matches!(value, Value::Raw(_)));
    value
}

fn run(script: &str, rows: Value, heavy: Heavy) -> String {
    let (catalog, _) = CatalogBuilder::new(Value::Absent, &NoResources).finish();
    let options =
        CompileOptions { origin: Origin::Stored, file: "script", resources: &NoResources };
    let compiled = qlio_plan::compile(script, &catalog, &options).expect(script);
    let engine =
        Engine::new(EngineOptions { heavy, ..EngineOptions::default() }).expect("an engine");
    let variables = [("rows", rows)].into_iter().collect();
    let request = ClientRequest { variables, ..ClientRequest::default() };
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let answer = runtime.block_on(engine.run(&compiled.plan, &catalog, &request, Caller::Operator));
    json::to_string(&answer.expect(script).value)
}

#[test]
fn what_is_large_is_opened_elsewhere_and_what_is_small_is_not() {
    for script in [
        "return select b from rows where a = '7'",
        "return select * from rows where a = '7'",
        "return select a, b from rows limit 3",
        "return select * from rows limit 2 offset 4",
        "return select c.d[0] from rows limit 3",
        "return delete from rows where a = '7'",
    ] {
        for (count, is_large) in [(FEW, false), (MANY, true)] {
            let elsewhere = Arc::new(Counting::default());
            let heavy = Heavy::on(Arc::clone(&elsewhere) as Arc<dyn HeavyThreads>);
            let apart = run(script, rows(count), heavy);
            assert_eq!(apart, run(script, rows(count), Heavy::default()), "{script}");
            let jobs = elsewhere.0.load(Ordering::Relaxed);
            assert_eq!(jobs > 0, is_large, "{jobs} jobs: {script}");
        }
    }
}

#[test]
fn what_templates_read_of_a_large_variable_is_found_elsewhere() {
    let list = rows(MANY);
    let object = |count: usize| {
        let text = format!(r#"{{"a":{{"b":7}},"rows":{}}}"#, json::to_string(&rows(count)));
        json::parse_str(&text).expect("valid JSON")
    };
    for (script, few, many) in [
        (
            "v = \"{rows}\"; return {\"x\": \"{v.a.b}\", \"y\": \"{v.rows[3].b}\"}",
            object(FEW),
            object(MANY),
        ),
        ("v = \"{rows}\"; w = \"{v.rows}\"; return \"{w[2].c}\"", object(FEW), object(MANY)),
        ("v = select a, b from rows; return \"{v[1]}\"", rows(FEW), list.clone()),
        ("v = select c from rows; return {\"x\": \"{v.d}\"}", rows(FEW), list),
    ] {
        for (value, is_large) in [(few, false), (many, true)] {
            let elsewhere = Arc::new(Counting::default());
            let heavy = Heavy::on(Arc::clone(&elsewhere) as Arc<dyn HeavyThreads>);
            let apart = run(script, value.clone(), heavy);
            assert_eq!(apart, run(script, value, Heavy::default()), "{script}");
            assert!(apart.len() > 5, "{script}: {apart}");
            let jobs = elsewhere.0.load(Ordering::Relaxed);
            assert_eq!(jobs > 0, is_large, "{jobs} jobs: {script}");
        }
    }
}
