//! From a statement's own values to requests that are ready to send (CON-23).

use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use qlio_data::{
    Text, Value, params,
    uri_template::{ExpandError, Expansion, dot_segments},
};
use qlio_syntax::{ast::VerbKind, diagnostic::codes};

use super::{
    Call,
    body::Payload,
    hooks::{ComputedKey, Hooks},
};
use crate::{
    cache::{CacheKey, KeyParts},
    error::{Fact, RunError},
    hops::HOPS,
    operator::gather::Merge,
    own::Own,
    request::Caller,
    sandbox::Hook,
    scope::StatementParams,
    transport::{Exchange, RequestHeaders},
};

/// A request of a statement that may not get as far as being sent (HOK-12).
pub(super) type Task = Result<Prepared, RunError>;

/// Why a request is not complete.
pub(super) enum Unprepared {
    /// The statement fails and sends nothing.
    Statement(RunError),
    /// This request fails; the others of the statement are sent.
    Task(RunError),
}

impl From<RunError> for Unprepared {
    fn from(error: RunError) -> Self {
        Self::Statement(error)
    }
}

/// What the requests of a statement have in common.
struct Common<'a> {
    method: Method,
    /// `None` if they may differ.
    headers: Option<RequestHeaders>,
    payload: &'a Payload,
    parts: &'a [usize],
}

/// Who fails with a request that is not complete.
fn task(prepared: Result<Prepared, Unprepared>) -> Result<Task, RunError> {
    match prepared {
        Ok(request) => Ok(Ok(request)),
        Err(Unprepared::Task(error)) => Ok(Err(error)),
        Err(Unprepared::Statement(error)) => Err(error),
    }
}

/// The method that a verb names, in any case.
pub(super) fn method(name: &str) -> Result<Method, RunError> {
    let known = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH];
    match known.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(name)) {
        Some(method) => Ok(method),
        None => Method::from_bytes(name.to_ascii_uppercase().as_bytes())
            .map_err(|_| RunError::internal("the verb has no valid method")),
    }
}

/// One request, complete.
pub(crate) struct Prepared {
    /// What is sent, but for what is known only then; spent by it.
    pub(crate) exchange: Exchange,
    /// The hooks that see the answer.
    pub(crate) hooks: Option<Rc<Hooks>>,
    /// Under which key the answer is cached; `None` does not cache.
    pub(crate) cache_key: Option<CacheKey>,
}

impl Prepared {
    /// Both ask the same of the same place, and asking changes nothing there.
    pub(crate) fn is_same_safe_request(&self, other: &Self) -> bool {
        let (one, two) = (&self.exchange, &other.exchange);
        one.method == Method::GET
            && two.method == Method::GET
            && one.uri == two.uri
            && one.headers == two.headers
            && self.hooks.is_none()
            && other.hooks.is_none()
    }
}

/// All requests of a statement, ready to be sent.
pub(super) struct Preparation {
    pub(super) tasks: Vec<Task>,
    /// How their answers become one.
    pub(super) merge: Merge,
}

impl Call<'_> {
    /// Expands the URI, headers and bodies of all requests of the statement, in the order of
    /// CON-23. A hook that concerns one request fails that request only.
    pub(super) async fn prepare(
        &self,
        own: &Own,
        payload: &Payload,
        parts: &[usize],
    ) -> Result<Preparation, RunError> {
        let hooks = self.hooks(own);
        let Expansion { uris, mut is_scatter } = match hooks.as_deref() {
            None => {
                let params = self.params(own, None);
                params.require_settings(self.verb.auth.is_none())?;
                self.verb.uri.expand(&params).map_err(|error| expand_failed(&error))?
            }
            Some(hooks) => Box::pin(self.expand_hooked_uris(own, hooks)).await?,
        };
        let each = self
            .verb
            .foreach()
            .map(|name| (name, params::lookup(&self.params(own, hooks.as_deref()), name)));
        if let Some((_, value)) = &each {
            is_scatter |= value.is_array() || value.is_nothing();
        }
        let merge = match is_scatter {
            false => Merge::Single,
            true if self.verb.is_block_merge() => Merge::Blocks,
            true => Merge::Rows,
        };
        let Some(first) = uris.first() else {
            return Ok(Preparation { tasks: Vec::new(), merge });
        };
        let method = match self.verb.grpc {
            Some(_) => Method::POST,
            None => method(&self.verb.method)?,
        };
        let mut common = Common { method, headers: None, payload, parts };
        let Some((name, value)) = each else {
            if hooks.is_none() && uris.len() > 1 {
                let mut headers = self.headers(own, None)?;
                self.seal(&mut headers);
                common.headers = Some(headers.into());
            }
            let mut tasks = Vec::with_capacity(uris.len());
            for uri in uris {
                // A future for each of many requests costs more than the request.
                tasks.push(task(if hooks.is_none() && !self.verb.has_body() {
                    self.plain_request(uri, own, &common)
                } else {
                    Box::pin(self.request(uri, own, hooks.clone(), &common)).await
                })?);
            }
            return Ok(Preparation { tasks, merge });
        };
        let elements = elements(value);
        let mut tasks = Vec::with_capacity(elements.len());
        for element in elements {
            let mut own = own.clone();
            if let Some(hooks) = &hooks {
                own.extend(hooks.all_written());
            }
            own.push((name.clone(), element));
            let hooks = self.hooks(&own);
            let request = Box::pin(self.request(first.clone(), &own, hooks, &common)).await;
            tasks.push(task(request)?);
        }
        Ok(Preparation { tasks, merge })
    }

    fn hooks(&self, own: &Own) -> Option<Rc<Hooks>> {
        self.scripts.as_ref().map(|scripts| Rc::new(Hooks::begin(self, scripts, own)))
    }

    /// The URIs of the statement, after the hooks that can refuse, change or multiply them.
    async fn expand_hooked_uris(&self, own: &Own, hooks: &Hooks) -> Result<Expansion, RunError> {
        let params = self.params(own, Some(hooks));
        hooks.validate(&params).await?;
        params.require_settings(self.verb.auth.is_none())?;
        if !hooks.has(Hook::PatchUri) {
            return self.verb.uri.expand(&params).map_err(|error| expand_failed(&error));
        }
        // The hook may take out what must not stay, and may put in what must not be there.
        let expanded = self.verb.uri.expand_unchecked(&params);
        let expanded = expanded.map_err(|error| expand_failed(&error))?;
        let patched = hooks.patch_uris(self.run, &expanded).await?;
        if patched.uris.iter().any(|uri| dot_segments(uri) > self.verb.uri.written_dots()) {
            let message =
                "`patch uri` gave a path with a segment `.` or `..`, which would lead elsewhere";
            return Err(RunError::client(codes::DOT_SEGMENT, message).with(Fact::Hook("patch uri")));
        }
        Ok(patched)
    }

    /// A request without a body, of a verb without hooks.
    fn plain_request(
        &self,
        uri: String,
        own: &Own,
        common: &Common<'_>,
    ) -> Result<Prepared, Unprepared> {
        let headers = if let Some(known) = &common.headers {
            known.clone()
        } else {
            let mut headers = self.headers(own, None)?;
            self.seal(&mut headers);
            headers.into()
        };
        let cache_key = self.cache_key_of(&uri, &headers, b"");
        let exchange = self.exchange_of(common.method.clone(), uri, headers, Bytes::new());
        Ok(Prepared { exchange, hooks: None, cache_key })
    }

    async fn request(
        &self,
        uri: String,
        own: &Own,
        hooks: Option<Rc<Hooks>>,
        common: &Common<'_>,
    ) -> Result<Prepared, Unprepared> {
        if let Some(hooks) = &hooks {
            hooks.authorize(self).await.map_err(Unprepared::Task)?;
            self.params(own, Some(hooks)).require_settings(true).map_err(Unprepared::Task)?;
        }
        let mut headers = match &common.headers {
            Some(known) => known.clone(),
            None => self.headers(own, hooks.as_deref())?.into(),
        };
        if let Some(hooks) = &hooks {
            headers = hooks.headers(self.run, &uri, headers.into_map()).await?.into();
        }
        let body = if self.verb.has_body() {
            let headers = headers.make_mut();
            self.body(&uri, own, hooks.as_deref(), common.payload, common.parts, headers).await?
        } else {
            Bytes::new()
        };
        if common.headers.is_none() {
            self.seal(headers.make_mut());
        }
        let cache_key = self.cache_key(&uri, &headers, &body, hooks.as_deref()).await;
        let cache_key = cache_key.map_err(Unprepared::Task)?;
        let exchange = self.exchange_of(common.method.clone(), uri, headers, body);
        Ok(Prepared { exchange, hooks, cache_key })
    }

    /// The key of the answer, for selects of verbs with `expires` when there is a cache. A
    /// `compute key` hook replaces the default; a falsy answer of it does not cache.
    async fn cache_key(
        &self,
        uri: &str,
        headers: &HeaderMap,
        body: &[u8],
        hooks: Option<&Hooks>,
    ) -> Result<Option<CacheKey>, RunError> {
        if !self.is_cached() {
            return Ok(None);
        }
        if let Some(hooks) = hooks {
            match hooks.cache_key(self, uri, headers, body).await? {
                ComputedKey::NoHook => {}
                ComputedKey::Uncached => return Ok(None),
                ComputedKey::Key(text) => return Ok(CacheKey::computed(&text)),
            }
        }
        Ok(Some(self.default_cache_key(uri, headers, body)))
    }

    /// The key of the answer if no hook makes one.
    pub(super) fn cache_key_of(
        &self,
        uri: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Option<CacheKey> {
        self.is_cached().then(|| self.default_cache_key(uri, headers, body))
    }

    /// Whether answers are kept. A client's table must not be answered with what a loaded table of the same name
    /// fetched, and nobody with an answer that somebody else has made up.
    fn is_cached(&self) -> bool {
        self.kind == VerbKind::Select
            && self.verb.expires_seconds.is_some()
            && self.run.request.given.is_none()
            && !self.is_untrusted()
            && self.run.engine.cache().is_some()
    }

    fn default_cache_key(&self, uri: &str, headers: &HeaderMap, body: &[u8]) -> CacheKey {
        // Whoever has asked us before, the answer is the same.
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .filter(|(name, _)| **name != HOPS)
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        CacheKey::of(&KeyParts {
            table: &self.table.name,
            method: &self.verb.method,
            uri,
            headers: &headers,
            request_id_header: &self.run.engine.settings().request_id_header,
            body,
        })
    }

    /// The parameters of this statement with these own values.
    pub(super) fn params<'p>(
        &'p self,
        own: &'p [(Text, Value)],
        hooks: Option<&'p Hooks>,
    ) -> StatementParams<'p> {
        StatementParams {
            run: self.run,
            verb: self.verb,
            own,
            hooks: hooks.map(Hooks::session),
            found: &self.found,
            is_untrusted: self.is_untrusted(),
            is_for_headers: false,
        }
    }

    /// The table was sent by a client.
    pub(super) fn is_untrusted(&self) -> bool {
        self.table.is_inline && matches!(self.run.caller, Caller::AdHoc { .. })
    }
}

/// The values of a `foreach` parameter: a scalar is a list of one, absent is none (CON-50).
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
        ExpandError::Missing { .. } => RunError::client(codes::MISSING_TOKEN, message),
        ExpandError::DotSegment { .. } => RunError::client(codes::DOT_SEGMENT, message),
        ExpandError::MultipleForks => RunError::client(codes::MULTIPLE_FORKS, message),
        ExpandError::ObjectParam { .. } => RunError::client(codes::OBJECT_PARAM, message),
        ExpandError::TooMany { .. } | ExpandError::TooLong { .. } => {
            RunError::client(codes::MAX_NESTED_REQUESTS, message)
        }
    }
}
