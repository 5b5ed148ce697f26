//! Scalars on the wire and what they are as values and as JSON text (FMT-31).

use std::ops::Range;

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};

use super::{
    Mapping, ProtobufOptions,
    tables::{Kind, Tables},
    wire::{Fault, Reader, Source, WireType},
};
use crate::{
    Number, Text, Value,
    codec::{json, single},
};

/// Base64 with or without padding.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const BASE64_URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Base64 text with padding.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of base64 or base64url text.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let engine = if text.contains(['-', '_']) { &BASE64_URL } else { &BASE64 };
    engine.decode(text).ok()
}

impl Kind {
    /// How a single value of this kind is framed.
    pub(super) fn wire_type(self) -> WireType {
        match self {
            Self::Double | Self::Fixed64 | Self::Sfixed64 => WireType::Fixed64,
            Self::Float | Self::Fixed32 | Self::Sfixed32 => WireType::Fixed32,
            Self::String | Self::Bytes | Self::Message(_) => WireType::Length,
            Self::Group(_) => WireType::StartGroup,
            _ => WireType::Varint,
        }
    }

    /// Whether repeated values may share one length-delimited field.
    pub(super) fn is_packable(self) -> bool {
        !matches!(self, Self::String | Self::Bytes | Self::Message(_) | Self::Group(_))
    }
}

/// A scalar as read: what it is in the JSON mapping, before anybody has made a value or text of it.
pub(super) struct Scalar<'a> {
    pub(super) form: Form<'a>,
    /// Whether it is the value of an unset field.
    pub(super) is_zero: bool,
}

/// The JSON form of a scalar.
pub(super) enum Form<'a> {
    /// To be dropped.
    None,
    Null,
    Bool(bool),
    Number(Number),
    /// A 64-bit number, which is text: whether it is negative, and the rest of it.
    Digits(bool, u64),
    Word(&'static str),
    Name(&'a Text),
    /// A text in the source, not checked yet.
    Text(Range<usize>),
    /// Bytes as base64 text.
    Base64(&'a [u8]),
    /// Bytes as an object of positions: what `JSON.stringify` made of a buffer.
    Positions(&'a [u8]),
}

impl Form<'_> {
    /// The value, and how many bytes were written anew for it. Absent is to be dropped.
    pub(super) fn into_value(self, source: &Source) -> Result<(Value, usize), Fault> {
        let written = |text: String| (text.len(), Value::string(text));
        let (written, value) = match self {
            Self::None => (0, Value::Absent),
            Self::Null => (0, Value::Null),
            Self::Bool(value) => (0, Value::Bool(value)),
            Self::Number(number) => (0, Value::Number(number)),
            Self::Digits(true, digits) => written(format!("-{digits}")),
            Self::Digits(false, digits) => written(digits.to_string()),
            Self::Word(word) => (0, Value::String(Text::from_static(word))),
            Self::Name(name) => (0, Value::String(name.clone())),
            Self::Text(range) => (0, Value::String(source.text(range)?)),
            Self::Base64(bytes) => written(to_base64(bytes)),
            Self::Positions(bytes) => {
                let members = bytes
                    .iter()
                    .enumerate()
                    .map(|(at, byte)| (Text::from(at.to_string()), Value::from(*byte)));
                let written = bytes.len().saturating_mul(size_of::<(Text, Value)>());
                (written, Value::object(members.collect()))
            }
        };
        Ok((value, written))
    }

    /// Appends the JSON text of the value; gives the same count as [`Form::into_value`]. Text is not
    /// checked to be UTF-8.
    pub(super) fn write(self, source: &Source, out: &mut Vec<u8>) -> Result<usize, Fault> {
        let start = out.len();
        match self {
            Self::Text(range) => json::write_part(&source.bytes, range, out),
            Self::Number(number) => json::write_number(&number, out),
            Self::Name(name) => json::write_part(name.as_bytes(), 0..name.len(), out),
            Self::Bool(value) => {
                out.extend_from_slice(if value { b"true" } else { b"false" });
            }
            Self::Digits(is_negative, digits) => {
                out.extend_from_slice(if is_negative { b"\"-" } else { b"\"" });
                json::write_digits(digits, 1, out);
                out.push(b'"');
                return Ok(out.len() - start - QUOTES);
            }
            Self::Base64(bytes) => {
                json::encode(&Value::string(to_base64(bytes)), out);
                return Ok(out.len() - start - QUOTES);
            }
            rare @ (Self::None | Self::Null | Self::Word(_) | Self::Positions(_)) => {
                let (value, written) = rare.into_value(source)?;
                json::encode(&value, out);
                return Ok(written);
            }
        }
        Ok(0)
    }

    /// Whether the text of the value, read again, is equal to the value.
    pub(super) fn is_read_back(&self) -> bool {
        match self {
            Self::Number(Number::Float(value)) => json::is_read_back(*value),
            _ => true,
        }
    }
}

/// The bytes around a text in JSON.
const QUOTES: usize = 2;

/// Reads a scalar; `kind` is neither a message nor a group.
#[inline]
pub(super) fn read<'a, 'r: 'a>(
    reader: &mut Reader<'r>,
    kind: Kind,
    tables: &'a Tables,
    options: ProtobufOptions,
) -> Result<Scalar<'a>, Fault> {
    let is_low_level = options.mapping == Mapping::LowLevel;
    let whole = |value: i64| Scalar { form: Form::Number(Number::Int(value)), is_zero: value == 0 };
    Ok(match kind {
        Kind::Double => {
            let value = f64::from_le_bytes(reader.fixed()?);
            Scalar { form: float(value, is_low_level), is_zero: value.to_bits() == 0 }
        }
        Kind::Float => {
            let value = f32::from_le_bytes(reader.fixed()?);
            let widened = if is_low_level { f64::from(value) } else { single::widen(value) };
            Scalar { form: float(widened, is_low_level), is_zero: value.to_bits() == 0 }
        }
        Kind::Int32 => whole(i64::from((reader.varint()? as u32).cast_signed())),
        Kind::Uint32 => whole(i64::from(reader.varint()? as u32)),
        Kind::Sint32 => whole(unzigzag(reader.varint()? & u64::from(u32::MAX))),
        Kind::Fixed32 => whole(i64::from(u32::from_le_bytes(reader.fixed()?))),
        Kind::Sfixed32 => whole(i64::from(i32::from_le_bytes(reader.fixed()?))),
        Kind::Int64 => signed(reader.varint()?.cast_signed(), is_low_level),
        Kind::Sint64 => signed(unzigzag(reader.varint()?), is_low_level),
        Kind::Sfixed64 => signed(i64::from_le_bytes(reader.fixed()?), is_low_level),
        Kind::Uint64 => unsigned(reader.varint()?, is_low_level),
        Kind::Fixed64 => unsigned(u64::from_le_bytes(reader.fixed()?), is_low_level),
        Kind::Bool => {
            let value = reader.varint()? != 0;
            Scalar { form: Form::Bool(value), is_zero: !value }
        }
        Kind::Enum(at) => {
            let value = (reader.varint()? as u32).cast_signed();
            let table = &tables.enums[at];
            let form = match table.names.get(&value) {
                _ if table.is_null => Form::Null,
                Some(name) => Form::Name(name),
                None if is_low_level => Form::None,
                None => Form::Number(Number::Int(i64::from(value))),
            };
            Scalar { form, is_zero: value == table.first }
        }
        Kind::String => {
            let (start, end) = reader.take_delimited()?;
            Scalar { form: Form::Text(start..end), is_zero: start == end }
        }
        Kind::Bytes => {
            let (start, end) = reader.take_delimited()?;
            let source: &'r Source = reader.source;
            let bytes = &source.bytes[start..end];
            let form = if is_low_level { Form::Positions(bytes) } else { Form::Base64(bytes) };
            Scalar { form, is_zero: start == end }
        }
        Kind::Message(_) | Kind::Group(_) => {
            return Err(reader.fault("message where a scalar belongs"));
        }
    })
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

fn float(value: f64, is_low_level: bool) -> Form<'static> {
    if value.is_finite() {
        Form::Number(Number::Float(value))
    } else if is_low_level {
        Form::Null
    } else if value.is_nan() {
        Form::Word("NaN")
    } else if value > 0.0 {
        Form::Word("Infinity")
    } else {
        Form::Word("-Infinity")
    }
}

/// The largest whole number up to which floats have no gaps.
const EXACT_MAX: u64 = 1 << 53;

fn signed(value: i64, is_low_level: bool) -> Scalar<'static> {
    #[expect(clippy::cast_precision_loss, reason = "this mapping rounds")]
    let form = match value.unsigned_abs() {
        digits if !is_low_level => Form::Digits(value < 0, digits),
        ..=EXACT_MAX => Form::Number(Number::Int(value)),
        _ => Form::Number(Number::Float(value as f64)),
    };
    Scalar { form, is_zero: value == 0 }
}

fn unsigned(value: u64, is_low_level: bool) -> Scalar<'static> {
    if let Ok(value) = i64::try_from(value) {
        return signed(value, is_low_level);
    }
    #[expect(clippy::cast_precision_loss, reason = "this mapping rounds")]
    let form = if is_low_level {
        Form::Number(Number::Float(value as f64))
    } else {
        Form::Digits(false, value)
    };
    Scalar { form, is_zero: false }
}
