//! Problems of texts as data: a code, a message, places and advice.
//!
//! In: whoever finds a problem builds a [`Diagnostic`]. Out: the same value serves the terminal
//! ([`crate::render::render`]), the HTTP answer ([`crate::render::wire`]) and editors.
//! A diagnostic holds spans, not lines; only the literal messages that stay as they are
//! (EXE-20) carry their line number in the text, in [`Diagnostic::wire`].
//! This module knows nothing about how a diagnostic is printed.

use std::fmt;

use crate::source::Span;

pub mod codes;

/// A stable number and name of a kind of problem.
///
/// All codes stand in [`codes`]; a number is never used twice and never given to another problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code {
    /// The number; the thousands name the area (see [`codes`]).
    pub number: u16,
    /// The name in lower case with hyphens.
    pub slug: &'static str,
    /// One line for people: what kind of problem this is.
    pub title: &'static str,
}

impl fmt::Display for Code {
    /// Prints `Q2003 unknown-table`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Q{:04} {}", self.number, self.slug)
    }
}

/// Cuts a list of problems to `most`; the last one then says that there were more.
pub fn shorten(problems: &mut Vec<Diagnostic>, most: usize) {
    if problems.len() <= most {
        return;
    }
    let shown = most.saturating_sub(1);
    let rest = problems.split_off(shown);
    let severity =
        if rest.iter().any(Diagnostic::is_error) { Severity::Error } else { Severity::Warning };
    problems.push(Diagnostic { severity, ..Diagnostic::too_many(rest[0].primary.span, shown) });
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The text cannot be used.
    Error,
    /// The text can be used, but its author should look.
    Warning,
}

/// A place in the text and what is to be said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// A few words; may be empty where the message says it all.
    pub text: String,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its kind.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The problem in words, without any line prefix.
    pub message: String,
    /// The complete literal message where it stays as it is (EXE-20).
    pub wire: Option<String>,
    /// Where.
    pub primary: Label,
    /// Further places that matter, such as the first of two definitions.
    pub secondary: Vec<Label>,
    /// Advice; only given when it is likely right.
    pub hints: Vec<String>,
    /// Background.
    pub notes: Vec<String>,
    /// Grammar failures only: the words and symbols that could stand here (EXE-20).
    pub expected: Vec<String>,
    /// Grammar failures only: the character that stands here; `None` at the end of the text.
    pub found: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            wire: None,
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            hints: Vec::new(),
            notes: Vec::new(),
            expected: Vec::new(),
            found: None,
        }
    }

    /// A warning at `span`.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// More problems were found than the `shown` ones.
    pub(crate) fn too_many(span: Span, shown: usize) -> Self {
        let message = format!("more than {shown} problems, the rest is not reported");
        Self::error(codes::TOO_MANY_DIAGNOSTICS, span, message)
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hints.push(text.into());
        self
    }

    /// Adds background.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds a further place.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Says something at the place of the problem itself.
    #[must_use]
    pub fn primary_text(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Sets the literal message, which stays as it is (EXE-20).
    #[must_use]
    pub fn wire(mut self, message: impl Into<String>) -> Self {
        self.wire = Some(message.into());
        self
    }

    /// The literal message if there is one, else the short one.
    pub fn full_message(&self) -> &str {
        self.wire.as_deref().unwrap_or(&self.message)
    }

    /// Whether it makes the text unusable.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.full_message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_literal_message_wins_over_the_short_one() {
        let short = Diagnostic::error(codes::DUPLICATE_SYMBOL, Span::default(), "`a` twice");
        assert_eq!(short.full_message(), "`a` twice");
        let literal = short.wire("Line 2: Duplicate symbol a");
        assert_eq!(literal.full_message(), "Line 2: Duplicate symbol a");
        assert_eq!(literal.to_string(), "Line 2: Duplicate symbol a");
    }

    #[test]
    fn a_code_prints_its_number_and_slug() {
        assert_eq!(codes::UNKNOWN_TABLE.to_string(), "Q2003 unknown-table");
    }
}
