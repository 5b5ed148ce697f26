//! Whether a message came through a format unharmed.
//!
//! Formats differ in what they can say: XML has no numbers and no arrays of one, Protocol Buffers has
//! no difference between unset and default. [`Leniency`] says which of these differences are forgiven;
//! [`difference`] names the first one that is not.

use std::fmt::Write as _;

use qlio_data::Value;

/// Differences that a format cannot help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leniency {
    /// A member that is missing on one side may be null, false, 0, `""` or empty on the other.
    defaults: bool,
    /// A number or boolean may be its text, and text may lose blanks around it.
    texts: bool,
    /// An element alone may stand for an array of one.
    single: bool,
}

impl Leniency {
    /// Nothing; members may come in another order.
    pub const EXACT: Self = Self { defaults: false, texts: false, single: false };
    /// As [`EXACT`](Self::EXACT): formats of texts in agreed order.
    pub const ORDER: Self = Self::EXACT;
    /// What a schema decides: defaults are not sent, 64-bit numbers are texts.
    pub const SCHEMA: Self = Self { defaults: true, texts: true, single: false };
    /// What text without types loses.
    pub const TEXT: Self = Self { defaults: true, texts: true, single: true };
}

/// The first place where `after` says something else than `before`, as a path; `None` if there is none.
pub fn difference(before: &Value, after: &Value, leniency: Leniency) -> Option<String> {
    let mut path = String::from("$");
    differs(before, after, leniency, &mut path).then_some(path)
}

/// Leaves the place in `path` if it answers true. Both values were decoded under a bound of depth.
fn differs(before: &Value, after: &Value, leniency: Leniency, path: &mut String) -> bool {
    let (before, after) = (&*before.open(), &*after.open());
    match (before, after) {
        (Value::Object(a), Value::Object(b)) => {
            let missing = b.iter().filter(|(name, _)| a.get(name).is_none());
            let pairs = a
                .iter()
                .map(|(name, value)| (name, value, b.get(name)))
                .chain(missing.map(|(name, value)| (name, value, None)));
            for (name, value, other) in pairs {
                let length = path.len();
                path.push('.');
                path.push_str(name);
                let is_different = match other {
                    Some(other) => differs(value, other, leniency, path),
                    None => !(value.is_absent() || leniency.defaults && is_default(value)),
                };
                if is_different {
                    return true;
                }
                path.truncate(length);
            }
            false
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return true;
            }
            for (at, (a, b)) in a.iter().zip(b.iter()).enumerate() {
                let length = path.len();
                // Writing to a string cannot fail.
                let _ = write!(path, "[{at}]");
                if differs(a, b, leniency, path) {
                    return true;
                }
                path.truncate(length);
            }
            false
        }
        (Value::Array(a), _) if leniency.single && a.len() == 1 => {
            differs(&a[0], after, leniency, path)
        }
        // An array inside XML has one element around each of its own.
        (Value::Array(_), Value::Object(b)) if leniency.single && b.len() == 1 => {
            b.get("item").is_none_or(|inner| differs(before, inner, leniency, path))
        }
        (a, b) => {
            !(scalars_equal(a, b, leniency) || leniency.defaults && is_default(a) && is_default(b))
        }
    }
}

#[expect(clippy::float_cmp, reason = "a number must come back as it was")]
fn scalars_equal(a: &Value, b: &Value, leniency: Leniency) -> bool {
    match (a, b) {
        (Value::Absent | Value::Null, Value::Absent | Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => {
            a == b || leniency.texts && a.as_str().trim() == b.as_str().trim()
        }
        (Value::Number(x), Value::Number(y)) => {
            // Texts decide about numbers that a float cannot hold.
            x.to_shortest() == y.to_shortest() || x.as_i64().is_none() && x.as_f64() == y.as_f64()
        }
        _ if leniency.texts => match (a.scalar_text(), b.scalar_text()) {
            (Some(a), Some(b)) => a.as_str().trim() == b.as_str().trim(),
            _ => false,
        },
        _ => false,
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) | Value::Raw(_) => value.is_empty(),
        Value::String(text) => text.as_str().trim().is_empty(),
        other => !other.is_truthy(),
    }
}
