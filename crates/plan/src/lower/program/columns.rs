//! What words of an expression stand for: columns of its sources, and in `order by` names of the output.

use std::collections::HashMap;

use qlio_data::path::Path;
use qlio_syntax::{
    ast::{self, ExpressionKind},
    parser::last_name,
    source::Span,
};

use super::super::{
    Lowering, condition::strip_alias, join::Halves, path_text, scope::Matches, select::ScanBuilder,
    without_alias,
};
use crate::operator::{ColumnPath, Side};

/// The sources whose rows an expression sees.
pub(in crate::lower) enum RowColumns<'c, 's> {
    /// One source, perhaps with an alias.
    One { alias: Option<&'s str>, builder: &'c mut ScanBuilder },
    /// Two.
    Two(&'c mut Halves<'s>),
    /// Those of the innermost scope, and what it sees of the rows around.
    Scoped,
}

impl RowColumns<'_, '_> {
    pub(in crate::lower) fn column(
        &mut self,
        lowering: &mut Lowering<'_>,
        path: &ast::Path,
    ) -> (Side, usize) {
        match self {
            Self::One { alias, builder } => {
                if alias.is_some_and(|alias| path_text(path) == alias) {
                    return (Side::Main, builder.row());
                }
                (Side::Main, lowering.column(path, *alias, builder))
            }
            Self::Two(halves) => halves.column(lowering, path),
            Self::Scoped => lowering.scoped_column(path, Matches::Value),
        }
    }

    /// A column that holds all matches, as filters see them.
    pub(super) fn key(&mut self, lowering: &mut Lowering<'_>, path: &ast::Path) -> (Side, usize) {
        match self {
            Self::One { alias, builder } => {
                (Side::Main, lowering.key_column(path, *alias, builder))
            }
            Self::Two(halves) => halves.key(lowering, path),
            Self::Scoped => lowering.scoped_column(path, Matches::Key),
        }
    }

    /// The whole rows of the sources, of several all but those that are around.
    pub(in crate::lower) fn rows(&mut self, lowering: &mut Lowering<'_>) -> Vec<(Side, usize)> {
        match self {
            Self::Scoped => {
                let sources = lowering.scope().parts.len();
                (0..sources).map(|place| lowering.row_column(place)).collect()
            }
            _ => vec![self.row()],
        }
    }

    /// The whole row, where there is one source.
    pub(in crate::lower) fn row(&mut self) -> (Side, usize) {
        match self {
            Self::One { builder, .. } => (Side::Main, builder.row()),
            // The checks of `syntax` have refused `*` in joins.
            Self::Two(halves) => (Side::Main, halves.main.row()),
            Self::Scoped => (Side::Main, 0),
        }
    }

    /// A path without the alias of the one source, and whether it is the row itself.
    pub(super) fn own_path(&self, path: &ast::Path) -> (ast::Path, bool) {
        match self {
            Self::One { alias, .. } => {
                let is_row = alias.is_some_and(|alias| path_text(path) == alias);
                (strip_alias(path, *alias), is_row)
            }
            Self::Two(_) | Self::Scoped => (path.clone(), false),
        }
    }

    /// Whether a path begins with the alias of a source, or is it.
    pub(super) fn is_own(&self, lowering: &Lowering<'_>, path: &ast::Path) -> bool {
        let has = |alias: &str| without_alias(path, alias).is_some() || path_text(path) == alias;
        match self {
            Self::One { alias, .. } => alias.is_some_and(has),
            Self::Two(halves) => has(halves.main_alias) || has(halves.joined_alias),
            Self::Scoped => lowering.is_visible(path),
        }
    }
}

impl ScanBuilder {
    /// The column that is the row itself.
    pub(in crate::lower) fn row(&mut self) -> usize {
        self.add("\u{0}row".to_owned(), ColumnPath::Static(Path::from_segments(Vec::new())), false)
    }

    /// The row itself, as filters see it.
    pub(in crate::lower) fn row_key(&mut self) -> usize {
        self.add("\u{0}key".to_owned(), ColumnPath::Static(Path::from_segments(Vec::new())), true)
    }
}

/// What a name of the output stands for in `order by`.
#[derive(Clone, Copy)]
pub(in crate::lower) enum OutputName<'s> {
    /// A column of the row.
    Path(&'s ast::Path),
    /// A computed column.
    Expression(&'s ast::Expression),
    /// A function of a module.
    Call(Span),
}

/// The names of an output that is an object.
pub(in crate::lower) fn output_names(columns: &ast::Columns) -> HashMap<&str, OutputName<'_>> {
    let mut names = HashMap::new();
    let ast::Columns::List(columns) = columns else { return names };
    for column in columns {
        let alias = column.alias.as_ref().map(|alias| alias.text.as_str());
        match (alias, &column.value) {
            (Some(alias), ast::ColumnValue::Path(path)) => {
                names.insert(alias, OutputName::Path(path));
            }
            (None, ast::ColumnValue::Path(path)) => {
                names.extend(last_name(path).map(|name| (name, OutputName::Path(path))));
            }
            (Some(alias), ast::ColumnValue::Expression(expression)) => {
                names.insert(alias, OutputName::Expression(expression));
            }
            (Some(alias), ast::ColumnValue::Call(call)) => {
                names.insert(alias, OutputName::Call(call.span));
            }
            (None, ast::ColumnValue::Expression(expression)) => {
                let ExpressionKind::Object(members) = &expression.kind else { continue };
                for member in members {
                    match member {
                        ast::ObjectMember::Named { key, value, .. } => {
                            names.insert(key, OutputName::Expression(value));
                        }
                        ast::ObjectMember::Path(path) => {
                            names
                                .extend(last_name(path).map(|name| (name, OutputName::Path(path))));
                        }
                        ast::ObjectMember::Star(_) => {}
                    }
                }
            }
            (_, ast::ColumnValue::Call(_) | ast::ColumnValue::Star(_)) => {}
        }
    }
    names
}
