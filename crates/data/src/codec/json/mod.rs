//! JSON (RFC 8259), read in one pass and written from a value.
//!
//! In: a body and a [`Projection`]. Out: a value that shares the body's memory. The whole body is
//! checked, UTF-8 once and the grammar once, at the speed of the bytes; structures that are kept but
//! not looked into stay slices of the body and are written again by copying (`ADR 0002`).
//!
//! Decided where the standard leaves a choice: a byte order mark at the start is dropped, the last
//! of several members of one name wins, half a surrogate pair becomes U+FFFD, and no size of number
//! is refused. An empty or blank body is an error here; callers know what it means to them.
//!
//! Read on in `scan` (the grammar; `tokens`, its tokens, `names`, which ones to expect, `fault`), `decode` (what is kept), `raw`
//! (looking into kept slices), `row_reader`, `cells` and `rows` (plain columns, from text to text) and
//! [`encode`].

mod cells;
mod decode;
mod encode;
mod fault;
mod names;
mod opening;
mod raw;
mod row_reader;
mod rows;
mod scan;
mod text;
mod tokens;

use bytes::Bytes;

use self::{
    decode::Whole,
    fault::{Fault, Problem},
};
use super::{DecodeError, DecodeLimits, Stop, stop};
use crate::{Text, Value, projection::Projection};

pub use cells::CellTable;
pub(super) use cells::CellWriter;
#[cfg(feature = "protobuf")]
pub(super) use encode::write_digits;
pub use encode::{TooLarge, encode, encode_within, to_string};
pub(super) use encode::{is_read_back, raw_value, write_number};
pub(super) use opening::Opening;
pub use raw::open_until;
pub(crate) use raw::{count, element, elements, member, open};
pub use row_reader::RowReader;
pub use rows::{RowCell, RowForm, RowWriter};
pub(crate) use text::written_bytes;
pub(super) use text::{write_escape, write_part};

const FORMAT: &str = "JSON";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Decodes what `projection` keeps of a JSON body, and checks all of it.
///
/// Structures that are kept whole come as [`Value::Raw`].
pub fn decode(
    bytes: Bytes,
    projection: &Projection,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    if bytes.len() > limits.decoded_bytes_max {
        return Err(DecodeError {
            format: FORMAT,
            offset: limits.decoded_bytes_max,
            reason: format!("the body is larger than {} bytes", limits.decoded_bytes_max),
            has_too_many: false,
        });
    }
    let text = Text::from_utf8(bytes).map_err(|error| DecodeError {
        format: FORMAT,
        offset: error.valid_up_to(),
        reason: "invalid UTF-8".to_owned(),
        has_too_many: false,
    })?;
    decode_text(text, projection, limits)
}

/// Decodes JSON text, structures staying raw, with the default limits.
pub fn parse_str(text: &str) -> Result<Value, DecodeError> {
    decode(Bytes::copy_from_slice(text.as_bytes()), &Projection::All, &DecodeLimits::default())
}

fn decode_text(
    text: Text,
    projection: &Projection,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    let mark = if text.as_bytes().starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let document = if mark > 0 { text.slice(mark, text.len()) } else { text };
    decode::document(&document, projection, limits, Whole::Raw)
        .map_err(|fault| explain(&document, &fault, mark))
}

/// A raw slice decoded all the way down. `None` if it is not JSON after all.
pub(crate) fn tree(raw: &Text) -> Option<Value> {
    // It was accepted under some limits once; they need not hold again.
    let limits = DecodeLimits {
        depth_max: usize::MAX,
        decoded_bytes_max: usize::MAX,
        elements_max: usize::MAX,
        stop: Stop::default(),
    };
    decode::document(raw, &Projection::All, &limits, Whole::Tree).ok()
}

/// The error for a person: what was expected and what is there.
fn explain(text: &Text, fault: &Fault, mark: usize) -> DecodeError {
    let reason = match fault.problem() {
        Problem::Expected(what) => {
            match text.get(fault.at()..).and_then(|rest| rest.chars().next()) {
                Some(found) => format!("expected {what}, found `{}`", found.escape_debug()),
                None if text.trim().is_empty() => "the body is empty".to_owned(),
                None => format!("expected {what}, but the text ends"),
            }
        }
        Problem::OpenString => "the text ends inside a string".to_owned(),
        Problem::ControlCharacter => "a control character in a string is not escaped".to_owned(),
        Problem::UnknownEscape => "unknown escape in a string".to_owned(),
        Problem::TooDeep(max) => format!("nested deeper than {max} levels"),
        Problem::Stopped => stop::REASON.to_owned(),
        Problem::TooMany(max) => format!("more than {max} elements and members"),
    };
    let has_too_many = matches!(fault.problem(), Problem::TooMany(_));
    DecodeError { format: FORMAT, offset: fault.at() + mark, reason, has_too_many }
}
