//! The real executable as the engine under test: `qlio run … --envelope` for scripts, `qlio serve`
//! for requests, both in the case's folder.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{CASE_PATIENCE, CaseEngine, CaseFolder, conversation};
use crate::case::check::{HttpOutcome, Outcome};
use crate::case::conversation::Conversation;
use crate::case::{Case, HttpRequest};
use crate::client::{Request, fetch};
use crate::process::{ServerProcess, run_to_end};

/// How long a server may take to finish what it is doing when it is asked to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Runs cases with an executable.
#[derive(Debug, Clone)]
pub struct BinaryEngine {
    binary: PathBuf,
    patience: Duration,
}

impl BinaryEngine {
    /// An engine that starts this executable for each case.
    #[must_use]
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self { binary: binary.into(), patience: CASE_PATIENCE }
    }

    /// With another patience than [`CASE_PATIENCE`].
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    fn catalog() -> Vec<String> {
        let parts = [
            ("--tables", CaseFolder::TABLES),
            ("--routes", CaseFolder::ROUTES),
            ("--config", CaseFolder::CONFIG),
        ];
        parts
            .iter()
            .flat_map(|(option, value)| [(*option).to_owned(), (*value).to_owned()])
            .collect()
    }
}

impl BinaryEngine {
    /// A server with the catalog of a case.
    fn serve(&self, folder: &CaseFolder) -> Result<ServerProcess, Outcome> {
        let mut arguments = vec!["serve".to_owned()];
        arguments.extend(Self::catalog());
        arguments.extend(["--host", "127.0.0.1", "--port", "0", "--dev"].map(str::to_owned));
        ServerProcess::start(&self.binary, &arguments, folder.path(), &[], self.patience)
            .map_err(|error| Outcome::Broken(format!("the server does not start: {error}")))
    }
}

impl CaseEngine for BinaryEngine {
    fn run_script(&self, case: &Case, folder: &CaseFolder) -> Outcome {
        let mut arguments = vec!["run".to_owned(), "-".to_owned()];
        arguments.extend(Self::catalog());
        if case.request.is_some() {
            arguments.extend(["--request".to_owned(), CaseFolder::REQUEST.to_owned()]);
        }
        for (name, value) in &case.variables {
            arguments.extend(["--var".to_owned(), format!("{name}={value}")]);
        }
        arguments.push("--envelope".to_owned());
        let script = case.script.as_deref().unwrap_or_default();
        let finished =
            match run_to_end(&self.binary, &arguments, folder.path(), script, self.patience) {
                Ok(finished) => finished,
                Err(error) => {
                    return Outcome::Broken(format!("the binary can not be started: {error}"));
                }
            };
        let told =
            format!("stdout: `{}`; stderr: `{}`", finished.stdout.trim(), finished.stderr.trim());
        if finished.status.is_none() {
            return Outcome::Broken(format!("hung for {:?}; {told}", self.patience));
        }
        let code = finished.code();
        let envelope = serde_json::from_str(&finished.stdout).ok().and_then(envelope);
        match (envelope, code) {
            (Some(outcome @ Outcome::Value { .. }), Some(0))
            | (Some(outcome @ Outcome::Error { .. }), Some(1)) => outcome,
            (Some(_), _) => Outcome::Broken(format!("exit code {code:?} does not fit; {told}")),
            (None, _) => Outcome::Broken(format!("no envelope, exit code {code:?}; {told}")),
        }
    }

    fn run_http(&self, case: &Case, folder: &CaseFolder) -> Outcome {
        let deadline = Instant::now() + self.patience;
        let server = match self.serve(folder) {
            Ok(server) => server,
            Err(broken) => return broken,
        };
        let mut answers = Vec::with_capacity(case.http.len());
        for request in &case.http {
            let left =
                deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            match fetch(server.address(), &wire_request(request), left) {
                Ok(answer) => answers.push(HttpOutcome {
                    status: answer.status,
                    headers: answer.headers,
                    body: answer.body,
                }),
                Err(error) => {
                    let finished = server.stop(STOP_PATIENCE);
                    let what = format!("{} {}", request.method, request.path);
                    let stderr = finished.stderr.trim().to_owned();
                    return Outcome::Broken(format!(
                        "no answer to {what}: {error}; stderr: `{stderr}`"
                    ));
                }
            }
        }
        server.stop(STOP_PATIENCE);
        Outcome::Answers(answers)
    }

    fn run_websocket(&self, talk: &Conversation, folder: &CaseFolder) -> Outcome {
        let server = match self.serve(folder) {
            Ok(server) => server,
            Err(broken) => return broken,
        };
        let outcome = conversation::hold(talk, server.address(), self.patience);
        let finished = server.stop(STOP_PATIENCE);
        outcome.unwrap_or_else(|why| {
            Outcome::Broken(format!("{why}; stderr: `{}`", finished.stderr.trim()))
        })
    }
}

fn wire_request(request: &HttpRequest) -> Request {
    let mut wire = Request::new(&request.method, &request.path);
    for (name, value) in &request.headers {
        wire = wire.header(name, value);
    }
    if !request.headers.keys().any(|name| name.eq_ignore_ascii_case("connection")) {
        wire = wire.header("connection", "close");
    }
    if let Some(json) = &request.json {
        wire = wire.json(json);
    } else if let Some(body) = &request.body {
        wire = wire.body(body.as_bytes());
    }
    wire
}

/// Reads what `--envelope` prints: `{value, headers}` or `{error, status}`.
fn envelope(printed: Value) -> Option<Outcome> {
    let Value::Object(mut printed) = printed else { return None };
    if let Some(error) = printed.remove("error") {
        let status = printed.get("status").and_then(Value::as_u64);
        return Some(Outcome::Error {
            error,
            status: status.and_then(|status| status.try_into().ok()),
        });
    }
    let headers = headers(printed.remove("headers")?)?;
    // A result without value may be printed as null or be left out.
    Some(Outcome::Value { value: printed.remove("value").unwrap_or(Value::Null), headers })
}

/// Headers as an object (a list for a repeated name), or as a list of pairs.
fn headers(printed: Value) -> Option<Vec<(String, String)>> {
    match printed {
        Value::Object(members) => {
            let mut headers = Vec::new();
            for (name, value) in members {
                match value {
                    Value::String(text) => headers.push((name, text)),
                    Value::Array(items) => {
                        for item in items {
                            headers.push((name.clone(), item.as_str()?.to_owned()));
                        }
                    }
                    _ => return None,
                }
            }
            Some(headers)
        }
        Value::Array(pairs) => pairs
            .into_iter()
            .map(|pair| match pair.as_array()?.as_slice() {
                [name, value] => Some((name.as_str()?.to_owned(), value.as_str()?.to_owned())),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_envelope_is_a_value_with_headers_or_an_error_with_a_status() {
        let pairs = vec![("a".to_owned(), "b".to_owned())];
        let value = Outcome::Value { value: json!([1]), headers: pairs };
        assert_eq!(envelope(json!({"value": [1], "headers": {"a": "b"}})), Some(value.clone()));
        assert_eq!(envelope(json!({"value": [1], "headers": [["a", "b"]]})), Some(value));
        let absent = Outcome::Value { value: json!(null), headers: vec![] };
        assert_eq!(envelope(json!({"headers": {}})), Some(absent));
        let error = Outcome::Error { error: json!({"message": "m"}), status: Some(502) };
        assert_eq!(envelope(json!({"error": {"message": "m"}, "status": 502})), Some(error));
    }

    #[test]
    fn anything_else_is_no_envelope() {
        for other in [json!(1), json!({"value": 1}), json!({"headers": 1, "value": 1})] {
            assert_eq!(envelope(other), None);
        }
    }
}
