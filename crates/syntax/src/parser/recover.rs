//! Where to go on after a failure.
//!
//! In: a parser that stands at the token it could not use. Out: the same parser at the next place
//! where a statement very likely starts: behind a semicolon, before the brace that ends the block, or
//! at a line that begins like a statement outside all brackets opened since the failure.
//! It goes over texts, comments and brackets as a whole, so that a keyword inside them is not taken
//! for a statement; missing a bound is better than reporting follow-up noise.

use super::{Parser, expect::STATEMENT_WORDS};
use crate::lexer;

impl Parser<'_> {
    /// Goes on to the next likely statement. `started_at` is where the failed one began; at least one
    /// token beyond it is left behind.
    pub(super) fn synchronise(&mut self, started_at: usize, in_block: bool) {
        let failed_at = self.lexer.at();
        self.go_to_statement(started_at, in_block);
        self.lexer.mark_skipped(failed_at);
    }

    fn go_to_statement(&mut self, started_at: usize, in_block: bool) {
        let mut depth = 0_usize;
        // A line that follows one of these goes on with the failed statement.
        let mut is_open = false;
        while let Some(c) = self.lexer.peek() {
            let is_at_start = self.lexer.at() == started_at;
            if !is_at_start && depth == 0 && !is_open && self.is_likely_statement() {
                return;
            }
            is_open = matches!(c, ',' | '=' | '(' | '[' | '{' | '|' | '&');
            match c {
                '(' | '[' | '{' => depth += 1,
                '}' if depth == 0 && in_block => return,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                ';' if depth == 0 => {
                    self.lexer.take(1);
                    return;
                }
                '"' | '\'' => {
                    self.skip_quoted(c);
                    continue;
                }
                _ => {}
            }
            let word = self.lexer.peek_word();
            is_open |= matches!(word, "where" | "and" | "with" | "using");
            self.lexer.take(word.len().max(c.len_utf8()));
        }
    }

    /// Goes over a quoted text if it ends on its line, else over the quote alone.
    fn skip_quoted(&mut self, quote: char) {
        let body = &self.lexer.rest()[1..];
        let end = body.find(|c| c == quote || lexer::is_line_end(c));
        let length = match end {
            Some(length) if body[length..].starts_with(quote) => length + 2,
            _ => 1,
        };
        self.lexer.take(length);
    }

    /// Whether a line starts here and its first word looks like the start of a statement.
    fn is_likely_statement(&self) -> bool {
        if !self.lexer.is_on_new_line() {
            return false;
        }
        let word = self.lexer.peek_word();
        if word.is_empty() {
            return false;
        }
        let after = self.lexer.rest_after_word();
        let is_assignment = after.starts_with('=') && !after.starts_with("==");
        is_assignment || STATEMENT_WORDS.contains(&word)
    }
}
