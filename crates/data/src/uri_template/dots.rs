//! Dot segments, which lead the path of a URI elsewhere (URI-20).
//!
//! In: a URI, or a part of its path. Out: how many segments of the path are `.` or `..` to somebody who
//! decodes it as often as anybody might, takes a backslash for a slash, or leaves out what follows a
//! semicolon. A value must not make such a segment; a template may write one.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use super::{Piece, expand};
use crate::{Params, percent};

/// How many segments of a URI's path are dot segments.
pub fn dot_segments(uri: &str) -> usize {
    in_path(path_of(uri))
}

/// The dot segments that a template writes itself, whatever its values are.
pub(super) fn written(pieces: &[Piece]) -> usize {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            // Any value that is no dot.
            Piece::Token(_) => text.push('x'),
        }
    }
    dot_segments(&text)
}

/// Whether the fixed parts beside tokens could become dot segments with values that have no dot.
pub(super) fn has_dots_at_tokens(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Literal(text) => {
            let text = decoded(text);
            let is_end = |byte: &u8| matches!(byte, b'/' | b'\\');
            let ends = [
                text.rsplit(is_end).next(),
                text.split(|byte| is_end(byte) || *byte == b'?').next(),
            ];
            // What follows a semicolon counts for nothing.
            let names =
                ends.into_iter().flatten().filter_map(|end| end.split(|byte| *byte == b';').next());
            names.into_iter().any(|name| !name.is_empty() && name.iter().all(|byte| *byte == b'.'))
        }
        Piece::Token(_) => false,
    })
}

/// Whether a value, encoded for a path, needs a look at the whole: nearly none does.
pub(super) fn is_suspect(encoded: &str) -> bool {
    encoded.bytes().any(|byte| matches!(byte, b'.' | b'%'))
}

/// The name of the token whose value makes a dot segment.
pub(super) fn culprit(pieces: &[Piece], params: &dyn Params) -> String {
    let mut last = None;
    for piece in pieces {
        let token = match piece {
            Piece::Literal(text) if text.contains('?') => break,
            Piece::Literal(_) => continue,
            Piece::Token(token) => token,
        };
        let texts = expand::texts_of(token, params);
        if texts.iter().any(|text| in_path(text) > 0) {
            return token.info.name.clone();
        }
        // Several values may make one segment, and the last of them completes it.
        if texts.iter().any(|text| !text.is_empty() && is_dots(text)) {
            last = Some(token);
        }
    }
    let any = pieces.iter().find_map(|piece| match piece {
        Piece::Token(token) => Some(token),
        Piece::Literal(_) => None,
    });
    last.or(any).map(|token| token.info.name.clone()).unwrap_or_default()
}

fn is_dots(text: &str) -> bool {
    decoded(text).iter().all(|byte| *byte == b'.')
}

/// What stands between host and query.
fn path_of(uri: &str) -> &str {
    let uri = uri.split(['?', '#']).next().unwrap_or_default();
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    rest.find('/').map_or("", |start| &rest[start..])
}

fn in_path(path: &str) -> usize {
    if memchr2(b'.', b'%', path.as_bytes()).is_none() {
        return 0;
    }
    let path = decoded(path);
    let segments = path.split(|byte| matches!(byte, b'/' | b'\\'));
    let names = segments.map(|segment| &segment[..memchr(b';', segment).unwrap_or(segment.len())]);
    names.filter(|name| matches!(*name, b"." | b"..")).count()
}

/// The bytes of a text, decoded until nothing is left to decode. Each round makes it shorter.
fn decoded(text: &str) -> Cow<'_, [u8]> {
    let mut bytes = Cow::Borrowed(text.as_bytes());
    while let Some(shorter) = decoded_once(&bytes) {
        bytes = Cow::Owned(shorter);
    }
    bytes
}

fn decoded_once(bytes: &[u8]) -> Option<Vec<u8>> {
    memchr(b'%', bytes)?;
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if percent::is_escape(bytes, at) {
            let digit = |place: usize| char::from(bytes[place]).to_digit(16).unwrap_or_default();
            decoded.extend(u8::try_from(digit(at + 1) * 16 + digit(at + 2)));
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    (decoded.len() < bytes.len()).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_segments_are_found_however_they_are_written() {
        for (uri, count) in [
            ("http://h/a/b", 0),
            ("http://h/../b", 1),
            ("http://h/..", 1),
            ("http://h/./a/.", 2),
            ("http://h/%2e%2e/b", 1),
            ("http://h/.%2E/b", 1),
            ("http://h/%252e%252e/b", 1),
            ("http://h/a%2F..%2Fb", 1),
            ("http://h/a%5c..%5cb", 1),
            ("http://h/a\\..\\b", 1),
            ("http://h/..;x=1/b", 1),
            ("http://h/.../..a/a../.a", 0),
            ("http://h/%/%2/%zz", 0),
            ("http://h/a?x=/../", 0),
            ("http://h/a#/../", 0),
            ("http://../a", 0),
            ("http://h", 0),
        ] {
            assert_eq!(dot_segments(uri), count, "{uri}");
        }
    }
}
