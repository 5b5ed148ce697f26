//! The quoted text of `via route '…'`: a path template and a query template.
//!
//! In: the text between the quotes. Out: a [`RouteTemplate`] and the faults found, each with its
//! byte offset in that text. All faults of one template are reported together. A fatal fault means
//! that the route cannot be loaded; others (a query value without braces) drop one parameter only.
//! Nothing here looks at requests. Rules: SRV-8.

use qlio_data::percent;

use crate::routes::segment::{Piece, SegmentClass, SegmentPattern};

/// The longest template text, in bytes.
pub(crate) const TEMPLATE_BYTES_MAX: usize = 4096;
/// The most segments of one path; bounds the depth of the matching tree.
pub(crate) const SEGMENTS_MAX: usize = 64;
/// The most optional segments of one path; each doubles the number of shapes.
pub(crate) const OPTIONAL_SEGMENTS_MAX: usize = 4;

/// A parsed route template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RouteTemplate {
    /// The path part as written; routes with the same path part are variants of each other.
    pub path: String,
    /// The shapes of the path: one, or several if segments are optional.
    pub shapes: Vec<PathShape>,
    /// The declared query parameters, in text order.
    pub query: Vec<DeclaredKey>,
}

/// One concrete form of a path template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathShape {
    /// The segments; a path that ends in `/` has an empty last one.
    pub segments: Vec<SegmentPattern>,
    /// What stands before a trailing `*` in its segment; `None` without `*`.
    pub rest: Option<SegmentPattern>,
    /// The names of the tokens, in the order in which they capture.
    pub tokens: Vec<String>,
    /// The tokens of optional segments that this shape leaves out.
    pub absent: Vec<String>,
}

impl PathShape {
    /// The rank of every segment, for comparing shapes that match the same path.
    pub(crate) fn classes(&self) -> Vec<SegmentClass> {
        let rest = self.rest.is_some().then_some(SegmentClass::Rest);
        self.segments.iter().map(SegmentPattern::class).chain(rest).collect()
    }
}

/// A query parameter that a route declares: `key={token}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredKey {
    /// The name in the query string, decoded.
    pub key: String,
    /// The name in the script.
    pub token: String,
    /// Written `{^token}`; matters together with `with optional params`.
    pub is_required: bool,
}

/// Something wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateFault {
    /// Byte offset in the template text.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
    /// Whether the route cannot be loaded.
    pub is_fatal: bool,
}

impl RouteTemplate {
    /// Parses a template. The template is `None` exactly if one of the faults is fatal.
    pub(crate) fn parse(text: &str) -> (Option<Self>, Vec<TemplateFault>) {
        let mut faults = Faults::default();
        if text.len() > TEMPLATE_BYTES_MAX {
            faults
                .fatal(0, format!("a route template may have {TEMPLATE_BYTES_MAX} bytes at most"));
            return (None, faults.list);
        }
        let split = query_start(text);
        let path = &text[..split.unwrap_or(text.len())];
        let shapes = parse_path(path, &mut faults);
        let query = match split {
            Some(at) => parse_query(&text[at + 1..], at + 1, &mut faults),
            None => Vec::new(),
        };
        let is_loadable = !faults.list.iter().any(|fault| fault.is_fatal);
        let template = is_loadable.then(|| Self { path: path.to_owned(), shapes, query });
        (template, faults.list)
    }

    /// Whether another route with the same path and method would be a duplicate: the same keys with
    /// the same token text, in any order (SRV-3).
    pub(crate) fn has_same_query(&self, other: &Self) -> bool {
        self.query.len() == other.query.len()
            && self.query.iter().all(|declared| other.query.contains(declared))
    }
}

#[derive(Default)]
struct Faults {
    list: Vec<TemplateFault>,
}

impl Faults {
    fn fatal(&mut self, offset: usize, message: impl Into<String>) {
        self.list.push(TemplateFault { offset, message: message.into(), is_fatal: true });
    }

    fn warn(&mut self, offset: usize, message: impl Into<String>) {
        self.list.push(TemplateFault { offset, message: message.into(), is_fatal: false });
    }
}

/// The first `?` outside braces; the one in `{x?}` marks an optional segment.
fn query_start(text: &str) -> Option<usize> {
    let mut is_inside = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => is_inside = true,
            b'}' => is_inside = false,
            b'?' if !is_inside || !text[at..].starts_with("?}") => return Some(at),
            _ => {}
        }
    }
    None
}

/// A segment before optional ones are expanded.
struct RawSegment {
    pattern: SegmentPattern,
    tokens: Vec<String>,
    is_optional: bool,
    has_rest: bool,
}

fn parse_path(path: &str, faults: &mut Faults) -> Vec<PathShape> {
    let Some(body) = path.strip_prefix('/') else {
        let message = if path.contains("://") {
            "a route path has no scheme and no host"
        } else {
            "a route path begins with `/`"
        };
        faults.fatal(0, message);
        return Vec::new();
    };
    if body.starts_with('/') {
        faults.fatal(0, "a route path has no scheme and no host");
        return Vec::new();
    }
    if body.split('/').count() > SEGMENTS_MAX {
        faults.fatal(0, format!("a route path may have {SEGMENTS_MAX} segments at most"));
        return Vec::new();
    }
    let mut segments = Vec::new();
    let mut offset = 1;
    for text in body.split('/') {
        let is_last = offset + text.len() == path.len();
        segments.push(parse_segment(text, offset, is_last, faults));
        offset += text.len() + 1;
    }
    if segments.iter().filter(|segment| segment.is_optional).count() > OPTIONAL_SEGMENTS_MAX {
        faults.fatal(
            0,
            format!("a route path may have {OPTIONAL_SEGMENTS_MAX} optional segments at most"),
        );
        return Vec::new();
    }
    expand(&segments)
}

fn parse_segment(text: &str, offset: usize, is_last: bool, faults: &mut Faults) -> RawSegment {
    let mut pieces = Vec::new();
    let mut tokens = Vec::new();
    let mut is_optional = false;
    let has_rest = is_last && text.ends_with('*');
    let mut rest = if has_rest { &text[..text.len() - 1] } else { text };
    let mut at = offset;
    while !rest.is_empty() {
        let open = rest.find('{').unwrap_or(rest.len());
        if open > 0 {
            check_literal(&rest[..open], at, faults);
            pieces.push(Piece::Literal(raw_literal(&rest[..open]).into()));
            at += open;
            rest = &rest[open..];
            continue;
        }
        let Some(close) = rest.find('}') else {
            faults.fatal(at, "`{` without `}` in the route path");
            break;
        };
        let inner = &rest[1..close];
        let name = inner.strip_prefix('^').unwrap_or(inner);
        let optional_name = name.strip_suffix('?');
        if optional_name.is_some() {
            is_optional = true;
            if close + 1 != text.len() || offset != at {
                faults.fatal(at, format!("`{{{inner}}}` must be a whole segment of the path"));
            }
        }
        let name = optional_name.unwrap_or(name);
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            faults.fatal(
                at,
                format!("`{{{inner}}}` is no path token: a name has letters, digits and `_` only"),
            );
        }
        pieces.push(Piece::Token);
        tokens.push(name.to_owned());
        at += close + 1;
        rest = &rest[close + 1..];
    }
    RawSegment { pattern: SegmentPattern::new(pieces), tokens, is_optional, has_rest }
}

fn check_literal(literal: &str, offset: usize, faults: &mut Faults) {
    if let Some(at) = literal.find('}') {
        faults.fatal(offset + at, "`}` without `{` in the route path");
    }
}

/// The literal as it stands in a raw request path: what cannot stand there is encoded, and what the
/// server encodes for clients that do not.
fn raw_literal(literal: &str) -> String {
    let mut raw = String::with_capacity(literal.len());
    let stays = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'`');
    percent::encode_except(literal, stays, &mut raw);
    raw
}

/// Every combination of optional segments; the one with all of them comes first.
fn expand(segments: &[RawSegment]) -> Vec<PathShape> {
    let optional: Vec<usize> = (0..segments.len()).filter(|at| segments[*at].is_optional).collect();
    (0..1_usize << optional.len())
        .map(|skipped| {
            let is_skipped = |at: usize| {
                optional.iter().position(|o| *o == at).is_some_and(|bit| skipped >> bit & 1 == 1)
            };
            shape(segments, is_skipped)
        })
        .collect()
}

fn shape(segments: &[RawSegment], is_skipped: impl Fn(usize) -> bool) -> PathShape {
    let mut shape = PathShape {
        segments: Vec::with_capacity(segments.len()),
        rest: None,
        tokens: Vec::new(),
        absent: Vec::new(),
    };
    for (at, segment) in segments.iter().enumerate() {
        if is_skipped(at) {
            shape.absent.extend(segment.tokens.iter().cloned());
            continue;
        }
        shape.tokens.extend(segment.tokens.iter().cloned());
        if segment.has_rest {
            shape.rest = Some(segment.pattern.clone());
        } else {
            shape.segments.push(segment.pattern.clone());
        }
    }
    if shape.segments.is_empty() && shape.rest.is_none() {
        // `/{x?}` without its segment is the root path.
        shape.segments.push(SegmentPattern::new(Vec::new()));
    }
    shape
}

fn parse_query(text: &str, start: usize, faults: &mut Faults) -> Vec<DeclaredKey> {
    let mut declared: Vec<DeclaredKey> = Vec::new();
    let mut offset = start;
    for pair in text.split('&') {
        if !pair.is_empty()
            && let Some(key) = parse_pair(pair, offset, faults)
        {
            if declared.iter().any(|earlier| earlier.key == key.key) {
                faults.fatal(offset, format!("the query parameter `{}` stands twice", key.key));
            }
            declared.push(key);
        }
        offset += pair.len() + 1;
    }
    declared
}

fn parse_pair(pair: &str, offset: usize, faults: &mut Faults) -> Option<DeclaredKey> {
    let (raw_key, raw_value) = pair.split_once('=').unwrap_or((pair, ""));
    let (Ok(key), Ok(value)) = (percent::decode_form(raw_key), percent::decode_form(raw_value))
    else {
        faults.fatal(offset, format!("malformed percent-encoding in `{pair}`"));
        return None;
    };
    let value_offset = offset + pair.len() - raw_value.len();
    if !value.contains(['{', '}']) {
        faults.warn(
            value_offset,
            format!("Invalid query string, {{}} missing in script for query param value: {pair}"),
        );
        return None;
    }
    let inner = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let Some(inner) = inner.filter(|inner| !inner.contains(['{', '}'])) else {
        faults.fatal(
            value_offset,
            format!("the value of `{key}` must be exactly one `{{token}}`, found `{value}`"),
        );
        return None;
    };
    let token = inner.strip_prefix('^').unwrap_or(inner);
    if token.is_empty() || key.is_empty() {
        faults.fatal(value_offset, format!("`{pair}` lacks a name"));
        return None;
    }
    Some(DeclaredKey {
        key: key.into_owned(),
        token: token.to_owned(),
        is_required: inner.len() != token.len(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> RouteTemplate {
        let (template, faults) = RouteTemplate::parse(text);
        assert!(faults.is_empty(), "{text}: {faults:?}");
        template.expect("a template without faults")
    }

    /// The fault that `text` has, and whether the route still loads.
    fn fault(text: &str) -> (usize, bool, String) {
        let (template, mut faults) = RouteTemplate::parse(text);
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        let fault = faults.remove(0);
        assert_eq!(template.is_none(), fault.is_fatal);
        (fault.offset, fault.is_fatal, fault.message)
    }

    #[test]
    fn path_and_query_are_split_at_the_first_question_mark() {
        let template = parse("/dock/{id}.json?k={kind}&l={^len}");
        assert_eq!(template.path, "/dock/{id}.json");
        assert_eq!(template.shapes.len(), 1);
        assert_eq!(template.shapes[0].tokens, ["id"]);
        assert_eq!(template.shapes[0].classes(), [SegmentClass::Literal, SegmentClass::Mixed]);
        let keys: Vec<_> = template
            .query
            .iter()
            .map(|key| (key.key.as_str(), key.token.as_str(), key.is_required))
            .collect();
        assert_eq!(keys, [("k", "kind", false), ("l", "len", true)]);
    }

    #[test]
    fn empty_pairs_are_ignored_and_names_are_decoded() {
        let template = parse("/a?&a%20b={x}&&c+d=%7By%7D&");
        let keys: Vec<_> = template.query.iter().map(|key| key.key.as_str()).collect();
        assert_eq!(keys, ["a b", "c d"]);
        assert_eq!(template.query[1].token, "y");
    }

    #[test]
    fn a_required_mark_in_the_path_means_nothing() {
        assert_eq!(parse("/a/{^x}").shapes, parse("/a/{x}").shapes);
    }

    #[test]
    fn optional_segments_give_several_shapes() {
        let template = parse("/a/{x?}/b?q={q}");
        assert_eq!(template.shapes.len(), 2);
        assert_eq!(template.shapes[0].tokens, ["x"]);
        assert_eq!(template.shapes[1].absent, ["x"]);
        assert_eq!(template.shapes[1].segments.len(), 2);
        assert_eq!(parse("/{x?}").shapes[1].segments, parse("/").shapes[0].segments);
    }

    #[test]
    fn a_star_is_special_only_at_the_end() {
        let template = parse("/files/*");
        assert_eq!(template.shapes[0].classes(), [SegmentClass::Literal, SegmentClass::Rest]);
        let template = parse("/a*b/c");
        assert_eq!(template.shapes[0].segments[0].as_literal(), Some("a*b"));
    }

    #[test]
    fn text_that_cannot_stand_in_a_request_path_is_encoded() {
        assert_eq!(parse("/café x/(y)").shapes[0].segments[0].as_literal(), Some("caf%C3%A9%20x"));
        assert_eq!(parse("/<\">`").shapes[0].segments[0].as_literal(), Some("%3C\"%3E%60"));
    }

    #[test]
    fn faults_are_located() {
        for (text, offset) in [
            ("dock", 0),
            ("", 0),
            ("http://h/x", 0),
            ("//h/x", 0),
            ("/a/{a.b}", 3),
            ("/a/{}", 3),
            ("/a/{b", 3),
            ("/a/b}", 4),
            ("/a/v{x?}", 4),
            ("/a/{x?}y", 3),
            ("/s?k=pre{a}", 5),
            ("/s?k={a}{b}", 5),
            ("/s?k={}", 5),
            ("/s?k={^}", 5),
            ("/s?a={x}&a={y}", 9),
            ("/s?a=%G1{x}", 3),
            ("/{a?}/{b?}/{c?}/{d?}/{e?}", 0),
        ] {
            let (at, is_fatal, message) = fault(text);
            assert!(is_fatal, "{text}: {message}");
            assert_eq!(at, offset, "{text}: {message}");
        }
    }

    #[test]
    fn a_query_value_without_braces_drops_the_pair_only() {
        let (template, faults) = RouteTemplate::parse("/s?flag=1&a={a}");
        assert_eq!(faults[0].offset, 8);
        assert!(faults[0].message.starts_with("Invalid query string, {} missing in script"));
        assert_eq!(template.expect("still loads").query.len(), 1);
    }

    #[test]
    fn all_faults_of_a_template_are_reported() {
        let (template, faults) = RouteTemplate::parse("/{a.b}/{c-d}?x=pre{y}");
        assert!(template.is_none());
        assert_eq!(faults.len(), 3);
    }

    #[test]
    fn the_bounds_of_a_template_hold_on_both_sides() {
        assert_eq!(parse(&"/s".repeat(SEGMENTS_MAX)).shapes[0].segments.len(), SEGMENTS_MAX);
        assert!(fault(&"/s".repeat(SEGMENTS_MAX + 1)).1);
        let longest = format!("/{}", "x".repeat(TEMPLATE_BYTES_MAX - 1));
        parse(&longest);
        assert!(fault(&format!("{longest}x")).1);
    }

    #[test]
    fn the_order_of_query_pairs_does_not_make_a_difference() {
        assert!(parse("/s?a={x}&b={y}").has_same_query(&parse("/s?b={y}&a={x}")));
        assert!(!parse("/s?a={x}").has_same_query(&parse("/s?a={y}")));
        assert!(!parse("/s?a={x}").has_same_query(&parse("/s?a={^x}")));
    }

    proptest! {
        #[test]
        fn any_text_parses_without_panic(text in "[/{}a-c?*&=^%+.é ]{0,30}") {
            let (template, faults) = RouteTemplate::parse(&text);
            prop_assert_eq!(template.is_none(), faults.iter().any(|fault| fault.is_fatal));
            for fault in faults {
                prop_assert!(fault.offset <= text.len());
            }
        }
    }
}
