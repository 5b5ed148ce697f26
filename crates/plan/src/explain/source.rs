//! What a select asks of its table, what it does itself, and how many requests that makes at most.
//!
//! Only of selects whose table has declared columns or pages, or that do more with rows than read them; of others
//! the picture says all there is.

use qlio_syntax::ast::VerbKind;

use crate::{
    catalog::{Paging, PagingManner, Table, Verb},
    operator::{
        Bound, Condition, Expected, Operand, Operation, Pushed, PushedValue, Select, Steps,
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
    let Some(table) = select.scan.source.table() else { return Vec::new() };
    let Some(verb) = table.verb(VerbKind::Select) else { return Vec::new() };
    let steps = select.steps.as_deref();
    let is_plain = steps.is_none() && verb.paging.is_none() && verb.columns.is_empty();
    if select.join.is_some() || is_plain {
        return Vec::new();
    }
    vec![source(select, steps, table, verb)]
}

fn source(select: &Select, steps: Option<&Steps>, table: &Table, verb: &Verb) -> ExplainedSource {
    let mut asks: Vec<String> =
        select.scan.conditions.iter().map(|condition| condition.name.to_string()).collect();
    for pushed in steps.iter().flat_map(|steps| &steps.pushed) {
        asks.push(pushed.parameter.to_string());
    }
    let sets_page = |paging: &&Paging| {
        paging.parameter().is_some_and(|parameter| asks.iter().any(|name| **name == **parameter))
    };
    let paging = verb.paging.as_ref().filter(|paging| !sets_page(paging));
    let requests = match (lists(&select.scan.conditions, steps), paging) {
        (Some(name), _) => {
            RequestBound::setting("maxNestedRequests", format!("as many as the values of `{name}`"))
        }
        (None, Some(paging)) => pages(paging, select.limit, select.offset),
        (None, None) => RequestBound::known(1, "one value for each token".to_owned()),
    };
    ExplainedSource {
        table: table.name.to_string(),
        asks,
        tests: steps.iter().flat_map(|steps| &steps.tests).map(ToString::to_string).collect(),
        requests,
        limit: limit(select, steps, verb, paging),
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
