//! `show` and `describe`: the catalog as values (SHO-1, SRV-44).

use qlio_data::{Object, Text, Value, percent, redact::redact, uri_template::UriToken};

use crate::node::RouteStatus;

use super::{
    Catalog, Paging, PagingManner, Route,
    markdown::{each_to_html, joined_to_html},
    table::{Table, Verb},
};

/// The list that `show tables` answers: loaded tables in load order, then the script's own.
pub fn show_tables<'a>(catalog: &'a Catalog, inline: impl Iterator<Item = &'a Table>) -> Value {
    let inline: Vec<_> = inline.collect();
    let is_hidden = |name: &Text| inline.iter().any(|table| table.name == *name);
    let loaded = catalog.tables().iter().map(AsRef::as_ref).filter(|table| !is_hidden(&table.name));
    let entry = |table: &Table| {
        object([
            ("name", Value::from(table.name.clone())),
            ("about", Value::from(about_table(&table.name))),
            ("info", Value::from(each_to_html(&table.docs))),
        ])
    };
    loaded.chain(inline.iter().copied()).map(entry).collect()
}

/// Describes a table. Templates stand as they are written: values of settings are not shown,
/// and those of secret settings not even where a table repeats them.
pub fn describe_table(catalog: &Catalog, table: &Table) -> Value {
    let mut result = Object::new();
    result.insert("name", Value::from(table.name.clone()));
    result.insert("about", Value::from(about_table(&table.name)));
    result.insert("info", Value::from(each_to_html(&table.docs)));
    let uses_table = |route: &&std::sync::Arc<Route>| {
        route.plan.loaded_tables.iter().any(|name| *name == *table.name)
    };
    let routes: Vec<_> = if table.is_inline {
        Vec::new()
    } else {
        catalog
            .routes()
            .iter()
            .filter(uses_table)
            .map(|route| Value::from(about_route(&route.path, &route.method)))
            .collect()
    };
    if !routes.is_empty() {
        result.insert("routes", Value::array(routes));
    }
    for verb in table.verbs() {
        result.insert(verb.kind.as_str(), describe_verb(verb));
    }
    redact(Value::object(result), &catalog.secrets)
}

fn describe_verb(verb: &Verb) -> Value {
    let params = verb.uri.tokens().iter().map(|token| describe_token(token, verb)).collect();
    let headers = verb.written.headers.iter();
    let headers: Object =
        headers.map(|(name, value)| (name.as_str(), Value::from(value.clone()))).collect();
    let mut result = Object::new();
    if let Some(connector) = &verb.connector {
        result.insert("connector", Value::from(connector.name.as_str()));
    }
    result.insert("method", Value::from(verb.method.as_str()));
    result.insert("uri", Value::from(verb.written.uri.as_str()));
    result.insert("params", params);
    result.insert("headers", Value::object(headers));
    if let Some(body) = &verb.body {
        let body = object([
            ("type", Value::from(body.media_type.as_str())),
            ("content", Value::from(&*body.content)),
        ]);
        result.insert("body", body);
    }
    if !verb.expects.is_empty() {
        let expects = verb.expects.iter().map(|expected| {
            object([
                ("name", Value::from(expected.name.clone())),
                ("required", Value::Bool(expected.is_required)),
            ])
        });
        result.insert("expects", expects.collect());
    }
    if !verb.columns.is_empty() {
        let columns = verb.columns.iter().map(|column| {
            object([
                ("column", Value::from(column.column.clone())),
                ("test", Value::from(column.test.symbol())),
                ("parameter", Value::from(column.parameter.clone())),
            ])
        });
        result.insert("columns", columns.collect());
    }
    if let Some(paging) = &verb.paging {
        result.insert("paging", describe_paging(paging));
    }
    if !verb.passed_statuses.is_empty() {
        let passed = verb.passed_statuses.iter().map(|status| Value::int(i64::from(*status)));
        result.insert("passedStatuses", passed.collect());
    }
    Value::object(result)
}

fn describe_paging(paging: &Paging) -> Value {
    let path = |steps: &[Text]| {
        let steps: Vec<&str> = steps.iter().map(|step| &**step).collect();
        Value::from(steps.join("."))
    };
    let mut result = Object::new();
    result.insert("by", Value::from(paging.manner.word()));
    if let Some(parameter) = paging.parameter() {
        result.insert("parameter", Value::from(parameter.clone()));
    }
    match &paging.manner {
        PagingManner::Page { first, .. } => {
            result.insert("from", Value::from(*first));
        }
        PagingManner::Cursor { path: steps, .. } => {
            result.insert("from", path(steps));
        }
        PagingManner::Offset { .. } | PagingManner::Link => {}
    }
    if let Some(size) = &paging.size {
        let (parameter, rows) = (Value::from(size.parameter.clone()), Value::from(size.rows));
        result.insert("size", object([("parameter", parameter), ("rows", rows)]));
    }
    if let Some(total) = &paging.total {
        result.insert("total", path(total));
    }
    if let Some(most) = paging.pages_max {
        result.insert("pages", Value::from(most));
    }
    Value::object(result)
}

fn describe_token(token: &UriToken, verb: &Verb) -> Value {
    let mut result = Object::new();
    result.insert("variable", Value::from(token.name.as_str()));
    if token.is_required {
        result.insert("required", Value::Bool(true));
    }
    if token.is_block {
        result.insert("merge", Value::from("block"));
    }
    if token.is_multi {
        result.insert("multivalued", Value::Bool(true));
    }
    if token.max > 0 {
        result.insert("max", Value::from(token.max));
    }
    if token.is_raw {
        result.insert("dontencode", Value::Bool(true));
    }
    let default = verb.written.defaults.iter().find(|(name, _)| **name == *token.name);
    if let Some((_, value)) = default {
        result.insert("default", value.clone());
        result.insert("defautl", value.clone());
    }
    Value::object(result)
}

/// The list that `show routes` answers, sorted by path without regard to case.
pub fn show_routes(catalog: &Catalog) -> Value {
    let mut routes: Vec<_> = catalog.routes().iter().collect();
    routes.sort_by_cached_key(|route| route.path.to_lowercase());
    routes.into_iter().map(|route| Value::object(route_entry(route))).collect()
}

/// The members that a list of routes and the description of one share.
fn route_entry(route: &Route) -> Object {
    let members = [
        ("method", Value::from(route.method.as_str())),
        ("path", Value::from(route.path.as_str())),
        ("about", Value::from(about_route(&route.path, &route.method))),
        ("info", Value::from(joined_to_html(&route.docs))),
    ];
    members.into_iter().collect()
}

/// Makes the answer of `describe route`; `None` if there is no such route. `method` may be in any case,
/// and `del` stands for `delete` (SRV-4).
pub fn describe_route(catalog: &Catalog, path: &str, method: &str) -> Option<Value> {
    let method = match method.to_ascii_lowercase() {
        short if short == "del" => "delete".to_owned(),
        other => other,
    };
    let route =
        catalog.routes().iter().find(|route| route.path == path && route.method == method)?;
    let tables = route.plan.loaded_tables.iter().map(|name| Value::from(about_table(name)));
    let related =
        catalog.routes().iter().filter(|other| other.path == path && other.method != method);
    let related =
        related.map(|other| Value::from(about_route(&other.path, &other.method))).collect();
    let mut result = route_entry(route);
    if let Some(status) = route.plan.route.as_ref().and_then(|spec| spec.status.as_ref()) {
        let status = match status {
            RouteStatus::Fixed(status) => Value::int(i64::from(*status)),
            RouteStatus::Filled(template) => Value::from(template.text()),
        };
        result.insert("status", status);
    }
    if let Some(deadline) = route.plan.route.as_ref().and_then(|spec| spec.deadline_ms) {
        result.insert("deadline", Value::from(deadline));
    }
    let limits = route.plan.route.as_ref().map(|spec| spec.limits.as_slice()).unwrap_or_default();
    if !limits.is_empty() {
        let members = limits.iter().map(|(limit, most)| (limit.name(), Value::from(*most)));
        result.insert("limits", Value::object(members.collect()));
    }
    result.insert("tables", tables.collect());
    result.insert("related", related);
    Some(Value::object(result))
}

fn about_table(name: &str) -> String {
    let mut about = String::from("/table?name=");
    percent::encode_component(name, &mut about);
    about
}

fn about_route(path: &str, method: &str) -> String {
    let mut about = String::from("/route?path=");
    percent::encode_component(path, &mut about);
    about.push_str("&method=");
    about.push_str(method);
    about
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::object(members.into_iter().collect())
}
