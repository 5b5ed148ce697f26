//! `MessagePack` to values and back (FMT-36).
//!
//! In: one message and what to keep of it. Out: a value: map keys that are no text are printed as
//! text, binary is base64, timestamps are RFC 3339 text, other extensions `{$ext, $data}`, numbers
//! that JSON cannot hold are null. It promises to read the whole message, also the parts it does not
//! keep (structure and lengths; the text of skipped parts is not decoded), to allocate no more than
//! the message has bytes for, and to answer malformed input with `Malformed msgpack message: …`.
//! It has no schema, so arrays stay positional. An empty body is an error here; callers know what it
//! means to them.

mod decode;
mod encode;

pub use self::{decode::decode, encode::encode};

const FORMAT: &str = "MessagePack";
/// Nesting that is read and written at most (FMT-26).
pub const DEPTH_MAX: usize = 100;
/// The extension type of timestamps.
const TIMESTAMP: i8 = -1;

#[cfg(test)]
mod tests;
