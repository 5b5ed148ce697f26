//! The head of an HTTP request as a message format (`docs/reference/bench.md`): a request line, lines of
//! `Name: value`, a blank line. Nothing is converted; all values are texts.

use qlio_data::{Object, Value};

use super::CodecError;

const LINE_END: &str = "\r\n";

/// Members that stand in the request line.
const REQUEST_LINE: [&str; 3] = ["request", "resource", "version"];

/// Appends a flat message: the three members of the request line, all others as header lines.
///
/// # Errors
/// A member is no text, or has a line end in it.
pub(super) fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let Value::Object(members) = value else {
        return Err(CodecError::NoObject("an HTTP head"));
    };
    let text = |name: &str| match members.get(name).and_then(Value::as_str) {
        Some(text) if !text.contains([' ', '\r', '\n']) => Ok(text),
        _ => Err(CodecError::RequestPart(name.to_owned())),
    };
    for part in [text("request")?, " ", text("resource")?, " HTTP/", text("version")?, LINE_END] {
        out.extend_from_slice(part.as_bytes());
    }
    for (name, value) in members.iter().filter(|(name, _)| !REQUEST_LINE.contains(&name.as_str())) {
        match value.as_str() {
            Some(text) if !text.contains(['\r', '\n']) => {
                for part in [name.as_str(), ": ", text, LINE_END] {
                    out.extend_from_slice(part.as_bytes());
                }
            }
            _ => return Err(CodecError::NoLine(name.to_string())),
        }
    }
    out.extend_from_slice(LINE_END.as_bytes());
    Ok(())
}

/// Where a message ends: behind the first blank line.
pub(super) fn end(stream: &[u8]) -> Result<usize, CodecError> {
    let found = stream.windows(4).position(|four| four == b"\r\n\r\n");
    found.map(|at| at + 4).ok_or_else(|| CodecError::CutOff("an HTTP head".to_owned()))
}

/// Reads a message: split at line ends, the first line at blanks, others at `": "`; lines with another
/// number of parts are skipped.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, CodecError> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| CodecError::NotUtf8("the head".to_owned()))?;
    let mut lines = text.split(LINE_END);
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (Some(request), Some(resource), Some(version), None) =
        (first.next(), first.next(), first.next(), first.next())
    else {
        return Err(CodecError::NoRequestLine);
    };
    let version = version.strip_prefix("HTTP/").ok_or(CodecError::NoVersion)?;
    let mut members = Object::with_capacity(6);
    for (name, text) in REQUEST_LINE.into_iter().zip([request, resource, version]) {
        members.insert(qlio_data::Text::from_static(name), Value::string(text));
    }
    for line in lines {
        let mut parts = line.split(": ");
        if let (Some(name), Some(text), None) = (parts.next(), parts.next(), parts.next()) {
            members.insert(name, Value::string(text));
        }
    }
    Ok(Value::object(members))
}
