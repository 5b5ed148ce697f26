//! Lowering: syntax tree to plan. Names become slots and tables, texts become templates and paths,
//! references become edges.
//!
//! Passes, in order: collect the symbols ([`symbols`]); lower every statement to nodes
//! ([`statement`], [`select`], [`join`], [`write`], [`block`]), noting which variables each one
//! reads; lower the value ([`result`]); then the rules of [`crate::rewrite`].
//!
//! Source: EXE-15.

mod block;
mod calls;
mod condition;
mod expression;
mod join;
mod joins;
mod mentions;
mod path;
mod placing;
mod program;
mod result;
mod scope;
mod select;
mod statement;
mod symbols;
mod terms;
mod tested;
mod union;
mod warning;
mod write;

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
    sync::Arc,
};

use qlio_data::{Text, template::Template};
use qlio_syntax::{
    ast, check,
    diagnostic::{Diagnostic, Severity, codes, shorten},
    limits::Limits,
    parse,
    source::{LineIndex, Span},
};

use crate::{
    catalog::{Catalog, NoResources, Resources, Table},
    node::{BlockBranch, Node, NodeId, NodeKind, Plan, SlotId},
    operator::{Source, SourceKind},
    rewrite::{self, Noted},
};

pub(crate) use path::{lower_path, path_text, without_alias};
use symbols::Symbols;

/// Where a script comes from, which decides what it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A route file or the operator's own hand.
    Stored,
    /// A script sent by a client.
    AdHoc,
}

/// How to compile a script.
pub struct CompileOptions<'a> {
    /// Where it comes from.
    pub origin: Origin,
    /// Its file, for messages.
    pub file: &'a str,
    /// Files that its inline tables may use.
    pub resources: &'a dyn Resources,
}

/// A plan and the warnings found on the way.
#[derive(Debug)]
pub struct Compiled {
    /// The plan.
    pub plan: Plan,
    /// Things worth a look that do not stop it.
    pub warnings: Vec<Diagnostic>,
}

/// Compiles a script.
///
/// # Errors
/// Every independent problem, in text order; warnings found on the way are left out.
pub fn compile(
    text: &str,
    catalog: &Catalog,
    options: &CompileOptions<'_>,
) -> Result<Compiled, Vec<Diagnostic>> {
    match compile_all(text, catalog, options) {
        (Some(plan), mut warnings) => {
            shorten(&mut warnings, Limits::default().diagnostics_max);
            Ok(Compiled { plan, warnings })
        }
        (None, mut problems) => {
            problems.retain(|problem| problem.severity == Severity::Error);
            shorten(&mut problems, Limits::default().diagnostics_max);
            Err(problems)
        }
    }
}

/// All problems of a script, however many, warnings too, and its plan if none of them is an error.
pub(crate) fn compile_all(
    text: &str,
    catalog: &Catalog,
    options: &CompileOptions<'_>,
) -> (Option<Plan>, Vec<Diagnostic>) {
    if text.trim().is_empty() {
        let problem = Diagnostic::error(codes::MISSING_SCRIPT, Span::default(), "missing script")
            .wire("Missing script");
        return (None, vec![problem]);
    }
    let parsed = parse(text);
    let lines = LineIndex::new(text);
    let mut problems = parsed.diagnostics;
    if !has_error(&problems) {
        problems.extend(check(&parsed.script, &lines));
    }
    if has_error(&problems) {
        return (None, problems);
    }
    let mut lowering = Lowering::new(text, &lines, catalog, options, &parsed.script);
    let plan = lowering.script(&parsed.script);
    problems.append(&mut lowering.problems);
    if let Some(cycle) = rewrite::find_cycle(&plan) {
        problems.push(circular(&plan, cycle));
    }
    let is_usable = !has_error(&problems);
    (is_usable.then_some(plan), problems)
}

fn has_error(problems: &[Diagnostic]) -> bool {
    problems.iter().any(|problem| problem.severity == Severity::Error)
}

/// Cycles through blocks; those among plain statements are found by the checks of `syntax`.
fn circular(plan: &Plan, node: NodeId) -> Diagnostic {
    let node = plan.node(node);
    let name = node.target.map_or("statement", |slot| &plan.symbols[slot.index()].name);
    Diagnostic::error(codes::CIRCULAR_REFERENCE, node.span, format!("circular reference `{name}`"))
        .wire(format!("Line {}: Circular reference {name}", node.line))
}

/// The variables read by the node that is being lowered, each once, in order of reference.
#[derive(Default)]
struct Reads {
    slots: Vec<SlotId>,
    /// For each slot the node in whose course it was noted last, counted from 1.
    noted_for: Vec<u32>,
    node: u32,
}

impl Reads {
    fn note(&mut self, slot: SlotId) {
        let at = slot.index();
        if self.noted_for.len() <= at {
            self.noted_for.resize(at + 1, 0);
        }
        if std::mem::replace(&mut self.noted_for[at], self.node + 1) != self.node + 1 {
            self.slots.push(slot);
        }
    }

    /// Gives the variables read so far; the next node begins.
    fn take(&mut self) -> Vec<SlotId> {
        self.node += 1;
        std::mem::take(&mut self.slots)
    }
}

/// The state of lowering one script.
struct Lowering<'a> {
    text: &'a str,
    lines: &'a LineIndex,
    catalog: &'a Catalog,
    options: &'a CompileOptions<'a>,
    file: Arc<str>,
    symbols: Symbols,
    nodes: Vec<Node>,
    inline_tables: Vec<Arc<Table>>,
    /// Where the first table of a name stands in `inline_tables`.
    inline_index: HashMap<String, usize>,
    /// Whether each of them is created in a block.
    are_conditional: Vec<bool>,
    /// The tables that the current node reads, by their place in `inline_tables`.
    tables_read: Vec<usize>,
    /// Which node reads which of them.
    table_reads: Vec<(NodeId, usize)>,
    loaded_tables: Vec<String>,
    /// The names of `loaded_tables`, to find them quickly.
    loaded_index: HashSet<String>,
    problems: Vec<Diagnostic>,
    /// How many warnings `problems` got.
    warnings: usize,
    /// The names that the route declares.
    route: Option<warning::DeclaredRoute>,
    /// Names of tokens that are no variables: those that exist without one, and those looked at.
    foreign_names: HashSet<String>,
    /// The parameters of tables, for warnings.
    parameters: HashMap<(String, ast::VerbKind), Option<Rc<warning::Parameters>>>,
    /// The sources of the select that is being lowered, behind those of the selects around it.
    scopes: Vec<scope::Scope>,
    reads: Reads,
    /// Of each node, the variables that it reads.
    reads_of: Vec<Vec<SlotId>>,
    /// Of a `try`, the variables that its catch conditions read.
    condition_reads: Vec<(NodeId, Vec<SlotId>)>,
    /// The prerequisites of the node that is being lowered.
    prerequisites: Vec<Template>,
    /// The tokens of settings without a value that the node needs which is being lowered.
    missing_settings: Vec<Text>,
}

impl<'a> Lowering<'a> {
    fn new(
        text: &'a str,
        lines: &'a LineIndex,
        catalog: &'a Catalog,
        options: &'a CompileOptions<'a>,
        script: &ast::Script,
    ) -> Self {
        let route = warning::DeclaredRoute::of(script);
        Self {
            text,
            lines,
            catalog,
            options,
            file: options.file.into(),
            symbols: Symbols::collect(script),
            nodes: Vec::new(),
            inline_tables: Vec::new(),
            inline_index: HashMap::new(),
            are_conditional: Vec::new(),
            tables_read: Vec::new(),
            table_reads: Vec::new(),
            loaded_tables: Vec::new(),
            loaded_index: HashSet::new(),
            problems: Vec::new(),
            warnings: 0,
            foreign_names: warning::names_without_variable(route.as_ref()),
            route,
            parameters: HashMap::new(),
            scopes: Vec::new(),
            reads: Reads::default(),
            reads_of: Vec::new(),
            condition_reads: Vec::new(),
            prerequisites: Vec::new(),
            missing_settings: Vec::new(),
        }
    }

    /// The files that the script may use; scripts of clients must not reach any.
    fn resources(&self) -> &'a dyn Resources {
        match self.options.origin {
            Origin::Stored => self.options.resources,
            Origin::AdHoc => &NoResources,
        }
    }

    fn script(&mut self, script: &ast::Script) -> Plan {
        self.declare_inline_tables(script);
        let mut top_level = Vec::new();
        for item in &script.items {
            top_level.push(self.item(item, None));
        }
        let value = self.value(script, &mut top_level);
        let route = script
            .result
            .as_ref()
            .and_then(|result| result.route.as_ref())
            .map(|route| self.route(route, value));
        let docs = script.result.as_ref().map(|result| result.docs.as_slice()).unwrap_or_default();
        let docs = docs.iter().map(|comment| comment.text.clone()).collect();
        let mut plan = Plan {
            text: self.text.into(),
            file: Arc::clone(&self.file),
            nodes: std::mem::take(&mut self.nodes),
            symbols: self.symbols.to_symbols(),
            value,
            route,
            calls_max: None,
            docs,
            inline_tables: std::mem::take(&mut self.inline_tables),
            loaded_tables: std::mem::take(&mut self.loaded_tables),
            modules: self.resources().module_folders(),
            roots: Vec::new(),
            is_simple: false,
        };
        let noted = Noted {
            top_level,
            reads: std::mem::take(&mut self.reads_of),
            condition_reads: std::mem::take(&mut self.condition_reads),
            table_reads: std::mem::take(&mut self.table_reads),
        };
        rewrite::apply(&mut plan, &noted);
        if let Some(most) = script.result.as_ref().and_then(|result| result.calls_max) {
            plan.calls_max = Some(most.value);
            self.refuse_known_calls(&plan, most);
        }
        plan
    }

    /// Adds a node that reads the variables noted since the last call. Its dependencies are found when
    /// all nodes are known.
    fn push(&mut self, span: Span, kind: NodeKind, block: Option<BlockBranch>) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let reads = self.reads.take();
        self.reads_of.push(reads);
        self.table_reads.extend(self.tables_read.drain(..).map(|table| (id, table)));
        self.nodes.push(Node {
            id,
            line: self.lines.line(span.start),
            span,
            kind,
            target: None,
            dependencies: Vec::new(),
            orphans: Vec::new(),
            fallback: None,
            fallback_of: None,
            block,
            dependents: Vec::new(),
            prerequisites: std::mem::take(&mut self.prerequisites),
            missing_settings: std::mem::take(&mut self.missing_settings),
        });
        id
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    /// Notes that the current node reads a variable. A caught error is there before anything that
    /// stands behind its `catch` can start.
    fn read(&mut self, slot: SlotId) {
        if !self.symbols.is_entered(slot) {
            self.reads.note(slot);
        }
    }

    /// Parses a template, binds its roots to slots and notes what it reads.
    fn template(&mut self, text: &str) -> Template {
        let mut template = Template::parse(text);
        self.bind(&mut template);
        template
    }

    /// Parses the template of a text that stands at `span`, and warns of tokens that nothing fills.
    fn shown_template(&mut self, text: &str, span: Span) -> Template {
        let template = self.template(text);
        for root in template.roots() {
            if self.symbols.slot(root).is_none() {
                self.warn_unknown_reference(root, span);
            }
        }
        self.note_missing_settings(&template, span);
        template
    }

    fn bind(&mut self, template: &mut Template) {
        let mut slots = Vec::new();
        let symbols = &self.symbols;
        template.bind(&mut |root| {
            let slot = symbols.slot(root)?;
            slots.push(slot);
            Some(slot)
        });
        for slot in slots {
            self.read(slot);
        }
        for lookup in template.lookups() {
            self.symbols.note_lookup(lookup);
        }
    }

    /// Resolves the name of a source: variable, inline table, loaded table, in this order.
    fn source(&mut self, source: &ast::Source) -> Source {
        let name: Text = source.name.text.as_str().into();
        let kind = if let Some(slot) = self.symbols.assigned_slot(&name) {
            self.read(slot);
            SourceKind::Slot(slot)
        } else if let Some(kind) = self.inline_source(&name) {
            kind
        } else {
            let table = self.loaded_table(&name);
            if table.is_none() {
                self.warn_unknown_table(&source.name);
            }
            SourceKind::Loaded(table)
        };
        let alias = source.alias.as_ref().map(|alias| alias.text.as_str().into());
        Source { name, alias, kind }
    }

    /// The meaning of a name that the script creates a table of; notes that the table is read.
    fn inline_source(&mut self, name: &str) -> Option<SourceKind> {
        let place = self.inline_index.get(name).copied()?;
        self.tables_read.push(place);
        let table = Arc::clone(&self.inline_tables[place]);
        Some(if self.are_conditional[place] {
            SourceKind::Conditional { place, table, otherwise: self.loaded_table(name) }
        } else {
            SourceKind::Inline(table)
        })
    }

    /// Whether a table has this name.
    fn has_table(&self, name: &str) -> bool {
        self.inline_index.contains_key(name) || self.catalog.table(name).is_some()
    }

    /// Whether a table says which parameters decide its columns.
    fn declares_columns(&self, name: &str) -> bool {
        let table = self.inline_table(name).or_else(|| self.catalog.table(name));
        let verb = table.and_then(|table| table.verb(ast::VerbKind::Select));
        verb.is_some_and(|verb| !verb.columns.is_empty())
    }

    fn inline_table(&self, name: &str) -> Option<&Arc<Table>> {
        self.inline_index.get(name).map(|index| &self.inline_tables[*index])
    }

    fn loaded_table(&mut self, name: &str) -> Option<Arc<Table>> {
        let table = self.catalog.table(name).map(Arc::clone)?;
        if self.loaded_index.insert(name.to_owned()) {
            self.loaded_tables.push(name.to_owned());
        }
        Some(table)
    }
}

/// The table that a source names, as far as that is known.
fn table_of(source: &Source) -> Option<Arc<Table>> {
    match &source.kind {
        SourceKind::Inline(table) | SourceKind::Conditional { table, .. } => {
            Some(Arc::clone(table))
        }
        SourceKind::Loaded(table) => table.clone(),
        SourceKind::Slot(_)
        | SourceKind::Select(_)
        | SourceKind::Elements
        | SourceKind::Union(_) => None,
    }
}
