//! The headers of an answer, in the bytes they came in.
//!
//! In: the head of a response and its lines, or a map where there is one already (HTTP/2, the cache).
//! Out: the values of a name, and a map of all of them for those who ask for it: hooks, the cache, whoever
//! watches. Most exchanges need two or three values, and to hash every name costs more than all the rest
//! of reading a head (`docs/adr/0013-heads-of-answers.md`).
//!
//! Promises: a name has the values that the map has, in the same order; nothing is copied before the map
//! is made.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

/// The headers of an answer.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    head: Bytes,
    /// Where in the head they are; none if there is only a map.
    lines: Box<[Line]>,
    lengths: NameLengths,
    map: OnceLock<Arc<HeaderMap>>,
}

/// How long the names of the lines are: most names that are looked for are not there, and are as long as none.
#[derive(Debug, Clone, Copy, Default)]
struct NameLengths(u64);

impl NameLengths {
    fn add(&mut self, bytes: usize) {
        self.0 |= 1 << bytes.min(63);
    }

    fn has(self, bytes: usize) -> bool {
        self.0 & (1 << bytes.min(63)) != 0
    }
}

/// Where name and value of one line are.
#[derive(Debug, Clone, Copy)]
struct Line {
    name_at: u32,
    value_at: u32,
    value_bytes: u32,
    /// No name is longer than a [`HeaderName`] can be.
    name_bytes: u16,
}

impl Line {
    fn name(self) -> Range<usize> {
        self.name_at as usize..self.name_at as usize + usize::from(self.name_bytes)
    }

    fn value(self) -> Range<usize> {
        self.value_at as usize..self.value_at as usize + self.value_bytes as usize
    }
}

impl Headers {
    /// The headers with these lines, which are parts of `head`; `None` if they are not, or if a name is
    /// longer than a name can be. Names are tokens and values without control characters: the parser
    /// takes no others.
    pub(super) fn of_lines<'h>(
        head: &Bytes,
        lines: impl ExactSizeIterator<Item = (&'h str, &'h [u8])>,
    ) -> Option<Self> {
        let place = |part: &[u8]| {
            let at = part.as_ptr().addr().checked_sub(head.as_ptr().addr())?;
            let is_inside = part.len() <= head.len().checked_sub(at)?;
            if is_inside { u32::try_from(at).ok() } else { None }
        };
        let mut lengths = NameLengths::default();
        let mut places = Vec::with_capacity(lines.len());
        for (name, value) in lines {
            lengths.add(name.len());
            places.push(Line {
                name_at: place(name.as_bytes())?,
                value_at: place(value)?,
                value_bytes: u32::try_from(value.len()).ok()?,
                name_bytes: u16::try_from(name.len()).ok()?,
            });
        }
        let lines = places.into_boxed_slice();
        Some(Self { head: head.clone(), lines, lengths, map: OnceLock::new() })
    }

    /// The first value of a name, in any case.
    pub fn get(&self, name: impl AsRef<str>) -> Option<&[u8]> {
        let name = name.as_ref();
        if self.lines.is_empty() {
            return self.map.get()?.get(name).map(HeaderValue::as_bytes);
        }
        let line = self.candidates(name).iter().find(|line| self.is_named(line, name))?;
        Some(&self.head[line.value()])
    }

    /// All values of a name, in their order.
    pub(crate) fn all<'h>(&'h self, name: &'h HeaderName) -> impl Iterator<Item = &'h [u8]> {
        let map = if self.lines.is_empty() { self.map.get() } else { None };
        let mapped = map.into_iter().flat_map(move |map| map.get_all(name));
        self.candidates(name.as_str())
            .iter()
            .filter(move |line| self.is_named(line, name.as_str()))
            .map(|line| &self.head[line.value()])
            .chain(mapped.map(HeaderValue::as_bytes))
    }

    /// The lines that may have this name.
    fn candidates(&self, name: &str) -> &[Line] {
        if self.lengths.has(name.len()) { &self.lines } else { &[] }
    }

    fn is_named(&self, line: &Line, name: &str) -> bool {
        usize::from(line.name_bytes) == name.len()
            && self.head[line.name()].eq_ignore_ascii_case(name.as_bytes())
    }

    /// All of them as a map, made when it is asked for first.
    pub fn map(&self) -> &HeaderMap {
        self.map.get_or_init(|| Arc::new(self.to_map()))
    }

    /// The same, to keep.
    pub(crate) fn shared_map(&self) -> Arc<HeaderMap> {
        Arc::clone(self.map.get_or_init(|| Arc::new(self.to_map())))
    }

    /// Changes them.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut HeaderMap)) {
        let mut map = match self.map.take() {
            Some(map) => Arc::unwrap_or_clone(map),
            None => self.to_map(),
        };
        change(&mut map);
        *self = Self::from(map);
    }

    fn to_map(&self) -> HeaderMap {
        let mut map = HeaderMap::with_capacity(self.lines.len());
        for line in &self.lines {
            let name = HeaderName::from_bytes(&self.head[line.name()]);
            let value = HeaderValue::from_maybe_shared(self.head.slice(line.value()));
            debug_assert!(name.is_ok() && value.is_ok(), "the parser lets through no other lines");
            if let (Ok(name), Ok(value)) = (name, value) {
                map.append(name, value);
            }
        }
        map
    }
}

impl From<HeaderMap> for Headers {
    fn from(map: HeaderMap) -> Self {
        Self::from(Arc::new(map))
    }
}

impl From<Arc<HeaderMap>> for Headers {
    fn from(map: Arc<HeaderMap>) -> Self {
        Self { map: OnceLock::from(map), ..Self::default() }
    }
}

/// The value as text, under the rule of [`HeaderValue::to_str`]: visible ASCII, spaces and tabs.
pub(crate) fn as_text(value: &[u8]) -> Option<&str> {
    // All bytes, and not up to the first other one: so they are judged many at a time.
    let is_text =
        value.iter().fold(true, |is_text, byte| is_text & matches!(byte, b' '..=b'~' | b'\t'));
    if is_text { str::from_utf8(value).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The headers of a head as the parser of responses reads it, and as a map of the same lines.
    fn both(head: &str) -> (Headers, HeaderMap) {
        let head = Bytes::from(head.to_owned());
        let mut lines = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut lines);
        assert!(response.parse(&head).expect("well-formed").is_complete());
        let parsed = response.headers.iter();
        let headers = Headers::of_lines(&head, parsed.map(|line| (line.name, line.value)));
        let map = response.headers.iter().map(|line| {
            let name = HeaderName::from_bytes(line.name.as_bytes()).expect("a name");
            (name, HeaderValue::from_bytes(line.value).expect("a value"))
        });
        let mut expected = HeaderMap::new();
        map.for_each(|(name, value)| {
            expected.append(name, value);
        });
        (headers.expect("lines of the head"), expected)
    }

    #[test]
    fn a_name_is_found_in_any_case_and_has_its_values_in_order() {
        let (headers, _) = both("HTTP/1.1 200 X\r\nVary: a\r\nvary: b\r\nX-Empty:\r\n\r\n");
        assert_eq!(headers.get("VARY"), Some(&b"a"[..]));
        assert_eq!(headers.get("x-empty"), Some(&b""[..]));
        assert_eq!(headers.get("var"), None);
        assert!(headers.all(&http::header::VARY).eq([b"a", b"b"]));
    }

    #[test]
    fn what_was_changed_is_what_is_found() {
        let (mut headers, _) = both("HTTP/1.1 200 X\r\nVary: a\r\nServer: s\r\n\r\n");
        let before = headers.shared_map();
        headers.edit(|map| {
            map.insert("vary", HeaderValue::from_static("c"));
        });
        assert_eq!(headers.get("vary"), Some(&b"c"[..]));
        assert_eq!(headers.get("server"), Some(&b"s"[..]));
        assert_eq!(before["vary"], "a");
        headers.edit(HeaderMap::clear);
        assert_eq!(headers.get("vary"), None);
    }

    #[test]
    fn lines_of_another_head_are_refused() {
        let head = Bytes::from_static(b"a: b");
        let line = ("a", &b"b"[..]);
        assert!(Headers::of_lines(&head, [line].into_iter()).is_none());
        let long = Bytes::from(vec![b'a'; 1 << 16]);
        let name = str::from_utf8(&long).expect("text");
        assert!(Headers::of_lines(&long, [(name, &long[..0])].into_iter()).is_none());
    }

    #[test]
    fn text_is_what_a_header_value_takes_for_text() {
        for byte in 0..=u8::MAX {
            let Ok(value) = HeaderValue::from_bytes(&[byte]) else { continue };
            assert_eq!(as_text(&[byte]), value.to_str().ok(), "{byte}");
        }
    }

    proptest! {
        #[test]
        fn lines_answer_as_a_map_does(
            lines in proptest::collection::vec(("[a-cA-C-]{1,3}|[aA]{62,66}", "[ -~\t\u{e9}]{0,12}"), 0..12),
            asked in "[a-c-]{1,3}|a{62,66}",
        ) {
            let mut head = "HTTP/1.1 200 X\r\n".to_owned();
            for (name, value) in &lines {
                head.extend([name, ": ", value, "\r\n"]);
            }
            head.push_str("\r\n");
            let (headers, expected) = both(&head);
            let name = HeaderName::from_bytes(asked.as_bytes()).expect("a name");
            let values = |headers: &Headers| headers.all(&name).map(<[u8]>::to_vec).collect::<Vec<_>>();
            let expected_values: Vec<_> =
                expected.get_all(&name).iter().map(|value| value.as_bytes().to_vec()).collect();
            prop_assert_eq!(values(&headers), expected_values.clone());
            prop_assert_eq!(headers.get(&asked), expected_values.first().map(Vec::as_slice));
            prop_assert_eq!(headers.map(), &expected);
            // Also when a map is all there is.
            let mapped = Headers::from(expected);
            prop_assert_eq!(values(&mapped), expected_values);
            prop_assert_eq!(mapped.get(&asked), headers.get(&asked));
        }
    }
}
