//! Scalars on the wire and what they are as values (`connectors.md` 9.4).

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};

use super::{
    Mapping, ProtobufOptions,
    tables::{Kind, Tables},
    wire::{Reader, WireType},
};
use crate::{
    Number, Object, Text, Value,
    codec::{DecodeError, single},
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

/// A scalar as read.
pub(super) struct Scalar {
    /// Absent: to be dropped.
    pub(super) value: Value,
    /// Whether it is the value of an unset field.
    pub(super) is_zero: bool,
    /// Bytes that were written anew for it.
    pub(super) written: usize,
}

/// Reads a scalar; `kind` is neither a message nor a group.
pub(super) fn read(
    reader: &mut Reader<'_>,
    kind: Kind,
    tables: &Tables,
    options: ProtobufOptions,
) -> Result<Scalar, DecodeError> {
    let is_low_level = options.mapping == Mapping::LowLevel;
    let plain = |value, is_zero| Ok(Scalar { value, is_zero, written: 0 });
    match kind {
        Kind::Double => {
            let value = f64::from_le_bytes(reader.fixed()?);
            plain(float(value, is_low_level), value.to_bits() == 0)
        }
        Kind::Float => {
            let value = f32::from_le_bytes(reader.fixed()?);
            let widened = if is_low_level { f64::from(value) } else { single::widen(value) };
            plain(float(widened, is_low_level), value.to_bits() == 0)
        }
        Kind::Int32 => {
            let value = reader.varint()? as u32;
            plain(Value::int(i64::from(value.cast_signed())), value == 0)
        }
        Kind::Uint32 => {
            let value = reader.varint()? as u32;
            plain(Value::int(i64::from(value)), value == 0)
        }
        Kind::Sint32 => {
            let value = unzigzag(reader.varint()? & u64::from(u32::MAX));
            plain(Value::int(value), value == 0)
        }
        Kind::Fixed32 => {
            let value = u32::from_le_bytes(reader.fixed()?);
            plain(Value::int(i64::from(value)), value == 0)
        }
        Kind::Sfixed32 => {
            let value = i32::from_le_bytes(reader.fixed()?);
            plain(Value::int(i64::from(value)), value == 0)
        }
        Kind::Int64 => Ok(signed(reader.varint()?.cast_signed(), is_low_level)),
        Kind::Sint64 => Ok(signed(unzigzag(reader.varint()?), is_low_level)),
        Kind::Sfixed64 => Ok(signed(i64::from_le_bytes(reader.fixed()?), is_low_level)),
        Kind::Uint64 => Ok(unsigned(reader.varint()?, is_low_level)),
        Kind::Fixed64 => Ok(unsigned(u64::from_le_bytes(reader.fixed()?), is_low_level)),
        Kind::Bool => {
            let value = reader.varint()? != 0;
            plain(Value::Bool(value), !value)
        }
        Kind::Enum(at) => {
            let value = (reader.varint()? as u32).cast_signed();
            let table = &tables.enums[at];
            let named = match table.names.get(&value) {
                _ if table.is_null => Value::Null,
                Some(name) => Value::String(name.clone()),
                None if is_low_level => Value::Absent,
                None => Value::int(i64::from(value)),
            };
            plain(named, value == table.first)
        }
        Kind::String => {
            let (start, end) = reader.delimited()?;
            let text = Text::from_utf8(reader.source.bytes.slice(start..end)).map_err(|error| {
                reader.fault_at(start + error.valid_up_to(), "text is not UTF-8")
            })?;
            plain(Value::String(text), start == end)
        }
        Kind::Bytes => {
            let (start, end) = reader.delimited()?;
            Ok(bytes(&reader.source.bytes[start..end], is_low_level))
        }
        Kind::Message(_) | Kind::Group(_) => Err(reader.fault("message where a scalar belongs")),
    }
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

fn float(value: f64, is_low_level: bool) -> Value {
    if value.is_finite() {
        Value::Number(Number::Float(value))
    } else if is_low_level {
        Value::Null
    } else if value.is_nan() {
        Value::String(Text::from_static("NaN"))
    } else if value > 0.0 {
        Value::String(Text::from_static("Infinity"))
    } else {
        Value::String(Text::from_static("-Infinity"))
    }
}

/// The largest whole number up to which floats have no gaps.
const EXACT_MAX: u64 = 1 << 53;

fn signed(value: i64, is_low_level: bool) -> Scalar {
    let is_zero = value == 0;
    if !is_low_level {
        let text = value.to_string();
        return Scalar { written: text.len(), value: Value::string(text), is_zero };
    }
    #[expect(clippy::cast_precision_loss, reason = "this mapping rounds")]
    let number = match value.unsigned_abs() {
        ..=EXACT_MAX => Number::Int(value),
        _ => Number::Float(value as f64),
    };
    Scalar { value: Value::Number(number), is_zero, written: 0 }
}

fn unsigned(value: u64, is_low_level: bool) -> Scalar {
    if let Ok(value) = i64::try_from(value) {
        return signed(value, is_low_level);
    }
    if !is_low_level {
        let text = value.to_string();
        return Scalar { written: text.len(), value: Value::string(text), is_zero: false };
    }
    #[expect(clippy::cast_precision_loss, reason = "this mapping rounds")]
    let number = Number::Float(value as f64);
    Scalar { value: Value::Number(number), is_zero: false, written: 0 }
}

fn bytes(bytes: &[u8], is_low_level: bool) -> Scalar {
    let is_zero = bytes.is_empty();
    if !is_low_level {
        let text = to_base64(bytes);
        return Scalar { written: text.len(), value: Value::string(text), is_zero };
    }
    // What `JSON.stringify` made of a buffer then: an object of its positions.
    let members: Object = bytes
        .iter()
        .enumerate()
        .map(|(at, byte)| (Text::from(at.to_string()), Value::int(i64::from(*byte))))
        .collect();
    let written = bytes.len().saturating_mul(size_of::<(Text, Value)>());
    Scalar { value: Value::object(members), is_zero, written }
}
