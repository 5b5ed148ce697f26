//! Names that the script binds: each once, whatever block it stands in.

use std::collections::HashMap;

use super::Checker;
use crate::{
    ast::{Primary, Script, Statement},
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
            bind(checker, &mut bound, statement, &target.text, target.span);
        }
        for alternative in &statement.alternatives {
            if let Primary::Create(table) = alternative {
                bind(checker, &mut bound, statement, &table.name.text, table.name.span);
            }
        }
    });
}

fn bind<'s>(
    checker: &mut Checker<'s>,
    bound: &mut HashMap<&'s str, Span>,
    statement: &'s Statement,
    name: &'s str,
    span: Span,
) {
    let Some(first) = bound.get(name) else {
        bound.insert(name, span);
        return;
    };
    let first = *first;
    let site = checker.site(statement.span.start);
    let message = format!("Duplicate symbol {name}");
    let diagnostic = checker.add(site, codes::DUPLICATE_SYMBOL, span, &message);
    diagnostic.secondary.push(crate::diagnostic::Label { span: first, text: "first here".into() });
    diagnostic.hints.push("a name is bound once, also across the branches of an `if`".into());
}
