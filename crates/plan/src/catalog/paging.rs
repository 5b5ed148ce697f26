//! How the rows of a table come in pages (PAG-1).

use qlio_data::Text;

/// What `paginate by` of a verb says.
#[derive(Debug, Clone)]
pub struct Paging {
    /// How the next page is asked for.
    pub manner: PagingManner,
    /// How many rows a page has, and the parameter that asks for so many.
    pub size: Option<PageSize>,
    /// The steps to the number of all rows, from the root of an answer.
    pub total: Option<Vec<Text>>,
    /// The most pages of a statement; `None` takes the setting.
    pub pages_max: Option<u64>,
}

/// How the next page is asked for.
#[derive(Debug, Clone)]
pub enum PagingManner {
    /// By its number.
    Page {
        /// The parameter.
        parameter: Text,
        /// The number of the first page.
        first: u64,
    },
    /// By the number of rows before it.
    Offset {
        /// The parameter.
        parameter: Text,
    },
    /// By what the page before it said.
    Cursor {
        /// The parameter.
        parameter: Text,
        /// The steps to what it says, from the root of an answer.
        path: Vec<Text>,
    },
    /// At the address in the head of the page before it.
    Link,
}

/// How many rows a page has.
#[derive(Debug, Clone)]
pub struct PageSize {
    /// The parameter.
    pub parameter: Text,
    /// The rows.
    pub rows: u64,
}

impl Paging {
    /// The parameter that says which page is meant; links have none.
    pub fn parameter(&self) -> Option<&Text> {
        match &self.manner {
            PagingManner::Page { parameter, .. }
            | PagingManner::Offset { parameter }
            | PagingManner::Cursor { parameter, .. } => Some(parameter),
            PagingManner::Link => None,
        }
    }

    /// The parameters that pages are asked for with.
    pub fn parameters(&self) -> impl Iterator<Item = &Text> {
        self.parameter().into_iter().chain(self.size.as_ref().map(|size| &size.parameter))
    }
}

impl PagingManner {
    /// The word behind `paginate by`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Page { .. } => "page",
            Self::Offset { .. } => "offset",
            Self::Cursor { .. } => "cursor",
            Self::Link => "link",
        }
    }
}
