//! Keys of routes: `/books/{id}`, `/files/*`, `*`.
//!
//! In goes a key, then paths; out comes how exactly a path is meant, and other paths filled with what
//! the tokens stand for. Segments are compared as they are written, percent-encoding included.

/// How many segments a key may have.
const SEGMENTS_MAX: usize = 64;

/// How exactly a key means a path, segment by segment; larger is more exact.
pub(super) type Rank = Vec<u8>;

const LITERAL: u8 = 2;
const TOKEN: u8 = 1;

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Token(String),
}

/// A key, ready to be compared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Part>,
    /// Any further segments fit.
    has_rest: bool,
}

impl Pattern {
    /// Reads a key.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(super) fn parse(key: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut has_rest = key == "*";
        if !has_rest && !key.starts_with('/') {
            return Err(format!("`{key}` is no path, no `*` and no port"));
        }
        for segment in segments(key) {
            if has_rest && key != "*" {
                return Err("`*` may stand only at the end".to_owned());
            }
            if parts.len() == SEGMENTS_MAX {
                return Err(format!("more than {SEGMENTS_MAX} segments"));
            }
            match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                Some(name) => parts.push(Part::Token(name.to_owned())),
                None if segment == "*" => has_rest = true,
                None if segment.contains('*') => {
                    return Err("`*` must be a segment of its own".to_owned());
                }
                None => parts.push(Part::Literal(segment.to_owned())),
            }
        }
        Ok(Self { parts, has_rest })
    }

    /// How exactly a path is meant; `None` if it is not.
    pub(super) fn rank(&self, path: &str) -> Option<Rank> {
        let mut rank = Vec::with_capacity(self.parts.len());
        let mut given = segments(path);
        for part in &self.parts {
            let segment = given.next()?;
            rank.push(match part {
                Part::Literal(text) if text == segment => LITERAL,
                Part::Literal(_) => return None,
                Part::Token(_) => TOKEN,
            });
        }
        (self.has_rest || given.next().is_none()).then_some(rank)
    }

    /// Another path with the tokens filled from `path`, which fits.
    pub(super) fn fill(&self, template: &str, path: &str) -> String {
        let mut filled = template.to_owned();
        for (part, segment) in self.parts.iter().zip(segments(path)) {
            if let Part::Token(name) = part {
                filled = filled.replace(&format!("{{{name}}}"), segment);
            }
        }
        filled
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
