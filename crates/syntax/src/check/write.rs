//! The parts of an `insert` that go together.

use super::{Checker, Site, select};
use crate::{
    ast::{Columns, Insert},
    diagnostic::codes,
};

/// Columns need as many values; an object stands alone.
pub(super) fn insert(checker: &mut Checker<'_>, site: Site, node: &Insert) {
    if let Some(columns) = &node.columns {
        select::aliases(checker, site, columns, node.span);
    }
    if node.object.is_some() && (node.columns.is_some() || node.values.is_some()) {
        let message = "Inserting JSON object cannot co-exist with name value pairs or opaque body.";
        checker.add(site, codes::OBJECT_WITH_COLUMNS, node.span, message);
        return;
    }
    match (&node.columns, &node.values) {
        (Some(_), None) => {
            let message = "Values are required if columns are specified.";
            checker.add(site, codes::MISSING_VALUES, node.span, message);
        }
        (Some(columns), Some(values)) => {
            let has_pairs = match columns {
                Columns::Star(_) => false,
                Columns::List(columns) => columns.len() == values.len(),
            };
            if !has_pairs {
                let message = "Number of values does not match number of columns.";
                checker.add(site, codes::VALUE_COUNT, node.span, message);
            }
        }
        (None, Some(values)) if values.len() > 1 => {
            let message = "Values do not have paired columns.";
            checker.add(site, codes::UNPAIRED_VALUES, node.span, message);
        }
        _ => {}
    }
}
