//! `paginate by` of a verb, checked (PAG-1).

use qlio_data::Text;
use qlio_syntax::{
    ast::{self, VerbKind},
    diagnostic::{Diagnostic, codes},
    source::Span,
};

use super::{Builder, parameters::Parameters};
use crate::catalog::{PageSize, Paging, PagingManner};

impl Builder<'_> {
    /// How rows come in pages; what is wrong with it is reported.
    pub(super) fn paging(&mut self, parameters: &Parameters<'_>) -> Option<Paging> {
        let clause = parameters.verb.paging.as_ref()?;
        let before = self.problems.len();
        if parameters.verb.kind != VerbKind::Select {
            self.bad_paging(
                clause.span,
                "`paginate by` belongs to `on select`".to_owned(),
                "other verbs send what they are given, in one request",
            );
        }
        if parameters.verb.is_paged_upstream {
            self.bad_paging(
                clause.span,
                "`paginate by` and `paging upstream` exclude each other".to_owned(),
                "`paging upstream` leaves `limit` to the API; leave it out",
            );
        }
        let size = clause.size.as_ref().map(|(parameter, rows)| {
            if rows.value == 0 {
                let hint = "say how many rows the API sends at a time";
                self.bad_paging(rows.span, "a page of no rows never ends".to_owned(), hint);
            }
            PageSize { parameter: self.paging_parameter(parameter, parameters), rows: rows.value }
        });
        let manner = match &clause.manner {
            ast::PagingManner::Page { parameter, first } => PagingManner::Page {
                parameter: self.paging_parameter(parameter, parameters),
                first: first.map_or(1, |first| first.value),
            },
            ast::PagingManner::Offset { parameter } => {
                PagingManner::Offset { parameter: self.paging_parameter(parameter, parameters) }
            }
            ast::PagingManner::Cursor { parameter, path } => PagingManner::Cursor {
                parameter: self.paging_parameter(parameter, parameters),
                path: self.answer_path(path),
            },
            ast::PagingManner::Link => PagingManner::Link,
        };
        let total = clause.total.as_ref().map(|path| self.answer_path(path));
        if let Some(most) = clause.pages_max.filter(|most| most.value == 0) {
            let hint = "say at least `up to 1 pages`";
            self.bad_paging(most.span, "up to no pages there is no row".to_owned(), hint);
        }
        let paging =
            Paging { manner, size, total, pages_max: clause.pages_max.map(|most| most.value) };
        if let (Some(page), Some(size)) = (paging.parameter(), &paging.size)
            && *page == size.parameter
        {
            let message =
                format!("`{page}` cannot say both which page is meant and how large it is");
            self.bad_paging(clause.span, message, "name two parameters");
        }
        (self.problems.len() == before).then_some(paging)
    }

    /// A parameter that the request must have a place for.
    fn paging_parameter(&mut self, name: &ast::RawText, parameters: &Parameters<'_>) -> Text {
        if !parameters.has(&name.text) {
            let message = format!("the request has no parameter `{}`", name.text);
            let hint = parameters.closest_to(&name.text).unwrap_or_else(|| {
                format!("name one of its URI, headers or body, such as `{{{}}}`", name.text)
            });
            self.bad_paging(name.span, message, &hint);
        }
        Text::from(name.text.as_str())
    }

    /// The steps of a path from the root of an answer.
    fn answer_path(&mut self, written: &ast::RawText) -> Vec<Text> {
        let steps: Vec<Text> = written.text.split('.').map(Text::from).collect();
        if steps.iter().any(|step| step.trim().is_empty()) {
            let message = format!("the path `{}` has an empty step", written.text);
            let hint = "write names joined by single dots, from the root of the answer, such as `meta.next`";
            self.bad_paging(written.span, message, hint);
        }
        steps
    }

    fn bad_paging(&mut self, span: Span, message: String, hint: &str) {
        self.problems.push(Diagnostic::error(codes::BAD_PAGING, span, message).hint(hint));
    }
}
