//! Semantic tokens: what each stretch of a text is, for colours.

use qlio_data::Value;
use qlio_plan::Catalog;
use qlio_syntax::{
    source::Span,
    tokens::{Role, TokenKind},
};

use crate::{
    document::Document,
    json::{list, object},
    names::{Meaning, Names},
    position::Position,
};

/// The kinds, in the order of their numbers.
const KINDS: [&str; 9] = [
    "keyword",
    "variable",
    "class",
    "property",
    "parameter",
    "function",
    "string",
    "number",
    "comment",
];

/// What tells clients the numbers of kinds.
pub(crate) fn legend() -> Value {
    object([
        ("tokenTypes", list(KINDS.into_iter().map(Value::from))),
        ("tokenModifiers", list([Value::from("declaration")])),
    ])
}

/// A stretch of a text that has a colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Painted {
    /// Where it stands.
    pub span: Span,
    /// What it is, as the protocol calls it: `keyword`, `variable`, `class` (a table), `property` (a column),
    /// `parameter`, `function`, `string`, `number` or `comment`.
    pub kind: &'static str,
    /// Whether the name is introduced here.
    pub is_definition: bool,
}

/// The coloured stretches of a text, which do not overlap, in text order.
pub fn paint(text: &str, catalog: &Catalog) -> Vec<Painted> {
    painted(text, &Names::of(text, catalog))
}

/// The tokens of `document` within `wanted`, as the protocol packs them.
pub(crate) fn tokens(document: &Document, names: &Names, wanted: Span) -> Value {
    let mut data = Vec::new();
    let mut last = Position { line: 0, unit: 0 };
    let is_wanted = |span: Span| span.start < wanted.end && wanted.start < span.end;
    for painted in painted(&document.text, names).into_iter().filter(|one| is_wanted(one.span)) {
        let kind = KINDS.iter().position(|kind| *kind == painted.kind).unwrap_or_default();
        for (start, length) in by_line(document, painted.span) {
            let same_line = start.line == last.line;
            let unit = if same_line { start.unit - last.unit } else { start.unit };
            let modifiers = usize::from(painted.is_definition);
            data.extend([start.line - last.line, unit, length, kind, modifiers]);
            last = start;
        }
    }
    object([("data", list(data.into_iter().map(Value::from)))])
}

/// Stretches that do not overlap, in text order: names lie upon the texts that hold them.
fn painted(text: &str, names: &Names) -> Vec<Painted> {
    let mut all = Vec::new();
    let mut inner = names.occurrences.iter().peekable();
    for token in &names.read.tokens {
        let kind = match token.kind {
            TokenKind::Keyword | TokenKind::Literal => "keyword",
            TokenKind::Number => "number",
            TokenKind::Text | TokenKind::Brace => "string",
            TokenKind::Comment => "comment",
            TokenKind::Name if token.role == Role::Function => "function",
            TokenKind::Name => "property",
            TokenKind::Symbol | TokenKind::Skipped => continue,
        };
        let mut start = token.span.start;
        while let Some(one) = inner.next_if(|one| one.span.start < token.span.end) {
            if one.span.start < start || one.span.end > token.span.end {
                continue;
            }
            push(&mut all, Span::new(start, one.span.start), kind, false);
            push(&mut all, one.span, kind_of(one.meaning), one.is_definition);
            start = one.span.end;
        }
        push(&mut all, Span::new(start, token.span.end), kind, false);
    }
    let end = text.len() as u32;
    all.retain(|one| one.span.end <= end);
    all
}

fn push(all: &mut Vec<Painted>, span: Span, kind: &'static str, is_definition: bool) {
    if span.start < span.end {
        all.push(Painted { span, kind, is_definition });
    }
}

fn kind_of(meaning: Meaning) -> &'static str {
    match meaning {
        Meaning::Variable | Meaning::Alias(_) | Meaning::Setting => "variable",
        Meaning::Table => "class",
        Meaning::Parameter | Meaning::RouteParameter => "parameter",
        Meaning::Function => "function",
        Meaning::Column => "property",
    }
}

/// The parts of a stretch on each of its lines, with their lengths; line ends belong to none.
fn by_line(document: &Document, span: Span) -> Vec<(Position, usize)> {
    let Document { text, positions } = document;
    let first = positions.position(text, span.start as usize);
    let last = positions.position(text, span.end as usize);
    let mut parts = Vec::new();
    for line in first.line..=last.line {
        let start = if line == first.line { first.unit } else { 0 };
        let end = if line == last.line {
            last.unit
        } else {
            positions.position(text, positions.line_end(text, line)).unit
        };
        if start < end {
            parts.push((Position { line, unit: start }, end - start));
        }
    }
    parts
}
