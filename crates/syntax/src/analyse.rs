//! Parsing and checking in one step, for everybody who just wants to know what is wrong.
//!
//! In: a text. Out: [`Analysis`]: the tree, the comments, the lines and all diagnostics. The checks
//! run only on texts without syntax errors, because a tree with gaps would give follow-up noise.

use crate::{
    ast::{Comment, Script},
    check::check,
    diagnostic::{Diagnostic, shorten},
    limits::Limits,
    parser::{Parsed, parse_with},
    source::LineIndex,
};

/// All that this crate knows about a text.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// The tree; complete if there is no error.
    pub script: Script,
    /// Every comment, in order.
    pub comments: Vec<Comment>,
    /// The lines of the text.
    pub lines: LineIndex,
    /// Every problem, in text order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Analysis {
    /// Whether the script can be planned.
    pub fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Parses and checks `text`.
pub fn analyse(text: &str) -> Analysis {
    analyse_with(text, &Limits::default())
}

/// Like [`analyse`], with other bounds.
pub fn analyse_with(text: &str, limits: &Limits) -> Analysis {
    let parsed = parse_with(text, limits);
    let is_complete = parsed.is_ok();
    let Parsed { script, mut diagnostics, comments } = parsed;
    let lines = LineIndex::new(text);
    if is_complete {
        diagnostics.extend(check(&script, &lines));
        shorten(&mut diagnostics, limits.diagnostics_max);
    }
    Analysis { script, comments, lines, diagnostics }
}
