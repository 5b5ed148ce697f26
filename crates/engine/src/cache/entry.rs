//! What is cached: the head and the body of one upstream answer, as it came.

use bytes::Bytes;
use http::StatusCode;

/// Bytes that an entry costs beyond its key, content type and body, roughly.
const OVERHEAD_BYTES: usize = 128;

/// One cached answer. Cloning shares the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The status as it came: hooks that judge it run again on every hit.
    pub status: StatusCode,
    /// The `content-type` header, if there was one.
    pub content_type: Option<String>,
    /// The body before decoding.
    pub body: Bytes,
}

impl Entry {
    /// The bytes that the entry takes in memory together with its key, roughly.
    pub(super) fn weight(&self, key: &str) -> usize {
        let content_type = self.content_type.as_ref().map_or(0, String::len);
        OVERHEAD_BYTES + key.len() + content_type + self.body.len()
    }

    /// The same entry with a body that keeps no larger buffer alive.
    pub(super) fn detached(&self) -> Self {
        Self { body: Bytes::copy_from_slice(&self.body), ..self.clone() }
    }
}
