//! From values to messages (FMT-35).

use std::fmt;

use super::{
    DEPTH_MAX, Message, encode_well_known, scalar,
    tables::{Field, Kind, Shape, Tables},
    well_known,
    wire::WireType,
};
use crate::{Number, Object, Value};

/// A value that is not the message it should become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeError {
    /// The members that lead to the place, outermost first.
    pub path: Vec<String>,
    /// The reason: lower case, no full stop.
    pub reason: String,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.reason);
        }
        write!(f, "{} (at `{}`)", self.reason, self.path.join("."))
    }
}

impl std::error::Error for EncodeError {}

impl EncodeError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { path: Vec::new(), reason: reason.into() }
    }

    fn inside(mut self, name: &str) -> Self {
        self.path.insert(0, name.to_owned());
        self
    }
}

/// Writes a value as a message.
///
/// Members are found by JSON name or declared name; unknown ones are errors. 64-bit integers may be
/// numbers or text, enums names or numbers, bytes base64 or base64url. Null and absent members are
/// unset. Fields come in the order of their numbers.
pub fn encode(value: &Value, message: &Message) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    let tree = value.into_tree();
    write_message(&message.tables, message.index, &tree, DEPTH_MAX, &mut out)?;
    Ok(out)
}

/// Writes the content of a message, in its own JSON form if it has one.
pub(super) fn write_message(
    tables: &Tables,
    message: usize,
    value: &Value,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    if depth == 0 {
        return Err(EncodeError::new(format!("value nested deeper than {DEPTH_MAX}")));
    }
    match (tables.messages[message].well_known, value) {
        (Some(kind), _) => encode_well_known::write(tables, kind, message, value, depth, out),
        (None, Value::Object(object)) => write_fields(tables, message, object, depth, out),
        (None, _) => {
            let name = &tables.messages[message].full_name;
            Err(EncodeError::new(format!("an object is needed for message `{name}`")))
        }
    }
}

/// Writes the members of an object as fields.
pub(super) fn write_fields(
    tables: &Tables,
    message: usize,
    object: &Object,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let table = &tables.messages[message];
    let mut set: Vec<(usize, &str, &Value)> = Vec::with_capacity(object.len());
    for (name, value) in object.iter() {
        let Some(at) = table.by_name(name) else {
            let message = &table.full_name;
            return Err(EncodeError::new(format!("message `{message}` has no field `{name}`")));
        };
        let is_unset = value.is_absent()
            || (matches!(value, Value::Null)
                && !(table.fields[at].shape == Shape::Single
                    && well_known::takes_null(table.fields[at].kind, tables)));
        if !is_unset {
            set.push((at, name, value));
        }
    }
    set.sort_by_key(|(at, _, _)| *at);
    let mut oneofs = vec![None; table.oneofs.len()];
    let mut previous = None;
    for (at, name, value) in &set {
        if previous.replace(*at) == Some(*at) {
            return Err(EncodeError::new(format!("field `{name}` is given under two names")));
        }
        let field = &table.fields[*at];
        if let Some(oneof) = field.oneof
            && let Some(other) = oneofs[oneof].replace(*name)
        {
            return Err(EncodeError::new(format!("only one of `{other}` and `{name}` can be set")));
        }
        write_field(tables, field, value, depth, out).map_err(|error| error.inside(name))?;
    }
    let is_set = |at: usize| set.binary_search_by_key(&at, |(at, _, _)| *at).is_ok();
    match table.required.iter().find(|at| !is_set(**at)) {
        Some(missing) => {
            let name = &table.fields[*missing].proto_name;
            Err(EncodeError::new(format!("required field `{name}` is missing")))
        }
        None => Ok(()),
    }
}

fn write_field(
    tables: &Tables,
    field: &Field,
    value: &Value,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match (field.shape, value) {
        (Shape::Single, _) => {
            let start = out.len();
            write_tag(field.number, field.kind.wire_type(), out);
            let content = out.len();
            write_content(tables, field, value, depth, out)?;
            let is_zero = field.is_implicit
                && match field.kind.wire_type() {
                    WireType::Fixed32 | WireType::Fixed64 => {
                        out[content..].iter().all(|byte| *byte == 0)
                    }
                    _ => out[content..] == [0],
                };
            if is_zero {
                out.truncate(start);
            }
            Ok(())
        }
        (Shape::Repeated, Value::Array(elements)) => {
            write_list(tables, field, elements, depth, out)
        }
        (Shape::Map, Value::Object(members)) => {
            let Kind::Message(entry) = field.kind else {
                return Err(EncodeError::new("map without entries"));
            };
            let [key, inner] = tables.messages[entry].fields.as_slice() else {
                return Err(EncodeError::new("map entry without key and value"));
            };
            for (name, value) in members.iter().filter(|(_, value)| !value.is_absent()) {
                write_tag(field.number, WireType::Length, out);
                write_framed(out, |out| {
                    write_tag(1, key.kind.wire_type(), out);
                    write_key(tables, key, name, out)?;
                    write_tag(2, inner.kind.wire_type(), out);
                    write_content(tables, inner, value, depth, out)
                })
                .map_err(|error| error.inside(name))?;
            }
            Ok(())
        }
        (Shape::Repeated, _) => Err(EncodeError::new("an array is needed")),
        (Shape::Map, _) => Err(EncodeError::new("an object is needed")),
    }
}

fn write_list(
    tables: &Tables,
    field: &Field,
    elements: &[Value],
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let in_element = |at: usize| move |error: EncodeError| error.inside(&at.to_string());
    if elements.is_empty() {
        return Ok(());
    }
    if field.is_packed && field.kind.is_packable() {
        write_tag(field.number, WireType::Length, out);
        return write_framed(out, |out| {
            for (at, element) in elements.iter().enumerate() {
                write_content(tables, field, element, depth, out).map_err(in_element(at))?;
            }
            Ok(())
        });
    }
    for (at, element) in elements.iter().enumerate() {
        write_tag(field.number, field.kind.wire_type(), out);
        write_content(tables, field, element, depth, out).map_err(in_element(at))?;
    }
    Ok(())
}

/// Map keys are text in JSON, whatever they are in the schema.
fn write_key(
    tables: &Tables,
    field: &Field,
    name: &str,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let key = match (field.kind, name) {
        (Kind::Bool, "true") => Value::Bool(true),
        (Kind::Bool, "false") => Value::Bool(false),
        _ => Value::from(name),
    };
    write_content(tables, field, &key, 1, out)
}

/// Writes one value of a field without its tag.
fn write_content(
    tables: &Tables,
    field: &Field,
    value: &Value,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match field.kind {
        Kind::Message(message) => {
            write_framed(out, |out| write_message(tables, message, value, depth - 1, out))
        }
        Kind::Group(message) => {
            write_message(tables, message, value, depth - 1, out)?;
            write_tag(field.number, WireType::EndGroup, out);
            Ok(())
        }
        kind => write_scalar(tables, kind, value, out),
    }
}

pub(super) fn write_scalar(
    tables: &Tables,
    kind: Kind,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match kind {
        Kind::Double => out.extend_from_slice(&double(value)?.to_le_bytes()),
        Kind::Float => {
            let wide = double(value)?;
            let narrow = wide as f32;
            if wide.is_finite() && narrow.is_infinite() {
                return Err(EncodeError::new("number too large for a 32-bit float"));
            }
            out.extend_from_slice(&narrow.to_le_bytes());
        }
        Kind::Int32 => write_varint(i64::from(signed_32(value)?).cast_unsigned(), out),
        Kind::Sint32 => write_varint(zigzag(i64::from(signed_32(value)?)), out),
        Kind::Sfixed32 => out.extend_from_slice(&signed_32(value)?.to_le_bytes()),
        Kind::Int64 => write_varint(signed_64(value)?.cast_unsigned(), out),
        Kind::Sint64 => write_varint(zigzag(signed_64(value)?), out),
        Kind::Sfixed64 => out.extend_from_slice(&signed_64(value)?.to_le_bytes()),
        Kind::Uint32 => write_varint(u64::from(unsigned_32(value)?), out),
        Kind::Fixed32 => out.extend_from_slice(&unsigned_32(value)?.to_le_bytes()),
        Kind::Uint64 => write_varint(unsigned_64(value)?, out),
        Kind::Fixed64 => out.extend_from_slice(&unsigned_64(value)?.to_le_bytes()),
        Kind::Bool => match value {
            Value::Bool(value) => out.push(u8::from(*value)),
            _ => return Err(EncodeError::new("true or false is needed")),
        },
        Kind::Enum(at) => {
            let number = enum_number(tables, at, value)?;
            write_varint(i64::from(number).cast_unsigned(), out);
        }
        Kind::String => match value {
            Value::String(text) => write_bytes(text.as_bytes(), out),
            _ => return Err(EncodeError::new("text is needed")),
        },
        Kind::Bytes => {
            let bytes = value.as_str().and_then(scalar::from_base64);
            write_bytes(&bytes.ok_or_else(|| EncodeError::new("base64 text is needed"))?, out);
        }
        Kind::Message(_) | Kind::Group(_) => {
            return Err(EncodeError::new("message where a scalar belongs"));
        }
    }
    Ok(())
}

fn enum_number(tables: &Tables, at: usize, value: &Value) -> Result<i32, EncodeError> {
    let table = &tables.enums[at];
    match value {
        Value::Null if table.is_null => Ok(0),
        Value::String(name) => table
            .numbers
            .get(name.as_str())
            .copied()
            .ok_or_else(|| EncodeError::new(format!("no enum value is named `{name}`"))),
        Value::Number(number) => number
            .as_i64()
            .and_then(|number| i32::try_from(number).ok())
            .ok_or_else(|| EncodeError::new("enum number out of range")),
        _ => Err(EncodeError::new("name or number of an enum value is needed")),
    }
}

/// A float; the three that are no numbers come as text.
fn double(value: &Value) -> Result<f64, EncodeError> {
    match value {
        Value::Number(number) => Ok(number.as_f64()),
        Value::String(text) => match text.as_str() {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            text => text
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite())
                .ok_or_else(|| EncodeError::new("a number is needed")),
        },
        _ => Err(EncodeError::new("a number is needed")),
    }
}

fn signed_64(value: &Value) -> Result<i64, EncodeError> {
    let number = match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| EncodeError::new("a whole number in range is needed"))
}

fn unsigned_64(value: &Value) -> Result<u64, EncodeError> {
    let number = match value {
        Value::Number(Number::Source(text)) => {
            text.parse().ok().or_else(|| u64::try_from(signed_64(value).ok()?).ok())
        }
        Value::String(text) => text.parse().ok(),
        _ => u64::try_from(signed_64(value)?).ok(),
    };
    number.ok_or_else(|| EncodeError::new("a whole number in range is needed"))
}

fn signed_32(value: &Value) -> Result<i32, EncodeError> {
    i32::try_from(signed_64(value)?)
        .map_err(|_| EncodeError::new("a whole number in range is needed"))
}

fn unsigned_32(value: &Value) -> Result<u32, EncodeError> {
    u32::try_from(unsigned_64(value)?)
        .map_err(|_| EncodeError::new("a whole number in range is needed"))
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

pub(super) fn write_tag(number: u32, wire_type: WireType, out: &mut Vec<u8>) {
    let wire_type = match wire_type {
        WireType::Varint => 0,
        WireType::Fixed64 => 1,
        WireType::Length => 2,
        WireType::StartGroup => 3,
        WireType::EndGroup => 4,
        WireType::Fixed32 => 5,
    };
    write_varint(u64::from(number) << 3 | wire_type, out);
}

pub(super) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Writes what `write` writes, with its length in front.
pub(super) fn write_framed(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = out.len();
    // One byte is the length of most messages; longer ones are moved up.
    out.push(0);
    write(out)?;
    let length = out.len() - start - 1;
    if length < 0x80 {
        out[start] = length as u8;
        return Ok(());
    }
    let mut frame = Vec::with_capacity(5);
    write_varint(length as u64, &mut frame);
    out.splice(start..=start, frame);
    Ok(())
}
