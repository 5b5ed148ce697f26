//! Paths of clauses: from segments of the text to segments that can be evaluated.

use std::fmt::Write;

use qlio_data::{
    Text,
    path::{Path, PathError, Segment, expression::Expression},
};
use qlio_syntax::ast;

/// The path as one text, the way parameters are named: quoted parts without their quotes.
pub(crate) fn path_text(path: &ast::Path) -> String {
    let mut out = String::new();
    for (position, segment) in path.segments.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = match segment {
            ast::Segment::Member { name, .. } if position == 0 => write!(out, "{name}"),
            ast::Segment::Member { name, is_quoted: true } => write!(out, "[{name}]"),
            ast::Segment::Member { name, is_quoted: false } => write!(out, ".{name}"),
            ast::Segment::Descendant(name) => write!(out, "..{name}"),
            ast::Segment::Index(index) => write!(out, "[{index}]"),
            ast::Segment::Wildcard => write!(out, "[*]"),
            ast::Segment::Slice { start, end, step } => {
                let part =
                    |value: &Option<i64>| value.map(|value| value.to_string()).unwrap_or_default();
                let step = step.map(|step| format!(":{step}")).unwrap_or_default();
                write!(out, "[{}:{}{step}]", part(start), part(end))
            }
            ast::Segment::Filter(text) => write!(out, "[?({text})]"),
            ast::Segment::Computed(text) => write!(out, "[({text})]"),
        };
    }
    out
}

/// The rest of `alias.rest`, if the path begins with all words of the alias and goes on. An alias
/// may have dots (SEL-10).
pub(crate) fn without_alias(path: &ast::Path, alias: &str) -> Option<ast::Path> {
    let mut rest = path.segments.as_slice();
    for word in alias.split('.') {
        match rest {
            [ast::Segment::Member { name, is_quoted: false }, behind @ ..] if name == word => {
                rest = behind;
            }
            _ => return None,
        }
    }
    (!rest.is_empty()).then(|| ast::Path { segments: rest.to_vec(), span: path.span })
}

/// Lowers the segments; expressions are parsed here.
pub(crate) fn lower_path(path: &ast::Path) -> Result<Path, PathError> {
    let mut segments = Vec::with_capacity(path.segments.len());
    for (position, segment) in path.segments.iter().enumerate() {
        segments.push(match segment {
            ast::Segment::Member { name, is_quoted: false } if name == "$" && position == 0 => {
                Segment::Root
            }
            ast::Segment::Member { name, .. } => Segment::Member(Text::from(name.as_str())),
            ast::Segment::Descendant(name) => Segment::Descendant(Text::from(name.as_str())),
            ast::Segment::Index(index) => {
                Segment::Index(usize::try_from(*index).unwrap_or(usize::MAX))
            }
            ast::Segment::Wildcard => Segment::Wildcard,
            ast::Segment::Slice { start, end, step } => {
                Segment::Slice { start: *start, end: *end, step: *step }
            }
            ast::Segment::Filter(text) => Segment::Filter(Expression::parse(text)?),
            ast::Segment::Computed(text) => Segment::Computed(Expression::parse(text)?),
        });
    }
    Ok(Path::from_segments(segments))
}
