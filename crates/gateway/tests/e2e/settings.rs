//! Settings files: their formats, where problems are told, and what no mode starts with.

use qlio_testkit::client::{Request, fetch};
use serde_json::{Value, json};

use super::{PATIENCE, folder, run, start};

const TABLE: (&str, &str) =
    ("tables/t.ql", "create table t on select get from 'http://127.0.0.1:1/{config.dock.name}'");
const ROUTE: (&str, &str) =
    ("routes/r.ql", "return \"{config.dock.name}\" via route '/r' using method get");
const TEST: [(&str, &str); 2] =
    [("tests/a.ql", "return \"{config.dock.name}\"\n"), ("tests/a.expect.json", "\"quay\"")];

const TOML: &str = "maxRequests = 7 # comment\n\n[dock]\nname = 'quay'\nkey = \"${PATH}\"\n";
const YAML: &str = "# Settings\nmaxRequests: 7\ndock:\n  name: quay\n  key: ${PATH}\n";

#[test]
fn every_command_takes_settings_as_toml_and_as_yaml() {
    for (name, text, places) in
        [("qlio.toml", TOML, ["1:1", "3:2"]), ("qlio.yaml", YAML, ["2:1", "3:1"])]
    {
        let app = folder(&[TABLE, ROUTE, TEST[0], TEST[1], (name, text), ("config/dev.json", "{")]);
        let with = |arguments: &[&str]| {
            let finished = run(arguments, app.path(), "");
            assert_eq!(finished.code(), Some(0), "{name} {arguments:?}: {}", finished.stderr);
            finished
        };
        assert_eq!(with(&["run", "-e", "return \"{config.dock.name}\""]).stdout, "\"quay\"\n");
        with(&["check", "--strict"]);
        with(&["plan", "-e", "return select * from t"]);
        assert!(with(&["test"]).stdout.contains("ok 1 - a"));
        let shown = with(&["config", "show", "--origin"]).stdout;
        for (line, place) in [
            ("maxNestedRequests = 7", places[0]),
            ("dock = {\"name\":\"quay\",\"key\":\"[redacted]\"}", places[1]),
        ] {
            let line = format!("{line}  # {name}:{place}");
            assert!(shown.lines().any(|found| found == line), "{line}\n{shown}");
        }
        let server = start(&["serve", "-p", "0", "--strict"], app.path());
        let answer = fetch(server.address(), &Request::get("/r"), PATIENCE).unwrap();
        assert_eq!(answer.json().unwrap(), json!("quay"));
    }
}

#[test]
fn two_settings_files_are_an_error_that_names_both_unless_one_is_named() {
    let app = folder(&[ROUTE, ("qlio.json", "{}"), ("qlio.yaml", YAML), ("qlio.toml", TOML)]);
    for arguments in [
        &["serve", "-p", "0", "--dev"][..],
        &["run", "-e", "return 1"],
        &["plan", "-e", "return 1"],
        &["check"],
        &["test"],
        &["fmt"],
        &["config", "show"],
    ] {
        let finished = run(arguments, app.path(), "");
        assert_ne!(finished.code(), Some(0), "{arguments:?}");
        let told = "there are two settings files, `qlio.json` and `qlio.toml`";
        assert!(finished.stderr.contains(told), "{arguments:?}: {}", finished.stderr);
    }
    let named = ["run", "--config", "qlio.yaml", "-e", "return \"{config.dock.name}\""];
    assert_eq!(run(&named, app.path(), "").stdout, "\"quay\"\n");
}

#[test]
fn problems_are_told_at_their_place_in_every_format() {
    for (name, text, place) in [
        ("qlio.json", "{\n  \"egress\": {\"deny\": [\"a\", 5]}\n}", "2:28"),
        ("qlio.toml", "[egress]\ndeny = [\n  'a',\n  5,\n]\n", "4:3"),
        ("qlio.yaml", "egress:\n  deny:\n    - a\n    - 5\n", "4:7"),
    ] {
        let app = folder(&[ROUTE, (name, text)]);
        let told = "setting `egress.deny[1]` must be a host pattern such as";
        let checked = run(&["check"], app.path(), "");
        assert_eq!(checked.code(), Some(1), "{}", checked.stderr);
        let line = format!("error[Q3010 bad-config]: {name}:{place}: {told}");
        assert!(checked.stderr.contains(&line), "{line}\n{}", checked.stderr);
        assert!(checked.stderr.contains(", not `5`"), "{}", checked.stderr);
        let findings = run(&["check", "--format", "json"], app.path(), "").stdout;
        let findings: Value = serde_json::from_str(&findings).unwrap();
        assert!(findings.to_string().contains(name), "{findings}");
    }
    for (name, text, place) in
        [("qlio.toml", "a = 1\nb = = 2\n", "2:5"), ("qlio.yaml", "a: 1\na: 2\n", "2:1")]
    {
        let app = folder(&[ROUTE, (name, text)]);
        let checked = run(&["check"], app.path(), "");
        assert_eq!(checked.code(), Some(1), "{}", checked.stderr);
        assert!(
            checked.stderr.contains(&format!("{name}:{place}: invalid ")),
            "{}",
            checked.stderr
        );
    }
}

/// The settings that the reference page marks, so that none is forgotten here.
fn guards() -> Vec<String> {
    let page = include_str!("../../../../docs/reference/settings.md");
    let rows = page.lines().filter(|line| line.starts_with("| `") && line.contains("*Guard.*"));
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn no_mode_starts_with_a_guard_that_is_not_understood() {
    let guards = guards();
    assert!(guards.len() >= 19, "{guards:?}");
    for guard in guards {
        let settings = guard.rsplit('.').fold(json!(5), |inner, name| json!({name: inner}));
        let app = folder(&[ROUTE, ("qlio.json", &settings.to_string())]);
        for mode in [&["--dev"][..], &["--lenient"]] {
            let finished = run(&[&["serve", "-p", "0"], mode].concat(), app.path(), "");
            assert_eq!(finished.code(), Some(1), "{guard} {mode:?}: {}", finished.stderr);
            assert!(finished.stdout.is_empty(), "{guard}: {}", finished.stdout);
            let told = format!("setting `{guard}` must be");
            assert!(finished.stderr.contains(&told), "{guard}: {}", finished.stderr);
            assert!(finished.stderr.contains("in no mode"), "{guard}: {}", finished.stderr);
        }
    }
    for (settings, told) in [
        ("{", "invalid JSON"),
        (r#"{"egress": {"denny": ["h.test"]}}"#, "did you mean `deny`"),
        (r#"{"egress": ["h.test"]}"#, "setting `egress` must be an object, not a list"),
        (r#"{"secrets": ["nothing"]}"#, "names `nothing`, which is no text"),
        (r#"{"adhoc": "${QLIO_NO_SUCH_VARIABLE}"}"#, "`QLIO_NO_SUCH_VARIABLE` is not set"),
    ] {
        let app = folder(&[ROUTE, TEST[0], TEST[1], ("qlio.json", settings)]);
        for arguments in [
            &["serve", "-p", "0", "--dev"][..],
            &["serve", "-p", "0", "--lenient"],
            &["run", "-e", "return 1"],
            &["plan", "-e", "return 1"],
            &["test"],
        ] {
            let finished = run(arguments, app.path(), "");
            assert_eq!(finished.code(), Some(1), "{settings} {arguments:?}: {}", finished.stderr);
            assert!(finished.stderr.contains(told), "{settings}: {}", finished.stderr);
        }
    }
}
