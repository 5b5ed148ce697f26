//! Names that the script binds: each once, whatever block it stands in.

use std::collections::HashMap;

use super::Checker;
use crate::{
    ast::{Primary, Script},
    caught::{ERROR, bindings, visible_everywhere},
    diagnostic::codes,
    source::Span,
    visit::each_statement,
};

/// Collects the variables of the script and reports every name that is bound twice, as a variable or
/// as an inline table.
pub(super) fn check<'s>(checker: &mut Checker<'s>, script: &'s Script) {
    let mut bound = HashMap::new();
    each_statement(&script.items, &mut |statement| {
        if let Some(target) = &statement.target {
            checker.variables.entry(&target.text).or_insert(target.span);
            bind(checker, &mut bound, statement.span, &target.text, target.span);
        }
        for alternative in &statement.alternatives {
            if let Primary::Create(table) = alternative {
                bind(checker, &mut bound, statement.span, &table.name.text, table.name.span);
            }
        }
    });
    if let Some(first) = bound.get(ERROR).copied() {
        for span in bindings(script) {
            let (first, second) = (first.min(span), first.max(span));
            duplicate(checker, second, ERROR, second, first);
        }
    } else if let Some(node) = visible_everywhere(script) {
        checker.variables.insert(ERROR, node.span);
    }
}

fn bind<'s>(
    checker: &mut Checker<'s>,
    bound: &mut HashMap<&'s str, Span>,
    statement: Span,
    name: &'s str,
    span: Span,
) {
    match bound.get(name) {
        None => {
            bound.insert(name, span);
        }
        Some(first) => duplicate(checker, statement, name, span, *first),
    }
}

fn duplicate(checker: &mut Checker<'_>, statement: Span, name: &str, span: Span, first: Span) {
    let site = checker.site(statement.start);
    let message = format!("Duplicate symbol {name}");
    let diagnostic = checker.add(site, codes::DUPLICATE_SYMBOL, span, &message);
    diagnostic.secondary.push(crate::diagnostic::Label { span: first, text: "first here".into() });
    diagnostic.hints.push("a name is bound once, also across the branches of an `if`".into());
}
