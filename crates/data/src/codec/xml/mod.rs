//! XML to values (FMT-14 to FMT-19).
//!
//! In: a document, what to keep of it, how far to coerce, and which elements are arrays. Out: an
//! object with the root element as its only member. Attributes and children are members, repeated
//! ones an array, text beside other members is `$t`, names keep their prefixes. Runs of text are
//! taken whole: comments, CDATA borders and references do not split them, children do.
//!
//! It promises to check the whole document, also the parts it does not keep, and to answer
//! everything malformed with `There are errors in your xml file: …` and the offset. Text and names
//! are slices of the document unless they had references to resolve; elements that are kept whole are
//! JSON text at once, and a raw value. It does not resolve
//! namespaces, expand declared entities, load anything, or write XML. A blank body is an error here;
//! callers know what it means to them.
//!
//! Read on in `scan` (the grammar), `skip` (what is not kept), `keep` (projection), `build` (the mapping),
//! `coerce`, `whole` (simple elements become text in one pass; `names`, `scalar`),
//! `rows` (plain columns become cells; `row_tags`, `runs`).

mod build;
mod characters;
mod coerce;
mod keep;
mod names;
mod reference;
mod row_tags;
mod rows;
mod runs;
mod scalar;
mod scan;
mod skip;
mod whole;

use bytes::Bytes;

pub use self::{
    coerce::Coerce,
    keep::ArrayPaths,
    reference::{escape, reference_of},
    rows::decode_rows,
};
use self::{keep::Keep, scan::Fault};
use super::{DecodeError, DecodeLimits};
use crate::{Text, Value, projection::Projection};

const FORMAT: &str = "XML";
/// Elements nested deeper than this are refused whatever the limits say.
pub const DEPTH_MAX: usize = 512;
/// Documents larger than this are refused whatever the limits say.
pub const DOCUMENT_BYTES_MAX: usize = 1 << 30;

/// The member that holds the text of an element that has other members too.
const TEXT: &str = "$t";

/// How a document is mapped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct XmlOptions {
    /// `using xml coerce`; default `safe`.
    pub coerce: Coerce,
    /// `using xml arrays`; default none.
    pub arrays: ArrayPaths,
}

/// Decodes what `projection` keeps of an XML document in UTF-8, and checks all of it.
///
/// Structures that are kept whole come as [`Value::Raw`], as a rule.
pub fn decode(
    bytes: Bytes,
    projection: &Projection,
    options: &XmlOptions,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    let text = Text::from_utf8(bytes)
        .map_err(|error| into_decode_error(Fault::new(error.valid_up_to(), "text is not UTF-8")))?;
    decode_text(&text, projection, options, limits)
}

/// Like [`decode`], for a body that is text already.
pub fn decode_text(
    text: &Text,
    projection: &Projection,
    options: &XmlOptions,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    let bytes_max = limits.decoded_bytes_max.min(DOCUMENT_BYTES_MAX);
    if text.len() > bytes_max {
        let reason = format!("document larger than {bytes_max} bytes");
        return Err(into_decode_error(Fault::new(bytes_max, reason)));
    }
    let depth_max = limits.depth_max.min(DEPTH_MAX);
    let scanner = scan::Scanner::new(text, depth_max).map_err(into_decode_error)?;
    let scanner = scanner.until(&limits.stop);
    build::Builder::new(text, Keep::new(projection), options, limits)
        .build(scanner)
        .map_err(into_decode_error)
}

fn into_decode_error(Fault { offset, reason, has_too_many }: Fault) -> DecodeError {
    let reason = format!("There are errors in your xml file: {reason}");
    DecodeError { format: FORMAT, offset, reason, has_too_many }
}

#[cfg(test)]
mod plainly;
#[cfg(test)]
mod tests;
