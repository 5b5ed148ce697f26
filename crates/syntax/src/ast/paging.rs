//! How a table says that its rows come in pages (PAG-1).

use super::{Count, RawText};
use crate::source::Span;

/// `paginate by … [size 'n' 100] [total 'meta.total'] [up to 20 pages]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagingClause {
    /// How the next page is asked for.
    pub manner: PagingManner,
    /// The parameter that carries the number of rows of a page, and that number.
    pub size: Option<(RawText, Count)>,
    /// The path of the number of all rows, in an answer.
    pub total: Option<RawText>,
    /// The most pages of a statement.
    pub pages_max: Option<Count>,
    /// The whole clause.
    pub span: Span,
}

/// How the next page is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagingManner {
    /// `page 'page' from 1`: pages have numbers.
    Page {
        /// The parameter.
        parameter: RawText,
        /// The number of the first page; without it 1.
        first: Option<Count>,
    },
    /// `offset 'start'`: rows have numbers.
    Offset {
        /// The parameter.
        parameter: RawText,
    },
    /// `cursor 'after' from 'meta.next'`: an answer says what to ask for next.
    Cursor {
        /// The parameter.
        parameter: RawText,
        /// The path of its next value, in an answer.
        path: RawText,
    },
    /// `link`: the head of an answer has the address of the next page (RFC 8288).
    Link,
}
