//! Path text to segments, in one pass.
//!
//! The reader is as generous with names as the original: anything up to the next `.` or `[` is a
//! name, blanks and non-ASCII included. Inside quotes everything belongs to the name.

use super::{PathError, SEGMENTS_MAX, Segment, expression::Expression};

/// Reads a whole path.
pub(super) fn segments(text: &str) -> Result<Vec<Segment>, PathError> {
    let mut parser = Parser { text, at: 0, segments: Vec::new() };
    parser.start()?;
    while parser.at < text.len() {
        parser.segment()?;
        if parser.segments.len() > SEGMENTS_MAX {
            return Err(PathError::limit(format!("more than {SEGMENTS_MAX} steps"), text));
        }
    }
    Ok(parser.segments)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    segments: Vec<Segment>,
}

impl<'a> Parser<'a> {
    /// The first step needs no dot before it, and `$` may stand there.
    fn start(&mut self) -> Result<(), PathError> {
        let text = self.text;
        if let Some(rest) = text.strip_prefix('$')
            && (rest.is_empty() || rest.starts_with(['.', '[']))
        {
            self.at = 1;
            return Ok(());
        }
        if text.is_empty() || text.starts_with('.') {
            // The empty name before the first dot: nothing is ever found there.
            self.segments.push(Segment::Union(Vec::new()));
            return Ok(());
        }
        if !text.starts_with('[') {
            let segment = self.name()?;
            self.segments.push(segment);
        }
        Ok(())
    }

    fn segment(&mut self) -> Result<(), PathError> {
        if self.take("..") {
            return self.descent();
        }
        if self.take(".") {
            if self.rest().starts_with('[') {
                return Ok(());
            }
            let segment = self.name()?;
            self.segments.push(segment);
            return Ok(());
        }
        let segment = self.bracket()?;
        self.segments.push(segment);
        Ok(())
    }

    fn descent(&mut self) -> Result<(), PathError> {
        let segment = if self.rest().starts_with('[') { self.bracket()? } else { self.name()? };
        match segment {
            Segment::Member(name) => self.segments.push(Segment::Descendant(name)),
            Segment::Wildcard => self.segments.push(Segment::DescendantWildcard),
            other => self.segments.extend([Segment::Descend, other]),
        }
        Ok(())
    }

    /// An unbracketed name; `'a.b'` in quotes keeps its dots.
    fn name(&mut self) -> Result<Segment, PathError> {
        let rest = self.rest();
        if let Some(quote) = rest.chars().next().filter(|first| matches!(first, '\'' | '"'))
            && let Some((name, length)) = quoted(rest, quote)
            && (rest.len() == length || rest[length..].starts_with(['.', '[']))
        {
            self.at += length;
            return Ok(Segment::Member(name.into()));
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        self.at += end;
        match &rest[..end] {
            "" => Err(self.error("a name is missing")),
            "*" => Ok(Segment::Wildcard),
            "$" => Ok(Segment::Root),
            name => Ok(Segment::Member(name.into())),
        }
    }

    fn bracket(&mut self) -> Result<Segment, PathError> {
        if !self.take("[") {
            return Err(self.error("`.` or `[` must follow"));
        }
        self.skip_blanks();
        if self.take("?") {
            self.skip_blanks();
            return self.parenthesised().map(Segment::Filter);
        }
        if self.rest().starts_with('(') {
            return self.parenthesised().map(Segment::Computed);
        }
        let mut parts = vec![self.part()?];
        while self.take(",") {
            parts.push(self.part()?);
            if parts.len() > SEGMENTS_MAX {
                let reason = format!("more than {SEGMENTS_MAX} names in brackets");
                return Err(PathError::limit(reason, self.text));
            }
        }
        self.expect("]")?;
        match parts.pop() {
            Some(only) if parts.is_empty() => Ok(only),
            last => {
                parts.extend(last);
                Ok(Segment::Union(parts))
            }
        }
    }

    /// `(expression)]`. Quotes and inner parentheses are respected, so both may hold a `)`.
    fn parenthesised(&mut self) -> Result<Expression, PathError> {
        if !self.take("(") {
            return Err(self.error("`(` must follow `?`"));
        }
        let rest = self.rest();
        let mut depth = 1_usize;
        let mut quote = None;
        let mut is_escaped = false;
        for (at, character) in rest.char_indices() {
            match (quote, character) {
                (Some(_), _) if is_escaped => is_escaped = false,
                (Some(_), '\\') => is_escaped = true,
                (Some(open), _) if open == character => quote = None,
                (None, '"' | '\'') => quote = Some(character),
                (None, '(') => depth += 1,
                (None, ')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let expression = Expression::parse(rest[..at].trim())?;
                self.at += at + 1;
                self.skip_blanks();
                self.expect("]")?;
                return Ok(expression);
            }
        }
        Err(self.error("`)` is missing"))
    }

    /// One item of a bracket: a quoted name, an index, a slice, `*`, or a bare name.
    fn part(&mut self) -> Result<Segment, PathError> {
        self.skip_blanks();
        let rest = self.rest();
        if let Some(quote) = rest.chars().next().filter(|first| matches!(first, '\'' | '"')) {
            let Some((name, length)) = quoted(rest, quote) else {
                return Err(self.error("a quote is not closed"));
            };
            self.at += length;
            self.skip_blanks();
            return Ok(Segment::Member(name.into()));
        }
        let end = rest.find([',', ']']).ok_or_else(|| self.error("`]` is missing"))?;
        self.at += end;
        match rest[..end].trim() {
            "" => Err(self.error("empty brackets")),
            "*" => Ok(Segment::Wildcard),
            text => Ok(index_or_slice(text).unwrap_or_else(|| Segment::Member(text.into()))),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, spelling: &str) -> bool {
        let is_there = self.rest().starts_with(spelling);
        if is_there {
            self.at += spelling.len();
        }
        is_there
    }

    fn expect(&mut self, spelling: &str) -> Result<(), PathError> {
        if self.take(spelling) {
            Ok(())
        } else {
            Err(self.error(format!("`{spelling}` is missing")))
        }
    }

    fn error(&self, reason: impl Into<String>) -> PathError {
        PathError::syntax(reason, self.text)
    }
}

/// The quoted text at the start of `text` and its length with quotes. A backslash escapes a quote
/// or a backslash and is itself otherwise.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == quote {
            return Some((name, at + 1));
        }
        if character == '\\'
            && let Some((_, escaped)) =
                characters.next_if(|(_, next)| matches!(next, '\\' | '\'' | '"'))
        {
            name.push(escaped);
        } else {
            name.push(character);
        }
    }
    None
}

/// `3`, `-1` (the last element), `1:3`, `::2`.
fn index_or_slice(text: &str) -> Option<Segment> {
    if let Some(index) = super::step::index_of(text) {
        return Some(Segment::Index(index));
    }
    if let Some(digits) = text.strip_prefix('-')
        && digits.starts_with(|first: char| first.is_ascii_digit())
        && let Ok(Some(start)) = bound(text)
        && start < 0
    {
        let end = (start < -1).then_some(start + 1);
        return Some(Segment::Slice { start: Some(start), end, step: None });
    }
    let parts: Vec<&str> = text.splitn(4, ':').map(str::trim).collect();
    match parts[..] {
        [start, end] => {
            Some(Segment::Slice { start: bound(start).ok()?, end: bound(end).ok()?, step: None })
        }
        [start, end, step] => Some(Segment::Slice {
            start: bound(start).ok()?,
            end: bound(end).ok()?,
            step: bound(step).ok()?,
        }),
        _ => None,
    }
}

struct NotANumber;

/// A bound of a slice; `None` if it is left out.
fn bound(text: &str) -> Result<Option<i64>, NotANumber> {
    if text.is_empty() {
        return Ok(None);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NotANumber);
    }
    // A number beyond 64 bits is beyond every array, too.
    let beyond = if text.starts_with('-') { i64::MIN + 1 } else { i64::MAX };
    Ok(Some(text.parse().unwrap_or(beyond)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::path::{Path, PathErrorKind, Segment};

    fn member(name: &str) -> Segment {
        Segment::Member(name.into())
    }

    #[test]
    fn each_step_has_its_segment() {
        let slice = |start, end, step| Segment::Slice { start, end, step };
        for (text, segments) in [
            ("$", vec![]),
            ("a", vec![member("a")]),
            ("$.a.b", vec![member("a"), member("b")]),
            ("$price", vec![member("$price")]),
            ("x:item.x:id", vec![member("x:item"), member("x:id")]),
            ("b c[d]", vec![member("b c"), member("d")]),
            ("a['d.e']", vec![member("a"), member("d.e")]),
            ("a.'d.e'.f", vec![member("a"), member("d.e"), member("f")]),
            (r#"["x]y"][ 'q,r' ]"#, vec![member("x]y"), member("q,r")]),
            (r"['it\'s']", vec![member("it's")]),
            ("[0]", vec![Segment::Index(0)]),
            ("a[07]", vec![member("a"), member("07")]),
            ("a.0", vec![member("a"), member("0")]),
            ("a[-1]", vec![member("a"), slice(Some(-1), None, None)]),
            ("a[-2]", vec![member("a"), slice(Some(-2), Some(-1), None)]),
            ("a[1:3]", vec![member("a"), slice(Some(1), Some(3), None)]),
            ("a[:-1:2]", vec![member("a"), slice(None, Some(-1), Some(2))]),
            ("a[x:y]", vec![member("a"), member("x:y")]),
            ("a[*].*", vec![member("a"), Segment::Wildcard, Segment::Wildcard]),
            ("a[0, 'b',c]", {
                vec![member("a"), Segment::Union(vec![Segment::Index(0), member("b"), member("c")])]
            }),
            ("$..v", vec![Segment::Descendant("v".into())]),
            ("$..['v.w']", vec![Segment::Descendant("v.w".into())]),
            ("a..*", vec![member("a"), Segment::DescendantWildcard]),
            ("a..[1:]", vec![member("a"), Segment::Descend, slice(Some(1), None, None)]),
            ("a.$.b", vec![member("a"), Segment::Root, member("b")]),
            ("..v", vec![Segment::Union(vec![]), Segment::Descendant("v".into())]),
            ("", vec![Segment::Union(vec![])]),
        ] {
            let path = Path::parse(text).expect(text);
            assert_eq!(path.segments(), segments, "{text}");
            assert_eq!(Path::parse(&path.to_string()).expect(text).segments(), segments, "{text}");
        }
    }

    #[test]
    fn expressions_end_at_their_own_parenthesis() {
        let path = Path::parse("l[?((@.k == ')]') || (a > 1))].v[(@.length-1)]").expect("valid");
        let [_, Segment::Filter(filter), _, Segment::Computed(computed)] = path.segments() else {
            panic!("{:?}", path.segments());
        };
        assert_eq!(filter.text(), "(@.k == ')]') || (a > 1)");
        assert_eq!(computed.text(), "@.length-1");
        assert_eq!(path.variables(), ["a"]);
    }

    #[test]
    fn malformed_paths_are_refused_with_their_text() {
        for text in ["a.", "a..", "a...b", "a[", "a[]", "a[1,]", "a['x]", "a[0]b", "a[?x]", "a[(1]"]
        {
            let error = Path::parse(text).expect_err(text);
            assert_eq!(error.kind, PathErrorKind::Syntax, "{text}");
            assert!(error.to_string().ends_with(text), "{error}");
        }
        let error = Path::parse("a[?(alert(1))]").expect_err("a call");
        assert_eq!(error.kind, PathErrorKind::Expression);
        assert_eq!(error.to_string(), "jsonPath: calls are not supported: alert(1)");
        assert_eq!(Path::parse(&"a.".repeat(5000)).expect_err("long").kind, PathErrorKind::Limit);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = Path::parse(&text);
        }

        #[test]
        fn the_printed_path_reads_back_the_same(text in "[a$.*\\[\\]'\"0-9:,?()@=<\\\\ -]{0,24}") {
            if let Ok(path) = Path::parse(&text) {
                let printed = path.to_string();
                let again = Path::parse(&printed);
                prop_assert_eq!(
                    again.as_ref().map(Path::segments), Ok(path.segments()), "{}", printed
                );
            }
        }
    }
}
