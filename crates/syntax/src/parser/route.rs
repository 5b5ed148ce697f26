//! The route clause of `return` (RET-6 to RET-11).

use super::{Outcome, Parser};
use crate::{
    ast::{Count, RouteClause, RouteLimit, RouteStatus, RunLimit},
    complete::TokenPlace,
    diagnostic::{Diagnostic, codes},
    source::Span,
};

impl Parser<'_> {
    /// `'via' 'route' QStr [ 'with' 'optional' 'params' ] [ 'using' 'defaults' nvs ]
    /// 'using' 'method' httpMethod [ 'using' 'status' ( Digits | QStr ) ] [ 'using' 'headers' nvs ]
    /// [ 'using' 'deadline' Digits ] [ 'using' 'limits' limit '=' Digits { ',' limit '=' Digits } ]`; the
    /// last four in any order.
    pub(super) fn route_clause(&mut self) -> Outcome<RouteClause> {
        let start = self.start();
        self.require_word("via")?;
        self.require_word("route")?;
        self.mark_text(TokenPlace::Route);
        let path = self.raw_text()?;
        let has_optional_params = self.accept_word("with").is_some();
        if has_optional_params {
            self.require_word("optional")?;
            self.require_word("params")?;
        }
        self.require_word("using")?;
        let mut defaults = Vec::new();
        if self.accept_word("defaults").is_some() {
            defaults = self.name_values()?;
            self.require_word("using")?;
        }
        self.require_word("method")?;
        let method = self.route_method()?;
        let mut status = None;
        let mut headers = Vec::new();
        let mut headers_at: Option<Span> = None;
        let mut deadline: Option<Count> = None;
        let mut limits: Vec<RouteLimit> = Vec::new();
        while self.accept_word("using").is_some() {
            let (index, span) = self.one_of(&["status", "headers", "deadline", "limits"])?;
            let (clause, first) = match index {
                0 => ("using status", status.as_ref().map(RouteStatus::span)),
                1 => ("using headers", headers_at),
                2 => ("using deadline", deadline.as_ref().map(|count| count.span)),
                _ => ("using limits", limits.first().map(|limit| limit.span)),
            };
            if let Some(first) = first {
                let message = format!("`{clause}` stands twice");
                let repeated = Diagnostic::error(codes::REPEATED_CLAUSE, span, message);
                return self.report(repeated.label(first, "first here"));
            }
            match index {
                0 => status = Some(self.route_status()?),
                1 => {
                    headers = self.name_values()?;
                    headers_at = Some(span);
                }
                2 => deadline = Some(self.count()?),
                _ => limits = self.route_limits()?,
            }
        }
        let span = self.since(start);
        Ok(RouteClause {
            path,
            has_optional_params,
            defaults,
            method,
            status,
            headers,
            deadline,
            limits,
            span,
        })
    }

    fn route_limits(&mut self) -> Outcome<Vec<RouteLimit>> {
        let mut limits: Vec<RouteLimit> = Vec::new();
        loop {
            let (index, span) = self.one_of(&RunLimit::NAMES)?;
            let limit = RunLimit::ALL[index];
            if let Some(first) = limits.iter().find(|other| other.limit == limit) {
                let message = format!("the limit `{}` stands twice", limit.name());
                let repeated = Diagnostic::error(codes::REPEATED_CLAUSE, span, message);
                return self.report(repeated.label(first.span, "first here"));
            }
            self.require("=")?;
            limits.push(RouteLimit { limit, most: self.count()?, span });
            if self.accept(",").is_none() {
                return Ok(limits);
            }
        }
    }

    fn route_status(&mut self) -> Outcome<RouteStatus> {
        if matches!(self.lexer.peek(), Some('"' | '\'')) {
            self.mark_text(TokenPlace::Script);
            return self.raw_text().map(RouteStatus::Text);
        }
        self.count().map(RouteStatus::Number)
    }
}
