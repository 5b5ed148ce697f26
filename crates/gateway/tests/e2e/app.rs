//! One app folder for all commands, and the settings that they find in it (SRV-61).

use qlio_testkit::client::{Request, fetch};
use serde_json::{Value, json};

use super::{PATIENCE, folder, run, start};

const TABLE: &str = "create table t on select get from 'http://127.0.0.1:1/{config.harbour}'";
const ROUTE: &str = "return \"{config.harbour}\" via route '/r' using method get";

fn app() -> tempfile::TempDir {
    folder(&[
        ("tables/t.ql", TABLE),
        ("routes/r.ql", ROUTE),
        ("tests/a.ql", "return \"{config.harbour}\"\n"),
        ("tests/a.expect.json", "\"here\""),
        ("qlio.json", "{\"harbour\": \"here\"}"),
        ("config/dev.json", "{\"harbour\": \"elsewhere\"}"),
    ])
}

#[test]
fn every_command_finds_the_app_here_and_by_its_folder() {
    let app = app();
    let elsewhere = folder(&[]);
    let named = ["--app", app.path().to_str().unwrap()];
    for (more, place) in [(&[][..], app.path()), (&named[..], elsewhere.path())] {
        let with = |arguments: &[&str]| {
            let finished = run(&[arguments, more].concat(), place, "");
            assert_eq!(finished.code(), Some(0), "{arguments:?}: {}", finished.stderr);
            finished
        };
        assert_eq!(with(&["run", "-e", "return \"{config.harbour}\""]).stdout, "\"here\"\n");
        let checked = with(&["check", "--strict"]).stderr;
        assert_eq!(checked, "1 table, 1 route, 0 errors, 0 warnings\n");
        assert!(with(&["plan", "-e", "return select * from t"]).stdout.contains("select from t"));
        assert!(with(&["test"]).stdout.contains("ok 1 - a"));
        assert!(with(&["config", "show"]).stdout.contains("harbour = \"here\"\n"));
        let unformatted = run(&[&["fmt", "--check"], more].concat(), place, "");
        assert_eq!(unformatted.code(), Some(1));
        assert!(unformatted.stderr.contains("t.ql` is not formatted"), "{}", unformatted.stderr);
        let server = start(&[&["serve", "-p", "0", "--strict"], more].concat(), place);
        let answer = fetch(server.address(), &Request::get("/r"), PATIENCE).unwrap();
        assert_eq!(answer.json().unwrap(), json!("here"));
    }
}

#[test]
fn without_a_settings_file_of_the_app_that_of_development_holds() {
    let app = folder(&[("config/dev.json", "{\"harbour\": \"there\"}")]);
    let finished = run(&["run", "-e", "return \"{config.harbour}\""], app.path(), "");
    assert_eq!(finished.stdout, "\"there\"\n", "{}", finished.stderr);
}

#[test]
fn settings_without_a_value_are_told_with_the_nearest_name_before_anybody_asks() {
    let app = folder(&[
        ("tables/t.ql", TABLE),
        ("routes/r.ql", ROUTE),
        ("qlio.json", "{\"harbor\": \"here\"}"),
    ]);
    let is_told = |text: &str| {
        let message = "warning[Q3021 unknown-setting]: the setting `harbour` has no value";
        ["tables/t.ql:1:35", "routes/r.ql:1:8"]
            .iter()
            .all(|place| text.contains(&format!("{message}\n --> {place}\n")))
            && text.matches("did you mean `harbor`?").count() == 2
    };
    let checked = run(&["check"], app.path(), "");
    assert_eq!(checked.code(), Some(0));
    assert!(is_told(&checked.stderr), "{}", checked.stderr);
    assert_eq!(run(&["check", "--strict"], app.path(), "").code(), Some(1));
    let server = start(&["serve", "-p", "0"], app.path());
    assert!(server.wait_for_stderr(PATIENCE, is_told), "{}", server.stderr());
    let answer = fetch(server.address(), &Request::get("/r"), PATIENCE).unwrap();
    let error = answer.json().unwrap();
    assert_eq!((answer.status, error["code"].as_str()), (500, Some("Q3021")), "{error}");
    assert_eq!(error["message"], "the setting `harbour` has no value");
}

#[test]
fn a_folder_is_searched_as_it_is_unless_it_is_asked_for_as_an_app() {
    let app = folder(&[
        ("tables/t.ql", TABLE),
        ("routes/tables/r.ql", "return select * from t via route '/r' using method get"),
        ("routes/tables/s.ql", "retrn 1"),
        ("qlio.json", "{\"harbour\": \"here\"}"),
        ("empty/readme.txt", ""),
    ]);
    let check = |path: &str| run(&["check", path], app.path(), "");
    let found = check("routes");
    assert_eq!(found.code(), Some(1));
    assert!(found.stderr.contains("s.ql:1:7"), "{}", found.stderr);
    assert!(found.stderr.ends_with("0 tables, 1 route, 1 error, 0 warnings\n"), "{}", found.stderr);
    let found = check("routes/tables/r.ql");
    assert_eq!(found.stderr, "0 tables, 1 route, 0 errors, 0 warnings\n");
    for (arguments, told) in [
        (&["check", "empty"][..], "nothing to check: no scripts in `empty`"),
        (&["check", "--app", "empty"], "nothing to check: no scripts in `tables` and `routes`"),
        (&["fmt", "--app", "empty"], "nothing to format"),
    ] {
        let finished = run(arguments, app.path(), "");
        assert_eq!(finished.code(), Some(1), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(told), "{arguments:?}: {}", finished.stderr);
    }
    for command in ["run", "check", "plan", "test", "fmt"] {
        let script = if matches!(command, "run" | "plan") { &["-e", "return 1"][..] } else { &[] };
        let arguments = [&[command, "--app", "nowhere"], script].concat();
        let finished = run(&arguments, app.path(), "");
        assert_ne!(finished.code(), Some(0), "{command}");
        assert!(finished.stderr.contains("there is no folder `nowhere`"), "{}", finished.stderr);
    }
}

#[test]
fn the_settings_that_hold_are_shown_with_where_they_come_from() {
    let settings =
        "{\n  \"maxRequests\": 7,\n  \"api\": {\"token\": \"abcdef\", \"host\": \"h\"}\n}";
    let app = folder(&[("qlio.json", settings)]);
    let finished = run(&["config", "show", "--origin"], app.path(), "");
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    for line in [
        "maxNestedRequests = 7  # qlio.json:2:3",
        "trace = \"progress\"  # default",
        "api = {\"token\":\"[redacted]\",\"host\":\"h\"}  # qlio.json:3:3",
    ] {
        assert!(finished.stdout.lines().any(|found| found == line), "{}", finished.stdout);
    }
    let dev = run(&["config", "show", "--dev"], app.path(), "").stdout;
    assert!(dev.contains("trace = \"full\"\n") && dev.contains("adhoc.enabled = true\n"), "{dev}");
}

#[test]
fn the_schema_and_the_reference_are_printed() {
    let here = folder(&[]);
    let schema = run(&["config", "schema"], here.path(), "").stdout;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let page = run(&["config", "docs"], here.path(), "").stdout;
    assert_eq!(page, include_str!("../../../../docs/reference/settings.md"));
    let page = run(&["config", "docs", "--limits"], here.path(), "").stdout;
    assert_eq!(page, include_str!("../../../../docs/reference/limits.md"));
}
