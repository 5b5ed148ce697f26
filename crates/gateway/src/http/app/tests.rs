//! The endpoints over an engine without upstreams: routing, bodies, negotiation, errors.

use http_body_util::{BodyExt, Full};
use hyper::StatusCode;
use qlio_data::{Value, codec::json};
use qlio_engine::EngineOptions;
use qlio_syntax::diagnostic::Severity;

use super::*;
use crate::{
    config::Config,
    http::{
        body::BodyLimits, compress, disclosure::ErrorDetail, forwarded::Forwarded, gate::Gate,
        server::ServerLimits, trace::TraceLevel,
    },
    load::{self, CatalogFolders},
};

const TABLES: &[(&str, &str)] = &[(
    "books.ql",
    "-- Library **books** by subject\n\
     create table lib.books on select get from 'http://127.0.0.1:1/books?subject={^subject}&limit={limit}' using defaults limit = 3",
)];

const ROUTES: &[(&str, &str)] = &[
    ("a1.ql", r#"return {"v":"one","a":"{a}"} via route '/shelf?a={a}' using method get;"#),
    (
        "a2.ql",
        r#"return {"v":"two","a":"{a}","b":"{b}"} via route '/shelf?a={a}&b={b}' using method get;"#,
    ),
    (
        "a3.ql",
        r#"return {"v":"opt","a":"{a}","c":"{c}"} via route '/shelf?a={^a}&c={c}' with optional params using defaults c = 'dc' using method get;"#,
    ),
    (
        "b1.ql",
        r#"return {"sel":"{sel}","q":"{q}","h":"{x-shelf}","ra":"{remoteAddress}"} via route '/p/{sel}?q={q}' with optional params using method get using headers 'Cache-Control' = 'max-age=60', 'X-Sel' = '{sel}';"#,
    ),
    (
        "post.ql",
        r#"return {"title":"{title}","author":"{author.name}","id":"{id}"} via route '/bk/{id}' using method post;"#,
    ),
    ("del.ql", r#"return {"gone":"{id}"} via route '/bk/{id}' using method delete;"#),
    (
        "sel.ql",
        "-- Books on a subject\nreturn select title as t from lib.books where subject = '{subject}' via route '/books/{subject}' using method get;",
    ),
    (
        "ctx.ql",
        r#"return {"extra":"{extra}","n":"{n}","s":"{s}","xff":"{x-forwarded-for}","cfg":"{config.k.v}"} via route '/ctx?n={n}&s={s}' using defaults n = 5, s = 'dflt' using method get;"#,
    ),
    ("big.ql", r#"return {"x":"{x}"} via route '/big?x={x}' using method get;"#),
];

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

struct Fixture {
    app: HttpApp,
    runtime: tokio::runtime::Runtime,
}

impl Fixture {
    fn new() -> Self {
        Self::with(true)
    }

    fn with(allows_adhoc: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, files: &[(&str, &str)]| {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).expect("a folder");
            for (file, text) in files {
                std::fs::write(path.join(file), text).expect("a file");
            }
            Some(path)
        };
        let folders = CatalogFolders {
            tables: write("tables", TABLES),
            routes: write("routes", ROUTES),
            ..CatalogFolders::default()
        };
        let values = json::parse_str(r#"{"k":{"v":"cfg"}}"#).expect("valid JSON");
        let loaded = load::load(&folders, &Config { values, ..Config::default() });
        // The scripts name what no route declares, which is a warning.
        let found = loaded.problems.iter().flat_map(|file| &file.diagnostics);
        let errors: Vec<_> = found.filter(|found| found.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let settings = AppSettings {
            allows_adhoc,
            has_console: allows_adhoc,
            gate: Gate::default(),
            body: BodyLimits { request_bytes_max: 1000, ..BodyLimits::default() },
            answer_pace: ServerLimits::default().answer_pace,
            request_id_header: "request-id".to_owned(),
            errors: ErrorDetail::Full,
            metadata: MetadataScope::All,
            trace: TraceLevel::Full,
            allows_jsonp: true,
            forwarded: Forwarded::default(),
            identity_header: None,
        };
        let shared = Snapshot::new(Arc::new(loaded), settings);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let engine = {
            let _entered = runtime.enter();
            Engine::new(EngineOptions::default()).expect("an engine")
        };
        Self { app: HttpApp::new(Arc::new(shared), engine, Arc::default()), runtime }
    }

    /// Sends `METHOD target`; header lines and, after an empty line, a body may follow.
    fn send(&self, message: &str) -> Answer {
        let (head, body) = message.split_once("\n\n").unwrap_or((message, ""));
        let mut lines = head.lines();
        let (method, target) =
            lines.next().and_then(|line| line.split_once(' ')).expect("method and target");
        let mut request = hyper::Request::builder().method(method).uri(target);
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            request = request.header(name, value);
        }
        let (head, ()) = request.body(()).expect("a valid message").into_parts();
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        let response = self.runtime.block_on(self.app.respond(&head, body, PEER));
        let (head, body) = response.into_parts();
        let body = self.runtime.block_on(body.collect()).expect("a full body").to_bytes();
        Answer { head, body }
    }

    #[track_caller]
    fn check(&self, message: &str, status: u16, body: &str) -> Answer {
        let answer = self.send(message);
        assert_eq!(
            (answer.head.status.as_u16(), answer.text()),
            (status, body.to_owned()),
            "{message}"
        );
        answer
    }
}

struct Answer {
    head: hyper::http::response::Parts,
    body: Bytes,
}

impl Answer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&self, name: &str) -> &str {
        self.head.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    fn json(&self) -> Value {
        json::parse_str(&self.text()).expect("a JSON body")
    }
}

#[test]
fn routes_are_chosen_by_path_and_query() {
    let fixture = Fixture::new();
    fixture.check("GET /shelf?a=1", 200, r#"{"v":"one","a":"1"}"#);
    fixture.check("GET /shelf?a=1&b=2", 200, r#"{"v":"two","a":"1","b":"2"}"#);
    fixture.check("GET /shelf?a=1&c=9", 200, r#"{"v":"opt","a":"1","c":"9"}"#);
    fixture.check("GET /shelf?c=9&a=1&a=2", 200, r#"{"v":"opt","a":["1","2"],"c":"9"}"#);
    fixture.check("GET /shelf/?a=1&c=9", 200, r#"{"v":"opt","a":"1","c":"9"}"#);
    let missing = r#"{"message":"No matching route; missing query parameters: `a`"}"#;
    let answer = fixture.check("GET /shelf?b=2", 400, missing);
    assert_eq!(answer.header("content-type"), "application/json");
    fixture.check("DELETE /bk/7", 200, r#"{"gone":"7"}"#);
}

#[test]
fn path_values_headers_and_settings_are_in_scope() {
    let fixture = Fixture::new();
    let answer = fixture.check(
        "GET /p/x%20y?q=zz\nX-Shelf: top",
        200,
        r#"{"sel":"x y","q":"zz","h":"top","ra":"127.0.0.1"}"#,
    );
    assert_eq!(answer.header("cache-control"), "max-age=60");
    assert_eq!(answer.header("x-sel"), "x y");
    let answer = fixture.check("GET /p/caf%C3%A9%2Fx", 200, r#"{"sel":"café/x","ra":"127.0.0.1"}"#);
    assert_eq!(answer.header("x-sel"), "caf%C3%A9/x");
    fixture.check(
        "GET /ctx?extra=9\nX-Forwarded-For: 9.9.9.9",
        200,
        r#"{"extra":"9","n":"5","s":"dflt","xff":"9.9.9.9","cfg":"cfg"}"#,
    );
    fixture.check("GET /ctx?n=7&s=", 200, r#"{"n":"7","s":"dflt","cfg":"cfg"}"#);
}

#[test]
fn bodies_are_read_by_their_type() {
    let fixture = Fixture::new();
    for (content_type, body, expected) in [
        (
            "application/json",
            r#"{"title":"T","author":{"name":"N"},"id":"body"}"#,
            r#"{"title":"T","author":"N","id":"7"}"#,
        ),
        (
            "application/x-www-form-urlencoded",
            "title=T&author[name]=N",
            r#"{"title":"T","author":"N","id":"7"}"#,
        ),
        ("application/xml", "<title>T1</title>", r#"{"title":"T1","id":"7"}"#),
        ("text/xml", "<title>T1</title>", r#"{"title":"T1","id":"7"}"#),
        ("text/plain", "title=T", r#"{"id":"7"}"#),
    ] {
        let message = format!("POST /bk/7\ncontent-type: {content_type}\n\n{body}");
        fixture.check(&message, 200, expected);
    }
    let answer = fixture.send("POST /bk/7\ncontent-type: application/json\n\n{bad");
    assert_eq!(answer.head.status, 400);
    assert!(
        answer
            .json()
            .member("error")
            .as_str()
            .is_some_and(|text| text.starts_with("Server Error - "))
    );
    let large = format!("POST /bk/7\ncontent-type: text/plain\n\n{}", "x".repeat(1001));
    assert_eq!(fixture.send(&large).head.status, 413);
}

#[test]
fn unknown_paths_and_methods_are_json_errors() {
    let fixture = Fixture::new();
    let answer = fixture.send("GET /Shelf?a=1");
    assert_eq!(answer.head.status, 404);
    assert_eq!(answer.json().member("message").as_str(), Some("Cannot GET /Shelf?a=1"));
    let answer = fixture.send("POST /shelf?a=1");
    assert_eq!((answer.head.status.as_u16(), answer.header("allow")), (405, "GET"));
    let answer = fixture.send("PUT /tables");
    assert_eq!((answer.head.status.as_u16(), answer.header("allow")), (405, "GET"));
    let answer = fixture.send("BREW /bk/7");
    assert_eq!((answer.head.status.as_u16(), answer.header("allow")), (405, "POST,DELETE"));
    let answer = fixture.check("OPTIONS /bk/7", 200, "POST,DELETE");
    assert_eq!(answer.header("allow"), "POST,DELETE");
    fixture.check("OPTIONS /nope", 200, "");
    fixture.check("OPTIONS /q", 200, "GET,POST,PUT,DELETE,PATCH");
    assert_eq!(fixture.send("GET /p/%E0%A4%A").head.status, 400);
    assert_eq!(fixture.send("GET /shelf?a=%G1").head.status, 400);
    assert_eq!(fixture.send("GET /nope?a=%G1").head.status, 404);
}

#[test]
fn scripts_of_clients_run_at_q() {
    let fixture = Fixture::new();
    fixture.check("GET /q", 400, r#"{"message":"Missing query"}"#);
    fixture.check("GET /q?s=return%20%22hi%22", 200, "\"hi\"");
    fixture.check("GET /q?s=return%20%22%22", 200, "\"\"");
    fixture.check("GET /q?s=return%200", 200, "0");
    fixture.check("GET /q?s=--%20note", 200, "{}");
    let form = "content-type: application/x-www-form-urlencoded";
    fixture.check(&format!("POST /q\n{form}\n\ns=return {{\"z\":\"{{zz}}\"}}&zz=1"), 200, "{}");
    fixture.check("POST /q\ncontent-type: application/json\n\n{\"s\":\"return 5\"}", 200, "5");
    fixture.check("GET /q?s=return%20%7B%22k%22%3A%22%7Bk%7D%22%7D&k=5", 200, r#"{"k":"5"}"#);
    fixture.check(
        "GET /q?s=create%20table%20t9%20on%20select%20get%20from%20%22http://127.0.0.1:1/q%22",
        200,
        r#"{"message":"ok"}"#,
    );
    let answer = fixture.check("GET /q?s=return%20%5B1,2%5D&callback=cb", 200, "cb([1,2])");
    assert_eq!(answer.header("content-type"), "application/javascript");
    fixture.check("GET /q?s=return%201&callback=a(", 400, r#"{"message":"Invalid callback"}"#);
    let json = "content-type: application/json";
    let body = r#"{"s": "return 5", "callback": "cb"}"#;
    let answer = fixture.check(&format!("POST /q\n{json}\n\n{body}"), 200, "cb(5)");
    assert_eq!(answer.header("content-type"), "application/javascript");
    let body = r#"{"s": "return 5", "callback": "a("}"#;
    let refusal = r#"{"message":"Invalid callback"}"#;
    fixture.check(&format!("POST /q\n{json}\n\n{body}"), 400, refusal);
}

#[test]
fn a_script_that_does_not_compile_is_located() {
    let fixture = Fixture::new();
    let answer = fixture.send("GET /q?s=a%20%3D%20%7D");
    assert_eq!(answer.head.status, 400);
    let body = answer.json();
    let number = |name| body.member(name).scalar_text().map(|text| text.to_string());
    assert_eq!((number("line").as_deref(), number("column").as_deref()), (Some("1"), Some("5")));
    assert_eq!(body.member("name").as_str(), Some("SyntaxError"));
    let answer = fixture.send("GET /q?s=return%20b");
    assert_eq!(answer.json().member("message").as_str(), Some("Line 1: Unresolved symbol 'b'"));
    let answer = fixture.send("GET /q?s=select%20*%20from%20nosuch");
    assert_eq!(answer.head.status, 400);
    assert!(
        answer
            .json()
            .member("message")
            .as_str()
            .is_some_and(|text| text.contains("No such table nosuch"))
    );
    let answer = fixture.send("GET /q?s=retrn%201&callback=cb");
    assert_eq!(answer.header("content-type"), "application/javascript");
    assert!(answer.text().starts_with("cb({"));
}

/// SAF-5.
#[test]
fn the_script_endpoint_can_be_switched_off() {
    let fixture = Fixture::with(false);
    let answer = fixture.send("GET /q?s=return%201");
    assert_eq!(answer.head.status, 404);
    assert_eq!(answer.json().member("message").as_str(), Some("Cannot GET /q?s=return 1"));
    fixture.check("OPTIONS /q", 200, "");
}

#[test]
fn metadata_is_json_or_a_page() {
    let fixture = Fixture::new();
    let list = r#"[{"name":"lib.books","about":"/table?name=lib.books","info":"<p>Library <strong>books</strong> by subject</p>"}]"#;
    fixture.check("GET /tables?format=json", 200, list);
    fixture.check("GET /tables\naccept: application/json", 200, list);
    let page = fixture.send("GET /tables");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.text().contains("href=\"table?name=lib.books\""));
    let table = fixture.send("GET /table?name=lib.books&format=json").json();
    assert!(table.member("select").is_object());
    assert_eq!(
        table.member("routes").element(0).as_str(),
        Some("/route?path=%2Fbooks%2F%7Bsubject%7D&method=get")
    );
    fixture.check(
        "GET /table?format=json",
        400,
        r#"{"message":"Missing table name: Usage /table?name=some-tablename"}"#,
    );
    fixture.check(
        "GET /table?name=%20lib.err%3B%20return%20%22x%22",
        400,
        r#"{"message":"No such table  lib.err; return \"x\""}"#,
    );
    fixture.check(
        "GET /route?path=%2Fbooks%2F%7Bsubject%7D&method=get&format=json",
        200,
        r#"{"method":"get","path":"/books/{subject}","about":"/route?path=%2Fbooks%2F%7Bsubject%7D&method=get","info":"<p>Books on a subject</p>","tables":["/table?name=lib.books"],"related":[]}"#,
    );
    let route = fixture.send("GET /route?path=%2Fbk%2F%7Bid%7D&method=DEL&format=json").json();
    assert_eq!(route.member("method").as_str(), Some("delete"));
    fixture.check(
        "GET /route?path=%2Fnope&method=get",
        400,
        r#"{"message":"No such route /nope for HTTP method GET"}"#,
    );
    assert_eq!(fixture.send("GET /route?path=%2Fnope").head.status, 400);
    assert_eq!(
        fixture.send("GET /api?format=json").text(),
        fixture.send("GET /routes?format=json").text()
    );
    for page in
        ["GET /api", "GET /table?name=lib.books", "GET /route?path=%2Fbk%2F%7Bid%7D&method=post"]
    {
        assert!(fixture.send(page).text().starts_with("<!DOCTYPE html>"), "{page}");
    }
}

#[test]
fn large_answers_are_compressed_on_request() {
    let fixture = Fixture::new();
    let target = format!("GET /big?x={}\naccept-encoding: gzip", "y".repeat(3000));
    let answer = fixture.send(&target);
    let (is_busy, _) = fixture.app.load.check();
    let coding = answer.header("content-encoding").to_owned();
    assert_eq!(coding, if is_busy { "" } else { "gzip" });
    let plain =
        compress::decompress(answer.body, Some(&coding), 10_000, |_| true).expect("our own");
    assert!(plain.starts_with(b"{\"x\":\"yyy"));
    let head = fixture.send(&target.replace("GET", "HEAD"));
    assert_eq!(head.header("content-encoding"), "");
}

#[test]
fn a_failing_upstream_is_an_error_of_the_gateway() {
    let fixture = Fixture::new();
    let answer = fixture.send("GET /books/sea");
    assert_eq!(answer.head.status, StatusCode::BAD_GATEWAY);
    assert!(answer.json().member("message").as_str().is_some());
}
