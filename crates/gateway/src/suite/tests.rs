//! Directories of tests, collected and run in this process.

use std::{fs, path::Path, time::Duration};

use tempfile::TempDir;

use super::*;
use crate::app_folder::AppFolder;
use crate::mock::canned::CannedAnswer;

pub(super) fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn run_cases(cases: Vec<TestCase>, files: AppFolder, limits: Limits) -> Vec<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut outcomes = Vec::new();
    let app = App::load(files);
    assert!(app.config_problems.is_empty(), "{:?}", app.config_problems);
    runtime
        .block_on(run_all(cases, app, limits, None, |outcome| outcomes.push(outcome.clone())))
        .unwrap();
    outcomes
}

/// The outcomes of a directory, as `name` or `name: place: message`, places without the directory.
pub(super) fn outcomes(directory: &Path) -> Vec<String> {
    let existing = |name: &str| Some(directory.join(name)).filter(|path| path.exists());
    let files = AppFolder {
        config: existing("config.json"),
        tests: directory.to_owned(),
        ..AppFolder::at(directory)
    };
    let outcomes = run_cases(collect(directory).cases, files, Limits::default());
    let prefix = format!("{}/", directory.display());
    outcomes.iter().map(|outcome| told(outcome).replace(&prefix, "")).collect()
}

fn told(outcome: &Outcome) -> String {
    let problems = outcome.problems.iter().map(|problem| match &problem.place {
        Some(place) => format!(": {place}: {}", problem.message),
        None => format!(": {}", problem.message),
    });
    outcome.name.clone() + &problems.collect::<String>()
}

const SCRIPT: &str =
    "create table p on select get from 'http://localhost:{mock.1}/x'; return select * from p";

#[test]
fn a_script_is_run_against_its_mock_and_compared() {
    let directory = directory(&[
        ("price.ql", SCRIPT),
        (
            "price.1.200.application.json",
            r#"{"amount": 12, "self": "http://localhost:{mock.1}/x"}"#,
        ),
        ("price.expect.json", r#"{"self": "http://localhost:{mock.1}/x", "amount": 12.0}"#),
        (
            "price.assert",
            "status == 200\n$.body.self =~ :{mock.1}/x$\nheader content-type == application/json\n",
        ),
    ]);
    assert_eq!(outcomes(directory.path()), ["price"]);
}

#[test]
fn what_does_not_hold_is_told_with_its_place() {
    let directory = directory(&[
        ("price.ql", SCRIPT),
        ("price.1.200.application.json", r#"{"amount": 12}"#),
        ("price.expect.json", r#"{"amount": 13}"#),
        ("price.assert", "status == 200\n\n$.body.amount == 14\n$.body.amount == 12"),
    ]);
    assert_eq!(
        outcomes(directory.path()),
        ["price: price.expect.json: $.amount: expected 13, got 12\
         : price.assert:3: `$.body.amount == 14` does not hold: it is 12"]
    );
}

#[test]
fn a_failed_run_fails_the_test_unless_the_test_speaks_of_it() {
    let files = [
        ("a.ql", SCRIPT),
        ("a.1.500.application.json", r#"{"fault": "busy"}"#),
        ("b.ql", SCRIPT),
        ("b.1.500.application.json", r#"{"fault": "busy"}"#),
        ("b.expect.json", r#"{"fault": "busy"}"#),
        ("b.assert", "failed == true\n$.body.fault == busy\nstatus == 502"),
        ("c.ql", "retrn 1"),
        ("d.ql", "return 1"),
        ("d.assert", "failed == true"),
    ];
    let directory = directory(&files);
    let told = outcomes(directory.path());
    assert!(told[0].starts_with("a: a.ql:1: the script failed: "), "{told:?}");
    assert_eq!(told[1], "b");
    assert!(told[2].starts_with("c: c.ql:1: the script failed: "), "{told:?}");
    assert_eq!(told[3], "d: d.assert:1: `failed == true` does not hold: it is false");
}

#[test]
fn a_run_that_makes_more_requests_than_its_script_says_fails_the_test() {
    let table =
        "create table p on select get from 'http://localhost:{mock.1}/x?n={n}'; ns = [1, 2, 3];";
    let few = format!("{table} return select * from p where n = \"{{ns}}\" assert calls <= 3");
    let many = format!("{table} return select * from p where n = \"{{ns}}\" assert calls <= 2");
    let directory = directory(&[
        ("few.ql", &few),
        ("few.1.200.application.json", "[1]"),
        ("many.ql", &many),
        ("many.1.200.application.json", "[1]"),
    ]);
    let told = outcomes(directory.path());
    assert_eq!(told[0], "few");
    let wanted = "the run made 3 requests, and its script says `assert calls <= 2`";
    assert!(told[1].contains(wanted), "{told:?}");
}

#[test]
fn routes_are_asked_with_header_body_and_mocks_of_the_settings() {
    let directory = directory(&[
        ("config.json", r#"{"api": "http://127.0.0.1:{mock.1}"}"#),
        (
            "tables/books.ql",
            "create table books on select get from '{config.api}/books?s={^s}&w={x-when}'",
        ),
        (
            "routes/books.ql",
            "return select * from books where s = '{s}' via route '/books/{s}' using method get",
        ),
        (
            "routes/add.ql",
            "return {\"title\": \"{title}\"} via route '/books' using method post using status 201",
        ),
        (
            "all.routes.csv",
            "name,request,type,header1\nsea,/books/sea,GET,\"X-When:Tue, 1 Jan\"\nland,/books/land,get,\nadd,/books,post,\nnone,/none,get,",
        ),
        ("sea.1.200.application.json", "[1]"),
        ("sea.expect.json", "[1]"),
        ("land.1.404.application.json@GET_books?s=land", "{}"),
        ("add.request.application.json", r#"{"title": "Tides"}"#),
        ("add.expect.json", r#"{"title": "Tides"}"#),
        ("add.assert", "status == 201\nfailed == false\n$.statusCode == 201"),
        ("none.assert", "status == 404\n$.statusCode == 404\n$.body.error exists false"),
    ]);
    let told = outcomes(directory.path());
    assert_eq!((told[0].as_str(), told[2].as_str()), ("sea", "add"));
    assert!(told[1].starts_with("land: all.routes.csv:3: the route answered 502: {"), "{told:?}");
    assert!(told[3] == "none" || told[3].starts_with("none: none.assert:3"), "{told:?}");
}

#[test]
fn mocks_answer_by_path_and_misbehave_as_told() {
    let script = "create table a on select get from 'http://localhost:{mock.1}/a';\n\
                  create table b on select get from 'http://localhost:{mock.1}/b/c';\n\
                  x = select * from a; y = select * from b; return {\"x\": \"{x}\", \"y\": \"{y}\"}";
    let directory = directory(&[
        ("two.ql", script),
        ("two.1.200.application.json@GET_a", "[1]"),
        ("two.1.200.application.json@GET_b_c", "[2]"),
        ("two.expect.json", r#"{"x": [1], "y": [2]}"#),
        ("late.ql", SCRIPT),
        ("late.2.200.application.json", "1"),
        ("status.ql", SCRIPT),
        ("status.1.mock.json", r#"{"type": "status", "code": 503, "body": {"a": 1}}"#),
        ("status.assert", "failed == true\n$.body.a == 1"),
        ("typo.ql", SCRIPT),
        ("typo.1.mock.json", r#"{"typ": "status"}"#),
        ("wrong.ql", SCRIPT),
        ("wrong.1.mock.json", "{\n\"type\" \"status\"}"),
        ("empty.ql", SCRIPT),
        ("empty.1.mock.json", r#"{"type": "slow", "latency": 1}"#),
    ]);
    let told = outcomes(directory.path());
    assert_eq!(
        told,
        [
            "empty: empty.ql: the mock `1` has no answer",
            "status",
            "two",
            "late: late.ql:1: `{mock.1}`: the test has no mock `1`",
            "typo: typo.1.mock.json: `typ` is not known",
            "wrong: wrong.1.mock.json:2: invalid JSON: expected `:`, found `\\\"`",
        ]
        .map(str::to_owned)
    );
}

#[test]
fn files_that_belong_to_nothing_are_told() {
    let directory = directory(&[
        ("price.ql", "return 1"),
        ("price.expct.json", "1"),
        ("prise.expect.json", "1"),
        ("price.request.text.plain", "x"),
        ("price.1.99.text.plain", "x"),
        ("README.md", "x"),
        (".hidden.ql", "x"),
        ("all.routes.csv", "name,request\nprice,/a\nb,c\n"),
        ("config.json", "{}"),
    ]);
    assert_eq!(
        outcomes(directory.path()),
        [
            "price: price.ql: only route tests have a request body",
            "all.routes.csv:3: all.routes.csv:3: `c` is no path with query",
            "price: all.routes.csv:2: the test `price` is there already: price.ql",
            "prise: prise.expect.json: there is neither `prise.ql` nor a route test `prise`",
            "price.1.99.text.plain: price.1.99.text.plain: `99` is no status from 200 to 599",
            "price.expct.json: price.expct.json: no file of a test ends like this; \
             did you mean `.expect.json`?",
        ]
    );
}

#[test]
fn data_and_modules_beside_the_tests_are_left_alone() {
    let directory = directory(&[
        ("price.ql", SCRIPT),
        ("price.1.200.application.json", "[1]"),
        ("price.data.json", "[1]"),
        (
            "price.js",
            "var lib = require('./lib'), want = require('./price.data.json');\n\
                      exports.test = function (test, err, result) {\n\
                        test.equals(result.body.length, lib.one); test.same(result.body, want);\n\
                      };",
        ),
        ("lib.js", "exports.one = 1;"),
        ("unused.js", "require('./nowhere'); throw new Error('never loaded');"),
        ("books.request.json", "{}"),
        ("rates.70000.200.text.plain", "x"),
        ("price.sql", "x"),
    ]);
    assert_eq!(outcomes(directory.path()), ["price"]);
    let Collected { files, ignored, .. } = collect(directory.path());
    let expected = ["books.request.json", "lib.js", "price.data.json", "price.sql"];
    assert_eq!((files, &ignored[..4]), (9, &expected.map(str::to_owned)[..]));
    assert_eq!(ignored[4..], ["rates.70000.200.text.plain", "unused.js"]);
}

#[test]
fn tests_of_ql_unit_run_as_they_were_written() {
    let directory = directory(&[
        ("price.ql", SCRIPT),
        ("price.1.200.application.json", "{\"amount\": 12}"),
        (
            "price.js",
            "var http = require('http');\n\
                      exports.setup = function (cb) { cb({amount: 12}); };\n\
                      exports.test = function (test, err, result, ctx) {\n\
                        test.equals(result.body.amount, ctx.amount);\n\
                      };\n\
                      exports.tearDown = function () {};",
        ),
        ("wrong.ql", "return 1"),
        (
            "wrong.js",
            "exports.test = function (test, err, result) {\n  test.equals(result.body, 2, 'two');\n};",
        ),
        ("down.ql", SCRIPT),
        (
            "down.1.500.application.soap+xml",
            "<s:Fault xmlns:s=\"urn:s\"><faultcode>s:Server</faultcode></s:Fault>",
        ),
        (
            "down.js",
            "var util = require('util');\n\
             exports.test = function (test, err, result) {\n\
               if (!err) { console.log(util.inspect(result, false, 10)); test.fail('it must fail'); return; }\n\
               test.equals(err.headers['content-type'], 'application/json', 'type');\n\
               test.ok(err.body['s:Fault']['faultcode'], 'fault');\n\
             };",
        ),
        (
            "two.ql",
            "create table a on select get from \"http://localhost:{mock.1}/x\";\n\
             create table b on select get from \"http://localhost:{mock.2}/x\";\n\
             a1 = select * from a;\nb1 = select * from b;\nreturn {\"a\": \"{a1}\", \"b\": \"{b1}\"}",
        ),
        (
            "two.1.200.application.soap+xml",
            "<s:Envelope xmlns:s=\"urn:s\"><s:Body>x</s:Body></s:Envelope>",
        ),
        ("two.2.200.application.json", "{\"when\": 1}"),
        (
            "two.js",
            "exports.test = function (test, err, result) {\n\
               test.ok(result.body.a['s:Envelope']['s:Body'], 'soap');\n\
               test.equals(result.body.b.when, 1);\n\
             };",
        ),
        ("own.ql", "return 1"),
        (
            "own.js",
            "var net = require('net');\nexports.setup = function (cb) {\n  net.createServer().listen(1, cb);\n};",
        ),
    ]);
    let told = outcomes(directory.path());
    let own = "own: own.js:3: module `net` is not available in the sandbox";
    assert_eq!(told, ["down", "price", "two", own, "wrong: wrong.js:2: two"]);
}

#[test]
fn a_directory_that_can_not_be_read_is_one_failing_test() {
    let told = outcomes(Path::new("/nonexistent/tests"));
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("initFailed: the test directory `/nonexistent/tests` can not be read"),
        "{told:?}"
    );
}

#[test]
fn hooks_run_around_the_test_and_may_judge_it() {
    let hooks = "exports.setup = function (cb) { cb(); return {want: 503}; };\n\
                 exports.test = function (test, err, result, ctx) {\n\
                   test.ok(err, 'it must fail');\n\
                   test.equal(err.upstream.status, ctx.want);\n\
                   test.equal(1, 2, 'one is two');\n\
                   test.done();\n\
                 };";
    let directory = directory(&[
        ("a.ql", SCRIPT),
        ("a.1.503.application.json", "{}"),
        ("a.js", hooks),
        ("b.ql", "return 1"),
        ("b.js", "exports.tearDown = function (cb) { throw new Error('spilt'); };"),
        ("c.ql", "return 1"),
        ("c.js", "exports.test = function ("),
    ]);
    let told = outcomes(directory.path());
    assert_eq!(told[..2], ["a: a.js:5: one is two".to_owned(), "b: b.js:1: spilt".to_owned()]);
    assert!(told[2].starts_with("c: c.js:"), "{told:?}");
}

#[test]
fn a_port_named_outright_is_used_by_one_test_at_a_time() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = format!(
        "create table p on select get from 'http://localhost:{port}/x'; return select * from p"
    );
    let mut files = Vec::new();
    for name in ["a", "b", "c", "d"] {
        files.push((format!("{name}.ql"), script.clone()));
        files.push((format!("{name}.{port}.200.application.json"), format!("\"{name}\"")));
        files.push((format!("{name}.expect.json"), format!("\"{name}\"")));
    }
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(outcomes(directory(&files).path()), ["a", "b", "c", "d"]);
}

#[test]
fn a_port_that_is_taken_is_told_with_the_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let directory = directory(&[("a.ql", "return 1"), (&format!("a.{port}.200.text.plain"), "x")]);
    let told = outcomes(directory.path());
    assert!(
        told[0].contains("Address already in use") && told[0].contains("{mock.<n>}"),
        "{told:?}"
    );
}

#[test]
fn tests_can_be_given_in_code_and_have_a_time_limit() {
    let answer = CannedAnswer {
        place: None,
        status: hyper::StatusCode::OK,
        content_type: hyper::header::HeaderValue::from_static("application/json"),
        body: "[1, 2]".into(),
    };
    let script = Text { file: "in code".to_owned(), text: SCRIPT.to_owned() };
    let good = TestCase {
        name: "good".to_owned(),
        action: Action::Script(script.clone()),
        mocks: BTreeMap::from([(
            1,
            Mock { answers: vec![answer], behaviour: Behaviour::default() },
        )]),
        expectation: Some(Text { file: "in code".to_owned(), text: "[1, 2]".to_owned() }),
        ..TestCase::default()
    };
    let mut silent = qlio_data::Object::new();
    silent.insert("type", qlio_data::Value::from("unresponsive"));
    let behaviour = Behaviour::of_mock(&silent).unwrap();
    let slow = TestCase {
        name: "slow".to_owned(),
        action: Action::Script(script),
        mocks: BTreeMap::from([(1, Mock { answers: Vec::new(), behaviour })]),
        ..TestCase::default()
    };
    let limits = Limits { patience: Duration::from_millis(1500), ..Limits::default() };
    let told: Vec<_> =
        run_cases(vec![slow, good], AppFolder::default(), limits).iter().map(told).collect();
    assert_eq!(told, ["slow: the test took longer than 1.5 s", "good"]);
}
