//! Normalising the fixed parts of a template once (URI-18).
//!
//! In: the pieces as written. Out: pieces whose literals are normal already and whose tokens write
//! their values in normal form, so that joining them gives the same text as normalising the whole;
//! or nothing, if a token could change what is name, value, path or host.

use std::collections::HashSet;

use super::{Encoding, Piece, Token};
use crate::{mutable_uri, path::step, percent};

/// The pieces in normal form, if that is possible.
pub(super) fn compile(pieces: &[Piece]) -> Option<Vec<Piece>> {
    let mut compiler = Compiler::default();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Literal(text) => {
                let is_followed = at + 1 < pieces.len();
                if text.contains('#') || (is_followed && has_open_escape(text)) {
                    return None;
                }
                match compiler.place {
                    Place::Address => compiler.address(text, is_followed)?,
                    Place::Path => compiler.path(text)?,
                    Place::Query => compiler.query(text)?,
                }
            }
            Piece::Token(token) => compiler.token(token)?,
        }
    }
    compiler.finish()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Address,
    Path,
    Query,
}

#[derive(Default)]
struct Compiler {
    place: Place,
    pieces: Vec<Piece>,
    literal: String,
    /// The current pair as far as it was read before its `=`; `None` behind it.
    name: Option<String>,
    /// The current value as far as it was read since the last token.
    value: String,
    names: HashSet<String>,
    /// The value of the current pair holds a token.
    has_token: bool,
}

impl Compiler {
    /// The first literal: everything up to the path at least.
    fn address(&mut self, text: &str, is_followed: bool) -> Option<()> {
        let (address, query) = match text.split_once('?') {
            Some((address, query)) => (address, Some(query)),
            None => (text, None),
        };
        let has_path = match address.split_once("://") {
            Some((_, rest)) => rest.contains('/'),
            None => address.starts_with('/'),
        };
        if is_followed && query.is_none() && !has_path {
            return None;
        }
        // Without a query there is nothing in it that normalising as a whole would treat otherwise.
        self.literal = mutable_uri::normalize(address);
        self.place = Place::Path;
        query.map_or(Some(()), |query| self.start_query(query))
    }

    fn path(&mut self, text: &str) -> Option<()> {
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (text, None),
        };
        percent::encode_path(path, &mut self.literal);
        query.map_or(Some(()), |query| self.start_query(query))
    }

    fn start_query(&mut self, text: &str) -> Option<()> {
        self.place = Place::Query;
        self.name = Some(String::new());
        self.query(text)
    }

    fn query(&mut self, text: &str) -> Option<()> {
        let mut pairs = text.split('&');
        self.pair(pairs.next().unwrap_or_default())?;
        for pair in pairs {
            self.end_pair()?;
            self.pair(pair)?;
        }
        Some(())
    }

    /// A part of the current pair.
    fn pair(&mut self, text: &str) -> Option<()> {
        let Some(name) = &mut self.name else {
            self.value.push_str(text);
            return Some(());
        };
        match text.split_once('=') {
            None => name.push_str(text),
            Some((rest, value)) => {
                name.push_str(rest);
                self.value.push_str(value);
                self.end_name()?;
            }
        }
        Some(())
    }

    fn end_name(&mut self) -> Option<()> {
        let name = self.name.take()?;
        let name = percent::decode_form_lossy(&name);
        // Such names may change places, which is left to normalising as a whole.
        if step::index_of(&name).is_some() || self.names.contains(&*name) {
            return None;
        }
        self.literal.push(if self.names.is_empty() { '?' } else { '&' });
        percent::encode_component(&name, &mut self.literal);
        self.literal.push('=');
        self.names.insert(name.into_owned());
        Some(())
    }

    fn end_pair(&mut self) -> Option<()> {
        if self.name.as_ref().is_some_and(|name| !name.is_empty()) {
            self.end_name()?;
        }
        self.end_value()?;
        self.name = Some(String::new());
        self.has_token = false;
        Some(())
    }

    /// Writes what is read of the value. Beside a token, escapes could be halves of one character.
    fn end_value(&mut self) -> Option<()> {
        if self.has_token && self.value.contains('%') {
            return None;
        }
        percent::encode_component(&percent::decode_form_lossy(&self.value), &mut self.literal);
        self.value.clear();
        Some(())
    }

    fn token(&mut self, token: &Token) -> Option<()> {
        if token.encoding == Encoding::Raw {
            return None;
        }
        let encoding = match self.place {
            Place::Address => return None,
            Place::Path => Encoding::PathComponent,
            Place::Query if self.name.is_some() => return None,
            Place::Query => {
                self.has_token = true;
                self.end_value()?;
                Encoding::Component
            }
        };
        if !self.literal.is_empty() {
            self.pieces.push(Piece::Literal(std::mem::take(&mut self.literal)));
        }
        self.pieces.push(Piece::Token(Box::new(Token { encoding, ..token.clone() })));
        Some(())
    }

    fn finish(mut self) -> Option<Vec<Piece>> {
        match self.place {
            Place::Address => return None,
            Place::Path => {}
            Place::Query => self.end_pair()?,
        }
        if !self.literal.is_empty() {
            self.pieces.push(Piece::Literal(self.literal));
        }
        Some(self.pieces)
    }
}

/// Whether the text ends within an escape, which the following value would complete.
fn has_open_escape(text: &str) -> bool {
    text.bytes().rev().take(2).any(|byte| byte == b'%')
}
