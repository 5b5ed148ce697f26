//! JSON equality as the cases mean it: numbers by value, members in any order; a member that is
//! `null` differs from one that is not there. Differences are named with their path.

use serde_json::{Number, Value};

/// The first difference between two values, or nothing when they are equal.
pub fn difference(expected: &Value, actual: &Value) -> Option<String> {
    find(expected, actual, "$", Extra::Refused)
}

/// Like [`difference`], but objects at any depth may have members that are not expected.
pub fn partial_difference(expected: &Value, actual: &Value) -> Option<String> {
    find(expected, actual, "$", Extra::Allowed)
}

/// What members are that nobody expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extra {
    Refused,
    Allowed,
}

fn find(expected: &Value, actual: &Value, path: &str, extra: Extra) -> Option<String> {
    match (expected, actual) {
        (Value::Number(a), Value::Number(b)) if same_number(a, b) => None,
        (Value::Array(a), Value::Array(b)) => {
            let inner = a.iter().zip(b).enumerate();
            let mut inner =
                inner.filter_map(|(i, (a, b))| find(a, b, &format!("{path}[{i}]"), extra));
            inner.next().or_else(|| {
                (a.len() != b.len()).then(|| {
                    format!("{path} has {} elements, expected {}: {actual}", b.len(), a.len())
                })
            })
        }
        (Value::Object(a), Value::Object(b)) => {
            for (name, value) in a {
                match b.get(name) {
                    None => return Some(format!("{path}.{name} is missing, expected {value}")),
                    Some(other) => {
                        let inner = find(value, other, &format!("{path}.{name}"), extra);
                        if inner.is_some() {
                            return inner;
                        }
                    }
                }
            }
            if extra == Extra::Allowed {
                return None;
            }
            let unexpected = b.iter().find(|(name, _)| !a.contains_key(*name));
            unexpected.map(|(name, value)| format!("{path}.{name} is not expected, got {value}"))
        }
        (a, b) if !a.is_number() && a == b => None,
        _ => Some(format!("{path} is {actual}, expected {expected}")),
    }
}

/// Integers compare exactly, everything else as 64-bit floats.
fn same_number(a: &Number, b: &Number) -> bool {
    let integer = |n: &Number| n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.as_f64() == b.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn a_partial_comparison_ignores_further_members_only() {
        let actual = json!({"a": [{"b": 1, "c": 2}], "d": 3});
        assert_eq!(partial_difference(&json!({"a": [{"b": 1}]}), &actual), None);
        for other in [json!({"a": []}), json!({"a": [{"b": 2}]}), json!({"e": 1}), json!([])] {
            assert!(partial_difference(&other, &actual).is_some(), "{other}");
        }
    }

    proptest! {
        #[test]
        fn every_value_equals_itself_and_differs_in_a_list(value in any_json()) {
            prop_assert_eq!(difference(&value, &value), None);
            prop_assert!(difference(&value, &json!([value.clone(), 1, 2])).is_some());
            prop_assert!(difference(&json!([value.clone()]), &json!([value, 1])).is_some());
        }
    }

    #[test]
    fn numbers_compare_by_value() {
        assert_eq!(difference(&json!([1, 100, 1.5]), &json!([1.0, 1e2, 1.50])), None);
        assert!(
            difference(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992_i64))
                .is_some()
        );
        assert!(difference(&json!(1), &json!("1")).is_some());
        assert!(difference(&json!(1), &json!(2)).is_some());
    }

    #[test]
    fn member_order_does_not_matter_but_presence_does() {
        assert_eq!(difference(&json!({"a": 1, "b": 2}), &json!({"b": 2, "a": 1})), None);
        let missing = difference(&json!({"a": null}), &json!({})).unwrap();
        assert_eq!(missing, "$.a is missing, expected null");
        let extra = difference(&json!({"l": [{}]}), &json!({"l": [{"b": null}]})).unwrap();
        assert_eq!(extra, "$.l[0].b is not expected, got null");
    }

    #[test]
    fn lists_compare_in_order_and_length() {
        assert!(difference(&json!([1, 2]), &json!([2, 1])).is_some());
        let longer = difference(&json!([1]), &json!([1, 2])).unwrap();
        assert!(longer.starts_with("$ has 2 elements, expected 1"), "{longer}");
    }
}
