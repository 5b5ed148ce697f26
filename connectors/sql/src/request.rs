//! What qlio asks for: one statement, read from JSON and held against the tables that there are.

use std::time::Duration;

use qlio_serving::Refused;
use serde_json::{Map, Value};

use crate::source::{Kind, Source, Sources};

/// Values of one `in`.
const LIST_MAX: usize = 1000;

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Select,
    Insert,
    Update,
    Delete,
}

/// A condition on a column.
#[derive(Debug, PartialEq)]
pub(crate) struct Test {
    pub(crate) column: String,
    pub(crate) is_text: bool,
    pub(crate) operator: &'static str,
    /// One value; several for `in`.
    pub(crate) values: Vec<Value>,
}

/// One statement.
#[derive(Debug)]
pub(crate) struct Asked<'s> {
    pub(crate) action: Action,
    pub(crate) source: &'s Source,
    pub(crate) tests: Vec<Test>,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) limit: Option<u64>,
    pub(crate) offset: Option<u64>,
    pub(crate) values: Map<String, Value>,
    pub(crate) patience: Duration,
}

/// How long a statement may take that says nothing of it.
const PATIENCE_DEFAULT: Duration = Duration::from_secs(30);

impl<'s> Asked<'s> {
    pub(crate) fn read(
        body: &[u8],
        sources: &'s Sources,
        is_writable: bool,
    ) -> Result<Self, Refused> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| Refused::new(400, format!("the request is no JSON: {error}")))?;
        let text = |name: &str| body[name].as_str().unwrap_or_default();
        let action = match text("verb") {
            "rows" => Action::Select,
            "insert" if is_writable => Action::Insert,
            "update" if is_writable => Action::Update,
            "delete" if is_writable => Action::Delete,
            other => return Err(Refused::new(404, format!("there is no verb `{other}`"))),
        };
        let at = text("at");
        let source = sources.get(at).ok_or_else(|| Refused {
            position: Some(1),
            ..Refused::new(404, format!("there is no table `{at}`"))
        })?;
        let tests = match &body["tests"] {
            Value::Null => Vec::new(),
            Value::Array(tests) => {
                tests.iter().map(|test| read_test(test, source)).collect::<Result<_, _>>()?
            }
            _ => return Err(Refused::new(400, "`tests` must be a list")),
        };
        let columns = match &body["columns"] {
            Value::Null => None,
            Value::Array(names) => {
                // What is no column of the table is absent from its rows.
                let known = names.iter().filter_map(Value::as_str);
                let known = known.filter(|name| source.column(name).is_some());
                Some(known.map(str::to_owned).collect())
            }
            _ => return Err(Refused::new(400, "`columns` must be a list of names")),
        };
        let values = match &body["values"] {
            Value::Null => Map::new(),
            Value::Object(values) => values.clone(),
            _ => return Err(Refused::new(400, "`values` must be an object of columns")),
        };
        if let Some(stranger) = values.keys().find(|name| source.column(name).is_none()) {
            return Err(Refused::new(422, format!("table `{at}` has no column `{stranger}`")));
        }
        let patience = body["deadlineMs"].as_u64().map_or(PATIENCE_DEFAULT, Duration::from_millis);
        let (limit, offset) = (body["limit"].as_u64(), body["offset"].as_u64());
        Ok(Self { action, source, tests, columns, limit, offset, values, patience })
    }
}

fn read_test(test: &Value, source: &Source) -> Result<Test, Refused> {
    let name = test["column"].as_str().unwrap_or_default();
    let column = source.column(name).filter(|column| column.kind != Kind::Other);
    let column = column.ok_or_else(|| Refused::new(422, format!("no test is made of `{name}`")))?;
    let operator = match test["test"].as_str().unwrap_or_default() {
        "=" => "=",
        "in" => "in",
        "<" => "<",
        "<=" => "<=",
        ">" => ">",
        ">=" => ">=",
        "like" => "like",
        other => return Err(Refused::new(422, format!("there is no test `{other}`"))),
    };
    let values = match (&test["value"], operator) {
        (Value::Array(values), "in") if values.len() <= LIST_MAX => values.clone(),
        (Value::Array(_), "in") => {
            return Err(Refused::new(422, format!("`in` takes at most {LIST_MAX} values")));
        }
        (Value::Array(_) | Value::Object(_), _) | (_, "in") => {
            return Err(Refused::new(422, format!("the value for `{name} {operator}` is none")));
        }
        (value, _) => vec![value.clone()],
    };
    Ok(Test { column: name.to_owned(), is_text: column.kind == Kind::Text, operator, values })
}
