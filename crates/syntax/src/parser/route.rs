//! The route clause of `return` (`language.md` 2.10).

use super::{Outcome, Parser};
use crate::{ast::RouteClause, complete::TokenPlace};

impl Parser<'_> {
    /// `'via' 'route' QStr [ 'with' 'optional' 'params' ] [ 'using' 'defaults' nvs ]
    /// 'using' 'method' httpMethod [ 'using' 'headers' nvs ]`.
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
        let mut headers = Vec::new();
        if self.accept_word("using").is_some() {
            self.require_word("headers")?;
            headers = self.name_values()?;
        }
        let span = self.since(start);
        Ok(RouteClause { path, has_optional_params, defaults, method, headers, span })
    }
}
