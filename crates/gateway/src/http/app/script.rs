//! `/q`, and running plans: from a client's script to its answer.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body;
use qlio_data::{Object, Value};
use qlio_engine::{Caller, ClientRequest, RunError};
use qlio_plan::Plan;
use qlio_syntax::diagnostic::Diagnostic;

use super::{Exchange, HttpApp, inputs, redact::redact};
use crate::http::{
    compile_error,
    failure::Failure,
    incident::IncidentId,
    query,
    respond::{self, Note, Rendition, Response},
};

impl HttpApp {
    /// Runs the script of a client (`server.md` 2.3). Of the body, only the member `s` is read.
    pub(super) async fn script<B>(
        &self,
        exchange: &Exchange<'_>,
        mut query: Object,
        body: B,
        rendition: Rendition<'_>,
    ) -> Result<Response, Failure>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let in_query = query::text(&query, "s").filter(|text| !text.is_empty()).map(str::to_owned);
        let text = if let Some(text) = in_query {
            text
        } else {
            let in_body = self.body(exchange, body).await?.value.member("s");
            let text = in_body.as_str().filter(|text| !text.is_empty());
            text.ok_or(Failure::MissingQuery)?.to_owned()
        };
        query.remove("s");
        let plan = self
            .plans
            .get(&text, &exchange.loaded)
            .map_err(|problems| self.compile_failure(&problems, &text))?;
        let request = ClientRequest {
            query,
            headers: inputs::visible_headers(&exchange.head.headers),
            remote_address: exchange.peer.to_string(),
            ..ClientRequest::default()
        };
        let caller = Caller::AdHoc { may_call_private: self.shared.settings.may_call_private };
        Ok(self.run(exchange, &plan, &request, caller, rendition).await)
    }

    /// Runs a plan and answers with its result or its error.
    pub(super) async fn run(
        &self,
        exchange: &Exchange<'_>,
        plan: &Arc<Plan>,
        request: &ClientRequest,
        caller: Caller,
        rendition: Rendition<'_>,
    ) -> Response {
        let answer = self.engine.run(plan, &exchange.loaded.catalog, request, caller).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.run_failure(exchange, &error, rendition),
        };
        let mut headers = answer.headers;
        if let Some(id) = answer.request_id {
            headers.push((self.shared.settings.request_id_header.clone(), id));
        }
        if let Some((answered, attempted)) = answer.partial {
            headers.push(("Qlio-Partial".to_owned(), format!("{answered}/{attempted}")));
        }
        respond::value(&answer.value, &headers, rendition)
    }

    /// The answer for a run that failed. Faults of our own get an incident id and are noted.
    fn run_failure(
        &self,
        exchange: &Exchange<'_>,
        error: &RunError,
        rendition: Rendition<'_>,
    ) -> Response {
        let mut body = redact(error.body(), &self.shared.secrets);
        let mut note = None;
        if error.status == 500 {
            let incident = IncidentId::new();
            let (method, path) = (&exchange.head.method, exchange.path());
            let text = format!("incident {incident}: `{method} {path}` failed: {error}");
            note = redact(Value::from(text), &self.shared.secrets).scalar_text();
            body = with_member(body, "incident", Value::from(incident.to_string()));
        }
        let retry_after = error.retry_after_seconds;
        let failure = Failure::Script { status: error.status, body, retry_after };
        let mut response = respond::failure(&failure, rendition);
        if let Some(note) = note {
            response.extensions_mut().insert(Note(note.to_string()));
        }
        response
    }

    fn compile_failure(&self, problems: &[Diagnostic], text: &str) -> Failure {
        let body = redact(compile_error::body(problems, text), &self.shared.secrets);
        Failure::Script { status: 400, body, retry_after: None }
    }
}

fn with_member(body: Value, name: &str, value: Value) -> Value {
    match body {
        Value::Object(object) => {
            let mut object = Object::clone(&object);
            object.insert(name, value);
            Value::object(object)
        }
        other => other,
    }
}
