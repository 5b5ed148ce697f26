//! Paths into values: the `JSONPath` dialect of the language (PTH-10).
//!
//! In: path text or segments, once, when a script is compiled; then values, as often as needed.
//! Out: the matches in document order. Everything that can be decided early is: expressions are
//! parsed with the path, plain member paths take a short way without any list. Work on one value is
//! bounded by [`MATCHES_MAX`] and [`VISITS_MAX`], nesting by [`expression::DEPTH_MAX`]; nothing here
//! recurses over the value.
//!
//! Paths only read. What a select makes of the matches (unwrapping, aliases) is the engine's matter.

pub mod expression;
mod parse;
mod print;
mod select;
pub(crate) mod step;

use std::fmt;

use crate::{Scope, Text, Value, scope::SlotId};
use expression::Expression;

/// The most segments a path may have.
pub const SEGMENTS_MAX: usize = 256;

/// The most matches that one step of a path may have.
pub const MATCHES_MAX: usize = 1_000_000;

/// The most nodes that one selection may look at; descents into descents would otherwise multiply.
pub const VISITS_MAX: usize = 10_000_000;

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq)]
pub enum Segment {
    /// `name`, `['name']`: an own member of an object; on an array a decimal index or `length`; on
    /// a string `length` or the character at a decimal index.
    Member(Text),
    /// `[n]`, counted from 0; on an object the member of that name.
    Index(usize),
    /// `..name`: the member at any depth, the node itself included, parents before children.
    Descendant(Text),
    /// `*`, `[*]`: all elements or members.
    Wildcard,
    /// `..*`: all elements and members at any depth.
    DescendantWildcard,
    /// `..` before a bracket that is not a name: the node and every structure in it at any depth.
    Descend,
    /// `[a,b]`: the matches of each part in turn. Without parts it matches nothing, which is what
    /// a path that starts with a dot means.
    Union(Vec<Segment>),
    /// `[start:end:step]` on arrays; negative positions count from the end, `end` is not included.
    Slice {
        /// First position; default the first element (the last if `step` is negative).
        start: Option<i64>,
        /// Position to stop before; default past the end.
        end: Option<i64>,
        /// Step width; default 1, 0 is taken as 1, negative goes backwards.
        step: Option<i64>,
    },
    /// `[?(expression)]`: the truthy elements or members for which the expression is truthy.
    Filter(Expression),
    /// `[(expression)]`: the value of the expression is the name or index.
    Computed(Expression),
    /// `$`: start again from the root.
    Root,
}

/// How [`Path::select`] treats matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Matches that are arrays contribute their elements, one level.
    pub flatten: bool,
}

/// A path, ready to be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    segments: Vec<Segment>,
    text: Text,
}

/// Why a path could not be read or evaluated. Displays as `jsonPath: <reason>: <text>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError {
    /// The reason.
    pub reason: String,
    /// The expression or path that is to blame.
    pub text: String,
    /// Which kind of mistake it is.
    pub kind: PathErrorKind,
}

/// The kinds of [`PathError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathErrorKind {
    /// The text is not a path.
    Syntax,
    /// An expression in the path is not in the expression language, or failed.
    Expression,
    /// A limit was reached ([`SEGMENTS_MAX`], [`MATCHES_MAX`], [`VISITS_MAX`], the room of a text).
    Limit,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "jsonPath: {}: {}", self.reason, self.text)
    }
}

impl std::error::Error for PathError {}

impl Path {
    /// Reads path text (PTH-10): `a.b[0]..c`, `$..name`, `l[?(@.k > 1)].v`.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Ok(Self { segments: parse::segments(text)?, text: text.into() })
    }

    /// A path made of segments; [`Path::text`] becomes its canonical text. A [`Segment::Root`] at
    /// the start says nothing and is dropped, so `$..name` is a leading [`Segment::Descendant`].
    pub fn from_segments(mut segments: Vec<Segment>) -> Self {
        if segments.first() == Some(&Segment::Root) {
            segments.remove(0);
        }
        let mut path = Self { segments, text: Text::default() };
        path.text = path.to_string().into();
        path
    }

    /// The steps in order; none for the root.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The text it was read from, or its canonical text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the first step, if that is a member: the place of a source's alias.
    pub fn first_member(&self) -> Option<&str> {
        match self.segments.first() {
            Some(Segment::Member(name)) => Some(name),
            _ => None,
        }
    }

    /// The path behind its first step. `x..n` becomes `$..n`.
    #[must_use]
    pub fn without_first(&self) -> Self {
        Self::from_segments(self.segments.iter().skip(1).cloned().collect())
    }

    /// Whether all steps are members, so that there is at most one match and no expression.
    pub fn is_plain(&self) -> bool {
        self.segments.iter().all(|segment| matches!(segment, Segment::Member(_)))
    }

    /// Whether the path descends (`..`); such a column flattens its matches (PTH-12).
    pub fn has_descent(&self) -> bool {
        self.segments.iter().any(|segment| {
            matches!(
                segment,
                Segment::Descendant(_) | Segment::DescendantWildcard | Segment::Descend
            )
        })
    }

    /// The names of variables that expressions in the path read, in text order, repeated names too.
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for segment in &self.segments {
            segment.each_expression(&mut |expression| names.extend(expression.variables()));
        }
        names
    }

    /// Gives the variables that expressions in the path read their slots; a name without a slot
    /// stays a name.
    pub fn bind(&mut self, slot_of: &mut dyn FnMut(&str) -> Option<SlotId>) {
        for segment in &mut self.segments {
            segment.bind(slot_of);
        }
    }

    /// The matches in document order; none if nothing matches (PTH-11).
    pub fn select(
        &self,
        root: &Value,
        scope: &dyn Scope,
        options: Options,
    ) -> Result<Vec<Value>, PathError> {
        select::all(self, root, scope, options)
    }

    /// The one match, the list of several matches, or absent (PTH-11). A
    /// single match that is an array stays that array.
    pub fn select_one(
        &self,
        root: &Value,
        scope: &dyn Scope,
        options: Options,
    ) -> Result<Value, PathError> {
        select::one(self, root, scope, options)
    }
}

impl Segment {
    fn each_expression<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        match self {
            Self::Filter(expression) | Self::Computed(expression) => visit(expression),
            Self::Union(parts) => parts.iter().for_each(|part| part.each_expression(visit)),
            _ => {}
        }
    }

    fn bind(&mut self, slot_of: &mut dyn FnMut(&str) -> Option<SlotId>) {
        match self {
            Self::Filter(expression) | Self::Computed(expression) => expression.bind(slot_of),
            Self::Union(parts) => parts.iter_mut().for_each(|part| part.bind(slot_of)),
            _ => {}
        }
    }
}

impl PathError {
    pub(crate) fn syntax(reason: impl Into<String>, text: &str) -> Self {
        Self { reason: reason.into(), text: text.to_owned(), kind: PathErrorKind::Syntax }
    }

    pub(crate) fn expression(reason: impl Into<String>, text: &str) -> Self {
        Self { reason: reason.into(), text: text.to_owned(), kind: PathErrorKind::Expression }
    }

    pub(crate) fn limit(reason: impl Into<String>, text: &str) -> Self {
        Self { reason: reason.into(), text: text.to_owned(), kind: PathErrorKind::Limit }
    }
}

#[cfg(test)]
mod tests;
