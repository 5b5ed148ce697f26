//! The client request and the variables that `run` and `plan --run` give a script.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use clap::Args;
use qlio_data::{Object, Text, Value, codec::json};
use qlio_engine::ClientRequest;

/// The variables and the request that a script finds.
#[derive(Debug, Clone, Args)]
pub(super) struct RequestArgs {
    /// A variable of the script, as `name=json`; may be repeated.
    #[arg(long = "var", value_name = "NAME=JSON")]
    variables: Vec<String>,
    /// JSON file with `query`, `headers`, `body` and `route` of a client request.
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,
}

impl RequestArgs {
    /// The client request and the variables.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub(super) fn read(&self) -> anyhow::Result<ClientRequest> {
        let mut request = ClientRequest::default();
        if let Some(file) = &self.request {
            let shown = file.display();
            let text =
                std::fs::read_to_string(file).with_context(|| format!("cannot read `{shown}`"))?;
            let value = json::parse_str(&text).map_err(|error| {
                anyhow!("`{shown}` is not JSON: {} at byte {}", error.reason, error.offset)
            })?;
            let member = |name: &str| {
                object(&value, name)
                    .with_context(|| format!("`{name}` in `{shown}` must be an object"))
            };
            request.query = member("query")?;
            request.route = member("route")?;
            let headers = member("headers")?;
            request.headers =
                headers.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect();
            request.body = value.member("body");
            let content_type = request.headers.get("content-type").and_then(Value::as_str);
            let content_type = content_type.map(str::to_owned);
            (request.raw_body, request.content_type) = match &request.body {
                Value::Absent => (Bytes::new(), None),
                Value::String(text) => (text.clone().into_bytes(), content_type),
                body => {
                    let content_type =
                        content_type.unwrap_or_else(|| "application/json".to_owned());
                    (json::to_string(body).into(), Some(content_type))
                }
            };
        }
        for variable in &self.variables {
            let (name, text) = variable
                .split_once('=')
                .with_context(|| format!("`--var {variable}` needs the form `name=json`"))?;
            let value = json::parse_str(text)
                .map_err(|error| anyhow!("`--var {name}`: invalid JSON: {}", error.reason))?;
            request.variables.insert(Text::from(name), value);
        }
        Ok(request)
    }
}

/// A member that is an object, or missing.
fn object(value: &Value, name: &str) -> Option<Object> {
    match &*value.member(name).open() {
        Value::Object(object) => Some(Object::clone(object)),
        Value::Absent => Some(Object::new()),
        _ => None,
    }
}
