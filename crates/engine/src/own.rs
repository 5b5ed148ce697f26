//! The values that a statement itself says.

use qlio_data::{Text, Value};

/// The values of a statement by parameter name; of two with one name the later holds.
pub(crate) type Own = Vec<(Text, Value)>;
