//! `limit` and `offset` on values that are here (SEL-22).

use qlio_data::Value;

use super::opening::open_large;
use crate::{error::RunError, run::Run};

/// Cuts an array; anything else stays as it is.
pub(crate) async fn cut(
    run: &Run<'_>,
    value: Value,
    limit: Option<u64>,
    offset: Option<u64>,
) -> Result<Value, RunError> {
    if limit.is_none() && offset.is_none() {
        return Ok(value);
    }
    let value = run.let_go(open_large(run, value).await?);
    Ok(keep(&value, limit, offset).unwrap_or_else(|| value.take()))
}

/// The elements of an array that are kept; `None` for anything else.
fn keep(value: &Value, limit: Option<u64>, offset: Option<u64>) -> Option<Value> {
    let elements = value.elements()?;
    let skip = usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX);
    let take = usize::try_from(limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    Some(elements.iter().skip(skip).take(take).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_zero_is_empty_and_offset_past_the_end_too() {
        let list: Value = (0..3).map(Value::int).collect();
        assert_eq!(keep(&list, Some(0), None), Some(Value::array(Vec::new())));
        assert_eq!(keep(&list, Some(5), Some(9)), Some(Value::array(Vec::new())));
        assert_eq!(keep(&list, Some(1), Some(1)), Some(Value::array(vec![Value::int(1)])));
        assert_eq!(keep(&list, None, Some(2)), Some(Value::array(vec![Value::int(2)])));
        assert_eq!(keep(&Value::int(7), Some(0), None), None);
    }
}
