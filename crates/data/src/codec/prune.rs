//! The other way to a projected value, to compare decoders with: build all, then keep what is asked.

use crate::{Value, projection::Projection};

/// Keeps of a value that was built whole what a projection asks for.
pub(super) fn prune(value: &Value, projection: &Projection) -> Value {
    match &*value.open() {
        Value::Object(object) => {
            let kept = object.iter().filter_map(|(name, member)| {
                let inner = projection.member(name.as_bytes())?;
                Some((name.clone(), prune(member, inner)))
            });
            Value::object(kept.collect())
        }
        Value::Array(elements) => {
            elements.iter().map(|element| prune(element, projection.element())).collect()
        }
        scalar => scalar.clone(),
    }
}
