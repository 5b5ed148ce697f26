//! What qlio asks for, read from JSON and made into filters and documents.
//!
//! In: the body of a request. Out: one statement. Pure. Values are scalars, lists of them, or what extended JSON
//! writes for an id or a date; anything else could be an operator, and is refused.

use std::{collections::BTreeMap, time::Duration};

use mongodb::bson::{Bson, Document, doc};
use qlio_serving::Refused;
use serde_json::{Map, Value, json};

/// Values of one list.
const LIST_MAX: usize = 1000;

/// Stages of a pipeline.
const STAGES_MAX: usize = 20;

/// How long a statement may take that says nothing of it.
const PATIENCE_DEFAULT: Duration = Duration::from_secs(30);

/// Stages that read and change nothing, and run no code.
const STAGES: [&str; 10] = [
    "$match",
    "$group",
    "$sort",
    "$project",
    "$limit",
    "$skip",
    "$unwind",
    "$count",
    "$addFields",
    "$sortByCount",
];

/// Operators that run code.
const CODE: [&str; 3] = ["$where", "$function", "$accumulator"];

/// The types that members of collections are known to have.
pub(crate) type Columns = BTreeMap<String, BTreeMap<String, &'static str>>;

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Find,
    FindOne,
    Count,
    Aggregate,
    Insert,
    Update,
    Remove,
}

const ACTIONS: [(&str, Action); 7] = [
    ("find", Action::Find),
    ("findOne", Action::FindOne),
    ("count", Action::Count),
    ("aggregate", Action::Aggregate),
    ("insert", Action::Insert),
    ("update", Action::Update),
    ("remove", Action::Remove),
];

impl Action {
    /// The kind of statements that it serves.
    fn kind(self) -> &'static str {
        match self {
            Self::Find | Self::FindOne | Self::Count | Self::Aggregate => "select",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Remove => "delete",
        }
    }
}

/// One statement.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) action: Action,
    pub(crate) collection: String,
    pub(crate) filter: Document,
    pub(crate) projection: Option<Document>,
    pub(crate) limit: Option<u64>,
    pub(crate) offset: u64,
    pub(crate) values: Document,
    pub(crate) pipeline: Vec<Document>,
    pub(crate) patience: Duration,
}

/// Reads what `--column` says.
pub(crate) fn read_columns(written: &[String]) -> Result<Columns, String> {
    let mut columns = Columns::new();
    for column in written {
        let wrong = || format!("`{column}` is not `collection.member=number` (or `text`, `flag`)");
        let (path, kind) = column.split_once('=').ok_or_else(wrong)?;
        let (collection, member) = path.rsplit_once('.').ok_or_else(wrong)?;
        let kind = ["text", "number", "flag"]
            .into_iter()
            .find(|known| *known == kind)
            .ok_or_else(wrong)?;
        columns.entry(collection.to_owned()).or_default().insert(member.to_owned(), kind);
    }
    Ok(columns)
}

/// What the connector says that it can do.
pub(crate) fn describe(names: &[String], columns: &Columns, is_writable: bool) -> Value {
    let mut verbs = Map::new();
    for (verb, action) in ACTIONS {
        let kind = action.kind();
        if kind != "select" && !is_writable {
            continue;
        }
        let source = |name: &String| {
            let mut source = json!({"open": true});
            if matches!(action, Action::Find | Action::FindOne | Action::Count | Action::Remove)
                && let Some(columns) = columns.get(name)
            {
                let described = columns.iter().map(|(name, kind)| {
                    let tests: &[&str] = match *kind {
                        "flag" => &["="],
                        _ => &["=", "<", "<=", ">", ">="],
                    };
                    (name.clone(), json!({"type": kind, "tests": tests}))
                });
                source["columns"] = Value::Object(described.collect());
            }
            match action {
                Action::Find => source["pushes"] = json!(["columns", "limit", "offset"]),
                Action::FindOne => source["pushes"] = json!(["columns"]),
                Action::Aggregate => {
                    source["parameters"] = json!({"pipeline": {"type": "any", "required": true}});
                }
                _ => {}
            }
            (name.clone(), source)
        };
        let sources: Map<String, Value> = names.iter().map(source).collect();
        verbs.insert(verb.to_owned(), json!({"kinds": [kind], "sources": sources}));
    }
    json!({"protocol": 1, "name": "mongodb", "verbs": verbs})
}

impl Asked {
    pub(crate) fn read(
        body: &[u8],
        names: &[String],
        columns: &Columns,
        is_writable: bool,
    ) -> Result<Self, Refused> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| Refused::new(400, format!("the request is no JSON: {error}")))?;
        let verb = body["verb"].as_str().unwrap_or_default();
        let known = ACTIONS.iter().find(|(name, _)| *name == verb);
        let known = known.filter(|(_, action)| is_writable || action.kind() == "select");
        let Some((_, action)) = known else {
            return Err(Refused::new(404, format!("there is no verb `{verb}`")));
        };
        let collection = body["at"].as_str().unwrap_or_default();
        if !names.iter().any(|name| name == collection) {
            let message = format!("there is no collection `{collection}`");
            return Err(Refused { position: Some(1), ..Refused::new(404, message) });
        }
        let pipeline = match (action, &body["parameters"]["pipeline"]) {
            (Action::Aggregate, written) => read_pipeline(written)?,
            _ => Vec::new(),
        };
        let empty = Map::new();
        let members = |name: &str| body[name].as_object().unwrap_or(&empty).clone();
        let mut filter = Document::new();
        for (name, value) in members("parameters") {
            if *action != Action::Aggregate {
                let value = scalar_or_list(&name, &value)?;
                let test = if matches!(value, Bson::Array(_)) { "$in" } else { "$eq" };
                filter.insert(member(&name)?, doc! {test: value});
            }
        }
        let tests = body["tests"].as_array().cloned().unwrap_or_default();
        for test in &tests {
            let (name, condition) = read_test(test, columns.get(collection))?;
            match filter.get_document_mut(&name) {
                Ok(known) => known.extend(condition),
                Err(_) => {
                    filter.insert(name, condition);
                }
            }
        }
        let mut values = Document::new();
        for (name, value) in members("values") {
            let value = Bson::try_from(value)
                .map_err(|error| Refused::new(422, format!("`{name}` is no value: {error}")))?;
            values.insert(member(&name)?, value);
        }
        if *action == Action::Remove && filter.is_empty() {
            return Err(Refused::new(
                422,
                "a remove without a condition would empty the collection",
            ));
        }
        let projection = body["columns"].as_array().map(|names| {
            let mut projection = doc! {"_id": 0};
            for name in names.iter().filter_map(Value::as_str) {
                projection.insert(name, 1);
            }
            projection
        });
        Ok(Self {
            action: *action,
            collection: collection.to_owned(),
            filter,
            projection,
            limit: body["limit"].as_u64(),
            offset: body["offset"].as_u64().unwrap_or(0),
            values,
            pipeline,
            patience: body["deadlineMs"].as_u64().map_or(PATIENCE_DEFAULT, Duration::from_millis),
        })
    }
}

/// The name of a member, which is no operator.
fn member(name: &str) -> Result<&str, Refused> {
    if name.is_empty() || name.starts_with('$') || name.contains('\0') {
        return Err(Refused::new(422, format!("`{name}` is no name of a member")));
    }
    Ok(name)
}

fn scalar_or_list(name: &str, value: &Value) -> Result<Bson, Refused> {
    match value {
        Value::Array(values) if values.len() <= LIST_MAX => values
            .iter()
            .map(|value| scalar(name, value))
            .collect::<Result<Vec<_>, _>>()
            .map(Bson::Array),
        Value::Array(_) => {
            Err(Refused::new(422, format!("`{name}` has more than {LIST_MAX} values")))
        }
        value => scalar(name, value),
    }
}

/// A value that is compared as it is: an object could be an operator, but for what an id or a date is written as.
fn scalar(name: &str, value: &Value) -> Result<Bson, Refused> {
    let refused = || Refused::new(422, format!("`{name}` must be a value, an id or a date"));
    match value {
        Value::Array(_) => Err(refused()),
        Value::Object(members) => {
            let is_written = members.len() == 1
                && (members.contains_key("$oid") || members.contains_key("$date"));
            let read = Bson::try_from(value.clone()).ok().filter(|_| is_written);
            read.filter(|read| matches!(read, Bson::ObjectId(_) | Bson::DateTime(_)))
                .ok_or_else(refused)
        }
        plain => Bson::try_from(plain.clone()).map_err(|_| refused()),
    }
}

fn read_test(
    test: &Value,
    columns: Option<&BTreeMap<String, &'static str>>,
) -> Result<(String, Document), Refused> {
    let name = test["column"].as_str().unwrap_or_default();
    if !columns.is_some_and(|columns| columns.contains_key(name)) {
        return Err(Refused::new(422, format!("no test is made of `{name}`")));
    }
    let operator = match test["test"].as_str().unwrap_or_default() {
        "=" => "$eq",
        "in" => "$in",
        "<" => "$lt",
        "<=" => "$lte",
        ">" => "$gt",
        ">=" => "$gte",
        other => return Err(Refused::new(422, format!("there is no test `{other}`"))),
    };
    let value = scalar_or_list(name, &test["value"])?;
    if matches!(value, Bson::Array(_)) != (operator == "$in") {
        return Err(Refused::new(422, format!("the value for `{name}` is none for its test")));
    }
    Ok((name.to_owned(), doc! {operator: value}))
}

/// The stages of a pipeline, given as a list or as its text.
fn read_pipeline(written: &Value) -> Result<Vec<Document>, Refused> {
    let refused = |message: String| Refused::new(422, message);
    let parsed;
    let stages = match written {
        Value::String(text) => {
            parsed = serde_json::from_str(text)
                .map_err(|error| refused(format!("`pipeline` is no JSON: {error}")))?;
            &parsed
        }
        other => other,
    };
    let Value::Array(stages) = stages else {
        return Err(refused("`pipeline` must be a list of stages".to_owned()));
    };
    if stages.len() > STAGES_MAX {
        return Err(refused(format!("`pipeline` has more than {STAGES_MAX} stages")));
    }
    let read = |stage: &Value| {
        let name = stage
            .as_object()
            .filter(|stage| stage.len() == 1)
            .and_then(|stage| stage.keys().next());
        let name = name.map_or("", String::as_str);
        if !STAGES.contains(&name) {
            return Err(refused(format!(
                "`{name}` is no stage that is allowed: `{}`",
                STAGES.join("`, `")
            )));
        }
        if let Some(code) = CODE.iter().find(|code| mentions(stage, code)) {
            return Err(refused(format!("`{code}` runs code, which is not allowed")));
        }
        match Bson::try_from(stage.clone()) {
            Ok(Bson::Document(stage)) => Ok(stage),
            _ => Err(refused(format!("`{name}` is malformed"))),
        }
    };
    stages.iter().map(read).collect()
}

/// Whether an object somewhere in a value has a member of this name; JSON is not deeper than its reader allows.
fn mentions(value: &Value, name: &str) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(member, value)| member == name || mentions(value, name))
        }
        Value::Array(values) => values.iter().any(|value| mentions(value, name)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &Value) -> Result<Asked, String> {
        let columns = read_columns(&["items.price=number".to_owned()]).expect("a column");
        let names = ["items".to_owned()];
        let asked = Asked::read(body.to_string().as_bytes(), &names, &columns, true);
        asked.map_err(|refused| refused.message)
    }

    #[test]
    fn values_are_compared_and_never_operators() {
        let asked = read(&json!({
            "verb": "find", "at": "items", "parameters": {"name": "x", "tag": ["a", "b"]},
            "tests": [
                {"column": "price", "test": ">=", "value": 5},
                {"column": "price", "test": "<", "value": 9},
            ],
            "columns": ["name"], "limit": 3,
        }))
        .expect("a statement");
        let filter = doc! {
            "name": {"$eq": "x"}, "tag": {"$in": ["a", "b"]}, "price": {"$gte": 5_i32, "$lt": 9_i32},
        };
        assert_eq!(asked.filter, filter);
        assert_eq!(asked.projection, Some(doc! {"_id": 0, "name": 1}));
        let id = json!({"$oid": "507f1f77bcf86cd799439011"});
        let asked = read(&json!({"verb": "findOne", "at": "items", "parameters": {"_id": id}}));
        assert!(matches!(
            asked.expect("one").filter.get_document("_id").expect("a test").get("$eq"),
            Some(Bson::ObjectId(_))
        ));
    }

    #[test]
    fn what_could_be_an_operator_is_refused() {
        for (more, told) in [
            (json!({"parameters": {"name": {"$gt": ""}}}), "must be a value"),
            (json!({"parameters": {"name": [{"$gt": ""}]}}), "must be a value"),
            (json!({"parameters": {"$where": "1"}}), "is no name of a member"),
            (
                json!({"tests": [{"column": "name", "test": "=", "value": 1}]}),
                "no test is made of `name`",
            ),
            (
                json!({"tests": [{"column": "price", "test": "$ne", "value": 1}]}),
                "there is no test `$ne`",
            ),
            (json!({"verb": "remove"}), "would empty the collection"),
            (json!({"verb": "drop"}), "there is no verb"),
            (json!({"at": "system.users"}), "there is no collection"),
            (json!({"verb": "aggregate"}), "must be a list of stages"),
            (
                json!({"verb": "aggregate", "parameters": {"pipeline": [{"$out": "x"}]}}),
                "`$out` is no stage",
            ),
            (
                json!({"verb": "aggregate", "parameters": {"pipeline": [{"$match": {"$where": "1"}}]}}),
                "`$where` runs code",
            ),
        ] {
            let mut body = json!({"verb": "find", "at": "items"});
            for (name, value) in more.as_object().expect("members") {
                body[name] = value.clone();
            }
            let message = read(&body).expect_err(&body.to_string());
            assert!(message.contains(told), "{body}: {message}");
        }
    }
}
