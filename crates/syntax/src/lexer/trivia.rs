//! What stands between tokens: blanks, line ends and comments (TXT-2, TXT-18).
//!
//! In: the text and a position. Out: where the next token starts, and the comments on the way.

use super::Lexer;
use crate::{ast::Comment, source::Span};

/// Whether `c` ends a line (TXT-2).
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Whether `c` is white space within a line.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{A0}' | '\u{FEFF}' | '\u{B}' | '\u{C}')
}

impl Lexer<'_> {
    /// Goes over white space and comments; keeps the comments.
    pub(crate) fn skip_trivia(&mut self) {
        loop {
            self.at = blanks_end(self.text, self.at);
            let Some((comment, end)) = comment_at(self.text, self.at) else { return };
            match comment {
                Some(comment) => self.comments.push(comment),
                None => {
                    self.unclosed_comment = Some(Span::new(self.at as u32, self.at as u32 + 2));
                }
            }
            self.at = end;
        }
    }
}

/// The end of the white space at `at`.
fn blanks_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    rest.find(|c| !is_blank(c) && !is_line_end(c)).map_or(text.len(), |length| at + length)
}

/// The end of the white space and comments at `at`.
pub(crate) fn trivia_end(text: &str, mut at: usize) -> usize {
    loop {
        at = blanks_end(text, at);
        match comment_bounds(text, at) {
            Some(bounds) => at = bounds.end,
            None => return at,
        }
    }
}

/// Where a comment's parts stand.
struct CommentBounds {
    text_start: usize,
    text_end: usize,
    end: usize,
    is_block: bool,
    is_closed: bool,
}

fn comment_bounds(text: &str, at: usize) -> Option<CommentBounds> {
    let rest = &text[at..];
    if let Some(body) = rest.strip_prefix("--") {
        let length = body.find(is_line_end).unwrap_or(body.len());
        let end = at + 2 + length;
        return Some(CommentBounds {
            text_start: at + 2,
            text_end: end,
            end,
            is_block: false,
            is_closed: true,
        });
    }
    if !rest.starts_with("/*") {
        return None;
    }
    // `/**` opens a comment too, but `/**/` is an empty one.
    let opening = if rest.starts_with("/**") && !rest.starts_with("/**/") { 3 } else { 2 };
    let text_start = at + opening;
    let (text_end, end, is_closed) = match text[text_start..].find("*/") {
        Some(length) => (text_start + length, text_start + length + 2, true),
        None => (text.len(), text.len(), false),
    };
    Some(CommentBounds { text_start, text_end, end, is_block: true, is_closed })
}

/// The comment at `at` and its end; the comment itself is missing if it is never closed.
fn comment_at(text: &str, at: usize) -> Option<(Option<Comment>, usize)> {
    let bounds = comment_bounds(text, at)?;
    let comment = bounds.is_closed.then(|| Comment {
        text: text[bounds.text_start..bounds.text_end].trim_start_matches(is_blank).to_owned(),
        is_block: bounds.is_block,
        span: Span::new(at as u32, bounds.end as u32),
    });
    Some((comment, bounds.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_lose_their_markers_and_leading_blanks() {
        let mut lexer = Lexer::new("-- a \n/* b */ /** c*/ /**/ /***/ --\r\nx");
        lexer.skip_trivia();
        let texts: Vec<_> = lexer.comments.iter().map(|comment| comment.text.as_str()).collect();
        assert_eq!(texts, ["a ", "b ", "c", "", "", ""]);
        assert_eq!(lexer.peek_word(), "x");
    }

    #[test]
    fn every_white_space_is_skipped() {
        let text = "\u{FEFF} \t\r\n\u{A0}\u{B}\u{C}\u{2028}\u{2029}word";
        assert_eq!(Lexer::new(text).peek_word(), "word");
    }
}
