//! Conditions of a `where` clause on one source.

use qlio_data::path::Path;
use qlio_syntax::{
    ast,
    diagnostic::{Diagnostic, codes},
};

use super::{Lowering, path, path_text};
use crate::operator::{Condition, Delays, Expected};

impl Lowering<'_> {
    /// Lowers a condition on a source of a select or delete; the source's alias is cut off its left
    /// side.
    pub(super) fn condition(
        &mut self,
        condition: &ast::Condition,
        source: &ast::Source,
    ) -> Option<Condition> {
        let (left, expected) = match condition {
            ast::Condition::Equals { path, operand, .. } => {
                (path, Expected::Equals(self.operand(operand)))
            }
            ast::Condition::InList { path, items, .. } => {
                let items = items.iter().map(|item| self.listed_operand(item)).collect();
                (path, Expected::List(items))
            }
            ast::Condition::InSelect { path, select, .. } => {
                (path, Expected::Select(Box::new(self.select(select))))
            }
            ast::Condition::Call(_) | ast::Condition::Test(_) => return None,
        };
        let alias = source.alias.as_ref().map(|alias| alias.text.as_str());
        let left = strip_alias(left, alias);
        Some(Condition { name: path_text(&left).into(), path: self.path(&left), expected })
    }

    /// Lowers a path; a bad expression in it is reported and reads nothing.
    pub(super) fn path(&mut self, path: &ast::Path) -> Path {
        self.warn_of_cast(path);
        match path::lower_path(path) {
            Ok(mut lowered) => {
                let mut slots = Vec::new();
                let symbols = &self.symbols;
                lowered.bind(&mut |name| {
                    let slot = symbols.slot(name)?;
                    slots.push(slot);
                    Some(slot)
                });
                for slot in slots {
                    self.read(slot);
                }
                lowered
            }
            Err(error) => {
                self.problems.push(Diagnostic::error(
                    codes::PATH_EXPRESSION,
                    path.span,
                    error.to_string(),
                ));
                Path::from_segments(Vec::new())
            }
        }
    }
}

/// The path without `alias.`, if it begins with it.
pub(super) fn strip_alias(path: &ast::Path, alias: Option<&str>) -> ast::Path {
    alias.and_then(|alias| path::without_alias(path, alias)).unwrap_or_else(|| path.clone())
}

/// Bounds of a statement; 0 counts as not given (SEL-28).
pub(super) fn delays(delays: &ast::Delays) -> Delays {
    let given =
        |count: Option<ast::Count>| count.map(|count| count.value).filter(|value| *value > 0);
    Delays {
        timeout_ms: given(delays.timeout),
        delay_ms_min: given(delays.min_delay),
        delay_ms_max: given(delays.max_delay),
        deadline_ms: given(delays.deadline),
    }
}
