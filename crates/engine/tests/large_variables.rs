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
    catalog::{CatalogBuilder, NoResources, Resources, ScriptFile, Unreadable},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    runtime::Builder,
};

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

/// The text of every body template.
struct Templates(&'static str);

impl Resources for Templates {
    fn template(&self, _: &str, _: &str) -> Result<String, Unreadable> {
        Ok(self.0.to_owned())
    }

    fn module(&self, _: &str, name: &str) -> Result<ScriptFile, Unreadable> {
        Err(Unreadable::NoSuchFile(name.to_owned()))
    }

    fn schema(&self, _: &str, name: &str) -> Result<Vec<u8>, Unreadable> {
        Err(Unreadable::NoSuchFile(name.to_owned()))
    }
}

fn run(script: &str, rows: Value, heavy: Heavy) -> String {
    run_with(("", ""), script, rows, heavy)
}

/// The same beside a table and the template of its body; its upstream answers with what it was asked for.
fn run_with(
    (table, template): (&str, &'static str),
    script: &str,
    rows: Value,
    heavy: Heavy,
) -> String {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
    let upstream = listener.local_addr().expect("bound");
    runtime.spawn(async move {
        let mut request = [0; 4096];
        while let Ok((mut connection, _)) = listener.accept().await {
            let length = connection.read(&mut request).await.expect("a request");
            let head = String::from_utf8_lossy(&request[..length]);
            let asked = head.escape_default().to_string().replace('\\', "/");
            let body = format!(r#"{{"asked":"{asked}"}}"#);
            let (kind, length) = ("application/json", body.len());
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            connection.write_all(answer.as_bytes()).await.expect("sent");
        }
    });
    let config = json::parse_str(&format!(r#"{{"upstream":"{upstream}"}}"#)).expect("valid JSON");
    let templates = Templates(template);
    let mut builder = CatalogBuilder::new(config, &templates);
    builder.add_table_file("t.ql", table);
    let (catalog, _) = builder.finish();
    let options =
        CompileOptions { origin: Origin::Stored, file: "script", resources: &NoResources };
    let compiled = qlio_plan::compile(script, &catalog, &options).expect(script);
    let engine =
        Engine::new(EngineOptions { heavy, ..EngineOptions::default() }).expect("an engine");
    let variables = [("rows", rows)].into_iter().collect();
    let request = ClientRequest { variables, ..ClientRequest::default() };
    let answer = runtime.block_on(engine.run(&compiled.plan, &catalog, &request, Caller::Operator));
    json::to_string(&answer.expect(script).value).replace(&upstream.to_string(), "upstream")
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

#[test]
fn what_tokens_of_tables_read_of_a_large_variable_is_found_elsewhere() {
    let table = "create table t on select get from \
                 'http://{config.upstream}/{v.a.b}?x={v.rows.b}&y={v.none.b}&z={own}'
                 using headers 'x-fourth' = '{v.rows.3.b}'";
    let script = "v = \"{rows}\"; return select asked from t where own = \"{v.a.b}\"";
    let object = |count: usize| {
        let text = format!(r#"{{"a":{{"b":7}},"rows":{}}}"#, json::to_string(&rows(count)));
        json::parse_str(&text).expect("valid JSON")
    };
    for (value, jobs_expected) in [(object(FEW), 0), (object(MANY), 2)] {
        let elsewhere = Arc::new(Counting::default());
        let heavy = Heavy::on(Arc::clone(&elsewhere) as Arc<dyn HeavyThreads>);
        let asked = run_with((table, ""), script, value, heavy);
        assert!(asked.contains("GET /7?x=x0&y=&z=7 HTTP"), "{asked}");
        assert!(asked.contains("x-fourth: x3"), "{asked}");
        // The templates of the script and those of the table, and what is dropped.
        let jobs = elsewhere.0.load(Ordering::Relaxed);
        assert!(if jobs_expected == 0 { jobs == 0 } else { jobs >= jobs_expected }, "{jobs} jobs");
    }
}

#[test]
fn bodies_whose_templates_look_into_a_large_variable_are_rendered_elsewhere() {
    let object = |count: usize| {
        let text =
            format!(r#"{{"a":{{"b":7}},"few":[1,2],"rows":{}}}"#, json::to_string(&rows(count)));
        json::parse_str(&text).expect("valid JSON")
    };
    for (kind, template, body) in [
        (
            "text/plain",
            "{{params.v.a.b}} {{#params.v.few}}{{.}},{{/params.v.few}}{{params.v.rows.3.b}}{{params.v.none}}",
            "/r/n/r/n7 1,2,x3",
        ),
        ("application/x-www-form-urlencoded", "x={v.a.b}&y={v.rows.b}", "/r/n/r/nx=7&y=x0"),
        // What is only seen while it is rendered is rendered where the run is.
        ("text/plain", "{{#params}}{{v.a.b}}{{/params}} {{params.v.a.b}}", "/r/n/r/n7 7"),
    ] {
        let table = format!(
            "create table t on select post to 'http://{{config.upstream}}/' \
             using bodyTemplate 'b.mu' type '{kind}'"
        );
        let script = "v = \"{rows}\"; return select asked from t";
        for (value, is_large) in [(object(FEW), false), (object(MANY), true)] {
            let elsewhere = Arc::new(Counting::default());
            let heavy = Heavy::on(Arc::clone(&elsewhere) as Arc<dyn HeavyThreads>);
            let asked = run_with((&table, template), script, value.clone(), heavy);
            assert!(asked.contains(body), "{template}: {asked}");
            let here = run_with((&table, template), script, value, Heavy::default());
            assert!(here.contains(body), "{template}: {here}");
            let jobs = elsewhere.0.load(Ordering::Relaxed);
            assert_eq!(jobs > 0, is_large, "{jobs} jobs: {template}");
        }
    }
}

#[test]
fn conditions_look_into_large_rows_elsewhere() {
    for script in [
        "return select a from rows where rows.b = 'x9'",
        "return select * from rows where rows.b = 'x9'",
        "return select * from rows where rows.b = 'none'",
        "v = [\"{rows}\", \"{rows}\"]; return select a from v where rows.c.d = 3",
    ] {
        for (count, is_large) in [(FEW, false), (MANY, true)] {
            let text = format!(r#"{{"a":1,"rows":{}}}"#, json::to_string(&rows(count)));
            let value = json::parse_str(&text).expect("valid JSON");
            let elsewhere = Arc::new(Counting::default());
            let heavy = Heavy::on(Arc::clone(&elsewhere) as Arc<dyn HeavyThreads>);
            let apart = run(script, value.clone(), heavy);
            assert_eq!(apart, run(script, value, Heavy::default()), "{script}");
            let jobs = elsewhere.0.load(Ordering::Relaxed);
            assert_eq!(jobs > 0, is_large, "{jobs} jobs: {script}");
        }
    }
}
