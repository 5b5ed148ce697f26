//! Pieces and parameters to text: the formatting table of `connectors.md` 2.3.

use super::{EXPANDED_BYTES_MAX, Encoding, ExpandError, Form, Name, Piece, Token};
use crate::{Params, Text, Value, params::lookup, percent};

/// How deep an element that is itself an array may be nested.
const ELEMENT_DEPTH_MAX: usize = 16;

/// Room for a URI of the usual length, so that it need not move as it grows.
const USUAL_BYTES: usize = 128;

/// The URIs, joined as the pieces are.
pub(super) fn uris(
    pieces: &[Piece],
    params: &dyn Params,
    uris_max: usize,
) -> Result<Vec<String>, ExpandError> {
    let mut texts =
        Texts { growing: vec![String::with_capacity(USUAL_BYTES)], is_forked: false, bytes: 0 };
    for piece in pieces {
        match piece {
            Piece::Literal(text) => texts.append(text)?,
            Piece::Token(token) => match outcome(token, params, &|| texts.processed())? {
                Outcome::Nothing => {}
                Outcome::Text(text) => texts.append(&text)?,
                Outcome::Fork(_) if texts.is_forked => return Err(ExpandError::MultipleForks),
                Outcome::Fork(forks) if forks.len() > uris_max => {
                    return Err(ExpandError::TooMany { asked: forks.len(), limit: uris_max });
                }
                Outcome::Fork(forks) => texts.fork(&forks)?,
                Outcome::NoUri => texts.growing.clear(),
            },
        }
    }
    match texts.growing.len() {
        asked if asked > uris_max => Err(ExpandError::TooMany { asked, limit: uris_max }),
        _ => Ok(texts.growing),
    }
}

/// The text of a body, which is only one: of several values of a token the first is used.
pub(super) fn form(pieces: &[Piece], params: &dyn Params) -> Result<Form, ExpandError> {
    let mut form = Form { text: String::new(), shortened: None };
    for piece in pieces {
        match piece {
            Piece::Literal(text) => form.text.push_str(text),
            Piece::Token(token) => match outcome(token, params, &|| form.text.clone())? {
                Outcome::Nothing | Outcome::NoUri => {}
                Outcome::Text(text) => form.text.push_str(&text),
                Outcome::Fork(_) if form.shortened.is_some() => {
                    return Err(ExpandError::MultipleForks);
                }
                Outcome::Fork(forks) => {
                    form.text.push_str(forks.first().map_or("", Text::as_str));
                    form.shortened = Some((token.info.name.clone(), forks.len()));
                }
            },
        }
        if form.text.len() > EXPANDED_BYTES_MAX {
            return Err(ExpandError::TooLong { limit: EXPANDED_BYTES_MAX });
        }
    }
    Ok(form)
}

/// The growing result: one text, after a fork several.
struct Texts {
    growing: Vec<String>,
    is_forked: bool,
    bytes: usize,
}

impl Texts {
    fn append(&mut self, text: &str) -> Result<(), ExpandError> {
        self.count(text.len().saturating_mul(self.growing.len()))?;
        for uri in &mut self.growing {
            uri.push_str(text);
        }
        Ok(())
    }

    fn fork(&mut self, forks: &[Text]) -> Result<(), ExpandError> {
        self.is_forked = true;
        // An empty list before it has decided that there is nothing to ask for.
        let Some(start) = self.growing.pop() else { return Ok(()) };
        self.count(start.len().saturating_mul(forks.len()))?;
        self.count(forks.iter().map(|fork| fork.len()).sum())?;
        self.growing = forks.iter().map(|fork| [&start, &**fork].concat()).collect();
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), ExpandError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > EXPANDED_BYTES_MAX {
            return Err(ExpandError::TooLong { limit: EXPANDED_BYTES_MAX });
        }
        Ok(())
    }

    fn processed(&self) -> String {
        self.growing.join(",")
    }
}

/// What a token contributes; texts are encoded.
enum Outcome {
    Nothing,
    Text(Text),
    Fork(Vec<Text>),
    NoUri,
}

fn outcome(
    token: &Token,
    params: &dyn Params,
    processed: &dyn Fn() -> String,
) -> Result<Outcome, ExpandError> {
    let (name, value) = match &token.name {
        Name::Plain => (None, lookup(params, &token.info.name)),
        Name::Nested(pieces) => match composed(pieces, params, processed)? {
            Some(name) => {
                let value = lookup(params, &name);
                (Some(name), value)
            }
            None => (None, Value::Absent),
        },
    };
    let name = name.as_deref().unwrap_or(&token.info.name);
    let missing = || ExpandError::Missing { name: name.to_owned(), processed: processed() };
    let is_required = token.info.is_required;
    let Some(elements) = value.elements() else {
        let text = element_text(&value, name, 0)?;
        return match (value.is_nothing(), text.is_empty()) {
            (_, true) if is_required => Err(missing()),
            (true, _) => Ok(Outcome::Nothing),
            (false, _) => Ok(Outcome::Text(encoded(token, text))),
        };
    };
    let mut texts = elements
        .iter()
        .filter(|element| !element.is_absent())
        .map(|element| element_text(element, name, 0))
        .collect::<Result<Vec<_>, _>>()?;
    let is_multi = token.info.is_multi;
    let max = if token.info.max == 0 { usize::MAX } else { token.info.max };
    match texts.len() {
        0 if is_required => Err(missing()),
        0 if is_multi => Ok(Outcome::Nothing),
        0 => Ok(Outcome::NoUri),
        _ if is_required && !is_multi && texts.iter().any(|text| text.is_empty()) => Err(missing()),
        1 if is_required && texts[0].is_empty() => Err(missing()),
        1 => Ok(Outcome::Text(encoded(token, texts.swap_remove(0)))),
        _ if !is_multi => {
            Ok(Outcome::Fork(texts.into_iter().map(|text| encoded(token, text)).collect()))
        }
        count if count <= max => Ok(Outcome::Text(encoded(token, texts.join(",").into()))),
        _ => {
            // JavaScript sorts by UTF-16 code units.
            texts.sort_by(|left, right| left.encode_utf16().cmp(right.encode_utf16()));
            texts.dedup();
            let mut batches: Vec<Text> =
                texts.chunks(max).map(|batch| encoded(token, batch.join(",").into())).collect();
            Ok(match batches.len() {
                1 => Outcome::Text(batches.swap_remove(0)),
                _ => Outcome::Fork(batches),
            })
        }
    }
}

/// The name that nested tokens make; `None` if one of them is missing. Recursion is as deep as
/// tokens are nested.
fn composed(
    pieces: &[Piece],
    params: &dyn Params,
    processed: &dyn Fn() -> String,
) -> Result<Option<String>, ExpandError> {
    let mut name = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(text) => name.push_str(text),
            Piece::Token(token) => {
                let plain = Token { encoding: Encoding::Raw, ..Token::clone(token) };
                match outcome(&plain, params, processed)? {
                    Outcome::Text(text) => name.push_str(&text),
                    // A name is one name: a list cannot choose several members.
                    Outcome::Fork(_) | Outcome::Nothing | Outcome::NoUri => return Ok(None),
                }
            }
        }
    }
    Ok(Some(name))
}

/// The text of a value or element: arrays inside arrays are joined, nothing is empty.
fn element_text(value: &Value, name: &str, depth: usize) -> Result<Text, ExpandError> {
    if value.is_nothing() {
        return Ok(Text::default());
    }
    if let Some(text) = value.scalar_text() {
        return Ok(text);
    }
    match value.elements() {
        Some(elements) if depth < ELEMENT_DEPTH_MAX => Ok(elements
            .iter()
            .map(|element| element_text(element, name, depth + 1))
            .collect::<Result<Vec<_>, _>>()?
            .join(",")
            .into()),
        _ => Err(ExpandError::ObjectParam { name: name.to_owned() }),
    }
}

fn encoded(token: &Token, text: Text) -> Text {
    let is_quoted = token.encoding == Encoding::PathComponent && text.contains('\'');
    if token.encoding == Encoding::Raw || !is_quoted && percent::is_component_text(&text) {
        return text;
    }
    let mut encoded = String::with_capacity(2 * text.len());
    percent::encode_component(&text, &mut encoded);
    if is_quoted {
        encoded = encoded.replace('\'', "%27");
    }
    encoded.into()
}
