//! Syntax tree to canonical text.
//!
//! In: a tree, or a text without syntax errors. Out: text that reads as the same tree (spans apart)
//! and that formatting again leaves as it is. A statement stands on one line if it fits in
//! [`WIDTH`] columns, else each clause has a line of its own.
//! [`format_text`] keeps every comment at its place and at most one blank line between statements;
//! [`format_script`] knows only the comments that the tree holds. Both write the clauses of a table in
//! the order of the grammar and drop semicolons.

use crate::{
    ast::{Comment, Script},
    diagnostic::Diagnostic,
    parser,
};

mod comment;
mod document;
mod expression;
mod group;
mod script;
mod statement;
mod table;
mod value;

use comment::Comments;
use document::Doc;

/// Lines are broken, where they can be, before this column.
pub const WIDTH: usize = 100;

/// Prints a tree (GRM-6).
///
/// A tree that [`parser::parse`] made, or one that only uses words as names and no raw text with both
/// kinds of quotes, reads back as the same tree. The recursion is as deep as the tree.
pub fn format_script(script: &Script) -> String {
    Printer { comments: Comments::none() }.print(script)
}

/// Formats a text; fails with its syntax errors if it has any.
pub fn format_text(text: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parser::parse(text);
    if !parsed.is_ok() {
        return Err(parsed.diagnostics);
    }
    let comments = Comments::of(text, &parsed.comments);
    Ok(Printer { comments }.print(&parsed.script))
}

/// Turns nodes into documents, and weaves the comments in.
struct Printer<'t> {
    comments: Comments<'t>,
}

impl Printer<'_> {
    fn print(mut self, script: &Script) -> String {
        let docs = self.script(script);
        document::render(&docs, WIDTH)
    }
}

/// A comment as it is printed.
fn comment_doc(comment: &Comment) -> Doc {
    if !comment.is_block {
        let text =
            if comment.text.is_empty() { "--".to_owned() } else { format!("-- {}", comment.text) };
        return Doc::LineComment(text);
    }
    let blank = if comment.text.starts_with(crate::lexer::is_line_end) { "" } else { " " };
    Doc::Text(format!("/*{blank}{}*/", comment.text))
}
