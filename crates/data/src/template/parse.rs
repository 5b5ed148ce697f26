//! Text to pieces: which braces are tokens and which are text.

use super::{NESTING_MAX, Piece, Reference, Rest, Root, Template, Token, TokenPath};
use crate::{
    Text,
    path::{Path, PathErrorKind, Segment},
};

/// Reads a whole template.
pub(super) fn template(text: Text) -> Template {
    let Some(closing) = closing_braces(&text) else {
        let pieces = vec![Piece::Literal(text.clone())];
        return Template { text, pieces, is_malformed: true };
    };
    let parser = Parser { text: &text, closing };
    let mut spans = Vec::new();
    parser.range(0, text.len(), &mut spans);
    let pieces = into_pieces(&text, spans);
    Template { text, pieces, is_malformed: false }
}

/// For every `{` the position of its `}`, in the order of the `{`; `None` if the string is no
/// template at all: it holds a backtick, or braces that do not match or nest too deep.
fn closing_braces(text: &str) -> Option<Vec<(usize, usize)>> {
    let mut pairs = Vec::new();
    let mut open = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'`' => return None,
            b'{' if open.len() == NESTING_MAX => return None,
            b'{' => {
                open.push(pairs.len());
                pairs.push((at, at));
            }
            b'}' => {
                let index = open.pop()?;
                pairs[index].1 = at;
            }
            _ => {}
        }
    }
    open.is_empty().then_some(pairs)
}

/// A piece whose literals are still positions, so that neighbours can be joined for free.
enum SpanPiece {
    Literal(usize, usize),
    Token(Token),
}

struct Parser<'a> {
    text: &'a Text,
    /// Pairs of braces, ordered by their opening.
    closing: Vec<(usize, usize)>,
}

impl Parser<'_> {
    /// Appends the pieces of `start..end`. Recursion is as deep as the nesting of braces.
    fn range(&self, start: usize, end: usize, pieces: &mut Vec<SpanPiece>) {
        let mut at = start;
        let mut next = self.closing.partition_point(|(open, _)| *open < start);
        while let Some((open, close)) = self.closing.get(next).copied().filter(|(o, _)| *o < end) {
            literal(pieces, at, open);
            let mut inner = Vec::new();
            self.range(open + 1, close, &mut inner);
            match self.token(open, close, inner) {
                Ok(token) => pieces.push(SpanPiece::Token(token)),
                Err(inner) => {
                    literal(pieces, open, open + 1);
                    for piece in inner {
                        match piece {
                            SpanPiece::Literal(start, end) => literal(pieces, start, end),
                            token @ SpanPiece::Token(_) => pieces.push(token),
                        }
                    }
                    literal(pieces, close, close + 1);
                }
            }
            at = close + 1;
            next += self.closing[next..].partition_point(|(open, _)| *open < at);
        }
        literal(pieces, at, end);
    }

    /// The braces as a token, or their content back if they are text.
    fn token(
        &self,
        open: usize,
        close: usize,
        mut inner: Vec<SpanPiece>,
    ) -> Result<Token, Vec<SpanPiece>> {
        let content = &self.text[open + 1..close];
        let mark = content.bytes().next().filter(|byte| matches!(byte, b'=' | b'^'));
        let start = open + 1 + usize::from(mark.is_some());
        let starts_like_a_path =
            self.text[start..close].starts_with(|c: char| is_word(c) || c == '{');
        let has_text_braces = inner.iter().any(|piece| match piece {
            SpanPiece::Literal(start, end) => self.text[*start..*end].contains(['{', '}']),
            SpanPiece::Token(_) => false,
        });
        if !starts_like_a_path || has_text_braces {
            return Err(inner);
        }
        let is_dynamic = inner.iter().any(|piece| matches!(piece, SpanPiece::Token(_)));
        let path = if is_dynamic {
            if let Some(SpanPiece::Literal(from, _)) = inner.first_mut() {
                *from = start;
            }
            self.dynamic(inner)
        } else {
            match Reference::parse(self.text.slice(start, close)) {
                Some(reference) => TokenPath::Static(reference),
                None => return Err(inner),
            }
        };
        Ok(Token {
            written: self.text.slice(open, close + 1),
            is_typed: mark == Some(b'='),
            is_required: mark == Some(b'^'),
            path,
        })
    }

    fn dynamic(&self, inner: Vec<SpanPiece>) -> TokenPath {
        let pieces = into_pieces(self.text, inner);
        let root = match pieces.first() {
            Some(Piece::Literal(text)) => {
                text.find(['.', '[']).map(|end| Root { name: text.slice(0, end), slot: None })
            }
            _ => None,
        };
        TokenPath::Dynamic { root, pieces }
    }
}

fn literal(pieces: &mut Vec<SpanPiece>, start: usize, end: usize) {
    if start == end {
        return;
    }
    match pieces.last_mut() {
        Some(SpanPiece::Literal(_, last)) if *last == start => *last = end,
        _ => pieces.push(SpanPiece::Literal(start, end)),
    }
}

fn into_pieces(text: &Text, pieces: Vec<SpanPiece>) -> Vec<Piece> {
    pieces
        .into_iter()
        .map(|piece| match piece {
            SpanPiece::Literal(start, end) => Piece::Literal(text.slice(start, end)),
            SpanPiece::Token(token) => Piece::Token(token),
        })
        .filter(|piece| !matches!(piece, Piece::Literal(text) if text.is_empty()))
        .collect()
}

impl Reference {
    /// Reads a path without nested tokens; `None` if it is not a path.
    pub(super) fn parse(text: Text) -> Option<Self> {
        let end = text.find(['.', '[']).unwrap_or(text.len());
        let root = Root { name: text.slice(0, end), slot: None };
        let rest = match text.as_bytes().get(end) {
            None => Rest::Nothing,
            Some(b'.') => match Path::parse(&text[end + 1..]) {
                Ok(path) => {
                    let names: Vec<Text> = text[end + 1..].split('.').map(Text::from).collect();
                    let is_walk = path.segments().len() == names.len()
                        && path.segments().iter().zip(&names).all(
                            |(segment, name)| matches!(segment, Segment::Member(m) if m == name),
                        );
                    Rest::Dotted { names, path, is_walk }
                }
                Err(error) if error.kind == PathErrorKind::Syntax => return None,
                Err(error) => Rest::Broken(error),
            },
            Some(_) => match Path::parse(&text[end..]) {
                Ok(path) => Rest::Bracketed(path),
                Err(error) if error.kind == PathErrorKind::Syntax => return None,
                Err(error) => Rest::Broken(error),
            },
        };
        Some(Self { text, root, rest })
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$' | ':')
}
