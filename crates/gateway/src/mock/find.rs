//! Which file answers a request: names only, no file system.
//!
//! In go the request's path and query and the names in a folder, out comes the best name. The rules
//! are in the module's header above ([`crate::mock`]).

use qlio_data::percent::{self, MalformedEncoding};

/// The endings that are served with a content type of their own, most wanted first.
pub(crate) const KINDS: &[(&str, &str)] = &[
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("csv", "text/csv"),
    ("protobuf", "application/x-protobuf"),
    ("pb", "application/x-protobuf"),
    ("msgpack", "application/msgpack"),
    ("cbor", "application/cbor"),
    ("txt", "text/plain; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
];

/// How many path segments a request may have.
const SEGMENTS_MAX: usize = 64;
/// How many pairs of a query are looked at.
const PAIRS_MAX: usize = 256;

/// Where to look for the answer of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The folders below the root, outermost first.
    pub folders: Vec<String>,
    /// The last segment of the path.
    pub name: String,
    /// The decoded query.
    pub pairs: Vec<(String, String)>,
}

/// Why a request can not be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// A segment such as `..`, or one that hides a separator.
    #[error("the path leads out of the folder")]
    Escape,
    /// Percent-encoding that is broken or no UTF-8.
    #[error("the path is not properly percent-encoded")]
    Malformed,
    /// Too many segments or pairs.
    #[error("the path or the query has too many parts")]
    TooMany,
}

impl From<MalformedEncoding> for Refused {
    fn from(_: MalformedEncoding) -> Self {
        Self::Malformed
    }
}

impl Wanted {
    /// Takes a request target apart.
    ///
    /// # Errors
    /// [`Refused`] says what is wrong with the path.
    pub(crate) fn parse(path: &str, query: &str) -> Result<Self, Refused> {
        let mut folders = Vec::new();
        for segment in path.strip_prefix('/').unwrap_or(path).split('/') {
            if folders.len() == SEGMENTS_MAX {
                return Err(Refused::TooMany);
            }
            folders.push(percent::decode(segment)?.into_owned());
        }
        let name = match folders.pop() {
            Some(name) if !name.is_empty() => name,
            _ => "index".to_owned(),
        };
        if folders.iter().chain([&name]).any(|segment| is_unsafe(segment)) {
            return Err(Refused::Escape);
        }
        Ok(Self { folders, name, pairs: pairs(query)? })
    }

    /// The best of these file names for the request, and the content types the client accepts.
    pub(crate) fn choose<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        accept: Option<&str>,
    ) -> Option<&'a str> {
        let fitting = names.into_iter().filter_map(|name| Some((self.rank(name, accept)?, name)));
        // Of equal ranks the first name in order, so that the answer does not depend on the disk.
        let best = fitting.max_by(|(a, name_a), (b, name_b)| a.cmp(b).then(name_b.cmp(name_a)));
        best.map(|(_, name)| name)
    }

    /// Higher is better: pairs that fit, then exactly this name, then accepted, then the kind.
    fn rank(&self, file: &str, accept: Option<&str>) -> Option<(usize, bool, bool, usize)> {
        if file.starts_with(['_', '.']) {
            return None;
        }
        if file == self.name {
            return Some((0, true, false, 0));
        }
        let (stem, ending) = file.rsplit_once('.')?;
        let (stem, query) = stem.split_once('@').unwrap_or((stem, ""));
        let with_ending = self.name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.'));
        if stem != self.name && with_ending != Some(ending) {
            return None;
        }
        let wanted = pairs(query).ok()?;
        if !wanted.iter().all(|pair| self.pairs.contains(pair)) {
            return None;
        }
        let accepted = accept.is_some_and(|accept| accepts(accept, content_type(file)));
        let kind = KINDS.iter().position(|(kind, _)| *kind == ending).unwrap_or(KINDS.len());
        Some((wanted.len(), with_ending.is_some(), accepted, KINDS.len() - kind))
    }
}

/// The content type that the ending of a file name stands for.
pub(crate) fn content_type(file: &str) -> &'static str {
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    let kind = KINDS.iter().find(|(kind, _)| kind.eq_ignore_ascii_case(ending));
    kind.map_or("application/octet-stream", |(_, media_type)| media_type)
}

fn accepts(accept: &str, media_type: &str) -> bool {
    let essence =
        |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let wanted = essence(media_type);
    accept.split(',').any(|range| essence(range) == wanted)
}

fn is_unsafe(segment: &str) -> bool {
    segment.is_empty()
        || segment.starts_with(['.', '_'])
        || segment.contains(['/', '\\', '\0', ':'])
}

pub(super) fn pairs(query: &str) -> Result<Vec<(String, String)>, Refused> {
    let mut pairs = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        if pairs.len() == PAIRS_MAX {
            return Err(Refused::TooMany);
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        pairs.push((
            percent::decode_form(name)?.into_owned(),
            percent::decode_form(value)?.into_owned(),
        ));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn choose(target: &str, accept: Option<&str>, names: &[&str]) -> Option<String> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let wanted = Wanted::parse(path, query).unwrap();
        wanted.choose(names.iter().copied(), accept).map(str::to_owned)
    }

    #[test]
    fn the_file_whose_query_fits_best_is_taken() {
        let names =
            ["search.json", "search@q=mac.json", "search@q=mac&n=2.json", "search@q=pc.json"];
        let chosen = |target| choose(target, None, &names).unwrap();
        assert_eq!(chosen("/search"), "search.json");
        assert_eq!(chosen("/search?q=other"), "search.json");
        assert_eq!(chosen("/search?x=1&q=mac"), "search@q=mac.json");
        assert_eq!(chosen("/search?n=2&q=mac"), "search@q=mac&n=2.json");
    }

    #[test]
    fn queries_are_compared_decoded() {
        assert!(choose("/s?q=a%2Fb+c", None, &["s@q=a%2fb%20c.json"]).is_some());
        assert!(choose("/s?q=a%2Fb", None, &["s@q=a.json"]).is_none());
    }

    #[test]
    fn a_path_with_a_slash_at_the_end_is_the_index_of_its_folder() {
        let wanted = Wanted::parse("/a/b/", "").unwrap();
        assert_eq!((wanted.folders.len(), wanted.name.as_str()), (2, "index"));
        assert_eq!(Wanted::parse("/", "").unwrap().name, "index");
    }

    #[test]
    fn the_ending_the_accept_header_or_the_order_of_kinds_decide() {
        let names = ["s.csv", "s.json", "s.xml", "s@k=1.json", "s@k=1.xml"];
        assert_eq!(choose("/s", None, &names).unwrap(), "s.json");
        assert_eq!(choose("/s.csv", None, &names).unwrap(), "s.csv");
        assert_eq!(
            choose("/s", Some("text/html, Application/XML;q=0.9"), &names).unwrap(),
            "s.xml"
        );
        assert_eq!(choose("/s?k=1", Some("application/xml"), &names).unwrap(), "s@k=1.xml");
        assert_eq!(choose("/s.xml?k=1", None, &names).unwrap(), "s@k=1.xml");
        assert_eq!(choose("/s", Some("image/png"), &names).unwrap(), "s.json");
    }

    #[test]
    fn rules_and_hidden_files_are_no_answers() {
        assert_eq!(Wanted::parse("/_mock.json", ""), Err(Refused::Escape));
        assert_eq!(choose("/x", None, &["_x.json", ".x.json"]), None);
    }

    #[test]
    fn a_path_can_not_leave_the_folder() {
        for path in [
            "/../x",
            "/a/../x",
            "/%2e%2e/x",
            "/a/..",
            "/a%2f..%2fx",
            "/a\\b",
            "/a//b",
            "/a%00",
            "/c:",
        ] {
            assert_eq!(Wanted::parse(path, ""), Err(Refused::Escape), "{path}");
        }
        assert_eq!(Wanted::parse("/%zz", ""), Err(Refused::Malformed));
        assert_eq!(Wanted::parse("/%ff", ""), Err(Refused::Malformed));
        assert_eq!(Wanted::parse(&"/a".repeat(100), ""), Err(Refused::TooMany));
    }

    #[test]
    fn endings_have_their_content_types() {
        assert_eq!(content_type("a.PB"), "application/x-protobuf");
        assert_eq!(content_type("a@q=1.msgpack"), "application/msgpack");
        assert_eq!(content_type("a"), "application/octet-stream");
    }

    proptest! {
        #[test]
        fn no_target_gives_a_segment_that_is_special_to_the_file_system(path in "/[%.a-f0-9/\\\\]{0,24}") {
            if let Ok(wanted) = Wanted::parse(&path, "") {
                for segment in wanted.folders.iter().chain([&wanted.name]) {
                    prop_assert!(!is_unsafe(segment));
                }
            }
        }
    }
}
