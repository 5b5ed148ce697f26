//! Outlines: what a text introduces, and what all of the app does.

use qlio_data::Value;
use qlio_plan::Catalog;
use qlio_syntax::{
    ast::{Create, Primary},
    source::{LineIndex, Span},
    visit::each_statement,
};

use crate::{
    document::Document,
    json::{list, object},
    names::Names,
    position::Position,
    uri::uri_of,
};

const METHOD: i64 = 6;
const CLASS: i64 = 5;
const VARIABLE: i64 = 13;
const EVENT: i64 = 24;

/// Symbols of the whole app beyond this number are left out.
const FOUND_MAX: usize = 500;

fn symbol(
    document: &Document,
    name: &str,
    kind: i64,
    whole: Span,
    place: Span,
    children: Vec<Value>,
) -> Value {
    object([
        ("name", Value::from(name)),
        ("kind", Value::int(kind)),
        ("range", document.range(whole.to(place))),
        ("selectionRange", document.range(place)),
        ("children", list(children)),
    ])
}

/// Tables with their verbs, variables and the route of a document.
pub(crate) fn outline(document: &Document, names: &Names) -> Value {
    let mut found = Vec::new();
    let script = &names.read.script;
    each_statement(&script.items, &mut |statement| {
        for primary in &statement.alternatives {
            if let Primary::Create(create) = primary {
                found.push(table(document, create, statement.span));
            }
        }
        if let Some(target) = &statement.target {
            let symbol =
                symbol(document, &target.text, VARIABLE, statement.span, target.span, Vec::new());
            found.push(symbol);
        }
    });
    if let Some(result) = &script.result
        && let Some(route) = &result.route
    {
        let name = format!("{} {}", route.method.text, route.path.text);
        found.push(symbol(document, &name, EVENT, result.span, route.path.span, Vec::new()));
    }
    list(found)
}

fn table(document: &Document, create: &Create, whole: Span) -> Value {
    let verbs = create.verbs.iter().map(|verb| {
        let name = format!("on {} {}", verb.kind.as_str(), verb.method.text);
        symbol(document, &name, METHOD, verb.span, verb.uri.span, Vec::new())
    });
    symbol(document, &create.name.text, CLASS, whole, create.name.span, verbs.collect())
}

/// The tables and routes of the app whose names hold `query`, in any letter case.
pub(crate) fn of_app(query: &str, catalog: &Catalog) -> Value {
    let query = query.to_lowercase();
    let is_wanted = |name: &str| name.to_lowercase().contains(&query);
    let write = |name: &str, kind: i64, file: &str, line: usize| {
        let start = Position { line, unit: 0 }.to_value();
        let range = object([("start", start.clone()), ("end", start)]);
        let location = object([("uri", Value::from(uri_of(file))), ("range", range)]);
        object([("name", Value::from(name)), ("kind", Value::int(kind)), ("location", location)])
    };
    let tables = catalog.tables().iter().filter(|table| is_wanted(&table.name));
    let tables =
        tables.map(|table| write(&table.name, CLASS, &table.file, table.line as usize - 1));
    let routes = catalog.routes().iter().filter(|route| is_wanted(&route.path));
    let routes = routes.map(|route| {
        let at = route.plan.route.as_ref().map_or(0, |spec| spec.path_span.start);
        let line = LineIndex::new(&route.plan.text).line(at) as usize - 1;
        write(&format!("{} {}", route.method, route.path), EVENT, &route.file, line)
    });
    list(tables.chain(routes).take(FOUND_MAX))
}

/// The blocks, statements and comments that stand on several lines.
pub(crate) fn folds(document: &Document, names: &Names) -> Value {
    let mut spans: Vec<(Span, Option<&'static str>)> = Vec::new();
    each_statement(&names.read.script.items, &mut |statement| spans.push((statement.span, None)));
    for item in &names.read.script.items {
        use qlio_syntax::ast::Item;
        match item {
            Item::If(node) => spans.push((node.span, None)),
            Item::Try(node) => spans.push((node.span, None)),
            Item::Statement(_) | Item::Throw(_) => {}
        }
    }
    spans.extend(names.read.script.result.as_ref().map(|result| (result.span, None)));
    let comments = names.read.tokens.iter();
    let comments = comments.filter(|token| token.kind == qlio_syntax::tokens::TokenKind::Comment);
    spans.extend(comments.map(|token| (token.span, Some("comment"))));
    spans.sort_by_key(|(span, _)| *span);
    list(spans.into_iter().filter_map(|(span, kind)| {
        let line = |at: u32| document.positions.position(&document.text, at as usize).line;
        let (start, end) = (line(span.start), line(span.end));
        (start < end).then(|| {
            object([
                ("startLine", Value::from(start)),
                ("endLine", Value::from(end)),
                ("kind", kind.map_or(Value::Absent, Value::from)),
            ])
        })
    }))
}
