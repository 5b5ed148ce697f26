//! What could be written at the cursor: names and keywords of the planner, and built-in functions.

use qlio_data::{
    Value,
    compute::{aggregate::Aggregate, function},
};
use qlio_plan::{
    Catalog,
    complete::{self, CompletionKind},
};
use qlio_syntax::{complete::Wanted, source::Span};

use crate::{
    document::Document,
    json::{list, object},
};

/// More are not sent; the client asks again when more is typed.
const ITEMS_MAX: usize = 1000;

/// Something that could be written.
#[derive(Debug, Clone)]
pub struct Suggestion {
    /// The text to write.
    pub label: String,
    /// A few words about it; may be empty.
    pub detail: String,
    /// The stretch that it replaces.
    pub replace: Span,
    kind: i64,
    documentation: Option<&'static str>,
}

/// What could be written at byte `offset` of `text`, in the order in which it fits best.
pub fn suggest(text: &str, offset: usize, catalog: &Catalog) -> Vec<Suggestion> {
    let mut found: Vec<Suggestion> = complete::at(text, offset, catalog)
        .into_iter()
        .map(|one| Suggestion {
            kind: number(one.kind),
            label: one.label,
            detail: one.detail,
            documentation: None,
            replace: one.replace,
        })
        .collect();
    add_functions(text, offset, &mut found);
    found
}

/// The completions at an offset.
pub(crate) fn at(document: &Document, offset: usize, catalog: &Catalog) -> Value {
    let mut found = suggest(&document.text, offset, catalog);
    let is_cut = found.len() > ITEMS_MAX;
    found.truncate(ITEMS_MAX);
    // They come in the order in which they fit best; clients would order them by name.
    let items = found.iter().enumerate().map(|(rank, item)| item.write(rank, document));
    object([("isIncomplete", Value::from(is_cut)), ("items", list(items))])
}

impl Suggestion {
    fn write(&self, rank: usize, document: &Document) -> Value {
        let edit = object([
            ("range", document.range(self.replace)),
            ("newText", Value::from(self.label.as_str())),
        ]);
        let detail =
            if self.detail.is_empty() { Value::Absent } else { Value::from(self.detail.as_str()) };
        object([
            ("label", Value::from(self.label.as_str())),
            ("kind", Value::int(self.kind)),
            ("detail", detail),
            ("documentation", self.documentation.map_or(Value::Absent, Value::from)),
            ("sortText", Value::from(format!("{rank:05}"))),
            ("filterText", Value::from(self.label.as_str())),
            ("textEdit", edit),
        ])
    }
}

/// Functions stand where columns do, and aggregates but in `where`.
fn add_functions(text: &str, offset: usize, found: &mut Vec<Suggestion>) {
    let wanted = qlio_syntax::complete::at(text, offset);
    if !wanted.wants.iter().any(|wanted| matches!(wanted, Wanted::Column { .. })) {
        return;
    }
    let is_where = wanted.wants.iter().any(|wanted| matches!(wanted, Wanted::Parameter { .. }));
    let aggregates = Aggregate::ALL.iter().filter(|_| !is_where).map(|one| one.describe());
    let aggregates = aggregates.map(|one| (one.name, one.signature, one.summary));
    let functions = function::all().map(|one| (one.name, one.signature, one.summary));
    let fitting = functions.chain(aggregates).filter(|(name, ..)| name.starts_with(&wanted.typed));
    found.extend(fitting.map(|(name, signature, summary)| Suggestion {
        label: name.to_owned(),
        kind: 3,
        detail: signature.to_owned(),
        documentation: Some(summary),
        replace: wanted.replace,
    }));
}

/// The protocol's number of a kind.
fn number(kind: CompletionKind) -> i64 {
    match kind {
        CompletionKind::Table => 7,
        CompletionKind::Variable | CompletionKind::Token => 6,
        CompletionKind::Parameter | CompletionKind::Column => 10,
        CompletionKind::Route => 17,
        CompletionKind::Connector => 9,
        CompletionKind::Keyword => 14,
    }
}
