//! Quick fixes: what a hint advises, done.
//!
//! A hint names the word that is meant; where it belongs is tried out. Only an edit that makes the
//! problem go away and brings no other error is offered.

use qlio_data::{Object, Value};
use qlio_plan::{Catalog, diagnose};
use qlio_syntax::{diagnostic::Diagnostic, source::Span, tokens::tokens};

use crate::{
    diagnostics,
    document::Document,
    json::{list, object},
};

/// Problems of one request beyond this number are not fixed; each fix is tried out by reading the text.
const FIXES_MAX: usize = 10;

/// The quick fixes of the problems that touch `wanted`.
pub(crate) fn fixes(
    document: &Document,
    uri: &str,
    catalog: &Catalog,
    wanted: Span,
    pages: Option<&str>,
) -> Value {
    let problems = diagnose(&document.text, catalog);
    let touches = |problem: &&Diagnostic| {
        problem.primary.span.start <= wanted.end && wanted.start <= problem.primary.span.end
    };
    let mut found = Vec::new();
    for problem in problems.iter().filter(touches).take(FIXES_MAX) {
        let words = problem.hints.iter().filter_map(|hint| meant(hint));
        let of_message = problem.message.split_once("; ").and_then(|(_, hint)| meant(hint));
        for word in words.chain(of_message) {
            let Some(span) = place(document, problem, word, &problems, catalog) else { continue };
            let edit = object([("range", document.range(span)), ("newText", Value::from(word))]);
            let mut changes = Object::new();
            changes.insert(uri, list([edit]));
            found.push(object([
                ("title", Value::from(format!("Change to `{word}`"))),
                ("kind", Value::from("quickfix")),
                ("diagnostics", list([diagnostics::write_one(problem, uri, document, pages)])),
                ("isPreferred", Value::from(true)),
                ("edit", object([("changes", Value::object(changes))])),
            ]));
        }
    }
    list(found)
}

/// The word that a hint says is meant.
fn meant(hint: &str) -> Option<&str> {
    let rest = ["did you mean `", "keywords are written in lower case: `"]
        .into_iter()
        .find_map(|words| hint.split_once(words))?
        .1;
    rest.split_once('`').map(|(word, _)| word)
}

/// Where the word belongs: at the problem, or in place of the word before it.
fn place(
    document: &Document,
    problem: &Diagnostic,
    word: &str,
    problems: &[Diagnostic],
    catalog: &Catalog,
) -> Option<Span> {
    let text = &*document.text;
    let tokens = tokens(text).tokens;
    let at = tokens.partition_point(|token| token.span.start <= problem.primary.span.start);
    let around = tokens[at.saturating_sub(2)..at].iter().rev().map(|token| token.span);
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let errors_with = |span: Span| {
        let before = text.get(..span.start as usize)?;
        let behind = text.get(span.end as usize..)?;
        let after = diagnose(&format!("{before}{word}{behind}"), catalog);
        let is_same =
            |other: &&Diagnostic| other.code == problem.code && other.message == problem.message;
        let is_left = text.get(span.range()) == Some(word) || after.iter().any(|one| is_same(&one));
        (!is_left).then(|| after.iter().filter(|problem| problem.is_error()).count())
    };
    let places = std::iter::once(problem.primary.span).chain(around);
    let tried = places.filter_map(|span| Some((errors_with(span)?, span)));
    let (left, span) = tried.min_by_key(|(left, _)| *left)?;
    (left <= errors).then_some(span)
}
