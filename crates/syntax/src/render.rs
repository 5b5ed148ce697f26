//! Diagnostics for people and for the wire.
//!
//! In: diagnostics and the text they belong to. Out: a report with the source lines under it
//! ([`render`]), or the plain fields of an error object ([`wire`], EXE-20).
//! The renderer crate is private to this module, so that it can be exchanged. Whether to colour is
//! the caller's decision; nothing here looks at a terminal or at the environment.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::{
    diagnostic::{Diagnostic, Severity},
    lexer,
    source::{LineIndex, Span},
};

/// The fields of an error as clients see them (EXE-20), to be converted to JSON by whoever
/// owns the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    /// Always `SyntaxError`.
    pub name: &'static str,
    /// The full message.
    pub message: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column in characters.
    pub column: u32,
    /// 0-based offset in characters.
    pub offset: u32,
    /// The character at that place; `None` at the end of the text.
    pub found: Option<String>,
    /// The words and symbols that could stand there; empty unless the grammar failed.
    pub expected: Vec<String>,
    /// The diagnostic code, such as `Q1001 unexpected-token`.
    pub code: String,
}

/// A diagnostic as plain fields; `text` is the text it belongs to.
pub fn wire(diagnostic: &Diagnostic, text: &str) -> WireError {
    let start = diagnostic.primary.span.start;
    let position = LineIndex::new(text).position(text, start);
    let before = text.floor_char_boundary(start as usize);
    WireError {
        name: "SyntaxError",
        message: diagnostic.full_message().to_owned(),
        line: position.line,
        column: position.column,
        offset: text[..before].chars().count() as u32,
        found: diagnostic.found.clone(),
        expected: diagnostic.expected.clone(),
        code: diagnostic.code.to_string(),
    }
}

/// A report of all diagnostics with the source lines they point at, one blank line between them.
/// Empty if there are none.
pub fn render(diagnostics: &[Diagnostic], file: &str, text: &str, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let source = with_plain_line_ends(text);
    let reports: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| renderer.render(&[group(diagnostic, file, &source)]))
        .collect();
    let mut report = reports.join("\n\n");
    if !report.is_empty() {
        report.push('\n');
    }
    report
}

fn group<'a>(diagnostic: &'a Diagnostic, file: &'a str, source: &'a str) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut snippet = Snippet::source(source).path(file).annotation(
        AnnotationKind::Primary
            .span(range(diagnostic.primary.span, source))
            .label(diagnostic.primary.text.as_str()),
    );
    for label in &diagnostic.secondary {
        let annotation =
            AnnotationKind::Context.span(range(label.span, source)).label(label.text.as_str());
        snippet = snippet.annotation(annotation);
    }
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.to_string());
    let mut group = title.element(snippet);
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    for hint in &diagnostic.hints {
        group = group.element(Level::HELP.with_name("hint").message(hint.as_str()));
    }
    group
}

/// A span that surely lies in `source` and on character bounds.
fn range(span: Span, source: &str) -> Range<usize> {
    let start = source.floor_char_boundary((span.start as usize).min(source.len()));
    let end = source.floor_char_boundary((span.end as usize).min(source.len()));
    start..end.max(start)
}

/// The renderer knows only LF and CRLF; the other line ends become LF without moving any offset.
fn with_plain_line_ends(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_half_of_crlf = c == '\r' && chars.peek() == Some(&'\n');
        if lexer::is_line_end(c) && c != '\n' && !is_half_of_crlf {
            plain.extend(std::iter::repeat_n(' ', c.len_utf8() - 1));
            plain.push('\n');
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse, parse};

    #[test]
    fn a_report_shows_the_line_and_the_hint() {
        let text = "a = 1\ncreate tabel t";
        let report = render(&parse(text).diagnostics, "shop.ql", text, false);
        insta::assert_snapshot!(report, @r#"
        error[Q1001 unexpected-token]: expected 'table', found "tabel"
         --> shop.ql:2:8
          |
        2 | create tabel t
          |        ^^^^^
          |
          = hint: did you mean `table`?
        "#);
    }

    #[test]
    fn a_report_shows_both_places_of_a_duplicate() {
        let text = "a = 1\ra = 2";
        let report = render(&analyse(text).diagnostics, "shop.ql", text, false);
        insta::assert_snapshot!(report, @"
        error[Q2013 duplicate-symbol]: Duplicate symbol a
         --> shop.ql:2:1
          |
        1 | a = 1
          | - first here
        2 | a = 2
          | ^
          |
          = hint: a name is bound once, also across the branches of an `if`
        ");
    }

    #[test]
    fn colour_only_adds_escape_sequences() {
        let text = "retrn 1";
        let diagnostics = parse(text).diagnostics;
        assert!(!render(&diagnostics, "a.ql", text, false).contains('\u{1b}'));
        assert!(render(&diagnostics, "a.ql", text, true).contains('\u{1b}'));
        assert_eq!(render(&[], "a.ql", text, true), "");
    }

    #[test]
    fn the_wire_form_counts_characters() {
        let text = "x = \"é日\"\nretrn 1";
        let error = wire(&parse(text).diagnostics[0], text);
        assert_eq!((error.line, error.column, error.offset), (2, 7, 15));
        assert_eq!(error.found.as_deref(), Some("1"));
        assert_eq!(error.expected, ["=", "("]);
        assert_eq!(error.name, "SyntaxError");
    }

    #[test]
    fn a_span_outside_of_the_text_does_not_panic() {
        let far = Diagnostic::error(crate::diagnostic::codes::INTERNAL, Span::new(90, 7), "far");
        for text in ["", "é", "a\u{2028}b"] {
            assert!(render(std::slice::from_ref(&far), "a.ql", text, false).contains("far"));
            assert_eq!(wire(&far, text).found, None);
        }
    }
}
