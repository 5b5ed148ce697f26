//! What a `catch` names must be thrown in its `try`.

use std::collections::HashSet;

use super::Checker;
use crate::{
    ast::{Item, Logic, Path, Segment, Try},
    diagnostic::codes,
};

/// Reports every name of the catch conditions that no `throw` of the body raises. Throws in nested
/// blocks of every kind count; those of the try's own catch blocks do not.
pub(super) fn check(checker: &mut Checker<'_>, node: &Try) {
    let mut thrown = HashSet::new();
    collect(&node.body, &mut thrown);
    for catch in &node.catches {
        let mut operands = Vec::new();
        names(&catch.condition, &mut operands);
        for path in operands {
            let name = first_name(path);
            if thrown.contains(name) {
                continue;
            }
            let site = checker.site(node.span.start);
            let message =
                format!("exception variable {name} is not thrown inside the try statement.");
            // The specification has no colon here.
            let wire = format!("Line {} {message}", site.line);
            let message = message.trim_end_matches('.');
            let hint = checker.guess(name, thrown.iter().copied().collect());
            let hint = hint.map(|name| format!("did you mean `{name}`?"));
            let code = codes::UNTHROWN_EXCEPTION;
            let diagnostic = checker.add_literal(site, code, path.span, message, wire);
            diagnostic.hints.extend(hint);
        }
    }
}

fn collect<'s>(items: &'s [Item], thrown: &mut HashSet<&'s str>) {
    for item in items {
        match item {
            Item::Statement(_) => {}
            Item::Throw(node) => {
                thrown.insert(&node.name.text);
            }
            Item::If(node) => {
                collect(&node.then, thrown);
                collect(node.otherwise.as_deref().unwrap_or_default(), thrown);
            }
            Item::Try(node) => {
                collect(&node.body, thrown);
                for catch in &node.catches {
                    collect(&catch.body, thrown);
                }
                collect(node.finally.as_deref().unwrap_or_default(), thrown);
            }
        }
    }
}

/// The operands of a condition, in text order.
pub(super) fn names<'s>(logic: &'s Logic, operands: &mut Vec<&'s Path>) {
    match logic {
        Logic::Name(path) => operands.push(path),
        Logic::Not(inner) => names(inner, operands),
        Logic::And(left, right) | Logic::Or(left, right) => {
            names(left, operands);
            names(right, operands);
        }
    }
}

/// The name that a path starts with.
pub(super) fn first_name(path: &Path) -> &str {
    match path.segments.first() {
        Some(Segment::Member { name, .. }) => name,
        _ => "",
    }
}
