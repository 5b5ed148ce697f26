//! Bodies of the type `text/*`: JSON, else XML, else the text itself (FMT-10).
//!
//! In: a body that says no more than "text". Out: a value, whatever it may be. Text that starts like
//! JSON or XML and is neither is the error of the one it starts like; any other text is a value by
//! itself. Callers have dealt with empty bodies before.

use super::{DecodeError, DecodeLimits, json, xml};
use crate::{Text, Value, projection::Projection};

/// Decodes a body that is JSON, XML or plain text.
pub fn decode(
    text: &Text,
    projection: &Projection,
    options: &xml::XmlOptions,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    let is_markup = match text.trim_start().as_bytes().first() {
        Some(b'<') => true,
        Some(b'{' | b'[') => false,
        // A lone scalar may still be JSON; nothing else here can be XML.
        _ => {
            let scalar = json::decode(text.clone().into_bytes(), projection, limits);
            let is_too_large = text.len() > limits.decoded_bytes_max;
            return scalar.or_else(|error| {
                if is_too_large { Err(error) } else { Ok(Value::String(text.clone())) }
            });
        }
    };
    if is_markup {
        xml::decode_text(text, projection, options, limits)
    } else {
        json::decode(text.clone().into_bytes(), projection, limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let options = xml::XmlOptions::default();
        match decode(&text.into(), &Projection::All, &options, &DecodeLimits::default()) {
            Ok(value) => json::to_string(&value),
            Err(error) => format!("{}: {error}", error.format),
        }
    }

    #[test]
    fn text_is_what_it_looks_like() {
        for (text, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (" [1]", "[1]"),
            ("<a>1</a>", r#"{"a":1}"#),
            ("low tide", r#""low tide""#),
            ("OK", r#""OK""#),
            ("12", "12"),
            ("null", "null"),
            (" \"x\" ", r#""x""#),
            ("\"x", r#""\"x""#),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn the_first_character_chooses_the_error() {
        assert!(told(r#"{"a""#).starts_with("JSON: "));
        assert!(told("[").starts_with("JSON: "));
        assert!(told(" <p>").starts_with("XML: There are errors in your xml file: "));
    }
}
