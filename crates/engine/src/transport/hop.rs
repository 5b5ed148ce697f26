//! One hop: one request to one target, over a pooled or a new connection.

use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header, uri::Uri};
use http_body::Body;
use hyper::body::Incoming;
use tokio::time::Instant;

use bytes::Bytes;

use super::{
    Transport,
    body::RequestBody,
    coding::{Coding, codings},
    connect::{Dialer, permitted},
    connection::{Failed, H1, H2},
    error::{ErrorKind, Fault},
    exchange::{Exchange, Guard, Timings},
    patience::Patience,
    pool::{Connection, Lease},
    redirect::{Next, next},
    settings::ProxyTarget,
    target::Target,
};

/// Bodies of redirects up to this size are read to keep the connection; larger ones are cut off with it.
const REDIRECT_BODY_BYTES_MAX: usize = 16 * 1024;

/// How many stale connections an exchange may come across before it fails.
const REPLACEMENTS_MAX: u32 = 2;

/// Names that HTTP/2 forbids because they concern a single connection.
const CONNECTION_HEADERS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "te", "upgrade"];

/// A hop to make.
pub(super) struct Hop<'a> {
    pub(super) transport: &'a Transport,
    pub(super) exchange: &'a Exchange,
    pub(super) target: &'a Target,
    pub(super) headers: &'a HeaderMap,
}

/// Where a hop has led.
pub(super) enum Outcome {
    Answer(Answer),
    Redirect(Target),
}

/// A response as it was on the wire.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) codings: Vec<Coding>,
    pub(super) timings: Timings,
}

impl Hop<'_> {
    pub(super) async fn run(&self, patience: &mut Patience) -> Result<Outcome, Fault> {
        let Self { transport, exchange, target, .. } = self;
        transport.egress.judge_target(target, &exchange.guard)?;
        let proxy = transport.proxies.select(target, &exchange.table);
        let proxy = proxy.as_deref();
        if proxy.is_some() {
            self.vet_behind_proxy(patience).await?;
        }
        let mut timings = Timings::default();
        let proxied_key;
        let key = match proxy {
            None => target.origin.as_str(),
            Some(proxy) => {
                let behind = if target.is_https { target.origin.as_str() } else { "http" };
                proxied_key = format!("{behind} via {}:{}", proxy.host, proxy.port);
                &proxied_key
            }
        };
        let (lease, blocked) = patience.limit(transport.pool.enter(key)).await??;
        timings.blocked = blocked;

        let mut pooled = self.pooled(&lease);
        let mut replacements = REPLACEMENTS_MAX;
        loop {
            let (mut connection, was_pooled) = match pooled.take() {
                Some(connection) => (connection, true),
                None => self.connect(&lease, proxy, patience, &mut timings).await?,
            };
            let result = match &mut connection {
                Connection::Own(h1) => {
                    let request = self.request(proxy.is_some(), patience)?;
                    h1.head(request, patience, &mut timings).await
                }
                Connection::Shared(h2) => {
                    let request = self.request_http2(patience)?;
                    h2.head(request, patience, &mut timings).await
                }
            };
            match result {
                Ok(response) => {
                    return self.finish(response, connection, &lease, patience, timings).await;
                }
                Err(Failed { fault, may_resend }) => {
                    if let Connection::Shared(h2) = &connection
                        && (may_resend || !h2.is_usable())
                    {
                        lease.origin.forget(h2);
                    }
                    // A stale connection is replaced, a limited number of times.
                    if !(was_pooled && may_resend && replacements > 0) {
                        return Err(fault);
                    }
                    replacements -= 1;
                }
            }
        }
    }

    /// Behind a proxy we do not see which address is used; if the name resolves here, judge what we see.
    async fn vet_behind_proxy(&self, patience: &mut Patience) -> Result<(), Fault> {
        let Guard::Restricted { .. } = self.exchange.guard else { return Ok(()) };
        let vetted = permitted(&self.transport.egress, &self.exchange.guard, self.target);
        match patience.limit(vetted).await? {
            Err(fault) if matches!(fault.kind, ErrorKind::EgressDenied { .. }) => Err(fault),
            // Unknown here: only the proxy can resolve it, and the host is on the list.
            _ => Ok(()),
        }
    }

    fn pooled(&self, lease: &Lease) -> Option<Connection> {
        let Transport { egress, pool, .. } = self.transport;
        lease.origin.take(pool.idle_max(), |peer| {
            peer.is_none_or(|peer| egress.permits(self.target, peer, &self.exchange.guard))
        })
    }

    /// A new connection, or one that somebody else has opened meanwhile (then the flag is set).
    async fn connect(
        &self,
        lease: &Lease,
        proxy: Option<&ProxyTarget>,
        patience: &mut Patience,
        timings: &mut Timings,
    ) -> Result<(Connection, bool), Fault> {
        let origin = &lease.origin;
        let first = if self.target.is_https {
            let started = Instant::now();
            let first = patience.limit(origin.first_handshake()).await?;
            *timings.blocked.get_or_insert_default() += started.elapsed();
            // While we waited, somebody may have opened a connection for all.
            if let Some(shared) = self.pooled(lease) {
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
            proxy,
        };
        let dialed = patience.limit(dialer.dial(timings)).await??;
        patience.touch(Instant::now());
        let connection = if dialed.is_http2 {
            let connection = patience.limit(H2::open(dialed.stream, dialed.peer)).await??;
            Connection::Shared(origin.admit_shared(connection))
        } else {
            origin.admit_own();
            Connection::Own(Box::new(H1::open(dialed.stream, dialed.peer).await?))
        };
        drop(first);
        Ok((connection, false))
    }

    fn request(
        &self,
        is_proxied: bool,
        patience: &Patience,
    ) -> Result<Request<RequestBody>, Fault> {
        // Through a tunnel we speak with the target itself.
        let uri = if is_proxied && !self.target.is_https {
            self.target.absolute_form()?
        } else {
            self.target.origin_form()
        };
        self.request_to(uri, patience)
    }

    fn request_http2(&self, patience: &Patience) -> Result<Request<RequestBody>, Fault> {
        let mut request = self.request_to(self.target.absolute_form()?, patience)?;
        let headers = request.headers_mut();
        headers.remove(header::HOST);
        for name in CONNECTION_HEADERS {
            headers.remove(name);
        }
        Ok(request)
    }

    fn request_to(&self, uri: Uri, patience: &Patience) -> Result<Request<RequestBody>, Fault> {
        let body = self.exchange.body.clone();
        let mut headers = self.headers.clone();
        // Framing is ours, whatever the caller thinks of it.
        while headers.remove(header::CONTENT_LENGTH).is_some() {}
        while headers.remove(header::TRANSFER_ENCODING).is_some() {}
        headers.insert(header::HOST, self.target.host_header()?);
        if !headers.contains_key(header::USER_AGENT) {
            headers.insert(header::USER_AGENT, self.transport.user_agent.clone());
        }
        if body.is_empty()
            && matches!(self.exchange.method, Method::POST | Method::PUT | Method::PATCH)
        {
            // These methods usually have a body; without a length some servers wait for one.
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let mut request = Request::new(RequestBody::new(body, patience));
        *request.method_mut() = self.exchange.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// With the head at hand: follow, or receive the rest.
    async fn finish(
        &self,
        response: Response<Incoming>,
        connection: Connection,
        lease: &Lease,
        patience: &mut Patience,
        mut timings: Timings,
    ) -> Result<Outcome, Fault> {
        self.transport.note_success(self.exchange, self.target);
        let (head, body) = response.into_parts();
        if let Next::Follow(target) =
            next(&self.exchange.method, self.target, head.status, &head.headers)?
        {
            let is_short =
                body.size_hint().upper().is_some_and(|size| size <= REDIRECT_BODY_BYTES_MAX as u64);
            if is_short {
                // What the body says, or that it breaks off, does not matter any more.
                receive_on(connection, body, lease, patience, REDIRECT_BODY_BYTES_MAX).await.ok();
            }
            return Ok(Outcome::Redirect(target));
        }
        let codings = if body.is_end_stream() { Vec::new() } else { codings(&head.headers)? };
        let started = Instant::now();
        let limit = self.transport.body_bytes_max;
        let body = receive_on(connection, body, lease, patience, limit).await?;
        timings.receive = Some(started.elapsed());
        Ok(Outcome::Answer(Answer {
            status: head.status,
            headers: head.headers,
            body,
            codings,
            timings,
        }))
    }
}

/// Receives a body and gives the connection back.
async fn receive_on(
    connection: Connection,
    body: Incoming,
    lease: &Lease,
    patience: &mut Patience,
    limit: usize,
) -> Result<Bytes, Fault> {
    match connection {
        Connection::Own(mut h1) => {
            let bytes = h1.body(body, patience, limit).await?;
            lease.origin.put_back(h1);
            Ok(bytes)
        }
        Connection::Shared(h2) => h2.body(body, patience, limit).await,
    }
}
