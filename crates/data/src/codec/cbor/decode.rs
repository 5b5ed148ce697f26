//! Reading one data item.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;

use super::{
    reader::{Head, Reader, StringKind, fault_at, stray_break},
    tag,
};
use crate::{
    Number, Object, Text, Value,
    codec::{DecodeError, DecodeLimits, key, single::widen, timestamp},
    projection::Projection,
};

/// Elements that room is made for before they have been seen.
const RESERVED_MAX: u64 = 256;
/// Bytes of a big integer that becomes a number; printing takes the square of that in time.
const BIG_BYTES_MAX: usize = 128;

/// Decodes what `projection` keeps of a data item.
#[expect(clippy::needless_pass_by_value, reason = "all decoders take the body they share")]
pub fn decode(
    bytes: Bytes,
    projection: &Projection,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(&bytes, limits);
    if bytes.len() > limits.decoded_bytes_max {
        return Err(reader.too_large());
    }
    let depth = reader.depth_max();
    let value = reader.value(projection, depth)?;
    if reader.at < bytes.len() {
        return Err(reader.fault("bytes after the message"));
    }
    Ok(value)
}

impl Reader<'_> {
    fn value(&mut self, projection: &Projection, depth: usize) -> Result<Value, DecodeError> {
        let start = self.at;
        self.count()?;
        match self.head()? {
            Head::Unsigned(value) => Ok(whole(i128::from(value))),
            Head::Negative(value) => Ok(whole(-1 - i128::from(value))),
            Head::Bytes(length) => {
                let bytes = self.byte_string(length)?;
                self.base64(&bytes).map(Value::String)
            }
            Head::Text(length) => self.text(length).map(Value::String),
            Head::Array(_) | Head::Map(_) | Head::Tag(_) if depth == 0 => Err(self.too_deep()),
            Head::Array(count) => self.array(count, projection, depth - 1),
            Head::Map(count) => self.map(count, projection, depth - 1),
            Head::Tag(number) => self.read_tagged(number, projection, depth - 1),
            Head::Simple(20) => Ok(Value::Bool(false)),
            Head::Simple(21) => Ok(Value::Bool(true)),
            // Null, undefined, and what nobody has given a meaning (RFC 8949, 6.1).
            Head::Simple(_) => Ok(Value::Null),
            Head::Half(bits) => Ok(float(widen(half_to_single(bits)))),
            Head::Single(bits) => Ok(float(widen(f32::from_bits(bits)))),
            Head::Double(bits) => Ok(float(f64::from_bits(bits))),
            Head::Break => Err(stray_break(start)),
        }
    }

    fn array(
        &mut self,
        count: Option<u64>,
        projection: &Projection,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        // A count is only a claim; nested claims must not add up either.
        let room = count.unwrap_or_default().min(RESERVED_MAX);
        let mut elements = Vec::with_capacity(room as usize);
        let mut left = count;
        while self.has_more(&mut left) {
            elements.push(self.value(projection.element(), depth)?);
        }
        Ok(Value::array(elements))
    }

    fn map(
        &mut self,
        count: Option<u64>,
        projection: &Projection,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        let mut members = Object::new();
        let mut left = count;
        while self.has_more(&mut left) {
            let name = self.key(depth)?;
            match projection.member(name.as_bytes()) {
                Some(inner) => {
                    let value = self.value(inner, depth)?;
                    members.insert(name, value);
                }
                None => self.skip(depth)?,
            }
        }
        Ok(Value::object(members))
    }

    /// A key, as text.
    fn key(&mut self, depth: usize) -> Result<Text, DecodeError> {
        let start = self.at;
        if let Head::Text(length) = self.head()? {
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

    fn text(&mut self, length: Option<u64>) -> Result<Text, DecodeError> {
        let mut single = Text::default();
        let mut joined = String::new();
        self.string(StringKind::Text, length, |reader, start, end| {
            if single.is_empty() && joined.is_empty() {
                single = reader.shared_text(start, end)?;
                return Ok(());
            }
            let piece = reader.check_text(start, end)?;
            if joined.is_empty() {
                reader.write(single.len())?;
                joined.push_str(&single);
            }
            reader.write(piece.len())?;
            joined.push_str(piece);
            Ok(())
        })?;
        Ok(if joined.is_empty() { single } else { joined.into() })
    }

    fn byte_string(&mut self, length: Option<u64>) -> Result<Bytes, DecodeError> {
        let mut single = Bytes::new();
        let mut joined = Vec::new();
        self.string(StringKind::Bytes, length, |reader, start, end| {
            let piece = reader.bytes.slice(start..end);
            if single.is_empty() && joined.is_empty() {
                single = piece;
                return Ok(());
            }
            if joined.is_empty() {
                reader.write(single.len())?;
                joined.extend_from_slice(&single);
            }
            reader.write(piece.len())?;
            joined.extend_from_slice(&piece);
            Ok(())
        })?;
        Ok(if joined.is_empty() { single } else { joined.into() })
    }

    fn base64(&mut self, bytes: &[u8]) -> Result<Text, DecodeError> {
        let text = STANDARD.encode(bytes);
        self.write(text.len())?;
        Ok(text.into())
    }

    /// The item behind a tag.
    fn read_tagged(
        &mut self,
        number: u64,
        projection: &Projection,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        let start = self.at;
        match number {
            tag::EXPECTED_FIRST..=tag::EXPECTED_LAST | tag::SELF_DESCRIBED => {
                return self.value(projection, depth);
            }
            tag::TIME_TEXT | tag::TEXT_FIRST..=tag::TEXT_LAST => {
                if let Head::Text(length) = self.head()? {
                    return self.text(length).map(Value::String);
                }
            }
            tag::TIME_SECONDS => {
                let moment = match self.head()? {
                    Head::Unsigned(value) => i64::try_from(value).ok().map(|seconds| (seconds, 0)),
                    Head::Negative(value) => {
                        i64::try_from(-1 - i128::from(value)).ok().map(|seconds| (seconds, 0))
                    }
                    Head::Half(bits) => split_seconds(f64::from(half_to_single(bits))),
                    Head::Single(bits) => split_seconds(f64::from(f32::from_bits(bits))),
                    Head::Double(bits) => split_seconds(f64::from_bits(bits)),
                    _ => return Err(fault_at(start, "point in time that is no number")),
                };
                let Some(text) = moment.and_then(|(s, nanos)| timestamp::print(s, nanos)) else {
                    return Err(fault_at(start, "timestamp out of range"));
                };
                self.write(text.len())?;
                return Ok(Value::string(text));
            }
            tag::BIG_POSITIVE | tag::BIG_NEGATIVE => {
                if let Head::Bytes(length) = self.head()? {
                    let bytes = self.byte_string(length)?;
                    let significant = bytes.iter().take_while(|byte| **byte == 0).count();
                    if bytes.len() - significant <= BIG_BYTES_MAX {
                        let text = big_integer(&bytes, number == tag::BIG_NEGATIVE);
                        self.write(text.len())?;
                        return Ok(text.parse().map_or_else(
                            |_| Value::Number(Number::Source(text.into())),
                            Value::int,
                        ));
                    }
                }
            }
            _ => {}
        }
        self.at = start;
        self.extension(number, depth)
    }

    /// An item whose tag says nothing to us: its bytes if it is a byte string, else its own encoding.
    fn extension(&mut self, number: u64, depth: usize) -> Result<Value, DecodeError> {
        let start = self.at;
        let data = if let Head::Bytes(length) = self.head()? {
            let bytes = self.byte_string(length)?;
            self.base64(&bytes)?
        } else {
            self.at = start;
            self.skip(depth)?;
            let item = self.bytes.slice(start..self.at);
            self.base64(&item)?
        };
        let members = [("$ext", whole(i128::from(number))), ("$data", Value::String(data))];
        Ok(Value::object(
            members.into_iter().map(|(name, value)| (Text::from_static(name), value)).collect(),
        ))
    }
}

fn whole(value: i128) -> Value {
    match i64::try_from(value) {
        Ok(value) => Value::int(value),
        Err(_) => Value::Number(Number::Source(value.to_string().into())),
    }
}

fn float(value: f64) -> Value {
    if value.is_finite() { Value::Number(Number::Float(value)) } else { Value::Null }
}

/// Every 16-bit float is a 32-bit one too (RFC 8949, appendix D).
fn half_to_single(bits: u16) -> f32 {
    let bits = u32::from(bits);
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 0x1f, bits & 0x3ff);
    let magnitude = match exponent {
        // Below the normal numbers: so many times two to the minus 24.
        0 => {
            let magnitude = f32::from(fraction as u16) / 16_777_216.0;
            return if sign == 1 { -magnitude } else { magnitude };
        }
        0x1f => 0xff << 23 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign << 31 | magnitude)
}

/// Whole seconds and nanoseconds of a moment before or after 1970.
fn split_seconds(seconds: f64) -> Option<(i64, u32)> {
    /// Well beyond the years that RFC 3339 can write, well within exact floats.
    const SECONDS_MAX: f64 = 1e15;
    const NANOS: i64 = 1_000_000_000;
    if seconds.is_nan() || seconds.abs() > SECONDS_MAX {
        return None;
    }
    let whole = seconds.floor();
    // Floats of this size have microseconds at best; more digits would only be noise.
    let nanos = (((seconds - whole) * 1e6).round() * 1e3) as i64;
    let carry = nanos / NANOS;
    Some((whole as i64 + carry, u32::try_from(nanos % NANOS).ok()?))
}

/// A big-endian integer in decimal digits; a negative one is -1 minus it.
fn big_integer(bytes: &[u8], is_negative: bool) -> String {
    const BASE: u64 = 1_000_000_000;
    // Groups of nine decimal digits, the lowest first.
    let mut groups: Vec<u32> = vec![0];
    let mut multiply_add = |factor: u64, summand: u64| {
        let mut carry = summand;
        for group in &mut groups {
            let value = u64::from(*group) * factor + carry;
            *group = (value % BASE) as u32;
            carry = value / BASE;
        }
        if carry > 0 {
            groups.push(carry as u32);
        }
    };
    for byte in bytes {
        multiply_add(256, u64::from(*byte));
    }
    if is_negative {
        multiply_add(1, 1);
    }
    let mut text = String::from(if is_negative { "-" } else { "" });
    for (position, group) in groups.iter().rev().enumerate() {
        let digits = if position == 0 { format!("{group}") } else { format!("{group:09}") };
        text.push_str(&digits);
    }
    text
}
