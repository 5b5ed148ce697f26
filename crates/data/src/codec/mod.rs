//! Between bytes and values: one module per format.
//!
//! In: the bytes of a body, the [`Projection`](crate::projection::Projection) that says what to keep
//! and the [`DecodeLimits`]. Out: a [`Value`](crate::Value), or a [`DecodeError`] that knows the
//! place and the reason. Every decoder checks the whole body, also the parts it does not keep, takes
//! linear time and never panics. Codecs know nothing of scripts, tables and requests; whoever calls
//! adds those to the error.

pub mod cbor;
pub mod charset;
pub mod csv;
pub mod form;
pub mod json;
pub mod media_type;
pub mod msgpack;
pub mod plain_text;
#[cfg(feature = "protobuf")]
pub mod protobuf;
pub mod xml;

mod key;
mod lanes;
#[cfg(test)]
mod prune;
mod single;
mod stop;
mod timestamp;

use std::fmt;

pub use stop::Stop;

/// A body that is not what its format demands, or that goes over a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The format that was expected: `JSON`, `XML`, `CSV`…
    pub format: &'static str,
    /// Where it went wrong: bytes from the start of the body, a byte order mark included.
    pub offset: usize,
    /// The reason: lower case, no full stop.
    pub reason: String,
    /// The body has more elements than may be built: [`DecodeLimits::elements_max`].
    pub has_too_many: bool,
}

impl DecodeError {
    /// The same error, because there are more elements than may be built.
    #[must_use]
    fn of_elements(self) -> Self {
        Self { has_too_many: true, ..self }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for DecodeError {}

/// A value that cannot be written in a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeError {
    /// The reason: lower case, no full stop.
    pub reason: String,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for EncodeError {}

/// Bounds of one decode.
#[derive(Debug, Clone)]
pub struct DecodeLimits {
    /// Nested arrays and objects; the outermost one counts as 1.
    pub depth_max: usize,
    /// Bytes of the body, and of whatever a codec has to write anew (an expanded text, say).
    pub decoded_bytes_max: usize,
    /// Elements and members that are built, over the whole body; parts that are skipped or kept
    /// undecoded do not count. More than so many are an error that
    /// [`has_too_many`](DecodeError::has_too_many).
    pub elements_max: usize,
    /// Asked for when nobody waits for the value any more; the decode fails soon after.
    pub stop: Stop,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self {
            depth_max: 512,
            decoded_bytes_max: 64 << 20,
            elements_max: 4_000_000,
            stop: Stop::default(),
        }
    }
}
