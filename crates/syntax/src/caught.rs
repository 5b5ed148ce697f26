//! Which `try` catches errors of its statements: the form `catch (error)` (TRY-9).
//!
//! In: a tree. Out: answers about one `try` or the whole script. A name that the body throws is an
//! ordinary exception, `error` too, so only a `try` that throws no `error` catches errors. In the
//! catches and the `finally` of such a `try`, `error` names what it caught, and `throw (error)` raises
//! that again instead of setting a flag; this is the *region* that functions here are told about.
//! Each answer costs time linear in the tree below the `try`.

use std::collections::HashSet;

use crate::{
    ast::{Item, Logic, Path, Script, Segment, Try},
    source::Span,
};

/// The name that catches, and holds, an error.
pub const ERROR: &str = "error";

/// Whether a `try` catches errors of its statements; `in_region` says that it stands in a catch or
/// `finally` of another one that does.
pub fn catches_errors(node: &Try, in_region: bool) -> bool {
    let names_error = node.catches.iter().any(|catch| names_error(&catch.condition));
    names_error && (in_region || !thrown(&node.body, false).contains(ERROR))
}

/// Whether a condition has the operand `error`.
pub fn names_error(condition: &Logic) -> bool {
    let mut operands = Vec::new();
    operands_of(condition, &mut operands);
    operands.into_iter().any(|path| first_name(path) == ERROR)
}

/// The names that the statements throw, at any depth; what is only raised again is none of them.
pub fn thrown(items: &[Item], in_region: bool) -> HashSet<&str> {
    let mut names = HashSet::new();
    collect(items, in_region, &mut names);
    names
}

/// The one `try` of the script whose `error` can be named anywhere: no other catches errors, and
/// nothing else is called `error`.
pub fn visible_everywhere(script: &Script) -> Option<&Try> {
    let (catching, is_free) = find_catching(script);
    match catching[..] {
        [only] if is_free && !thrown(&script.items, false).contains(ERROR) => Some(only),
        _ => None,
    }
}

/// Where each `try` that catches errors names `error` first.
pub fn bindings(script: &Script) -> Vec<Span> {
    let named = |node: &Try| {
        let mut operands = Vec::new();
        node.catches.iter().for_each(|catch| operands_of(&catch.condition, &mut operands));
        let path = operands.into_iter().find(|path| first_name(path) == ERROR)?;
        let start = path.span.start;
        Some(Span::new(start, start + ERROR.len() as u32))
    };
    find_catching(script).0.into_iter().filter_map(named).collect()
}

/// All that catch errors, and whether no statement binds `error`.
fn find_catching(script: &Script) -> (Vec<&Try>, bool) {
    let mut catching = Vec::new();
    let is_free = find(&script.items, false, &mut catching);
    (catching, is_free)
}

/// Adds all that catch errors, in text order, and tells whether no statement binds `error`.
fn find<'s>(items: &'s [Item], in_region: bool, catching: &mut Vec<&'s Try>) -> bool {
    let mut is_free = true;
    for item in items {
        is_free &= match item {
            Item::Throw(_) => true,
            Item::Statement(statement) => {
                statement.target.as_ref().is_none_or(|target| target.text != ERROR)
            }
            Item::If(node) => {
                let then = find(&node.then, in_region, catching);
                then & find(node.otherwise.as_deref().unwrap_or_default(), in_region, catching)
            }
            Item::Try(node) => {
                let is_catching = catches_errors(node, in_region);
                if is_catching {
                    catching.push(node);
                }
                let in_catch = in_region || is_catching;
                let body = find(&node.body, in_region, catching);
                let mut rest = true;
                for catch in &node.catches {
                    rest &= find(&catch.body, in_catch, catching);
                }
                let finally = node.finally.as_deref().unwrap_or_default();
                body & rest & find(finally, in_catch, catching)
            }
        };
    }
    is_free
}

fn collect<'s>(items: &'s [Item], in_region: bool, names: &mut HashSet<&'s str>) {
    for item in items {
        match item {
            Item::Statement(_) => {}
            Item::Throw(node) if in_region && node.name.text == ERROR => {}
            Item::Throw(node) => {
                names.insert(&node.name.text);
            }
            Item::If(node) => {
                collect(&node.then, in_region, names);
                collect(node.otherwise.as_deref().unwrap_or_default(), in_region, names);
            }
            Item::Try(node) => {
                let mut of_body = HashSet::new();
                collect(&node.body, in_region, &mut of_body);
                let is_named = node.catches.iter().any(|catch| names_error(&catch.condition));
                let in_catch = in_region || (is_named && !of_body.contains(ERROR));
                names.extend(of_body);
                for catch in &node.catches {
                    collect(&catch.body, in_catch, names);
                }
                collect(node.finally.as_deref().unwrap_or_default(), in_catch, names);
            }
        }
    }
}

/// The operands of a condition, in text order.
pub(crate) fn operands_of<'s>(logic: &'s Logic, operands: &mut Vec<&'s Path>) {
    match logic {
        Logic::Name(path) => operands.push(path),
        Logic::Not(inner) => operands_of(inner, operands),
        Logic::And(left, right) | Logic::Or(left, right) => {
            operands_of(left, operands);
            operands_of(right, operands);
        }
    }
}

/// The name that a path starts with.
pub(crate) fn first_name(path: &Path) -> &str {
    match path.segments.first() {
        Some(Segment::Member { name, .. }) => name,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn visible(text: &str) -> bool {
        visible_everywhere(&parse(text).script).is_some()
    }

    fn outermost_catches(text: &str) -> bool {
        let parsed = parse(text);
        assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
        parsed.script.items.iter().any(|item| match item {
            Item::Try(node) => catches_errors(node, false),
            _ => false,
        })
    }

    #[test]
    fn an_error_that_the_body_throws_is_an_ordinary_exception() {
        assert!(outermost_catches("try { a = 1 } catch (error) { b = 2 }"));
        assert!(outermost_catches("try { throw (e) } catch (e && !error.code) { b = 2 }"));
        assert!(!outermost_catches("try { throw (error) } catch (error) { b = 2 }"));
        assert!(!outermost_catches("try { if (x) { throw (error) } } catch (error) { b = 2 }"));
        assert!(!outermost_catches("try { throw (e) } catch (e) { throw (error) }"));
    }

    #[test]
    fn what_is_raised_again_is_no_exception_of_the_try_around_it() {
        let inner =
            "try { a = 1 } catch (error) { throw (error) } finally { if (x) { throw (error) } }";
        assert!(outermost_catches(&format!("try {{ {inner} }} catch (error) {{ b = 2 }}")));
        let flag = "try { throw (error) } catch (error) { throw (error) }";
        assert!(!outermost_catches(&format!("try {{ {flag} }} catch (error) {{ b = 2 }}")));
    }

    #[test]
    fn an_error_is_visible_everywhere_if_nothing_else_has_the_name() {
        let one = "try { a = 1 } catch (error) { b = 2 }";
        assert!(visible(one));
        assert!(!visible("a = 1"));
        assert!(!visible(&format!("{one} try {{ c = 1 }} catch (error) {{ d = 2 }}")));
        assert!(!visible(&format!("{one} try {{ throw (error) }} catch (error) {{ d = 2 }}")));
        assert!(!visible(&format!("error = 1 {one}")));
    }
}
