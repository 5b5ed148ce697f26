//! HTTP/1.1 as bytes, for both directions (RFC 9112).
//!
//! In: bytes in any pieces. Out: the head of a request ([`request`]), where the body of a request or a
//! response ends ([`framing`]), the pieces of a chunked body ([`chunks`]), header lines ([`fields`]). Promises: no
//! input or output, no clock; time linear in the input; every length has a limit; what can be understood in two
//! ways is refused, because somebody between the two ends may have understood it the other way. The heads of
//! responses are read where they are kept, in the engine; which lines a head has is left to the two ends.

pub mod chunks;
pub mod fields;
pub mod framing;
pub mod request;

use std::{borrow::Cow, fmt};

/// Bytes that are no HTTP/1.1, or that can be understood in two ways. Prints the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(Cow<'static, str>);

impl Malformed {
    fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// A line at the start of `bytes`, without its end; `None` if the end has not come.
fn first_line(bytes: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    memchr::memchr(b'\n', bytes).map(|end| without_return(&bytes[..end])).transpose()
}

/// A line without the carriage return before its line feed. A line feed alone ends no line (RFC 9112, 2.2): a
/// proxy that takes it for the end of one sees other headers than we do.
fn without_return(line: &[u8]) -> Result<&[u8], Malformed> {
    match line.split_last() {
        Some((b'\r', line)) => Ok(line),
        _ => Err(Malformed::new("a line that ends without a carriage return")),
    }
}
