//! Warnings about names that lead nowhere: tables that nobody declares, conditions that have no effect,
//! and tokens that nothing fills.
//!
//! None of them stops a script. A missing table fails when it is used, so that a fallback can take over,
//! and a variable of the embedding caller may have its name; a condition that a table has no use for
//! just does nothing; a token may be filled by the request or the settings.

use std::{collections::HashSet, rc::Rc};

use qlio_data::{Text, template::Template};
use qlio_syntax::{
    ast::{self, VerbKind},
    diagnostic::{Code, Diagnostic, codes},
    source::Span,
    spelling,
};

use super::{Lowering, Origin, condition::strip_alias, path_text};
use crate::{
    catalog::{DefaultValue, MissingSetting, Paging, Table, Verb, nearest_table},
    operator::Source,
};

/// Warnings beyond this number are left out: each one looks through all tables.
const WARNINGS_MAX: usize = 50;

/// Different names of tokens that are compared with all variables of a script.
const NAMES_COMPARED_MAX: usize = 50;

/// Names that one warning lists.
pub(super) const NAMES_SHOWN_MAX: usize = 8;

/// What to do instead of writing an expression where a token names something.
const COMPUTING_TOKEN: &str = "a token names a value and computes nothing: \
    columns of a select compute, and functions of a module, as in `x = m.f(…)`";

/// The parameters that the request of a verb is made of.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    /// The part before the first dot of each name.
    pub(super) roots: HashSet<String>,
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
        let known: Vec<&str> = known.collect();
        let variable = root(&name.text);
        let hint = if known.contains(&variable) && self.symbols.assigned_slot(variable).is_some() {
            Some(format!(
                "`{variable}` is a variable: bind its part first, `part = \"{{{}}}\"`",
                name.text
            ))
        } else {
            let meant = nearest_table(&name.text, known.iter().copied());
            meant.map(|meant| format!("did you mean `{meant}`?"))
        };
        let mut warning = warning.note("a fallback behind `||` can take over when it runs");
        warning.hints.extend(hint);
        self.problems.push(warning);
    }

    /// Warns that conditions on a table set parameters which the table's request does not use; once for
    /// a statement.
    pub(super) fn warn_unused_parameters<'c>(
        &mut self,
        conditions: impl Iterator<Item = &'c ast::Condition>,
        source: &ast::Source,
        kind: VerbKind,
    ) {
        let name = source.name.text.as_str();
        let Some(used) = self.used_parameters(name, kind) else { return };
        let alias = source.alias.as_ref().map(|alias| alias.text.as_str());
        let mut unused: Vec<(String, Span)> = Vec::new();
        for path in conditions.filter_map(ast::Condition::path) {
            let parameter = path_text(&strip_alias(path, alias));
            if !used.roots.contains(root(&parameter)) {
                unused.push((parameter, path.span));
            }
        }
        let [(first, span), more @ ..] = unused.as_slice() else { return };
        let plural = if more.is_empty() { "" } else { "s" };
        let shown = quote_names(unused.iter().map(|(parameter, _)| parameter.as_str()));
        let message = format!("`{name}` does not use the parameter{plural} {shown}");
        let Some(mut warning) = self.warning(codes::UNUSED_PARAMETER, *span, message) else {
            return;
        };
        for (_, span) in more.iter().take(NAMES_SHOWN_MAX) {
            warning = warning.label(*span, "nor this one");
        }
        let meant = spelling::closest(first, used.names.iter().map(String::as_str));
        let mut warning = warning.note(parameters_note(name, &used.names));
        warning.hints.extend(meant.map(|meant| format!("did you mean `{meant}`?")));
        if kind == VerbKind::Select && meant.is_none() {
            warning.hints.push(format!("to test the rows, write `{first} == …`"));
        }
        self.problems.push(warning);
    }

    /// Warns that a token names nothing that is known, once per name: in a route that has no body,
    /// nothing but what it declares should fill it; elsewhere only if it is almost a name that is known.
    pub(super) fn warn_unknown_reference(&mut self, name: &str, span: Span) {
        let is_enough = self.foreign_names.len() >= NAMES_COMPARED_MAX;
        if is_enough || !self.foreign_names.insert(name.to_owned()) {
            return;
        }
        let declared = self.route.iter().flat_map(|route| route.names.iter().map(String::as_str));
        let known = self.symbols.assigned_names().chain(declared);
        let is_likely = |meant: &&str| !is_plural(name, meant);
        let meant = spelling::closest(name, known).filter(is_likely).map(str::to_owned);
        let path = self.route.as_ref().filter(|route| !route.has_body && !is_header(name));
        let (message, hint, note) = match (meant, path) {
            (None, None) => return,
            (Some(meant), None) => (
                format!("`{name}` is no variable of the script"),
                format!("did you mean `{meant}`?"),
                "without a value from the request or the settings the token stays absent",
            ),
            (meant, Some(route)) => (
                format!(
                    "`{name}` is neither a variable of the script nor a parameter of the route"
                ),
                match meant {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None if is_name(name) => {
                        format!("declare it: `{}`", route.with_parameter(name))
                    }
                    None => COMPUTING_TOKEN.to_owned(),
                },
                "only a query parameter or header that the route does not declare could fill the token",
            ),
        };
        let Some(warning) = self.warning(codes::UNKNOWN_REFERENCE, span, message) else { return };
        self.problems.push(warning.hint(hint).note(note));
    }

    /// Warns of tokens whose settings have no value, and notes that the current node needs them.
    pub(super) fn note_missing_settings(&mut self, template: &Template, span: Span) {
        // Settings are hidden from scripts of clients, and a variable may have their name.
        let is_other =
            self.options.origin == Origin::AdHoc || self.symbols.slot("config").is_some();
        if is_other || template.is_literal() {
            return;
        }
        for missing in MissingSetting::all_in(template, self.catalog.config()) {
            self.missing_settings.push(format!("config.{}", missing.path).into());
            self.warnings += 1;
            if self.warnings <= WARNINGS_MAX {
                self.problems.push(missing.warning(span));
            }
        }
    }

    /// Warns that a statement of a route leaves tokens of its table open which nothing can fill: those
    /// that must have a value, and those that are almost the name of something that has one.
    pub(super) fn warn_unfilled_tokens(
        &mut self,
        source: &Source,
        written: &ast::Name,
        kind: VerbKind,
        own: &[&str],
    ) {
        let Some(route) = self.route.as_ref().filter(|_| !self.are_clients_trusted()) else {
            return;
        };
        let Some(table) = source.table().filter(|table| used_parameters(table, kind).is_some())
        else {
            return;
        };
        let Some(verb) = table.verb(kind) else { return };
        let is_filled = |name: &str| {
            let root = root(name);
            let is_own = |own: &&str| self::root(own) == root;
            let is_default = |(default, _): &(Text, DefaultValue)| self::root(default) == root;
            root == "config"
                || root == "remoteAddress"
                || self.symbols.slot(root).is_some()
                || route.names.contains(root)
                || own.iter().any(is_own)
                || verb.defaults.iter().any(is_default)
                || verb.paging.iter().flat_map(Paging::parameters).any(|own| **own == *name)
                || name == &*verb.limit_name
                || name == &*verb.offset_name
        };
        let known = || {
            let declared = route.names.iter().map(String::as_str);
            self.symbols.assigned_names().chain(declared).chain(own.iter().copied())
        };
        let mut found = Vec::new();
        for token in verb.uri.tokens().iter().take(NAMES_COMPARED_MAX) {
            if is_filled(&token.name) || (route.has_body && !token.is_required) {
                continue;
            }
            let meant = spelling::closest(&token.name, known());
            let meant = meant.filter(|meant| !is_plural(&token.name, meant));
            if meant.is_some() || (token.is_required && !route.has_body) {
                found.push((token.name.clone(), meant.map(str::to_owned)));
            }
        }
        for (token, meant) in found {
            let message = format!("nothing fills the token `{token}` of table `{}`", written.text);
            let Some(mut warning) = self.warning(codes::UNKNOWN_REFERENCE, written.span, message)
            else {
                return;
            };
            warning.hints.push(match meant {
                Some(meant) => {
                    format!("did you mean `{meant}`? say `where {token} = \"{{{meant}}}\"`")
                }
                None => format!("say `where {token} = …`, or let the route declare `{token}`"),
            });
            self.problems.push(warning);
        }
    }

    /// The settings let undeclared parameters of clients fill tokens.
    fn are_clients_trusted(&self) -> bool {
        let setting = self.catalog.config().member("client_params");
        matches!(setting.as_str(), Some("fill" | "any"))
    }

    /// The parameters that the request of a verb is made of, looked up once per table; `None` if the name is no table
    /// or its parameters cannot be known.
    pub(super) fn used_parameters(&mut self, name: &str, kind: VerbKind) -> Option<Rc<Parameters>> {
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

    /// Whether the request of a table has a place for a parameter; where that cannot be known it may.
    pub(super) fn uses_parameter(&mut self, table: &str, parameter: &str) -> bool {
        match self.used_parameters(table, VerbKind::Select) {
            Some(used) => used.roots.contains(root(parameter)),
            None => true,
        }
    }

    /// Warns of a name that is a cast elsewhere.
    pub(super) fn warn_of_cast(&mut self, path: &ast::Path) {
        let Some(ast::Segment::Member { name, is_quoted: false }) = path.segments.last() else {
            return;
        };
        let Some((value, kind)) = name.as_str().split_once("::") else { return };
        if self.is_warned_of(codes::CAST_IN_NAME, path.span) {
            return;
        }
        let message = format!("`{name}` is the name of a column, and no cast");
        let Some(warning) = self.warning(codes::CAST_IN_NAME, path.span, message) else { return };
        let hint = match function_of_type(kind) {
            Some(function) => format!("write `{function}({value})`"),
            None => format!("if that is its name, write it in backticks: `` `{name}` ``"),
        };
        self.problems.push(warning.hint(hint));
    }

    /// Warns of a word to the right of `=` that names no variable, and is compared as a text then
    /// (SEL-17): who writes it often means a column. What a route or its body gives is known only when it
    /// runs.
    pub(super) fn warn_of_lone_word(&mut self, path: &ast::Path) {
        let [ast::Segment::Member { name, is_quoted: false }] = path.segments.as_slice() else {
            return;
        };
        let is_given = |route: &DeclaredRoute| route.has_body || route.names.contains(name);
        if self.route.as_ref().is_some_and(is_given)
            || self.is_warned_of(codes::LONE_WORD, path.span)
        {
            return;
        }
        let message = format!("`{name}` is no variable, so it is the text \"{name}\" here");
        let Some(warning) = self.warning(codes::LONE_WORD, path.span, message) else { return };
        self.problems.push(warning.hint(format!(
            "if the text is meant, write `'{name}'`; if a column, `== {name}`, or with the alias of its source"
        )));
    }

    fn is_warned_of(&self, code: Code, span: Span) -> bool {
        self.problems.iter().any(|known| known.code == code && known.primary.span == span)
    }

    /// A new warning, unless there are enough.
    pub(super) fn warning(
        &mut self,
        code: Code,
        span: Span,
        message: String,
    ) -> Option<Diagnostic> {
        self.warnings += 1;
        (self.warnings <= WARNINGS_MAX).then(|| Diagnostic::warning(code, span, message))
    }
}

/// The function that makes a value of a type of SQL.
fn function_of_type(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "int" | "integer" | "bigint" | "smallint" | "int2" | "int4" | "int8" => "integer",
        "numeric" | "decimal" | "float" | "float4" | "float8" | "double" | "real" | "number" => {
            "number"
        }
        "text" | "varchar" | "char" | "string" => "concat",
        "date" => "date",
        "time" => "time",
        "timestamp" | "timestamptz" | "datetime" => "timestamp",
        "json" | "jsonb" => "parse_json",
        _ => return None,
    })
}

/// The parameters that the request of a verb is made of; `None` where they cannot be known: hooks
/// and bodies see all of them.
fn used_parameters(table: &Table, kind: VerbKind) -> Option<Parameters> {
    let verb = table.verb(kind)?;
    let sees_all = table.broken.is_some()
        || verb.connector.is_some()
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

/// The names that a route gives its script, and how clients reach it.
pub(super) struct DeclaredRoute {
    /// The tokens of its path and query, and its defaults.
    names: HashSet<String>,
    /// The path and query as written.
    path: String,
    /// Clients send a body, whose members can fill any token.
    has_body: bool,
}

impl DeclaredRoute {
    /// The route clause of a script.
    pub(super) fn of(script: &ast::Script) -> Option<Self> {
        let route = script.result.as_ref()?.route.as_ref()?;
        let path = Template::parse(&route.path.text.replace(['^', '#'], ""));
        let tokens = path.roots().into_iter().map(str::to_owned);
        let defaults = route.default_values().map(|(token, _)| token.to_owned());
        Some(Self {
            names: tokens.chain(defaults).collect(),
            path: route.path.text.clone(),
            has_body: route.method.text != "get",
        })
    }

    /// The path and query with one more parameter.
    fn with_parameter(&self, name: &str) -> String {
        let separator = if self.path.contains('?') { '&' } else { '?' };
        format!("{}{separator}{name}={{{name}}}", self.path)
    }
}

/// Names that tokens find without a variable: those that always exist, and those of the route.
pub(super) fn names_without_variable(route: Option<&DeclaredRoute>) -> HashSet<String> {
    let always = ["config", "remoteAddress", "req"].map(str::to_owned);
    route.into_iter().flat_map(|route| route.names.iter().cloned()).chain(always).collect()
}

/// Headers of one word that scripts pass on; the names of others have a hyphen.
const HEADERS_OF_ONE_WORD: &[&str] =
    &["accept", "authorization", "cookie", "from", "host", "origin", "range", "referer", "via"];

/// Whether a name is probably a header of the client.
fn is_header(name: &str) -> bool {
    name.contains('-') || HEADERS_OF_ONE_WORD.contains(&name)
}

/// Whether a variable or a parameter can be called so.
fn is_name(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ':' | '-'))
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

/// The part before the first dot or bracket: a parameter is also a structure to walk into.
pub(super) fn root(name: &str) -> &str {
    name.split(['.', '[']).next().unwrap_or_default()
}

/// Names in backticks, joined by commas; of many the first.
fn quote_names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = if names.len() > NAMES_SHOWN_MAX { ", …" } else { "" };
    let shown: Vec<_> = names.take(NAMES_SHOWN_MAX).map(|name| format!("`{name}`")).collect();
    format!("{}{more}", shown.join(", "))
}

fn parameters_note(table: &str, used: &[String]) -> String {
    if used.is_empty() {
        return format!("`{table}` takes no parameters; conditions do not filter its rows");
    }
    let names = quote_names(used.iter().map(String::as_str));
    format!("`{table}` takes {names}; other conditions do not filter its rows")
}
