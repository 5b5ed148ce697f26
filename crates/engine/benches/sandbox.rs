//! What one crossing into JavaScript costs: functions on numbers and rows, a hook, a template.
//!
//! The interpreter is warm: modules and templates are loaded before the first sample. Run with
//! `cargo bench -p qlio-engine --bench sandbox`; compare numbers of one run only.

use std::sync::Arc;

use divan::{Bencher, counter::ItemsCount};
use qlio_data::{Object, Value, codec::json};
use qlio_engine::sandbox::{
    EjsTemplate, FunctionModule, HookArgs, HookSession, Lazy, Patch, Realm, RowArgument, RowCall,
    Rows, Sandbox, SandboxLimits,
};
use qlio_plan::catalog::{ModuleFolders, SourceFolder};

const FUNCTIONS: &str = "
    exports.add = function (a, b) { return a + b; };
    exports.price = function (row) { return row.price * (1 + row.tax); };
    exports.keep = function (price) { return this.next(null, price > 10 ? this.row : null); };
    exports.column = function (price) { return price * 2; };
";
const PATCH: &str = "
    exports['patch uri'] = function (args) {
        args.uri.setParam('page', args.statement.offset / args.statement.limit);
        args.uri.removeEmptyParams();
        return args.uri;
    };
";
const STATUS_PATCH: &str = "
    exports['patch status'] = function (args) { return args.body.ok ? 200 : 400; };
";
const HEADERS: &str = r#"{
    "content-type": "application/json; charset=utf-8", "content-length": "48", "server": "nginx",
    "date": "Sat, 21 Nov 2026 20:00:00 GMT", "cache-control": "max-age=60", "etag": "\"x1\"",
    "vary": ["accept", "accept-encoding"], "x-request-id": "r9"
}"#;
const TEMPLATE: &str = "
    <% function tag(name, value) { if (value != null) { %><<%= name %>><%= value %></<%= name %>><% } } %>
    <find><% for (var name in params.fields) { tag(name, params.fields[name]) } %>
    <% params.ids.forEach(function (id) { %><id><%= id %></id><% }) %></find>
";
/// Rows of one call of a row function.
const ROWS: usize = 1000;

fn main() {
    divan::main();
}

fn value(text: &str) -> Value {
    json::parse_str(text).expect("the text is written here").into_tree()
}

fn object(text: &str) -> Object {
    match value(text) {
        Value::Object(object) => (*object).clone(),
        _ => Object::new(),
    }
}

/// A sandbox and its scripts.
struct Scripts {
    sandbox: Sandbox,
    folder: Arc<SourceFolder>,
}

impl Scripts {
    fn new() -> Self {
        let texts = [("/f.js", FUNCTIONS), ("/p.js", PATCH), ("/s.js", STATUS_PATCH)];
        let files = texts.map(|(path, text)| (path.to_owned(), Ok(text.as_bytes().into())));
        let folder = SourceFolder::new("/app".into(), "app".to_owned(), files.into());
        Self { sandbox: Sandbox::new(SandboxLimits::default()), folder: Arc::new(folder) }
    }

    fn functions(&self) -> FunctionModule {
        let folders = ModuleFolders::new(vec![Arc::clone(&self.folder)]);
        FunctionModule::load(&self.sandbox, "f.js", &folders).expect("the functions")
    }

    fn call(&self, bencher: Bencher<'_, '_>, function: &str, arguments: &[Value]) {
        let module = self.functions();
        bencher
            .bench_local(|| module.call(&self.sandbox, function, function, arguments, None, 1_000));
    }

    fn call_rows(&self, bencher: Bencher<'_, '_>, function: &str, is_column: bool) {
        let module = self.functions();
        let rows: Vec<Value> = (0..ROWS).map(|_| value(r#"["Harbour lamp", 12.5]"#)).collect();
        let prices: Vec<Value> = (0..ROWS).map(|_| value("12.5")).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        bencher.counter(ItemsCount::new(ROWS)).bench_local(|| {
            let call = RowCall {
                function: function.into(),
                display_name: function.into(),
                rows: Rows::Each(rows.clone()),
                arguments: vec![RowArgument::Column(prices.clone())],
                scope: None,
                deadline_ms: 1_000,
                is_column,
            };
            runtime.block_on(module.call_rows(&self.sandbox, &call))
        });
    }
}

/// Parameters as a request from a browser leaves them.
const PARAMS: &str = r#"{
    "keyword": "lamp", "page": 2, "limit": 10, "offset": 30, "remoteAddress": "127.0.0.1",
    "user-agent": "Mozilla/5.0", "accept-language": "nb", "cookie": "a=1; b=2", "cache-control": "no-cache",
    "ids": [1, 2, 3, 4, 5], "fields": {"title": "a & b", "price": 12.5, "none": null},
    "config": {"api": {"key": "k-1", "gateway": "http://api.test/ws"}}
}"#;
const STATEMENT: &str = r#"{
    "type": "select", "table": "shop.find", "line": 1, "method": "get", "limit": 10, "offset": 30,
    "uri": "http://api.test/find?q={keyword}", "headers": {"x-call": "find"}, "defaults": {"page": 1},
    "params": ["keyword"], "columns": [], "exec": {"limit": 10, "offset": 30}
}"#;

#[divan::bench]
fn function_on_numbers(bencher: Bencher<'_, '_>) {
    Scripts::new().call(bencher, "add", &[Value::int(2), Value::int(3)]);
}

#[divan::bench]
fn function_on_a_row(bencher: Bencher<'_, '_>) {
    let row = value(
        r#"{"id": 7, "title": "Harbour lamp", "price": 12.5, "tax": 0.25, "tags": ["a", "b"]}"#,
    );
    Scripts::new().call(bencher, "price", &[row]);
}

/// The first call into an app that was just loaded, as each worker has it after a reload.
#[divan::bench]
fn function_of_a_new_realm(bencher: Bencher<'_, '_>) {
    let scripts = Scripts::new();
    let arguments = [Value::int(2), Value::int(3)];
    bencher.bench_local(|| {
        let module = scripts.functions();
        module.call(&scripts.sandbox, "add", "add", &arguments, None, 1_000)
    });
}

#[divan::bench]
fn row_filter_of_1000_rows(bencher: Bencher<'_, '_>) {
    Scripts::new().call_rows(bencher, "keep", false);
}

#[divan::bench]
fn column_of_1000_rows(bencher: Bencher<'_, '_>) {
    Scripts::new().call_rows(bencher, "column", true);
}

/// A hook of a statement whose session is open, and what it has written: as the connector does it.
#[divan::bench]
fn patch_uri(bencher: Bencher<'_, '_>) {
    let scripts = Scripts::new();
    let realm = Realm::new(&scripts.folder);
    let patch =
        Patch::load(&scripts.sandbox, &realm, std::path::Path::new("p.js")).expect("the patch");
    let session = HookSession::new(&scripts.sandbox, &realm, object(PARAMS), object(STATEMENT));
    let args = || HookArgs::PatchUri { uri: "http://api.test/find?q=lamp&page=&sort=" };
    bencher.bench_local(|| {
        let result = session.call(&patch, args());
        (result, session.overlay().len())
    });
}

/// The same, with the bag and the statement record of a new statement.
#[divan::bench]
fn patch_uri_of_a_new_statement(bencher: Bencher<'_, '_>) {
    let scripts = Scripts::new();
    let realm = Realm::new(&scripts.folder);
    let patch =
        Patch::load(&scripts.sandbox, &realm, std::path::Path::new("p.js")).expect("the patch");
    let (params, statement) = (object(PARAMS), object(STATEMENT));
    bencher.bench_local(|| {
        let session = HookSession::new(&scripts.sandbox, &realm, params.clone(), statement.clone());
        let uri = "http://api.test/find?q=lamp&page=&sort=";
        let result = session.call(&patch, HookArgs::PatchUri { uri });
        (result, session.overlay().len())
    });
}

/// A hook after the answer that looks at the decoded body only, like most of them.
#[divan::bench]
fn patch_status(bencher: Bencher<'_, '_>) {
    let scripts = Scripts::new();
    let realm = Realm::new(&scripts.folder);
    let patch =
        Patch::load(&scripts.sandbox, &realm, std::path::Path::new("s.js")).expect("the patch");
    let session = HookSession::new(&scripts.sandbox, &realm, object(PARAMS), object(STATEMENT));
    let headers = Lazy::from(value(HEADERS));
    let body = Lazy::from(value(r#"{"ok": true, "items": [{"id": 1}, {"id": 2}]}"#));
    bencher.bench_local(|| {
        let uri = "http://api.test/find?q=lamp&page=2&sort=price";
        let args = HookArgs::PatchStatus { uri, status: 200, headers: &headers, body: &body };
        let result = session.call(&patch, args);
        (result, session.overlay().len())
    });
}

#[divan::bench]
fn ejs_body(bencher: Bencher<'_, '_>) {
    let scripts = Scripts::new();
    let realm = Realm::without_files();
    let template = EjsTemplate::new("body.ejs", TEMPLATE);
    let session = HookSession::new(&scripts.sandbox, &realm, object(PARAMS), object(STATEMENT));
    bencher.bench_local(|| session.render(&template));
}
