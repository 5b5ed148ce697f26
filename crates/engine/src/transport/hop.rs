//! One hop: one request to one target, over a pooled or a new connection.

use std::{borrow::Cow, net::IpAddr};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use tokio::time::Instant;

use super::{
    Transport,
    allowance::Allowance,
    body::RequestBody,
    coding::{Coding, codings},
    connect::{Dialer, permitted},
    connection::{Body, Connection, Failed, Head},
    egress::denied,
    error::{ErrorKind, Fault},
    exchange::{Exchange, OwnHeader, Timings},
    frames::Tail,
    headers::Headers,
    http1, http2,
    patience::Patience,
    pool::Lease,
    redirect::{Next, next},
    settings::ProxyTarget,
    target::Target,
    watcher::Watcher,
};
use crate::trace::{CallTrace, TRACEPARENT, TRACESTATE};

/// Bodies of redirects up to this size are read to keep the connection; larger ones are cut off with it.
const REDIRECT_BODY_BYTES_MAX: usize = 16 * 1024;

/// How many connections that have ended before anything was sent a hop may come across before it fails.
const REPLACEMENTS_MAX: u32 = 2;

/// Before the pool key of connections that were opened for HTTP/2 only.
const HTTP2_ONLY: &str = "h2 ";

/// Names that HTTP/2 forbids because they concern a single connection.
const CONNECTION_HEADERS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "te", "upgrade"];

/// A hop to make.
pub(super) struct Hop<'a> {
    pub(super) transport: &'a Transport,
    pub(super) exchange: &'a Exchange,
    pub(super) target: &'a Target,
    pub(super) headers: &'a HeaderMap,
    pub(super) lines: Option<&'a http1::Lines>,
    /// The request has failed before; a connection that was idle since then may have gone with the first.
    pub(super) is_retry: bool,
    /// Its place in a trace, if there is one and the target may know it.
    pub(super) trace: Option<&'a CallTrace>,
}

/// Where a hop has led.
pub(super) enum Outcome {
    Answer(Answer),
    Redirect(Box<Redirect>),
}

/// An answer that leads on.
pub(super) struct Redirect {
    /// Where to.
    pub(super) target: Target,
    pub(super) status: StatusCode,
    pub(super) headers: Headers,
}

impl Outcome {
    /// Whether the body will be that of the reply, unchanged.
    fn is_as_it_comes(&self) -> bool {
        matches!(self, Self::Answer(answer) if answer.codings.is_empty())
    }
}

/// A response as it was on the wire.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: Headers,
    pub(super) body: Bytes,
    pub(super) codings: Vec<Coding>,
}

/// Adds the headers that are ours, once for all attempts of an exchange: copies for each attempt then
/// need no room for more.
pub(super) fn complete_headers(exchange: &mut Exchange, user_agent: &HeaderValue) {
    // What is shared is copied only if it has to change, and is complete if it was sent before. Framing is
    // ours, whatever the caller thinks of it.
    if !exchange.headers.has_lines() {
        for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
            if exchange.headers.contains_key(&name) {
                let headers = exchange.headers_mut();
                while headers.remove(&name).is_some() {}
            }
        }
        if !exchange.headers.contains_key(header::USER_AGENT) {
            exchange.headers_mut().insert(header::USER_AGENT, user_agent.clone());
        }
    }
    let usually_has_body = matches!(exchange.method, Method::POST | Method::PUT | Method::PATCH);
    if usually_has_body && exchange.body.is_empty() {
        // Without a length some servers wait for one.
        exchange.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
}

impl Hop<'_> {
    /// What rarely happens is boxed, because every exchange under way holds this future.
    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold each argument twice")]
    pub(super) fn run(
        &self,
        patience: &mut Patience<'_>,
        timings: &mut Timings,
        watcher: &mut impl Watcher,
    ) -> impl Future<Output = Result<Outcome, Fault>> {
        async move {
            let Self { transport, exchange, target, .. } = self;
            let is_host = exchange.socket.is_none();
            if is_host {
                transport.egress.judge_target(target, &exchange.guard)?;
            }
            let proxy = transport.proxies.select(target, &exchange.table);
            let proxy = proxy.as_deref().filter(|_| is_host);
            if proxy.is_some() && transport.egress.judges_behind_proxy(target, &exchange.guard) {
                Box::pin(self.vet_behind_proxy(patience)).await?;
            }
            let lease = match transport.pool.try_enter(&self.pool_key(proxy)) {
                Ok(lease) => lease,
                Err(origin) => {
                    let started = Instant::now();
                    let queued = Box::pin(patience.limit(transport.pool.queue(origin))).await;
                    let lease = queued.map_err(Fault::in_queue)??;
                    patience.touch(Instant::now());
                    timings.blocked = Some(patience.moved_at() - started);
                    lease
                }
            };
            let (mut connection, mut outcome, body) = {
                let (connection, head) = self.head(&lease, proxy, patience, timings).await?;
                let (outcome, body) = self.judge(head)?;
                (connection, outcome, body)
            };
            let is_redirect = matches!(outcome, Outcome::Redirect(_));
            let limit =
                if is_redirect { REDIRECT_BODY_BYTES_MAX } else { transport.body_bytes_max };
            if is_redirect && body.length().is_none_or(|size| size > limit as u64) {
                return Ok(outcome);
            }
            let started = patience.moved_at();
            let mut tail = exchange.grpc.map(|grpc| Box::new(Tail::new(grpc)));
            let received = if let Some(received) = connection.body_at_hand(&body, limit) {
                received
            } else {
                let is_wanted = outcome.is_as_it_comes()
                    && body.length().is_some_and(|bytes| watcher.wants_body(bytes));
                let watcher = is_wanted.then_some(watcher);
                let tail = tail.as_deref_mut();
                let memory = &transport.body_memory;
                let allowance = Allowance::new(limit, exchange.room.as_ref(), memory);
                Box::pin(receive(&mut connection, body, patience, allowance, tail, watcher)).await
            };
            let ended = patience.moved_at();
            if received.is_ok() {
                lease.origin.put_back(connection, ended);
            }
            if let Outcome::Answer(answer) = &mut outcome {
                answer.body = received?;
                timings.receive = Some(ended - started);
                if let Some(tail) = tail {
                    answer.headers.edit(|headers| tail.settle(headers));
                }
            }
            // What the body of a redirect says, or that it breaks off, does not matter any more.
            Ok(outcome)
        }
    }

    /// Sends the request and waits for the head of the response. A stale connection is replaced as long as
    /// the upstream cannot have seen the request; sending it again is a retry, and the caller's business.
    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold each argument twice")]
    fn head(
        &self,
        lease: &Lease,
        proxy: Option<&ProxyTarget>,
        patience: &mut Patience<'_>,
        timings: &mut Timings,
    ) -> impl Future<Output = Result<(Connection, Head), Fault>> {
        async move {
            let now = patience.moved_at();
            let mut pooled = if self.is_retry { None } else { self.pooled(lease, now) };
            let mut replacements = REPLACEMENTS_MAX;
            loop {
                let (mut connection, was_pooled) = match pooled.take() {
                    Some(connection) => (connection, true),
                    None => Box::pin(self.connect(lease, proxy, patience, timings)).await?,
                };
                let result = match &mut connection {
                    Connection::Own(own) => {
                        own.begin(&self.request(proxy));
                        own.head(&self.exchange.method, patience, timings).await
                    }
                    Connection::Shared(shared) => {
                        let request = self.request_http2(patience)?;
                        Box::pin(shared.head(request, patience, timings)).await
                    }
                };
                let Failed { fault, may_resend } = match result {
                    Ok(head) => return Ok((connection, head)),
                    Err(failed) => failed,
                };
                if let Connection::Shared(shared) = &connection
                    && (may_resend || !shared.is_usable())
                {
                    lease.origin.forget(shared);
                }
                if !(was_pooled && may_resend && replacements > 0) {
                    return Err(fault);
                }
                replacements -= 1;
            }
        }
    }

    /// With the head at hand: is it the answer, still without its body, or does it lead on?
    fn judge(&self, head: Head) -> Result<(Outcome, Body), Fault> {
        let Head { status, headers, body } = head;
        let Self { transport, exchange, target, .. } = self;
        // How a gRPC call has gone is known at its end.
        if exchange.grpc.is_none() {
            transport.note_success(exchange, target);
        }
        let next = if exchange.follows_redirects {
            next(&exchange.method, target, &transport.sites, status, &headers)?
        } else {
            Next::Answer
        };
        let outcome = match next {
            Next::Follow(target) => {
                Outcome::Redirect(Box::new(Redirect { target, status, headers }))
            }
            Next::Answer => Outcome::Answer(Answer {
                status,
                codings: if body.is_empty() { Vec::new() } else { codings(&headers)? },
                headers,
                body: Bytes::new(),
            }),
        };
        Ok((outcome, body))
    }

    /// Which connections may be used: those to the origin, or to its proxy.
    fn pool_key(&self, proxy: Option<&ProxyTarget>) -> Cow<'_, str> {
        let site = &self.target.site;
        if let Some(socket) = &self.exchange.socket {
            return Cow::Owned(format!("unix:{}", socket.display()));
        }
        match proxy {
            None if self.exchange.grpc.is_some() => {
                Cow::Owned(format!("{HTTP2_ONLY}{}", site.origin))
            }
            None => Cow::Borrowed(&site.origin),
            Some(proxy) => {
                let behind = if self.exchange.grpc.is_some() {
                    &format!("{HTTP2_ONLY}{}", site.origin)
                } else if site.is_https {
                    site.origin.as_str()
                } else {
                    "http"
                };
                // Who has logged in to open a tunnel goes with it.
                let login = proxy.login.as_ref().map(|login| login.authorization.as_bytes());
                let login = login.unwrap_or_default().escape_ascii();
                Cow::Owned(format!("{behind} via {login}@{}:{}", proxy.host, proxy.port))
            }
        }
    }

    /// Behind a proxy we do not see which address is used. Where that matters, the name is resolved here and
    /// its addresses are judged before the proxy is asked (SAF-41).
    async fn vet_behind_proxy(&self, patience: &mut Patience<'_>) -> Result<(), Fault> {
        let vetted = permitted(&self.transport.egress, &self.exchange.guard, self.target);
        let Err(fault) = patience.limit(vetted).await? else { return Ok(()) };
        Err(match fault.kind {
            ErrorKind::EgressDenied { .. } => fault,
            _ => Fault::new(
                denied(self.target).kind,
                "its name cannot be resolved here, so that only the proxy would know the address; set \
                 `egress.viaProxy` to `trusted` if the proxy guards",
            ),
        })
    }

    fn pooled(&self, lease: &Lease, now: Instant) -> Option<Connection> {
        lease.origin.take(self.transport.pool.idle_max(), now, |peer| self.permits(peer))
    }

    fn permits(&self, peer: Option<IpAddr>) -> bool {
        let Self { transport, exchange, target, .. } = self;
        peer.is_none_or(|peer| transport.egress.permits(target, peer, &exchange.guard))
    }

    /// A new connection, or one that all share (then the flag is set). Never an idle one: that was either
    /// looked for before, or a retry must not trust it.
    async fn connect(
        &self,
        lease: &Lease,
        proxy: Option<&ProxyTarget>,
        patience: &mut Patience<'_>,
        timings: &mut Timings,
    ) -> Result<(Connection, bool), Fault> {
        let origin = &lease.origin;
        let needs_http2 = self.exchange.grpc.is_some();
        let first = if self.target.site.is_https || needs_http2 {
            let started = Instant::now();
            let first = patience.limit(origin.first_handshake()).await?;
            *timings.blocked.get_or_insert_default() += started.elapsed();
            // While we waited, somebody may have opened a connection for all.
            if let Some(shared) = origin.share(Instant::now(), |peer| self.permits(peer)) {
                return Ok((shared, true));
            }
            first
        } else {
            None
        };
        let dialer = Dialer {
            tls: &self.transport.tls,
            egress: &self.transport.egress,
            guard: &self.exchange.guard,
            target: self.target,
            socket: self.exchange.socket.as_deref(),
            proxy,
            needs_http2,
        };
        let dialed = patience.limit(dialer.dial(timings)).await??;
        patience.touch(Instant::now());
        let connection = if dialed.is_http2 {
            let opened = http2::Connection::open(dialed.stream, dialed.peer);
            Connection::Shared(origin.admit_shared(patience.limit(opened).await??))
        } else {
            origin.admit_own();
            Connection::Own(Box::new(http1::Connection::new(dialed.stream, dialed.peer)))
        };
        drop(first);
        Ok((connection, false))
    }

    fn request<'a>(&'a self, proxy: Option<&'a ProxyTarget>) -> http1::Request<'a> {
        let Self { exchange, target, headers, lines, .. } = self;
        // Through a tunnel we speak with the target itself.
        let proxy = proxy.filter(|_| !target.site.is_https);
        let login = proxy.and_then(|proxy| proxy.login.as_ref());
        http1::Request {
            method: &exchange.method,
            target: match proxy {
                Some(_) => target.uri_text(),
                None => target.path_and_query(),
            },
            headers,
            lines: *lines,
            own_header: exchange.own_header.as_ref(),
            trace: self.trace,
            host: &target.site.host_header,
            proxy_authorization: login.map(|login| &login.authorization),
            body: &exchange.body,
        }
    }

    fn request_http2(&self, patience: &mut Patience<'_>) -> Result<Request<RequestBody>, Fault> {
        let mut headers = self.headers.clone();
        headers.remove(header::HOST);
        headers.extend(self.exchange.own_header.as_ref().and_then(OwnHeader::to_entry));
        if let Some(trace) = self.trace {
            let parent = HeaderValue::from_bytes(&trace.parent()).ok();
            headers.extend(parent.map(|parent| (TRACEPARENT, parent)));
            headers.extend(trace.state().cloned().map(|state| (TRACESTATE, state)));
        }
        for name in CONNECTION_HEADERS {
            headers.remove(name);
        }
        if self.exchange.grpc.is_some() {
            headers.insert(header::TE, HeaderValue::from_static("trailers"));
        }
        let mut request = Request::new(RequestBody::new(self.exchange.body.clone(), patience));
        *request.method_mut() = self.exchange.method.clone();
        *request.uri_mut() = self.target.absolute_form()?;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// The whole body, which counts in the memory of all from before its first byte until its last part is dropped.
async fn receive(
    connection: &mut Connection,
    body: Body,
    patience: &mut Patience<'_>,
    mut allowance: Allowance<'_>,
    tail: Option<&mut Tail>,
    watcher: Option<&mut impl Watcher>,
) -> Result<Bytes, Fault> {
    let length = body.length().unwrap_or_default();
    // Longer ones than may be are refused for that.
    allowance.expect(length.min(allowance.limit() as u64))?;
    let received = connection.body(body, patience, &mut allowance, tail, watcher).await?;
    allowance.keep(received)
}
