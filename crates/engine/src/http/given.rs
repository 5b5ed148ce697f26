//! An answer that was given with the request, instead of the answer of an upstream.
//!
//! In: the answer, and the exchange that it stands in for. Out: the reply, as if it had come. It goes the way of all
//! others from there on: hooks, decoding, rows. Nobody is called, neither for tokens nor through connectors, since
//! every exchange of a statement comes here first; and nothing of it is kept in a cache.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use qlio_syntax::diagnostic::codes;

use crate::{
    error::RunError,
    request::GivenAnswer,
    run::Run,
    transport::{Exchange, Headers, Reply, Timings, shown_uri},
};

/// The reply to the one exchange of a run.
///
/// # Errors
/// It is not the first one; what was given cannot be an answer.
pub(super) fn reply(
    run: &Run<'_>,
    given: &GivenAnswer,
    exchange: &Exchange,
) -> Result<Reply, RunError> {
    if run.has_taken_given.replace(true) {
        let message = format!(
            "one answer was given, and the script asks for another one: {}",
            shown_uri(&exchange.uri)
        );
        return Err(RunError::client(codes::TOO_MANY_CALLS, message));
    }
    let status = StatusCode::from_u16(given.status).ok().filter(|status| {
        status.is_success()
            || status.is_redirection()
            || status.is_client_error()
            || status.is_server_error()
    });
    let status = status.ok_or_else(|| {
        let message =
            format!("{} is no status of an answer; give one from 200 to 599", given.status);
        RunError::client(codes::BAD_STATUS, message)
    })?;
    let mut headers = HeaderMap::new();
    if let Some(content_type) = &given.content_type {
        let value = HeaderValue::from_str(content_type).map_err(|_| {
            let message = "the media type of the given answer holds characters that no header may";
            RunError::client(codes::BAD_HEADER, message)
        })?;
        headers.insert(header::CONTENT_TYPE, value);
    }
    Ok(Reply {
        status,
        headers: Headers::from(headers),
        body: given.body.clone(),
        uri: exchange.uri.clone(),
        wire_bytes: given.body.len(),
        timings: Timings::default(),
        attempts: 1,
        redirects: 0,
    })
}
