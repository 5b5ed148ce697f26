//! Pieces and parameters to text: URI-4 to URI-8 and URI-19.

use super::{
    EXPANDED_BYTES_MAX, Encoding, ExpandError, Expanded, Expansion, Form, Name, Piece, Token,
    dots::is_suspect,
};
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
) -> Result<Expanded, ExpandError> {
    let mut has_suspect = false;
    let mut texts =
        Texts { growing: vec![String::with_capacity(USUAL_BYTES)], is_forked: false, bytes: 0 };
    let mut is_scatter = false;
    for piece in pieces {
        match piece {
            Piece::Literal(text) => texts.append(text)?,
            Piece::Token(token) => {
                let is_of_path = token.encoding == Encoding::PathComponent;
                match outcome(token, params, &|| texts.processed())? {
                    Outcome::Nothing => {}
                    Outcome::Text(text) => {
                        has_suspect |= is_of_path && is_suspect(&text);
                        texts.append(&text)?;
                    }
                    Outcome::Scatter(parts) => {
                        is_scatter = true;
                        has_suspect |= is_of_path && parts.iter().any(|part| is_suspect(part));
                        match &parts[..] {
                            [] => texts.growing.clear(),
                            [only] => texts.append(only)?,
                            _ if texts.is_forked => return Err(ExpandError::MultipleForks),
                            _ if parts.len() > uris_max => {
                                let asked = parts.len();
                                return Err(ExpandError::TooMany { asked, limit: uris_max });
                            }
                            _ => texts.fork(&parts)?,
                        }
                    }
                }
            }
        }
    }
    match texts.growing.len() {
        asked if asked > uris_max => Err(ExpandError::TooMany { asked, limit: uris_max }),
        _ => {
            let expansion = Expansion { uris: texts.growing, is_scatter };
            Ok(Expanded { expansion, is_suspect: has_suspect })
        }
    }
}

/// What a token writes into the URIs; for messages about what has been expanded before.
pub(super) fn texts_of(token: &Token, params: &dyn Params) -> Vec<Text> {
    match outcome(token, params, &String::new) {
        Ok(Outcome::Text(text)) => vec![text],
        Ok(Outcome::Scatter(parts)) => parts,
        Ok(Outcome::Nothing) | Err(_) => Vec::new(),
    }
}

/// The text of a body, which is only one: of several values of a token the first is used.
pub(super) fn form(pieces: &[Piece], params: &dyn Params) -> Result<Form, ExpandError> {
    let mut form = Form { text: String::new(), shortened: None };
    let bytes_max = EXPANDED_BYTES_MAX.min(params.text_room());
    for piece in pieces {
        match piece {
            Piece::Literal(text) => form.text.push_str(text),
            Piece::Token(token) => match outcome(token, params, &|| form.text.clone())? {
                Outcome::Nothing => {}
                Outcome::Text(text) => form.text.push_str(&text),
                Outcome::Scatter(parts) => match &parts[..] {
                    // There is no body that asks nothing.
                    [] if token.info.is_required => {
                        let name = token.info.name.clone();
                        return Err(ExpandError::Missing { name, processed: form.text });
                    }
                    [] => {}
                    [only] => form.text.push_str(only),
                    _ if form.shortened.is_some() => return Err(ExpandError::MultipleForks),
                    [first, ..] => {
                        form.text.push_str(first);
                        form.shortened = Some((token.info.name.clone(), parts.len()));
                    }
                },
            },
        }
        if form.text.len() > bytes_max {
            params.refuse_text();
            return Err(ExpandError::TooLong { limit: bytes_max });
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
        let uri = |fork: &Text| {
            let bytes = start.len() + fork.len();
            let mut uri = String::with_capacity(bytes.max(USUAL_BYTES));
            uri.extend([&*start, &**fork]);
            uri
        };
        self.growing = forks.iter().map(uri).collect();
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

/// The contribution of a token; texts are encoded.
enum Outcome {
    Nothing,
    Text(Text),
    /// A list where one value, or so many, go into a request: what goes into each of the requests.
    /// An empty list asks nothing.
    Scatter(Vec<Text>),
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
    let is_bounded = is_multi && token.info.max > 0;
    let has_gap = if is_multi {
        texts.len() == 1 && texts[0].is_empty()
    } else {
        texts.iter().any(|text| text.is_empty())
    };
    if is_required && has_gap {
        return Err(missing());
    }
    if !is_multi {
        return Ok(Outcome::Scatter(texts.into_iter().map(|text| encoded(token, text)).collect()));
    }
    if texts.is_empty() {
        // A required list that is empty is known, and there is nothing to ask for.
        let is_asked = !is_required && !is_bounded;
        return Ok(if is_asked { Outcome::Nothing } else { Outcome::Scatter(Vec::new()) });
    }
    let joined = |texts: &[Text]| encoded(token, texts.join(",").into());
    if !is_bounded {
        return Ok(Outcome::Text(joined(&texts)));
    }
    if texts.len() > token.info.max {
        // JavaScript sorts by UTF-16 code units.
        texts.sort_by(|left, right| left.encode_utf16().cmp(right.encode_utf16()));
        texts.dedup();
    }
    Ok(Outcome::Scatter(texts.chunks(token.info.max).map(joined).collect()))
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
                    Outcome::Scatter(parts) => match &parts[..] {
                        [only] => name.push_str(only),
                        _ => return Ok(None),
                    },
                    Outcome::Nothing => return Ok(None),
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
