//! From XML text to a scalar, or to its JSON text: the three modes of FMT-17.
//!
//! In: the trimmed text of an element, or the text of an attribute as it stands. Out: a number, a
//! boolean or the text. `Safe` promises that nothing is lost: what it makes a number prints as the
//! same text again.

use std::ops::Range;

use crate::{
    Number, Text, Value,
    codec::{charset::is_white_space, json},
};

/// How far text of a document becomes numbers and booleans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coerce {
    /// A number only if printing it gives back the same text; `true` and `false` only.
    #[default]
    Safe,
    /// As ql.io 0.8 did: whatever JavaScript reads as a number (blank text is 0), and `true`,
    /// `yes`, `false`, `no` in any case. Infinite numbers stay text, JSON cannot hold them.
    Original,
    /// Never; everything stays text.
    None,
}

/// Numbers of up to this many digits survive the way through a 64-bit float unchanged.
pub(super) const EXACT_DIGITS: usize = 15;
/// No number prints longer than this, so longer text need not be tried.
const PRINTED_BYTES_MAX: usize = 32;

/// The meaning of a text.
enum Meaning {
    Text,
    Bool(bool),
    /// The whole number of these digits.
    Digits,
    /// The number whose JSON text this is.
    Decimal,
    Number(Number),
}

fn meaning(text: &str, mode: Coerce) -> Meaning {
    match mode {
        Coerce::Safe => safe(text),
        Coerce::Original => original(text),
        Coerce::None => Meaning::Text,
    }
}

/// The scalar that `text` means.
pub(super) fn coerce(text: Text, mode: Coerce) -> Value {
    match meaning(&text, mode) {
        Meaning::Text => Value::String(text),
        Meaning::Bool(value) => Value::Bool(value),
        Meaning::Digits => match text.parse() {
            Ok(value) => Value::int(value),
            Err(_) => Value::String(text),
        },
        Meaning::Decimal => Value::Number(Number::Source(text)),
        Meaning::Number(number) => Value::Number(number),
    }
}

/// Appends the JSON text of the scalar that `source[part]` means. False if that text, read again, is
/// not equal to the scalar.
#[inline]
pub(super) fn write(source: &str, part: Range<usize>, mode: Coerce, out: &mut Vec<u8>) -> bool {
    let text = &source[part.clone()];
    match meaning(text, mode) {
        Meaning::Text => json::write_part(source.as_bytes(), part, out),
        Meaning::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Meaning::Digits | Meaning::Decimal => out.extend_from_slice(text.as_bytes()),
        Meaning::Number(number) => {
            json::write_number(&number, out);
            return match number {
                Number::Float(value) => json::is_read_back(value),
                Number::Int(_) | Number::Source(_) => true,
            };
        }
    }
    true
}

/// Takes blanks off both ends.
pub(super) fn trim(text: &str) -> &str {
    match text.as_bytes() {
        // Nearly all text starts and ends with a visible ASCII character.
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => text,
        _ => text.trim_matches(is_white_space),
    }
}

fn safe(text: &str) -> Meaning {
    match text.as_bytes() {
        [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..] => safe_number(text),
        b"true" => Meaning::Bool(true),
        b"false" => Meaning::Bool(false),
        _ => Meaning::Text,
    }
}

fn safe_number(text: &str) -> Meaning {
    let bytes = text.as_bytes();
    if bytes.len() > PRINTED_BYTES_MAX {
        return Meaning::Text;
    }
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if digits.len() <= EXACT_DIGITS && digits.iter().all(u8::is_ascii_digit) {
        let has_canonical_start = digits[0] != b'0' || bytes == b"0";
        return if has_canonical_start { Meaning::Digits } else { Meaning::Text };
    }
    if is_short_decimal(digits) {
        // A float keeps this many digits, so only the way they are written can be lost.
        return if is_canonical_decimal(digits) { Meaning::Decimal } else { Meaning::Text };
    }
    if !bytes.iter().all(|byte| byte.is_ascii_digit() || b"+-.e".contains(byte)) {
        return Meaning::Text;
    }
    match text.parse().ok().filter(|value: &f64| value.is_finite()).map(Number::Float) {
        Some(number) if number.to_shortest() == text => Meaning::Number(number),
        _ => Meaning::Text,
    }
}

/// Whether this has no more than 15 digits, a decimal point and nothing else.
fn is_short_decimal(digits: &[u8]) -> bool {
    digits.len() <= EXACT_DIGITS + 1
        && memchr::memchr(b'.', digits).is_some()
        && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// Whether this is `12.34` in the one form that a float of this value prints as.
fn is_canonical_decimal(digits: &[u8]) -> bool {
    let Some(point) = memchr::memchr(b'.', digits) else {
        return false;
    };
    let (whole, fraction) = (&digits[..point], &digits[point + 1..]);
    let is_canonical_whole = match whole {
        // `0.0000001` prints with an exponent; five zeros after the point do not.
        [b'0'] => fraction.iter().take_while(|digit| **digit == b'0').count() <= 5,
        [b'1'..=b'9', ..] => true,
        _ => false,
    };
    is_canonical_whole
        && fraction.last().is_some_and(|last| *last != b'0')
        && whole.iter().chain(fraction).all(u8::is_ascii_digit)
}

fn original(text: &str) -> Meaning {
    let is_one_of = |words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match javascript_number(trim(text)) {
        Some(value) if value.is_finite() => Meaning::Number(whole_or_float(value)),
        None if is_one_of(["true", "yes"]) => Meaning::Bool(true),
        None if is_one_of(["false", "no"]) => Meaning::Bool(false),
        _ => Meaning::Text,
    }
}

fn whole_or_float(value: f64) -> Number {
    let number = Number::Float(value);
    number.as_i64().map_or(number, Number::Int)
}

/// `Number(text)` of ECMAScript 5 for trimmed text; `None` is not-a-number.
fn javascript_number(text: &str) -> Option<f64> {
    if text.is_empty() {
        return Some(0.0);
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return hexadecimal(digits);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "Infinity" {
        return Some(f64::INFINITY);
    }
    // Rust reads the same decimal forms, but also `inf` and `nan`.
    let is_decimal = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if is_decimal { text.parse().ok() } else { None }
}

fn hexadecimal(digits: &str) -> Option<f64> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for c in digits.chars() {
        value = value * 16.0 + f64::from(c.to_digit(16)?);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(text: &str, mode: Coerce) -> String {
        match coerce(text.into(), mode) {
            Value::String(text) => format!("{text:?}"),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.to_shortest(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn safe_coercion_loses_nothing() {
        for text in ["0", "5", "-5", "1.1", "4.6", "-0.5", "0.000001", "123456789012345", "1e+21"] {
            assert_eq!(told(text, Coerce::Safe), text);
        }
        for text in [
            "007",
            "1.10",
            "5.",
            ".5",
            "+5",
            "1e3",
            "-0",
            "0x1f",
            "",
            "  ",
            "yes",
            "NO",
            "TRUE",
            "1,000",
            "2020-01-01",
            "1.10.0",
            "NaN",
            "Infinity",
            "9007199254740993",
            "0.0000001",
            "1e400",
            "12345678901234567890123",
            "-",
            "1 2",
            "0.1000000000000000055",
        ] {
            assert_eq!(told(text, Coerce::Safe), format!("{text:?}"));
        }
        assert_eq!(told("true", Coerce::Safe), "true");
        assert_eq!(told("9007199254740992", Coerce::Safe), "9007199254740992");
        assert_eq!(told("0.30000000000000004", Coerce::Safe), "0.30000000000000004");
    }

    #[test]
    fn original_coercion_reads_what_javascript_reads() {
        for (text, expected) in [
            ("5.", "5"),
            (".5", "0.5"),
            ("+5", "5"),
            ("1e3", "1000"),
            ("0x1f", "31"),
            ("0X1F", "31"),
            ("007", "7"),
            ("1.10", "1.1"),
            ("-0", "0"),
            ("9007199254740993", "9007199254740992"),
            ("", "0"),
            (" \u{a0}", "0"),
            (" 5 ", "5"),
            ("Yes", "true"),
            ("NO", "false"),
            ("TRUE", "true"),
            ("on", "\"on\""),
            ("1,000", "\"1,000\""),
            ("1 2", "\"1 2\""),
            ("NaN", "\"NaN\""),
            ("null", "\"null\""),
            ("inf", "\"inf\""),
            ("-0x1", "\"-0x1\""),
            ("0x", "\"0x\""),
            ("0xg", "\"0xg\""),
            (".", "\".\""),
            ("1e", "\"1e\""),
            ("Infinity", "\"Infinity\""),
            ("1e999", "\"1e999\""),
            ("++1", "\"++1\""),
        ] {
            assert_eq!(told(text, Coerce::Original), expected, "{text}");
        }
    }

    #[test]
    fn without_coercion_text_stays() {
        assert_eq!(told("5", Coerce::None), "\"5\"");
        assert_eq!(told("true", Coerce::None), "\"true\"");
    }

    proptest! {
        #[test]
        fn what_safe_makes_a_number_prints_as_it_was(text in "-?[0-9]{0,18}(\\.[0-9]{0,18})?(e[+-]?[0-9]{1,3})?") {
            let value = coerce(text.as_str().into(), Coerce::Safe);
            let printed = value.scalar_text().unwrap();
            prop_assert_eq!(printed.as_str(), text.as_str());
        }

        #[test]
        fn safe_takes_what_a_float_prints(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            let text = Number::Float(value).to_shortest();
            prop_assert!(matches!(coerce(text.into(), Coerce::Safe), Value::Number(_)));
        }

        #[test]
        fn the_text_of_a_scalar_is_what_it_prints(
            text in "-?[0-9]{0,18}(\\.[0-9]{0,18})?(e[+-]?[0-9]{1,3})?|[ -~é\n]{0,20}|yes|true|NO|0x[0-9a-f]{0,17}",
        ) {
            for mode in [Coerce::Safe, Coerce::Original, Coerce::None] {
                let source = format!("<{text}>more and more and more");
                let mut out = Vec::new();
                let is_exact = write(&source, 1..1 + text.len(), mode, &mut out);
                let value = coerce(text.as_str().into(), mode);
                let written = String::from_utf8(out).unwrap();
                prop_assert_eq!(&written, &json::to_string(&value));
                let read = json::parse_str(&format!("[{written}]")).unwrap().element(0);
                prop_assert_eq!(read == value, is_exact);
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,20}") {
            coerce(text.as_str().into(), Coerce::Safe);
            coerce(text.as_str().into(), Coerce::Original);
        }
    }
}
