//! Template text to pieces, by recursive descent over the grammar of URI-17.

use super::{Encoding, NESTING_MAX, Name, Piece, TemplateError, Token, UriToken};

/// Reads a whole template.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, TemplateError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let pieces = parser.pieces()?;
    match parser.peek() {
        None => Ok(pieces),
        Some(_) => Err(error("`}` without `{`", parser.at)),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    /// Characters and tokens up to a closing brace or the end.
    fn pieces(&mut self) -> Result<Vec<Piece>, TemplateError> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        while let Some(character) = self.peek() {
            match character {
                '}' => break,
                '{' => {
                    if !literal.is_empty() {
                        pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                    }
                    pieces.push(self.token()?);
                }
                '^' | '"' | '\'' | '<' | '>' | '`' | '|' => {
                    return Err(error(format!("`{character}` is not allowed here"), self.at));
                }
                ' ' => return Err(error("a blank is not allowed here", self.at)),
                _ if character.is_whitespace() || character.is_control() => {
                    return Err(error("white space is not allowed here", self.at));
                }
                _ => {
                    literal.push(character);
                    self.at += character.len_utf8();
                }
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(pieces)
    }

    fn token(&mut self) -> Result<Piece, TemplateError> {
        let start = self.at;
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(error(format!("tokens are nested more than {NESTING_MAX} deep"), start));
        }
        self.at += 1;
        let mut info = UriToken {
            name: String::new(),
            is_required: false,
            is_block: false,
            is_raw: false,
            is_multi: false,
            max: 0,
            is_nested: self.depth > 1,
        };
        while self.operator(&mut info) {}
        let name_start = self.at;
        let pieces = self.pieces()?;
        if self.peek().is_none() {
            return Err(error("`{` is not closed", start));
        }
        self.text[name_start..self.at].clone_into(&mut info.name);
        if info.name.is_empty() {
            return Err(error("a token needs a name", name_start));
        }
        self.at += 1;
        self.depth -= 1;
        let name = match pieces[..] {
            [Piece::Literal(_)] => Name::Plain,
            _ => Name::Nested(pieces),
        };
        let encoding = if info.is_raw { Encoding::Raw } else { Encoding::Component };
        Ok(Piece::Token(Box::new(Token { info, name, encoding })))
    }

    /// Takes one operator, if there is one.
    fn operator(&mut self, info: &mut UriToken) -> bool {
        let rest = &self.text[self.at..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if rest[digits..].starts_with('|') {
            info.is_multi = true;
            // A number that does not fit is no limit in practice.
            info.max = if digits == 0 { 0 } else { rest[..digits].parse().unwrap_or(usize::MAX) };
            self.at += digits + 1;
            return true;
        }
        match rest.as_bytes().first() {
            Some(b'^') => info.is_required = true,
            Some(b'#') => info.is_block = true,
            Some(b'`') => info.is_raw = true,
            _ => return false,
        }
        self.at += 1;
        true
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }
}

fn error(reason: impl Into<String>, offset: usize) -> TemplateError {
    TemplateError { reason: reason.into(), offset }
}
