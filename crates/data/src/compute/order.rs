//! The total order of values, and their identity for groups.
//!
//! `false < true < numbers < texts < lists < objects < null`: by type first, numbers by decimal value,
//! texts by their bytes, lists element by element, objects member by member in the order of their
//! names. What is equal in this order is identical: `1` and `1.0`, objects whose members stand in
//! another order, null and absent. A [`Key`] is made once for each value and compared and hashed many
//! times.

use std::cmp::Ordering;

use super::{ComputeError, digits::DecimalText, number::decimal_text};
use crate::{Number, Text, Value};

/// The most bytes that a key of a list or an object has.
const KEY_BYTES_MAX: usize = 16 << 20;

/// The most lists and objects that lie one inside the other in a key.
const KEY_DEPTH_MAX: usize = 512;

/// A value for sorting and grouping: ordered, and equal and hashed as its order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(Form);

/// Each number that fits 64 bits is `Whole`, so that equal values have equal forms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Form {
    Boolean(bool),
    Whole(i64),
    /// Any other number, as bytes that compare as numbers do.
    Number(Box<[u8]>),
    Text(Text),
    /// A list or an object, as bytes that compare as they do.
    Structure(Box<[u8]>),
    Nothing,
}

/// The first byte of each kind in the bytes of a structure. A list or an object ends with `END`,
/// which is less than all, so that a shorter one comes first.
mod tag {
    pub(super) const END: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const NUMBER: u8 = 3;
    pub(super) const TEXT: u8 = 4;
    pub(super) const LIST: u8 = 5;
    pub(super) const OBJECT: u8 = 6;
    pub(super) const NOTHING: u8 = 7;
}

impl Key {
    /// The key of a value; an error if it is a very large list or object.
    pub fn of(value: &Value) -> Result<Self, ComputeError> {
        Ok(Self(match value {
            Value::Absent | Value::Null => Form::Nothing,
            Value::Bool(value) => Form::Boolean(*value),
            Value::Number(number) => Form::of_number(number),
            Value::String(text) => Form::Text(text.clone()),
            Value::Array(_) | Value::Object(_) | Value::Raw(_) => {
                let mut bytes = Vec::new();
                put_structure(value, &mut bytes)?;
                Form::Structure(bytes.into())
            }
        }))
    }

    /// The key of a whole number.
    pub fn whole(number: i64) -> Self {
        Self(Form::Whole(number))
    }

    /// The key of null.
    pub fn nothing() -> Self {
        Self(Form::Nothing)
    }

    /// The whole number that it is the key of, if it fits 64 bits.
    pub fn to_whole(&self) -> Option<i64> {
        match &self.0 {
            Form::Whole(number) => Some(*number),
            _ => None,
        }
    }

    /// The beginning of the key as a number: of two keys the lesser one never has the greater number.
    pub fn prefix(&self) -> u64 {
        let content = match &self.0 {
            Form::Boolean(_) | Form::Nothing => 0,
            Form::Whole(number) => number_prefix(&whole_bytes(*number)),
            Form::Number(bytes) => number_prefix(bytes),
            Form::Text(text) => first_bytes(text.as_bytes()) >> RANK_BITS,
            Form::Structure(bytes) => first_bytes(bytes.get(1..).unwrap_or_default()) >> RANK_BITS,
        };
        (u64::from(self.0.rank()) << (u64::BITS - RANK_BITS)) | content
    }

    /// Whether it is the key of null or of nothing, which stand last unless asked otherwise.
    pub fn is_nothing(&self) -> bool {
        self.0 == Form::Nothing
    }

    /// How many bytes a comparison with it looks at, at most.
    pub fn compared_bytes(&self) -> usize {
        match &self.0 {
            Form::Number(bytes) | Form::Structure(bytes) => bytes.len(),
            Form::Text(text) => text.len(),
            Form::Boolean(_) | Form::Whole(_) | Form::Nothing => 0,
        }
    }

    /// About how many bytes it holds beside itself.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Form::Number(bytes) | Form::Structure(bytes) => bytes.len(),
            // Shared with the value.
            Form::Text(_) | Form::Boolean(_) | Form::Whole(_) | Form::Nothing => 0,
        }
    }
}

/// Bits that the kind of a value takes in the prefix of a key.
const RANK_BITS: u32 = 3;

/// The first eight bytes, as far as there are some.
fn first_bytes(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(first.len());
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}

/// Bits of an exponent, and of the digits behind it, in the prefix of a number; two are left for its sign.
const EXPONENT_BITS: u32 = 11;
const DIGITS_BITS: u32 = u64::BITS - RANK_BITS - 2 - EXPONENT_BITS;
/// Digits that fit these bits.
const PREFIX_DIGITS: usize = 14;

/// The beginning of a number that was written by [`put_number`]: its sign, its exponent as far as it fits, and
/// its first digits.
fn number_prefix(bytes: &[u8]) -> u64 {
    let sign = bytes.first().copied().unwrap_or(1);
    if sign == 1 {
        return 1 << (EXPONENT_BITS + DIGITS_BITS);
    }
    let turned = if sign == 0 { u8::MAX } else { 0 };
    let mut exponent = [0; 8];
    for (byte, written) in exponent.iter_mut().zip(&bytes[1..]) {
        *byte = written ^ turned;
    }
    let exponent = (u64::from_be_bytes(exponent) ^ (1 << 63)).cast_signed();
    let most = (1 << (EXPONENT_BITS - 1)) - 1;
    let size = if exponent.abs() >= most {
        // Beside the least or the greatest exponent there are no digits.
        if exponent > 0 { (1 << (EXPONENT_BITS + DIGITS_BITS)) - 1 } else { 0 }
    } else {
        let written = bytes.get(9..).unwrap_or_default().iter().map(|byte| byte ^ turned);
        let digits = written.take_while(|byte| *byte > 0).map(|byte| u64::from(byte - 1));
        let digits = digits.chain(std::iter::repeat(0)).take(PREFIX_DIGITS);
        let digits = digits.fold(0, |number, digit| number * 10 + digit);
        ((exponent + most).cast_unsigned() << DIGITS_BITS) | digits
    };
    let least = 1 << (EXPONENT_BITS + DIGITS_BITS);
    if sign == 0 { (least - 1) - size } else { (2 * least) | size }
}

impl Form {
    fn of_number(number: &Number) -> Self {
        let digits = match number {
            Number::Int(whole) => return Self::Whole(*whole),
            Number::Source(text) => match text.parse() {
                Ok(whole) => return Self::Whole(whole),
                Err(_) => DecimalText::of(text).map(|digits| (digits.to_i64(), bytes_of(&digits))),
            },
            Number::Float(float) => DecimalText::of(&format!("{float:e}"))
                .map(|digits| (digits.to_i64(), bytes_of(&digits))),
        };
        match digits {
            Some((None, bytes)) => Self::Number(bytes.into()),
            Some((Some(whole), _)) => Self::Whole(whole),
            // No number that a value can hold.
            None => Self::Whole(0),
        }
    }

    /// The place of the kind in the order.
    fn rank(&self) -> u8 {
        match self {
            Self::Boolean(false) => tag::FALSE,
            Self::Boolean(true) => tag::TRUE,
            Self::Whole(_) | Self::Number(_) => tag::NUMBER,
            Self::Text(_) => tag::TEXT,
            Self::Structure(bytes) => bytes.first().copied().unwrap_or(tag::LIST),
            Self::Nothing => tag::NOTHING,
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Form::Whole(left), Form::Whole(right)) => left.cmp(right),
            (Form::Text(left), Form::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
            (Form::Number(left), Form::Number(right))
            | (Form::Structure(left), Form::Structure(right)) => left.cmp(right),
            (Form::Whole(left), Form::Number(right)) => whole_bytes(*left).as_slice().cmp(&**right),
            (Form::Number(left), Form::Whole(right)) => {
                (**left).cmp(whole_bytes(*right).as_slice())
            }
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// How two values stand to each other in the order. For many values, make a [`Key`] of each.
pub fn compare(left: &Value, right: &Value) -> Result<Ordering, ComputeError> {
    match (left, right) {
        (Value::Number(Number::Int(left)), Value::Number(Number::Int(right))) => {
            Ok(left.cmp(right))
        }
        (Value::String(left), Value::String(right)) => Ok(left.as_bytes().cmp(right.as_bytes())),
        (Value::Number(_), Value::Number(_)) => Ok(compare_numbers(left, right)),
        _ => Ok(Key::of(left)?.cmp(&Key::of(right)?)),
    }
}

/// Two numbers by decimal value, without a key.
fn compare_numbers(left: &Value, right: &Value) -> Ordering {
    let (left, right) = (decimal_text(left), decimal_text(right));
    let left = left.as_deref().and_then(DecimalText::of);
    let right = right.as_deref().and_then(DecimalText::of);
    match (left, right) {
        (Some(left), Some(right)) => left.compare(&right),
        _ => Ordering::Equal,
    }
}

/// A structure whose bytes are being written: what is left of it, last part first.
struct Frame {
    parts: Vec<Value>,
    /// Names of the members, in the same order; none for a list.
    names: Option<Vec<Text>>,
}

impl Frame {
    fn of(structure: &Value) -> Self {
        let opened = structure.open();
        let Value::Object(object) = &*opened else {
            let mut parts = structure.elements().unwrap_or_default().into_owned();
            parts.reverse();
            return Self { parts, names: None };
        };
        // Absent members are none.
        let mut members: Vec<_> = object.iter().filter(|(_, value)| !value.is_absent()).collect();
        members.sort_unstable_by(|(left, _), (right, _)| right.as_bytes().cmp(left.as_bytes()));
        let (names, parts) =
            members.into_iter().map(|(name, value)| (name.clone(), value.clone())).unzip();
        Self { parts, names: Some(names) }
    }
}

/// With an explicit stack, since values nest as deep as scripts build them.
fn put_structure(structure: &Value, out: &mut Vec<u8>) -> Result<(), ComputeError> {
    let mut open: Vec<Frame> = Vec::new();
    let mut value = structure.clone();
    loop {
        match &value {
            Value::Absent | Value::Null => out.push(tag::NOTHING),
            Value::Bool(false) => out.push(tag::FALSE),
            Value::Bool(true) => out.push(tag::TRUE),
            Value::Number(_) => {
                out.push(tag::NUMBER);
                let text = decimal_text(&value);
                if let Some(digits) = text.as_deref().and_then(DecimalText::of) {
                    put_number(&digits, out);
                }
            }
            Value::String(text) => put_text(text, out),
            Value::Array(_) | Value::Object(_) | Value::Raw(_) => {
                if open.len() == KEY_DEPTH_MAX {
                    return Err(ComputeError::TooLarge {
                        limit: "key_depth_max",
                        maximum: KEY_DEPTH_MAX,
                        unit: "lists and objects inside each other",
                    });
                }
                let frame = Frame::of(&value);
                out.push(if frame.names.is_some() { tag::OBJECT } else { tag::LIST });
                open.push(frame);
            }
        }
        if out.len() > KEY_BYTES_MAX {
            return Err(ComputeError::TooLarge {
                limit: "key_bytes_max",
                maximum: KEY_BYTES_MAX,
                unit: "bytes to sort or group by",
            });
        }
        value = loop {
            let Some(frame) = open.last_mut() else { return Ok(()) };
            if let Some(part) = frame.parts.pop() {
                if let Some(name) = frame.names.as_mut().and_then(Vec::pop) {
                    put_text(&name, out);
                }
                break part;
            }
            out.push(tag::END);
            open.pop();
        };
    }
}

/// A text whose bytes, if any is 0, are told from its end.
fn put_text(text: &Text, out: &mut Vec<u8>) {
    out.push(tag::TEXT);
    for part in text.as_bytes().split_inclusive(|byte| *byte == 0) {
        out.extend_from_slice(part);
        if part.last() == Some(&0) {
            out.push(u8::MAX);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// Sign, exponent and digits so that bytes compare as numbers do: those of negative numbers are turned
/// over.
fn put_number(digits: &DecimalText<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    if digits.is_zero() {
        out.push(1);
        return;
    }
    out.push(2);
    let shifted = digits.adjusted_exponent().cast_unsigned() ^ (1 << 63);
    out.extend_from_slice(&shifted.to_be_bytes());
    out.extend(digits.digits().map(|digit| digit + 1));
    out.push(0);
    if digits.is_negative() {
        out[start] = 0;
        for byte in &mut out[start + 1..] {
            *byte = !*byte;
        }
    }
}

fn bytes_of(digits: &DecimalText<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_number(digits, &mut bytes);
    bytes
}

fn whole_bytes(whole: i64) -> Vec<u8> {
    DecimalText::of(&whole.to_string()).map(|digits| bytes_of(&digits)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use proptest::prelude::*;

    use super::*;
    use crate::{codec::json, compute::arbitrary::any_value};

    fn key(text: &str) -> Key {
        let value = json::parse_str(text).unwrap();
        let key = Key::of(&value).unwrap();
        assert_eq!(key, Key::of(&value.into_tree()).unwrap(), "{text}");
        key
    }

    #[test]
    fn values_are_ordered_by_type_and_then_by_value() {
        let rising = [
            "false",
            "true",
            "-1e400",
            "-9223372036854775809",
            "-9223372036854775808",
            "-1.5",
            "0",
            "1e-400",
            "0.5",
            "1",
            "9007199254740992.5",
            "9007199254740993",
            "9223372036854775807",
            "9223372036854775808",
            "1e400",
            "\"\"",
            "\"\\u0000\"",
            "\"\\u0000a\"",
            "\"10\"",
            "\"9\"",
            "\"Z\"",
            "\"a\"",
            "\"ab\"",
            "\"é\"",
            "[]",
            "[false]",
            "[2]",
            "[2,1]",
            "[10]",
            "[\"\"]",
            "[\"\",1]",
            "[\"\\u0000\"]",
            "[[]]",
            "[null]",
            "{}",
            "{\"a\":1}",
            "{\"a\":1,\"b\":0}",
            "{\"a\":2}",
            "{\"b\":0}",
            "null",
        ];
        for (at, left) in rising.iter().enumerate() {
            for (other, right) in rising.iter().enumerate() {
                assert_eq!(key(left).cmp(&key(right)), at.cmp(&other), "{left} {right}");
                if at <= other {
                    assert!(key(left).prefix() <= key(right).prefix(), "{left} {right}");
                }
                let (left, right) =
                    (json::parse_str(left).unwrap(), json::parse_str(right).unwrap());
                assert_eq!(compare(&left, &right), Ok(at.cmp(&other)), "{left:?} {right:?}");
            }
        }
    }

    #[test]
    fn what_is_the_same_value_is_identical() {
        for (left, right) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("0", "-0"),
            ("9223372036854775807", "9223372036854775807.0"),
            ("{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"a\":1}"),
            ("1.50", "15e-1"),
        ] {
            assert_eq!(key(left), key(right));
        }
        for (left, right) in [("1", "\"1\""), ("1", "true"), ("0", "null"), ("[]", "{}")] {
            assert_ne!(key(left), key(right));
        }
        assert_eq!(Key::of(&Value::Absent), Key::of(&Value::Null));
        let float = Value::Number(Number::Float(2.5));
        assert_eq!(Key::of(&float).unwrap(), key("2.50"));
        assert_eq!(Key::of(&Value::Number(Number::Float(3.0))).unwrap(), key("3"));
    }

    #[test]
    fn values_that_would_be_huge_written_out_are_refused() {
        let mut value = Value::array(vec![]);
        for _ in 0..100 {
            value = Value::array(vec![value.clone(), value]);
        }
        let error = Key::of(&value).unwrap_err();
        assert!(error.to_string().contains("key_bytes_max"), "{error}");
        let mut deep = Value::array(vec![]);
        for _ in 0..KEY_DEPTH_MAX {
            deep = Value::array(vec![deep]);
        }
        let error = Key::of(&deep).unwrap_err();
        assert!(error.to_string().contains("key_depth_max"), "{error}");
    }

    proptest! {
        #[test]
        fn the_order_is_total_and_equal_means_identical(
            a in any_value(), b in any_value(), c in any_value()
        ) {
            let [x, y, z] = [&a, &b, &c].map(|value| Key::of(value).unwrap());
            prop_assert_eq!(x.cmp(&y), y.cmp(&x).reverse());
            prop_assert_eq!(x.cmp(&y), compare(&a, &b).unwrap());
            if x <= y {
                prop_assert!(x.prefix() <= y.prefix());
            }
            if x <= y && y <= z {
                prop_assert!(x <= z);
            }
            prop_assert_eq!(x.cmp(&y).is_eq(), x == y);
            prop_assert_eq!(x == y, Key::of(&a.into_tree()).unwrap() == Key::of(&b.into_tree()).unwrap());
            if x == y {
                let hash = |key| BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
                prop_assert_eq!(hash(x), hash(y));
            }
        }
    }
}
