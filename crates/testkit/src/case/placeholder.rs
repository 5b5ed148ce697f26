//! `{{upstream}}` in case files: put in before a case runs, taken out of what it answers.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::conversation::Step;
use super::{Case, HttpRequest, ScriptRequest};
use crate::upstream::Expectation;

/// Stands for the base address of the scripted upstream, such as `http://127.0.0.1:4711`.
pub const PLACEHOLDER: &str = "{{upstream}}";

/// The same upstream for gRPC.
const GRPC_PLACEHOLDER: &str = "grpc://{{upstream}}";

impl Case {
    /// The case with the upstream's address put in everywhere but in what is expected, because
    /// results are turned back before they are compared.
    #[must_use]
    pub fn addressed(&self, base: &str) -> Self {
        let mut case = self.clone();
        put_map(&mut case.config, base);
        put_map(&mut case.variables, base);
        for texts in [&mut case.tables, &mut case.routes, &mut case.files] {
            put_texts(texts, base);
        }
        if let Some(request) = &mut case.request {
            put_script_request(request, base);
        }
        if let Some(script) = &mut case.script {
            put(script, base);
        }
        for request in &mut case.http {
            put_http_request(request, base);
        }
        for step in case.websocket.iter_mut().flat_map(|talk| &mut talk.steps) {
            match step {
                Step::Send(message) => put_value(message, base),
                Step::SendText(text) => put(text, base),
                Step::Receive(_) | Step::Closed(_) => {}
            }
        }
        for expectation in &mut case.upstream {
            put_expectation(expectation, base);
        }
        case
    }
}

/// Turns the upstream's address in a text back into the placeholder.
pub fn take_out(text: &str, base: &str) -> String {
    let bare = base.trim_start_matches("http://");
    text.replace(&format!("grpc://{bare}"), GRPC_PLACEHOLDER).replace(base, PLACEHOLDER)
}

/// The same for a text that is percent-encoded, such as an execution trace in a header.
pub(crate) fn take_out_encoded(text: &str, base: &str) -> String {
    text.replace(&base.replace(':', "%3A").replace('/', "%2F"), "%7B%7Bupstream%7D%7D")
}

/// Turns the upstream's address in every text of a value, keys included, back into the placeholder.
#[must_use]
pub fn take_out_of(value: Value, base: &str) -> Value {
    match value {
        Value::String(text) => Value::String(take_out(&text, base)),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| take_out_of(item, base)).collect())
        }
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| (take_out(&name, base), take_out_of(value, base)))
                .collect(),
        ),
        other => other,
    }
}

fn put(text: &mut String, base: &str) {
    if text.contains(PLACEHOLDER) {
        // A scheme that is written out replaces the upstream's own.
        let bare = base.trim_start_matches("http://");
        *text =
            text.replace(GRPC_PLACEHOLDER, &format!("grpc://{bare}")).replace(PLACEHOLDER, base);
    }
}

fn put_value(value: &mut Value, base: &str) {
    match value {
        Value::String(text) => put(text, base),
        Value::Array(items) => items.iter_mut().for_each(|item| put_value(item, base)),
        Value::Object(members) => put_map(members, base),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn put_map(members: &mut Map<String, Value>, base: &str) {
    members.values_mut().for_each(|value| put_value(value, base));
}

fn put_texts(texts: &mut BTreeMap<String, String>, base: &str) {
    for text in texts.values_mut() {
        put(text, base);
    }
}

fn put_script_request(request: &mut ScriptRequest, base: &str) {
    put_map(&mut request.query, base);
    put_map(&mut request.headers, base);
    put_map(&mut request.route, base);
    if let Some(body) = &mut request.body {
        put_value(body, base);
    }
}

fn put_http_request(request: &mut HttpRequest, base: &str) {
    put(&mut request.path, base);
    put_texts(&mut request.headers, base);
    if let Some(json) = &mut request.json {
        put_value(json, base);
    }
    if let Some(body) = &mut request.body {
        put(body, base);
    }
}

fn put_expectation(expectation: &mut Expectation, base: &str) {
    let texts = [&mut expectation.path, &mut expectation.prefix, &mut expectation.body];
    texts.into_iter().flatten().for_each(|text| put(text, base));
    if let Some(json) = &mut expectation.json {
        put_value(json, base);
    }
    expectation.headers.values_mut().flatten().for_each(|text| put(text, base));
    put_texts(&mut expectation.respond.headers, base);
    if let Some(json) = &mut expectation.respond.json {
        put_value(json, base);
    }
    if let Some(body) = &mut expectation.respond.body {
        put(body, base);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::case::load::parse_cases;

    const BASE: &str = "http://127.0.0.1:4711";

    #[test]
    fn the_address_is_put_in_everywhere_but_in_what_is_expected() {
        let text = "
- id: a
  why: b
  config: {k: {l: ['{{upstream}}/c']}}
  tables: {t.ql: \"from '{{upstream}}/t'\"}
  request: {query: {q: '{{upstream}}'}}
  script: 's {{upstream}}'
  upstream: [{method: GET, path: /, respond: {headers: {location: '{{upstream}}/b'}, json: ['{{upstream}}']}}]
  expect: {value: '{{upstream}}/x'}
";
        let case = parse_cases(text).unwrap()[0].addressed(BASE);
        assert_eq!(case.config["k"], json!({"l": ["http://127.0.0.1:4711/c"]}));
        assert_eq!(case.tables["t.ql"], "from 'http://127.0.0.1:4711/t'");
        assert_eq!(case.request.unwrap().query["q"], json!(BASE));
        assert_eq!(case.script.unwrap(), "s http://127.0.0.1:4711");
        assert_eq!(case.upstream[0].respond.headers["location"], "http://127.0.0.1:4711/b");
        assert_eq!(case.upstream[0].respond.json, Some(json!([BASE])));
        assert_eq!(case.expect.value, Some(json!("{{upstream}}/x")));
    }

    #[test]
    fn results_are_turned_back_at_any_depth() {
        let value =
            json!({"a": [{"http://127.0.0.1:4711/k": "x http://127.0.0.1:4711/y"}], "n": 1});
        let back = json!({"a": [{"{{upstream}}/k": "x {{upstream}}/y"}], "n": 1});
        assert_eq!(take_out_of(value, BASE), back);
    }
}
