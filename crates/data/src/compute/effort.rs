//! How much there is to do for a computation, before it is done: about how many bytes it reads and makes.
//!
//! In: values. Out: a number of bytes, which is exact enough to tell what is done at once from what is better
//! done elsewhere. Counting ends as soon as there is enough, so it takes no longer than what is done at once.

use crate::Value;

/// Bytes that are written by copying others in about the time of one that is looked at.
const COPIED_BYTES: usize = 16;

/// About how many bytes a value takes with all its parts; more than `enough` is not counted further. A
/// structure that is still text counts as that.
pub fn bytes_read(value: &Value, enough: usize) -> usize {
    match value {
        Value::String(text) | Value::Raw(text) => text.len(),
        Value::Array(elements) => {
            let own = elements.len().saturating_mul(size_of::<Value>());
            bytes_of_parts(own, elements.iter(), enough)
        }
        Value::Object(members) => {
            let own = members.len().saturating_mul(2 * size_of::<Value>());
            bytes_of_parts(own, members.iter().map(|(_, member)| member), enough)
        }
        Value::Absent | Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn bytes_of_parts<'v>(own: usize, parts: impl Iterator<Item = &'v Value>, enough: usize) -> usize {
    let mut bytes = own;
    for part in parts {
        if bytes > enough {
            break;
        }
        bytes = bytes.saturating_add(bytes_read(part, enough - bytes));
    }
    bytes
}

/// The effort of copying so many bytes.
pub(super) fn of_copying(bytes: usize) -> usize {
    bytes / COPIED_BYTES
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compute::arbitrary::any_value;

    #[test]
    fn texts_and_lists_count_with_their_parts_until_there_is_enough() {
        let text = Value::from("x".repeat(100));
        assert_eq!(bytes_read(&text, 10), 100);
        assert_eq!(bytes_read(&Value::int(7), 10), 0);
        let slot = size_of::<Value>();
        let list = Value::array(vec![text.clone(), Value::array(vec![text.clone()])]);
        assert_eq!(bytes_read(&list, 10_000), 3 * slot + 200);
        let long = Value::array(vec![list; 1000]);
        let counted = bytes_read(&long, 2_000 * slot);
        assert!((2_000 * slot..2_100 * slot).contains(&counted), "{counted}");
    }

    proptest! {
        #[test]
        fn counting_ends_at_enough_and_never_before(value in any_value(), enough in 0_usize..400) {
            let all = bytes_read(&value, usize::MAX);
            let counted = bytes_read(&value, enough);
            prop_assert!(counted <= all);
            prop_assert_eq!(counted > enough, all > enough);
        }
    }
}
