//! Names that the script binds: each once, whatever block it stands in.

use std::collections::HashMap;

use super::Checker;
use crate::{
    ast::{Item, Primary, Script},
    caught::{ERROR, catches_errors, first_name, operands_of, visible_everywhere},
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
        let mut caught = Vec::new();
        find_caught(&script.items, false, &mut caught);
        for span in caught {
            let (first, second) = (first.min(span), first.max(span));
            duplicate(checker, second, ERROR, second, first);
        }
    } else if let Some(node) = visible_everywhere(script) {
        checker.variables.insert(ERROR, node.span);
    }
}

/// Adds the place of the name in each `catch (error)` that binds it.
fn find_caught(items: &[Item], in_region: bool, found: &mut Vec<Span>) {
    for item in items {
        match item {
            Item::Statement(_) | Item::Throw(_) => {}
            Item::If(node) => {
                find_caught(&node.then, in_region, found);
                find_caught(node.otherwise.as_deref().unwrap_or_default(), in_region, found);
            }
            Item::Try(node) => {
                find_caught(&node.body, in_region, found);
                let is_catching = catches_errors(node, in_region);
                if is_catching {
                    let mut operands = Vec::new();
                    node.catches
                        .iter()
                        .for_each(|catch| operands_of(&catch.condition, &mut operands));
                    let named = operands.into_iter().find(|path| first_name(path) == ERROR);
                    found.extend(named.map(|path| path.span));
                }
                let in_region = in_region || is_catching;
                for catch in &node.catches {
                    find_caught(&catch.body, in_region, found);
                }
                find_caught(node.finally.as_deref().unwrap_or_default(), in_region, found);
            }
        }
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
