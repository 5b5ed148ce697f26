//! `with columns`: which parameters decide which rows an API sends, and by which column (TAB-24).

use qlio_data::{Text, path::Path};
use qlio_syntax::{
    ast::{self, VerbKind},
    diagnostic::{Diagnostic, codes},
};

use super::{Builder, parameters::Parameters};
use crate::{
    catalog::table::ColumnParameter,
    lower::{lower_path, path_text},
};

impl Builder<'_> {
    /// The declared columns; what is wrong with one is reported.
    pub(super) fn columns(
        &mut self,
        written: &[ast::ColumnParameter],
        parameters: &Parameters<'_>,
    ) -> Vec<ColumnParameter> {
        let Some(first) = written.first() else { return Vec::new() };
        if parameters.verb.kind != VerbKind::Select {
            let message = "`with columns` belongs to `on select`".to_owned();
            let hint = "it says which rows a select gets; other verbs give none to choose from";
            let problem = Diagnostic::error(codes::BAD_COLUMNS, first.path.span, message);
            self.problems.push(problem.hint(hint));
            return Vec::new();
        }
        let mut columns: Vec<ColumnParameter> = Vec::with_capacity(written.len());
        for (place, column) in written.iter().enumerate() {
            let Some(path) = self.column_path(&column.path) else { continue };
            let name = path_text(&column.path);
            let parameter = column.parameter.text.as_str();
            if !parameters.has(parameter) {
                let message = format!("the request has no parameter `{parameter}`");
                let hint = parameters.closest_to(parameter).unwrap_or_else(|| {
                    format!("name one of its URI, headers or body, such as `{{{parameter}}}`")
                });
                let span = column.parameter.span;
                let problem = Diagnostic::error(codes::BAD_COLUMNS, span, message);
                self.problems.push(problem.hint(hint));
                continue;
            }
            let is_same = |other: &&ast::ColumnParameter| {
                other.parameter.text == parameter
                    || (other.test == column.test && path_text(&other.path) == name)
            };
            if let Some(other) = written[..place].iter().find(is_same) {
                let message = if other.parameter.text == parameter {
                    format!("the parameter `{parameter}` stands for two columns")
                } else {
                    format!("`{name} {}` stands twice", column.test.symbol())
                };
                let problem = Diagnostic::error(codes::BAD_COLUMNS, column.path.span, message)
                    .label(other.path.span, "first here");
                self.problems.push(problem);
                continue;
            }
            let (column, test) = (Text::from(name), column.test);
            columns.push(ColumnParameter { column, path, test, parameter: parameter.into() });
        }
        columns
    }

    /// The path of a column, which must be the same for all statements.
    fn column_path(&mut self, written: &ast::Path) -> Option<Path> {
        let is_fixed = written.segments.iter().all(|segment| match segment {
            ast::Segment::Member { name, .. } => !name.contains('{'),
            ast::Segment::Index(_) | ast::Segment::Wildcard => true,
            ast::Segment::Descendant(_)
            | ast::Segment::Slice { .. }
            | ast::Segment::Filter(_)
            | ast::Segment::Computed(_) => false,
        });
        if let Some(path) = lower_path(written).ok().filter(|_| is_fixed) {
            return Some(path);
        }
        let message = "`with columns` names a column by members and places only".to_owned();
        let problem = Diagnostic::error(codes::BAD_COLUMNS, written.span, message);
        self.problems.push(problem.hint("write it as `a`, `a.b` or `a[*].b`"));
        None
    }
}
