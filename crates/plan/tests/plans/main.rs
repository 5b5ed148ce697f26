//! Plans as their explanations show them, what scans push down, and what loading reports.

mod compiling;
mod completing;
mod diagnosing;
mod explaining;
mod growth;
mod loading;
mod pushdown;

use std::sync::Arc;

use qlio_data::{Value, codec::json};
use qlio_plan::{
    Catalog, CompileOptions, Origin, Plan,
    catalog::{CatalogBuilder, FileDiagnostics, Resources, ScriptFile, Unreadable},
    compile,
};
use qlio_syntax::{diagnostic::Diagnostic, source::LineIndex};

/// The files beside the tables of these tests.
struct Files;

impl Resources for Files {
    fn template(&self, _: &str, name: &str) -> Result<String, Unreadable> {
        match name {
            "order.xml.mu" => Ok("<order>{{id}} {{rows}}</order>".to_owned()),
            _ => Err(Unreadable::NoSuchFile(name.to_owned())),
        }
    }

    fn module(&self, _: &str, name: &str) -> Result<ScriptFile, Unreadable> {
        match name {
            "patch.js" => Ok(ScriptFile { folder: Arc::default(), path: "/patch.js".to_owned() }),
            _ => Err(Unreadable::NoSuchFile(name.to_owned())),
        }
    }

    fn schema(&self, _: &str, name: &str) -> Result<Vec<u8>, Unreadable> {
        Err(Unreadable::NoSuchFile(name.to_owned()))
    }
}

const TABLES: &str = "\
-- Finds books
create table lib.find on select get from 'http://api.test/find?q={^q}&n={n}' resultset 'page.hits'
create table lib.book on select get from 'http://api.test/book?id={id}'
  on insert post to 'http://api.test/book' using bodyTemplate 'order.xml.mu' type 'application/xml'
  on delete delete 'http://api.test/book?id={^id}'
create table lib.rate on select get from 'http://api.test/rate?id={#id}' resultset 'r'
create table lib.page on select get from 'http://api.test/page?rpp={rpp}' with aliases limit = 'rpp'
create table lib.hook on select get from 'http://api.test/hook' using patch 'patch.js'
create table lib.csv on select get from 'http://api.test/csv' using format 'csv' root 'rows' resultset 'rows'
";

fn catalog() -> Catalog {
    let (catalog, problems) = load(&[("tables.ql", TABLES)], &[]);
    assert!(problems.is_empty(), "{problems:?}");
    catalog
}

/// Loads table files, then route files.
fn load(tables: &[(&str, &str)], routes: &[(&str, &str)]) -> (Catalog, Vec<FileDiagnostics>) {
    let config = json::parse_str(r#"{"host":"api.test"}"#).unwrap_or(Value::Absent);
    let mut builder = CatalogBuilder::new(config, &Files);
    for (file, text) in tables {
        builder.add_table_file(file, text);
    }
    for (file, text) in routes {
        builder.add_route_file(file, text);
    }
    builder.finish()
}

fn try_plan(text: &str) -> Result<Plan, Vec<Diagnostic>> {
    let options = CompileOptions { origin: Origin::Stored, file: "script", resources: &Files };
    compile(text, &catalog(), &options).map(|compiled| compiled.plan)
}

fn plan(text: &str) -> Plan {
    try_plan(text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// `Q3005 bad-uri-template 2:31 bad URI template: …`.
fn line_of(problem: &Diagnostic, text: &str) -> String {
    let position = LineIndex::new(text).position(text, problem.primary.span.start);
    format!(
        "{:?} {} {}:{} {}",
        problem.severity,
        problem.code,
        position.line,
        position.column,
        problem.full_message()
    )
}
