//! Where a name is introduced and where it is used, in one text or in all of the app.

use qlio_data::Value;
use qlio_plan::Catalog;

use crate::{
    document::Document,
    json::{list, object},
    names::{Meaning, Names, Occurrence},
    uri::uri_of,
};

/// A text of the app: open, or as its file holds it.
pub(crate) struct Text<'a> {
    /// Its name as messages write it.
    pub(crate) uri: String,
    /// What it holds.
    pub(crate) document: std::borrow::Cow<'a, Document>,
}

/// A name found in one of the texts.
pub(crate) struct Place<'a> {
    pub(crate) text: &'a Text<'a>,
    pub(crate) occurrence: Occurrence,
}

impl Place<'_> {
    /// The place as the protocol writes it.
    pub(crate) fn location(&self) -> Value {
        object([
            ("uri", Value::from(self.text.uri.as_str())),
            ("range", self.text.document.range(self.occurrence.span)),
        ])
    }
}

/// All places that stand for the same as `one`, which stands in `own`; tables are found in all
/// texts, unless the own one creates them.
pub(crate) fn places<'a>(
    one: &Occurrence,
    own: &'a Text<'a>,
    names: &Names,
    all: &'a [Text<'a>],
    catalog: &Catalog,
) -> Vec<Place<'a>> {
    let in_own = names.same(one).cloned();
    let mut places: Vec<_> = in_own.map(|occurrence| Place { text: own, occurrence }).collect();
    if !is_shared(one, catalog) {
        return places;
    }
    for text in all.iter().filter(|text| text.uri != own.uri) {
        // Most texts do not hold the name at all.
        if !text.document.text.contains(one.name.as_str()) {
            continue;
        }
        let names = Names::of(&text.document.text, catalog);
        let is_inline = names.symbols.tables.iter().any(|table| table.name == one.name)
            && catalog.table(&one.name).is_none_or(|table| uri_of(&table.file) != text.uri);
        if !is_inline {
            let found = names.same(one).cloned();
            places.extend(found.map(|occurrence| Place { text, occurrence }));
        }
    }
    places
}

/// Whether the name means the same in all texts: it is one of a loaded table.
pub(crate) fn is_shared(one: &Occurrence, catalog: &Catalog) -> bool {
    one.meaning == Meaning::Table && catalog.table(&one.name).is_some()
}

/// The locations of those places that are wanted.
pub(crate) fn locations(places: &[Place<'_>], is_wanted: impl Fn(&Occurrence) -> bool) -> Value {
    list(places.iter().filter(|place| is_wanted(&place.occurrence)).map(Place::location))
}
