//! What hooks and templates see of a statement: the bag of parameters, the statement's record and
//! its headers (CON-19, HOK-5), as plain values.
//!
//! In: a call and its own values. Out: objects, and headers again of what hooks made of theirs.
//! Which hook sees what is `hooks`'s business.

use std::{cell::OnceCell, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use qlio_data::{Object, Text, Value, params::Params};
use qlio_plan::{
    catalog::{Body, DefaultValue, Table, Verb},
    operator::{Column, ColumnPath, Delays, Output, OutputValue, Scan, ScanColumns},
};
use qlio_syntax::{ast::VerbKind, diagnostic::codes};

use super::{Call, hooks::written};
use crate::{
    body::mustache::{Found, Names},
    error::RunError,
    run::Run,
    sandbox::Lazy,
    scope::StatementParams,
};

/// Every name that the statement can see, flattened: the layer that wins stands.
pub(super) fn visible_params(params: &StatementParams<'_>) -> Object {
    let run = params.run;
    let mut visible = Object::new();
    let mut add = |name: &Text| {
        if visible.get(name).is_some() {
            return;
        }
        let found = params.get(name);
        let value = if found.is_absent() { params.default(name) } else { found };
        if !value.is_absent() {
            visible.insert(name.clone(), value);
        }
    };
    let already = params.hooks.map(written).unwrap_or_default();
    for (name, _) in already.iter().chain(params.own) {
        add(name);
    }
    for symbol in run.plan.symbols.iter().filter(|symbol| !symbol.name.is_empty()) {
        add(&symbol.name);
    }
    let request = run.request;
    for layer in [&request.variables, &request.route, &request.query, &request.headers] {
        for (name, _) in layer.iter() {
            add(name);
        }
    }
    if let Value::Object(body) = &*request.body.open() {
        for (name, _) in body.iter() {
            add(name);
        }
    }
    add(&Text::from_static("remoteAddress"));
    for (name, _) in &params.verb.defaults {
        add(name);
    }
    add(&Text::from_static("config"));
    visible
}

/// What a template sees: `params`, looked up name by name as it asks, and `statement`.
pub(super) struct TemplateNames<'a> {
    params: ParamNames<'a>,
    make_statement: &'a dyn Fn() -> Object,
    statement: OnceCell<Value>,
}

struct ParamNames<'a>(&'a StatementParams<'a>);

impl<'a> TemplateNames<'a> {
    pub(super) fn new(
        params: &'a StatementParams<'a>,
        make_statement: &'a dyn Fn() -> Object,
    ) -> Self {
        Self { params: ParamNames(params), make_statement, statement: OnceCell::new() }
    }

    /// The parameter of this name.
    pub(super) fn param(&self, name: &str) -> Value {
        self.params.get(name).into_value()
    }

    /// The record of the statement.
    pub(super) fn statement(&self) -> Value {
        self.statement.get_or_init(|| Value::object((self.make_statement)())).clone()
    }
}

impl Names for TemplateNames<'_> {
    fn get(&self, name: &str) -> Found<'_> {
        match name {
            "params" => Found::Names(&self.params),
            "statement" => Found::Value(self.statement()),
            _ => Found::Value(Value::Absent),
        }
    }

    fn all(&self) -> Value {
        let members = [("statement", self.statement()), ("params", self.params.all())];
        Value::object(members.into_iter().collect())
    }
}

impl Names for ParamNames<'_> {
    fn get(&self, name: &str) -> Found<'_> {
        let found = self.0.get(name);
        Found::Value(if found.is_absent() { self.0.default(name) } else { found })
    }

    fn all(&self) -> Value {
        Value::object(visible_params(self.0))
    }
}

/// What hooks see as `statement`, made when one of them looks at it.
pub(super) fn lazy_statement(call: &Call<'_>, own: &[(Text, Value)]) -> Lazy {
    let (table, kind) = (Arc::clone(call.table), call.kind);
    let execution = Execution::of(call, own);
    let make = move || table.verb(kind).map(|verb| verb_record(&table, verb, execution.record()));
    Lazy::new(0, move || make().map_or(Value::Absent, Value::object))
}

/// What templates see as `statement`.
pub(super) fn statement_record(call: &Call<'_>, own: &[(Text, Value)]) -> Object {
    verb_record(call.table, call.verb, Execution::of(call, own).record())
}

/// The record of a verb, with that of the executing statement in it.
fn verb_record(table: &Table, verb: &Verb, execution: Object) -> Object {
    let texts = |pairs: &mut dyn Iterator<Item = (Text, Value)>| Value::object(pairs.collect());
    let mut record = Object::with_capacity(24);
    let of_execution = |name: &str| execution.get(name).cloned().unwrap_or_default();
    record.insert("type", of_execution("type"));
    record.insert("table", Value::from(table.name.clone()));
    record.insert("line", of_execution("line"));
    record.insert("method", Value::from(verb.method.as_str()));
    record.insert("uri", Value::from(verb.uri.text()));
    record.insert(
        "aliases",
        texts(
            &mut [("limit", &verb.limit_name), ("offset", &verb.offset_name)]
                .into_iter()
                .filter(|(name, alias)| *name != &***alias)
                .map(|(name, alias)| (Text::from(name), Value::String(alias.clone()))),
        ),
    );
    record.insert(
        "headers",
        texts(
            &mut verb
                .headers
                .iter()
                .map(|(name, value)| (Text::from(name.as_str()), Value::from(value.text()))),
        ),
    );
    record.insert(
        "defaults",
        texts(&mut verb.defaults.iter().map(|(name, value)| {
            let value = match value {
                DefaultValue::Constant(value) => value.clone(),
                DefaultValue::Template(template) => Value::from(template.text()),
            };
            (name.clone(), value)
        })),
    );
    let resultset: Vec<&str> = verb.resultset.iter().map(|step| &**step).collect();
    record.insert("resultSet", Value::from(resultset.join(".")));
    record.insert("merge", Value::from(if verb.is_block_merge() { "block" } else { "field" }));
    record.insert(
        "params",
        verb.uri.tokens().iter().map(|token| Value::from(token.name.as_str())).collect(),
    );
    for (name, file) in [("patch", &verb.patch_name), ("auth", &verb.auth_name)] {
        if let Some(file) = file {
            record.insert(name, Value::String(file.clone()));
        }
    }
    let cache = verb.expires_seconds.map(|seconds| ("expires", Value::from(seconds)));
    record.insert("cache", Value::object(cache.into_iter().collect()));
    record.insert("body", verb.body.as_ref().map_or_else(|| Value::from(""), body_record));
    for (name, value) in execution.iter() {
        if record.get(name).is_none() {
            record.insert(name.clone(), value.clone());
        }
    }
    record.insert("exec", Value::object(execution));
    record
}

/// What a connector sees as `statement`.
pub(super) fn connector_statement(call: &Call<'_>, own: &[(Text, Value)]) -> Value {
    connector_record(call.table, call.verb, Execution::of(call, own).record())
}

/// What a connector sees as its verb.
pub(super) fn connector_verb(table: &Table, verb: &Verb) -> Value {
    let kind = [("type", Value::from(verb.kind.as_str())), ("line", Value::from(verb.line))];
    connector_record(table, verb, kind.into_iter().collect())
}

fn connector_record(table: &Table, verb: &Verb, execution: Object) -> Value {
    let mut record = verb_record(table, verb, execution);
    let expects = verb.expects.iter().map(|expected| {
        let mut argument = named(expected.name.clone(), None);
        argument.insert("required", Value::Bool(expected.is_required));
        Value::object(argument)
    });
    record.insert("expects", expects.collect());
    if let Some(connector) = &verb.connector {
        record.insert("connector", Value::from(connector.name.as_str()));
    }
    Value::object(record)
}

/// The variables of a script that have a value, for connectors.
pub(super) fn variables(run: &Run<'_>) -> Value {
    let mut variables = run.request.variables.clone();
    let slots = run.slots.borrow();
    for (symbol, value) in run.plan.symbols.iter().zip(slots.iter()) {
        if !symbol.name.is_empty() && !value.is_absent() {
            variables.insert(symbol.name.clone(), value.clone());
        }
    }
    Value::object(variables)
}

/// The client's request, for connectors.
pub(super) fn request_record(run: &Run<'_>) -> Value {
    let request = run.request;
    let address =
        request.remote_address.map(|address| ("remoteAddress", Value::from(address.to_string())));
    let connection = Value::object(address.into_iter().collect());
    let parts: Vec<usize> = (0..request.parts.len()).collect();
    let members = [
        ("headers", Value::object(request.headers.clone())),
        ("params", Value::object(request.query.clone())),
        ("routeParams", Value::object(request.route.clone())),
        ("body", request.body.clone()),
        ("parts", attachments(run, &parts)),
        ("connection", connection),
    ];
    Value::object(members.into_iter().collect())
}

/// Attachments of the client by their positions, as scripts see them.
pub(super) fn attachments(run: &Run<'_>, positions: &[usize]) -> Value {
    if positions.is_empty() {
        return Value::array(Vec::new());
    }
    let parts = run.parts().member("parts");
    positions.iter().map(|position| parts.element(*position)).collect()
}

fn body_record(body: &Body) -> Value {
    let mut record: Object = [
        ("template", Value::from(body.template.as_str())),
        ("type", Value::from(body.media_type.as_str())),
        ("content", Value::from(&*body.content)),
    ]
    .into_iter()
    .collect();
    if let Some(name) = &body.foreach {
        record.insert("foreach", Value::from(name.clone()));
    }
    Value::object(record)
}

/// What is known of an executing statement, from which its record is made for scripts that look at it.
struct Execution {
    kind: VerbKind,
    line: u32,
    assign: Option<Text>,
    /// Its columns and sources, which are the same each time.
    scan: Option<Value>,
    bounds: [(&'static str, Option<u64>); 5],
    conditions: Vec<(Text, Value)>,
}

impl Execution {
    fn of(call: &Call<'_>, own: &[(Text, Value)]) -> Self {
        let Delays { timeout_ms, delay_ms_min, delay_ms_max, .. } = *call.delays;
        let has_conditions = matches!(call.kind, VerbKind::Select | VerbKind::Delete);
        // Both are among the parameters, but they are no conditions.
        let paging = [(&call.verb.limit_name, call.limit), (&call.verb.offset_name, call.offset)];
        let is_condition =
            |name: &Text| !paging.iter().any(|(paged, count)| *paged == name && count.is_some());
        let conditions = own.iter().filter(|(name, _)| has_conditions && is_condition(name));
        Self {
            kind: call.kind,
            line: call.line,
            assign: call.assign.cloned(),
            scan: call
                .scan
                .map(|scan| scan.shown.get_or_init(|| scan_record(scan, call.output)).clone()),
            bounds: [
                ("limit", call.limit),
                ("offset", call.offset),
                ("timeout", timeout_ms),
                ("minDelay", delay_ms_min),
                ("maxDelay", delay_ms_max),
            ],
            conditions: conditions.cloned().collect(),
        }
    }

    /// The executing statement itself.
    fn record(&self) -> Object {
        let mut record = Object::new();
        record.insert("type", Value::from(self.kind.as_str()));
        record.insert("line", Value::from(self.line));
        if let Some(name) = &self.assign {
            record.insert("assign", Value::String(name.clone()));
        }
        if let Some(Value::Object(scan)) = &self.scan {
            for (name, value) in scan.iter() {
                record.insert(name.clone(), value.clone());
            }
        }
        for (name, value) in self.bounds {
            if let Some(value) = value {
                record.insert(name, Value::from(value));
            }
        }
        if matches!(self.kind, VerbKind::Select | VerbKind::Delete) {
            record.insert("whereCriteria", self.conditions.iter().map(criterion).collect());
        }
        record
    }
}

fn criterion((name, value): &(Text, Value)) -> Value {
    let side = |key: &str, value: Value| Value::object([(key, value)].into_iter().collect());
    let criterion: Object = [
        ("operator", Value::from(if value.is_array() { "in" } else { "=" })),
        ("lhs", side("name", Value::String(name.clone()))),
        ("rhs", side("value", value.clone())),
    ]
    .into_iter()
    .collect();
    Value::object(criterion)
}

/// The columns and the source of a select.
fn scan_record(scan: &Scan, output: Option<&Output>) -> Value {
    let source = named(scan.source.name.clone(), scan.source.alias.as_ref());
    let sources = Value::array(vec![Value::object(source)]);
    let members = [("columns", columns_record(scan, output)), ("fromClause", sources)];
    Value::object(members.into_iter().collect())
}

/// The columns of a select, in order: `{type, name, alias?}` each, or one of these for `*`. Half of a
/// join has no `output` of its own; what its rows must hold stands for it.
fn columns_record(scan: &Scan, output: Option<&Output>) -> Value {
    let record = |kind: &'static str, name: Text, alias: Option<&Text>| {
        let mut record = named(name, alias);
        record.insert("type", Value::from(kind));
        Value::object(record)
    };
    let ScanColumns::List(columns) = &scan.columns else {
        return record("column", Text::from_static("*"), None);
    };
    let path = |column: &Column| match &column.path {
        ColumnPath::Static(path) => Text::from(path.text()),
        ColumnPath::Dynamic(template) => Text::from(template.text()),
    };
    let Some(output) = output else {
        let read = columns.iter().filter(|column| !column.is_key);
        return read.map(|column| record("column", path(column), None)).collect();
    };
    let shown = output.columns.iter().map(|column| match &column.value {
        OutputValue::Column { column: position, .. } => {
            record("column", path(&columns[*position]), column.alias.as_ref())
        }
        OutputValue::Call(call) => record("udf", call.callee.name.clone(), column.alias.as_ref()),
        OutputValue::Computed(_) => record("expression", Text::default(), column.alias.as_ref()),
    });
    shown.collect()
}

fn named(name: Text, alias: Option<&Text>) -> Object {
    let mut record: Object = [("name", Value::String(name))].into_iter().collect();
    if let Some(alias) = alias {
        record.insert("alias", Value::String(alias.clone()));
    }
    record
}

/// Headers as hooks see them: lower-case names, text values, lists where a name repeats.
pub(super) fn to_object(headers: &HeaderMap) -> Object {
    let mut object = Object::with_capacity(headers.len());
    for name in headers.keys() {
        let values: Vec<Value> = headers
            .get_all(name)
            .iter()
            .map(|value| Value::from(String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let value = match <[Value; 1]>::try_from(values) {
            Ok([single]) => single,
            Err(several) => Value::array(several),
        };
        object.insert(name.as_str(), value);
    }
    object
}

/// A header that cannot be sent.
pub(super) fn invalid_header(name: &str) -> RunError {
    RunError::gateway(codes::BAD_HEADER, format!("Invalid header value for {name}"))
}

/// Writes headers as a hook left them; of names that differ in case only the last one stays (CON-31).
pub(super) fn write_headers(headers: &mut HeaderMap, object: &Object) -> Result<(), RunError> {
    for (name, value) in object.iter() {
        let invalid = || invalid_header(name);
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        headers.remove(&parsed);
        let single = std::slice::from_ref(value);
        let elements = value.elements();
        for value in elements.as_deref().unwrap_or(single) {
            if value.is_nothing() {
                continue;
            }
            let text = value.scalar_text().ok_or_else(invalid)?;
            headers.append(&parsed, HeaderValue::from_str(&text).map_err(|_| invalid())?);
        }
    }
    Ok(())
}
