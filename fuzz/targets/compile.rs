//! Any text compiles to a plan or to diagnostics, and each plan can be explained in every form.
//!
//! What must hold: no panic; every place of a diagnostic lies in the text; a plan has no problem that
//! is an error; its edges and levels name nodes that exist, and each node but the fallbacks and the
//! `return` stands in one level; the JSON form is JSON; the same text gives the same bytes.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use qlio_data::codec::json;
use qlio_plan::{
    Catalog, CompileOptions, Compiled, Origin,
    catalog::{CatalogBuilder, Resources, ScriptFile, Unreadable},
    compile, complete, diagnose,
    explain::{Explanation, explain, to_dot, to_json, to_svg, to_text, to_yuml},
};
use qlio_syntax::diagnostic::{Diagnostic, Severity};

const TABLES: &str = "\
-- Finds books
create table find on select get from 'http://api.test/find?q={^q}&n={5|n}' resultset 'page.hits'
create table lib.book on select get from 'http://{config.host}/book?id={id}&rpp={rpp}'
    with aliases limit = 'rpp' using headers 'X-Key' = '{config.key}' using defaults id = '7'
  on insert post to 'http://api.test/book' using bodyTemplate 'order.mu' type 'application/xml'
  on update put to 'http://api.test/book?id={id}'
  on delete delete 'http://api.test/book?id={^id}'
create table lib.rate on select get from 'http://api.test/rate?id={#id}' using patch 'patch.js'
create table lib.broken on select get from 'http://api.test/{'
";

const ROUTE: &str =
    "return select * from find where q = '{q}' via route '/find/{q}' using method get";

/// A few files beside the tables.
struct Files;

impl Resources for Files {
    fn template(&self, _: &str, name: &str) -> Result<String, Unreadable> {
        if name == "order.mu" {
            Ok("<o>{{params.id}}</o>".into())
        } else {
            Err(Unreadable::NoSuchFile(name.to_owned()))
        }
    }

    fn module(&self, _: &str, name: &str) -> Result<ScriptFile, Unreadable> {
        let file = || ScriptFile { folder: Arc::default(), path: "/patch.js".into() };
        if name == "patch.js" { Ok(file()) } else { Err(Unreadable::NoSuchFile(name.to_owned())) }
    }

    fn schema(&self, _: &str, name: &str) -> Result<Vec<u8>, Unreadable> {
        Err(Unreadable::NoSuchFile(name.to_owned()))
    }
}

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let config = json::parse_str(r#"{"host":"api.test","key":"k"}"#).expect("valid JSON");
    let mut builder = CatalogBuilder::new(config, &Files);
    builder.add_table_file("tables.ql", TABLES);
    builder.add_route_file("find.ql", ROUTE);
    builder.finish().0
});

fuzz_target!(|text: &str| {
    for origin in [Origin::Stored, Origin::AdHoc] {
        let options = CompileOptions { origin, file: "fuzz.ql", resources: &Files };
        match compile(text, &CATALOG, &options) {
            Ok(compiled) => {
                check_places(&compiled.warnings, text);
                let no_error = |problem: &Diagnostic| problem.severity == Severity::Warning;
                assert!(compiled.warnings.iter().all(no_error));
                let first = all_forms(&compiled);
                let again = compile(text, &CATALOG, &options).expect("it compiled before");
                assert_eq!(first, all_forms(&again));
            }
            Err(problems) => {
                assert!(!problems.is_empty());
                check_places(&problems, text);
            }
        }
    }
    check_places(&diagnose(text, &CATALOG), text);
    complete::at(text, text.floor_char_boundary(text.len() / 2), &CATALOG);
});

fn check_places(problems: &[Diagnostic], text: &str) {
    for problem in problems {
        for label in std::iter::once(&problem.primary).chain(&problem.secondary) {
            let range = label.span.start as usize..label.span.end as usize;
            assert!(text.get(range).is_some(), "{problem:?}");
        }
    }
}

fn all_forms(compiled: &Compiled) -> [String; 5] {
    let explanation = explain(&compiled.plan);
    check_picture(&explanation);
    let as_json = to_json(&explanation, None);
    json::parse_str(&as_json).expect("an explanation is JSON");
    [
        to_text(&explanation, None),
        as_json,
        to_dot(&explanation, None),
        to_svg(&explanation, None),
        to_yuml(&explanation),
    ]
}

fn check_picture(explanation: &Explanation) {
    let nodes = explanation.nodes.len();
    assert!(explanation.edges.iter().all(|edge| edge.from < nodes && edge.to < nodes));
    let mut is_listed = vec![false; nodes];
    for position in explanation.levels.iter().flatten() {
        assert!(!std::mem::replace(&mut is_listed[*position], true), "a node in two levels");
    }
    for (node, is_listed) in explanation.nodes.iter().zip(is_listed) {
        let is_apart = node.fallback_of.is_some() || node.kind == "return";
        assert_eq!(is_listed, !is_apart, "{}", node.label());
    }
}
