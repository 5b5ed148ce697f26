//! Tables of connectors out of process, held against what the connector says it can do (PRO-4).

use std::sync::Arc;

use qlio_data::uri_template::UriTemplate;
use qlio_syntax::{
    ast,
    diagnostic::{Diagnostic, codes},
    spelling,
};

use super::Builder;
use crate::catalog::{ConnectorSource, RemoteSource, Verb};

impl Builder<'_> {
    /// What the connector of a verb, if it is one out of process, takes at the text behind `at`.
    pub(super) fn remote_source(
        &mut self,
        verb: &ast::Verb,
        uri: &UriTemplate,
    ) -> Option<Arc<RemoteSource>> {
        let connector = self.connector.clone()?;
        let ConnectorSource::Remote(remote) = &connector.source else { return None };
        if connector.broken.is_some() {
            return None;
        }
        if let Some(token) = uri.tokens().first() {
            let message = format!(
                "the text behind `at` has a token, `{{{}}}`; connectors out of process get values apart from \
                 it, as parameters",
                token.name
            );
            self.unfit(
                verb.uri.span,
                message,
                "write it without, and say `where` in the select".into(),
            );
            return None;
        }
        let (name, method) = (&connector.name, verb.method.text.as_str());
        let Some(described) = remote.description.verb(method) else {
            let known = remote.description.verbs().map(|(name, _)| name);
            let message = format!("connector `{name}` has no verb `{method}`");
            self.unfit(verb.method.span, message, meant_or_all(method, known));
            return None;
        };
        if !described.kinds().contains(&verb.kind) {
            let message =
                format!("`{method}` of connector `{name}` does not serve `{}`", verb.kind.as_str());
            let kinds = described.kinds().iter().map(|kind| kind.as_str());
            self.unfit(verb.method.span, message, meant_or_all("", kinds));
            return None;
        }
        let at = uri.text();
        let Some(source) = described.source(at) else {
            let message = format!("`{method}` of connector `{name}` knows no `{at}`");
            self.unfit(verb.uri.span, message, meant_or_all(at, described.sources()));
            return None;
        };
        Some(Arc::clone(source))
    }

    fn unfit(&mut self, span: qlio_syntax::source::Span, message: String, hint: String) {
        self.problems.push(Diagnostic::error(codes::UNFIT_CONNECTOR, span, message).hint(hint));
    }
}

/// Names that are listed in a hint.
const LISTED_MAX: usize = 10;

fn meant_or_all<'n>(name: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    if let Some(meant) = spelling::closest(name, known.clone()) {
        return format!("did you mean `{meant}`?");
    }
    let listed: Vec<_> = known.clone().take(LISTED_MAX).collect();
    let more = if known.count() > LISTED_MAX { ", …" } else { "" };
    format!("it has `{}`{more}", listed.join("`, `"))
}

/// A verb with what its connector takes.
pub(super) fn with_source(mut verb: Verb, source: Option<Arc<RemoteSource>>) -> Verb {
    if let Some(source) = &source {
        // What is sent is cut here again: a connector that sends more than it was asked for does no harm.
        verb.takes_limit = false;
        verb.takes_offset = source.takes_limit && source.takes_offset;
        if verb.kind == ast::VerbKind::Select && verb.columns.is_empty() {
            verb.columns = source.column_parameters();
        }
    }
    verb.remote = source;
    verb
}
