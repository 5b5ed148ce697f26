//! The endpoints: routes, `/q`, and the metadata about tables and routes.
//!
//! In: a request of the server. Out: its response. A [`Front`] lives on each worker. It answers with an
//! [`HttpApp`], which owns that worker's engine and knows one [`Snapshot`] of catalog and settings. When
//! another snapshot is published, the next request gets another `HttpApp`; one under way keeps its own.
//!
//! Order of the endpoints (SRV-15): user routes come before the metadata endpoints and may
//! shadow them. This module decides *what* is answered; statuses and bytes are made in `respond`.

#[expect(clippy::disallowed_methods, reason = "who runs a script step by step is told times")]
mod console;
mod console_catalog;
mod console_decode;
mod console_drafts;
mod console_files;
mod conversation;
mod drawing;
mod followers;
mod front;
mod health;
mod inputs;
mod language;
mod metadata;
mod plans;
mod reload_news;
mod script;
mod script_records;
mod snapshot;

use std::{
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
};

use bytes::Bytes;
use hyper::{
    HeaderMap, Method as HttpMethod,
    body::Body,
    header::{self, HeaderName},
    http::request::Parts,
};
use qlio_data::{Object, Text, Value, codec::xml::XmlOptions};
use qlio_engine::{Caller, ClientRequest, Engine, EngineOptions, StartError, trace::TraceContext};

pub use console_drafts::Drafts;
pub use front::Front;

use super::{
    body::{self, ParsedBody},
    busy::LoadWatch,
    disclosure::MetadataScope,
    failure::Failure,
    jsonp::Callback,
    logs::RequestLog,
    meter::{Asked, Endpoint as Counted, Visit, WorkerMeter},
    negotiate, query,
    quota::Share,
    request_id,
    respond::Note,
    respond::{self, Rendition, Response},
    server::Pulse,
    websocket::Carrier,
};
use crate::{
    load::Loaded,
    pages::{self, Doors},
    routes::{Lookup, Method, MissingParameters, NotChosen, PathMatch},
};
use console_files::ConsoleFile;
use followers::Followers;
pub use inputs::visible_headers;
use metadata::Endpoint;
use plans::PlanCache;
pub use reload_news::{ReloadNews, ReloadTeller};
pub use snapshot::{AppSettings, Snapshot};

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The client's.
    pub peer: SocketAddr,
    /// Ours.
    pub local: SocketAddr,
    /// Nobody between them can read along.
    pub is_tls: bool,
}

/// A client without a connection, such as a test in the same process.
impl From<IpAddr> for Ends {
    fn from(peer: IpAddr) -> Self {
        let end = SocketAddr::new(peer, 0);
        Self { peer: end, local: end, is_tls: false }
    }
}

/// The endpoints of one worker over one snapshot.
pub struct HttpApp {
    shared: Arc<Snapshot>,
    engine: Engine,
    plans: PlanCache,
    load: LoadWatch,
    pulse: Arc<Pulse>,
    /// What operators want to know; `None` where nobody asks.
    meter: Option<Arc<WorkerMeter>>,
    xml: XmlOptions,
    /// The setting of that name, made once; `None` if it cannot be sent.
    request_id_header: Option<HeaderName>,
    /// The setting of that name, made once.
    identity_header: Option<HeaderName>,
}

/// A request whose head has been read.
struct Exchange<'r> {
    head: &'r Parts,
    peer: IpAddr,
    local: SocketAddr,
    /// Stands in the answer and goes with every request that it causes.
    request_id: Text,
    /// How much of the catalog it is told.
    metadata: MetadataScope,
    loaded: Arc<Loaded>,
    log: Option<Box<RequestLog>>,
    /// The trace that its run is part of.
    trace: Option<Arc<TraceContext>>,
    followers: Option<Box<Followers<'r>>>,
    visit: Option<Visit<'r>>,
}

impl Exchange<'_> {
    fn path(&self) -> &str {
        self.head.uri.path()
    }

    fn header(&self, name: HeaderName) -> Option<&str> {
        self.head.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The raw path and query, as errors quote it; what is neither is quoted as it is.
    fn target(&self) -> String {
        let uri = &self.head.uri;
        uri.path_and_query().map_or_else(|| uri.to_string(), ToString::to_string)
    }

    /// For operators, the request is one to this endpoint.
    fn count_as(&self, endpoint: Counted) {
        if let Some(visit) = &self.visit {
            visit.at(endpoint, &self.head.method);
        }
    }

    fn reads_body(&self) -> bool {
        self.head.method != HttpMethod::GET && self.head.method != HttpMethod::HEAD
    }
}

impl HttpApp {
    /// The endpoints over this engine, on a worker with this pulse.
    pub fn new(shared: Arc<Snapshot>, engine: Engine, pulse: Arc<Pulse>) -> Self {
        let xml = XmlOptions { coerce: engine.settings().xml_coerce, ..XmlOptions::default() };
        let (plans, load) = (PlanCache::default(), LoadWatch::new(Arc::clone(&pulse)));
        let request_id_header = respond::header_name(&shared.settings.request_id_header);
        let identity_header = shared.settings.identity_header.as_deref();
        let identity_header = identity_header.and_then(respond::header_name);
        Self {
            shared,
            engine,
            plans,
            load,
            pulse,
            meter: None,
            xml,
            request_id_header,
            identity_header,
        }
    }

    /// The engine of this worker.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The same, telling a meter of all requests.
    #[must_use]
    pub fn metered(self, meter: Option<Arc<WorkerMeter>>) -> Self {
        Self { meter, ..self }
    }

    /// The endpoints over another snapshot, on the same worker.
    ///
    /// # Errors
    /// Settings that the engine cannot use.
    fn succeed(&self, snapshot: Arc<Snapshot>) -> Result<Self, StartError> {
        let meter = self.meter.as_ref().map(|meter| Arc::clone(&meter.engine));
        let options = EngineOptions { meter, ..snapshot.engine.clone() };
        let engine = self.engine.succeed(options)?;
        if let Some(meter) = &self.meter {
            meter.attach(engine.transport_view());
        }
        Ok(Self::new(snapshot, engine, Arc::clone(&self.pulse)).metered(self.meter.clone()))
    }

    /// Answers one request.
    ///
    /// # Cancellation
    /// Dropping the future drops the run and everything it started.
    pub async fn respond<B>(&self, head: &Parts, body: B, ends: impl Into<Ends>) -> Response
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let ends = ends.into();
        let (connected, local) = (ends.peer.ip().to_canonical(), ends.local);
        let peer = self.shared.settings.forwarded.client(connected, &head.headers);
        let log = self.shared.logs.as_ref();
        let log = log.map(|logs| Box::new(RequestLog::begin(logs, head, peer)));
        let loaded = Arc::clone(&self.shared.loaded);
        let id_name = self.request_id_header.as_ref();
        let request_id = request_id::of_request(&head.headers, id_name);
        let asked = (head, Carrier::Request);
        let (trace, followers) = Followers::begin(&self.shared, asked, (ends, peer), &request_id);
        let metadata = self.shared.settings.metadata;
        let visit = self.meter.as_ref().map(|meter| meter.begin(head));
        let exchange = Exchange {
            head,
            peer,
            local,
            request_id,
            metadata,
            loaded,
            log,
            trace,
            followers,
            visit,
        };
        let mut response = {
            let mut answering = pin!(self.answer_to(&exchange, body));
            match &exchange.visit {
                None => answering.await,
                Some(visit) => {
                    let asked = Asked { head, client: peer, request_id: &exchange.request_id };
                    let answer = visit.unless_stopped(asked, answering.as_mut()).await;
                    answer.unwrap_or_else(|| {
                        visit.note_stop();
                        respond::failure(&Failure::Stopped, Rendition::default())
                    })
                }
            }
        };
        if let Some(name) = id_name
            && !response.headers().contains_key(name)
        {
            respond::add_header(&mut response, name.clone(), exchange.request_id.to_string());
        }
        if let Some(log) = exchange.log {
            log.end(response.status().as_u16());
        }
        if let Some(followers) = exchange.followers {
            followers.end(response.status().as_u16());
        }
        if let Some(visit) = exchange.visit {
            visit.end(response.status().as_u16());
        }
        response
    }

    /// Says in its header who the client is, and nothing of what it says itself.
    fn tell_identity(&self, headers: &mut HeaderMap, identity: Option<&str>) {
        let Some(name) = &self.identity_header else { return };
        headers.remove(name);
        if let Some(identity) = identity {
            headers.insert(name.clone(), respond::header_value(identity));
        }
    }

    async fn answer_to<B>(&self, exchange: &Exchange<'_>, body: B) -> Response
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let head = exchange.head;
        if let Some(asked) = self.shared.health.asked(head.uri.path()) {
            exchange.count_as(Counted::Health);
            if let Some(followers) = &exchange.followers {
                followers.at_health();
            }
            let answer = Box::pin(self.health(exchange, asked)).await;
            return answer
                .unwrap_or_else(|failure| respond::failure(&failure, Rendition::default()));
        }
        if let Err(failure) = self.shared.settings.gate.check(&head.headers) {
            return respond::failure(&failure, Rendition::default());
        }
        let (coding, note) = self.coding(exchange);
        let mut rendition = Rendition { callback: None, coding };
        let query = query::parse(head.uri.query());
        let jsonp = query.as_ref().ok().filter(|_| self.shared.settings.allows_jsonp);
        let name = jsonp.and_then(|query| query::text(query, "callback")).map(str::to_owned);
        let outcome = match name.as_deref().map(Callback::parse).transpose() {
            Ok(callback) => {
                rendition.callback = callback;
                let query =
                    query.map_err(|error| Failure::MalformedQuery { reason: error.to_string() });
                self.dispatch(exchange, query, body, rendition).await
            }
            Err(_) => Err(Failure::InvalidCallback),
        };
        let mut response = outcome.unwrap_or_else(|failure| respond::failure(&failure, rendition));
        if let Some(note) = note {
            response.extensions_mut().insert(Note(note));
        }
        response
    }

    /// The coding of the answer: none for `HEAD`, nor while the worker is late, which is noted when
    /// it begins.
    fn coding(&self, exchange: &Exchange<'_>) -> (Option<negotiate::Coding>, Option<String>) {
        let wanted = negotiate::coding(exchange.header(header::ACCEPT_ENCODING));
        if wanted.is_none() || exchange.head.method == HttpMethod::HEAD {
            return (None, None);
        }
        let (is_busy, note) = self.load.check();
        (wanted.filter(|_| !is_busy), note)
    }

    async fn dispatch<B>(
        &self,
        exchange: &Exchange<'_>,
        query: Result<Object, Failure>,
        body: B,
        rendition: Rendition<'_>,
    ) -> Result<Response, Failure>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let method = &exchange.head.method;
        let loaded = Arc::clone(&exchange.loaded);
        if method == HttpMethod::OPTIONS {
            let methods = self.methods(exchange, &loaded.matcher.methods(exchange.path()));
            return Ok(respond::options(&allow(&methods)));
        }
        let mut allowed = match loaded.matcher.find(method, exchange.path()) {
            Lookup::Found(found) => {
                return self.route(exchange, &found, query?, body, rendition).await;
            }
            Lookup::MethodNotAllowed { allow } => allow,
            Lookup::Unknown => Vec::new(),
        };
        let endpoint = self.endpoint(exchange);
        if let Some(endpoint) = endpoint
            && Method::of_request(method).is_some_and(|method| endpoint.methods().contains(&method))
        {
            exchange.count_as(match endpoint {
                Endpoint::Script
                | Endpoint::Result
                | Endpoint::ConsoleDecode
                | Endpoint::ConsoleRoutes => Counted::Script,
                Endpoint::Metadata(_)
                | Endpoint::Console(_)
                | Endpoint::ConsoleCatalog
                | Endpoint::Root
                | Endpoint::ToConsole
                | Endpoint::PageScript => Counted::Metadata,
            });
            let accept = exchange.header(header::ACCEPT);
            let wants_json = negotiate::wants_json(accept, None);
            return match endpoint {
                Endpoint::Script => self.script(exchange, query?, body, rendition).await,
                Endpoint::Result => self.kept_result(exchange, rendition).await,
                Endpoint::Console(file) => self.console_file(exchange, file, &query?).await,
                Endpoint::ConsoleCatalog => self.console_catalog(exchange, rendition).await,
                Endpoint::ConsoleDecode => {
                    Box::pin(self.console_decode(exchange, &query?, body, rendition)).await
                }
                Endpoint::ConsoleRoutes => {
                    Box::pin(self.console_draft(exchange, body, rendition)).await
                }
                Endpoint::Root if self.shared.settings.has_console => {
                    Ok(to_console(exchange, "console"))
                }
                Endpoint::Root if wants_json => {
                    Err(Failure::NotFound { method: method.to_string(), target: exchange.target() })
                }
                Endpoint::Root => {
                    let doors = self.doors(exchange);
                    Ok(respond::page(pages::root(doors), doors.follows))
                }
                Endpoint::PageScript => Ok(respond::script(pages::SCRIPT)),
                Endpoint::ToConsole => Ok(to_console(exchange, "../console")),
                Endpoint::Metadata(asked) => {
                    let doors = self.doors(exchange);
                    metadata::answer(exchange, asked, &query?, doors, rendition)
                }
            };
        }
        allowed = self.methods(exchange, &allowed);
        let (method, target) = (method.to_string(), exchange.target());
        Err(if allowed.is_empty() {
            Failure::NotFound { method, target }
        } else {
            Failure::MethodNotAllowed { method, target, allow: allow(&allowed) }
        })
    }

    /// The built-in endpoint at a path, if it is switched on.
    fn endpoint(&self, exchange: &Exchange<'_>) -> Option<Endpoint> {
        Endpoint::at(exchange.path()).filter(|endpoint| match endpoint {
            Endpoint::Script | Endpoint::Result => self.shared.settings.allows_adhoc,
            Endpoint::Console(_) | Endpoint::ConsoleCatalog | Endpoint::ToConsole => {
                self.shared.settings.has_console
            }
            Endpoint::ConsoleDecode => {
                self.shared.settings.has_console && self.shared.settings.allows_adhoc
            }
            Endpoint::ConsoleRoutes => {
                self.shared.settings.has_console && self.shared.drafts.is_some()
            }
            Endpoint::PageScript => self.shared.settings.gate.is_dev(),
            Endpoint::Root => true,
            Endpoint::Metadata(asked) => exchange.metadata >= asked.scope(),
        })
    }

    /// The methods of the routes and of the built-in endpoint at the path.
    fn methods(&self, exchange: &Exchange<'_>, routes: &[Method]) -> Vec<Method> {
        let built_in = self.endpoint(exchange).map(Endpoint::methods).unwrap_or_default();
        Method::ALL
            .into_iter()
            .filter(|method| routes.contains(method) || built_in.contains(method))
            .collect()
    }

    /// Where pages may lead to.
    fn doors(&self, exchange: &Exchange<'_>) -> Doors {
        let settings = &self.shared.settings;
        Doors {
            console: settings.has_console,
            scripts: settings.allows_adhoc,
            told: exchange.metadata,
            follows: settings.gate.is_dev(),
        }
    }

    /// A file of the console. Compressing it for the first time is for a heavy thread.
    async fn console_file(
        &self,
        exchange: &Exchange<'_>,
        file: ConsoleFile,
        query: &Object,
    ) -> Result<Response, Failure> {
        self.engine.heavy().run(move |_| file.prepare()).await?;
        let coding = negotiate::coding(exchange.header(header::ACCEPT_ENCODING));
        Ok(file.answer(&exchange.head.headers, query.get("v").is_some(), coding))
    }

    async fn route<B>(
        &self,
        exchange: &Exchange<'_>,
        found: &PathMatch<'_, '_, usize>,
        query: Object,
        body: B,
        rendition: Rendition<'_>,
    ) -> Result<Response, Failure>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let chosen = found.choose(&query).map_err(|reason| match reason {
            NotChosen::MalformedPath(_) => Failure::MalformedPath,
            NotChosen::Missing(MissingParameters(names)) => {
                Failure::NoMatchingRoute { missing: names }
            }
        })?;
        let route = &exchange.loaded.catalog.routes()[*chosen.id];
        if let Some(visit) = &exchange.visit {
            visit.at_route(self.shared.places.get(*chosen.id).copied());
        }
        if let Some(followers) = &exchange.followers {
            followers.at_route(&route.path);
        }
        // Kept as long as the run is, which has the body.
        let (parsed, _share) = self.body(exchange, body).await?;
        // Outside the query, `callback` may well be data: it wraps the answer only if it is a name.
        let mentioned =
            [chosen.scope.get("callback").cloned(), Some(parsed.value.member("callback"))];
        let mentioned = mentioned.into_iter().flatten().find(|value| !value.is_nothing());
        let callback = mentioned.as_ref().and_then(Value::as_str);
        let callback = callback.filter(|_| self.shared.settings.allows_jsonp);
        let callback = callback.and_then(|name| Callback::parse(name).ok());
        let rendition = Rendition { callback: rendition.callback.or(callback), ..rendition };
        let request = ClientRequest {
            query,
            headers: inputs::visible_headers(&exchange.head.headers),
            body: parsed.value,
            raw_body: parsed.raw,
            content_type: parsed.content_type,
            route: chosen.scope,
            remote_address: Some(exchange.peer),
            request_id: Some(exchange.request_id.clone()),
            trace: exchange.trace.clone(),
            parts: parsed.parts.into_iter().map(inputs::engine_part).collect(),
            ..ClientRequest::default()
        };
        let trace = self.trace(exchange, &request, &request.body, Caller::Route);
        Ok(self.run(exchange, &route.plan, &request, Caller::Route, trace, rendition).await)
    }

    /// The body of a request, and its share of the memory for bodies; none for the methods that have none.
    async fn body<B>(
        &self,
        exchange: &Exchange<'_>,
        body: B,
    ) -> Result<(ParsedBody, Option<Share<'_>>), Failure>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        if !exchange.reads_body() {
            return Ok((ParsedBody::empty(), None));
        }
        let coding = exchange.header(header::CONTENT_ENCODING);
        let Snapshot { settings, quotas, .. } = &*self.shared;
        let heavy = self.engine.heavy();
        let (raw, share) = body::read(body, coding, &settings.body, &quotas.bodies, heavy).await?;
        let content_type = exchange.header(header::CONTENT_TYPE);
        Ok((body::understand(content_type, raw, &self.xml, heavy).await?, Some(share)))
    }
}

/// A redirect to the console, which keeps the query. It is relative, so it stays under the prefix of a proxy.
fn to_console(exchange: &Exchange<'_>, page: &str) -> Response {
    match exchange.head.uri.query() {
        Some(query) => respond::redirect(&format!("{page}?{query}")),
        None => respond::redirect(page),
    }
}

/// Methods as `Allow` lists them.
fn allow(methods: &[Method]) -> String {
    methods.iter().map(|method| method.upper_name()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make files")]
mod tests;
