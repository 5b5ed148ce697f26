//! What a name is, in a few lines of Markdown.

use std::fmt::Write;

use qlio_data::{Value, compute::function};
use qlio_plan::{
    Catalog,
    catalog::{Table, Verb},
};
use qlio_syntax::{source::Span, visit::each_statement};

use crate::{
    document::Document,
    json::object,
    names::{Meaning, Names, Occurrence},
};

/// Routes beyond this number are only counted.
const ROUTES_SHOWN_MAX: usize = 10;

/// Statements are shown up to this number of characters.
const STATEMENT_SHOWN_CHARS_MAX: usize = 400;

/// What is known of the name at an offset; null if nothing is.
pub(crate) fn at(document: &Document, names: &Names, offset: usize, catalog: &Catalog) -> Value {
    let Some(one) = names.at(offset) else { return Value::Null };
    let Some(text) = describe(document, names, one, catalog) else { return Value::Null };
    let contents = object([("kind", Value::from("markdown")), ("value", Value::from(text))]);
    object([("contents", contents), ("range", document.range(one.span))])
}

fn describe(
    document: &Document,
    names: &Names,
    one: &Occurrence,
    catalog: &Catalog,
) -> Option<String> {
    let name = one.name.as_str();
    Some(match one.meaning {
        Meaning::Table => match catalog.table(name) {
            Some(table) => describe_table(table, catalog),
            None if names.symbols.tables.iter().any(|table| table.name == name) => {
                format!("**table** `{name}`, created by this script")
            }
            None => return None,
        },
        Meaning::Variable => {
            let mut text = format!("**variable** `{name}`");
            if let Some(span) = statement_of(names, name) {
                text.push_str(&code(shorten(document.slice(span))));
            }
            text
        }
        Meaning::Alias(_) => {
            let alias = names.symbols.aliases.iter().find(|alias| alias.name == name)?;
            format!("**alias** `{name}` of `{}`", alias.source)
        }
        Meaning::Function => {
            let function = function::find(name)?;
            let mut text = code(function.signature);
            text.push_str(function.summary);
            for (call, result) in function.examples {
                let _ = write!(text, "\n- `{call}` is `{result}`");
            }
            text
        }
        Meaning::Parameter => format!("**parameter** `{name}` of the table"),
        Meaning::RouteParameter => format!("**parameter** `{name}` of the route"),
        Meaning::Setting => "the app's **settings**; `{config.name}` is one of them".to_owned(),
        Meaning::Column => return None,
    })
}

/// Where the statement stands that binds a variable.
fn statement_of(names: &Names, name: &str) -> Option<Span> {
    let mut found = None;
    each_statement(&names.read.script.items, &mut |statement| {
        if statement.target.as_ref().is_some_and(|target| target.text == name) {
            found.get_or_insert(statement.span);
        }
    });
    found
}

/// A table in some Markdown: its documentation, its requests and parameters, which routes use it.
pub fn describe_table(table: &Table, catalog: &Catalog) -> String {
    let mut text = format!("**table** `{}`\n\n", table.name);
    for docs in &table.docs {
        let _ = writeln!(text, "{}\n", docs.trim());
    }
    if let Some(broken) = &table.broken {
        let _ = writeln!(text, "It cannot be used: {broken}\n");
    }
    for verb in table.verbs() {
        describe_verb(verb, &mut text);
    }
    let uses = |tables: &[String]| tables.iter().any(|used| **used == *table.name);
    let routes: Vec<_> =
        catalog.routes().iter().filter(|route| uses(&route.plan.loaded_tables)).collect();
    if !routes.is_empty() {
        let shown = routes.iter().take(ROUTES_SHOWN_MAX);
        let shown: Vec<_> =
            shown.map(|route| format!("`{} {}`", route.method, route.path)).collect();
        let rest = routes.len().saturating_sub(ROUTES_SHOWN_MAX);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let _ = writeln!(text, "\nused by {}{rest}", shown.join(", "));
    }
    text
}

fn describe_verb(verb: &Verb, text: &mut String) {
    let (kind, method) = (verb.kind.as_str(), verb.method.as_str());
    let _ = writeln!(text, "- **{kind}**: `{method} {}`", verb.written.uri);
    let (required, optional): (Vec<_>, Vec<_>) =
        verb.uri.tokens().iter().partition(|token| token.is_required);
    for (words, tokens) in [("needs", required), ("takes", optional)] {
        let names: Vec<_> = tokens.iter().map(|token| format!("`{}`", token.name)).collect();
        if !names.is_empty() {
            let _ = writeln!(text, "  - {words} {}", names.join(", "));
        }
    }
    let defaults: Vec<_> =
        verb.written.defaults.iter().map(|(name, _)| format!("`{name}`")).collect();
    if !defaults.is_empty() {
        let _ = writeln!(text, "  - has defaults for {}", defaults.join(", "));
    }
}

/// A block of code, fenced by more backticks than it holds in a row.
fn code(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("\n{fence}qlio\n{text}\n{fence}\n")
}

fn shorten(text: &str) -> &str {
    let end = text.char_indices().nth(STATEMENT_SHOWN_CHARS_MAX);
    end.map_or(text, |(at, _)| &text[..at])
}
