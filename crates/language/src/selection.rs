//! Selections that grow: from the word at the cursor over brackets and selects to the statement.
//!
//! In: a document and a place. Out: stretches, each inside of the next.

use qlio_data::Value;
use qlio_syntax::{
    source::Span,
    tokens::TokenKind,
    visit::{each_select, each_statement},
};

use crate::{document::Document, json::object, names::Names};

/// The stretches around an offset as the protocol nests them, the smallest outermost.
pub(crate) fn around(document: &Document, names: &Names, offset: usize) -> Value {
    let mut range = Value::Absent;
    for span in spans(document, names, offset).into_iter().rev() {
        range = object([("range", document.range(span)), ("parent", range)]);
    }
    range
}

/// The stretches that hold an offset, from the smallest to the whole text.
fn spans(document: &Document, names: &Names, offset: usize) -> Vec<Span> {
    let mut found = Vec::new();
    let mut open: Vec<Span> = Vec::new();
    for token in &names.read.tokens {
        if token.kind != TokenKind::Symbol {
            found.push(token.span);
            continue;
        }
        match document.slice(token.span) {
            "(" | "[" | "{" => open.push(token.span),
            ")" | "]" | "}" => {
                if let Some(start) = open.pop() {
                    found.push(Span::new(start.end, token.span.start));
                    found.push(Span::new(start.start, token.span.end));
                }
            }
            _ => {}
        }
    }
    let script = &names.read.script;
    each_select(script, &mut |select| found.push(select.span));
    each_statement(&script.items, &mut |statement| found.push(statement.span));
    found.extend(script.result.as_ref().map(|result| result.span));
    found.push(Span::new(0, document.text.len() as u32));
    let offset = offset as u32;
    found.retain(|span| span.start <= offset && offset <= span.end);
    found.sort_by_key(|span| (span.end - span.start, span.start));
    // Of two that end at the cursor from either side only one can be grown.
    let mut nested: Vec<Span> = Vec::new();
    for span in found {
        let holds = |last: &Span| span.start <= last.start && last.end <= span.end && span != *last;
        if nested.last().is_none_or(holds) {
            nested.push(span);
        }
    }
    nested
}
