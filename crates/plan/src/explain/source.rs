//! What a select asks of its table, what it does itself, and how many requests that makes at most.
//!
//! Only of selects whose table has declared columns or pages, or that do more with rows than read them; of others
//! the picture says all there is.

use qlio_data::Text;
use qlio_syntax::ast::VerbKind;

use crate::{
    catalog::{Paging, PagingManner, Table, Verb},
    node::{Node, NodeKind},
    operator::{
        Bound, Condition, Expected, Operand, Operation, Pushed, PushedValue, Select, Source,
        SourceKind, Steps,
    },
};

/// One table of a select.
#[derive(Debug)]
pub struct ExplainedSource {
    /// The table.
    pub table: String,
    /// The parameters that the statement gives.
    pub asks: Vec<String>,
    /// The tests that are made on its rows.
    pub tests: Vec<String>,
    /// The most requests.
    pub requests: RequestBound,
    /// Who cuts the rows, if they are cut.
    pub limit: Option<String>,
}

/// The most requests that a select makes of a table, and where the number comes from.
#[derive(Debug)]
pub struct RequestBound {
    /// The number; `None` if only a setting bounds it.
    pub most: Option<u64>,
    /// The number, or the setting.
    pub shown: String,
    /// Where it comes from.
    pub because: String,
}

impl RequestBound {
    fn known(most: u64, because: String) -> Self {
        Self { most: Some(most), shown: most.to_string(), because }
    }

    fn setting(name: &str, because: String) -> Self {
        Self { most: None, shown: name.to_owned(), because }
    }
}

impl ExplainedSource {
    /// `issues: asks: repo; requests: ≤ 3 (250 rows / 100); limit: ends the pages`.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        for (word, list) in [("asks", &self.asks), ("tests", &self.tests)] {
            if !list.is_empty() {
                parts.push(format!("{word}: {}", list.join(", ")));
            }
        }
        let RequestBound { shown, because, .. } = &self.requests;
        parts.push(format!("requests: ≤ {shown} ({because})"));
        parts.extend(self.limit.as_ref().map(|limit| format!("limit: {limit}")));
        format!("{}: {}", self.table, parts.join("; "))
    }
}

/// The tables of a select that there is something to say about; those of joins say only how many requests their
/// pages may make.
pub(super) fn sources(select: &Select) -> Vec<ExplainedSource> {
    if let SourceKind::Union(parts) = &select.scan.source.kind {
        return parts.iter().flat_map(|part| sources(&part.select)).collect();
    }
    let Some(table) = select.scan.source.table() else { return Vec::new() };
    let Some(verb) = table.verb(VerbKind::Select) else { return Vec::new() };
    let steps = select.steps.as_deref();
    let is_plain = steps.is_none() && verb.paging.is_none() && verb.columns.is_empty();
    if select.join.is_some() || is_plain {
        return Vec::new();
    }
    vec![source(select, steps, table, verb)]
}

/// The requests of a statement that are known to be possible: those of a select as far as they have a number, else
/// one for each table.
pub(crate) fn known_requests(node: &Node) -> u64 {
    match &node.kind {
        NodeKind::Select(select) => of_select(select),
        NodeKind::Write(write) => is_remote(&write.target),
        NodeKind::Delete(delete) => is_remote(&delete.target),
        _ => 0,
    }
}

/// The same of a select and of those that it puts together.
fn of_select(select: &Select) -> u64 {
    if let SourceKind::Union(parts) = &select.scan.source.kind {
        return parts.iter().fold(0, |sum, part| sum.saturating_add(of_select(&part.select)));
    }
    let joined = select.join.as_ref().map_or(0, |join| is_remote(&join.scan.source));
    let verb = select.scan.source.table().and_then(|table| table.verb(VerbKind::Select));
    let main = verb.map_or(0, |verb| bound(select, verb).most.unwrap_or(1));
    main.saturating_add(joined)
}

fn is_remote(source: &Source) -> u64 {
    u64::from(source.table().is_some())
}

/// The parameters that the statement gives.
fn asks(select: &Select) -> impl Iterator<Item = &Text> {
    let pushed = select.steps.iter().flat_map(|steps| &steps.pushed);
    let conditions = select.scan.conditions.iter().map(|condition| &condition.name);
    conditions.chain(pushed.map(|pushed| &pushed.parameter))
}

/// How the rows come in pages, unless the statement asks for one itself.
fn paging<'v>(select: &Select, verb: &'v Verb) -> Option<&'v Paging> {
    let sets_page = |paging: &&Paging| {
        paging.parameter().is_some_and(|parameter| asks(select).any(|name| name == parameter))
    };
    verb.paging.as_ref().filter(|paging| !sets_page(paging))
}

/// The most requests that a select makes of the table it reads first.
fn bound(select: &Select, verb: &Verb) -> RequestBound {
    match (lists(&select.scan.conditions, select.steps.as_deref()), paging(select, verb)) {
        (Some(name), _) => {
            RequestBound::setting("maxNestedRequests", format!("as many as the values of `{name}`"))
        }
        (None, Some(paging)) => pages(paging, select.limit, select.offset),
        (None, None) => RequestBound::known(1, "one value for each token".to_owned()),
    }
}

fn source(select: &Select, steps: Option<&Steps>, table: &Table, verb: &Verb) -> ExplainedSource {
    ExplainedSource {
        table: table.name.to_string(),
        asks: asks(select).map(ToString::to_string).collect(),
        tests: steps.iter().flat_map(|steps| &steps.tests).map(ToString::to_string).collect(),
        requests: bound(select, verb),
        limit: limit(select, steps, verb, paging(select, verb)),
    }
}

/// A parameter that may have several values, which may be one request each.
fn lists<'s>(conditions: &'s [Condition], steps: Option<&'s Steps>) -> Option<&'s str> {
    let is_one = |condition: &&Condition| match &condition.expected {
        Expected::Equals(Operand::Constant(value)) => !value.is_array(),
        _ => false,
    };
    let pushed = steps.iter().flat_map(|steps| &steps.pushed);
    let may_list = |pushed: &&Pushed| match &pushed.value {
        PushedValue::Condition(_) => true,
        PushedValue::Program(program) => {
            let is_one = matches!(
                program.operations.as_slice(),
                [Operation::Constant(value)] if !value.is_array()
            );
            !is_one
        }
    };
    let condition = conditions.iter().find(|condition| !is_one(condition));
    let pushed = pushed.into_iter().find(may_list).map(|pushed| &*pushed.parameter);
    condition.map(|condition| &*condition.name).or(pushed)
}

/// The most pages of one request.
fn pages(paging: &Paging, limit: Option<u64>, offset: Option<u64>) -> RequestBound {
    let is_numbered =
        matches!(paging.manner, PagingManner::Page { .. } | PagingManner::Offset { .. });
    if let (Some(limit), Some(size)) = (limit.filter(|_| is_numbered), &paging.size) {
        let rows = limit.saturating_add(offset.unwrap_or(0));
        let count = rows.div_ceil(size.rows.max(1)).max(1);
        if paging.pages_max.is_none_or(|most| count <= most) {
            return RequestBound::known(count, format!("{rows} rows / {}", size.rows));
        }
    }
    match paging.pages_max {
        Some(most) => RequestBound::known(most, format!("up to {most} pages")),
        None => RequestBound::setting("maxPages", "pages of one request".to_owned()),
    }
}

/// Who cuts the rows.
fn limit(
    select: &Select,
    steps: Option<&Steps>,
    verb: &Verb,
    paging: Option<&Paging>,
) -> Option<String> {
    if select.limit.is_some() {
        return Some(match paging {
            Some(_) => "ends the pages".to_owned(),
            None if verb.takes_limit => "asked for".to_owned(),
            None => "here".to_owned(),
        });
    }
    let steps = steps.filter(|steps| steps.limit.is_some())?;
    let why = if !steps.order.is_empty() {
        "order by"
    } else if steps.grouping.is_some() {
        "group by"
    } else if steps.is_distinct {
        "distinct"
    } else if steps.filter.is_some() {
        "tests"
    } else if matches!(steps.limit, Some(Bound::Given { .. })) {
        "known when it runs"
    } else {
        "rows"
    };
    Some(format!("here ({why})"))
}
