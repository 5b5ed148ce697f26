//! The HTTP client: one exchange with an upstream in, one complete answer or one typed error out.
//!
//! ```text
//! Exchange ─ back-off ─ [ egress guard ─ proxy ─ pool | connect ─ send ─ receive ] ─ decode ─ Reply
//!     └────── retry ──────┴──────────────── redirect ───────────────────┘
//! ```
//!
//! Promises: every wait is bounded by the exchange's idle timeout and deadline; every size by a limit of
//! [`TransportSettings`]; dropping the future of [`Transport::send`] ends the exchange, closing its HTTP/1.1
//! connection or resetting its HTTP/2 stream; nothing that identifies a user is printed in an error.
//!
//! It is built on hyper's connections with a pool of its own, rather than on a ready-made client: measured
//! on small answers, polling the connection from the request's own task costs 6 to 18 % less processor time
//! than a task per connection, and cancellation, stale connections, peer addresses and timings stay in our
//! hands. One transport per thread is meant; it is nevertheless `Send` and `Sync`.
//!
//! It knows nothing of tables, plans or values: table names are opaque keys here. It neither caches nor
//! stores cookies, and gives no meaning to statuses other than those of redirects.

mod backoff;
mod body;
mod coding;
mod connect;
mod connection;
mod egress;
mod error;
mod exchange;
mod hop;
mod patience;
mod pool;
mod proxy;
mod redirect;
mod secrets;
mod settings;
mod target;
mod tls;

use std::sync::{Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;

pub use error::{ErrorKind, TransportError};
pub use exchange::{
    ACCEPT_ENCODING, Exchange, Guard, Reply, Retry, TIMEOUT_DEFAULT, Timings, header,
};
pub use secrets::{is_sensitive_header, is_sensitive_parameter, shown_uri};
pub use settings::{
    BackoffScope, BackoffSettings, EgressSettings, ProxyTarget, SettingsError, TlsSettings,
    TransportSettings,
};

use backoff::{BackOff, Bounds};
use egress::Egress;
use error::{Fault, is_network};
use hop::{Answer, Hop, Outcome};
use patience::Patience;
use pool::Pool;
use proxy::Proxies;
use redirect::strip_credentials;
use target::Target;
use tls::Tls;

/// Attempts of an exchange that may be repeated (`connectors.md` 4.4).
const ATTEMPTS_MAX: u32 = 2;

/// An HTTP client with its connections. Must be used inside a tokio runtime, always the same one.
pub struct Transport {
    tls: Tls,
    egress: Egress,
    proxies: Proxies,
    pool: Pool,
    backoff: Mutex<BackOff>,
    backoff_scope: BackoffScope,
    user_agent: HeaderValue,
    body_bytes_max: usize,
    decoded_bytes_max: usize,
    redirects_max: u32,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}

/// How far an exchange has got: what an error report needs to know.
#[derive(Default)]
struct Course {
    target: Option<Target>,
    attempts: u32,
}

impl Transport {
    /// Checks the settings and reads the files they name. Opens no connection.
    pub fn new(settings: TransportSettings) -> Result<Self, SettingsError> {
        let user_agent = HeaderValue::try_from(settings.user_agent)
            .map_err(|cause| SettingsError { setting: "userAgent", reason: cause.to_string() })?;
        Ok(Self {
            tls: Tls::new(&settings.tls)?,
            egress: Egress::new(&settings.egress)?,
            proxies: Proxies::new(&settings.proxies),
            pool: Pool::new(
                settings.idle_connection,
                settings.connections_per_host_max,
                settings.queue_per_host_max,
            ),
            backoff: Mutex::new(BackOff::new(settings.backoff.keys_max)),
            backoff_scope: settings.backoff.scope,
            user_agent,
            body_bytes_max: settings.body_bytes_max,
            decoded_bytes_max: settings.decoded_bytes_max,
            redirects_max: settings.redirects_max,
        })
    }

    /// Makes one exchange: sends, follows redirects, retries if allowed, and decodes the body.
    ///
    /// Any status is a success here. Errors: see [`ErrorKind`].
    pub async fn send(&self, exchange: Exchange) -> Result<Reply, TransportError> {
        let mut patience = Patience::new(exchange.timeout, exchange.deadline);
        let mut course = Course::default();
        loop {
            let fault = match self.attempt(&exchange, &mut patience, &mut course).await {
                Ok(reply) => return Ok(reply),
                Err(fault) => fault,
            };
            let is_network = is_network(&fault.kind);
            if is_network && exchange.retry == Retry::Once && course.attempts < ATTEMPTS_MAX {
                patience.touch(Instant::now());
                continue;
            }
            return Err(match &course.target {
                None => fault.attach(&exchange.uri, "", course.attempts),
                Some(target) => {
                    if is_network {
                        self.note_failure(&exchange, target);
                    }
                    fault.attach(&target.uri_text(), &target.origin, course.attempts)
                }
            });
        }
    }

    /// One attempt: from the exchange's own URI through all redirects.
    async fn attempt(
        &self,
        exchange: &Exchange,
        patience: &mut Patience,
        course: &mut Course,
    ) -> Result<Reply, Fault> {
        course.target = None;
        let mut target = &*course.target.insert(Target::parse(&exchange.uri)?);
        let mut visited: Vec<String> = Vec::new();
        let mut stripped: Option<HeaderMap> = None;
        let mut is_counted = false;
        loop {
            self.ask_backoff(exchange, target)?;
            if !is_counted {
                course.attempts += 1;
                is_counted = true;
            }
            let headers = stripped.as_ref().unwrap_or(&exchange.headers);
            let hop = Hop { transport: self, exchange, target, headers };
            let next = match hop.run(patience).await? {
                Outcome::Redirect(next) => next,
                Outcome::Answer(answer) => {
                    let redirects = u32::try_from(visited.len()).unwrap_or(u32::MAX);
                    let uri = target.uri_text();
                    return self.reply(answer, uri, course.attempts, redirects).await;
                }
            };
            if visited.len() as u64 >= u64::from(self.redirects_max) {
                return Err(ErrorKind::RedirectLimit.into());
            }
            visited.push(target.uri_text());
            if visited.contains(&next.uri_text()) {
                return Err(ErrorKind::RedirectLoop.into());
            }
            if next.origin != target.origin {
                // Once dropped they stay dropped, even if a later hop leads back.
                strip_credentials(stripped.get_or_insert_with(|| exchange.headers.clone()));
            }
            target = &*course.target.insert(next);
            patience.touch(Instant::now());
        }
    }

    async fn reply(
        &self,
        answer: Answer,
        uri: String,
        attempts: u32,
        redirects: u32,
    ) -> Result<Reply, Fault> {
        let wire_bytes = answer.body.len();
        let body = if answer.codings.is_empty() {
            answer.body
        } else {
            coding::decode(answer.body, &answer.codings, self.decoded_bytes_max).await?
        };
        Ok(Reply {
            status: answer.status,
            headers: answer.headers,
            body,
            uri,
            wire_bytes,
            timings: answer.timings,
            attempts,
            redirects,
        })
    }

    fn ask_backoff(&self, exchange: &Exchange, target: &Target) -> Result<(), Fault> {
        let mut backoff = self.backoff();
        if backoff.is_empty() {
            return Ok(());
        }
        Ok(backoff.ask(&self.backoff_key(exchange, target), Instant::now())?)
    }

    fn note_success(&self, exchange: &Exchange, target: &Target) {
        let mut backoff = self.backoff();
        if !backoff.is_empty() {
            backoff.succeed(&self.backoff_key(exchange, target));
        }
    }

    fn note_failure(&self, exchange: &Exchange, target: &Target) {
        let bounds = Bounds { min: exchange.backoff_min, max: exchange.backoff_max };
        self.backoff().fail(&self.backoff_key(exchange, target), bounds, Instant::now());
    }

    fn backoff_key(&self, exchange: &Exchange, target: &Target) -> String {
        let subject = match self.backoff_scope {
            BackoffScope::Uri => &target.uri_text(),
            BackoffScope::Origin => &target.origin,
        };
        format!("{subject}:{}", exchange.table)
    }

    /// No code under this lock panics.
    fn backoff(&self) -> MutexGuard<'_, BackOff> {
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
