//! What a script may well mean, but probably does not: tables that nobody declares, conditions that
//! have no effect, and tokens that are almost variables.
//!
//! All are only warnings. A missing table fails when it is used, so that a fallback can take over
//! (`language.md` 3.2), and a variable of the embedding caller may have its name; a condition that a
//! table has no use for just does nothing; a token may be filled by the request or the settings.

use std::{collections::HashSet, rc::Rc};

use qlio_data::template::Template;
use qlio_syntax::{
    ast::{self, VerbKind},
    diagnostic::{Code, Diagnostic, codes},
    source::Span,
    spelling,
};

use super::{Lowering, path_text};
use crate::catalog::{DefaultValue, Table, Verb};

/// Warnings beyond this number are left out: each one looks through all tables.
const WARNINGS_MAX: usize = 50;

/// Different names of tokens that are compared with all variables of a script.
const NAMES_COMPARED_MAX: usize = 50;

/// Parameters that a note lists.
const PARAMETERS_SHOWN_MAX: usize = 8;

/// The parameters that the request of a verb is made of.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    /// What stands before the first dot of each name.
    roots: HashSet<String>,
    /// The names, one per root, in order.
    names: Vec<String>,
}

impl Lowering<'_> {
    /// Warns that a source is neither a variable nor a table.
    pub(super) fn warn_unknown_table(&mut self, name: &ast::Name) {
        let message = format!("no table named `{}`", name.text);
        let Some(warning) = self.warning(codes::UNKNOWN_TABLE, name.span, message) else { return };
        let loaded = self.catalog.tables().iter().map(|table| &*table.name);
        let inline = self.inline_tables.iter().map(|table| &*table.name);
        let known = loaded.chain(inline).chain(self.symbols.assigned_names());
        let meant = spelling::closest(&name.text, known);
        let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
        let mut warning = warning.note("a fallback behind `||` can take over when it runs");
        warning.hints.extend(hint);
        self.problems.push(warning);
    }

    /// Warns that a condition on a table sets a parameter which the table's request does not use.
    pub(super) fn warn_unused_parameter(
        &mut self,
        path: &ast::Path,
        source: &ast::Source,
        kind: VerbKind,
    ) {
        let name = source.name.text.as_str();
        let Some(used) = self.used_parameters(name, kind) else { return };
        let parameter = path_text(path);
        if used.roots.contains(root(&parameter)) {
            return;
        }
        let message = format!("`{name}` does not use the parameter `{parameter}`");
        let Some(warning) = self.warning(codes::UNUSED_PARAMETER, path.span, message) else {
            return;
        };
        let meant = spelling::closest(&parameter, used.names.iter().map(String::as_str));
        let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
        let mut warning = warning.note(parameters_note(name, &used.names));
        warning.hints.extend(hint);
        self.problems.push(warning);
    }

    /// Warns that a token is almost the name of a variable, once per name.
    pub(super) fn warn_unknown_reference(&mut self, name: &str, span: Span) {
        let is_enough = self.foreign_names.len() >= NAMES_COMPARED_MAX;
        if is_enough || !self.foreign_names.insert(name.to_owned()) {
            return;
        }
        let is_likely = |meant: &&str| !is_plural(name, meant);
        let meant = spelling::closest(name, self.symbols.assigned_names()).filter(is_likely);
        let Some(meant) = meant.map(str::to_owned) else { return };
        let message = format!("`{name}` is no variable of the script");
        let Some(warning) = self.warning(codes::UNKNOWN_REFERENCE, span, message) else { return };
        let note = "without a value from the request or the settings the token stays absent";
        self.problems.push(warning.hint(format!("did you mean `{meant}`?")).note(note));
    }

    /// What the request of a verb is made of, looked up once per table; `None` if the name is no table
    /// or its parameters cannot be known.
    fn used_parameters(&mut self, name: &str, kind: VerbKind) -> Option<Rc<Parameters>> {
        if self.symbols.assigned_slot(name).is_some() {
            return None;
        }
        let key = (name.to_owned(), kind);
        if let Some(known) = self.parameters.get(&key) {
            return known.clone();
        }
        let table = self.inline_table(name).or_else(|| self.catalog.table(name));
        let used = table.and_then(|table| used_parameters(table, kind)).map(Rc::new);
        self.parameters.insert(key, used.clone());
        used
    }

    /// A new warning, unless there are enough.
    fn warning(&mut self, code: Code, span: Span, message: String) -> Option<Diagnostic> {
        self.warnings += 1;
        (self.warnings <= WARNINGS_MAX).then(|| Diagnostic::warning(code, span, message))
    }
}

/// The parameters that the request of a verb is made of; `None` where they cannot be known: hooks
/// and bodies see all of them.
fn used_parameters(table: &Table, kind: VerbKind) -> Option<Parameters> {
    let verb = table.verb(kind)?;
    let sees_all = table.broken.is_some()
        || verb.patch.is_some()
        || verb.auth.is_some()
        || verb.transformer.is_some()
        || verb.body.is_some()
        || verb.has_body()
        || verb.uri.tokens().iter().any(|token| token.is_nested);
    if sees_all {
        return None;
    }
    let mut used = Parameters::default();
    let tokens = verb.uri.tokens().iter().map(|token| token.name.as_str());
    for name in tokens.chain(roots_of_values(verb)) {
        if used.roots.insert(root(name).to_owned()) {
            used.names.push(name.to_owned());
        }
    }
    Some(used)
}

/// Names that tokens find without a variable: those that always exist, and those that the tokens and
/// defaults of the route clause declare.
pub(super) fn foreign_names(script: &ast::Script) -> HashSet<String> {
    let always = ["config", "remoteAddress", "req"].map(str::to_owned);
    let route = script.result.as_ref().and_then(|result| result.route.as_ref());
    let Some(route) = route else { return always.into() };
    let path = Template::parse(&route.path.text.replace(['^', '#'], ""));
    let defaults = route.defaults.iter().map(|pair| pair.name.text.clone());
    let declared = path.roots().into_iter().map(str::to_owned).chain(defaults);
    declared.chain(always).collect()
}

/// Whether two names differ in a last `s` only: a parameter and the list of its values.
fn is_plural(one: &str, other: &str) -> bool {
    one.strip_suffix('s') == Some(other) || other.strip_suffix('s') == Some(one)
}

/// The names that headers and defaults start from.
fn roots_of_values(verb: &Verb) -> impl Iterator<Item = &str> {
    let headers = verb.headers.iter().map(|(_, template)| template);
    let defaults = verb.defaults.iter().filter_map(|(_, value)| match value {
        DefaultValue::Template(template) => Some(template),
        DefaultValue::Constant(_) => None,
    });
    headers.chain(defaults).flat_map(|template| template.roots())
}

/// What stands before the first dot or bracket: a parameter is also a structure to walk into.
fn root(name: &str) -> &str {
    name.split(['.', '[']).next().unwrap_or_default()
}

fn parameters_note(table: &str, used: &[String]) -> String {
    if used.is_empty() {
        return format!("`{table}` takes no parameters; conditions do not filter its rows");
    }
    let shown: Vec<_> =
        used.iter().take(PARAMETERS_SHOWN_MAX).map(|name| format!("`{name}`")).collect();
    let more = if used.len() > shown.len() { ", …" } else { "" };
    let names = shown.join(", ");
    format!("`{table}` takes {names}{more}; other conditions do not filter its rows")
}
