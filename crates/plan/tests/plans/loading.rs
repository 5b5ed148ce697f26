//! What loading reports about table and route files, with codes and positions.

use crate::{catalog, line_of, load};

/// All problems, one line each, the file in front.
fn problems(tables: &[(&str, &str)], routes: &[(&str, &str)]) -> Vec<String> {
    let (_, problems) = load(tables, routes);
    let lines = problems.iter().flat_map(|file| {
        file.diagnostics
            .iter()
            .map(|problem| format!("{} {}", file.file, line_of(problem, &file.text)))
    });
    lines.collect()
}

fn of_table(text: &str) -> Vec<String> {
    problems(&[("t.ql", text)], &[])
}

#[test]
fn an_unreadable_body_template_breaks_the_table_with_its_position() {
    let text = "create table t on insert post to 'http://api.test/t'\n  using bodyTemplate 'gone.mu' type 'text/plain'";
    assert_eq!(
        of_table(text),
        [
            "t.ql Error Q3003 missing-body-template 2:22 cannot read body template `gone.mu`: no such file `gone.mu`"
        ]
    );
    let (catalog, _) = load(&[("t.ql", text)], &[]);
    assert!(catalog.table("t").is_some_and(|table| table.broken.is_some()));
}

#[test]
fn an_unknown_connector_is_named() {
    assert_eq!(
        of_table("create table t via smtp on select get from 'http://api.test/t'"),
        ["t.ql Error Q3009 unknown-connector 1:20 unknown connector `smtp`"]
    );
}

#[test]
fn a_bad_uri_template_is_named() {
    let found = of_table("create table t on select get from 'http://api.test/t?a={a'");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("t.ql Error Q3005 bad-uri-template 1:35 "), "{found:?}");
}

#[test]
fn a_bad_format_clause_is_named() {
    let table =
        |clause: &str| format!("create table t on select get from 'http://api.test/t' {clause}");
    assert_eq!(
        of_table(&table("using format 'yaml'")),
        ["t.ql Error Q3015 unknown-format 1:68 unknown format `yaml`"]
    );
    let found = of_table(&table("using format 'protobuf' message 'M'"));
    assert!(found[0].starts_with("t.ql Error Q3015 unknown-format 1:"), "{found:?}");
    let found = of_table(&table("using format 'protobuf' message 'M' from 'm.proto'"));
    assert!(found[0].contains("Q3012 missing-schema"), "{found:?}");
    assert!(found[0].contains("cannot load schema `m.proto`: no such file `m.proto`"), "{found:?}");
    let found = of_table(&table("using xml coerce 'wild'"));
    assert!(found[0].contains("unknown XML coercion `wild`"), "{found:?}");
}

#[test]
fn a_missing_patch_is_named() {
    let found =
        of_table("create table t on select get from 'http://api.test/t' using patch 'p.js'");
    assert_eq!(
        found,
        ["t.ql Error Q3004 missing-patch 1:67 cannot load module `p.js`: no such file `p.js`"]
    );
}

#[test]
fn a_second_declaration_replaces_the_first_with_a_warning() {
    let first = "create table t on select get from 'http://api.test/one'";
    let second = "\ncreate table t on select get from 'http://api.test/two'";
    let found = problems(&[("a.ql", first), ("b.ql", second)], &[]);
    assert_eq!(
        found,
        ["b.ql Warning Q3001 duplicate-table 2:14 table `t` replaces the one declared in a.ql:1"]
    );
    let (catalog, _) = load(&[("a.ql", first), ("b.ql", second)], &[]);
    assert_eq!(catalog.tables().len(), 1);
    let uri = catalog
        .table("t")
        .and_then(|table| table.verbs().next().map(|verb| verb.uri.text().to_owned()));
    assert_eq!(uri.as_deref(), Some("http://api.test/two"));
}

#[test]
fn a_file_with_a_syntax_error_loads_nothing_and_stops_nobody() {
    let (catalog, problems) = load(
        &[
            ("a.ql", "create table a on select get frm 'http://api.test/a'"),
            ("b.ql", "create table b on select get from 'http://api.test/b'"),
            ("c.ql", " \n"),
        ],
        &[],
    );
    assert!(catalog.table("a").is_none() && catalog.table("b").is_some());
    let files: Vec<_> = problems.iter().map(|file| &*file.file).collect();
    assert_eq!(files, ["a.ql", "c.ql"]);
}

#[test]
fn routes_report_what_scripts_report() {
    let found = problems(
        &[],
        &[
            ("r1.ql", "return 1"),
            ("r2.ql", "a = 1\na = 2\nreturn a via route '/a' using method get"),
            ("r3.ql", "return x via route '/b' using method get"),
            ("r4.ql", ""),
        ],
    );
    let expected = [
        "r1.ql Warning Q3008 route-without-clause 1:1 the script has no `via route` clause, so it is not served",
        "r2.ql Error Q2002 duplicate-symbol 2:1 Line 2: Duplicate symbol a",
        "r3.ql Error Q2001 unresolved-symbol 1:8 Line 1: Unresolved symbol 'x'",
        "r4.ql Error Q2000 missing-script 1:1 Missing script",
    ];
    let strip = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        [&words[..2], &words[4..]].concat().join(" ")
    };
    let found: Vec<_> = found.iter().map(|line| strip(line)).collect();
    let expected: Vec<_> = expected.iter().map(|line| strip(line)).collect();
    assert_eq!(found, expected);
}

#[test]
fn settings_are_filled_at_load_and_comments_become_documentation() {
    let text =
        "-- About t\n-- and more\ncreate table t on select get from 'http://{config.host}/t'";
    let (catalog, problems) = load(&[("t.ql", text)], &[]);
    assert!(problems.is_empty(), "{problems:?}");
    let Some(table) = catalog.table("t") else { panic!("no table") };
    assert_eq!(table.docs, ["About t", "and more"]);
    assert_eq!(table.verbs().next().map(|verb| verb.uri.text()), Some("http://api.test/t"));
}

#[test]
fn the_fixture_of_these_tests_loads() {
    assert_eq!(catalog().tables().len(), 6);
}

#[test]
fn modules_and_transformers_that_cannot_be_read_have_codes_of_their_own() {
    let table =
        |clause: &str| format!("create table t on select get from 'http://api.test/t' {clause}");
    assert_eq!(
        of_table(&table("auth using 'a.js'")),
        [
            "t.ql Error Q3016 missing-auth-module 1:66 cannot load module `a.js`: no such file `a.js`"
        ]
    );
    assert_eq!(
        of_table(&table("using transformer 'x.js'")),
        [
            "t.ql Error Q3017 missing-transformer 1:73 cannot load module `x.js`: no such file `x.js`"
        ]
    );
}

#[test]
fn an_empty_step_of_a_resultset_is_a_warning_and_the_table_works() {
    let text = "create table t on select get from 'http://api.test/t' resultset 'page..items'";
    assert_eq!(
        of_table(text),
        ["t.ql Warning Q3024 bad-resultset 1:65 resultset `page..items` has an empty step"]
    );
    let (catalog, _) = load(&[("t.ql", text)], &[]);
    assert!(catalog.table("t").is_some_and(|table| table.broken.is_none()));
}

#[test]
fn other_statements_in_table_files_are_warned_about_once() {
    let text = "create table t on select get from 'http://api.test/t'\na = 1\nreturn a";
    assert_eq!(
        of_table(text),
        [
            "t.ql Warning Q3019 foreign-statement 2:1 only `create table` has an effect in a table file"
        ]
    );
    assert_eq!(of_table("return 1").len(), 1);
}
