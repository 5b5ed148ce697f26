//! Loose equality, `==` of filters and joins (VAL-7 to VAL-11), and its normal form for hashing.
//!
//! In: two values, or one to look up by. [`loosely_equals`] follows the table of the specification
//! (VAL-7 and on); a [`LooseValue`] hashes so that equal ones are found by it, and a join needs one
//! table instead of all pairs. Loose equality is not transitive (`"1"` and `"1.0"` both equal the
//! number 1, not each other), hence what hashes alike still has to be compared.

use std::{
    borrow::Cow,
    hash::{Hash, Hasher},
};

use super::{Text, Value, strict::Exact};

/// The most bytes of text that an array is written out to for a comparison. A few arrays that
/// contain each other several times over would be larger than any memory; they are cut soon after
/// this, and then equal nothing that a script could have written.
const ARRAY_TEXT_BYTES_MAX: usize = 1 << 20;

/// The text of every object where text is needed.
const OBJECT_TEXT: &str = "[object Object]";

/// Whether `a == b`.
pub fn loosely_equals(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a == b,
        _ if a.is_structure() && b.is_structure() => false,
        _ => LooseValue::of(a) == LooseValue::of(b),
    }
}

/// A value under loose equality, borrowed from where it stands.
///
/// Two of them are equal as [`loosely_equals`] finds their values. The hash is that of a normal form:
/// what is equal has the same, but what has the same need not be equal.
#[derive(Debug, Clone)]
pub struct LooseValue<'t> {
    /// The number that it is or stands for.
    number: Option<Exact>,
    /// The text if it is one, or becomes one; a number and nothing have none.
    text: Option<Cow<'t, str>>,
    /// An array or an object, which equals no other.
    is_structure: bool,
}

impl<'t> LooseValue<'t> {
    /// Any value.
    pub fn of(value: &'t Value) -> Self {
        match value {
            Value::Absent | Value::Null => Self::nothing(),
            Value::Bool(value) => Self::of_bool(*value),
            Value::Number(number) => {
                Self { number: Some(number.exact()), text: None, is_structure: false }
            }
            Value::String(text) => Self::of_text(Cow::Borrowed(text)),
            Value::Array(_) | Value::Object(_) | Value::Raw(_) => {
                let text = Cow::Owned(text_of(value).to_string());
                Self { is_structure: true, ..Self::of_text(text) }
            }
        }
    }

    /// Null or absent.
    pub fn nothing() -> Self {
        Self { number: None, text: None, is_structure: false }
    }

    /// A boolean.
    pub fn of_bool(value: bool) -> Self {
        Self { number: Some(Exact::Whole(i64::from(value))), text: None, is_structure: false }
    }

    /// A number as valid JSON text.
    pub fn of_number(text: &str) -> Self {
        // Valid text always is one.
        let number = Exact::of_decimal(text).unwrap_or(Exact::Whole(0));
        Self { number: Some(number), text: None, is_structure: false }
    }

    /// Text.
    pub fn of_text(text: Cow<'t, str>) -> Self {
        Self { number: number_of_text(&text), text: Some(text), is_structure: false }
    }

    /// The same without ties to where it stands.
    pub fn into_owned(self) -> LooseValue<'static> {
        let text = self.text.map(|text| Cow::Owned(text.into_owned()));
        LooseValue { number: self.number, text, is_structure: self.is_structure }
    }

    /// An object: all have the same text.
    pub fn of_object() -> Self {
        Self { number: None, text: Some(Cow::Borrowed(OBJECT_TEXT)), is_structure: true }
    }
}

impl PartialEq for LooseValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.text, &other.text) {
            (Some(own), Some(other_text)) => {
                own == other_text && !(self.is_structure && other.is_structure)
            }
            _ => match (self.number, other.number) {
                (Some(own), Some(other)) => own == other,
                (None, None) => self.text.is_none() && other.text.is_none(),
                _ => false,
            },
        }
    }
}

/// Of the normal form: what is equal hashes alike.
impl Hash for LooseValue<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match (&self.number, &self.text) {
            (Some(number), _) => number.hash(state),
            (None, Some(text)) => text.hash(state),
            (None, None) => {}
        }
    }
}

/// The text of a value as JavaScript's `String` gives it: elements joined by `,` (nothing for null
/// and absent), `[object Object]`; null and absent themselves are `null` and `undefined`. The text of
/// an array ends soon after 1 MiB.
pub fn text_of(value: &Value) -> Text {
    match value {
        Value::Absent => Text::from_static("undefined"),
        Value::Null => Text::from_static("null"),
        Value::Array(_) | Value::Raw(_) if value.is_array() => joined(value).into(),
        Value::Array(_) | Value::Object(_) | Value::Raw(_) => Text::from_static(OBJECT_TEXT),
        scalar => scalar.scalar_text().unwrap_or_default(),
    }
}

/// The elements of an array joined by `,`, arrays in it likewise, whatever the depth.
fn joined(array: &Value) -> String {
    let mut text = String::new();
    let mut open = vec![(elements(array), 0)];
    while let Some((array, at)) = open.last_mut() {
        let Some(element) = array.get(*at) else {
            open.pop();
            continue;
        };
        if text.len() > ARRAY_TEXT_BYTES_MAX {
            break;
        }
        if *at > 0 {
            text.push(',');
        }
        *at += 1;
        if element.is_array() {
            let inner = element.clone();
            open.push((elements(&inner), 0));
        } else if !element.is_nothing() {
            text.push_str(&text_of(element));
        }
    }
    text
}

/// The elements as a value of their own (shared, not copied, unless raw).
fn elements(array: &Value) -> std::sync::Arc<Vec<Value>> {
    match array.open() {
        Cow::Borrowed(Value::Array(elements)) => elements.clone(),
        Cow::Owned(Value::Array(elements)) => elements,
        _ => std::sync::Arc::default(),
    }
}

/// The number that a text stands for in a comparison with a number: trimmed; empty is 0; decimal
/// with fraction and exponent, `Infinity`, or hexadecimal `0x…`. `None` for all other text.
fn number_of_text(text: &str) -> Option<Exact> {
    let text = text.trim_matches(is_javascript_blank);
    if text.is_empty() {
        return Some(Exact::Whole(0));
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return hexadecimal(digits);
    }
    match text {
        "Infinity" | "+Infinity" => Some(Exact::of_float(f64::INFINITY)),
        "-Infinity" => Some(Exact::of_float(f64::NEG_INFINITY)),
        // Rust reads the same decimals as JavaScript, and in addition some words.
        _ if text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) =>
        {
            Exact::of_decimal(text)
        }
        _ => None,
    }
}

fn hexadecimal(digits: &str) -> Option<Exact> {
    // 30 digits are 120 bits, far more than a float keeps; what follows only matters for rounding.
    const KEPT: usize = 30;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(Exact::Whole(0));
    }
    let (kept, rest) = digits.split_at_checked(KEPT).unwrap_or((digits, ""));
    let mut head = u128::from_str_radix(kept, 16).ok()?;
    if let Some(whole) = Exact::of_whole(head)
        && rest.is_empty()
    {
        return Some(whole);
    }
    head |= u128::from(rest.bytes().any(|digit| digit != b'0'));
    let exponent = i32::try_from(rest.len()).unwrap_or(i32::MAX).saturating_mul(4);
    #[expect(clippy::cast_precision_loss, reason = "JavaScript rounds here, too")]
    let value = head as f64 * 2.0_f64.powi(exponent);
    Some(Exact::of_float(value))
}

/// White space and line ends as ECMA-262 trims them; unlike Unicode's property this has the byte
/// order mark and lacks U+0085.
pub(crate) fn is_javascript_blank(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use super::*;
    use crate::codec::json;

    fn value(text: &str) -> Value {
        if text == "absent" { Value::Absent } else { json::parse_str(text).unwrap() }
    }

    fn are_equal(a: &str, b: &str) -> bool {
        let (a, b) = (value(a), value(b));
        let answers = [
            loosely_equals(&a, &b),
            loosely_equals(&b, &a),
            loosely_equals(&a.into_tree(), &b),
            loosely_equals(&a, &b.into_tree()),
        ];
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{a:?} {b:?}");
        if answers[0] {
            let hash = |value| {
                BuildHasherDefault::<DefaultHasher>::default().hash_one(LooseValue::of(value))
            };
            assert_eq!(hash(&a), hash(&b), "{a:?} {b:?}");
        }
        answers[0]
    }

    #[test]
    fn the_table_of_loose_equality_holds() {
        for (a, b) in [
            ("null", "absent"),
            ("null", "null"),
            ("1", "1.0"),
            ("1", "\"1\""),
            ("1", "\" 1.0\\n\""),
            ("100", "\"1e2\""),
            ("0.5", "\".5\""),
            ("5", "\"5.\""),
            ("5", "\"+5\""),
            ("255", "\"0xFf\""),
            ("0", "\"\""),
            ("0", "\"\\ufeff\\u00a0\\u2028 \""),
            ("0", "-0"),
            ("true", "1"),
            ("true", "\"1\""),
            ("false", "\"\""),
            ("false", "\" 0 \""),
            ("false", "[]"),
            ("false", "[[]]"),
            ("false", "[null]"),
            ("1", "[1]"),
            ("1", "[[\"1\"]]"),
            ("\"1,2\"", "[1,2]"),
            ("\"1,2,,3,true\"", "[1,[2,[null,3]],true]"),
            ("\"[object Object]\"", "{\"a\":1}"),
            ("\"[object Object],x\"", "[{},\"x\"]"),
            ("\"1.5\"", "[1.50]"),
            ("1e400", "\"Infinity\""),
            ("9007199254740993", "\"9007199254740993\""),
            ("1e18", "1000000000000000000"),
            ("18446744073709551615", "\"18446744073709551615\""),
            ("18446744073709551615", "\"0xffffffffffffffff\""),
            ("1e19", "10000000000000000000"),
            ("18446744073709551616", "18446744073709551617"),
        ] {
            assert!(are_equal(a, b), "{a} == {b}");
        }
        for (a, b) in [
            ("null", "0"),
            ("null", "\"\""),
            ("null", "false"),
            ("null", "[]"),
            ("absent", "[null]"),
            ("\"1\"", "\"1.0\""),
            ("\"a\"", "\"A\""),
            ("1", "\"1 2\""),
            ("1", "\"one\""),
            ("1", "\"1_0\""),
            ("16", "\"-0x10\""),
            ("3", "\"0b11\""),
            ("0", "\".\""),
            ("0", "\"e\""),
            ("0", "\"0x\""),
            ("0", "\"nan\""),
            ("1e400", "\"inf\""),
            ("0", "\"\\u0085\""),
            ("true", "\"true\""),
            ("true", "2"),
            ("[1]", "[1]"),
            ("{}", "{}"),
            ("[]", "{}"),
            ("1", "[1,2]"),
            ("9007199254740993", "\"9007199254740992\""),
            ("9007199254740993", "9007199254740992"),
            ("1.7976931348623157e308", "\"Infinity\""),
        ] {
            assert!(!are_equal(a, b), "{a} != {b}");
        }
    }

    #[test]
    fn long_hexadecimal_text_rounds_as_javascript_rounds() {
        let huge = format!("\"0x{}\"", "f".repeat(40));
        assert!(are_equal(&huge, "1461501637330902918203684832716283019655932542976"));
        assert!(are_equal("9223372036854775807", "\"0x7fffffffffffffff\""));
        assert!(are_equal(&format!("\"0x1{}\"", "0".repeat(300)), "1e999"));
    }

    #[test]
    fn an_array_that_would_be_huge_as_text_is_cut() {
        let mut array = Value::array(vec![Value::int(1)]);
        for _ in 0..100 {
            array = Value::array(vec![array.clone(), array]);
        }
        assert!(!loosely_equals(&array, &Value::from("1,1")));
    }

    #[test]
    fn arrays_of_any_depth_have_a_text() {
        let mut deep = Value::int(7);
        for _ in 0..2_000 {
            deep = Value::array(vec![deep]);
        }
        assert!(loosely_equals(&deep, &Value::int(7)));
    }
}
