//! Keys without a value: what null meets when rows are joined (JOI-16, SUB-4).

use qlio_data::{Value, compute::test};
use qlio_plan::operator::NullKeys;

/// A key as far as it can meet something.
pub(super) fn usable(value: Value, nulls: NullKeys) -> Option<Value> {
    match nulls {
        NullKeys::OnlyNull => (!value.is_absent()).then_some(value),
        NullKeys::Never => match value.elements() {
            Some(items) if items.iter().any(Value::is_nothing) => {
                Some(items.iter().filter(|item| !item.is_nothing()).cloned().collect())
            }
            _ => (!value.is_nothing()).then_some(value),
        },
    }
}

/// Whether two values meet as keys do: null meets nothing.
pub(super) fn do_meet(left: Value, right: Value) -> bool {
    let usable = |value| usable(value, NullKeys::Never);
    match (usable(left), usable(right)) {
        (Some(left), Some(right)) => test::equals(&left, &right),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_without_a_value_meet_what_they_may() {
        assert_eq!(usable(Value::Absent, NullKeys::OnlyNull), None);
        assert_eq!(usable(Value::Null, NullKeys::OnlyNull), Some(Value::Null));
        assert_eq!(usable(Value::Null, NullKeys::Never), None);
        let list = Value::array(vec![Value::Null, Value::int(1)]);
        assert_eq!(usable(list, NullKeys::Never), Some(Value::array(vec![Value::int(1)])));
    }
}
