//! Patterns for one path segment: literal text, tokens, and mixtures such as `{id}.json`.
//!
//! A token takes one character or more, as few as possible, and never a `/`. Matching works on the
//! raw, still encoded segment and takes a `%XX` as one character, so it never cuts one in half.
//! It is linear in the length of the segment: because nothing restricts what a token takes, the
//! first place where the next literal fits is always right, and nothing is ever tried twice.

use qlio_data::percent;

/// One piece of a [`SegmentPattern`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// Raw path text.
    Literal(Box<str>),
    /// A token; names live in the template, so that patterns of different routes can be shared.
    Token,
}

/// How a segment ranks against others at the same place; smaller is tried first (SRV-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SegmentClass {
    /// Text only.
    Literal,
    /// Text and tokens.
    Mixed,
    /// One token.
    Token,
    /// A trailing `*`.
    Rest,
}

/// The pattern of one segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SegmentPattern {
    pieces: Box<[Piece]>,
}

impl SegmentPattern {
    /// A pattern of these pieces; no two literals stand side by side.
    pub(crate) fn new(pieces: Vec<Piece>) -> Self {
        Self { pieces: pieces.into() }
    }

    /// The class among other segments.
    pub(crate) fn class(&self) -> SegmentClass {
        match &*self.pieces {
            [] | [Piece::Literal(_)] => SegmentClass::Literal,
            [Piece::Token] => SegmentClass::Token,
            _ => SegmentClass::Mixed,
        }
    }

    /// The text of a literal pattern.
    pub(crate) fn as_literal(&self) -> Option<&str> {
        match &*self.pieces {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The number of bytes of literal text.
    pub(crate) fn literal_len(&self) -> usize {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => text.len(),
                Piece::Token => 0,
            })
            .sum()
    }

    /// Matches a whole segment; what the tokens took is appended to `captures`. On failure
    /// `captures` is as before.
    pub(crate) fn matches<'p>(&self, segment: &'p str, captures: &mut Vec<&'p str>) -> bool {
        self.run(segment, false, captures).is_some()
    }

    /// Matches the beginning of `text`; answers the length that was matched.
    pub(crate) fn matches_prefix<'p>(
        &self,
        text: &'p str,
        captures: &mut Vec<&'p str>,
    ) -> Option<usize> {
        self.run(text, true, captures)
    }

    fn run<'p>(
        &self,
        text: &'p str,
        is_prefix: bool,
        captures: &mut Vec<&'p str>,
    ) -> Option<usize> {
        let before = captures.len();
        let end = self.walk(text, is_prefix, captures);
        if end.is_none() {
            captures.truncate(before);
        }
        end
    }

    fn walk<'p>(
        &self,
        text: &'p str,
        is_prefix: bool,
        captures: &mut Vec<&'p str>,
    ) -> Option<usize> {
        let mut at = 0;
        let mut pieces = self.pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Literal(literal) => {
                    if !text[at..].starts_with(&**literal) {
                        return None;
                    }
                    at += literal.len();
                }
                Piece::Token => {
                    let least = at + unit_len(text, at)?;
                    let end = match pieces.peek() {
                        None if is_prefix => least,
                        None => text.len(),
                        Some(Piece::Token) => least,
                        Some(Piece::Literal(literal)) => {
                            pieces.next();
                            let is_last = pieces.peek().is_none() && !is_prefix;
                            let end = if is_last {
                                ending(text, least, literal)?
                            } else {
                                find(text, least, literal)?
                            };
                            captures.push(token_text(text, at, end)?);
                            at = end + literal.len();
                            continue;
                        }
                    };
                    captures.push(token_text(text, at, end)?);
                    at = end;
                }
            }
        }
        (is_prefix || at == text.len()).then_some(at)
    }
}

fn token_text(text: &str, start: usize, end: usize) -> Option<&str> {
    text.get(start..end).filter(|taken| !taken.contains('/'))
}

/// Where the literal ends the text, not before `least`.
fn ending(text: &str, least: usize, literal: &str) -> Option<usize> {
    let at = text.len().checked_sub(literal.len())?;
    (at >= least && text.ends_with(literal) && is_unit_start(text, at)).then_some(at)
}

/// The first place of the literal, not before `least`.
fn find(text: &str, least: usize, literal: &str) -> Option<usize> {
    text[least..]
        .match_indices(literal)
        .map(|(at, _)| least + at)
        .find(|at| is_unit_start(text, *at))
}

/// The length of the character or `%XX` at `at`.
fn unit_len(text: &str, at: usize) -> Option<usize> {
    if percent::is_escape(text.as_bytes(), at) {
        return Some(3);
    }
    text[at..].chars().next().map(char::len_utf8)
}

/// Whether `at` does not lie inside a `%XX`.
fn is_unit_start(text: &str, at: usize) -> bool {
    let inside = |back: usize| at >= back && percent::is_escape(text.as_bytes(), at - back);
    !inside(1) && !inside(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> SegmentPattern {
        let mut pieces = Vec::new();
        for part in text.split_inclusive(['<', '>']) {
            let literal = part.trim_end_matches(['<', '>']);
            if !literal.is_empty() {
                pieces.push(Piece::Literal(literal.into()));
            }
            if part.ends_with('<') {
                pieces.push(Piece::Token);
            }
        }
        SegmentPattern::new(pieces)
    }

    /// `<` stands for a token.
    fn check(text: &str, segment: &str, expected: Option<&[&str]>) {
        let mut captures = vec!["kept"];
        let is_match = pattern(text).matches(segment, &mut captures);
        assert_eq!(is_match.then_some(&captures[1..]), expected, "{text} on {segment}");
        assert_eq!(captures[0], "kept");
    }

    #[test]
    fn tokens_take_as_little_as_possible() {
        check("<.json", "B7.json", Some(&["B7"]));
        check("<.json", "a.json.json", Some(&["a.json"]));
        check("<.json", ".json", None);
        check("<-y", "x-y", Some(&["x"]));
        check("<-<", "a-b-c", Some(&["a", "b-c"]));
        check("<-<-<", "a-b", None);
        check("v<", "v", None);
        check("v<x<", "vaxbxc", Some(&["a", "bxc"]));
        check("<<", "abc", Some(&["a", "bc"]));
        check("<<", "a", None);
        check("lit", "lit", Some(&[]));
        check("lit", "Lit", None);
        check("", "", Some(&[]));
        check("<", "", None);
    }

    #[test]
    fn an_encoded_character_is_never_cut() {
        check("<2", "%2F2", Some(&["%2F"]));
        check("<2F", "%2F", None);
        check("<2<", "%2Fa2b", Some(&["%2Fa", "b"]));
        check("<<", "%41b", Some(&["%41", "b"]));
        check("<41", "%%41", None);
    }

    #[test]
    fn a_prefix_may_leave_text_over() {
        let mut captures = Vec::new();
        assert_eq!(pattern("files").matches_prefix("files/a/b", &mut captures), Some(5));
        assert_eq!(pattern("v<-").matches_prefix("v1-x/y", &mut captures), Some(3));
        assert_eq!(captures, ["1"]);
        assert_eq!(pattern("v<-").matches_prefix("v/1-x", &mut captures), None);
        assert_eq!(captures, ["1"]);
    }
}
