//! Texts as operands, and texts as results, which are bounded.

use super::ComputeError;
use crate::{Text, Value};

/// The most bytes of a text that an expression makes.
pub const TEXT_BYTES_MAX: usize = 16 << 20;

/// What messages say that an operand should have been.
pub(super) const TEXT: &str = "a text";

/// The text of a text, a number or a truth value (VAL-5). Errors name position 0.
pub(super) fn read(value: &Value) -> Result<Text, ComputeError> {
    value.scalar_text().ok_or_else(|| ComputeError::wrong(0, value, TEXT))
}

/// `left & right`: the texts of both, one behind the other; null if either is.
pub fn join(left: &Value, right: &Value) -> Result<Value, ComputeError> {
    if left.is_nothing() || right.is_nothing() {
        // That a list has no text must not depend on the other side.
        for (at, side) in [left, right].into_iter().enumerate() {
            if side.is_structure() {
                return Err(ComputeError::wrong(at, side, TEXT));
            }
        }
        return Ok(Value::Null);
    }
    let (left, right) = (read(left)?, read(right).map_err(|error| error.at(1))?);
    let mut out = TextWriter::new();
    out.push(&left)?;
    out.push(&right)?;
    Ok(out.finish().into())
}

/// A text that is being made, within the limit.
#[derive(Debug, Default)]
pub(super) struct TextWriter(String);

impl TextWriter {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn push(&mut self, part: &str) -> Result<(), ComputeError> {
        check_length(self.0.len().saturating_add(part.len()))?;
        self.0.push_str(part);
        Ok(())
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Whether a text of so many bytes may be made.
pub(super) fn check_length(bytes: usize) -> Result<(), ComputeError> {
    if bytes <= TEXT_BYTES_MAX {
        return Ok(());
    }
    Err(too_long())
}

/// A text that would be longer than any may be.
pub(super) fn too_long() -> ComputeError {
    ComputeError::TooLarge {
        limit: "text_bytes_max",
        maximum: TEXT_BYTES_MAX,
        unit: "bytes of text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_scalars_join_and_null_stays_null() {
        let joined = |left: Value, right: Value| join(&left, &right);
        assert_eq!(joined("a".into(), Value::int(1)), Ok(Value::from("a1")));
        assert_eq!(joined(true.into(), "".into()), Ok(Value::from("true")));
        assert_eq!(joined(Value::Null, "a".into()), Ok(Value::Null));
        assert_eq!(joined("a".into(), Value::Absent), Ok(Value::Null));
        let error = joined(Value::Null, Value::array(vec![])).unwrap_err();
        assert_eq!((error.position(), error.to_string()), (Some(1), "a list is not a text".into()));
    }

    #[test]
    fn a_text_beyond_the_limit_is_refused() {
        let half = Value::from("x".repeat(TEXT_BYTES_MAX / 2));
        assert!(join(&half, &half).is_ok());
        let error = join(&join(&half, &half).unwrap(), &"x".into()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the result has more than 16777216 bytes of text (text_bytes_max)"
        );
    }
}
