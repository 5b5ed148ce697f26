//! The page on security names the tests that show each guard: all of them exist.

use std::collections::BTreeSet;
use std::fs;

use super::{docs, files_below, none};

/// The head of the column with names of tests.
const COLUMN: &str = "| Shown by |";

/// What stands before the name of a group of `bench/attacks`.
const ATTACKS: &str = "attacks ";

#[test]
fn every_guard_names_tests_that_exist() {
    let page = fs::read_to_string(docs().join("security.md")).unwrap();
    let (functions, cases, groups) = (test_functions(), cases(), groups());
    let mut problems = Vec::new();
    let mut named = 0;
    let mut is_guards = false;
    for line in page.lines() {
        if !line.starts_with('|') {
            is_guards = false;
        } else if line.ends_with(COLUMN) {
            is_guards = true;
        } else if is_guards && !line.starts_with("| ---") {
            let column = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
            let names: Vec<&str> = column.split('`').skip(1).step_by(2).collect();
            if names.is_empty() {
                problems.push(format!("no test: {line}"));
            }
            for name in names {
                named += 1;
                let exists = match name.strip_prefix(ATTACKS) {
                    Some(group) => groups.contains(group),
                    None if name.contains("::") => cases.contains(name),
                    None => functions.contains(name),
                };
                if !exists {
                    problems.push(format!("`{name}` does not exist"));
                }
            }
        }
    }
    assert!(named > 40, "only {named} tests are named");
    none(&problems);
}

/// The names of all test functions of the workspace.
fn test_functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in files_below(&docs().join("../crates"), "rs") {
        let text = fs::read_to_string(path).unwrap();
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with("#[") {
                is_test |= line.starts_with("#[test]") || line.contains("::test");
            } else if let Some((_, rest)) = line.split_once("fn ") {
                if is_test {
                    names.extend(rest.split('(').next().map(str::to_owned));
                }
                is_test = false;
            }
        }
    }
    assert!(names.len() > 1000, "only {} tests", names.len());
    names
}

/// All cases, as `folder/file::id`.
fn cases() -> BTreeSet<String> {
    let folder = docs().join("../spec");
    let mut names = BTreeSet::new();
    for path in files_below(&folder, "yaml") {
        let file = path.strip_prefix(&folder).unwrap().with_extension("");
        let text = fs::read_to_string(&path).unwrap();
        let ids = text.lines().filter_map(|line| line.strip_prefix("- id: "));
        names.extend(ids.map(|id| format!("{}::{}", file.display(), id.trim())));
    }
    names
}

/// The groups of `bench/attacks`.
fn groups() -> BTreeSet<String> {
    let suite = fs::read_to_string(docs().join("../bench/harness/attacks/suite.py")).unwrap();
    let groups = suite.split_once("GROUPS = {").unwrap().1.split_once('}').unwrap().0;
    groups.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}
