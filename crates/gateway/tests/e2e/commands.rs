//! Commands that run to their end: output on stdout, diagnostics on stderr, exit codes 0, 1, 2.

use serde_json::{Value, json};

use super::{folder, run};

fn printed(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap()
}

#[test]
fn run_prints_the_result_as_json() {
    let folder = folder(&[("s.ql", "return {\"a\": [1, null]}")]);
    for (arguments, stdin) in [
        (["run", "s.ql"].as_slice(), ""),
        (["run", "-"].as_slice(), "return {\"a\": [1, null]}"),
        (["run", "-e", "return {\"a\": [1, null]}"].as_slice(), ""),
    ] {
        let finished = run(arguments, folder.path(), stdin);
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        assert_eq!(printed(&finished.stdout), json!({"a": [1, null]}));
    }
}

#[test]
fn run_takes_variables_and_a_request() {
    let folder = folder(&[("r.json", "{\"query\": {\"q\": \"Q\"}}")]);
    let arguments = ["run", "-", "--var", "v={\"k\":1}", "--request", "r.json", "--envelope"];
    let finished = run(&arguments, folder.path(), "return {\"v\": \"{v}\", \"q\": \"{q}\"}");
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let envelope = printed(&finished.stdout);
    assert_eq!(envelope["value"], json!({"v": {"k": 1}, "q": "Q"}));
    assert!(envelope["headers"].is_object() || envelope["headers"].is_array());
}

#[test]
fn a_failing_script_exits_with_one_and_says_why_on_stderr() {
    let folder = folder(&[]);
    let finished = run(&["run", "-e", "return select * from nope"], folder.path(), "");
    assert_eq!(finished.code(), Some(1));
    assert!(finished.stderr.contains("No such table nope"), "{}", finished.stderr);
    assert!(finished.stdout.trim().is_empty(), "{}", finished.stdout);
}

#[test]
fn a_syntax_error_is_shown_with_its_place() {
    let folder = folder(&[("s.ql", "a = 1\nb = }\n")]);
    let finished = run(&["run", "s.ql"], folder.path(), "");
    assert_eq!(finished.code(), Some(1));
    assert!(finished.stderr.contains("s.ql:2:5"), "{}", finished.stderr);
}

#[test]
fn wrong_usage_exits_with_two() {
    let folder = folder(&[]);
    for arguments in
        [["run", "--no-such-option"].as_slice(), &["no-such-command"], &["run", "no-such-file.ql"]]
    {
        let finished = run(arguments, folder.path(), "");
        assert_eq!(finished.code(), Some(2), "{arguments:?}: {}", finished.stderr);
        assert!(!finished.stderr.is_empty());
    }
}

#[test]
fn output_has_no_colours_when_it_is_no_terminal() {
    let folder = folder(&[]);
    let finished = run(&["run", "-e", "b = }"], folder.path(), "");
    assert!(!finished.stderr.contains('\u{1b}'), "{}", finished.stderr);
}
