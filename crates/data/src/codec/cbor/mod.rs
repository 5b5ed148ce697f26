//! CBOR (RFC 8949) to values and back (FMT-36).
//!
//! In: one data item and what to keep of it. Out: a value: map keys that are no text are printed as
//! text, byte strings are base64, points in time RFC 3339 text, big integers numbers; undefined,
//! simple values without a meaning and numbers that JSON cannot hold are null. Tags that only
//! announce what a text or an item is are looked through, other tags are `{$ext, $data}`.
//!
//! It promises to check the whole item, also the parts it does not keep, text included; to allocate
//! no more than the item has bytes for; and to answer malformed input with
//! `Malformed cbor message: …` and the offset. It has no schema, so arrays stay positional. An empty
//! body is an error here; callers know what it means to them. It reads no sequences of items
//! (RFC 8742).

mod decode;
mod encode;
mod reader;

pub use self::{decode::decode, encode::encode};

const FORMAT: &str = "CBOR";
/// Nesting that is read and written at most (FMT-26); tags count.
pub const DEPTH_MAX: usize = 100;

/// Numbers of tags (RFC 8949, 3.4).
mod tag {
    /// A point in time as RFC 3339 text.
    pub(super) const TIME_TEXT: u64 = 0;
    /// A point in time as seconds since 1970.
    pub(super) const TIME_SECONDS: u64 = 1;
    /// An integer as big-endian bytes.
    pub(super) const BIG_POSITIVE: u64 = 2;
    /// -1 minus such an integer.
    pub(super) const BIG_NEGATIVE: u64 = 3;
    /// How byte strings below would best be shown.
    pub(super) const EXPECTED_FIRST: u64 = 21;
    /// The last of these three.
    pub(super) const EXPECTED_LAST: u64 = 23;
    /// A URI; up to [`TEXT_LAST`] kinds of text follow: base64url, base64, regular expression, MIME.
    pub(super) const TEXT_FIRST: u64 = 32;
    /// The last kind of text.
    pub(super) const TEXT_LAST: u64 = 36;
    /// "This is CBOR".
    pub(super) const SELF_DESCRIBED: u64 = 55_799;
}

#[cfg(test)]
mod tests;
