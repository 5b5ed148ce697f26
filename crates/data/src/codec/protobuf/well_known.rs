//! Message types with a JSON form of their own: reading.

use super::{
    decode::{Part, Walker},
    plan::ALL,
    scalar,
    tables::{Kind, Tables, WellKnown, camel_case},
    wire::{Fault, WireType},
};
use crate::{Object, Text, Value, codec::timestamp};

/// Seconds that a duration has at most: 10,000 years.
pub(super) const DURATION_SECONDS_MAX: i64 = 315_576_000_000;

/// Reads a well-known message in its JSON form. These are taken whole, whatever the projection.
pub(super) fn decode(
    walker: &mut Walker<'_>,
    part: Part<'_>,
    kind: WellKnown,
    message: usize,
    depth: usize,
) -> Result<Value, Fault> {
    match kind {
        WellKnown::Timestamp | WellKnown::Duration => {
            let (seconds, nanos) = moment(part)?;
            let text = match kind {
                WellKnown::Timestamp => {
                    u32::try_from(nanos).ok().and_then(|nanos| timestamp::print(seconds, nanos))
                }
                _ => print_duration(seconds, nanos),
            };
            let reader = part.reader();
            let text = text.ok_or_else(|| reader.fault("moment or duration out of range"))?;
            walker.write(&reader, text.len())?;
            Ok(Value::string(text))
        }
        WellKnown::Wrapper => {
            let object = walker.plain_message(part, message, ALL, depth)?;
            let zero = || {
                let field = walker.tables.messages[message].fields.first()?;
                walker.tables.zero(field.kind, walker.options)
            };
            Ok(only_member(&object).or_else(zero).unwrap_or(Value::Null))
        }
        WellKnown::Struct => {
            let object = walker.plain_message(part, message, ALL, depth)?;
            Ok(only_member(&object).unwrap_or_else(|| Value::object(Object::new())))
        }
        WellKnown::List => {
            let object = walker.plain_message(part, message, ALL, depth)?;
            Ok(only_member(&object).unwrap_or_else(|| Value::array(Vec::new())))
        }
        WellKnown::Value => {
            let object = walker.plain_message(part, message, ALL, depth)?;
            Ok(only_member(&object).unwrap_or(Value::Null))
        }
        WellKnown::FieldMask => {
            let object = walker.plain_message(part, message, ALL, depth)?;
            let paths: Vec<String> = match only_member(&object) {
                Some(Value::Array(paths)) => {
                    paths.iter().filter_map(Value::as_str).map(camel_case).collect()
                }
                _ => Vec::new(),
            };
            let text = paths.join(",");
            walker.write(&part.reader(), text.len())?;
            Ok(Value::string(text))
        }
        WellKnown::Any => any(walker, part, depth),
    }
}

fn only_member(object: &Object) -> Option<Value> {
    object.at(0).map(|(_, value)| value.clone())
}

/// Fields 1 and 2 of a timestamp or duration.
fn moment(part: Part<'_>) -> Result<(i64, i32), Fault> {
    let mut reader = part.reader();
    let (mut seconds, mut nanos) = (0, 0);
    while !reader.is_done() {
        match reader.tag()? {
            (1, WireType::Varint) => seconds = reader.varint()?.cast_signed(),
            (2, WireType::Varint) => nanos = (reader.varint()? as u32).cast_signed(),
            (number, wire_type) => reader.skip(number, wire_type)?,
        }
    }
    Ok((seconds, nanos))
}

fn print_duration(seconds: i64, nanos: i32) -> Option<String> {
    let is_valid = seconds.abs() <= DURATION_SECONDS_MAX
        && nanos.unsigned_abs() < 1_000_000_000
        && (seconds == 0 || nanos == 0 || (seconds < 0) == (nanos < 0));
    let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
    let decimals = timestamp::decimals(nanos.unsigned_abs());
    is_valid.then(|| format!("{sign}{}{decimals}s", seconds.unsigned_abs()))
}

/// A message that names its own type. One of a type that the schema does not have keeps its bytes,
/// as base64 in `value`.
fn any(walker: &mut Walker<'_>, part: Part<'_>, depth: usize) -> Result<Value, Fault> {
    let mut reader = part.reader();
    let mut url = Text::default();
    let mut content = (part.start, part.start);
    while !reader.is_done() {
        match reader.tag()? {
            (1, WireType::Length) => {
                let (start, end) = reader.take_delimited()?;
                url = Text::from_utf8(reader.source.bytes.slice(start..end))
                    .map_err(|_| reader.fault_at(start, "text is not UTF-8"))?;
            }
            (2, WireType::Length) => content = reader.take_delimited()?,
            (number, wire_type) => reader.skip(number, wire_type)?,
        }
    }
    if url.is_empty() && content.0 == content.1 {
        return Ok(Value::object(Object::new()));
    }
    let name = url.rsplit('/').next().unwrap_or_default();
    let message = walker.tables.message_names.get(name).copied();
    let mut object = Object::new();
    object.insert(Text::from_static("@type"), Value::String(url.clone()));
    let inner = Part { start: content.0, end: content.1, ..part };
    let Some(message) = message else {
        let text = scalar::to_base64(&inner.source.bytes[inner.start..inner.end]);
        walker.write(&reader, text.len())?;
        object.insert(Text::from_static("value"), Value::string(text));
        return Ok(Value::object(object));
    };
    let table = &walker.tables.messages[message];
    let value = walker.message(inner, message, ALL, depth - 1)?;
    // Types with a JSON form of their own stand in a member, as does an empty message's nothing.
    let is_special = table.well_known.is_some() || table.full_name == "google.protobuf.Empty";
    match value {
        Value::Object(members) if !is_special => {
            for (name, value) in members.iter() {
                object.insert(name.clone(), value.clone());
            }
        }
        value => {
            object.insert(Text::from_static("value"), value);
        }
    }
    Ok(Value::object(object))
}

/// Whether null is a value of this kind and not just "unset".
pub(super) fn takes_null(kind: Kind, tables: &Tables) -> bool {
    match kind {
        Kind::Message(message) => tables.messages[message].well_known == Some(WellKnown::Value),
        Kind::Enum(at) => tables.enums[at].is_null,
        _ => false,
    }
}
