//! The comments of a text on their way into the printed text.
//!
//! In: all comments in order and the text they stand in. Out: those before a given offset, each once,
//! with what decides its place: whether it has a line of its own and whether a blank line is above it.

use super::{Doc, Printer, comment_doc};
use crate::{ast::Comment, lexer};

/// The comments not printed yet.
pub(super) struct Comments<'t> {
    rest: &'t [Comment],
    text: &'t str,
}

impl<'t> Comments<'t> {
    /// For trees without a text.
    pub(super) fn none() -> Self {
        Self { rest: &[], text: "" }
    }

    /// All comments of `text`.
    pub(super) fn of(text: &'t str, comments: &'t [Comment]) -> Self {
        Self { rest: comments, text }
    }

    /// Whether there is a text behind the tree.
    pub(super) fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Takes the next comment if it starts before `offset`.
    pub(super) fn next_before(&mut self, offset: u32) -> Option<&'t Comment> {
        let (first, rest) = self.rest.split_first()?;
        if first.span.start >= offset {
            return None;
        }
        self.rest = rest;
        Some(first)
    }

    /// Whether a comment starts before `offset`.
    pub(super) fn has_next_before(&self, offset: u32) -> bool {
        self.rest.first().is_some_and(|comment| comment.span.start < offset)
    }

    /// Whether nothing but blanks stands before `offset` on its line.
    pub(super) fn starts_line(&self, offset: u32) -> bool {
        let before = self.text[..offset as usize].trim_end_matches(lexer::is_blank);
        before.is_empty() || before.ends_with(lexer::is_line_end)
    }

    /// Whether the line above the one of `offset` is blank.
    pub(super) fn has_blank_line_above(&self, offset: u32) -> bool {
        let before = self.text[..offset as usize].trim_end_matches(lexer::is_blank);
        let Some(above) = without_line_end(before) else { return false };
        let above = above.trim_end_matches(lexer::is_blank);
        !above.is_empty() && above.ends_with(lexer::is_line_end)
    }

    /// The offset of the brace that ends a block; `from` is the end of its last statement or, in an
    /// empty block, any offset between the head of the block and that brace.
    pub(super) fn closing_brace(&self, from: u32) -> u32 {
        let mut at = from as usize;
        loop {
            at = lexer::trivia_end(self.text, at);
            match self.text[at..].chars().next() {
                None | Some('}') => return at as u32,
                Some(c) => at += c.len_utf8(),
            }
        }
    }
}

fn without_line_end(text: &str) -> Option<&str> {
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix(lexer::is_line_end))
}

impl Printer<'_> {
    /// Puts the comments before `offset`, then `separator`. The comments keep their lines; behind a
    /// comment that ends its line the next one has its own.
    pub(super) fn separate(&mut self, docs: &mut Vec<Doc>, separator: Doc, offset: u32) {
        let mut is_own_line = false;
        while let Some(comment) = self.comments.next_before(offset) {
            is_own_line = self.comments.starts_line(comment.span.start)
                || matches!(docs.last(), Some(Doc::LineComment(_)));
            docs.push(if is_own_line { Doc::HardLine } else { Doc::Space });
            docs.push(comment_doc(comment));
        }
        docs.push(if is_own_line { Doc::HardLine } else { separator });
    }

    /// Puts the comments that are left inside a statement before its last piece, so that they do not
    /// become documentation of the next statement.
    pub(super) fn tail(&mut self, docs: &mut Vec<Doc>, end: u32) {
        let Some(last) = docs.pop() else { return };
        if self.comments.has_next_before(end) {
            // Behind the line end they would get a line of their own when read again.
            let separator =
                docs.pop_if(|doc| matches!(doc, Doc::Line | Doc::SoftLine | Doc::Space));
            self.separate(docs, separator.unwrap_or(Doc::Space), end);
        }
        docs.push(last);
    }
}
