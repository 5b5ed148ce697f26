//! `show` and `describe` (GRM-7).

use super::{Outcome, Parser};
use crate::{
    ast::{Describe, DescribeRoute, Ident, Primary, Show},
    complete::{TokenPlace, Wanted},
};

/// The methods a route can have.
const ROUTE_METHODS: &[&str] = &["get", "post", "put", "delete", "patch"];

impl Parser<'_> {
    /// `'show' ( 'tables' | 'routes' )`.
    pub(super) fn show(&mut self) -> Outcome<Show> {
        let start = self.start();
        self.require_word("show")?;
        let (index, _) = self.one_of(&["tables", "routes"])?;
        Ok(Show { is_routes: index == 1, span: self.since(start) })
    }

    /// `( 'describe' | 'desc' ) ( source | 'route' QStr 'using' 'method' httpMethod )`. A table may be
    /// called `route`.
    pub(super) fn describe(&mut self) -> Outcome<Primary> {
        let start = self.start();
        self.one_of(&["describe", "desc"])?;
        let is_route = self.lexer.peek_word() == "route"
            && self.lexer.rest_after_word().starts_with(['"', '\'']);
        if !is_route {
            self.offer(&["route"]);
            let source = self.source()?;
            return Ok(Primary::Describe(Describe { source, span: self.since(start) }));
        }
        self.require_word("route")?;
        self.mark_text(TokenPlace::Route);
        let path = self.raw_text()?;
        self.require_word("using")?;
        self.require_word("method")?;
        let method = self.route_method()?;
        let span = self.since(start);
        Ok(Primary::DescribeRoute(DescribeRoute { path, method, span }))
    }

    /// `httpMethod = 'get' | 'post' | 'put' | 'delete' | 'patch'`.
    pub(super) fn route_method(&mut self) -> Outcome<Ident> {
        self.want(Wanted::RouteMethod);
        let (index, span) = self.one_of(ROUTE_METHODS)?;
        Ok(Ident { text: ROUTE_METHODS[index].to_owned(), span })
    }
}
