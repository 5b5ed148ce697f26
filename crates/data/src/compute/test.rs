//! The tests of conditions, which are true or false and never null.
//!
//! A list, and the several matches of a path that are one, passes if some element does.

use std::{cmp::Ordering, hash::BuildHasher};

use foldhash::quality::RandomState;

use super::{digits::DecimalText, number::decimal_text, pattern::Pattern};
use crate::{
    Number, Value,
    value::loose::{LooseValue, loosely_equals},
};

/// Pairs of elements that are compared one by one; more are found by hash.
const PAIRS_MAX: usize = 64;

/// A comparison by size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Whether it holds for some element of `left` and some of `right`: numbers by value, a number and
    /// a text that reads as one by value, two texts by their bytes; never for anything else.
    pub fn holds(self, left: &Value, right: &Value) -> bool {
        some_element(left, |left| some_element(right, |right| self.holds_for(left, right)))
    }

    fn holds_for(self, left: &Value, right: &Value) -> bool {
        by_size(left, right).is_some_and(|order| self.holds_in(order))
    }

    /// Whether it holds for what stands to each other in this order.
    #[inline]
    pub fn holds_in(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The same comparison with its sides changed.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }
}

/// Whether some element of `value` lies within both bounds, which are included.
pub fn is_between(value: &Value, low: &Value, high: &Value) -> bool {
    some_element(value, |value| {
        Comparison::GreaterOrEqual.holds(value, low) && Comparison::LessOrEqual.holds(value, high)
    })
}

/// `left == right`: some element of the one loosely equals some of the other (VAL-7 to VAL-11).
pub fn equals(left: &Value, right: &Value) -> bool {
    let (Some(left), Some(right)) = (left.elements(), right.elements()) else {
        return some_element(left, |left| some_element(right, |right| loosely_equals(left, right)));
    };
    if left.len().saturating_mul(right.len()) <= PAIRS_MAX {
        return left.iter().any(|left| right.iter().any(|right| loosely_equals(left, right)));
    }
    // What is equal hashes alike, but what hashes alike is still compared.
    let hasher = RandomState::default();
    let hash = |value: &Value| hasher.hash_one(LooseValue::of(value));
    let mut sorted: Vec<_> = right.iter().map(|value| (hash(value), value)).collect();
    sorted.sort_unstable_by_key(|(hash, _)| *hash);
    left.iter().any(|left| {
        let wanted = hash(left);
        let from = sorted.partition_point(|(hash, _)| *hash < wanted);
        let alike = sorted[from..].iter().take_while(|(hash, _)| *hash == wanted);
        alike.into_iter().any(|(_, right)| loosely_equals(left, right))
    })
}

/// Whether the text of some element matches; only texts and numbers have one here.
pub fn matches(value: &Value, pattern: &Pattern) -> bool {
    some_element(value, |value| match value {
        Value::String(text) => pattern.is_match(text),
        Value::Number(number) => pattern.is_match(&number.to_shortest()),
        _ => false,
    })
}

fn some_element(value: &Value, holds: impl Fn(&Value) -> bool) -> bool {
    match value.elements() {
        Some(elements) => elements.iter().any(holds),
        None => holds(value),
    }
}

/// How two values stand to each other by size; `None` if that means nothing.
fn by_size(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(Number::Int(left)), Value::Number(Number::Int(right))) => {
            Some(left.cmp(right))
        }
        (Value::String(left), Value::String(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Value::Number(_), Value::Number(_) | Value::String(_))
        | (Value::String(_), Value::Number(_)) => {
            let (left, right) = (decimal_text(left)?, decimal_text(right)?);
            Some(DecimalText::of(&left)?.compare(&DecimalText::of(&right)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{codec::json, compute::arbitrary::any_value};

    fn value(text: &str) -> Value {
        if text == "absent" { Value::Absent } else { json::parse_str(text).unwrap() }
    }

    #[test]
    fn sizes_compare_by_value_or_by_bytes_and_else_not_at_all() {
        for (left, right) in [
            ("1", "2"),
            ("1", "\" 2.0 \""),
            ("\"9\"", "10"),
            ("\"\"", "1"),
            ("\"0x0f\"", "16"),
            ("1", "1.0000000000000000000000000000000001"),
            ("-1e400", "-1e399"),
            ("\"10\"", "\"9\""),
            ("\"Z\"", "\"a\""),
            ("\"z\"", "\"é\""),
            ("[5,1]", "2"),
            ("1", "[0,2]"),
            ("[9,1]", "[2,0]"),
        ] {
            let (left, right) = (value(left), value(right));
            assert!(Comparison::Less.holds(&left, &right), "{left:?} < {right:?}");
            assert!(Comparison::LessOrEqual.holds(&left, &right), "{left:?} <= {right:?}");
            assert!(Comparison::Greater.holds(&right, &left), "{right:?} > {left:?}");
            assert!(Comparison::GreaterOrEqual.holds(&right, &left), "{right:?} >= {left:?}");
        }
        for (left, right) in [
            ("null", "1"),
            ("absent", "absent"),
            ("null", "null"),
            ("false", "true"),
            ("true", "true"),
            ("{}", "{}"),
            ("\"n/a\"", "1"),
            ("\"Infinity\"", "1"),
            ("[]", "1"),
            ("[[1]]", "1"),
        ] {
            let (left, right) = (value(left), value(right));
            for comparison in [
                Comparison::Less,
                Comparison::LessOrEqual,
                Comparison::Greater,
                Comparison::GreaterOrEqual,
            ] {
                assert!(!comparison.holds(&left, &right), "{left:?} {comparison:?} {right:?}");
            }
        }
        assert!(Comparison::LessOrEqual.holds(&value("1"), &value("\"1.0\"")));
    }

    #[test]
    fn between_wants_one_element_within_both_bounds() {
        assert!(is_between(&value("2"), &value("2"), &value("\"4\"")));
        assert!(is_between(&value("[1,3]"), &value("2"), &value("4")));
        assert!(!is_between(&value("[1,5]"), &value("2"), &value("4")));
        assert!(!is_between(&value("null"), &value("2"), &value("4")));
        assert!(!is_between(&value("3"), &value("4"), &value("2")));
    }

    #[test]
    fn lists_are_equal_by_some_element() {
        for (left, right, holds) in [
            ("[1,2]", "\"2\"", true),
            ("2", "[1,\" 2\"]", true),
            ("[1,2]", "[2,3]", true),
            ("[1,2]", "[3]", false),
            ("[]", "[]", false),
            ("[]", "null", false),
            ("[null]", "absent", true),
            ("null", "absent", true),
            ("{}", "{}", false),
        ] {
            assert_eq!(equals(&value(left), &value(right)), holds, "{left} {right}");
            assert_eq!(equals(&value(right), &value(left)), holds, "{left} {right}");
        }
        let texts: Value = (0..100).map(|n| Value::from(format!(" {n}.0 "))).collect();
        let numbers: Value = (99..300).map(Value::int).collect();
        assert!(equals(&texts, &numbers) && equals(&numbers, &texts));
        let others: Value = (100..300).map(Value::int).collect();
        assert!(!equals(&texts, &others) && !equals(&others, &texts));
    }

    proptest! {
        #[test]
        fn hashing_finds_what_comparing_finds(
            left in prop::collection::vec(any_value(), 9..14),
            right in prop::collection::vec(any_value(), 9..14),
        ) {
            let found = left.iter().any(|left| right.iter().any(|right| loosely_equals(left, right)));
            prop_assert_eq!(equals(&Value::array(left), &Value::array(right)), found);
        }

        #[test]
        fn exactly_one_order_holds_or_none(left in any_value(), right in any_value()) {
            prop_assume!(!left.is_array() && !right.is_array());
            let less = Comparison::Less.holds(&left, &right);
            let greater = Comparison::Greater.holds(&left, &right);
            let not_less = Comparison::GreaterOrEqual.holds(&left, &right);
            prop_assert!(!less || (!greater && !not_less));
            prop_assert_eq!(greater, Comparison::Less.holds(&right, &left));
            prop_assert_eq!(
                Comparison::LessOrEqual.holds(&left, &right) && not_less,
                by_size(&left, &right) == Some(Ordering::Equal)
            );
        }
    }
}
