//! Completions at a place of a script, with the names that a catalog knows: for editors.
//!
//! In: a text, finished or not, an offset and a catalog. Out: the [`Completion`]s that go on with
//! what is typed already, names before keywords. What kind of name belongs there is told by
//! [`qlio_syntax::complete`]; columns are those that scripts of the catalog read from the same table,
//! as a table does not say what its rows hold. Total on any text, pure, linear in the text and the
//! scripts that name the table.

mod columns;

use std::{collections::HashSet, sync::Arc};

use qlio_data::{Value, template::Template};
use qlio_syntax::{
    ast::{self, Source, VerbKind},
    complete::{Completions, TokenPlace, Wanted},
    parse,
    source::{LineIndex, Span},
    symbols::{self, Symbols},
    visit::each_primary,
};

use crate::catalog::{Catalog, Declaration, NoResources, Table, Transformers, declare_table};

/// Columns of one table beyond this number are not offered.
const COLUMNS_MAX: usize = 500;

/// Settings beyond this number, or nested deeper, are not offered.
const SETTINGS_MAX: usize = 500;
const SETTINGS_DEPTH_MAX: usize = 8;

/// The names that tokens find in any client's request (SCP-10); its query, headers and body have
/// names of their own.
const REQUEST_NAMES: &[&str] = &["req.parts", "remoteAddress"];

/// Something that could be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The text to write.
    pub label: String,
    /// The kind of thing it names.
    pub kind: CompletionKind,
    /// A few words about it; may be empty.
    pub detail: String,
    /// The stretch that it replaces.
    pub replace: Span,
}

/// The kinds of a [`Completion`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CompletionKind {
    /// A table, loaded or created by the script.
    Table,
    /// A variable of the script.
    Variable,
    /// A parameter of a table.
    Parameter,
    /// A column that some script reads.
    Column,
    /// A setting or a part of the request, between the braces of a text.
    Token,
    /// The path of a route.
    Route,
    /// A connector.
    Connector,
    /// A keyword or literal.
    Keyword,
}

impl CompletionKind {
    /// The name in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Variable => "variable",
            Self::Parameter => "parameter",
            Self::Column => "column",
            Self::Token => "token",
            Self::Route => "route",
            Self::Connector => "connector",
            Self::Keyword => "keyword",
        }
    }
}

/// Finds the completions at byte `offset` of `text` that start with what is typed there, in any
/// letter case.
pub fn at(text: &str, offset: usize, catalog: &Catalog) -> Vec<Completion> {
    let Completions { keywords, wants, replace, typed } = qlio_syntax::complete::at(text, offset);
    if keywords.is_empty() && wants.is_empty() {
        return Vec::new();
    }
    let script = parse(text).script;
    let symbols = symbols::of_script(&script);
    let inline = inline_tables(text, &script, catalog);
    let mut list = List { typed: &typed, replace, seen: HashSet::new(), found: Vec::new() };
    let names = Names { catalog, script: &script, symbols: &symbols, inline: &inline };
    for wanted in &wants {
        names.add(wanted, &mut list);
    }
    if wants.iter().any(|wanted| matches!(wanted, Wanted::Column { .. })) {
        for name in columns::outputs_at(text, replace) {
            list.add(&name, CompletionKind::Column, "a column of the result");
        }
    }
    for keyword in keywords {
        list.add(keyword, CompletionKind::Keyword, "");
    }
    list.found
}

/// The tables that the text creates; the files they name are out of reach.
fn inline_tables(text: &str, script: &ast::Script, catalog: &Catalog) -> Vec<Table> {
    let lines = LineIndex::new(text);
    let file = Arc::from("");
    let declaration = Declaration {
        file: &file,
        lines: &lines,
        config: catalog.config(),
        connectors: catalog.connectors(),
        transformers: &Transformers::default(),
        resources: &NoResources,
        is_inline: true,
    };
    let mut tables = Vec::new();
    each_primary(script, &mut |primary| {
        if let ast::Primary::Create(create) = primary {
            tables.push(declare_table(create, &[], &declaration).table);
        }
    });
    tables
}

/// The completions found so far.
struct List<'a> {
    typed: &'a str,
    replace: Span,
    seen: HashSet<(String, CompletionKind)>,
    found: Vec<Completion>,
}

impl List<'_> {
    /// Adds one if it goes on with what is typed and is new.
    fn add(&mut self, label: &str, kind: CompletionKind, detail: &str) {
        let starts = label.as_bytes().get(..self.typed.len());
        if !starts.is_some_and(|start| start.eq_ignore_ascii_case(self.typed.as_bytes())) {
            return;
        }
        // The word at the place itself is read as a name too.
        if label == self.typed && kind == CompletionKind::Column {
            return;
        }
        if self.seen.insert((label.to_owned(), kind)) {
            let (label, detail) = (label.to_owned(), detail.to_owned());
            self.found.push(Completion { label, kind, detail, replace: self.replace });
        }
    }
}

/// Everything that has a name.
struct Names<'a> {
    catalog: &'a Catalog,
    script: &'a ast::Script,
    symbols: &'a Symbols,
    inline: &'a [Table],
}

impl Names<'_> {
    fn add(&self, wanted: &Wanted, list: &mut List<'_>) {
        match wanted {
            Wanted::Table => self.tables(list),
            Wanted::Variable => self.variables(list),
            Wanted::Column { sources } => self.columns(sources, list),
            Wanted::Parameter { sources, verb } => self.parameters(sources, *verb, list),
            Wanted::Token { place } => self.tokens(*place, list),
            Wanted::RoutePath => {
                for route in self.catalog.routes() {
                    list.add(&route.path, CompletionKind::Route, &route.method);
                }
            }
            Wanted::Connector => {
                for name in self.catalog.connectors().names() {
                    list.add(name, CompletionKind::Connector, "");
                }
            }
            // The grammar names the methods itself.
            Wanted::RouteMethod => {}
        }
    }

    fn tables(&self, list: &mut List<'_>) {
        for table in self.inline {
            list.add(&table.name, CompletionKind::Table, "created by this script");
        }
        for table in self.catalog.tables() {
            let detail = table.docs.first().map_or("", |docs| docs.trim());
            list.add(&table.name, CompletionKind::Table, detail);
        }
    }

    fn variables(&self, list: &mut List<'_>) {
        for variable in &self.symbols.variables {
            list.add(&variable.name, CompletionKind::Variable, "");
        }
    }

    /// The table of this name, unless a variable hides it.
    fn table(&self, name: &str) -> Option<&Table> {
        if self.symbols.variables.iter().any(|variable| variable.name == name) {
            return None;
        }
        let inline = self.inline.iter().find(|table| *table.name == *name);
        inline.or_else(|| self.catalog.table(name).map(AsRef::as_ref))
    }

    fn parameters(&self, sources: &[Source], verb: VerbKind, list: &mut List<'_>) {
        for source in sources {
            let Some(verb) = self.table(&source.name.text).and_then(|table| table.verb(verb))
            else {
                continue;
            };
            let mut add = |name: &str, detail: &str| {
                let label = add_prefix(name, source, sources.len(), list.typed);
                list.add(&label, CompletionKind::Parameter, detail);
            };
            for token in verb.uri.tokens() {
                add(&token.name, if token.is_required { "required" } else { "" });
            }
            for (name, _) in &verb.defaults {
                add(name, "has a default");
            }
            for (_, template) in &verb.headers {
                template.roots().into_iter().for_each(|root| add(root, "goes into a header"));
            }
            if verb.takes_limit {
                add(&verb.limit_name, "what `limit` sets");
            }
            if verb.takes_offset {
                add(&verb.offset_name, "what `offset` sets");
            }
        }
    }

    fn columns(&self, sources: &[Source], list: &mut List<'_>) {
        for source in sources {
            let name = source.name.text.as_str();
            let mut columns = Vec::new();
            if let Some(verb) = self.table(name).and_then(|table| table.verb(VerbKind::Select)) {
                columns.extend(verb.columns.iter().map(|declared| declared.column.to_string()));
            }
            columns::seen(self.script, name, &mut columns);
            let is_table = self.table(name).is_some_and(|table| !table.is_inline);
            let uses = |tables: &[String]| tables.iter().any(|table| table == name);
            for route in self.catalog.routes() {
                if is_table && uses(&route.plan.loaded_tables) && columns.len() < COLUMNS_MAX {
                    columns::seen(&parse(&route.plan.text).script, name, &mut columns);
                }
            }
            for column in columns.iter().take(COLUMNS_MAX) {
                let label = add_prefix(column, source, sources.len(), list.typed);
                list.add(&label, CompletionKind::Column, "");
            }
        }
        // With several sources each column begins with one of these, and a row is one of them alone.
        if sources.len() > 1 {
            for source in sources {
                if let Some(alias) = &source.alias {
                    let detail = format!("a row of `{}`", source.name.text);
                    list.add(&alias.text, CompletionKind::Variable, &detail);
                }
            }
        }
    }

    fn tokens(&self, place: TokenPlace, list: &mut List<'_>) {
        if place == TokenPlace::Script {
            self.variables(list);
            let route = self.script.result.as_ref().and_then(|result| result.route.as_ref());
            if let Some(route) = route {
                for name in Template::parse(&route.path.text).roots() {
                    list.add(name, CompletionKind::Token, "from the route");
                }
            }
            for name in REQUEST_NAMES {
                list.add(name, CompletionKind::Token, "the client's request");
            }
        }
        if place == TokenPlace::Table {
            // Which of the text's tables it is does not matter much: there is one as a rule.
            for token in
                self.inline.iter().flat_map(Table::verbs).flat_map(|verb| verb.uri.tokens())
            {
                list.add(&token.name, CompletionKind::Parameter, "");
            }
        }
        if place != TokenPlace::Route {
            let mut paths = Vec::new();
            setting_paths("config", self.catalog.config(), 0, &mut paths);
            for path in paths {
                list.add(&path, CompletionKind::Token, "a setting");
            }
        }
    }
}

/// The name as it is written in a statement: with several sources, or where one types so, behind
/// the source's alias.
fn add_prefix(name: &str, source: &Source, sources: usize, typed: &str) -> String {
    let Some(alias) = &source.alias else { return name.to_owned() };
    let is_typed =
        typed.strip_prefix(alias.text.as_str()).is_some_and(|rest| rest.starts_with('.'));
    if sources > 1 || is_typed { format!("{}.{name}", alias.text) } else { name.to_owned() }
}

/// The dotted paths of all settings; their values are nobody's business here.
fn setting_paths(path: &str, value: &Value, depth: usize, found: &mut Vec<String>) {
    let opened = value.open();
    let Value::Object(members) = &*opened else { return };
    if depth == SETTINGS_DEPTH_MAX {
        return;
    }
    for (name, member) in members.iter() {
        if found.len() >= SETTINGS_MAX {
            return;
        }
        let path = format!("{path}.{name}");
        found.push(path.clone());
        setting_paths(&path, member, depth + 1, found);
    }
}
