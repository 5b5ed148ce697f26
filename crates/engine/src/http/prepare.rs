//! From a statement's own values to requests that are ready to send (`connectors.md` 2).

use bytes::Bytes;
use http::{HeaderMap, Method};
use qlio_data::{Text, Value, params, uri_template::ExpandError};
use qlio_syntax::diagnostic::codes;

use super::{Call, body::Payload};
use crate::{error::RunError, executor::Own, request::Caller, scope::StatementParams};

/// One request, complete.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) method: Method,
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Prepared {
    /// Both ask the same of the same place, and asking changes nothing there.
    pub(crate) fn is_same_safe_request(&self, other: &Self) -> bool {
        self.method == Method::GET
            && other.method == Method::GET
            && self.uri == other.uri
            && self.headers == other.headers
    }
}

impl Call<'_> {
    /// Expands the URI, headers and bodies of all requests of the statement.
    pub(super) async fn prepare(
        &self,
        own: Own,
        payload: Payload,
        parts: Vec<usize>,
    ) -> Result<Vec<Prepared>, RunError> {
        let uris = {
            let params = self.params(&own);
            self.verb.uri.expand(&params).map_err(|error| expand_failed(&error))?
        };
        let method = Method::from_bytes(self.verb.method.to_ascii_uppercase().as_bytes())
            .map_err(|_| RunError::internal("the verb has no valid method"))?;
        let mut prepared = Vec::with_capacity(uris.len());
        match self.verb.foreach() {
            None => {
                for uri in uris {
                    prepared.push(self.prepare_one(&method, uri, &own, &payload, &parts).await?);
                }
            }
            Some(name) => {
                let Some(uri) = uris.into_iter().next() else { return Ok(prepared) };
                for element in elements(params::lookup(&self.params(&own), name)) {
                    let mut own = own.clone();
                    own.push((name.clone(), element));
                    prepared.push(
                        self.prepare_one(&method, uri.clone(), &own, &payload, &parts).await?,
                    );
                }
            }
        }
        Ok(prepared)
    }

    async fn prepare_one(
        &self,
        method: &Method,
        uri: String,
        own: &Own,
        payload: &Payload,
        parts: &[usize],
    ) -> Result<Prepared, RunError> {
        let mut headers = self.headers(own)?;
        let body = if self.verb.has_body() {
            self.body(own, payload, parts, &mut headers).await?
        } else {
            Bytes::new()
        };
        Ok(Prepared { method: method.clone(), uri, headers, body })
    }

    /// The parameters of this statement with these own values.
    pub(super) fn params<'p>(&'p self, own: &'p [(Text, Value)]) -> StatementParams<'p> {
        StatementParams {
            run: self.run,
            verb: self.verb,
            own,
            overlay: None,
            is_untrusted: self.is_untrusted(),
        }
    }

    /// The table was sent by a client.
    pub(super) fn is_untrusted(&self) -> bool {
        self.table.is_inline && matches!(self.run.caller, Caller::AdHoc { .. })
    }
}

/// The values of a `foreach` parameter: a scalar is a list of one, absent is none (C-Q72).
fn elements(value: Value) -> Vec<Value> {
    match value.elements() {
        Some(elements) => elements.into_owned(),
        None if value.is_nothing() => Vec::new(),
        None => vec![value],
    }
}

pub(super) fn expand_failed(error: &ExpandError) -> RunError {
    let message = error.to_string();
    match error {
        ExpandError::Missing { .. } => {
            RunError::client(codes::MISSING_TOKEN, message.clone()).with("error", message)
        }
        ExpandError::MultipleForks => {
            RunError::client(codes::MULTIPLE_FORKS, message.clone()).with("error", message)
        }
        ExpandError::ObjectParam { .. } | ExpandError::SeveralInBody { .. } => {
            RunError::client(codes::OBJECT_PARAM, message)
        }
        ExpandError::TooMany { .. } | ExpandError::TooLong { .. } => {
            RunError::client(codes::MAX_NESTED_REQUESTS, message)
        }
    }
}
