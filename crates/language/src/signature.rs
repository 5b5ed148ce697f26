//! Signatures: of the built-in function or aggregate whose arguments the cursor stands in, else the parameters of
//! the table whose condition is being written.

use qlio_data::{
    Value,
    compute::{aggregate::Aggregate, function},
};
use qlio_plan::Catalog;
use qlio_syntax::{
    complete::Wanted,
    tokens::{TokenKind, tokens},
};

use crate::{
    document::Document,
    json::{list, object},
};

/// The signature at an offset; null if there is none.
pub(crate) fn at(document: &Document, offset: usize, catalog: &Catalog) -> Value {
    let offset = document.text.floor_char_boundary(offset.min(document.text.len()));
    let before = &document.text[..offset];
    if let Some((name, argument)) = open_call(before)
        && let Some((signature, summary)) = describe(&name)
    {
        let parameters = parameters(signature);
        let last = parameters.len().saturating_sub(1);
        return write(signature, Some(summary), &parameters, Some(argument.min(last)));
    }
    of_table(document, offset, catalog).unwrap_or(Value::Null)
}

/// Signature and summary of what is built in by this name.
fn describe(name: &str) -> Option<(&'static str, &'static str)> {
    let aggregate = || {
        Aggregate::find(name).map(|found| {
            let described = found.describe();
            (described.signature, described.summary)
        })
    };
    function::find(name).map(|found| (found.signature, found.summary)).or_else(aggregate)
}

fn write(
    label: &str,
    documentation: Option<&str>,
    parameters: &[String],
    active: Option<usize>,
) -> Value {
    let parameters = parameters.iter().map(|name| object([("label", Value::from(name.as_str()))]));
    let signature = object([
        ("label", Value::from(label)),
        ("documentation", documentation.map_or(Value::Absent, Value::from)),
        ("parameters", list(parameters)),
    ]);
    object([
        ("signatures", list([signature])),
        ("activeSignature", Value::int(0)),
        ("activeParameter", active.map_or(Value::Absent, Value::from)),
    ])
}

/// The call whose arguments the end of a text stands in: its name and the number of commas passed.
fn open_call(text: &str) -> Option<(String, usize)> {
    let mut open: Vec<(Option<&str>, usize)> = Vec::new();
    let mut before: Option<&str> = None;
    for token in tokens(text).tokens {
        let word = &text[token.span.range()];
        match (token.kind, word) {
            (TokenKind::Comment, _) => continue,
            (TokenKind::Symbol | TokenKind::Skipped, "(" | "[" | "{") => {
                open.push((before.filter(|_| word == "("), 0));
            }
            (TokenKind::Symbol | TokenKind::Skipped, ")" | "]" | "}") => {
                open.pop();
            }
            (TokenKind::Symbol | TokenKind::Skipped, ",") => {
                if let Some(last) = open.last_mut() {
                    last.1 += 1;
                }
            }
            _ => {}
        }
        before = Some(word);
    }
    let (name, commas) = open.last()?;
    Some((name.as_ref()?.to_string(), *commas))
}

/// The parameters of a signature such as `round(x[, places])`, of several the last, as they stand in it.
fn parameters(signature: &str) -> Vec<String> {
    let inner = signature.rsplit_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
    let names = inner.split(',').map(|name| name.trim_matches(['[', ']', ' ']));
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// `table(id, [name])`: what is in brackets may be left out.
fn of_table(document: &Document, offset: usize, catalog: &Catalog) -> Option<Value> {
    let found = qlio_syntax::complete::at(&document.text, offset);
    let (sources, verb) = found.wants.iter().find_map(|wanted| match wanted {
        Wanted::Parameter { sources, verb } => Some((sources, *verb)),
        _ => None,
    })?;
    let table = sources.iter().find_map(|source| catalog.table(&source.name.text))?;
    let verb = table.verb(verb)?;
    let (required, optional): (Vec<_>, Vec<_>) =
        verb.uri.tokens().iter().partition(|token| token.is_required);
    let required = required.iter().map(|token| token.name.clone());
    let optional = optional.iter().map(|token| format!("[{}]", token.name));
    let mut parameters: Vec<String> = required.chain(optional).collect();
    let mut seen = std::collections::HashSet::new();
    parameters.retain(|name| seen.insert(name.clone()));
    if parameters.is_empty() {
        return None;
    }
    let label = format!("{}({})", table.name, parameters.join(", "));
    let docs = table.docs.first().map(|docs| docs.trim());
    Some(write(&label, docs, &parameters, None))
}
