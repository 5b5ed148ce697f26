//! The wire format: tags, variable-length integers, lengths.

use std::{fmt, ops::Range};

use bytes::Bytes;

use super::{
    DEPTH_MAX, FORMAT,
    plan::{SHORT_NUMBERS, ShortField},
    required::Required,
    tables::{Lookup, MessageTable},
};
use crate::{Text, codec::DecodeError};

/// Bytes that a variable-length integer has at most.
const VARINT_BYTES_MAX: usize = 10;

/// How a field is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireType {
    Varint,
    Fixed64,
    Length,
    StartGroup,
    EndGroup,
    Fixed32,
}

/// A fault on the wire and its place. Boxed, so that results travel in registers.
#[derive(Debug)]
pub(super) struct Fault(Box<DecodeError>);

impl Fault {
    #[cold]
    pub(super) fn new(offset: usize, reason: impl fmt::Display) -> Self {
        let reason = format!("Malformed protobuf message: {reason}");
        Self(Box::new(DecodeError { format: FORMAT, offset, reason, has_too_many: false }))
    }

    /// The same fault, because there are more elements than may be built.
    #[cold]
    pub(super) fn of_elements(self) -> Self {
        Self(Box::new(self.0.of_elements()))
    }

    pub(super) fn into_error(self) -> DecodeError {
        *self.0
    }
}

/// A buffer, and where it starts in the body; a merged sub-message has a buffer of its own.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) bytes: Bytes,
    pub(super) base: usize,
}

impl Source {
    /// A text in the buffer.
    pub(super) fn text(&self, range: Range<usize>) -> Result<Text, Fault> {
        let start = range.start;
        Text::from_utf8(self.bytes.slice(range))
            .map_err(|error| self.fault_at(start + error.valid_up_to(), "text is not UTF-8"))
    }

    #[cold]
    fn fault_at(&self, at: usize, reason: &str) -> Fault {
        Fault::new(self.base + at, reason)
    }
}

/// A part of a [`Source`] that is being read.
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source,
    pub(super) at: usize,
    /// The source up to the end of the part.
    data: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a Source, start: usize, end: usize) -> Self {
        let data = &source.bytes[..end.min(source.bytes.len())];
        Self { source, at: start.min(data.len()), data }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.data.len()
    }

    /// The bytes that have not been read.
    pub(super) fn left(&self) -> usize {
        self.data.len() - self.at.min(self.data.len())
    }

    pub(super) fn fault(&self, reason: &str) -> Fault {
        self.fault_at(self.at, reason)
    }

    #[cold]
    pub(super) fn fault_at(&self, at: usize, reason: &str) -> Fault {
        self.source.fault_at(at, reason)
    }

    #[expect(clippy::inline_always, reason = "it is done for each field, and small")]
    #[inline(always)]
    pub(super) fn varint(&mut self) -> Result<u64, Fault> {
        // Tags, lengths and small numbers have one byte.
        match self.data.get(self.at..) {
            Some([byte, ..]) if *byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(*byte))
            }
            Some([low, high, ..]) if *high < 0x80 => {
                self.at += 2;
                Ok(u64::from(low & 0x7f) | u64::from(*high) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Fault> {
        let bytes = &self.data[self.at..];
        let mut value = 0_u64;
        for (at, byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX) {
            if at == VARINT_BYTES_MAX - 1 && *byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * at);
            if *byte < 0x80 {
                self.at += at + 1;
                return Ok(value);
            }
        }
        if bytes.len() < VARINT_BYTES_MAX {
            return Err(self.fault_at(self.data.len(), "message ends early"));
        }
        Err(self.fault("integer of more than 64 bits"))
    }

    /// A field number and how the field is framed.
    #[expect(clippy::inline_always, reason = "it is done for each field, and small")]
    #[inline(always)]
    pub(super) fn tag(&mut self) -> Result<(u32, WireType), Fault> {
        let start = self.at;
        let tag = self.varint()?;
        let wire_type = match tag & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Length,
            3 => WireType::StartGroup,
            4 => WireType::EndGroup,
            5 => WireType::Fixed32,
            other => return Err(self.fault_at(start, &format!("unknown wire type {other}"))),
        };
        match u32::try_from(tag >> 3) {
            Ok(number) if number > 0 && number < 1 << 29 => Ok((number, wire_type)),
            _ => Err(self.fault_at(start, "field number out of range")),
        }
    }

    /// A field of a message and how it is framed; `None` if the message has no such field: it has been
    /// passed. A required one is marked.
    #[expect(clippy::inline_always, reason = "it is done for each field, and small")]
    #[inline(always)]
    pub(super) fn field<'t>(
        &mut self,
        table: &'t MessageTable,
        required: &mut Required,
    ) -> Result<Option<(&'t Lookup, WireType)>, Fault> {
        let (number, wire_type) = self.tag()?;
        let Some(lookup) = table.by_number(number) else {
            self.skip(number, wire_type)?;
            return Ok(None);
        };
        if let Some(position) = lookup.required {
            required.mark(position);
        }
        Ok(Some((lookup, wire_type)))
    }

    /// How the next field is framed if it has this number; else it is left where it is.
    #[expect(clippy::inline_always, reason = "it is done for each field, and small")]
    #[inline(always)]
    pub(super) fn next_of(&mut self, number: u32) -> Result<Option<WireType>, Fault> {
        if self.is_done() {
            return Ok(None);
        }
        let before = self.at;
        let (next, wire_type) = self.tag()?;
        if next == number {
            return Ok(Some(wire_type));
        }
        self.at = before;
        Ok(None)
    }

    /// The range of a length-delimited field.
    #[expect(clippy::inline_always, reason = "it is done for each field, and small")]
    #[inline(always)]
    pub(super) fn take_delimited(&mut self) -> Result<(usize, usize), Fault> {
        let start = self.at;
        let length = self.varint()?;
        match usize::try_from(length) {
            Ok(length) if length <= self.data.len() - self.at => {
                let from = self.at;
                self.at += length;
                Ok((from, self.at))
            }
            _ => Err(self.fault_at(start, "length goes beyond the message")),
        }
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let Some(bytes) = self.data[self.at..].first_chunk::<N>() else {
            return Err(self.fault_at(self.data.len(), "message ends early"));
        };
        self.at += N;
        Ok(*bytes)
    }

    /// Passes the content of a field.
    #[inline]
    pub(super) fn skip(&mut self, number: u32, wire_type: WireType) -> Result<(), Fault> {
        match wire_type {
            WireType::Varint => self.varint().map(drop),
            WireType::Fixed64 => self.fixed::<8>().map(drop),
            WireType::Length => self.take_delimited().map(drop),
            WireType::Fixed32 => self.fixed::<4>().map(drop),
            WireType::StartGroup => self.group(number).map(drop),
            WireType::EndGroup => Err(self.fault("group ends that has not started")),
        }
    }

    /// Passes fields with short tags and lengths for as long as nobody asked for them; gives the bits
    /// of the required ones. Stops before whatever is rare or wrong.
    #[inline]
    pub(super) fn pass_short(&mut self, fields: &[ShortField; SHORT_NUMBERS]) -> u64 {
        let mut seen = 0;
        while let Some((tag, behind)) = self.data.get(self.at..).and_then(<[u8]>::split_first) {
            let field = fields[usize::from(*tag >> 3)];
            if !field.is_passed {
                break;
            }
            // Of a tag of two bytes the first one tells the number, if the second one is 1.
            let behind = match behind {
                _ if *tag < 0x80 => behind,
                [1, behind @ ..] => behind,
                _ => break,
            };
            let length = match (tag & 7, behind) {
                (0, [value, ..]) if *value < 0x80 => 1,
                (1, _) => 8,
                (2, [length, ..]) if *length < 0x80 => 1 + usize::from(*length),
                (2, [low, high, ..]) if *high < 0x80 => {
                    2 + (usize::from(low & 0x7f) | usize::from(*high) << 7)
                }
                (5, _) => 4,
                _ => break,
            };
            let Some(rest) = behind.get(length..) else { break };
            self.at = self.data.len() - rest.len();
            seen |= field.required_bit;
        }
        seen
    }

    /// Passes a group after its start tag; gives the range between its tags.
    pub(super) fn group(&mut self, number: u32) -> Result<(usize, usize), Fault> {
        let start = self.at;
        let mut open = vec![number];
        while let Some(innermost) = open.last() {
            let tag_at = self.at;
            if self.is_done() {
                return Err(self.fault("message ends inside a group"));
            }
            let (number, wire_type) = self.tag()?;
            match wire_type {
                WireType::EndGroup if number == *innermost => {
                    open.pop();
                    if open.is_empty() {
                        return Ok((start, tag_at));
                    }
                }
                WireType::EndGroup => {
                    return Err(self.fault_at(tag_at, "group ends that has not started"));
                }
                WireType::StartGroup if open.len() >= DEPTH_MAX => {
                    return Err(self.fault(&format!("nested deeper than {DEPTH_MAX}")));
                }
                WireType::StartGroup => open.push(number),
                other => self.skip(number, other)?,
            }
        }
        Ok((start, self.at))
    }
}
