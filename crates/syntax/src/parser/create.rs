//! `create table` and the heads of its `on …` blocks (GRM-8).

use super::{Outcome, Parser};
use crate::{
    ast::{Create, Ident, Verb, VerbKind},
    complete::{TokenPlace, Wanted},
    lexer,
    source::Span,
    tokens::Role,
};

/// The methods with a form of their own, and the word before the URI.
const METHODS: &[(&str, &str)] = &[
    ("get", "from"),
    ("post", "to"),
    ("put", "to"),
    ("delete", ""),
    ("patch", ""),
    ("grpc", "to"),
];

impl Parser<'_> {
    /// `'create' 'table' Name [ 'via' Word ] { verb }`.
    pub(super) fn create(&mut self) -> Outcome<Create> {
        let start = self.start();
        self.require_word("create")?;
        self.require_word("table")?;
        let name = self.name()?;
        self.lexer.mark_role(Role::NewTable);
        let connector = if self.is_clause("via") && !self.is_route_ahead() {
            self.require_word("via")?;
            self.want(Wanted::Connector);
            Some(self.ident()?)
        } else {
            None
        };
        let mut verbs = Vec::new();
        while self.is_clause("on") {
            verbs.push(self.verb()?);
        }
        Ok(Create { name, connector, verbs, span: self.since(start) })
    }

    /// Whether `via` starts the route of a `return`, not a connector that happens to be called `route`.
    fn is_route_ahead(&self) -> bool {
        let behind = self.lexer.rest_after_word();
        let Some(path) = behind.strip_prefix("route") else { return false };
        path[lexer::trivia_end(path, 0)..].starts_with(['"', '\''])
    }

    /// `verb = 'on' ( 'select' | 'insert' | 'update' | 'delete' ) method clauses`.
    fn verb(&mut self) -> Outcome<Verb> {
        let start = self.start();
        self.require_word("on")?;
        let (index, _) = self.one_of(&["select", "insert", "update", "delete"])?;
        let kind = [VerbKind::Select, VerbKind::Insert, VerbKind::Update, VerbKind::Delete][index];
        let (method, is_do) = self.method()?;
        self.mark_text(TokenPlace::Uri);
        let uri = self.raw_text()?;
        self.enter_table();
        let mut verb = Verb {
            kind,
            method,
            is_do,
            uri,
            aliases: Vec::new(),
            columns: Vec::new(),
            headers: Vec::new(),
            expect: Vec::new(),
            defaults: Vec::new(),
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
            is_paged_upstream: false,
            paging: None,
            is_retry_off: false,
            passed_statuses: Vec::new(),
            oauth2: None,
            span: Span::default(),
        };
        self.clauses(&mut verb)?;
        verb.span = self.since(start);
        Ok(verb)
    }

    /// `method = 'get' 'from' | 'post' 'to' | 'put' 'to' | 'delete' | 'patch' | 'grpc' 'to'
    /// | 'do' Word 'at'`.
    fn method(&mut self) -> Outcome<(Ident, bool)> {
        for (method, preposition) in METHODS {
            if let Some(span) = self.accept_word(method) {
                if !preposition.is_empty() {
                    self.require_word(preposition)?;
                }
                return Ok((Ident { text: (*method).to_owned(), span }, false));
            }
        }
        self.require_word("do")?;
        let method = self.ident()?;
        self.require_word("at")?;
        Ok((method, true))
    }
}
