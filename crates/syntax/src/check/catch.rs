//! The names of a `catch` must be thrown in its `try`.

use super::Checker;
use crate::{
    ast::Try,
    caught::{ERROR, catches_errors, first_name, operands_of, thrown},
    diagnostic::codes,
};

/// Reports every name of the catch conditions that no `throw` of the body raises. Throws in nested
/// blocks of every kind count; those of the try's own catch blocks do not. `error` needs no throw, as
/// it catches what fails; `in_region` is that of [`crate::caught`].
pub(super) fn check(checker: &mut Checker<'_>, node: &Try, in_region: bool) {
    let thrown = thrown(&node.body, in_region);
    let is_catching = catches_errors(node, in_region);
    for catch in &node.catches {
        let mut operands = Vec::new();
        operands_of(&catch.condition, &mut operands);
        for path in operands {
            let name = first_name(path);
            if thrown.contains(name) || (is_catching && name == ERROR) {
                continue;
            }
            let site = checker.site(node.span.start);
            let message =
                format!("exception variable {name} is not thrown inside the try statement.");
            // No colon here, as it was in ql.io 0.8 (EXE-20).
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
