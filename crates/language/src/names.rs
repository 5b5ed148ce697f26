//! What the names in a text mean: which variable, table, alias or parameter each stands for.
//!
//! In: a text, finished or not, and a catalog. Out: [`Names`]: one [`Occurrence`] per name, in text
//! order, those in the braces of quoted texts included. What a name may be is told by the production
//! that reads it ([`qlio_syntax::tokens`]); this module decides among those by what there is.
//! Linear in the text.

use std::collections::HashSet;

use qlio_data::compute::function;
use qlio_plan::Catalog;
use qlio_syntax::{
    ast::{Item, Primary, Script, Source},
    complete::TokenPlace,
    source::Span,
    symbols::{self, Symbols},
    tokens::{Role, Token, TokenKind, Tokens, brace_names, tokens},
    visit::{each_primary, each_select},
};

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A variable of the script, or an exception that it throws.
    Variable,
    /// A table.
    Table,
    /// The alias that is introduced at this place.
    Alias(Span),
    /// A parameter of a table.
    Parameter,
    /// A parameter of the route.
    RouteParameter,
    /// A setting.
    Setting,
    /// A built-in function.
    Function,
    /// A column of rows, or of the result.
    Column,
}

/// A name at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Occurrence {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) meaning: Meaning,
    pub(crate) is_definition: bool,
}

/// The names of a text.
#[derive(Debug)]
pub(crate) struct Names {
    /// The tokens, and the tree.
    pub(crate) read: Tokens,
    /// What the text introduces.
    pub(crate) symbols: Symbols,
    /// All names, in text order.
    pub(crate) occurrences: Vec<Occurrence>,
}

impl Names {
    /// The names of `text`.
    pub(crate) fn of(text: &str, catalog: &Catalog) -> Self {
        let read = tokens(text);
        let symbols = symbols::of_script(&read.script);
        let mut finder = Finder {
            text,
            catalog,
            variables: symbols.variables.iter().map(|variable| variable.name.as_str()).collect(),
            tables: symbols.tables.iter().map(|table| table.name.as_str()).collect(),
            parameters: HashSet::new(),
            scopes: scopes(&read.script),
            next_scope: 0,
            open: Vec::new(),
            found: Vec::new(),
        };
        finder.add_introduced(&read.script);
        let mut before = None;
        for token in &read.tokens {
            finder.add(token, before);
            before = Some(token);
        }
        let mut occurrences = finder.found;
        occurrences.sort_by_key(|occurrence| occurrence.span);
        Self { read, symbols, occurrences }
    }

    /// The name at a place; directly behind it counts as well.
    pub(crate) fn at(&self, offset: usize) -> Option<&Occurrence> {
        let behind = self.occurrences.partition_point(|one| one.span.start as usize <= offset);
        let one = &self.occurrences[behind.checked_sub(1)?];
        (offset <= one.span.end as usize).then_some(one)
    }

    /// All names of the text that stand for the same as `one`.
    pub(crate) fn same<'n>(&'n self, one: &'n Occurrence) -> impl Iterator<Item = &'n Occurrence> {
        let is_same = |other: &&Occurrence| other.meaning == one.meaning && other.name == one.name;
        self.occurrences.iter().filter(is_same)
    }
}

/// The sources that names within a statement may begin with.
#[derive(Debug)]
struct Scope<'s> {
    span: Span,
    sources: Vec<&'s Source>,
}

/// The scopes of all statements, in text order, inner ones behind those around them.
fn scopes(script: &Script) -> Vec<Scope<'_>> {
    let mut scopes = Vec::new();
    each_select(script, &mut |select| {
        scopes.push(Scope { span: select.span, sources: select.sources.iter().collect() });
    });
    each_primary(script, &mut |primary| {
        let (span, source) = match primary {
            Primary::Insert(node) => (node.span, &node.target),
            Primary::Update(node) => (node.span, &node.target),
            Primary::Delete(node) => (node.span, &node.target),
            _ => return,
        };
        scopes.push(Scope { span, sources: vec![source] });
    });
    scopes.sort_by_key(|scope| (scope.span.start, std::cmp::Reverse(scope.span.end)));
    scopes
}

struct Finder<'a> {
    text: &'a str,
    catalog: &'a Catalog,
    variables: HashSet<&'a str>,
    tables: HashSet<&'a str>,
    /// The parameters of the route.
    parameters: HashSet<&'a str>,
    scopes: Vec<Scope<'a>>,
    next_scope: usize,
    /// The scopes around the place, the innermost last.
    open: Vec<usize>,
    found: Vec<Occurrence>,
}

impl<'a> Finder<'a> {
    /// Exceptions are introduced where they are thrown, parameters by the path of the route.
    fn add_introduced(&mut self, script: &'a Script) {
        self.add_thrown(&script.items);
        let route = script.result.as_ref().and_then(|result| result.route.as_ref());
        if let Some(route) = route {
            let names = brace_names(&route.path.text);
            self.parameters.extend(names.into_iter().map(|(_, name)| name));
        }
    }

    fn add_thrown(&mut self, items: &'a [Item]) {
        for item in items {
            match item {
                Item::Throw(node) => {
                    self.variables.insert(&node.name.text);
                }
                Item::If(node) => {
                    self.add_thrown(&node.then);
                    self.add_thrown(node.otherwise.as_deref().unwrap_or_default());
                }
                Item::Try(node) => {
                    self.add_thrown(&node.body);
                    node.catches.iter().for_each(|catch| self.add_thrown(&catch.body));
                    self.add_thrown(node.finally.as_deref().unwrap_or_default());
                }
                Item::Statement(_) => {}
            }
        }
    }

    fn add(&mut self, token: &Token, before: Option<&Token>) {
        self.enter_scopes(token.span.start);
        match token.kind {
            TokenKind::Name => self.add_name(token, before),
            TokenKind::Text => {
                if let Role::Text(place) = token.role {
                    self.add_braces(token.span, place);
                }
            }
            TokenKind::Brace => self.add_braces(token.span, TokenPlace::Script),
            _ => {}
        }
    }

    fn enter_scopes(&mut self, at: u32) {
        while self.scopes.get(self.next_scope).is_some_and(|scope| scope.span.start <= at) {
            self.open.push(self.next_scope);
            self.next_scope += 1;
        }
        while self.open.last().is_some_and(|last| self.scopes[*last].span.end <= at) {
            self.open.pop();
        }
    }

    /// The alias of this name in the statement around the place.
    fn alias(&self, name: &str) -> Option<Span> {
        let scope = &self.scopes[*self.open.last()?];
        let aliases = scope.sources.iter().filter_map(|source| source.alias.as_ref());
        aliases.filter(|alias| alias.text == name).map(|alias| alias.span).next()
    }

    fn push(&mut self, span: Span, meaning: Meaning, is_definition: bool) {
        let name = self.text[span.range()].to_owned();
        self.found.push(Occurrence { name, span, meaning, is_definition });
    }

    fn add_name(&mut self, token: &Token, before: Option<&Token>) {
        let span = token.span;
        let name = &self.text[span.range()];
        let first = name.split('.').next().unwrap_or_default();
        let first_span = Span::new(span.start, span.start + first.len() as u32);
        let is_member = before.is_some_and(|before| {
            before.span.end == span.start && self.text[before.span.range()].ends_with('.')
        });
        if is_member {
            return;
        }
        let has_member = self.text[span.end as usize..].starts_with('.');
        match token.role {
            Role::Binding => self.push(span, Meaning::Variable, true),
            Role::NewTable => self.push(span, Meaning::Table, true),
            Role::Alias => self.push(span, Meaning::Alias(span), true),
            Role::Source if self.variables.contains(name) => {
                self.push(span, Meaning::Variable, false);
            }
            Role::Source => {
                let is_table = self.tables.contains(name) || self.catalog.table(name).is_some();
                if !is_table && self.variables.contains(first) {
                    self.push(first_span, Meaning::Variable, false);
                } else {
                    self.push(span, Meaning::Table, false);
                }
            }
            Role::Variable => self.add_variable(span, name, before),
            Role::Function if self.variables.contains(first) => {
                self.push(first_span, Meaning::Variable, false);
            }
            Role::Function => {
                if function::find(name).is_some() {
                    self.push(span, Meaning::Function, false);
                }
            }
            Role::Value | Role::Argument | Role::Column | Role::Condition | Role::Plain => {
                let alias = self.alias(name).filter(|_| has_member);
                let is_variable = token.role == Role::Value && self.variables.contains(name);
                match alias {
                    Some(alias) => self.push(span, Meaning::Alias(alias), false),
                    None if is_variable => self.push(span, Meaning::Variable, false),
                    None if token.role == Role::Plain && self.open.is_empty() => {}
                    None if token.role == Role::Condition && self.is_parameter(name) => {
                        self.push(span, Meaning::Parameter, false);
                    }
                    None => self.push(span, Meaning::Column, false),
                }
            }
            Role::Output => self.push(span, Meaning::Column, true),
            Role::Connector | Role::Text(_) => {}
        }
    }

    fn add_variable(&mut self, span: Span, name: &str, before: Option<&Token>) {
        if self.variables.contains(name) {
            // `throw (name)` introduces an exception, unless a statement binds the name.
            let is_thrown = before.is_some_and(|before| self.text[before.span.range()] == *"(")
                && self.text[..span.start as usize]
                    .trim_end_matches(['(', ' ', '\t'])
                    .ends_with("throw");
            self.push(span, Meaning::Variable, is_thrown);
        } else if self.parameters.contains(name) {
            self.push(span, Meaning::RouteParameter, false);
        }
    }

    /// Whether a table of the statement has this parameter.
    fn is_parameter(&self, name: &str) -> bool {
        let Some(scope) = self.open.last().map(|last| &self.scopes[*last]) else { return false };
        let tables = scope
            .sources
            .iter()
            .filter(|source| !self.variables.contains(source.name.text.as_str()));
        let mut tables = tables.filter_map(|source| self.catalog.table(&source.name.text));
        tables.any(|table| {
            table.verbs().any(|verb| {
                verb.uri.tokens().iter().any(|token| *token.name == *name)
                    || verb.defaults.iter().any(|(default, _)| **default == *name)
            })
        })
    }

    fn add_braces(&mut self, span: Span, place: TokenPlace) {
        let text = &self.text[span.range()];
        // `{=name}` needs no quotes.
        let quote = usize::from(!text.starts_with('{'));
        let content = text.get(quote..text.len() - quote).unwrap_or_default();
        let found = brace_names(content).into_iter().map(|(at, name)| (at + quote, name));
        for (at, name) in found {
            let start = span.start + at as u32;
            let span = Span::new(start, start + name.len() as u32);
            match place {
                TokenPlace::Route => self.push(span, Meaning::RouteParameter, true),
                TokenPlace::Uri | TokenPlace::Table if name != "config" => {
                    self.push(span, Meaning::Parameter, place == TokenPlace::Uri);
                }
                TokenPlace::Script if self.variables.contains(name) => {
                    self.push(span, Meaning::Variable, false);
                }
                TokenPlace::Script if self.parameters.contains(name) => {
                    self.push(span, Meaning::RouteParameter, false);
                }
                _ if name == "config" => self.push(span, Meaning::Setting, false),
                _ => {}
            }
        }
    }
}
