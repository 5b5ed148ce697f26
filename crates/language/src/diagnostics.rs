//! Problems as editors show them.

use qlio_data::Value;
use qlio_syntax::{
    diagnostic::{Diagnostic, Severity},
    source::Span,
};

use crate::{
    document::Document,
    json::{list, object},
};

/// The problems of a document as the protocol writes them; `pages` is where the pages of the codes lie.
pub(crate) fn write(
    problems: &[Diagnostic],
    uri: &str,
    document: &Document,
    pages: Option<&str>,
) -> Value {
    list(problems.iter().map(|problem| write_one(problem, uri, document, pages)))
}

/// One problem: message, notes and hints below each other, further places as related ones.
pub(crate) fn write_one(
    problem: &Diagnostic,
    uri: &str,
    document: &Document,
    pages: Option<&str>,
) -> Value {
    let mut message = problem.message.clone();
    if !problem.primary.text.is_empty() {
        message.push_str(": ");
        message.push_str(&problem.primary.text);
    }
    for note in &problem.notes {
        message.push_str("\nnote: ");
        message.push_str(note);
    }
    for hint in &problem.hints {
        message.push_str("\nhint: ");
        message.push_str(hint);
    }
    let related = problem.secondary.iter().map(|label| {
        let location = object([
            ("uri", Value::from(uri)),
            ("range", document.range(within(label.span, document))),
        ]);
        object([("location", location), ("message", Value::from(label.text.as_str()))])
    });
    let code = problem.code;
    let page = pages.map_or(Value::Absent, |pages| {
        let page = format!("{}/Q{:04}-{}.md", pages.trim_end_matches('/'), code.number, code.slug);
        object([("href", Value::from(page))])
    });
    object([
        ("range", document.range(within(problem.primary.span, document))),
        ("severity", Value::int(if problem.severity == Severity::Error { 1 } else { 2 })),
        ("code", Value::from(code.to_string())),
        ("codeDescription", page),
        ("source", Value::from("qlio")),
        ("message", Value::from(message)),
        ("relatedInformation", list(related)),
    ])
}

/// A span of an older text must not lie outside.
fn within(span: Span, document: &Document) -> Span {
    let end = document.text.len() as u32;
    Span::new(span.start.min(end), span.end.min(end))
}
