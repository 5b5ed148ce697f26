//! Access tokens of `using oauth2`: client credentials for a bearer token (RFC 6749, 4.4).
//!
//! ```text
//! exchange ─▶ token known? ─▶ send with `Authorization: Bearer …` ─▶ 401? ─▶ once more, new token
//!                 └─ no ─▶ POST to the token endpoint, kept until shortly before it expires
//! ```
//!
//! For gRPC calls the status 16, UNAUTHENTICATED, says what 401 says.
//!
//! One [`Tokens`](crate::tokens::Tokens) per thread. Statements that need the same token at the same time wait for one
//! request to the token endpoint, each no longer than its own time allows. The endpoint is called
//! like any upstream of the table: same time, limits, proxy and egress rules.
//!
//! Promised: neither the secret nor a token is in an error or a log. Tokens are in memory only.
//! Other grants, refresh tokens and token revocation are not here.

use std::{fmt::Write, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderValue, Method, header};
use qlio_data::{
    Value,
    codec::{DecodeLimits, json},
    projection::Projection,
};
use qlio_plan::catalog::{FORM, Oauth2};
use qlio_syntax::diagnostic::codes;
use tokio::time::{Instant, timeout_at};

use super::{Call, answer::Answer, failure, onlooker::Onlooker};
use crate::{
    error::{Fact, RunError},
    event::Because,
    hops::HOPS,
    tokens::{Credentials, Failure, Reason, Slot, State, Token},
    transport::{ErrorKind, Exchange, Reply, Retry, TransportError, shown_uri},
};

/// How long a token lives that comes without `expires_in`.
const LIFETIME_DEFAULT: Duration = Duration::from_mins(5);

/// No token is kept longer, whatever the endpoint says.
const LIFETIME_MAX: Duration = Duration::from_hours(24);

/// A token is renewed so long before it expires, or a tenth of its life if that is shorter.
const RENEWED_BEFORE: Duration = Duration::from_secs(30);

/// Longer tokens would not fit into the head of a request.
const TOKEN_BYTES_MAX: usize = 16 << 10;

/// A shorter wait for a token is not told: it was at hand.
const WAIT_TOLD_MIN: Duration = Duration::from_micros(100);

/// Error words of the endpoint are repeated up to this length.
const WORD_BYTES_SHOWN_MAX: usize = 64;

impl Credentials {
    fn of(clause: &Oauth2) -> Self {
        Self {
            token_uri: clause.token_uri.clone(),
            client: clause.client.clone(),
            secret: clause.secret.clone(),
            scope: clause.scope.clone(),
        }
    }

    /// The request for a token, sent like `exchange`.
    fn request(&self, exchange: &Exchange) -> Result<Exchange, Reason> {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(FORM));
        headers.insert(header::AUTHORIZATION, self.basic()?);
        headers.extend(exchange.headers.get(HOPS).map(|hops| (HOPS, hops.clone())));
        let mut body = "grant_type=client_credentials".to_owned();
        if let Some(scope) = &self.scope {
            body.push_str("&scope=");
            push_encoded(&mut body, scope);
        }
        Ok(Exchange {
            method: Method::POST,
            uri: self.token_uri.clone(),
            headers: headers.into(),
            own_header: None,
            trace: None,
            body: body.into(),
            // A token comes from elsewhere, whatever the request goes to.
            socket: None,
            // Asking for a token twice does no harm.
            retry: Retry::Once,
            // Also for calls the endpoint is one of HTTP.
            grpc: None,
            ..exchange.clone()
        })
    }

    /// Id and secret are encoded as in a form before they are joined (RFC 6749, 2.3.1).
    fn basic(&self) -> Result<HeaderValue, Reason> {
        let mut pair = String::with_capacity(self.client.len() + self.secret.len() + 1);
        push_encoded(&mut pair, &self.client);
        pair.push(':');
        push_encoded(&mut pair, &self.secret);
        let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
            .map_err(|_| Reason::Refused("the client cannot be sent as a header".to_owned()))?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// The endpoint's word for what is wrong, if it is one and tells no secret.
    fn shown_word(&self, answer: &Value) -> String {
        match answer.member("error").as_str() {
            Some(word)
                if word.len() <= WORD_BYTES_SHOWN_MAX
                    && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                    && !word.contains(&self.secret) =>
            {
                format!(" and `{word}`")
            }
            _ => String::new(),
        }
    }
}

impl Call<'_> {
    /// Sends an exchange with an access token. If the upstream does not take the token, it is
    /// dropped; selects that may be repeated are sent once more with a new one.
    pub(super) async fn exchange_with_token(
        &self,
        exchange: &mut Exchange,
        clause: &Oauth2,
        onlooker: &mut Onlooker<'_, '_>,
    ) -> Result<Reply, RunError> {
        let transport = self.run.engine.transport();
        let credentials = Credentials::of(clause);
        let slot = self.run.engine.tokens().slot(&credentials);
        let asked = Instant::now();
        let token = self.token(&slot, &credentials, exchange, None).await?;
        let waited = asked.elapsed();
        exchange.headers_mut().insert(header::AUTHORIZATION, token.header.clone());
        let is_repeatable = exchange.retry == Retry::Once;
        let again = is_repeatable.then(|| exchange.clone());
        let sent = transport.send_watched(exchange, onlooker).await;
        let mut reply = sent.map_err(|error| self.exchange_failed(&error))?;
        if waited >= WAIT_TOLD_MIN && reply.attempts == 1 && reply.redirects == 0 {
            // The request has been told of since it asked for its token; a further one begins later.
            *reply.timings.blocked.get_or_insert_default() += waited;
        }
        if !self.is_unauthenticated(&reply) {
            return Ok(reply);
        }
        let Some(mut again) = again else {
            // Whoever holds the lock fetches a new one anyway.
            if let Ok(mut state) = slot.state.try_lock() {
                state.forget(&token);
            }
            return Ok(reply);
        };
        if onlooker.announced.is_some() {
            let refusal = self.settled(reply).await?;
            let answer = Answer::received(&refusal, &refusal.uri);
            self.announce_answer(onlooker.announced.as_deref(), &answer);
        }
        let token = self.token(&slot, &credentials, &again, Some(&token)).await?;
        again.headers_mut().insert(header::AUTHORIZATION, token.header);
        self.announce_again(onlooker.announced.as_deref_mut(), "the token was refused");
        let sent = transport.send_watched(&mut again, onlooker).await;
        sent.map_err(|error| self.exchange_failed(&error))
    }

    /// The token for some credentials, other than the rejected one.
    async fn token(
        &self,
        slot: &Slot,
        credentials: &Credentials,
        exchange: &Exchange,
        rejected: Option<&Token>,
    ) -> Result<Token, RunError> {
        let asked = Instant::now();
        let waited = timeout_at(patience_end(asked, exchange), slot.state.lock()).await;
        let outcome = match waited {
            Ok(mut state) => {
                if let Some(rejected) = rejected {
                    state.forget(rejected);
                }
                match state.known(asked, exchange.timeout) {
                    Some(outcome) => outcome,
                    None => self.fetch(&mut state, credentials, exchange).await,
                }
            }
            Err(_) => Err(Reason::Transport(out_of_patience(exchange))),
        };
        outcome.map_err(|reason| self.token_failed(&credentials.token_uri, reason))
    }

    async fn fetch(
        &self,
        state: &mut State,
        credentials: &Credentials,
        exchange: &Exchange,
    ) -> Result<Token, Reason> {
        let outcome = async {
            let mut request = credentials.request(exchange)?;
            let mut onlooker =
                Onlooker::new(self, self.announce_because(&request, Some(Because::Token)));
            let sent = self.run.engine.transport().send_watched(&mut request, &mut onlooker).await;
            let reply = sent.map_err(|error| {
                self.announce_failure(onlooker.announced.as_deref(), &error);
                Reason::Transport(error)
            })?;
            let answer = Answer::received(&reply, &reply.uri);
            self.announce_secret(onlooker.announced.as_deref(), &answer);
            read_token(credentials, &reply)
        };
        match outcome.await {
            Ok(token) => {
                *state = State { token: Some(token.clone()), failure: None };
                Ok(token)
            }
            Err(reason) => {
                let failure = Failure {
                    reason: reason.clone(),
                    at: Instant::now(),
                    timeout: exchange.timeout,
                };
                *state = State { token: None, failure: Some(failure) };
                Err(reason)
            }
        }
    }

    fn token_failed(&self, token_uri: &str, reason: Reason) -> RunError {
        let endpoint = shown_uri(token_uri);
        let table = &self.table.name;
        let failed = match reason {
            Reason::Transport(error) => {
                let mut failed = failure::transport_failed(&error);
                if error.kind == ErrorKind::Deadline {
                    failed = self.deadline.explain(failed);
                }
                failed.message =
                    format!("no token for table {table} from {endpoint}: {}", failed.message);
                failed
            }
            Reason::Refused(reason) => {
                let message = format!("no token for table {table} from {endpoint}: {reason}");
                RunError::upstream(codes::TOKEN_REFUSED, message)
            }
        };
        failed.with(Fact::TokenUri(endpoint)).in_table(table)
    }
}

/// Until when an exchange may wait for somebody else's fetch.
fn patience_end(now: Instant, exchange: &Exchange) -> Instant {
    let idle = now + exchange.timeout;
    exchange.deadline.map_or(idle, |deadline| deadline.min(idle))
}

fn out_of_patience(exchange: &Exchange) -> TransportError {
    let is_deadline = exchange.deadline.is_some_and(|deadline| deadline <= Instant::now());
    let ms = u64::try_from(exchange.timeout.as_millis()).unwrap_or(u64::MAX);
    TransportError {
        kind: if is_deadline { ErrorKind::Deadline } else { ErrorKind::Timeout { ms } },
        uri: Box::default(),
        origin: Box::default(),
        detail: None,
        attempts: 0,
    }
}

/// The token in the answer of an endpoint (RFC 6749, 5.1).
fn read_token(credentials: &Credentials, reply: &Reply) -> Result<Token, Reason> {
    let refused = |reason: &str| Reason::Refused(reason.to_owned());
    let answer = json::decode(reply.body.clone(), &Projection::All, &DecodeLimits::default());
    if !reply.status.is_success() {
        let word = answer.map(|answer| credentials.shown_word(&answer)).unwrap_or_default();
        return Err(Reason::Refused(format!(
            "it answered with status {}{word}",
            reply.status.as_u16()
        )));
    }
    let answer = answer.map_err(|_| refused("its answer is no JSON"))?;
    let token = answer.member("access_token");
    let token = token
        .as_str()
        .filter(|token| !token.is_empty() && token.len() <= TOKEN_BYTES_MAX)
        .ok_or_else(|| {
            Reason::Refused(format!(
                "its answer has no `access_token`{}",
                credentials.shown_word(&answer)
            ))
        })?;
    let kind = answer.member("token_type");
    if kind.as_str().is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(refused("its token is of another type than `Bearer`"));
    }
    let mut header = HeaderValue::from_str(&format!("Bearer {token}"))
        .map_err(|_| refused("its token cannot be sent as a header"))?;
    header.set_sensitive(true);
    let lifetime = lifetime(&answer.member("expires_in"));
    let fetched = Instant::now();
    let good_until = fetched + lifetime - RENEWED_BEFORE.min(lifetime / 10);
    Ok(Token { header, fetched, good_until })
}

/// `expires_in` in seconds, which some endpoints send as text.
fn lifetime(expires_in: &Value) -> Duration {
    let seconds = match expires_in.scalar_text() {
        Some(text) if !text.is_empty() => text.parse::<f64>().ok(),
        _ => None,
    };
    match seconds {
        Some(seconds) if seconds >= LIFETIME_MAX.as_secs_f64() => LIFETIME_MAX,
        Some(seconds) if seconds > 0.0 => Duration::from_secs_f64(seconds),
        // An expired token serves those who have waited for it, nobody else.
        Some(_) => Duration::ZERO,
        None => LIFETIME_DEFAULT,
    }
}

/// Text as a value of a form.
fn push_encoded(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            _ => {
                // Writing into a text cannot fail.
                _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn credentials() -> Credentials {
        Credentials {
            token_uri: "https://id.test/token".to_owned(),
            client: "shop one".to_owned(),
            secret: "s/ö:".to_owned(),
            scope: Some("read write".to_owned()),
        }
    }

    fn reply(status: u16, body: &str) -> Reply {
        Reply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new().into(),
            body: body.to_owned().into(),
            uri: String::new(),
            wire_bytes: 0,
            timings: crate::transport::Timings::default(),
            attempts: 1,
            redirects: 0,
        }
    }

    fn refusal(status: u16, body: &str) -> String {
        match read_token(&credentials(), &reply(status, body)) {
            Err(Reason::Refused(reason)) => reason,
            _ => panic!("not refused"),
        }
    }

    #[test]
    fn id_secret_and_scope_are_encoded_as_in_a_form() {
        let Ok(request) = credentials().request(&Exchange::new(Method::GET, "http://h.test/"))
        else {
            panic!("no request")
        };
        let authorization = request.headers[header::AUTHORIZATION].to_str().unwrap();
        let pair = STANDARD.decode(authorization.strip_prefix("Basic ").unwrap()).unwrap();
        assert_eq!(pair, b"shop+one:s%2F%C3%B6%3A");
        assert_eq!(request.body, "grant_type=client_credentials&scope=read+write");
        assert_eq!(request.uri, "https://id.test/token");
    }

    #[test]
    fn a_lifetime_is_a_number_or_its_text_and_bounded() {
        let seconds = |text: &str| lifetime(&json::parse_str(text).unwrap()).as_secs();
        assert_eq!(seconds("3600"), 3600);
        assert_eq!(seconds("\"90\""), 90);
        assert_eq!(seconds("1e30"), LIFETIME_MAX.as_secs());
        assert_eq!(seconds("-5"), 0);
        assert_eq!(seconds("0"), 0);
        assert_eq!(seconds("\"soon\""), LIFETIME_DEFAULT.as_secs());
        assert_eq!(seconds("null"), LIFETIME_DEFAULT.as_secs());
    }

    #[test]
    fn a_token_is_renewed_before_it_expires() {
        let Ok(token) = read_token(
            &credentials(),
            &reply(200, r#"{"access_token": "t", "token_type": "bearer", "expires_in": 3600}"#),
        ) else {
            panic!("no token")
        };
        assert_eq!(token.header, "Bearer t");
        assert!(token.header.is_sensitive());
        assert_eq!(token.good_until - token.fetched, Duration::from_secs(3570));
    }

    #[test]
    fn refusals_name_the_reason_and_no_secret() {
        assert_eq!(
            refusal(401, r#"{"error": "invalid_client"}"#),
            "it answered with status 401 and `invalid_client`"
        );
        assert_eq!(refusal(401, r#"{"error": "s/ö:"}"#), "it answered with status 401");
        assert_eq!(refusal(500, "<html>"), "it answered with status 500");
        assert_eq!(refusal(200, "<html>"), "its answer is no JSON");
        assert_eq!(refusal(200, "[]"), "its answer has no `access_token`");
        assert!(refusal(200, r#"{"access_token": "a\nb"}"#).contains("header"));
        assert!(refusal(200, r#"{"access_token": "a", "token_type": "mac"}"#).contains("Bearer"));
    }
}
