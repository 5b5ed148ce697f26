//! Any script that compiles runs to a value or an error, and under limits to the same value or to the
//! error of a limit (SAF-25, SAF-26).
//!
//! Upstreams are out of reach: the settings deny all hosts, so a table fails like one that is down. The
//! variables that the client gives are data to select from.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use qlio_data::{Value, codec::json};
use qlio_engine::{Caller, ClientRequest, Engine, EngineOptions, Limits, RunError};
use qlio_plan::{
    Catalog, CompileOptions, Origin, Plan,
    catalog::{CatalogBuilder, NoResources},
    compile,
};
use qlio_syntax::diagnostic::codes;
use tokio::runtime::{Builder, Runtime};

const ROWS: &str = r#"[{"a":1,"b":"x","l":[1,"x"],"k":1},{"a":"1","b":2,"k":[1,2]},{"a":null,"k":"y"},
 {"b":"x","l":[],"k":{"n":[{"m":1},{"m":2}]}},{"a":1.50,"b":"\u0041","k":1},{"a":[[1],2],"b":true}]"#;

const TABLES: &str = "create table books on select get from 'http://api.test/find?q={q}&n={5|n}'";

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let mut builder = CatalogBuilder::new(Value::Absent, &NoResources);
    builder.add_table_file("tables.ql", TABLES);
    builder.finish().0
});

/// An engine, the runtime that it works on, and who its runs are for.
struct Bench {
    runtime: Runtime,
    engine: Engine,
}

impl Bench {
    fn new(limits: Limits) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let mut options = EngineOptions::default();
        options.settings.adhoc_limits = limits;
        options.transport.egress.deny = vec!["*".to_owned()];
        let engine = Engine::new(options).expect("an engine");
        Self { runtime, engine }
    }

    fn run(&self, plan: &Plan) -> Result<String, RunError> {
        let data = json::parse_str(ROWS).expect("valid JSON");
        let variables = [("rows", data.clone()), ("more", data.into_tree())].into_iter().collect();
        let request = ClientRequest { variables, ..ClientRequest::default() };
        let caller = Caller::AdHoc { may_call_private: false };
        let run = self.engine.run(plan, &CATALOG, &request, caller);
        self.runtime.block_on(run).map(|answer| json::to_string(&answer.value))
    }
}

thread_local! {
    static FREE: Bench = Bench::new(Limits { cpu_ms: 2_000, ..Limits::ADHOC });
    static BOUNDED: [Bench; 3] = [
        Limits { memory_mib: 1, ..Limits::ADHOC },
        Limits { rows: 5, pairs: 3, ..Limits::ADHOC },
        Limits { rows: 40, pairs: 30, requests: 1, ..Limits::ADHOC },
    ]
    .map(Bench::new);
}

fuzz_target!(|text: &str| {
    let options =
        CompileOptions { origin: Origin::AdHoc, file: "fuzz.ql", resources: &NoResources };
    let Ok(compiled) = compile(text, &CATALOG, &options) else { return };
    let free = FREE.with(|bench| bench.run(&compiled.plan));
    if free.as_ref().is_err_and(is_refused) {
        return;
    }
    BOUNDED.with(|benches| {
        for bench in benches {
            let bounded = bench.run(&compiled.plan);
            if differs_by_itself(text) {
                continue;
            }
            match (&free, bounded) {
                (_, Err(error)) if is_refused(&error) => {}
                (Ok(expected), Ok(actual)) => assert_eq!(*expected, actual),
                (Err(expected), Err(actual)) => assert_eq!(expected.code, actual.code),
                (expected, actual) => panic!("{expected:?} became {actual:?}"),
            }
        }
    });
});

/// Whether two runs may give different values without any limits: a script that asks for the time or for a UUID.
fn differs_by_itself(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["now", "today", "uuid"].iter().any(|name| text.contains(name))
}

fn is_refused(error: &RunError) -> bool {
    error.code == codes::RUN_LIMIT
}
