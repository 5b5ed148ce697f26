//! Reference-counted text: a slice of a buffer that is known to be UTF-8.

use std::{borrow::Borrow, fmt, hash, ops::Deref};

use bytes::Bytes;

/// Immutable text that shares the buffer it was cut from.
///
/// Cloning and slicing never copy. A slice keeps its whole buffer alive, which is what we want for
/// answers that live as long as their request.
#[derive(Clone, Default)]
pub struct Text(Bytes);

impl Text {
    /// Text that lives as long as the program.
    pub const fn from_static(text: &'static str) -> Self {
        Self(Bytes::from_static(text.as_bytes()))
    }

    /// Checks that `bytes` is UTF-8 and shares it.
    pub fn from_utf8(bytes: Bytes) -> Result<Self, std::str::Utf8Error> {
        std::str::from_utf8(&bytes)?;
        Ok(Self(bytes))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // Every constructor checked the bytes; checking again costs little beside safe code.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The buffer.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// The part `start..end`, sharing the buffer. Ends that do not fall on character bounds are a
    /// bug of the caller and give the empty text.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Self {
        let is_bound = |at: usize| match self.0.get(at) {
            Some(byte) => (*byte as i8) >= -0x40,
            None => at == self.0.len(),
        };
        debug_assert!(start <= end && is_bound(start) && is_bound(end));
        if start <= end && is_bound(start) && is_bound(end) {
            Self(self.0.slice(start..end))
        } else {
            Self::default()
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
        Self(Bytes::copy_from_slice(text.as_bytes()))
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
