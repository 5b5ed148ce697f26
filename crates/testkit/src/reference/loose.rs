//! Loose equality, row by row of the table in VAL-7 to VAL-11.

use qlio_data::Value;

/// Whether two values are equal in filters and joins.
pub fn loosely_equal(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.into_tree(), b.into_tree());
    match (&a, &b) {
        (Value::Null | Value::Absent, _) | (_, Value::Null | Value::Absent) => {
            a.is_nothing() && b.is_nothing()
        }
        (Value::Bool(x), Value::Bool(y)) => x == y,
        (Value::String(x), Value::String(y)) => x.as_str() == y.as_str(),
        (Value::Number(x), Value::Number(y)) => match (x.as_i64(), y.as_i64()) {
            (Some(x), Some(y)) => x == y,
            _ => same(x.as_f64(), y.as_f64()),
        },
        (Value::Bool(flag), other) | (other, Value::Bool(flag)) => {
            loosely_equal(&Value::int(i64::from(*flag)), other)
        }
        (Value::Number(number), Value::String(text))
        | (Value::String(text), Value::Number(number)) => {
            // Whole numbers compare exactly, written as text or not (FMT-12).
            match (number.as_i64(), text.trim().parse::<i64>()) {
                (Some(number), Ok(other)) => number == other,
                _ => number_of(text).is_some_and(|other| same(number.as_f64(), other)),
            }
        }
        _ if a.is_structure() && b.is_structure() => false,
        (scalar, structure) if structure.is_structure() => {
            loosely_equal(scalar, &Value::from(text_of(structure).as_str()))
        }
        (structure, scalar) => loosely_equal(&Value::from(text_of(structure).as_str()), scalar),
    }
}

#[expect(clippy::float_cmp, reason = "equality of numbers is what the rule asks for")]
fn same(a: f64, b: f64) -> bool {
    a == b
}

/// A text as a number: trimmed; empty is 0; decimal, exponent, hex; else none.
fn number_of(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0.0);
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(digits, 16).ok().map(f64::from);
    }
    let is_numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if text.chars().all(is_numeric) { text.parse().ok() } else { None }
}

/// A structure as text: element texts joined by commas, null as empty; `[object Object]`.
fn text_of(value: &Value) -> String {
    match value {
        Value::Absent | Value::Null => String::new(),
        Value::Array(elements) => elements.iter().map(text_of).collect::<Vec<_>>().join(","),
        Value::Object(_) => "[object Object]".to_owned(),
        scalar => scalar.scalar_text().map(|text| text.to_string()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    fn equal(a: &str, b: &str) -> bool {
        let value = |text| json::parse_str(text).expect("valid JSON");
        loosely_equal(&value(a), &value(b))
    }

    #[test]
    fn every_row_of_the_table_holds() {
        assert!(equal("7", "\" 7.0 \"") && equal("0", "\"\"") && equal("255", "\"0xff\""));
        assert!(!equal("7", "\"7 eggs\"") && !equal("0", "null") && equal("null", "null"));
        assert!(equal("true", "1") && equal("true", "\"1\"") && !equal("true", "\"true\""));
        assert!(equal("[1,null,\"b\"]", "\"1,,b\"") && equal("[5]", "5") && !equal("[5]", "[5]"));
        assert!(equal("{}", "\"[object Object]\"") && equal("[]", "0") && equal("[]", "false"));
    }
}
