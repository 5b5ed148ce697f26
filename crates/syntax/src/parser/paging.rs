//! `paginate by …`: how the rows of a table come in pages (PAG-1).

use super::{Outcome, Parser};
use crate::{
    ast::{PagingClause, PagingManner},
    diagnostic::{Diagnostic, codes},
    source::Span,
};

impl Parser<'_> {
    /// `'paginate' 'by' manner { 'size' QStr Digits | 'total' QStr | 'up' 'to' Digits 'pages' }`.
    pub(super) fn paging_clause(&mut self, start: u32) -> Outcome<PagingClause> {
        self.require_word("paginate")?;
        self.require_word("by")?;
        let mut clause = PagingClause {
            manner: self.paging_manner()?,
            size: None,
            total: None,
            pages_max: None,
            span: Span::default(),
        };
        loop {
            let start = self.start();
            let is_repeated = if self.is_option("size") {
                self.require_word("size")?;
                clause.size.replace((self.raw_text()?, self.count()?)).is_some()
            } else if self.is_option("total") {
                self.require_word("total")?;
                clause.total.replace(self.raw_text()?).is_some()
            } else if self.is_option("up") {
                self.require_word("up")?;
                self.require_word("to")?;
                let count = self.count()?;
                self.require_word("pages")?;
                clause.pages_max.replace(count).is_some()
            } else {
                break;
            };
            if is_repeated {
                let message = "this part of `paginate by` stands twice";
                let span = self.since(start);
                return self.report(Diagnostic::error(codes::REPEATED_CLAUSE, span, message));
            }
        }
        clause.span = self.since(start);
        Ok(clause)
    }

    /// `'page' QStr [ 'from' Digits ] | 'offset' QStr | 'cursor' QStr 'from' QStr | 'link'`.
    fn paging_manner(&mut self) -> Outcome<PagingManner> {
        let (manner, _) = self.one_of(&["page", "offset", "cursor", "link"])?;
        Ok(match manner {
            0 => {
                let parameter = self.raw_text()?;
                let first = match self.accept_clause("from") {
                    Some(_) => Some(self.count()?),
                    None => None,
                };
                PagingManner::Page { parameter, first }
            }
            1 => PagingManner::Offset { parameter: self.raw_text()? },
            2 => {
                let parameter = self.raw_text()?;
                self.require_word("from")?;
                PagingManner::Cursor { parameter, path: self.raw_text()? }
            }
            _ => PagingManner::Link,
        })
    }

    /// Whether a part of the clause is next, and no call of a function of that name.
    fn is_option(&mut self, word: &'static str) -> bool {
        self.is_clause(word) && !self.lexer.rest_after_word().starts_with('(')
    }
}
