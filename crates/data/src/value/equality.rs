//! Equality of whole values as JSON documents, for tests and for telling changes.
//!
//! Two values are equal if writing them gives the same JSON, however they are kept: numbers by
//! value, members in any order, raw structures by what is in them. Absent members are left out, as
//! they are when written; in an array absent and null are the same. As a whole, absent equals only
//! absent. For `==` of the language see [`loose`](super::loose).

use std::{borrow::Cow, sync::Arc};

use super::{Object, Value, strict::strictly_equals};

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        // Values nest as deep as scripts build them: an explicit list instead of recursion.
        let mut pairs: Vec<(Cow<'_, Self>, Cow<'_, Self>)> =
            vec![(Cow::Borrowed(self), Cow::Borrowed(other))];
        while let Some((a, b)) = pairs.pop() {
            let is_same = match (opened(&a), opened(&b)) {
                (Opened::Scalar(a), Opened::Scalar(b)) => strictly_equals(&a, &b),
                (Opened::Array(a), Opened::Array(b)) => {
                    if !Arc::ptr_eq(&a, &b) {
                        pairs.extend(a.iter().zip(b.iter()).map(|(a, b)| (element(a), element(b))));
                    }
                    a.len() == b.len()
                }
                (Opened::Object(a), Opened::Object(b)) => {
                    let present = |value: &&Self| !value.is_absent();
                    let mut is_same = a.iter().filter(|(_, value)| present(value)).count()
                        == b.iter().filter(|(_, value)| present(value)).count();
                    if !Arc::ptr_eq(&a, &b) {
                        for (name, value) in a.iter().filter(|(_, value)| present(value)) {
                            match b.get(name).filter(present) {
                                Some(other) => pairs
                                    .push((Cow::Owned(value.clone()), Cow::Owned(other.clone()))),
                                None => is_same = false,
                            }
                        }
                    }
                    is_same
                }
                _ => false,
            };
            if !is_same {
                return false;
            }
        }
        true
    }
}

enum Opened {
    Scalar(Value),
    Array(Arc<Vec<Value>>),
    Object(Arc<Object>),
}

fn opened(value: &Value) -> Opened {
    match value.open().into_owned() {
        Value::Array(elements) => Opened::Array(elements),
        Value::Object(object) => Opened::Object(object),
        scalar => Opened::Scalar(scalar),
    }
}

fn element(value: &Value) -> Cow<'static, Value> {
    Cow::Owned(if value.is_absent() { Value::Null } else { value.clone() })
}
