//! Renaming: variables with the tokens in texts that name them, aliases, parameters of a route, and
//! tables across files.
//!
//! A new name that would mean something else somewhere is refused; and the changed text must not have
//! a problem that the old one had not, whatever the reason.

use std::collections::BTreeMap;

use qlio_data::{Object, Value};
use qlio_plan::{Catalog, diagnose};
use qlio_syntax::{
    diagnostic::Diagnostic,
    source::Span,
    tokens::{TokenKind, tokens},
};

use crate::{
    json::{list, object},
    message::Refusal,
    names::{Meaning, Names, Occurrence},
    navigation::{Place, is_shared},
};

/// Whether a name can be changed at all, or why not.
pub(crate) fn check_kind(one: &Occurrence) -> Result<(), Refusal> {
    match one.meaning {
        Meaning::Variable | Meaning::Table | Meaning::Alias(_) | Meaning::RouteParameter => Ok(()),
        Meaning::Parameter => {
            Err(Refusal::failed("a parameter belongs to the API, which knows it by this name"))
        }
        Meaning::Column => {
            Err(Refusal::failed("a column belongs to the API, which knows it by this name"))
        }
        Meaning::Setting => Err(Refusal::failed("settings are renamed in the settings file")),
        Meaning::Function => Err(Refusal::failed("a built-in function keeps its name")),
    }
}

/// The edits that give all `places` the name `new`.
pub(crate) fn edits(
    one: &Occurrence,
    new: &str,
    names: &Names,
    places: &[Place<'_>],
    catalog: &Catalog,
) -> Result<Value, Refusal> {
    check_kind(one)?;
    check_name(one, new, names, catalog)?;
    let mut by_text: BTreeMap<&str, Vec<&Place<'_>>> = BTreeMap::new();
    for place in places {
        by_text.entry(place.text.uri.as_str()).or_default().push(place);
    }
    let mut changes = Object::new();
    for (uri, places) in by_text {
        let document = &places[0].text.document;
        if !is_shared(one, catalog) {
            let spans = places.iter().map(|place| place.occurrence.span);
            check_result(&document.text, spans, new, catalog)?;
        }
        let edits = places.iter().map(|place| {
            let range = document.range(place.occurrence.span);
            object([("range", range), ("newText", Value::from(new))])
        });
        changes.insert(uri, list(edits));
    }
    Ok(object([("changes", Value::object(changes))]))
}

/// The new name is a name of its kind and is not taken.
fn check_name(
    one: &Occurrence,
    new: &str,
    names: &Names,
    catalog: &Catalog,
) -> Result<(), Refusal> {
    let is_table = one.meaning == Meaning::Table;
    let is_word = |word: &str| {
        let read = tokens(&format!("{word} = 1")).tokens;
        read.first().is_some_and(|first| {
            first.kind == TokenKind::Name && first.span == Span::new(0, word.len() as u32)
        })
    };
    let is_name = if is_table { new.split('.').all(is_word) } else { is_word(new) };
    if !is_name {
        return Err(Refusal::failed(format!("`{new}` is no name")));
    }
    let is_taken_here =
        names.occurrences.iter().any(|other| other.name == new && other.meaning != Meaning::Column);
    if new != one.name && (is_taken_here || (is_table && catalog.table(new).is_some())) {
        return Err(Refusal::failed(format!("there is something called `{new}` already")));
    }
    Ok(())
}

/// The text with its edits has no problem that it had not before.
fn check_result(
    text: &str,
    spans: impl Iterator<Item = Span>,
    new: &str,
    catalog: &Catalog,
) -> Result<(), Refusal> {
    let mut changed = String::with_capacity(text.len());
    let mut end = 0;
    for span in spans {
        changed.push_str(&text[end..span.start as usize]);
        changed.push_str(new);
        end = span.end as usize;
    }
    changed.push_str(&text[end..]);
    let codes = |text: &str| {
        let mut found: Vec<_> =
            diagnose(text, catalog).iter().map(|problem: &Diagnostic| problem.code).collect();
        found.sort_unstable();
        found
    };
    let (before, after) = (codes(text), diagnose(&changed, catalog));
    if codes(&changed) == before {
        return Ok(());
    }
    let reason = after.iter().find(|problem| !before.contains(&problem.code));
    let reason = reason.map_or("the script would mean something else", |problem| &problem.message);
    Err(Refusal::failed(format!("`{new}` cannot be the name: {reason}")))
}
