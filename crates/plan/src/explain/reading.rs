//! How a select with several sources reads each of them, in the order in which that happens.

use qlio_syntax::ast::VerbKind;

use crate::operator::{Joins, Reading, Scan, Select};

/// How one of several sources is read.
#[derive(Debug)]
pub struct ExplainedReading {
    /// How deep its select stands in others.
    pub depth: usize,
    /// Its name, and its alias.
    pub name: String,
    /// `all rows`, `once per value` and the like.
    pub reads: String,
    /// The parameters that rows give it.
    pub asks: Vec<String>,
    /// Whether rows are tested here.
    pub tests: bool,
}

impl ExplainedReading {
    /// `users as u: asks ids, 20 values in a request; tests here`.
    pub fn line(&self) -> String {
        let asks = if self.asks.is_empty() {
            String::new()
        } else {
            format!("asks {}, ", self.asks.join(", "))
        };
        let tests = if self.tests { "; tests here" } else { "" };
        format!("{}{}: {asks}{}{tests}", "  ".repeat(self.depth), self.name, self.reads)
    }
}

/// The sources of a select with several, or with selects inside of its expressions; else nothing.
pub(super) fn readings(select: &Select, depth: usize, found: &mut Vec<ExplainedReading>) {
    let Some(joins) = &select.joins else { return };
    for placement in &joins.placements {
        let scan = joins.scan(select, placement.source);
        let mut source = ExplainedReading {
            depth,
            name: name(scan),
            reads: "all rows".to_owned(),
            asks: Vec::new(),
            tests: placement.test.is_some() || placement.filter.is_some(),
        };
        match &placement.reading {
            Reading::Whole => {}
            Reading::Elements { .. } => "the list of each row".clone_into(&mut source.reads),
            Reading::Asked(bindings) => {
                source.asks = bindings.iter().map(|it| it.parameter.to_string()).collect();
                source.reads = match bindings.as_slice() {
                    [binding] if binding.is_declared => batch(scan, &binding.parameter),
                    _ => "a request per value".to_owned(),
                };
            }
        }
        let pushed = joins.pushed.iter().filter(|(of, _)| *of == placement.source);
        source.asks.extend(pushed.map(|(_, it)| it.parameter.to_string()));
        if placement.is_left {
            source.reads.push_str(", rows without a partner stay");
        }
        found.push(source);
    }
    nested(joins, depth, found);
}

fn nested(joins: &Joins, depth: usize, found: &mut Vec<ExplainedReading>) {
    for nested in &joins.nested {
        readings(&nested.select, depth + 1, found);
    }
}

fn name(scan: &Scan) -> String {
    match &scan.source.alias {
        Some(alias) if *alias != scan.source.name => format!("{} as {alias}", scan.source.name),
        _ => scan.source.name.to_string(),
    }
}

/// How many values a request takes.
fn batch(scan: &Scan, parameter: &str) -> String {
    let verb = scan.source.table().and_then(|table| table.verb(VerbKind::Select));
    let token = verb.and_then(|verb| verb.uri.tokens().iter().find(|it| it.name == *parameter));
    match token {
        Some(token) if token.is_multi && token.max > 0 && token.max < usize::MAX => {
            format!("{} values in a request", token.max)
        }
        Some(token) if token.is_multi => "all values in a request".to_owned(),
        _ => "a request per value".to_owned(),
    }
}
