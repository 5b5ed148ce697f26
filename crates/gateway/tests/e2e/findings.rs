//! What `qlio check`, `fmt --check`, `plan`, `test` and `explain` tell of what they have found.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{folder, run};

const TABLE: &str = "create table t on select get from 'http://127.0.0.1:1/t'";

fn broken_app() -> TempDir {
    folder(&[
        ("tables/t.ql", TABLE),
        ("routes/r.ql", "é = 1\nretrn 1"),
        ("routes/o k.ql", "return select a from tt via route '/a' using method get"),
        ("qlio.json", "{\n  \"maxNestedRequest\": 5\n}"),
    ])
}

fn parsed(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

#[test]
fn check_reports_as_json() {
    let app = broken_app();
    let finished = run(&["check", "--format", "json"], app.path(), "");
    assert_eq!(finished.code(), Some(1));
    let found = parsed(&finished.stdout);
    let counts = ["version", "tables", "routes", "errors", "warnings"].map(|name| &found[name]);
    assert_eq!(json!(counts), json!([1, 1, 1, 1, 2]), "{found}");
    let problems = found["problems"].as_array().unwrap();
    assert_eq!(problems[0]["code"], "Q3021");
    assert_eq!((&problems[0]["file"], &problems[0]["line"]), (&json!("qlio.json"), &json!(2)));
    let table = problems.iter().find(|problem| problem["code"] == "Q2003").unwrap();
    assert_eq!(table["file"], "routes/o k.ql");
    assert_eq!((&table["severity"], &table["line"]), (&json!("warning"), &json!(1)));
    let error = problems.iter().find(|problem| problem["severity"] == "error").unwrap();
    assert_eq!((&error["file"], &error["line"]), (&json!("routes/r.ql"), &json!(2)));
    assert!(error["message"].is_string() && error["endLine"].is_u64(), "{error}");
    assert_eq!(finished.stderr, "1 table, 1 route, 1 error, 2 warnings\n");

    let good = folder(&[("tables/t.ql", TABLE)]);
    let finished = run(&["check", "--format", "json"], good.path(), "");
    assert_eq!((finished.code(), &parsed(&finished.stdout)["problems"]), (Some(0), &json!([])));
}

#[test]
fn check_reports_as_sarif() {
    let app = broken_app();
    let finished = run(&["check", "--format", "sarif"], app.path(), "");
    assert_eq!(finished.code(), Some(1));
    let log = parsed(&finished.stdout);
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["runs"].as_array().map(Vec::len), Some(1));
    let run_ = &log["runs"][0];
    let driver = &run_["tool"]["driver"];
    assert_eq!(driver["name"], "qlio");
    let rules = driver["rules"].as_array().unwrap();
    let results = run_["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["markdown"].as_str().unwrap().starts_with("# Q"), "{rule}");
        assert!(["error", "warning"].contains(&result["level"].as_str().unwrap()));
        assert!(result["message"]["text"].is_string());
    }
    let place = |id: &str| {
        let result = results.iter().find(|result| result["ruleId"] == id).unwrap();
        result["locations"][0]["physicalLocation"].clone()
    };
    assert_eq!(place("Q2003")["artifactLocation"]["uri"], "routes/o%20k.ql");
    assert_eq!(place("Q2003")["region"]["startLine"], 1);
    assert_eq!(place("Q3021")["region"], json!({"startLine": 2, "startColumn": 3}));
}

#[test]
fn fmt_check_shows_what_would_change() {
    let text = "a = 1\nreturn   {\"a\":   \"{a}\"}\n";
    let app = folder(&[("routes/r.ql", text)]);
    let checked = run(&["fmt", "--check"], app.path(), "");
    assert_eq!(checked.code(), Some(1));
    assert!(
        checked.stdout.starts_with("--- routes/r.ql\n+++ routes/r.ql\n@@ -1,2 +1,2 @@\n a = 1"),
        "{}",
        checked.stdout
    );
    assert!(
        checked.stdout.contains("\n-return   {\"a\":   \"{a}\"}\n+return"),
        "{}",
        checked.stdout
    );
    assert_eq!(checked.stderr, "error: `routes/r.ql` is not formatted\n");
    let piped = run(&["fmt", "--check", "-"], app.path(), text);
    assert_eq!((piped.code(), piped.stdout.contains("+++ stdin\n")), (Some(1), true));
    assert_eq!(run(&["fmt"], app.path(), "").code(), Some(0));
    let checked = run(&["fmt", "--check"], app.path(), "");
    assert_eq!((checked.code(), &*checked.stdout, &*checked.stderr), (Some(0), "", ""));
}

#[test]
fn plan_says_what_it_looked_at() {
    let app = folder(&[("tables/t.ql", TABLE), ("none/readme.txt", "")]);
    let plan = |more: &[&str]| {
        run(&[&["plan", "-e", "return select * from t"], more].concat(), app.path(), "")
    };
    let planned =
        "planned `expression` with 1 table and 0 routes of the app in the current folder\n";
    assert_eq!(plan(&[]).stderr, planned);
    let elsewhere = plan(&["--app", "none"]);
    assert_eq!(elsewhere.code(), Some(2));
    assert_eq!(
        elsewhere.stderr,
        "error: there is no app in `none`: none of `qlio.json`, `qlio.toml`, `qlio.yaml`, \
         `config/dev.json`, `tables`, `routes`, `tests`\n"
    );
}

#[test]
fn tests_say_what_they_looked_at() {
    let app = folder(&[
        ("tables/t.ql", TABLE),
        ("tests/a.ql", "return 1"),
        ("tests/a.expect.json", "1"),
        ("tests/b.ql", "return 2"),
        ("tests/data.txt", "x"),
        ("tests/config.json", "{}"),
        ("none/tests/data.txt", "x"),
    ]);
    let test = |more: &[&str]| run(&[&["test"], more].concat(), app.path(), "");
    let files = "5 files in `tests` (of no test: `data.txt`)";
    let rest = "with 1 table and 0 routes of the app in the current folder\n";
    assert_eq!(test(&[]).stderr, format!("2 tests from {files}, {rest}"));
    assert_eq!(test(&["--filter", "a"]).stderr, format!("1 of 2 tests from {files}, {rest}"));
    let none = test(&["--app", "none"]);
    assert_eq!(none.code(), Some(2));
    assert_eq!(
        none.stderr,
        "error: nothing to run: no test among 1 file in `none/tests` (of no test: `data.txt`); \
         the app is in `none`\n"
    );
}

#[test]
fn explain_prints_the_page_of_a_code() {
    let here = folder(&[]);
    let page = include_str!("../../../../docs/errors/Q2003-unknown-table.md");
    for code in ["Q2003", "q2003", "2003", "unknown-table", "Q2003 unknown-table"] {
        let finished = run(&["explain", code], here.path(), "");
        assert_eq!((finished.code(), &*finished.stdout), (Some(0), page), "{code}");
    }
    let unknown = run(&["explain", "unknwon-table"], here.path(), "");
    assert_eq!(unknown.code(), Some(2));
    assert_eq!(
        unknown.stderr,
        "error: there is no code `unknwon-table`; did you mean `unknown-table`?\n"
    );
}
