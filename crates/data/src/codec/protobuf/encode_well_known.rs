//! Message types with a JSON form of their own: writing.

use super::{
    encode::{
        EncodeError, write_bytes, write_fields, write_framed, write_message, write_scalar,
        write_tag, write_varint,
    },
    tables::{Tables, WellKnown, snake_case},
    well_known::DURATION_SECONDS_MAX,
    wire::WireType,
};
use crate::{Object, Text, Value, codec::timestamp};

/// Writes the content of a well-known message from its JSON form.
pub(super) fn write(
    tables: &Tables,
    kind: WellKnown,
    message: usize,
    value: &Value,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match kind {
        WellKnown::Timestamp => {
            let moment = value.as_str().and_then(timestamp::read);
            let (seconds, nanos) =
                moment.ok_or_else(|| EncodeError::new("RFC 3339 text is needed"))?;
            write_moment(seconds, i64::from(nanos), out);
            Ok(())
        }
        WellKnown::Duration => {
            let duration = value.as_str().and_then(read_duration);
            let (seconds, nanos) =
                duration.ok_or_else(|| EncodeError::new("seconds like `1.5s` are needed"))?;
            write_moment(seconds, nanos, out);
            Ok(())
        }
        WellKnown::Wrapper => {
            let Some(field) = tables.messages[message].fields.first() else { return Ok(()) };
            write_tag(field.number, field.kind.wire_type(), out);
            write_scalar(tables, field.kind, value, out)
        }
        WellKnown::Struct => match value {
            Value::Object(_) => write_member(tables, message, "fields", value, depth, out),
            _ => Err(EncodeError::new("an object is needed")),
        },
        WellKnown::List => match value {
            Value::Array(_) => write_member(tables, message, "values", value, depth, out),
            _ => Err(EncodeError::new("an array is needed")),
        },
        WellKnown::Value => {
            let name = match value {
                Value::Absent | Value::Null => "nullValue",
                Value::Bool(_) => "boolValue",
                Value::Number(_) => "numberValue",
                Value::String(_) => "stringValue",
                Value::Object(_) => "structValue",
                Value::Array(_) | Value::Raw(_) => "listValue",
            };
            let value = if value.is_absent() { &Value::Null } else { value };
            write_member(tables, message, name, value, depth, out)
        }
        WellKnown::FieldMask => {
            let Some(text) = value.as_str() else {
                return Err(EncodeError::new("field names separated by commas are needed"));
            };
            for path in text.split(',').filter(|path| !path.is_empty()) {
                let path = snake_case(path)
                    .ok_or_else(|| EncodeError::new(format!("`{path}` is no field name")))?;
                write_tag(1, WireType::Length, out);
                write_bytes(path.as_bytes(), out);
            }
            Ok(())
        }
        WellKnown::Any => write_any(tables, value, depth, out),
    }
}

fn write_member(
    tables: &Tables,
    message: usize,
    name: &'static str,
    value: &Value,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let object = Object::from_iter([(Text::from_static(name), value.clone())]);
    write_fields(tables, message, &object, depth, out)
}

fn write_moment(seconds: i64, nanos: i64, out: &mut Vec<u8>) {
    for (number, value) in [(1, seconds), (2, nanos)] {
        if value != 0 {
            write_tag(number, WireType::Varint, out);
            write_varint(value.cast_unsigned(), out);
        }
    }
}

fn read_duration(text: &str) -> Option<(i64, i64)> {
    let number = text.strip_suffix('s')?;
    let (is_negative, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number),
    };
    let (whole, nanos) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, i64::from(timestamp::read_decimals(fraction)?)),
        None => (digits, 0),
    };
    if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds: i64 = whole.parse().ok().filter(|seconds| *seconds <= DURATION_SECONDS_MAX)?;
    Some(if is_negative { (-seconds, -nanos) } else { (seconds, nanos) })
}

fn write_any(
    tables: &Tables,
    value: &Value,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let Value::Object(object) = value else {
        return Err(EncodeError::new("an object with `@type` is needed"));
    };
    if object.is_empty() {
        return Ok(());
    }
    let Some(url) = object.get("@type").and_then(Value::as_str) else {
        return Err(EncodeError::new("an object with `@type` is needed"));
    };
    let name = url.rsplit('/').next().unwrap_or_default();
    let Some(message) = tables.message_names.get(name).copied() else {
        return Err(EncodeError::new(format!("the schema has no message `{name}`")));
    };
    let table = &tables.messages[message];
    let is_special = table.well_known.is_some() || table.full_name == "google.protobuf.Empty";
    write_tag(1, WireType::Length, out);
    write_bytes(url.as_bytes(), out);
    write_tag(2, WireType::Length, out);
    write_framed(out, |out| {
        if is_special {
            let inner = object.get("value").cloned().unwrap_or_default();
            return write_message(tables, message, &inner, depth - 1, out);
        }
        let mut members = (**object).clone();
        members.remove("@type");
        write_message(tables, message, &Value::object(members), depth - 1, out)
    })
}
