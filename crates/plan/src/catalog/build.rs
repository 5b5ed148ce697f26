//! Loading: file texts in, a catalog and every problem found out.

use std::sync::Arc;

use qlio_data::{Value, redact::secret_texts};
use qlio_syntax::{
    ast,
    diagnostic::{Diagnostic, Severity, codes, shorten},
    limits::Limits,
    parse,
    source::{LineIndex, Span},
};

use super::{
    Catalog, Connectors, Resources, Route, Transformers,
    credentials::written_credentials,
    declare::{Declaration, declare_table},
    settings::mentioned_values,
};
use crate::lower::{CompileOptions, Origin, compile};

/// The problems of one file.
#[derive(Debug)]
pub struct FileDiagnostics {
    /// The file.
    pub file: Arc<str>,
    /// Its text, for rendering.
    pub text: Arc<str>,
    /// The problems, in text order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Builds a [`Catalog`] file by file: all tables first, then all routes.
pub struct CatalogBuilder<'a> {
    catalog: Catalog,
    resources: &'a dyn Resources,
    transformers: Transformers,
    problems: Vec<FileDiagnostics>,
}

impl<'a> CatalogBuilder<'a> {
    /// An empty catalog with these settings.
    pub fn new(config: Value, resources: &'a dyn Resources) -> Self {
        let transformers = Transformers::default();
        Self { catalog: Catalog::empty(config), resources, transformers, problems: Vec::new() }
    }

    /// Values of the settings that nobody is told, beside those that tables and routes mention.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Vec<String>) -> Self {
        self.catalog.secrets = secrets;
        self
    }

    /// The custom connectors that tables may name.
    #[must_use]
    pub fn with_connectors(mut self, connectors: Connectors) -> Self {
        self.catalog.connectors = connectors;
        self
    }

    /// The transformers of tables that name none themselves.
    #[must_use]
    pub fn with_transformers(mut self, transformers: Transformers) -> Self {
        self.transformers = transformers;
        self
    }

    /// Registers all tables of a table file. A file with a syntax error loads no table; other
    /// statements than `create table` are parsed, ignored and warned about (CON-4).
    pub fn add_table_file(&mut self, file: &str, text: &str) {
        self.hide_mentioned(text);
        let file: Arc<str> = file.into();
        let mut diagnostics = Vec::new();
        if text.trim().is_empty() {
            diagnostics.push(Diagnostic::warning(
                codes::BROKEN_TABLE,
                Span::default(),
                "the file is empty",
            ));
            self.report(file, text, diagnostics);
            return;
        }
        let parsed = parse(text);
        let has_error =
            parsed.diagnostics.iter().any(|problem| problem.severity == Severity::Error);
        diagnostics.extend(parsed.diagnostics);
        if !has_error {
            diagnostics.extend(foreign_statement(&parsed.script));
            let lines = LineIndex::new(text);
            let declaration = Declaration {
                file: &file,
                lines: &lines,
                config: &self.catalog.config,
                connectors: &self.catalog.connectors,
                transformers: &self.transformers,
                resources: self.resources,
                is_inline: false,
            };
            let (mut tables, mut credentials) = (Vec::new(), Vec::new());
            for (create, docs) in creates(&parsed.script) {
                credentials.extend(written_credentials(create));
                let declared = declare_table(create, docs, &declaration);
                diagnostics.extend(declared.problems);
                tables.push((Arc::new(declared.table), create.name.span));
            }
            self.catalog.secrets.extend(credentials);
            for (table, span) in tables {
                for body in table.verbs().filter_map(|verb| verb.body.as_ref()) {
                    self.hide_mentioned(&body.content);
                }
                let name = table.name.clone();
                if let Some(earlier) = self.catalog.add_table(table) {
                    let message = format!(
                        "table `{name}` replaces the one declared in {}:{}",
                        earlier.file, earlier.line
                    );
                    diagnostics.push(Diagnostic::warning(codes::DUPLICATE_TABLE, span, message));
                }
            }
        }
        self.report(file, text, diagnostics);
    }

    /// Compiles a route file against the tables added so far.
    pub fn add_route_file(&mut self, file: &str, text: &str) {
        self.hide_mentioned(text);
        let options = CompileOptions { origin: Origin::Stored, file, resources: self.resources };
        let name: Arc<str> = file.into();
        let mut diagnostics = match compile(text, &self.catalog, &options) {
            Ok(compiled) => {
                let mut diagnostics = compiled.warnings;
                if let Some(problem) = self.add_route(&name, Arc::new(compiled.plan)) {
                    diagnostics.push(problem);
                }
                diagnostics
            }
            Err(diagnostics) => diagnostics,
        };
        diagnostics.sort_by_key(|problem| problem.primary.span.start);
        self.report(name, text, diagnostics);
    }

    fn add_route(&mut self, file: &Arc<str>, plan: Arc<crate::node::Plan>) -> Option<Diagnostic> {
        let Some(spec) = &plan.route else {
            let message = "the script has no `via route` clause, so it is not served";
            return Some(Diagnostic::warning(
                codes::ROUTE_WITHOUT_CLAUSE,
                Span::default(),
                message,
            ));
        };
        self.catalog.routes.push(Arc::new(Route {
            file: Arc::clone(file),
            path: spec.path.clone(),
            method: spec.method.clone(),
            docs: plan.docs.clone(),
            plan,
        }));
        None
    }

    /// Records a problem that is not the file's text: unreadable, dangling.
    pub fn add_problem(&mut self, file: &str, problem: Diagnostic) {
        self.report(file.into(), "", vec![problem]);
    }

    /// The catalog and all problems, in the order of the files.
    pub fn finish(mut self) -> (Catalog, Vec<FileDiagnostics>) {
        self.catalog.secrets = secret_texts(self.catalog.secrets);
        self.catalog.find_hosts();
        (self.catalog, self.problems)
    }

    fn hide_mentioned(&mut self, text: &str) {
        let values = mentioned_values(text, &self.catalog.config);
        self.catalog.secrets.extend(values);
    }

    fn report(&mut self, file: Arc<str>, text: &str, diagnostics: Vec<Diagnostic>) {
        if !diagnostics.is_empty() {
            let mut diagnostics = diagnostics;
            shorten(&mut diagnostics, Limits::default().diagnostics_max);
            self.problems.push(FileDiagnostics { file, text: text.into(), diagnostics });
        }
    }
}

/// The first statement of a table file that declares no table, if there is one.
fn foreign_statement(script: &ast::Script) -> Option<Diagnostic> {
    let foreign = script.items.iter().find_map(|item| match item {
        ast::Item::Statement(statement) => match statement.alternatives.first() {
            Some(ast::Primary::Create(_)) => None,
            _ => Some(statement.span),
        },
        ast::Item::If(node) => Some(node.span),
        ast::Item::Try(node) => Some(node.span),
        ast::Item::Throw(node) => Some(node.span),
    });
    let span = foreign.or_else(|| script.result.as_ref().map(|result| result.span))?;
    let message = "only `create table` has an effect in a table file";
    Some(Diagnostic::warning(codes::FOREIGN_STATEMENT, span, message))
}

/// All `create table` statements of a file with their comments.
fn creates(script: &ast::Script) -> impl Iterator<Item = (&ast::Create, &[ast::Comment])> {
    script.items.iter().filter_map(|item| match item {
        ast::Item::Statement(statement) => match statement.alternatives.first() {
            Some(ast::Primary::Create(create)) => Some((&**create, statement.docs.as_slice())),
            _ => None,
        },
        _ => None,
    })
}
