//! Pieces and a scope to a value.

use std::borrow::Cow;

use super::{Piece, Reference, Rest, Root, Template, Token, TokenPath};
use crate::{
    Scope, Text, Value,
    codec::json,
    path::{Options, Path, PathError, PathErrorKind, step},
    scope::EmptyScope,
};

const FLATTEN: Options = Options { flatten: true };

/// Keep mode: the value of a template in a script.
pub(super) fn keep(template: &Template, scope: &dyn Scope) -> Result<Value, PathError> {
    if let [Piece::Token(token)] = &template.pieces[..] {
        let value = resolve(token, scope)?;
        if matches!(value, Value::Null) && !token.is_typed && token.is_bare_name() {
            // A variable that is null counts as missing: that of a branch not taken, a declared
            // parameter that was not sent (TOK-9).
            return Ok(Value::Absent);
        }
        return Ok(match value.scalar_text() {
            Some(text) if !token.is_typed => Value::String(text),
            _ => value,
        });
    }
    if template.is_literal() {
        return Ok(Value::String(template.text.clone()));
    }
    let mut filled = Filled::new(template, scope);
    for piece in &template.pieces {
        match piece {
            Piece::Literal(text) => filled.push(text)?,
            Piece::Token(token) => match resolve(token, scope)? {
                Value::Absent | Value::Null => filled.push(&token.written)?,
                value => filled.push_value(&value)?,
            },
        }
    }
    Ok(Value::string(filled.text))
}

/// Parts of a text from this size on are not left to grow in, in bytes.
const LARGE_PART_BYTES: usize = 64 * 1024;

/// A text that is being filled, no longer than its scope has room for.
struct Filled<'f> {
    text: String,
    room: usize,
    template: &'f Template,
    scope: &'f dyn Scope,
}

impl<'f> Filled<'f> {
    fn new(template: &'f Template, scope: &'f dyn Scope) -> Self {
        let text = String::with_capacity(template.text.len());
        Self { text, room: scope.text_room(), template, scope }
    }

    fn push(&mut self, text: &str) -> Result<(), PathError> {
        if text.len() > self.room {
            return Err(self.refuse());
        }
        if text.len() >= LARGE_PART_BYTES {
            self.reserve(text.len());
        }
        self.room -= text.len();
        self.text.push_str(text);
        Ok(())
    }

    fn push_value(&mut self, value: &Value) -> Result<(), PathError> {
        if let Some(text) = value.scalar_text() {
            return self.push(&text);
        }
        let weight = value.weigh_decoded(self.room);
        if weight > self.room {
            return Err(self.refuse());
        }
        if weight >= LARGE_PART_BYTES {
            self.reserve(value.weigh_written(self.room));
        }
        // Decoded first: the text must not depend on the blanks of an upstream.
        let mut text = std::mem::take(&mut self.text).into_bytes();
        let before = text.len();
        let is_short =
            json::encode_within(&value.clone().into_tree(), &mut text, self.room).is_ok();
        if !is_short {
            return Err(self.refuse());
        }
        self.room = self.room.saturating_sub(text.len() - before);
        self.text = String::from_utf8(text).unwrap_or_default();
        Ok(())
    }

    /// Makes place for a large part, and for as much in each other piece: a text that grows step by step is there
    /// twice each time it moves. Place that is not written to costs no memory.
    #[cold]
    fn reserve(&mut self, bytes: usize) {
        if self.text.capacity() - self.text.len() < bytes {
            let pieces = self.template.pieces.len().max(1);
            self.text.reserve_exact(bytes.saturating_mul(pieces).min(self.room));
        }
    }

    fn refuse(&self) -> PathError {
        self.scope.refuse_text();
        PathError {
            kind: PathErrorKind::Limit,
            text: self.template.text.to_string(),
            reason: "the text takes more memory than there is left".into(),
        }
    }
}

/// All or nothing: the value of a default of a table.
pub(super) fn whole(template: &Template, scope: &dyn Scope) -> Result<Value, PathError> {
    if let [Piece::Token(token)] = &template.pieces[..] {
        let value = resolve_flat(token, scope)?;
        return Ok(match value.scalar_text() {
            Some(text) if !token.is_typed => Value::String(text),
            None if value.is_nothing() => Value::Absent,
            _ => value,
        });
    }
    let mut filled = Filled::new(template, scope);
    for piece in &template.pieces {
        match piece {
            Piece::Literal(text) => filled.push(text)?,
            Piece::Token(token) => match resolve_flat(token, scope)? {
                Value::Absent | Value::Null => return Ok(Value::Absent),
                value => filled.push_value(&value)?,
            },
        }
    }
    Ok(Value::string(filled.text))
}

/// Drop mode: the text of a table's header.
pub(super) fn drop(template: &Template, scope: &dyn Scope) -> String {
    let mut filled = Filled::new(template, scope);
    for piece in &template.pieces {
        let pushed = match piece {
            Piece::Literal(text) => filled.push(text),
            Piece::Token(token) => match walked_text(token, scope) {
                Some(text) => filled.push(&text),
                None => Ok(()),
            },
        };
        // The scope has been told, and whoever asked for the text fails.
        if pushed.is_err() {
            return String::new();
        }
    }
    filled.text
}

/// The first prerequisite that is absent or null. Recursion is as deep as tokens are nested.
pub(super) fn required_missing(
    pieces: &[Piece],
    scope: &dyn Scope,
) -> Result<Option<String>, PathError> {
    for piece in pieces {
        let Piece::Token(token) = piece else { continue };
        if let TokenPath::Dynamic { pieces, .. } = &token.path
            && let Some(missing) = required_missing(pieces, scope)?
        {
            return Ok(Some(missing));
        }
        if token.is_required && resolve(token, scope)?.is_nothing() {
            let path = token.written.trim_start_matches("{^");
            return Ok(Some(path.strip_suffix('}').unwrap_or(path).to_owned()));
        }
    }
    Ok(None)
}

/// The value of a token, with its type.
fn resolve(token: &Token, scope: &dyn Scope) -> Result<Value, PathError> {
    match &token.path {
        TokenPath::Static(reference) => resolve_reference(reference, scope, scope),
        TokenPath::Dynamic { root, pieces } => {
            let Some((text, is_harmless)) =
                path_text(pieces, &mut |token| Ok(resolve(token, scope)?.scalar_text()))?
            else {
                return Ok(Value::Absent);
            };
            let Some(mut reference) = Reference::parse(text.into()) else {
                return Ok(Value::Absent);
            };
            if let Some(root) = root {
                reference.root.slot = root.slot;
            }
            // A value may hold any text, even an expression. It must not read variables.
            let variables: &dyn Scope = if is_harmless { scope } else { &EmptyScope };
            resolve_reference(&reference, scope, variables)
        }
    }
}

/// Resolves a token whose names may hold dots: the path as one flat name comes first.
fn resolve_flat(token: &Token, scope: &dyn Scope) -> Result<Value, PathError> {
    if let TokenPath::Static(Reference { text, rest: Rest::Dotted { .. }, .. }) = &token.path {
        let flat = scope.name(text);
        if !flat.is_nothing() {
            return Ok(flat);
        }
    }
    resolve(token, scope)
}

/// Puts the text of a path with nested tokens together; `None` if one does not resolve. Also tells
/// whether the filled-in texts are names and dots only.
fn path_text(
    pieces: &[Piece],
    resolve: &mut dyn FnMut(&Token) -> Result<Option<Text>, PathError>,
) -> Result<Option<(String, bool)>, PathError> {
    let mut path = String::new();
    let mut is_harmless = true;
    for piece in pieces {
        match piece {
            Piece::Literal(text) => path.push_str(text),
            Piece::Token(token) => {
                let Some(text) = resolve(token)? else { return Ok(None) };
                is_harmless &= text
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ':' | '-' | '.' | ' '));
                path.push_str(&text);
            }
        }
    }
    Ok(Some((path, is_harmless)))
}

/// The steps of TOK-13 to TOK-16. `variables` is what expressions can see.
fn resolve_reference(
    reference: &Reference,
    scope: &dyn Scope,
    variables: &dyn Scope,
) -> Result<Value, PathError> {
    if let Some(slot) = reference.root.slot
        && reference.rest != Rest::Nothing
        && let Some(found) = scope.found(slot, &reference.text)
    {
        return Ok(found);
    }
    below(reference, root_value(&reference.root, scope), variables)
}

/// What a path that reads no variables finds in the value of its root.
pub(super) fn found_alone(reference: &Reference, root: &Value) -> Result<Value, PathError> {
    below(reference, root.clone(), &EmptyScope)
}

fn below(reference: &Reference, root: Value, variables: &dyn Scope) -> Result<Value, PathError> {
    if root.is_absent() {
        return Ok(Value::Absent);
    }
    match &reference.rest {
        Rest::Nothing => Ok(root),
        Rest::Broken(error) => Err(error.clone()),
        Rest::Bracketed(path) => path.select_one(&unwrapped(&root), variables, FLATTEN),
        Rest::Dotted { names, path, is_walk } => {
            let walked = walk(&root, names);
            let is_scalar = !walked.is_nothing() && !walked.is_structure();
            if is_scalar || (*is_walk && !root.is_array()) {
                return Ok(walked);
            }
            select(path, &unwrapped(&root), variables)
        }
    }
}

fn select(path: &Path, root: &Value, variables: &dyn Scope) -> Result<Value, PathError> {
    let Some(elements) = root.elements() else {
        return path.select_one(root, variables, FLATTEN);
    };
    elements
        .iter()
        .map(|element| path.select_one(element, variables, FLATTEN))
        .collect::<Result<Vec<_>, _>>()
        .map(Value::array)
}

fn root_value(root: &Root, scope: &dyn Scope) -> Value {
    match root.slot {
        Some(slot) => scope.slot(slot),
        None => scope.name(&root.name),
    }
}

/// The plain walk: own members, indexes and `length`, whatever the names look like.
fn walk<'a>(root: &Value, names: impl IntoIterator<Item = &'a Text>) -> Value {
    let mut value = root.clone();
    for name in names {
        value = step::member(&value, name);
        if value.is_absent() {
            break;
        }
    }
    value
}

/// `[[x]]` is taken as `x`.
fn unwrapped(root: &Value) -> Cow<'_, Value> {
    if root.is_array() && root.len() == 1 {
        let only = root.element(0);
        if only.is_array() && only.len() == 1 {
            return Cow::Owned(only.element(0));
        }
    }
    Cow::Borrowed(root)
}

/// The text of a token in drop mode, if it is found and a scalar.
fn walked_text(token: &Token, scope: &dyn Scope) -> Option<Text> {
    match &token.path {
        TokenPath::Static(reference) => {
            if reference.rest != Rest::Nothing {
                let flat = scope.name(&reference.text);
                if !flat.is_nothing() {
                    return flat.scalar_text();
                }
            }
            let root = root_value(&reference.root, scope);
            match &reference.rest {
                Rest::Nothing => root.scalar_text(),
                Rest::Dotted { names, .. } => walk(&root, names).scalar_text(),
                Rest::Bracketed(_) | Rest::Broken(_) => None,
            }
        }
        TokenPath::Dynamic { root, pieces } => {
            let resolve = &mut |token: &Token| Ok(walked_text(token, scope));
            let (text, _) = path_text(pieces, resolve).ok()??;
            let flat = scope.name(&text);
            if !flat.is_nothing() {
                return flat.scalar_text();
            }
            let (name, rest) = text.split_once('.').unwrap_or((&text, ""));
            let value = match root {
                Some(root) => root_value(root, scope),
                None => scope.name(name),
            };
            if rest.is_empty() {
                return value.scalar_text();
            }
            let names: Vec<Text> = rest.split('.').map(Text::from).collect();
            walk(&value, &names).scalar_text()
        }
    }
}
