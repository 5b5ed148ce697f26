//! URI templates of tables: `http://h/boats/{^id}?tag={20|tag}` (URI-1).
//!
//! In: the template text, when a table is loaded; then [`Params`], once per statement. Out: the
//! URIs to request, none, one or several, normalised. The same language without URI rules writes
//! form bodies (CON-42).
//!
//! What never changes between requests is normalised when the template is parsed: in a *direct*
//! template only the values are encoded per request. Templates whose tokens could change the shape
//! of the URI (raw tokens, tokens in the host or in a name of the query) are put together as
//! written and normalised as a whole. Both ways give the same URIs.

mod config;
mod direct;
mod dots;
mod expand;
mod parse;

use std::fmt;

pub use dots::dot_segments;

use crate::{Params, mutable_uri};

/// The deepest nesting of tokens in names.
pub const NESTING_MAX: usize = 16;

/// The most URIs of one expansion when the caller sets no limit of its own.
pub const URIS_MAX: usize = 10_000;

/// The most bytes that all URIs of one expansion take together.
pub const EXPANDED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A parsed URI template.
#[derive(Debug, Clone, PartialEq)]
pub struct UriTemplate {
    text: String,
    pieces: Vec<Piece>,
    /// The pieces with normalised literals, if tokens can't change the shape of the URI.
    direct: Option<Vec<Piece>>,
    tokens: Vec<UriToken>,
    /// Dot segments that the template writes itself.
    written_dots: usize,
    /// Each URI is looked at, because not only a value with a dot could make a dot segment.
    has_dots_at_tokens: bool,
}

/// A token as a template describes it; the source of `describe`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an operator of its own")]
pub struct UriToken {
    /// The name as written, nested tokens included.
    pub name: String,
    /// `^`: a missing value is an error.
    pub is_required: bool,
    /// `#`: answers are merged as blocks.
    pub is_block: bool,
    /// A backtick: the value is inserted without encoding.
    pub is_raw: bool,
    /// `|`: several values go into one request.
    pub is_multi: bool,
    /// `n|`: the most values of one request; 0 is no limit.
    pub max: usize,
    /// It stands inside the name of another token, which comes before it in the list.
    pub is_nested: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Literal(String),
    Token(Box<Token>),
}

#[derive(Debug, Clone, PartialEq)]
struct Token {
    info: UriToken,
    name: Name,
    encoding: Encoding,
}

#[derive(Debug, Clone, PartialEq)]
enum Name {
    Plain,
    Nested(Vec<Piece>),
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Component,
    /// In a path that is not normalised again, where a single quote is encoded too.
    PathComponent,
    Raw,
}

/// The URIs of a template for one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion {
    /// The normalised URIs, in the order of the values; none if a list is empty.
    pub uris: Vec<String>,
    /// A list, of any length, stands where one value or a number of values go into a request: the
    /// statement asks once for each part of the list.
    pub is_scatter: bool,
}

/// An expansion before anybody has looked at its paths.
struct Expanded {
    expansion: Expansion,
    /// A value of the path could have made a dot segment.
    is_suspect: bool,
}

/// A form body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The body.
    pub text: String,
    /// The token that would have made several bodies, of which this is the first, and how many.
    pub shortened: Option<(String, usize)>,
}

/// Why a template could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// The reason.
    pub reason: String,
    /// Where, in bytes from the start of the template.
    pub offset: usize,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}", self.reason, self.offset)
    }
}

impl std::error::Error for TemplateError {}

/// Why a template could not be expanded. The first three display as the literal messages of
/// URI-4, URI-5 and URI-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpandError {
    /// A required token has no value, or an empty one.
    Missing {
        /// The name of the token.
        name: String,
        /// The text before it, as far as it is expanded.
        processed: String,
    },
    /// More than one token asks for several requests.
    MultipleForks,
    /// A value makes a `.` or `..` of a segment of the path.
    DotSegment {
        /// The name of the token.
        name: String,
    },
    /// The value is an object.
    ObjectParam {
        /// The name of the token.
        name: String,
    },
    /// More URIs than allowed.
    TooMany {
        /// How many there would be.
        asked: usize,
        /// How many may be.
        limit: usize,
    },
    /// The URIs together are longer than [`EXPANDED_BYTES_MAX`].
    TooLong {
        /// How many bytes they may have.
        limit: usize,
    },
}

impl fmt::Display for ExpandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name, processed } => {
                write!(f, "Token {name} not specified. Processed {processed}")
            }
            Self::MultipleForks => f.write_str(
                "Template can not have multiple single-valued params with multiple values",
            ),
            Self::DotSegment { name } => write!(
                f,
                "the value of token {name} makes a segment `.` or `..` of the path, which would lead elsewhere"
            ),
            Self::ObjectParam { name } => write!(f, "Param {name} is an object"),
            Self::TooMany { asked, limit } => {
                write!(f, "the statement asks for {asked} requests, more than the limit of {limit}")
            }
            Self::TooLong { limit } => {
                write!(f, "the uris of the statement take more than the limit of {limit} bytes")
            }
        }
    }
}

impl std::error::Error for ExpandError {}

impl UriTemplate {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let pieces = parse::pieces(text)?;
        let direct = direct::compile(&pieces);
        let mut tokens = Vec::new();
        describe(&pieces, &mut tokens);
        let written_dots = dots::written(&pieces);
        let has_dots_at_tokens = dots::has_dots_at_tokens(&pieces);
        let text = text.to_owned();
        Ok(Self { text, pieces, direct, tokens, written_dots, has_dots_at_tokens })
    }

    /// Reads the template of a form body: white space at its end, as files have it, is cut off.
    pub fn parse_form(text: &str) -> Result<Self, TemplateError> {
        Self::parse(text.trim_end())
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tokens in text order; tokens inside a name follow the token they belong to.
    pub fn tokens(&self) -> &[UriToken] {
        &self.tokens
    }

    /// Whether several answers are merged as blocks (`#` anywhere).
    pub fn is_block_merge(&self) -> bool {
        self.tokens.iter().any(|token| token.is_block)
    }

    /// Fills in the values; at most [`URIS_MAX`] URIs.
    pub fn expand(&self, params: &dyn Params) -> Result<Expansion, ExpandError> {
        self.expand_limited(params, URIS_MAX)
    }

    /// As [`expand`](Self::expand) with another limit; going over it fails before any URI is written.
    pub fn expand_limited(
        &self,
        params: &dyn Params,
        uris_max: usize,
    ) -> Result<Expansion, ExpandError> {
        self.expand_checked(params, uris_max, true)
    }

    /// As [`expand`](Self::expand), for somebody who changes the URIs and then looks at
    /// [`dot_segments`] himself.
    pub fn expand_unchecked(&self, params: &dyn Params) -> Result<Expansion, ExpandError> {
        self.expand_checked(params, URIS_MAX, false)
    }

    fn expand_checked(
        &self,
        params: &dyn Params,
        uris_max: usize,
        is_checked: bool,
    ) -> Result<Expansion, ExpandError> {
        if let Some(direct) = &self.direct
            && let Ok(Expanded { expansion, is_suspect }) = expand::uris(direct, params, uris_max)
        {
            if is_checked && (is_suspect || self.has_dots_at_tokens) {
                self.check_dots(direct, &expansion.uris, params)?;
            }
            return Ok(expansion);
        }
        // Also the way to an error message that shows the text as written.
        self.expand_written(params, uris_max, is_checked)
    }

    /// Puts the URIs together as written, and normalises them as a whole.
    fn expand_written(
        &self,
        params: &dyn Params,
        uris_max: usize,
        is_checked: bool,
    ) -> Result<Expansion, ExpandError> {
        let Expansion { uris, is_scatter } =
            expand::uris(&self.pieces, params, uris_max)?.expansion;
        let uris: Vec<_> = uris.iter().map(|uri| mutable_uri::normalize(uri)).collect();
        if is_checked {
            self.check_dots(&self.pieces, &uris, params)?;
        }
        Ok(Expansion { uris, is_scatter })
    }

    /// How many dot segments the path of a URI may have: those that the template writes itself.
    pub fn written_dots(&self) -> usize {
        self.written_dots
    }

    /// Refuses a path with a dot segment that the template has not written (URI-20).
    fn check_dots(
        &self,
        pieces: &[Piece],
        uris: &[String],
        params: &dyn Params,
    ) -> Result<(), ExpandError> {
        if uris.iter().all(|uri| dot_segments(uri) <= self.written_dots) {
            return Ok(());
        }
        Err(ExpandError::DotSegment { name: dots::culprit(pieces, params) })
    }

    /// The text of a form body: values are encoded, but nothing is normalised.
    pub fn expand_form(&self, params: &dyn Params) -> Result<Form, ExpandError> {
        expand::form(&self.pieces, params)
    }

    /// Replaces each `{config.x.y}` of a text by what `lookup` has for `x.y`, as raw text, innermost
    /// first; the others stay (CON-12, CON-13). Text with a backtick, unbalanced braces or
    /// braces nested deeper than [`NESTING_MAX`] is left wholly untouched.
    pub fn substitute_config(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> String {
        config::substitute(text, lookup)
    }
}

fn describe(pieces: &[Piece], tokens: &mut Vec<UriToken>) {
    for piece in pieces {
        let Piece::Token(token) = piece else { continue };
        tokens.push(token.info.clone());
        if let Name::Nested(inner) = &token.name {
            describe(inner, tokens);
        }
    }
}

#[cfg(test)]
mod tests;
