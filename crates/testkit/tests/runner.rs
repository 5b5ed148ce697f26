//! The case runner against stand-ins for the executable: a shell script that plays `run` and
//! `serve`, and an engine in this process.

#![expect(clippy::unwrap_used, reason = "a broken test bench must fail the test")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use qlio_testkit::case::Case;
use qlio_testkit::case::check::Outcome;
use qlio_testkit::case::load::parse_cases;
use qlio_testkit::client::{Request, fetch};
use qlio_testkit::runner::binary::BinaryEngine;
use qlio_testkit::runner::{CaseEngine, CaseFolder, run_case};
use serde_json::json;
use tempfile::TempDir;

struct StandIn {
    folder: TempDir,
}

impl StandIn {
    fn new(script: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("qlio");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn engine(&self) -> BinaryEngine {
        BinaryEngine::new(self.path()).patience(Duration::from_secs(10))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("qlio")
    }
}

fn case(text: &str) -> Case {
    parse_cases(text).unwrap().remove(0)
}

const SIMPLE: &str = "- {id: a, why: b, script: 'return 1', expect: {value: 1}}\n";

#[test]
fn the_script_comes_on_stdin_and_the_catalog_as_options() {
    let stand_in = StandIn::new(
        "[ \"$*\" = 'run - --tables tables --routes routes --config config.json --request request.json --var v={\"k\":1} --envelope' ] || exit 2\n\
         [ \"$(cat)\" = 'return 1' ] && [ -f tables/t.ql ] && [ \"$(cat config.json)\" = '{\"c\":2}' ] || exit 2\n\
         echo '{\"value\": 1, \"headers\": {}}'",
    );
    let text = "- {id: a, why: b, script: 'return 1', expect: {value: 1}, variables: {v: {k: 1}}, tables: {t.ql: T}, config: {c: 2}, request: {query: {}}}\n";
    assert_eq!(run_case(&stand_in.engine(), &case(text)), Ok(()));
}

#[test]
fn an_error_needs_exit_code_one() {
    let text = "- {id: a, why: b, script: x, expect: {error: {message: '^oh$', status: 400}}}\n";
    let printed = "echo '{\"error\": {\"message\": \"oh\"}, \"status\": 400}'";
    let right = StandIn::new(&format!("{printed}; exit 1"));
    assert_eq!(run_case(&right.engine(), &case(text)), Ok(()));
    let wrong = StandIn::new(printed);
    assert!(run_case(&wrong.engine(), &case(text)).unwrap_err().contains("exit code Some(0)"));
}

#[test]
fn an_executable_that_crashes_prints_nonsense_or_hangs_fails_the_case() {
    let crash = StandIn::new("echo boom >&2; exit 101");
    assert!(run_case(&crash.engine(), &case(SIMPLE)).unwrap_err().contains("boom"));
    let nonsense = StandIn::new("echo hello");
    assert!(run_case(&nonsense.engine(), &case(SIMPLE)).unwrap_err().contains("no envelope"));
    let hang = StandIn::new("exec sleep 60");
    let engine = hang.engine().patience(Duration::from_millis(100));
    assert!(run_case(&engine, &case(SIMPLE)).unwrap_err().contains("hung"));
}

#[test]
fn a_server_that_does_not_start_fails_the_case() {
    let text = "- {id: a, why: b, http: {path: /x}, expect: {status: 200}}\n";
    let stand_in = StandIn::new("echo 'bad settings' >&2; exit 2");
    assert!(run_case(&stand_in.engine(), &case(text)).unwrap_err().contains("bad settings"));
}

/// Calls the upstream, whose address is the script, at each path of its query.
struct Caller(&'static [&'static str]);

impl CaseEngine for Caller {
    fn run_script(&self, case: &Case, folder: &CaseFolder) -> Outcome {
        assert!(folder.path().join(CaseFolder::TABLES).is_dir());
        let base = case.script.clone().unwrap();
        let address = base.trim_start_matches("http://").parse().unwrap();
        for path in self.0 {
            fetch(address, &Request::get(path), Duration::from_secs(10)).unwrap();
        }
        Outcome::Value { value: json!({"at": base}), headers: vec![] }
    }

    fn run_http(&self, _case: &Case, _folder: &CaseFolder) -> Outcome {
        Outcome::Answers(vec![])
    }
}

#[test]
fn the_outcome_and_the_upstream_requests_must_both_be_right() {
    let text = "- {id: a, why: b, script: '{{upstream}}', expect: {value: {at: '{{upstream}}'}}, upstream: [{path: /a, respond: {json: 1}}]}\n";
    assert_eq!(run_case(&Caller(&["/a"]), &case(text)), Ok(()));
    assert!(run_case(&Caller(&[]), &case(text)).unwrap_err().contains("0 times, expected 1"));
    assert!(run_case(&Caller(&["/a", "/a"]), &case(text)).unwrap_err().contains("2 times"));
    assert!(run_case(&Caller(&["/a", "/b"]), &case(text)).unwrap_err().contains("unexpected"));
    let wrong = text.replace("{at: '{{upstream}}'}", "{at: nowhere}");
    assert!(run_case(&Caller(&["/a"]), &case(&wrong)).unwrap_err().contains("$.at is"));
}
