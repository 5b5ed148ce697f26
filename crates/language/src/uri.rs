//! Names of documents: URIs as the protocol writes them, paths as hosts have them.

use qlio_data::percent;

/// The path of a `file` URI; any other URI as it is.
pub fn path_of(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("file://") else { return uri.to_owned() };
    // A host before the path is the machine itself.
    let path = rest.find('/').map_or(rest, |at| &rest[at..]);
    percent::decode(path).map_or_else(|_| path.to_owned(), std::borrow::Cow::into_owned)
}

/// The URI of a path.
pub(crate) fn uri_of(path: &str) -> String {
    if !path.starts_with('/') {
        return path.to_owned();
    }
    let segments: Vec<_> = path.split('/').map(percent::encode).collect();
    format!("file://{}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_again() {
        for path in ["/a b/ü.ql", "/a%20b.ql", "/x/routes/[id].ql"] {
            assert_eq!(path_of(&uri_of(path)), path);
        }
        assert_eq!(path_of("file://localhost/a.ql"), "/a.ql");
        assert_eq!(path_of("untitled:One"), "untitled:One");
        assert_eq!(path_of("file:///a%zz"), "/a%zz");
    }
}
