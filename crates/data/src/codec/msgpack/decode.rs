//! Reading one message.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;

use super::{DEPTH_MAX, FORMAT, TIMESTAMP};
use crate::{
    Number, Object, Text, Value,
    codec::{
        DecodeError, DecodeLimits, key,
        single::widen,
        stop::{self, Watch},
        timestamp,
    },
    projection::Projection,
};

/// Elements that room is made for before they have been seen.
const RESERVED_MAX: usize = 256;

/// Decodes what `projection` keeps of a message.
#[expect(clippy::needless_pass_by_value, reason = "all decoders take the body they share")]
pub fn decode(
    bytes: Bytes,
    projection: &Projection,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    let (built, written, watch) = (0, bytes.len(), limits.stop.watch());
    let mut reader = Reader { bytes: &bytes, at: 0, limits, built, written, watch };
    if bytes.len() > limits.decoded_bytes_max {
        return Err(reader.too_large());
    }
    let depth = DEPTH_MAX.min(limits.depth_max);
    let value = reader.value(projection, depth)?;
    if reader.at < bytes.len() {
        return Err(reader.fault("bytes after the message"));
    }
    Ok(value)
}

/// The announcement of a head byte, with its length or count read.
enum Head {
    Nil,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Single(f32),
    Double(f64),
    String(usize),
    Binary(usize),
    Extension(i8, usize),
    Array(usize),
    Map(usize),
}

struct Reader<'a> {
    bytes: &'a Bytes,
    at: usize,
    limits: &'a DecodeLimits,
    built: usize,
    /// Bytes of the message and of everything that was written anew.
    written: usize,
    watch: Watch,
}

impl Reader<'_> {
    fn value(&mut self, projection: &Projection, depth: usize) -> Result<Value, DecodeError> {
        self.built += 1;
        if self.built > self.limits.elements_max {
            let reason = format!("more than {} elements", self.limits.elements_max);
            return Err(self.fault(&reason).of_elements());
        }
        match self.head()? {
            Head::Nil => Ok(Value::Null),
            Head::Bool(value) => Ok(Value::Bool(value)),
            Head::Int(value) => Ok(Value::int(value)),
            Head::Unsigned(value) => Ok(value.into()),
            Head::Single(value) => Ok(number(widen(value))),
            Head::Double(value) => Ok(number(value)),
            Head::String(length) => Ok(Value::String(self.text(length)?)),
            Head::Binary(length) => Ok(Value::String(self.base64(length)?)),
            Head::Extension(kind, length) => self.extension(kind, length),
            Head::Array(_) | Head::Map(_) if depth == 0 => Err(self.too_deep()),
            Head::Array(count) => {
                // A count is only a claim; nested claims must not add up either.
                let mut elements = Vec::with_capacity(count.min(RESERVED_MAX));
                for _ in 0..count {
                    elements.push(self.value(projection.element(), depth - 1)?);
                }
                Ok(Value::array(elements))
            }
            Head::Map(count) => {
                let mut members = Object::new();
                for _ in 0..count {
                    let name = self.key(depth - 1)?;
                    match projection.member(name.as_bytes()) {
                        Some(inner) => {
                            let value = self.value(inner, depth - 1)?;
                            members.insert(name, value);
                        }
                        None => self.skip()?,
                    }
                }
                Ok(Value::object(members))
            }
        }
    }

    /// A key, as text.
    fn key(&mut self, depth: usize) -> Result<Text, DecodeError> {
        let start = self.at;
        if let Head::String(length) = self.head()? {
            return self.text(length);
        }
        self.at = start;
        let value = self.value(&Projection::All, depth)?;
        let Some(text) = key::text(&value) else {
            self.at = start;
            return Err(self.fault(&format!("key of more than {} bytes", key::KEY_BYTES_MAX)));
        };
        self.write(text.len())?;
        Ok(text)
    }

    /// Passes one value without building it.
    fn skip(&mut self) -> Result<(), DecodeError> {
        let mut pending: u64 = 1;
        while pending > 0 {
            pending -= 1;
            match self.head()? {
                Head::String(length) | Head::Binary(length) | Head::Extension(_, length) => {
                    self.take(length)?;
                }
                Head::Array(count) => pending += count as u64,
                Head::Map(count) => pending += 2 * count as u64,
                _ => {}
            }
            if pending > self.remaining() as u64 {
                return Err(self.fault("message ends early"));
            }
        }
        Ok(())
    }

    fn head(&mut self) -> Result<Head, DecodeError> {
        if self.watch.is_over() {
            return Err(self.fault(stop::REASON));
        }
        let start = self.at;
        let byte = self.take(1)?[0];
        Ok(match byte {
            0x00..=0x7f => Head::Int(i64::from(byte)),
            0x80..=0x8f => Head::Map(usize::from(byte & 0x0f)),
            0x90..=0x9f => Head::Array(usize::from(byte & 0x0f)),
            0xa0..=0xbf => Head::String(usize::from(byte & 0x1f)),
            0xc0 => Head::Nil,
            0xc1 => {
                self.at = start;
                return Err(self.fault("byte 0xc1 starts no value"));
            }
            0xc2 => Head::Bool(false),
            0xc3 => Head::Bool(true),
            0xc4..=0xc6 => Head::Binary(self.length(1 << (byte - 0xc4))?),
            0xc7..=0xc9 => {
                let length = self.length(1 << (byte - 0xc7))?;
                Head::Extension(self.extension_type()?, length)
            }
            0xca => Head::Single(f32::from_be_bytes(self.array()?)),
            0xcb => Head::Double(f64::from_be_bytes(self.array()?)),
            0xcc..=0xcf => Head::Unsigned(self.read_unsigned(1 << (byte - 0xcc))?),
            0xd0 => Head::Int(i64::from(i8::from_be_bytes(self.array()?))),
            0xd1 => Head::Int(i64::from(i16::from_be_bytes(self.array()?))),
            0xd2 => Head::Int(i64::from(i32::from_be_bytes(self.array()?))),
            0xd3 => Head::Int(i64::from_be_bytes(self.array()?)),
            0xd4..=0xd8 => Head::Extension(self.extension_type()?, 1 << (byte - 0xd4)),
            0xd9..=0xdb => Head::String(self.length(1 << (byte - 0xd9))?),
            0xdc..=0xdd => Head::Array(self.length(2 << (byte - 0xdc))?),
            0xde..=0xdf => Head::Map(self.length(2 << (byte - 0xde))?),
            0xe0..=0xff => Head::Int(i64::from(byte.cast_signed())),
        })
    }

    fn extension(&mut self, kind: i8, length: usize) -> Result<Value, DecodeError> {
        let start = self.at;
        if kind == TIMESTAMP {
            let bytes = self.take(length)?;
            let Some(text) = moment(bytes).and_then(|(s, ns)| timestamp::print(s, ns)) else {
                self.at = start;
                return Err(self.fault("timestamp out of range"));
            };
            self.write(text.len())?;
            return Ok(Value::string(text));
        }
        let data = self.base64(length)?;
        let members = [("$ext", Value::from(kind)), ("$data", Value::String(data))];
        Ok(Value::object(
            members.into_iter().map(|(name, value)| (Text::from_static(name), value)).collect(),
        ))
    }

    fn text(&mut self, length: usize) -> Result<Text, DecodeError> {
        let start = self.at;
        self.take(length)?;
        Text::from_utf8(self.bytes.slice(start..self.at)).map_err(|error| {
            self.at = start + error.valid_up_to();
            self.fault("text is not UTF-8")
        })
    }

    fn base64(&mut self, length: usize) -> Result<Text, DecodeError> {
        let text = STANDARD.encode(self.take(length)?);
        self.write(text.len())?;
        Ok(text.into())
    }

    fn length(&mut self, width: u8) -> Result<usize, DecodeError> {
        // Lengths have 32 bits at most.
        Ok(self.read_unsigned(width)? as usize)
    }

    fn read_unsigned(&mut self, width: u8) -> Result<u64, DecodeError> {
        let bytes = self.take(usize::from(width))?;
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn extension_type(&mut self) -> Result<i8, DecodeError> {
        Ok(self.take(1)?[0].cast_signed())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn take(&mut self, length: usize) -> Result<&[u8], DecodeError> {
        if length > self.remaining() {
            return Err(self.fault("message ends early"));
        }
        let start = self.at;
        self.at += length;
        Ok(&self.bytes[start..self.at])
    }

    fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn write(&mut self, length: usize) -> Result<(), DecodeError> {
        self.written = self.written.saturating_add(length);
        if self.written > self.limits.decoded_bytes_max { Err(self.too_large()) } else { Ok(()) }
    }

    fn too_large(&self) -> DecodeError {
        self.fault(&format!("larger than {} bytes", self.limits.decoded_bytes_max))
    }

    fn too_deep(&self) -> DecodeError {
        self.fault(&format!("nested deeper than {}", DEPTH_MAX.min(self.limits.depth_max)))
    }

    fn fault(&self, reason: &str) -> DecodeError {
        DecodeError {
            format: FORMAT,
            offset: self.at,
            reason: format!("Malformed msgpack message: {reason}"),
            has_too_many: false,
        }
    }
}

/// Seconds and nanoseconds of the three timestamp layouts.
fn moment(bytes: &[u8]) -> Option<(i64, u32)> {
    match bytes.len() {
        4 => Some((i64::from(u32::from_be_bytes(bytes.try_into().ok()?)), 0)),
        8 => {
            let packed = u64::from_be_bytes(bytes.try_into().ok()?);
            Some(((packed & ((1 << 34) - 1)).cast_signed(), (packed >> 34) as u32))
        }
        12 => {
            let (nanos, seconds) = bytes.split_at(4);
            let nanos = u32::from_be_bytes(nanos.try_into().ok()?);
            Some((i64::from_be_bytes(seconds.try_into().ok()?), nanos))
        }
        _ => None,
    }
}

fn number(value: f64) -> Value {
    if value.is_finite() { Value::Number(Number::Float(value)) } else { Value::Null }
}
