//! Reference-counted text: a slice of a buffer that is known to be UTF-8.

use std::{borrow::Borrow, fmt, hash, ops::Deref};

use bytes::Bytes;
use bytestring::ByteString;

/// Immutable text that shares the buffer it was cut from.
///
/// Cloning and slicing never copy. A slice keeps its whole buffer alive, which is what we want for
/// answers that live as long as their request.
#[derive(Clone, Default)]
pub struct Text(ByteString);

impl Text {
    /// Text that lives as long as the program.
    pub const fn from_static(text: &'static str) -> Self {
        Self(ByteString::from_static(text))
    }

    /// Checks that `bytes` is UTF-8 and shares it.
    pub fn from_utf8(bytes: Bytes) -> Result<Self, std::str::Utf8Error> {
        ByteString::try_from(bytes).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The buffer.
    pub fn into_bytes(self) -> Bytes {
        self.0.into_bytes()
    }

    /// The part `start..end`, sharing the buffer. Ends that do not fall on character bounds are a
    /// bug of the caller and give the empty text.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Self {
        let part = self.0.get(start..end);
        debug_assert!(part.is_some(), "{start}..{end} does not cut between characters");
        part.map(|part| Self(self.0.slice_ref(part))).unwrap_or_default()
    }

    /// `part` as text that shares the buffer; `part` must have been borrowed from this text. Any
    /// other text is copied.
    #[must_use]
    pub fn share(&self, part: &str) -> Self {
        let own = self.as_bytes().as_ptr_range();
        let other = part.as_bytes().as_ptr_range();
        if own.start <= other.start && other.end <= own.end {
            Self(self.0.slice_ref(part))
        } else {
            part.into()
        }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl hash::Hash for Text {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}
