//! Arithmetic on values: numbers, and texts that read as numbers.
//!
//! Null for null, an error for what is no number. A quotient and a remainder of a division by zero
//! are null as well; whoever counts them sees it by the operands, neither of which is null.

use std::borrow::Cow;

use super::{
    ComputeError, Decimal, OutOfRange, decimal::ROUNDED_DIGITS, digits::DecimalText, kind::clip,
};
use crate::{Number, Value, value::loose::is_javascript_blank};

/// What messages say that an operand should have been.
const NUMBER: &str = "a number";

/// The number that a value is or reads as (VAL-9); `None` for null. Errors name position 0.
pub fn read(value: &Value) -> Result<Option<Decimal>, ComputeError> {
    let read = match value {
        Value::Absent | Value::Null => return Ok(None),
        Value::Number(number) => Decimal::of_number(number),
        Value::String(text) => {
            read_text(text).ok_or_else(|| ComputeError::wrong(0, value, NUMBER))?
        }
        _ => return Err(ComputeError::wrong(0, value, NUMBER)),
    };
    let out_of_range = |_| ComputeError::OutOfRange { what: shown(value) };
    read.map(Some).map_err(out_of_range)
}

/// The number that a text reads as: without white space around it; the empty text is 0.
fn read_text(text: &str) -> Option<Result<Decimal, OutOfRange>> {
    let text = text.trim_matches(is_javascript_blank);
    if text.is_empty() {
        return Some(Ok(Decimal::ZERO));
    }
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => Decimal::read_hexadecimal(digits),
        None => Decimal::read(text),
    }
}

/// `left + right`.
pub fn add(left: &Value, right: &Value) -> Result<Value, ComputeError> {
    if let (Value::Number(Number::Int(left)), Value::Number(Number::Int(right))) = (left, right)
        && let Some(sum) = left.checked_add(*right)
    {
        return Ok(Value::int(sum));
    }
    compute(left, "+", right, |left, right| Some(left.plus(right)))
}

/// `left - right`.
pub fn subtract(left: &Value, right: &Value) -> Result<Value, ComputeError> {
    if let (Value::Number(Number::Int(left)), Value::Number(Number::Int(right))) = (left, right)
        && let Some(difference) = left.checked_sub(*right)
    {
        return Ok(Value::int(difference));
    }
    compute(left, "-", right, |left, right| Some(left.minus(right)))
}

/// `left * right`.
pub fn multiply(left: &Value, right: &Value) -> Result<Value, ComputeError> {
    if let (Value::Number(Number::Int(left)), Value::Number(Number::Int(right))) = (left, right)
        && let Some(product) = left.checked_mul(*right)
    {
        return Ok(Value::int(product));
    }
    compute(left, "*", right, |left, right| Some(left.times(right)))
}

/// `left / right`; null if `right` is 0.
pub fn divide(left: &Value, right: &Value) -> Result<Value, ComputeError> {
    compute(left, "/", right, Decimal::divided_by)
}

/// `left % right`, with the sign of `left`; null if `right` is 0.
pub fn remainder(left: &Value, right: &Value) -> Result<Value, ComputeError> {
    compute(left, "%", right, |left, right| left.remainder_of(right).map(Ok))
}

/// `-value`.
pub fn negate(value: &Value) -> Result<Value, ComputeError> {
    Ok(read(value)?.map_or(Value::Null, |number| number.negated().into()))
}

/// An operation of two numbers; `None` of it is null.
pub(super) fn compute(
    left: &Value,
    operator: &str,
    right: &Value,
    operation: impl Fn(Decimal, Decimal) -> Option<Result<Decimal, OutOfRange>>,
) -> Result<Value, ComputeError> {
    // Both are read even if one is null: that a text is no number must not depend on the row.
    let (left_number, right_number) = (read(left)?, read(right).map_err(|error| error.at(1))?);
    let (Some(left_number), Some(right_number)) = (left_number, right_number) else {
        return Ok(Value::Null);
    };
    match operation(left_number, right_number) {
        None => Ok(Value::Null),
        Some(Ok(result)) => Ok(result.into()),
        Some(Err(OutOfRange)) => Err(ComputeError::OutOfRange {
            what: format!("{} {operator} {}", shown(left), shown(right)),
        }),
    }
}

/// A float that was computed, rounded to 16 digits; `what` names the computation in an error.
pub(super) fn of_float(value: f64, what: &str) -> Result<Value, ComputeError> {
    let out_of_range = || ComputeError::OutOfRange { what: what.to_owned() };
    if !value.is_finite() {
        return Err(out_of_range());
    }
    let digits = ROUNDED_DIGITS as usize - 1;
    let read = Decimal::read(&format!("{value:.digits$e}"));
    read.and_then(Result::ok).map(Value::from).ok_or_else(out_of_range)
}

/// A number as its text in a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Number(Number::Source(text)) | Value::String(text) => clip(text),
        Value::Number(number) => number.to_shortest(),
        _ => String::new(),
    }
}

/// The decimal text of a number, or of a text that reads as one, for comparing by value; `None` for
/// all else. Whole numbers are compared without a text by those who ask.
pub(super) fn decimal_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Number(Number::Int(whole)) => Some(whole.to_string().into()),
        Value::Number(Number::Float(float)) => Some(format!("{float:e}").into()),
        Value::Number(Number::Source(text)) => Some(Cow::Borrowed(text)),
        Value::String(text) => {
            let text = text.trim_matches(is_javascript_blank);
            match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                Some(digits) => Some(Decimal::read_hexadecimal(digits)?.ok()?.to_string().into()),
                None if text.is_empty() => Some(Cow::Borrowed("0")),
                None => DecimalText::of(text).map(|_| Cow::Borrowed(text)),
            }
        }
        _ => None,
    }
}

impl From<Decimal> for Value {
    fn from(decimal: Decimal) -> Self {
        Self::Number(decimal.to_number())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{codec::json, compute::arbitrary::any_value};

    type Operation = fn(&Value, &Value) -> Result<Value, ComputeError>;

    fn value(text: &str) -> Value {
        if text == "absent" { Value::Absent } else { json::parse_str(text).unwrap() }
    }

    fn operation(operator: &str) -> Operation {
        match operator {
            "+" => add,
            "-" => subtract,
            "*" => multiply,
            "/" => divide,
            _ => remainder,
        }
    }

    #[test]
    fn operations_give_exact_numbers_and_null_for_null() {
        for (left, operator, right, result) in [
            ("1", "+", "2", "3"),
            ("0.1", "+", "0.2", "0.3"),
            ("9223372036854775807", "+", "1", "9223372036854775808"),
            ("-9223372036854775808", "-", "1", "-9223372036854775809"),
            (
                "9223372036854775807",
                "*",
                "9223372036854775807",
                "85070591730234615847396907784232501249",
            ),
            ("19.99", "*", "3", "59.97"),
            ("1.10", "-", "0.1", "1"),
            ("7", "/", "2", "3.5"),
            ("6", "/", "2", "3"),
            ("7", "%", "4", "3"),
            ("\" 7.5 \"", "+", "\"\"", "7.5"),
            ("\"0x10\"", "*", "2", "32"),
            ("1", "/", "0", "null"),
            ("1", "%", "0.0", "null"),
            ("null", "+", "1", "null"),
            ("1", "*", "absent", "null"),
            ("null", "/", "0", "null"),
        ] {
            let computed = operation(operator)(&value(left), &value(right));
            assert_eq!(json::to_string(&computed.unwrap()), result, "{left} {operator} {right}");
        }
        assert_eq!(json::to_string(&negate(&value("\"1.50\"")).unwrap()), "-1.5");
        assert_eq!(negate(&value("-9223372036854775808")).unwrap(), value("9223372036854775808"));
        assert!(matches!(negate(&Value::Absent), Ok(Value::Null)));
    }

    #[test]
    fn what_is_no_number_is_named_with_its_place() {
        for (left, operator, right, position, message) in [
            ("\"n/a\"", "+", "1", Some(0), "the text \"n/a\" is not a number"),
            ("1", "*", "true", Some(1), "true is not a number"),
            ("null", "-", "[1]", Some(1), "a list is not a number"),
            ("{}", "/", "null", Some(0), "an object is not a number"),
            ("\"Infinity\"", "%", "1", Some(0), "the text \"Infinity\" is not a number"),
            (
                "1e999999999",
                "+",
                "1",
                None,
                "1e999999999 is beyond the numbers that can be computed with",
            ),
            (
                "1e6000",
                "*",
                "1e6000",
                None,
                "1e6000 * 1e6000 is beyond the numbers that can be computed with",
            ),
        ] {
            let error = operation(operator)(&value(left), &value(right)).unwrap_err();
            assert_eq!(error.position(), position);
            assert_eq!(error.to_string(), message);
        }
    }

    proptest! {
        #[test]
        fn every_operation_gives_a_number_null_or_one_error(left in any_value(), right in any_value()) {
            for operator in ["+", "-", "*", "/", "%"] {
                match operation(operator)(&left, &right) {
                    Ok(result) => prop_assert!(matches!(result, Value::Number(_) | Value::Null)),
                    Err(error) => prop_assert!(!error.to_string().is_empty()),
                }
            }
            prop_assert_eq!(add(&left, &right).ok(), add(&right, &left).ok());
        }
    }
}
