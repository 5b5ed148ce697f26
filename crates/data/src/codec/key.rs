//! Keys of maps that are no text, for formats whose maps have keys of any type.

use super::json;
use crate::{Text, Value};

/// Bytes of the text of a key that is an array or map. Keys within keys are quoted again at each
/// level and would double each time.
pub(super) const KEY_BYTES_MAX: usize = 4096;

/// The text of a key (FMT-36): scalars as they print, null and structures as JSON.
/// `None` is a structure of more than [`KEY_BYTES_MAX`] bytes.
pub(super) fn text(key: &Value) -> Option<Text> {
    if let Some(text) = key.scalar_text() {
        return Some(text);
    }
    let mut out = Vec::new();
    json::encode_within(key, &mut out, KEY_BYTES_MAX).ok()?;
    Text::from_utf8(out.into()).ok()
}
