//! The headers of requests, which all requests of a statement may share.
//!
//! In: a map. Out: the same map for who reads it, a copy for who changes it, and its lines as they go over an
//! HTTP/1.1 connection, written once for all who share it: a fan-out sends the same seven lines ten times.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use http::HeaderMap;

use super::http1::Lines;

/// Headers to send.
#[derive(Debug, Clone, Default)]
pub struct RequestHeaders(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    map: HeaderMap,
    lines: OnceLock<Lines>,
}

impl Clone for Shared {
    /// Who copies them changes them.
    fn clone(&self) -> Self {
        self.map.clone().into()
    }
}

impl From<HeaderMap> for Shared {
    fn from(map: HeaderMap) -> Self {
        Self { map, lines: OnceLock::new() }
    }
}

impl RequestHeaders {
    /// The headers, to change them for the owner of this handle only.
    pub fn make_mut(&mut self) -> &mut HeaderMap {
        let shared = Arc::make_mut(&mut self.0);
        shared.lines.take();
        &mut shared.map
    }

    /// The headers, copied if somebody else has them too.
    pub fn into_map(self) -> HeaderMap {
        Arc::unwrap_or_clone(self.0).map
    }

    /// Their lines, if others send the same: then writing them once is worth a copy.
    pub(super) fn shared_lines(&self) -> Option<&Lines> {
        (Arc::strong_count(&self.0) > 1)
            .then(|| self.0.lines.get_or_init(|| Lines::of(&self.0.map)))
    }

    /// Whether they have been sent as they are.
    pub(super) fn has_lines(&self) -> bool {
        self.0.lines.get().is_some()
    }
}

impl From<HeaderMap> for RequestHeaders {
    fn from(map: HeaderMap) -> Self {
        Self(Arc::new(map.into()))
    }
}

impl Deref for RequestHeaders {
    type Target = HeaderMap;

    fn deref(&self) -> &HeaderMap {
        &self.0.map
    }
}

impl PartialEq for RequestHeaders {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    #[test]
    fn lines_are_those_of_the_headers_as_they_are_now() {
        let value = HeaderValue::from_static;
        let mut headers: RequestHeaders =
            HeaderMap::from_iter([(header::ACCEPT, value("a"))]).into();
        assert!(headers.shared_lines().is_none() && !headers.has_lines());
        let other = headers.clone();
        assert_eq!(other.shared_lines().map(Lines::text), Some(&b"accept: a\r\n"[..]));
        assert!(headers.has_lines());
        headers.make_mut().insert(header::ACCEPT, value("b"));
        assert!(!headers.has_lines() && other.has_lines());
        assert_ne!(headers, other);
        let another = headers.clone();
        assert_eq!(another.shared_lines().map(Lines::text), Some(&b"accept: b\r\n"[..]));
        assert_eq!(headers, another);
    }
}
