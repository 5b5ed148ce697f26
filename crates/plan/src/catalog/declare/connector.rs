//! `via NAME`: which connector a table is of, and which of its clauses mean nothing there (CNC-2, CNC-4).

use std::sync::Arc;

use qlio_data::Text;
use qlio_syntax::{
    ast,
    diagnostic::{Diagnostic, codes},
    source::Span,
    spelling,
};

use super::Builder;
use crate::catalog::{Connector, connector::HTTP, table::Expected};

/// The arguments of `expect`.
pub(super) fn expects(written: &[ast::Expected]) -> Vec<Expected> {
    let expected = |expected: &ast::Expected| Expected {
        name: Text::from(expected.name.text.as_str()),
        is_required: expected.is_required,
    };
    written.iter().map(expected).collect()
}

impl Builder<'_> {
    /// The custom connector that a table names, if it is there and can be used.
    pub(super) fn connector(&mut self, create: &ast::Create) -> Option<Arc<Connector>> {
        let named = create.connector.as_ref().filter(|named| named.text != HTTP)?;
        let known = self.declaration.connectors;
        let Some(connector) = known.get(&named.text) else {
            let message = format!("unknown connector `{}`", named.text);
            let hint = match spelling::closest(&named.text, known.names()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => {
                    format!("write `connectors/{}.js`, or leave `via` out for HTTP", named.text)
                }
            };
            let problem = Diagnostic::error(codes::UNKNOWN_CONNECTOR, named.span, message);
            self.problems.push(problem.hint(hint));
            return None;
        };
        if let Some(reason) = &connector.broken {
            let message = format!("connector `{}` failed to load: {reason}", named.text);
            self.error(codes::BAD_CONNECTOR, named.span, message);
        }
        Some(Arc::clone(connector))
    }

    /// The verb without the clauses that say how HTTP is spoken, which a custom connector does not; warns
    /// of each.
    pub(super) fn without_idle_clauses(&mut self, verb: &ast::Verb) -> ast::Verb {
        let format = |clause: &Option<ast::FormatClause>| clause.as_ref().map(|it| it.span);
        let text = |clause: &Option<ast::RawText>| clause.as_ref().map(|it| it.span);
        let clauses: [(&str, Option<Span>); 11] = [
            ("using patch", text(&verb.patch)),
            ("using bodyTemplate", verb.body.as_ref().map(|body| body.template.span)),
            ("auth using", text(&verb.auth)),
            ("resultset", text(&verb.resultset)),
            ("expires", verb.expires.map(|count| count.span)),
            ("using format", format(&verb.format)),
            ("using request format", format(&verb.request_format)),
            ("using xml coerce", text(&verb.xml_coerce)),
            ("using xml arrays", verb.xml_arrays.first().map(|path| path.span)),
            ("using transformer", text(&verb.transformer)),
            ("paginate by", verb.paging.as_ref().map(|clause| clause.span)),
        ];
        for (clause, span) in clauses {
            let Some(span) = span else { continue };
            let message = format!("`{clause}` has no effect on a table of a custom connector");
            let hint = "what it says is the business of the connector's `exec`";
            self.problems.push(Diagnostic::warning(codes::IDLE_CLAUSE, span, message).hint(hint));
        }
        ast::Verb {
            patch: None,
            body: None,
            auth: None,
            resultset: None,
            expires: None,
            format: None,
            request_format: None,
            xml_coerce: None,
            xml_arrays: Vec::new(),
            transformer: None,
            paging: None,
            ..verb.clone()
        }
    }
}
