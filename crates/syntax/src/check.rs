//! The checks that need nothing but the script (EXE-10).
//!
//! In: a tree and the lines of its text. Out: diagnostics in the order of the statements they belong
//! to. Where EXE-20 fixes the wording, [`Diagnostic::wire`] holds it literally, the number
//! of the statement's line included; odd wordings there are deliberate.
//! Checks that need tables (`No such table`, missing verbs) belong to the planner. A tree of a text
//! with syntax errors has gaps, so check only what was read completely: [`crate::analyse`] does that.

use std::collections::HashMap;

use crate::{
    ast::{Item, Primary, Return, Script, Select, Statement},
    caught::catches_errors,
    diagnostic::{Code, Diagnostic, codes},
    source::{LineIndex, Span},
    spelling,
};

mod catch;
mod cycle;
mod join;
mod reference;
mod select;
mod status;
mod symbol;
mod table;
mod write;

/// Checks a script; `lines` are those of the text that it was read from.
pub fn check(script: &Script, lines: &LineIndex) -> Vec<Diagnostic> {
    if script.items.is_empty() && script.result.is_none() && script.trailing.is_empty() {
        let missing = Diagnostic::error(codes::MISSING_SCRIPT, Span::default(), "Missing script");
        return vec![missing.wire("Missing script")];
    }
    let (variables, found) = (HashMap::new(), Vec::new());
    let mut checker = Checker { lines, variables, found, guesses: 0, around: Vec::new() };
    symbol::check(&mut checker, script);
    checker.items(&script.items, false);
    if let Some(result) = &script.result {
        checker.result(result);
    }
    cycle::check(&mut checker, script);
    checker.found.sort_by_key(|(start, _)| *start);
    checker.found.into_iter().map(|(_, diagnostic)| diagnostic).collect()
}

/// The state of one run.
struct Checker<'s> {
    lines: &'s LineIndex,
    /// The variables that the script binds, and where.
    variables: HashMap<&'s str, Span>,
    /// The problems, each with the start of the statement it belongs to.
    found: Vec<(u32, Diagnostic)>,
    /// How many names were compared with all that are known.
    guesses: usize,
    /// The aliases of the selects around the one that is being checked, and its own.
    around: Vec<&'s str>,
}

/// Names that are compared with all known ones for a hint; a text may hold many of both.
const GUESSES_MAX: usize = 50;

/// The statement that is being checked.
#[derive(Clone, Copy)]
struct Site {
    /// Its line, as messages count it (EXE-19).
    line: u32,
    /// Its first byte.
    start: u32,
}

impl<'s> Checker<'s> {
    fn site(&self, start: u32) -> Site {
        Site { line: self.lines.line(start), start }
    }

    /// Adds an error whose literal text is `Line <n>: <message>`.
    fn add(&mut self, site: Site, code: Code, span: Span, message: &str) -> &mut Diagnostic {
        self.add_literal(site, code, span, message, format!("Line {}: {message}", site.line))
    }

    fn add_literal(
        &mut self,
        site: Site,
        code: Code,
        span: Span,
        message: &str,
        wire: String,
    ) -> &mut Diagnostic {
        let place = self.found.len();
        let diagnostic = Diagnostic::error(code, span, message.trim_end()).wire(wire);
        self.found.push((site.start, diagnostic));
        &mut self.found[place].1
    }

    /// The known name that is closest to a wrong one, for a hint.
    fn guess<'n>(&mut self, name: &str, mut known: Vec<&'n str>) -> Option<&'n str> {
        self.guesses += 1;
        if self.guesses > GUESSES_MAX {
            return None;
        }
        known.sort_unstable();
        spelling::closest(name, known)
    }

    fn items(&mut self, items: &'s [Item], in_region: bool) {
        for item in items {
            match item {
                Item::Statement(statement) => self.statement(statement),
                Item::If(node) => {
                    self.items(&node.then, in_region);
                    self.items(node.otherwise.as_deref().unwrap_or_default(), in_region);
                }
                Item::Try(node) => {
                    catch::check(self, node, in_region);
                    self.items(&node.body, in_region);
                    let in_region = in_region || catches_errors(node, in_region);
                    for catch in &node.catches {
                        self.items(&catch.body, in_region);
                    }
                    self.items(node.finally.as_deref().unwrap_or_default(), in_region);
                }
                Item::Throw(_) => {}
            }
        }
    }

    fn statement(&mut self, statement: &'s Statement) {
        for alternative in &statement.alternatives {
            let start = match &statement.target {
                Some(target) => target.span.start,
                None => alternative.span().start,
            };
            self.primary(self.site(start), alternative);
        }
    }

    fn primary(&mut self, site: Site, primary: &'s Primary) {
        match primary {
            Primary::Select(node) => self.select(site, node),
            Primary::Insert(node) => write::insert(self, site, node),
            Primary::Delete(node) => self.conditions(site, &node.conditions),
            Primary::Create(node) => table::create(self, site, node),
            Primary::Update(_)
            | Primary::Show(_)
            | Primary::Describe(_)
            | Primary::DescribeRoute(_)
            | Primary::Json(_)
            | Primary::Call(_)
            | Primary::Reference(_) => {}
        }
    }

    fn select(&mut self, site: Site, node: &'s Select) {
        for source in &node.sources {
            if let Some(inner) = &source.select {
                join::refuse_hidden_aliases(self, site, inner);
                self.select(site, inner);
            }
        }
        let outside = self.around.len();
        select::check(self, site, node);
        self.conditions(site, &node.conditions);
        self.around.truncate(outside);
    }

    fn result(&mut self, result: &'s Return) {
        for alternative in &result.alternatives {
            let Primary::Reference(name) = alternative else {
                self.primary(self.site(alternative.span().start), alternative);
                continue;
            };
            if self.variables.contains_key(name.text.as_str()) {
                continue;
            }
            let site = self.site(result.span.start);
            let hint = self.guess(&name.text, self.variables.keys().copied().collect());
            let message = format!("Unresolved symbol '{}'", name.text);
            let diagnostic = self.add(site, codes::UNRESOLVED_RETURN, name.span, &message);
            diagnostic.hints.extend(hint.map(|name| format!("did you mean `{name}`?")));
        }
        if let Some(written) = result.route.as_ref().and_then(|route| route.status.as_ref()) {
            status::route(self, self.site(written.span().start), written);
        }
        if let Some(written) = result.route.as_ref().and_then(|route| route.deadline.as_ref()) {
            status::deadline(self, self.site(written.span.start), written);
        }
        for limit in result.route.iter().flat_map(|route| &route.limits) {
            status::limit(self, self.site(limit.most.span.start), limit);
        }
    }
}
