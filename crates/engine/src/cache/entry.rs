//! What is cached: the head of one upstream answer as it came, and its body before decoding.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};

/// Bytes that an entry costs beyond its key, headers and body, roughly.
const OVERHEAD_BYTES: usize = 128;

/// Most bytes that headers and media type of a stored entry may take; common servers send no more than
/// 64 KiB.
pub(super) const HEAD_BYTES_MAX: usize = 256 << 10;

/// Bytes that a header costs beyond its name and value, roughly.
const HEADER_OVERHEAD_BYTES: usize = 64;

/// One cached answer (CAC-5). Cloning shares headers and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The status as it came: hooks that judge it run again on every hit.
    pub status: StatusCode,
    /// All headers as they came, for those hooks.
    pub headers: Arc<HeaderMap>,
    /// What the body is.
    pub form: Form,
    /// The body before decoding.
    pub body: Bytes,
}

/// What the body of an entry is: as it came, or what a script made of it, which is not run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// As it came.
    Received,
    /// Text in UTF-8 that a script made.
    Text {
        /// The media type that replaces the one of the headers.
        media_type: Option<Box<str>>,
    },
    /// Bytes that a script made.
    Bytes {
        /// The media type that replaces the one of the headers.
        media_type: Option<Box<str>>,
    },
    /// The value that a script made, as JSON text.
    Value,
}

impl Form {
    /// The media type that replaces the one of the headers.
    pub fn media_type(&self) -> Option<&str> {
        match self {
            Self::Text { media_type } | Self::Bytes { media_type } => media_type.as_deref(),
            Self::Received | Self::Value => None,
        }
    }
}

impl Entry {
    /// The bytes that the entry takes in memory together with its key, roughly.
    pub(super) fn weight(&self, key: &str) -> usize {
        OVERHEAD_BYTES + key.len() + self.head_weight() + self.body.len()
    }

    /// The bytes that everything but key and body takes, roughly.
    pub(super) fn head_weight(&self) -> usize {
        let headers = self.headers.iter();
        let headers = headers
            .map(|(name, value)| HEADER_OVERHEAD_BYTES + name.as_str().len() + value.len())
            .sum::<usize>();
        headers + self.form.media_type().map_or(0, str::len)
    }

    /// The same entry, with values and a body that keep no larger buffers alive.
    pub(super) fn detached(&self) -> Self {
        let mut headers = HeaderMap::clone(&self.headers);
        for value in headers.values_mut() {
            // A value that was one can be made one again; otherwise it stays.
            if let Ok(mut copy) = HeaderValue::from_bytes(value.as_bytes()) {
                copy.set_sensitive(value.is_sensitive());
                *value = copy;
            }
        }
        Self {
            headers: Arc::new(headers),
            body: Bytes::copy_from_slice(&self.body),
            ..self.clone()
        }
    }
}
