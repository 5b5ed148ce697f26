//! Keys of routes: `/books/{id}`, `/{shelf}?/{id}`, `/files/*`, `*`.
//!
//! In goes a key, then paths; out comes how exactly a path is meant, and other paths filled with what
//! the tokens stand for. Segments are compared as they are written, percent-encoding included.

/// How many segments a key may have.
const SEGMENTS_MAX: usize = 64;

/// How many segments of a key may be missing from a path, so that there are few ways to read one.
const OPTIONAL_MAX: usize = 8;

/// How exactly a key means a path, segment by segment; larger is more exact.
pub(super) type Rank = Vec<u8>;

const LITERAL: u8 = 2;
const TOKEN: u8 = 1;
const MISSING: u8 = 0;

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// With or without its last character.
    Stem(String),
    Token(String),
    Optional(String),
}

/// A key, ready to be compared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Part>,
    /// Any further segments fit.
    has_rest: bool,
}

/// Why a key is none of a route.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("`{0}` is no path, no `*` and no port")]
    NoPath(String),
    #[error("`*` may stand only at the end")]
    RestInside,
    #[error("`*` must be a segment of its own")]
    RestInSegment,
    #[error("more than {0} segments")]
    TooMany(usize),
    #[error("more than {0} segments may be missing")]
    TooManyOptional(usize),
}

impl Pattern {
    /// Reads a key.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(super) fn parse(key: &str) -> Result<Self, PatternError> {
        let mut parts = Vec::new();
        let mut has_rest = key == "*";
        if !has_rest && !key.starts_with('/') {
            return Err(PatternError::NoPath(key.to_owned()));
        }
        for segment in segments(key) {
            if has_rest && key != "*" {
                return Err(PatternError::RestInside);
            }
            if parts.len() == SEGMENTS_MAX {
                return Err(PatternError::TooMany(SEGMENTS_MAX));
            }
            let token = |text: &str| Some(text.strip_prefix('{')?.strip_suffix('}')?.to_owned());
            let stem = segment.strip_suffix('?');
            match (token(segment), stem.map(|stem| (token(stem), stem))) {
                (Some(name), _) => parts.push(Part::Token(name)),
                (None, Some((Some(name), _))) => parts.push(Part::Optional(name)),
                (None, Some((None, stem))) if !stem.is_empty() && !stem.contains('*') => {
                    parts.push(Part::Stem(stem.to_owned()));
                }
                _ if segment == "*" => has_rest = true,
                _ if segment.contains('*') => return Err(PatternError::RestInSegment),
                _ => parts.push(Part::Literal(segment.to_owned())),
            }
        }
        let optional = parts.iter().filter(|part| matches!(part, Part::Optional(_))).count();
        if optional > OPTIONAL_MAX {
            return Err(PatternError::TooManyOptional(OPTIONAL_MAX));
        }
        Ok(Self { parts, has_rest })
    }

    /// For each part the segment of a path that it means, nothing for one that is missing; `None` if the path does
    /// not fit. What may be missing is there if it can be.
    fn bind<'p>(&self, path: &'p str) -> Option<Vec<Option<&'p str>>> {
        let given: Vec<&str> = segments(path).collect();
        let mut bound = Vec::with_capacity(self.parts.len());
        self.bind_rest(&given, &mut bound).then_some(bound)
    }

    fn bind_rest<'p>(&self, given: &[&'p str], bound: &mut Vec<Option<&'p str>>) -> bool {
        let Some(part) = self.parts.get(bound.len()) else {
            return self.has_rest || given.is_empty();
        };
        let length = bound.len();
        if let Some((segment, rest)) = given.split_first()
            && part.fits(segment)
        {
            bound.push(Some(segment));
            if self.bind_rest(rest, bound) {
                return true;
            }
            bound.truncate(length);
        }
        if matches!(part, Part::Optional(_)) {
            bound.push(None);
            if self.bind_rest(given, bound) {
                return true;
            }
            bound.truncate(length);
        }
        false
    }

    /// How exactly a path is meant; `None` if it is not.
    pub(super) fn rank(&self, path: &str) -> Option<Rank> {
        let bound = self.bind(path)?;
        let rank = self.parts.iter().zip(bound).map(|(part, segment)| match (part, segment) {
            (_, None) => MISSING,
            (Part::Literal(_) | Part::Stem(_), Some(_)) => LITERAL,
            (Part::Token(_) | Part::Optional(_), Some(_)) => TOKEN,
        });
        Some(rank.collect())
    }

    /// Another path with the tokens filled from `path`, which fits.
    pub(super) fn fill(&self, template: &str, path: &str) -> String {
        let mut filled = template.to_owned();
        for (part, segment) in self.parts.iter().zip(self.bind(path).unwrap_or_default()) {
            if let Part::Token(name) | Part::Optional(name) = part {
                filled = filled.replace(&format!("{{{name}}}"), segment.unwrap_or_default());
            }
        }
        filled
    }
}

impl Part {
    fn fits(&self, segment: &str) -> bool {
        match self {
            Self::Literal(text) => text == segment,
            Self::Stem(text) => {
                let last = text.chars().next_back().map_or(0, char::len_utf8);
                text == segment || text[..text.len() - last] == *segment
            }
            Self::Token(_) | Self::Optional(_) => true,
        }
    }
}

/// The segments of a path; a slash at the end does not count.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/').filter(move |_| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(key: &str, path: &str) -> Option<Rank> {
        Pattern::parse(key).unwrap().rank(path)
    }

    #[test]
    fn literals_beat_tokens_and_tokens_beat_the_rest() {
        let path = "/books/7";
        let [literal, token, rest, all] =
            ["/books/7", "/books/{id}", "/books/*", "*"].map(|key| rank(key, path));
        assert!(literal > token && token > rest && rest > all && all.is_some());
        assert!(rank("/{a}/7", path) < token);
    }

    #[test]
    fn only_whole_segments_fit() {
        assert!(rank("/books", "/books/").is_some() && rank("/", "/").is_some());
        for (key, path) in [
            ("/books", "/bookshop"),
            ("/books", "/books/1"),
            ("/books/{id}", "/books"),
            ("/", "/a"),
        ] {
            assert_eq!(rank(key, path), None, "{key} {path}");
        }
        assert!(rank("/a/*", "/a").is_some() && rank("/a/*", "/a/b/c").is_some());
    }

    #[test]
    fn what_ends_with_a_question_mark_may_be_missing() {
        for (key, path, fits) in [
            ("/{x}?/{y}", "/a/b", true),
            ("/{x}?/{y}", "/b", true),
            ("/{x}?/{y}", "/", false),
            ("/{x}?/{y}", "/a/b/c", false),
            ("/another?/{path}", "/another/1", true),
            ("/another?/{path}", "/anothe/1", true),
            ("/another?/{path}", "/anoth/1", false),
            ("/a/{x}?/*", "/a", true),
        ] {
            assert_eq!(rank(key, path).is_some(), fits, "{key} {path}");
        }
        assert!(rank("/{x}/{y}", "/a/b") >= rank("/{x}?/{y}", "/a/b"));
        assert_eq!(Pattern::parse("/{x}?/{y}").unwrap().fill("/q/{y}/{x}", "/b"), "/q/b/");
        assert!(Pattern::parse(&"/{x}?".repeat(9)).is_err());
    }

    #[test]
    fn tokens_fill_other_paths() {
        let pattern = Pattern::parse("/a/{x}/{y}").unwrap();
        assert_eq!(pattern.fill("/b/{y}/{x}/{z}", "/a/1/2"), "/b/2/1/{z}");
    }

    #[test]
    fn stars_stand_at_the_end() {
        for key in ["/a/*/b", "/a*", "**", "a"] {
            assert!(Pattern::parse(key).is_err(), "{key}");
        }
    }
}
