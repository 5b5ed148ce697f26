//! Faults of JSON text, and their places.

/// A fault and its place. Boxed, because a result of one word and an address travels in
/// registers: measured, this is a seventh of the time of a decode.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault(Box<(usize, Problem)>);

impl Fault {
    pub(super) fn at(&self) -> usize {
        self.0.0
    }

    pub(super) fn problem(&self) -> Problem {
        self.0.1
    }
}

/// The reasons why text is not a JSON document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// Something else was expected here.
    Expected(&'static str),
    /// A string goes on to the end of the text.
    OpenString,
    /// A byte below 0x20 in a string.
    ControlCharacter,
    /// A backslash and something that does not belong to it.
    UnknownEscape,
    /// More nested structures than allowed.
    TooDeep(usize),
    /// More elements and members than allowed.
    TooMany(usize),
    /// Nobody waits for the value any more.
    Stopped,
}

impl Problem {
    #[cold]
    pub(super) fn at(self, at: usize) -> Fault {
        Fault(Box::new((at, self)))
    }
}

pub(super) const COMMA_OR_BRACKET: Problem = Problem::Expected("`,` or `]`");
pub(super) const COMMA_OR_BRACE: Problem = Problem::Expected("`,` or `}`");
pub(super) const VALUE: Problem = Problem::Expected("a value");
pub(super) const NAME: Problem = Problem::Expected("a member name");
pub(super) const COLON: Problem = Problem::Expected("`:`");
pub(super) const DIGIT: Problem = Problem::Expected("a digit");
