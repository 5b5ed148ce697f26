//! Expectations: accepting tokens, remembering what was asked for, and the failure
//! that names all of it.
//!
//! In: the grammar's questions ("is the next word `from`?"). Out: spans of accepted tokens, or one
//! diagnostic with `expected` and `found` (EXE-20) and, where a word is misspelt, a hint.
//! All questions asked at one position form one list, so the message names every alternative.

use super::{Failed, Outcome, Parser, habit};
use crate::{
    diagnostic::{Code, Diagnostic, codes},
    lexer,
    source::Span,
    spelling,
};

/// Alternatives beyond this number are left out of the message; the list in the diagnostic is whole.
const ALTERNATIVES_SHOWN_MAX: usize = 8;

/// Something that could stand at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// A keyword or a symbol, exactly so.
    Literal(&'static str),
    /// A kind of token, in words.
    Kind(&'static str),
}

impl Expected {
    fn text(self) -> &'static str {
        match self {
            Self::Literal(text) | Self::Kind(text) => text,
        }
    }
}

impl Parser<'_> {
    /// Remembers that something could stand here.
    pub(super) fn expect(&mut self, expected: Expected) {
        if let Expected::Literal(word) = expected
            && word.starts_with(char::is_alphabetic)
        {
            self.offer(&[word]);
        }
        if self.expected_at != self.lexer.at() {
            self.expected.clear();
            self.expected_at = self.lexer.at();
        }
        if !self.expected.contains(&expected) {
            self.expected.push(expected);
        }
    }

    /// Forgets what could stand here, where a single better description follows.
    pub(super) fn forget_expected(&mut self) {
        self.expected.clear();
    }

    /// Takes a symbol if it is next.
    pub(super) fn accept(&mut self, symbol: &'static str) -> Option<Span> {
        if self.lexer.rest().starts_with(symbol) {
            return Some(self.lexer.take(symbol.len()));
        }
        self.expect(Expected::Literal(symbol));
        None
    }

    /// Takes a symbol or fails.
    pub(super) fn require(&mut self, symbol: &'static str) -> Outcome<Span> {
        self.accept(symbol).map_or_else(|| self.fail(), Ok)
    }

    /// Whether the next word is `keyword`, here where nothing else could make it a name.
    pub(super) fn is_word(&mut self, keyword: &'static str) -> bool {
        if self.lexer.peek_word() == keyword {
            return true;
        }
        self.expect(Expected::Literal(keyword));
        false
    }

    /// Takes a keyword if it is next.
    pub(super) fn accept_word(&mut self, keyword: &'static str) -> Option<Span> {
        self.is_word(keyword).then(|| self.lexer.take(keyword.len()))
    }

    /// Takes a keyword or fails.
    pub(super) fn require_word(&mut self, keyword: &'static str) -> Outcome<Span> {
        self.accept_word(keyword).map_or_else(|| self.fail(), Ok)
    }

    /// Whether the next word continues the statement, rather than naming the target or the module of
    /// the next one: `limit 2` does, `limit = 2` and `limit.f()` do not.
    pub(super) fn is_continuation(&self) -> bool {
        let word = self.lexer.peek_word();
        !word.is_empty()
            && !self.lexer.rest()[word.len()..].starts_with('.')
            && !self.lexer.rest_after_word().starts_with('=')
    }

    /// Whether an optional clause that starts with `keyword` is next.
    pub(super) fn is_clause(&mut self, keyword: &'static str) -> bool {
        self.is_word(keyword) && self.is_continuation()
    }

    /// Takes the keyword of an optional clause.
    pub(super) fn accept_clause(&mut self, keyword: &'static str) -> Option<Span> {
        self.is_clause(keyword).then(|| self.lexer.take(keyword.len()))
    }

    /// Takes one of several words or fails; gives its place in the list.
    pub(super) fn one_of(&mut self, words: &[&'static str]) -> Outcome<(usize, Span)> {
        for (index, word) in words.iter().enumerate() {
            if let Some(span) = self.accept_word(word) {
                return Ok((index, span));
            }
        }
        self.fail()
    }

    /// Reports that none of the remembered alternatives is there.
    pub(super) fn fail<T>(&mut self) -> Outcome<T> {
        self.fail_after("")
    }

    /// Like [`Self::fail`]; `before` is the word before this position, which may be a misspelt
    /// keyword (`retrn 1` fails at the `1`).
    pub(super) fn fail_after<T>(&mut self, before: &str) -> Outcome<T> {
        if let Some(span) = self.lexer.unclosed_comment.take() {
            let unclosed =
                Diagnostic::error(codes::UNCLOSED_COMMENT, span, "this comment is never closed");
            let _: Outcome<()> = self.report(unclosed);
            return self.give_up();
        }
        if self.expected_at != self.lexer.at() {
            self.expected.clear();
        }
        let word = self.lexer.peek_word();
        let mut message = expectation(&self.expected, self.lexer.peek(), word);
        let length = word.len().max(self.here().end as usize - self.lexer.at());
        let span = Span::new(self.start(), self.start() + length as u32);
        let literals = self.expected.iter().filter_map(|item| match item {
            Expected::Literal(text) if text.starts_with(char::is_alphabetic) => Some(*text),
            _ => None,
        });
        let (wrong, meant) = if before.is_empty() {
            (word, spelling::closest(word, literals))
        } else {
            (before, spelling::closest(before, STATEMENT_WORDS.iter().copied()))
        };
        let habit = self.habit();
        let hint = match meant {
            _ if habit.is_some() => habit,
            // Only the message tells what is certain (GRM-2).
            Some(meant) if meant.eq_ignore_ascii_case(wrong) => {
                message.push_str("; did you mean `");
                message.push_str(meant);
                message.push_str("`?");
                Some("keywords are written in lower case".to_owned())
            }
            Some(meant) => Some(format!("did you mean `{meant}`?")),
            None => number_hint(self.lexer.rest()).or_else(|| {
                let (before, rest) = self.lexer.text().split_at(self.lexer.at());
                habit::last_hint(before, rest).map(str::to_owned)
            }),
        };
        let mut diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, span, message);
        diagnostic.found = self.lexer.peek().map(String::from);
        diagnostic.expected = self.expected.iter().map(|item| item.text().to_owned()).collect();
        diagnostic.hints.extend(hint);
        self.report(diagnostic)
    }

    /// A hint for a habit of another language at this position.
    pub(super) fn habit(&self) -> Option<String> {
        let (before, rest) = self.lexer.text().split_at(self.lexer.at());
        habit::hint(before, rest).map(str::to_owned)
    }

    /// Reports a problem and gives up the production.
    pub(super) fn report<T>(&mut self, diagnostic: Diagnostic) -> Outcome<T> {
        self.close_notes();
        if self.is_stopped {
            return Err(Failed);
        }
        if self.diagnostics.len() + 1 >= self.limits.diagnostics_max {
            let shown = self.limits.diagnostics_max.saturating_sub(1);
            self.diagnostics.push(Diagnostic::too_many(diagnostic.primary.span, shown));
            return self.give_up();
        }
        self.diagnostics.push(diagnostic);
        Err(Failed)
    }

    /// Reports a problem at `span`.
    pub(super) fn error<T>(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Outcome<T> {
        let mut diagnostic = Diagnostic::error(code, span, message);
        let hint = hint.into();
        if !hint.is_empty() {
            diagnostic.hints.push(hint);
        }
        diagnostic.found =
            self.lexer.text()[span.start as usize..].chars().next().map(String::from);
        self.report(diagnostic)
    }

    /// Reports that a limit was hit and ends the run.
    pub(super) fn stop<T>(&mut self, code: Code, message: String) -> Outcome<T> {
        let span = self.here();
        let _: Outcome<()> = self.report(Diagnostic::error(code, span, message));
        self.give_up()
    }

    /// Ends the run: nothing more is read or reported.
    pub(super) fn give_up<T>(&mut self) -> Outcome<T> {
        self.is_stopped = true;
        self.lexer.go_to_end();
        self.close_notes();
        Err(Failed)
    }
}

/// The words that can start a statement.
pub(super) const STATEMENT_WORDS: &[&str] = &[
    "select", "insert", "update", "delete", "create", "show", "describe", "desc", "return", "if",
    "try", "throw",
];

/// A hint for a word that is nearly a keyword.
pub(super) fn find_misspelling<'a>(
    word: &str,
    keywords: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let meant = spelling::closest(word, keywords)?;
    Some(if meant.eq_ignore_ascii_case(word) {
        format!("keywords are written in lower case: `{meant}`")
    } else {
        format!("did you mean `{meant}`?")
    })
}

/// A hint for numbers that start with their point.
fn number_hint(rest: &str) -> Option<String> {
    let digits = rest.strip_prefix('.')?;
    digits
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| "a number starts with a digit: write `0.5`, not `.5`".to_owned())
}

/// `expected 'a', 'b' or a name, found "x"`.
fn expectation(expected: &[Expected], found: Option<char>, word: &str) -> String {
    let mut message = String::from("expected ");
    let shown = &expected[..expected.len().min(ALTERNATIVES_SHOWN_MAX)];
    for (index, item) in shown.iter().enumerate() {
        if index > 0 {
            let is_last = index + 1 == expected.len();
            message.push_str(if is_last { " or " } else { ", " });
        }
        match item {
            Expected::Literal(text) => {
                message.push('\'');
                message.push_str(text);
                message.push('\'');
            }
            Expected::Kind(text) => message.push_str(text),
        }
    }
    if shown.len() < expected.len() {
        message.push_str(", …");
    }
    if expected.is_empty() {
        message.push_str("something else");
    }
    message.push_str(", found ");
    match found {
        None => message.push_str("the end of the text"),
        Some(c) => {
            message.push('"');
            if word.is_empty() {
                message.extend(c.escape_debug());
            } else {
                message.extend(word.chars().take(WORD_SHOWN_CHARS_MAX));
            }
            message.push('"');
        }
    }
    message
}

/// Longer words are cut in messages.
const WORD_SHOWN_CHARS_MAX: usize = 40;

/// Whether the rest of the text starts like something that can follow a word only by mistake.
pub(super) fn starts_operand(rest: &str) -> bool {
    rest.starts_with(|c| lexer::is_word_start(c) || matches!(c, '*' | '"' | '\''))
}
