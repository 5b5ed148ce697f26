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
//! The pool and HTTP/1.1 are its own, HTTP/2 and TLS are libraries. Whoever makes an exchange polls its
//! connection, so that an exchange costs no task, no channel and no idle buffer, and cancellation, stale
//! connections, peer addresses and timings stay in our hands (`docs/adr/0004-upstream-transport.md`, `0011`).
//! One transport per thread is meant; it is nevertheless `Send` and `Sync`.
//!
//! It knows nothing of tables, plans or values: table names are opaque keys here. It neither caches nor
//! stores cookies, and gives no meaning to statuses other than those of redirects.

mod allowance;
mod backoff;
mod body;
mod coding;
mod collected;
mod connect;
mod connection;
mod egress;
mod error;
mod exchange;
mod frames;
mod headers;
mod hop;
mod http1;
mod http2;
mod link;
mod old_ports;
mod patience;
mod pool;
mod proxy;
mod redirect;
mod request_headers;
mod settings;
mod site;
mod target;
mod tls;
mod view;
mod watcher;

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;

pub use egress::HostPattern;
pub use error::{ErrorKind, TransportError};
pub use exchange::{
    ACCEPT_ENCODING, BACKOFF_MAX_DEFAULT, BACKOFF_MIN_DEFAULT, Exchange, Guard, OwnHeader,
    PatienceOf, Reply, Retry, TIMEOUT_DEFAULT, Timings, header,
};
pub use frames::Grpc;
pub(crate) use frames::{HEAD_BYTES as GRPC_HEAD_BYTES, STATUS as GRPC_STATUS};
pub use headers::Headers;
pub(crate) use headers::as_text;
pub(crate) use link::{Link, LinkFault, next_link};
pub use old_ports::{OldPort, OldPorts};
pub use qlio_data::credential::{is_credential_name, shown_uri};
pub use request_headers::RequestHeaders;
pub use settings::{
    BackoffScope, BackoffSettings, EgressSettings, ProxyLogin, ProxyTarget, SettingsError,
    TlsSettings, TransportSettings, ViaProxy,
};

use crate::{
    heavy::Heavy,
    meter::{Exchanged, Meter, Outcome as Met},
};
pub use allowance::{BodyMemory, Room};
use backoff::{BackOff, Bounds, Failure, Pass};
use egress::Egress;
use error::{Fault, is_network, outcome};
use hop::{Hop, Outcome, complete_headers};
use http1::Lines;
use patience::Patience;
use pool::Pool;
use proxy::Proxies;
pub(crate) use redirect::strip_credentials;
use site::Sites;
use target::Target;
pub(crate) use tls::Tls;
pub use view::{Connections, Failing, TransportView};
pub use watcher::{Turn, Watcher};

pub(crate) use coding::{AT_ONCE_BYTES_MAX, gunzip};

/// Attempts of an exchange that may be repeated (UPS-9).
const ATTEMPTS_MAX: u32 = 2;

/// An HTTP client with its connections. Must be used inside a tokio runtime, always the same one.
pub struct Transport {
    tls: Tls,
    egress: Egress,
    proxies: Proxies,
    sites: Sites,
    pool: Pool,
    backoff: Arc<Mutex<BackOff>>,
    backoff_scope: BackoffScope,
    user_agent: HeaderValue,
    body_bytes_max: usize,
    decoded_bytes_max: usize,
    redirects_max: u32,
    heavy: Heavy,
    body_memory: BodyMemory,
    meter: Option<Arc<Meter>>,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}

/// How far an exchange has got.
struct Course<'t> {
    /// Where it began.
    first: Target,
    /// Where the attempt under way was redirected to.
    detour: Option<Box<Detour>>,
    attempts: u32,
    /// The target is closed, and this is the attempt to see whether it is back.
    probe: Option<Box<Probe<'t>>>,
}

/// A probe under way (UPS-12). If nothing is told of its outcome, the next attempt is one.
struct Probe<'t> {
    transport: &'t Transport,
    key: String,
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        self.transport.backoff().give_back(&self.key);
    }
}

/// What redirects have led to.
struct Detour {
    visited: Vec<String>,
    target: Target,
    /// The headers that are still sent, if not those of the exchange.
    headers: Option<HeaderMap>,
}

impl<'t> Course<'t> {
    /// Where an exchange begins; completes what it sends there.
    fn begin(exchange: &mut Exchange, transport: &'t Transport) -> Result<Self, TransportError> {
        let first = Target::take(&mut exchange.uri, &transport.sites)
            .map_err(|fault| fault.attach(&exchange.uri, "", 0))?;
        complete_headers(exchange, &transport.user_agent);
        Ok(Self { first, detour: None, attempts: 0, probe: None })
    }

    fn target(&self) -> &Target {
        self.detour.as_ref().map_or(&self.first, |detour| &detour.target)
    }

    fn is_probe(&self, key: &str) -> bool {
        self.probe.as_ref().is_some_and(|probe| probe.key == key)
    }

    fn headers<'a>(&'a self, exchange: &'a Exchange) -> &'a HeaderMap {
        let kept = self.detour.as_ref().and_then(|detour| detour.headers.as_ref());
        kept.unwrap_or(&exchange.headers)
    }

    /// The lines of these headers, if others send the same.
    fn lines<'a>(&self, exchange: &'a Exchange) -> Option<&'a Lines> {
        let is_exchange = self.detour.as_ref().is_none_or(|detour| detour.headers.is_none());
        exchange.headers.shared_lines().filter(|_| is_exchange)
    }
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
            sites: Sites::new(settings.old_ports),
            pool: Pool::new(
                settings.idle_connection,
                settings.connections_per_host_max,
                settings.queue_per_host_max,
            ),
            backoff: Arc::new(Mutex::new(BackOff::new(settings.backoff.keys_max))),
            backoff_scope: settings.backoff.scope,
            user_agent,
            body_bytes_max: settings.body_bytes_max,
            decoded_bytes_max: settings.decoded_bytes_max,
            redirects_max: settings.redirects_max,
            heavy: settings.heavy,
            body_memory: settings.body_memory,
            meter: settings.meter,
        })
    }

    /// Makes one exchange: sends, follows redirects, retries if allowed, and decodes the body.
    ///
    /// Any status is a success here. Errors: see [`ErrorKind`].
    #[expect(clippy::manual_async_fn, reason = "it is `Send` by promise, not by chance")]
    pub fn send(
        &self,
        mut exchange: Exchange,
    ) -> impl Future<Output = Result<Reply, TransportError>> + Send {
        async move { self.send_watched(&mut exchange, &mut ()).await }
    }

    /// The same, telling how it goes on.
    ///
    /// The exchange is lent, and spent by it: a fan-out holds as many of these futures as it has
    /// requests, and all that they hold while they wait.
    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold each argument twice")]
    pub fn send_watched(
        &self,
        exchange: &mut Exchange,
        watcher: &mut impl Watcher,
    ) -> impl Future<Output = Result<Reply, TransportError>> {
        async move {
            let mut course = Course::begin(exchange, self)?;
            let exchange = &*exchange;
            let (timeout, deadline, now) = (exchange.timeout, exchange.deadline, Instant::now());
            if deadline.is_some_and(|deadline| deadline <= now) {
                let target = course.target();
                let fault = Fault::from(ErrorKind::Deadline);
                return Err(fault.attach(target.uri_text(), &target.site.origin, 0));
            }
            let timer = pin!(patience::timer(timeout, deadline, now));
            let mut patience = Patience::new(timer, timeout, deadline, now);
            let mut failure = None;
            loop {
                let before = failure.take();
                let attempt = self.attempt(exchange, &mut patience, &mut course, before, watcher);
                let fault = match attempt.await {
                    Ok(reply) => {
                        let met = Met::of_status(reply.status.as_u16());
                        self.count(exchange, &course, met, now);
                        return Ok(reply);
                    }
                    Err(fault) => fault,
                };
                let is_network = is_network(&fault.kind);
                if is_network && exchange.retry == Retry::Once && course.attempts < ATTEMPTS_MAX {
                    patience.touch(Instant::now());
                    failure = Some(Box::new(fault.kind));
                    continue;
                }
                if is_network {
                    let is_timeout = matches!(fault.kind, ErrorKind::Timeout { .. });
                    self.note_failure(exchange, &course, is_timeout);
                }
                self.count(exchange, &course, outcome(&fault.kind), now);
                let target = course.target();
                return Err(fault.attach(target.uri_text(), &target.site.origin, course.attempts));
            }
        }
    }

    /// Counts an exchange that is over. What a client's own table calls is not counted by name.
    fn count(&self, exchange: &Exchange, course: &Course<'_>, outcome: Met, began: Instant) {
        let Some(meter) = &self.meter else { return };
        meter.exchanged(&Exchanged {
            table: &exchange.table,
            origin: &course.first.site.origin,
            is_named: matches!(exchange.guard, Guard::Off),
            outcome,
            attempts: course.attempts,
            time: began.elapsed(),
        });
    }

    /// Shows connections and failing upstreams to whoever asks, on any thread.
    pub fn view(&self) -> TransportView {
        TransportView { pool: self.pool.view(), backoff: Arc::clone(&self.backoff) }
    }

    /// One attempt: from the exchange's own URI through all redirects.
    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold each argument twice")]
    fn attempt<'t>(
        &'t self,
        exchange: &Exchange,
        patience: &mut Patience<'_>,
        course: &mut Course<'t>,
        failure: Option<Box<ErrorKind>>,
        watcher: &mut impl Watcher,
    ) -> impl Future<Output = Result<Reply, Fault>> {
        async move {
            course.detour = None;
            let mut timings;
            loop {
                self.ask_backoff(exchange, course)?;
                if course.detour.is_none() {
                    course.attempts += 1;
                    watcher.on_attempt(failure.as_deref());
                }
                let is_abroad =
                    course.detour.as_ref().is_some_and(|detour| detour.headers.is_some());
                let hop = Hop {
                    trace: exchange.trace.as_ref().filter(|_| !is_abroad),
                    transport: self,
                    exchange,
                    target: course.target(),
                    headers: course.headers(exchange),
                    lines: course.lines(exchange),
                    is_retry: course.attempts > 1,
                };
                timings = Timings::default();
                let answer = match hop.run(patience, &mut timings, watcher).await? {
                    Outcome::Answer(answer) => answer,
                    Outcome::Redirect(redirect) => {
                        let hop::Redirect { target, status, headers } = *redirect;
                        self.turn(exchange, course, target)?;
                        watcher.on_redirect(&Turn {
                            status,
                            answer_headers: &headers,
                            timings,
                            uri: course.target().uri_text(),
                            headers: course.headers(exchange),
                        });
                        patience.touch(Instant::now());
                        continue;
                    }
                };
                if exchange.grpc.is_some() {
                    self.judge_call(exchange, course, &answer.headers)?;
                }
                let wire_bytes = answer.body.len();
                let body = if answer.codings.is_empty() {
                    answer.body
                } else {
                    let room = exchange.room.as_ref().map_or(usize::MAX, Room::left);
                    let limit = self.decoded_bytes_max.min(room);
                    let decoding = coding::decode(answer.body, answer.codings, limit, &self.heavy);
                    self.body_memory.keep(Box::pin(decoding).await?)?
                };
                let (uri, redirects) = match course.detour.take() {
                    None => (course.first.take_uri_text(), 0),
                    Some(mut detour) => (detour.target.take_uri_text(), detour.visited.len()),
                };
                return Ok(Reply {
                    status: answer.status,
                    headers: answer.headers,
                    body,
                    uri,
                    wire_bytes,
                    timings,
                    attempts: course.attempts,
                    redirects: u32::try_from(redirects).unwrap_or(u32::MAX),
                });
            }
        }
    }

    /// An upstream that cannot serve a gRPC call for now has failed as if it could not be reached: the
    /// call is made again if that is allowed, and else told as the upstream told it.
    fn judge_call(
        &self,
        exchange: &Exchange,
        course: &Course<'_>,
        headers: &Headers,
    ) -> Result<(), Fault> {
        if !frames::is_unavailable(headers) {
            self.note_success(exchange, course.target());
        } else if exchange.retry == Retry::Once && course.attempts < ATTEMPTS_MAX {
            return Err(Fault::network("UNAVAILABLE"));
        } else {
            self.note_failure(exchange, course, false);
        }
        Ok(())
    }

    /// Follows a redirect, if it may be followed.
    fn turn(
        &self,
        exchange: &Exchange,
        course: &mut Course<'_>,
        next: Target,
    ) -> Result<(), Fault> {
        self.egress.judge_redirect(&course.first, &next, &exchange.guard)?;
        let visited = course.detour.as_ref().map_or(&[][..], |detour| &detour.visited);
        if visited.len() as u64 >= u64::from(self.redirects_max) {
            return Err(ErrorKind::RedirectLimit.into());
        }
        let text = course.target().uri_text();
        if text == next.uri_text() || visited.iter().any(|uri| uri == next.uri_text()) {
            return Err(ErrorKind::RedirectLoop.into());
        }
        let is_abroad = next.site.origin != course.target().site.origin;
        let visited = text.to_owned();
        let detour = match &mut course.detour {
            Some(detour) => {
                detour.target = next;
                detour
            }
            none => {
                none.insert(Box::new(Detour { visited: Vec::new(), target: next, headers: None }))
            }
        };
        detour.visited.push(visited);
        if is_abroad {
            // Once dropped they stay dropped, even if a later hop leads back.
            strip_credentials(
                detour.headers.get_or_insert_with(|| HeaderMap::clone(&exchange.headers)),
            );
        }
        Ok(())
    }

    fn ask_backoff<'t>(
        &'t self,
        exchange: &Exchange,
        course: &mut Course<'t>,
    ) -> Result<(), Fault> {
        if self.backoff().is_empty() {
            return Ok(());
        }
        let key = self.backoff_key(exchange, course.target());
        if course.is_probe(&key) {
            return Ok(());
        }
        let pass = self.backoff().ask(&key, exchange.run, Instant::now())?;
        if pass == Pass::Probe {
            course.probe = Some(Box::new(Probe { transport: self, key }));
        }
        Ok(())
    }

    fn note_success(&self, exchange: &Exchange, target: &Target) {
        let mut backoff = self.backoff();
        if !backoff.is_empty() {
            backoff.succeed(&self.backoff_key(exchange, target));
        }
    }

    fn note_failure(&self, exchange: &Exchange, course: &Course<'_>, is_timeout: bool) {
        let is_clients = exchange.patience_of == PatienceOf::Client;
        let own = Bounds { min: exchange.backoff_min, max: exchange.backoff_max };
        let key = self.backoff_key(exchange, course.target());
        let failure = Failure {
            run: exchange.run,
            is_evidence: !(is_clients && is_timeout),
            is_probe: course.is_probe(&key),
            own,
            shared: if is_clients {
                Bounds { min: BACKOFF_MIN_DEFAULT, max: BACKOFF_MAX_DEFAULT }
            } else {
                own
            },
        };
        self.backoff().fail(&key, failure, Instant::now());
    }

    fn backoff_key(&self, exchange: &Exchange, target: &Target) -> String {
        let subject = match self.backoff_scope {
            BackoffScope::Uri => target.uri_text(),
            BackoffScope::Origin => target.site.origin.as_str(),
        };
        // What tables of clients do says nothing of loaded tables of the same name.
        let owner = match exchange.guard {
            Guard::Off => "",
            Guard::Restricted { .. } => "client ",
        };
        format!("{subject}:{owner}{}", exchange.table)
    }

    /// No code under this lock panics.
    fn backoff(&self) -> MutexGuard<'_, BackOff> {
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fan-out holds as many of these as it has requests. The timer is part of them.
    const FUTURE_BYTES_MAX: usize = 832;

    #[test]
    fn the_future_of_an_exchange_is_small() {
        let transport = Transport::new(TransportSettings::default()).expect("valid");
        let mut exchange = Exchange::new(http::Method::GET, "http://h.test/");
        let size = size_of_val(&transport.send_watched(&mut exchange, &mut ()));
        assert!(size <= FUTURE_BYTES_MAX, "{size} bytes");
    }
}
