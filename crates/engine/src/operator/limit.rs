//! `limit` and `offset` on values that are here (SEL-22).

use qlio_data::Value;

/// Cuts an array; anything else stays as it is.
pub(crate) fn cut(value: Value, limit: Option<u64>, offset: Option<u64>) -> Value {
    if limit.is_none() && offset.is_none() {
        return value;
    }
    let Some(elements) = value.elements() else { return value };
    let skip = usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX);
    let take = usize::try_from(limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    elements.iter().skip(skip).take(take).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_zero_is_empty_and_offset_past_the_end_too() {
        let list: Value = (0..3).map(Value::int).collect();
        assert_eq!(cut(list.clone(), Some(0), None), Value::array(Vec::new()));
        assert_eq!(cut(list.clone(), Some(5), Some(9)), Value::array(Vec::new()));
        assert_eq!(cut(list.clone(), Some(1), Some(1)), Value::array(vec![Value::int(1)]));
        assert_eq!(cut(list, None, Some(2)), Value::array(vec![Value::int(2)]));
    }
}
