//! The names that a text introduces, for outlines, completion and going to definitions.
//!
//! In: a text, finished or not. Out: [`Symbols`] of all statements that could be read. A statement
//! that is still broken introduces nothing.

use crate::{
    ast::{Primary, Script, Source},
    caught::{ERROR, bindings},
    parser::parse,
    source::Span,
    visit::{each_primary, each_select, each_statement},
};

/// The names that a text introduces, each list in text order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Symbols {
    /// Variables: the targets of statements, at any nesting level, and caught errors.
    pub variables: Vec<Symbol>,
    /// Tables that the text creates.
    pub tables: Vec<Symbol>,
    /// Aliases of sources.
    pub aliases: Vec<Alias>,
}

/// A name and where it is introduced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// Another name of a source within one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The alias.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// The table or variable that it stands for.
    pub source: String,
}

/// The names that `text` introduces.
pub fn symbols(text: &str) -> Symbols {
    of_script(&parse(text).script)
}

/// The names that a tree introduces.
pub fn of_script(script: &Script) -> Symbols {
    let mut found = Symbols::default();
    each_statement(&script.items, &mut |statement| {
        if let Some(target) = &statement.target {
            found.variables.push(Symbol { name: target.text.clone(), span: target.span });
        }
    });
    let errors = bindings(script).into_iter();
    found.variables.extend(errors.map(|span| Symbol { name: ERROR.to_owned(), span }));
    found.variables.sort_by_key(|variable| variable.span);
    each_primary(script, &mut |primary| match primary {
        Primary::Create(create) => {
            found.tables.push(Symbol { name: create.name.text.clone(), span: create.name.span });
        }
        Primary::Insert(node) => found.alias(&node.target),
        Primary::Update(node) => found.alias(&node.target),
        Primary::Delete(node) => found.alias(&node.target),
        _ => {}
    });
    each_select(script, &mut |select| {
        for source in &select.sources {
            found.alias(source);
        }
    });
    found.aliases.sort_by_key(|alias| alias.span);
    found
}

impl Symbols {
    fn alias(&mut self, source: &Source) {
        if let Some(alias) = &source.alias {
            let source = source.name.text.clone();
            self.aliases.push(Alias { name: alias.text.clone(), span: alias.span, source });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(symbols: &[Symbol]) -> Vec<&str> {
        symbols.iter().map(|symbol| symbol.name.as_str()).collect()
    }

    #[test]
    fn names_of_all_levels_are_found() {
        let text = "create table t on select get from 'http://h.test/'\n\
            a = select x from t as one where x in (select y from a as two)\n\
            if (a) { b = 1 } else { c = 2 } return a";
        let found = symbols(text);
        assert_eq!(names(&found.variables), ["a", "b", "c"]);
        assert_eq!(names(&found.tables), ["t"]);
        let aliases: Vec<_> =
            found.aliases.iter().map(|alias| (alias.name.as_str(), &*alias.source)).collect();
        assert_eq!(aliases, [("one", "t"), ("two", "a")]);
        for symbol in found.variables.iter().chain(&found.tables) {
            let span = symbol.span.start as usize..symbol.span.end as usize;
            assert_eq!(text[span], symbol.name);
        }
    }

    #[test]
    fn a_caught_error_is_a_variable_where_it_is_named() {
        let text = "try { a = 1 } catch (error.status) { b = 1 } finally { c = 1 }";
        let found = symbols(text);
        assert_eq!(names(&found.variables), ["a", "error", "b", "c"]);
        let thrown = symbols("try { throw (error) } catch (error) { b = 1 }");
        assert_eq!(names(&thrown.variables), ["b"]);
    }

    #[test]
    fn a_broken_statement_hides_only_its_own_names() {
        let found = symbols("a = 1\nb = select from\nc = 3");
        assert_eq!(names(&found.variables), ["a", "c"]);
    }
}
