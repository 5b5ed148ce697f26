//! Selects whose rows are put together.

use super::Select;

/// One of the selects of a union.
#[derive(Debug)]
pub struct Unioned {
    /// Rows that earlier selects have given, too, are added as well.
    pub is_all: bool,
    /// What gives the rows.
    pub select: Select,
}
