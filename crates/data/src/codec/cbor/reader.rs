//! The heads of data items, and passing items without building them.

use bytes::Bytes;

use super::{DEPTH_MAX, FORMAT};
use crate::{
    Text,
    codec::{
        DecodeError, DecodeLimits,
        stop::{self, Watch},
    },
};

/// The announcement of an initial byte, with its argument read (RFC 8949, 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    Unsigned(u64),
    /// -1 minus the argument.
    Negative(u64),
    /// The length; `None` means chunks up to a break.
    Bytes(Option<u64>),
    Text(Option<u64>),
    Array(Option<u64>),
    Map(Option<u64>),
    Tag(u64),
    Simple(u8),
    /// The bits of a 16-bit float.
    Half(u16),
    Single(u32),
    Double(u64),
    Break,
}

/// Chunks or one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringKind {
    Bytes,
    Text,
}

pub(super) struct Reader<'a> {
    pub(super) bytes: &'a Bytes,
    pub(super) at: usize,
    pub(super) limits: &'a DecodeLimits,
    built: usize,
    /// Bytes of the item and of everything that was written anew.
    written: usize,
    watch: Watch,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a Bytes, limits: &'a DecodeLimits) -> Self {
        let (built, written, watch) = (0, bytes.len(), limits.stop.watch());
        Self { bytes, at: 0, limits, built, written, watch }
    }

    pub(super) fn depth_max(&self) -> usize {
        DEPTH_MAX.min(self.limits.depth_max)
    }

    pub(super) fn head(&mut self) -> Result<Head, DecodeError> {
        if self.watch.is_over() {
            return Err(self.fault(stop::REASON));
        }
        let start = self.at;
        let initial = self.take(1)?[0];
        let (major, information) = (initial >> 5, initial & 0x1f);
        let argument = match information {
            0..=23 => Some(u64::from(information)),
            24..=27 => Some(self.argument(1 << (information - 24))?),
            31 if !matches!(major, 0 | 1 | 6) => None,
            _ => return Err(fault_at(start, &format!("byte {initial:#04x} starts no item"))),
        };
        Ok(match (major, argument) {
            (0, Some(value)) => Head::Unsigned(value),
            (1, Some(value)) => Head::Negative(value),
            (2, length) => Head::Bytes(length),
            (3, length) => Head::Text(length),
            (4, count) => Head::Array(count),
            (5, count) => Head::Map(count),
            (6, Some(number)) => Head::Tag(number),
            (_, None) => Head::Break,
            (_, Some(value)) => match information {
                25 => Head::Half(value as u16),
                26 => Head::Single(value as u32),
                27 => Head::Double(value),
                // The numbers that fit the initial byte have no second form.
                24 if value < 32 => {
                    let reason = format!("simple value {value} in two bytes");
                    return Err(fault_at(start, &reason));
                }
                _ => Head::Simple(value as u8),
            },
        })
    }

    /// Whether a break is next; passes it.
    pub(super) fn passes_break(&mut self) -> bool {
        let is_break = self.bytes.get(self.at) == Some(&0xff);
        self.at += usize::from(is_break);
        is_break
    }

    /// Passes one item; what is in it is checked, not built.
    pub(super) fn skip(&mut self, depth: usize) -> Result<(), DecodeError> {
        let start = self.at;
        match self.head()? {
            Head::Bytes(length) => self.string(StringKind::Bytes, length, |_, _, _| Ok(())),
            Head::Text(length) => self.string(StringKind::Text, length, |reader, start, end| {
                reader.check_text(start, end).map(drop)
            }),
            Head::Array(_) | Head::Map(_) | Head::Tag(_) if depth == 0 => Err(self.too_deep()),
            Head::Array(count) => self.skip_items(count, 1, depth - 1),
            Head::Map(count) => self.skip_items(count, 2, depth - 1),
            Head::Tag(_) => self.skip(depth - 1),
            Head::Break => Err(stray_break(start)),
            _ => Ok(()),
        }
    }

    /// Passes `count` groups of `width` items each, or all up to a break.
    fn skip_items(
        &mut self,
        count: Option<u64>,
        width: u8,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let mut left = count;
        while self.has_more(&mut left) {
            for _ in 0..width {
                self.skip(depth)?;
            }
        }
        Ok(())
    }

    /// Whether an array or map goes on; counts down, or passes the break.
    pub(super) fn has_more(&mut self, left: &mut Option<u64>) -> bool {
        match left {
            Some(0) => false,
            Some(count) => {
                *count -= 1;
                true
            }
            None => !self.passes_break(),
        }
    }

    /// Goes through the pieces of a byte or text string.
    pub(super) fn string(
        &mut self,
        kind: StringKind,
        length: Option<u64>,
        mut piece: impl FnMut(&mut Self, usize, usize) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if let Some(length) = length {
            let start = self.at;
            self.pass(length)?;
            return piece(self, start, self.at);
        }
        while !self.passes_break() {
            let head_at = self.at;
            let ((Head::Bytes(Some(length)), StringKind::Bytes)
            | (Head::Text(Some(length)), StringKind::Text)) = (self.head()?, kind)
            else {
                return Err(fault_at(head_at, "chunk of another kind in a string"));
            };
            let start = self.at;
            self.pass(length)?;
            piece(self, start, self.at)?;
        }
        Ok(())
    }

    /// A part of the body that must be UTF-8, shared.
    pub(super) fn check_text(&self, start: usize, end: usize) -> Result<&'a str, DecodeError> {
        str::from_utf8(&self.bytes[start..end])
            .map_err(|error| fault_at(start + error.valid_up_to(), "text is not UTF-8"))
    }

    pub(super) fn shared_text(&self, start: usize, end: usize) -> Result<Text, DecodeError> {
        Text::from_utf8(self.bytes.slice(start..end))
            .map_err(|error| fault_at(start + error.valid_up_to(), "text is not UTF-8"))
    }

    fn pass(&mut self, length: u64) -> Result<(), DecodeError> {
        match usize::try_from(length) {
            Ok(length) => self.take(length).map(drop),
            Err(_) => Err(self.fault("message ends early")),
        }
    }

    fn argument(&mut self, width: usize) -> Result<u64, DecodeError> {
        let bytes = self.take(width)?;
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn take(&mut self, length: usize) -> Result<&[u8], DecodeError> {
        if length > self.bytes.len() - self.at {
            return Err(self.fault("message ends early"));
        }
        let start = self.at;
        self.at += length;
        Ok(&self.bytes[start..self.at])
    }

    /// One more value is built.
    pub(super) fn count(&mut self) -> Result<(), DecodeError> {
        self.built += 1;
        if self.built > self.limits.elements_max {
            let reason = format!("more than {} elements", self.limits.elements_max);
            return Err(self.fault(&reason).of_elements());
        }
        Ok(())
    }

    /// Bytes are written anew.
    pub(super) fn write(&mut self, length: usize) -> Result<(), DecodeError> {
        self.written = self.written.saturating_add(length);
        if self.written > self.limits.decoded_bytes_max { Err(self.too_large()) } else { Ok(()) }
    }

    pub(super) fn too_large(&self) -> DecodeError {
        self.fault(&format!("larger than {} bytes", self.limits.decoded_bytes_max))
    }

    pub(super) fn too_deep(&self) -> DecodeError {
        self.fault(&format!("nested deeper than {}", self.depth_max()))
    }

    pub(super) fn fault(&self, reason: &str) -> DecodeError {
        fault_at(self.at, reason)
    }
}

pub(super) fn fault_at(offset: usize, reason: &str) -> DecodeError {
    let reason = format!("Malformed cbor message: {reason}");
    DecodeError { format: FORMAT, offset, reason, has_too_many: false }
}

pub(super) fn stray_break(at: usize) -> DecodeError {
    fault_at(at, "break outside of what it could end")
}
