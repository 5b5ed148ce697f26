//! What could be written at the cursor: names and keywords of the planner, and built-in functions.

use qlio_data::{Value, compute::function};
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

/// The completions at an offset.
pub(crate) fn at(document: &Document, offset: usize, catalog: &Catalog) -> Value {
    let mut found: Vec<Item> = complete::at(&document.text, offset, catalog)
        .into_iter()
        .map(|one| Item {
            kind: number(one.kind),
            label: one.label,
            detail: one.detail,
            documentation: None,
            replace: one.replace,
        })
        .collect();
    add_functions(document, offset, &mut found);
    let is_cut = found.len() > ITEMS_MAX;
    found.truncate(ITEMS_MAX);
    // They come in the order in which they fit best; clients would order them by name.
    let items = found.iter().enumerate().map(|(rank, item)| item.write(rank, document));
    object([("isIncomplete", Value::from(is_cut)), ("items", list(items))])
}

struct Item {
    label: String,
    kind: i64,
    detail: String,
    documentation: Option<&'static str>,
    replace: Span,
}

impl Item {
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

/// Functions stand where columns do.
fn add_functions(document: &Document, offset: usize, found: &mut Vec<Item>) {
    let wanted = qlio_syntax::complete::at(&document.text, offset);
    if !wanted.wants.iter().any(|wanted| matches!(wanted, Wanted::Column { .. })) {
        return;
    }
    let functions = function::all().filter(|function| function.name.starts_with(&wanted.typed));
    found.extend(functions.map(|function| Item {
        label: function.name.to_owned(),
        kind: 3,
        detail: function.signature.to_owned(),
        documentation: Some(function.summary),
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
