//! `create table` and the route clause of `return`.

use super::{
    Doc, Printer,
    value::{path, raw, uri},
};
use crate::ast::{
    ColumnParameter, Count, Create, Expected, FormatClause, FormatOption, NameValue, PagingClause,
    PagingManner, RawText, RouteClause, RouteLimit, RouteStatus, Verb,
};

/// A table of one verb with at most this many clauses may stand on one line.
const FLAT_CLAUSES_MAX: usize = 1;

impl Printer<'_> {
    pub(super) fn create(&mut self, docs: &mut Vec<Doc>, node: &Create) {
        docs.push(Doc::text("create table"));
        self.separate(docs, Doc::Space, node.name.span.start);
        docs.push(Doc::text(&node.name.text));
        if let Some(connector) = &node.connector {
            self.separate(docs, Doc::Space, connector.span.start);
            docs.push(Doc::text(format!("via {}", connector.text)));
        }
        let mut verbs = Vec::new();
        let mut is_short = node.verbs.len() == 1;
        for verb in &node.verbs {
            self.separate(&mut verbs, Doc::Line, verb.span.start);
            let clauses = self.verb(&mut verbs, verb);
            is_short &= clauses <= FLAT_CLAUSES_MAX;
        }
        if node.verbs.is_empty() {
            return;
        }
        if !is_short {
            // Any line end in a group breaks all of it; this one is where a line ends anyway.
            verbs.insert(0, Doc::HardLine);
        }
        docs.push(Doc::Indent(verbs));
    }

    /// Prints a verb; gives the number of its clauses.
    fn verb(&mut self, docs: &mut Vec<Doc>, verb: &Verb) -> usize {
        docs.push(Doc::text(format!("on {}", verb.kind.as_str())));
        self.separate(docs, Doc::Space, verb.method.span.start);
        let method = verb.method.text.as_str();
        let preposition = match method {
            _ if verb.is_do => " at",
            "get" => " from",
            "post" | "put" | "grpc" => " to",
            _ => "",
        };
        let prefix = if verb.is_do { "do " } else { "" };
        docs.push(Doc::text(format!("{prefix}{method}{preposition}")));
        self.separate(docs, Doc::Space, verb.uri.span.start);
        docs.push(Doc::text(uri(&verb.uri)));
        let mut clauses = Clauses { docs: Vec::new(), count: 0 };
        self.verb_pairs(&mut clauses, verb);
        self.verb_texts(&mut clauses, verb);
        self.verb_extras(&mut clauses, verb);
        if clauses.count > 0 {
            let mut inner = clauses.docs;
            self.tail(&mut inner, verb.span.end);
            docs.push(Doc::Indent(inner));
        }
        clauses.count
    }

    fn verb_pairs(&mut self, clauses: &mut Clauses, verb: &Verb) {
        self.pairs(clauses, "with aliases ", &verb.aliases);
        if let Some(first) = verb.columns.first() {
            self.clause(clauses, "with columns ", first.path.span.start);
            let mut list = Vec::new();
            let span = |column: &ColumnParameter| column.path.span;
            self.list(&mut list, &verb.columns, span, |printer, docs, column| {
                docs.push(Doc::text(format!("{} {}", path(&column.path), column.test.symbol())));
                printer.separate(docs, Doc::Space, column.parameter.span.start);
                docs.push(Doc::text(raw(&column.parameter.text)));
            });
            clauses.docs.push(Doc::group(vec![Doc::Indent(list)]));
        }
        self.pairs(clauses, "using headers ", &verb.headers);
        if let Some(first) = verb.expect.first() {
            self.clause(clauses, "expect ", first.name.span.start);
            let span = |item: &Expected| item.name.span;
            let mut list = Vec::new();
            self.list(&mut list, &verb.expect, span, |_, docs, item| {
                let mark = if item.is_required { "^" } else { "" };
                docs.push(Doc::text(format!("{mark}{}", item.name.text)));
            });
            clauses.docs.push(Doc::group(vec![Doc::Indent(list)]));
        }
        self.pairs(clauses, "using defaults ", &verb.defaults);
    }

    fn verb_texts(&mut self, clauses: &mut Clauses, verb: &Verb) {
        self.text(clauses, "using patch ", verb.patch.as_ref());
        if let Some(body) = &verb.body {
            self.text(clauses, "using bodyTemplate ", Some(&body.template));
            self.separate(&mut clauses.docs, Doc::Space, body.media_type.span.start);
            clauses.docs.push(Doc::text(format!("type {}", raw(&body.media_type.text))));
            if let Some(foreach) = &body.foreach {
                self.separate(&mut clauses.docs, Doc::Space, foreach.span.start);
                clauses.docs.push(Doc::text(format!("foreach {}", raw(&foreach.text))));
            }
        }
        self.text(clauses, "auth using ", verb.auth.as_ref());
        self.text(clauses, "resultset ", verb.resultset.as_ref());
        if let Some(expires) = &verb.expires {
            self.clause(clauses, "expires ", expires.span.start);
            clauses.docs.push(Doc::text(expires.value.to_string()));
        }
    }

    fn verb_extras(&mut self, clauses: &mut Clauses, verb: &Verb) {
        self.format_clause(clauses, "using format ", verb.format.as_ref());
        self.format_clause(clauses, "using request format ", verb.request_format.as_ref());
        self.text(clauses, "using xml coerce ", verb.xml_coerce.as_ref());
        if let Some(first) = verb.xml_arrays.first() {
            self.clause(clauses, "using xml arrays ", first.span.start);
            self.raw_texts(&mut clauses.docs, &verb.xml_arrays);
        }
        self.text(clauses, "using transformer ", verb.transformer.as_ref());
        if let Some(oauth2) = &verb.oauth2 {
            let first = oauth2.options.first().map_or(0, |option| option.name.span.start);
            self.clause(clauses, "using oauth2", first);
            self.options(&mut clauses.docs, &oauth2.options);
        }
        if verb.is_paged_upstream {
            self.clause(clauses, "paging upstream", 0);
        }
        if let Some(paging) = &verb.paging {
            self.paging(clauses, paging);
        }
        if verb.is_retry_off {
            self.clause(clauses, "no retry", 0);
        }
        if let Some(first) = verb.passed_statuses.first() {
            self.clause(clauses, "pass status ", first.span.start);
            let mut list = Vec::new();
            let span = |status: &Count| status.span;
            self.list(&mut list, &verb.passed_statuses, span, |_, docs, status| {
                docs.push(Doc::text(status.value.to_string()));
            });
            clauses.docs.push(Doc::group(vec![Doc::Indent(list)]));
        }
    }

    fn paging(&mut self, clauses: &mut Clauses, paging: &PagingClause) {
        let mut parts = Vec::new();
        let first = match &paging.manner {
            PagingManner::Page { parameter, first } => {
                parts.push((format!("page {}", raw(&parameter.text)), parameter.span));
                parts.extend(first.map(|first| (format!("from {}", first.value), first.span)));
                parameter.span
            }
            PagingManner::Offset { parameter } => {
                parts.push((format!("offset {}", raw(&parameter.text)), parameter.span));
                parameter.span
            }
            PagingManner::Cursor { parameter, path } => {
                parts.push((format!("cursor {}", raw(&parameter.text)), parameter.span));
                parts.push((format!("from {}", raw(&path.text)), path.span));
                parameter.span
            }
            PagingManner::Link => {
                parts.push(("link".to_owned(), paging.span));
                paging.span
            }
        };
        if let Some((parameter, size)) = &paging.size {
            let text = format!("size {} {}", raw(&parameter.text), size.value);
            parts.push((text, size.span));
        }
        if let Some(total) = &paging.total {
            parts.push((format!("total {}", raw(&total.text)), total.span));
        }
        if let Some(most) = paging.pages_max {
            parts.push((format!("up to {} pages", most.value), most.span));
        }
        self.clause(clauses, "paginate by", first.start);
        for (text, span) in parts {
            self.separate(&mut clauses.docs, Doc::Space, span.start);
            clauses.docs.push(Doc::text(text));
        }
    }

    fn clause(&mut self, clauses: &mut Clauses, keyword: &str, value_start: u32) {
        clauses.count += 1;
        self.separate(&mut clauses.docs, Doc::Line, value_start);
        clauses.docs.push(Doc::text(keyword));
    }

    fn pairs(&mut self, clauses: &mut Clauses, keyword: &str, pairs: &[NameValue]) {
        let Some(first) = pairs.first() else { return };
        self.clause(clauses, keyword, first.name.span.start);
        self.name_values(&mut clauses.docs, pairs);
    }

    fn text(&mut self, clauses: &mut Clauses, keyword: &str, text: Option<&RawText>) {
        let Some(text) = text else { return };
        self.clause(clauses, keyword, text.span.start);
        clauses.docs.push(Doc::text(raw(&text.text)));
    }

    fn format_clause(&mut self, clauses: &mut Clauses, keyword: &str, node: Option<&FormatClause>) {
        let Some(node) = node else { return };
        self.text(clauses, keyword, Some(&node.format));
        self.options(&mut clauses.docs, &node.options);
    }

    /// `name 'value'` for each option.
    fn options(&mut self, docs: &mut Vec<Doc>, options: &[FormatOption]) {
        for option in options {
            self.separate(docs, Doc::Space, option.name.span.start);
            docs.push(Doc::text(&option.name.text));
            self.separate(docs, Doc::Space, option.value.span.start);
            let is_word = option.name.text == "defaults";
            docs.push(Doc::text(if is_word {
                option.value.text.clone()
            } else {
                raw(&option.value.text)
            }));
        }
    }

    /// `via route '…' …`, each part on a line of its own if it does not fit.
    pub(super) fn route(&mut self, docs: &mut Vec<Doc>, node: &RouteClause) {
        self.separate(docs, Doc::Line, node.path.span.start);
        docs.push(Doc::text(format!("via route {}", path_template(&node.path.text))));
        if node.has_optional_params {
            docs.push(Doc::Line);
            docs.push(Doc::text("with optional params"));
        }
        if let Some(first) = node.defaults.first() {
            self.separate(docs, Doc::Line, first.name.span.start);
            docs.push(Doc::text("using defaults "));
            self.name_values(docs, &node.defaults);
        }
        self.separate(docs, Doc::Line, node.method.span.start);
        docs.push(Doc::text(format!("using method {}", node.method.text)));
        if let Some(status) = &node.status {
            self.separate(docs, Doc::Line, status.span().start);
            docs.push(Doc::text(match status {
                RouteStatus::Number(count) => format!("using status {}", count.value),
                RouteStatus::Text(text) => format!("using status {}", raw(&text.text)),
            }));
        }
        if let Some(first) = node.headers.first() {
            self.separate(docs, Doc::Line, first.name.span.start);
            docs.push(Doc::text("using headers "));
            self.name_values(docs, &node.headers);
        }
        if let Some(deadline) = &node.deadline {
            self.separate(docs, Doc::Line, deadline.span.start);
            docs.push(Doc::text(format!("using deadline {}", deadline.value)));
        }
        if let Some(first) = node.limits.first() {
            self.separate(docs, Doc::Line, first.span.start);
            docs.push(Doc::text("using limits "));
            let mut list = Vec::new();
            self.list(
                &mut list,
                &node.limits,
                |limit| limit.span,
                |printer, docs, RouteLimit { limit, most, .. }| {
                    docs.push(Doc::text(format!("{} =", limit.name())));
                    printer.separate(docs, Doc::Space, most.span.start);
                    docs.push(Doc::text(most.value.to_string()));
                },
            );
            docs.push(Doc::group(vec![Doc::Indent(list)]));
        }
    }
}

/// The clauses of one verb so far.
struct Clauses {
    docs: Vec<Doc>,
    count: usize,
}

/// A route's path: single quotes if possible, also around tokens.
fn path_template(text: &str) -> String {
    let quote = if text.contains('\'') { '"' } else { '\'' };
    format!("{quote}{text}{quote}")
}
