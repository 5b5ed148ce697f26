//! Hooks around one statement (HOK-1): what they see, when they run, what their results
//! mean. A statement on a verb without scripts never comes here.

use std::rc::Rc;

use bytes::Bytes;
use http::HeaderMap;
use qlio_data::{Object, Text, Value, uri_template::Expansion};
use qlio_syntax::diagnostic::codes;

use super::{
    Call,
    view::{TemplateNames, from_object, lazy_statement, to_object, visible_params},
};
use crate::{
    body::{
        escape::Escape,
        mustache::{Found, MustacheError},
    },
    error::{Fact, RunError},
    sandbox::{
        Content, Hook, HookArgs, HookResult, HookSession, Lazy, Parsed, Payload, ScriptError,
        ScriptErrorKind,
    },
    scope::StatementParams,
    transport::Headers,
    verb_scripts::{Template, VerbScripts},
};

/// About how many bytes the headers of an answer take inside the interpreter.
const HEADERS_WEIGHT: usize = 16 << 10;

/// What `compute key` decided.
pub(super) enum ComputedKey {
    /// The patch has no such hook: the default key holds.
    NoHook,
    /// This exchange is not cached.
    Uncached,
    /// The key.
    Key(String),
}

/// One execution of one statement with its scripts; `params` of all its hooks is one object.
pub(crate) struct Hooks {
    scripts: Rc<VerbScripts>,
    session: HookSession,
}

impl Hooks {
    /// Starts an execution for these own values.
    pub(super) fn begin(call: &Call<'_>, scripts: &Rc<VerbScripts>, own: &[(Text, Value)]) -> Self {
        let (lower, statement) = if scripts.runs_sessions() {
            (visible_params(&call.params(own, None)), lazy_statement(call, own))
        } else {
            (Object::new(), Lazy::from(Value::Absent))
        };
        let session = HookSession::new(call.run.engine.sandbox(), &scripts.realm, lower, statement);
        Self { scripts: Rc::clone(scripts), session }
    }

    /// The session that holds what hooks have written.
    pub(super) fn session(&self) -> &HookSession {
        &self.session
    }

    /// Everything that hooks have written, as own values of a request that goes on with it.
    pub(super) fn all_written(&self) -> Vec<(Text, Value)> {
        written(&self.session)
    }

    pub(super) fn has(&self, hook: Hook) -> bool {
        self.scripts.patch.as_ref().is_some_and(|patch| patch.has(hook))
    }

    /// Some script looks at answers, or takes part in reading them.
    pub(super) fn see_answers(&self) -> bool {
        self.has(Hook::PatchStatus) || self.may_replace_answers()
    }

    /// Some script may make something else of an answer than is decoded of it.
    pub(super) fn may_replace_answers(&self) -> bool {
        let hooks = [Hook::ParseResponse, Hook::PatchMediaType, Hook::PatchResponse];
        self.has_transformer() || hooks.into_iter().any(|hook| self.has(hook))
    }

    pub(super) fn has_transformer(&self) -> bool {
        self.scripts.transformer.is_some()
    }

    fn call(&self, args: HookArgs<'_>) -> Result<HookResult, RunError> {
        let Some(patch) = &self.scripts.patch else {
            return Err(RunError::internal("a hook without a patch"));
        };
        let hook = args.hook();
        self.session.call(patch, args).map_err(|error| hook_error(hook.name(), &error))
    }

    /// `validate param`, once per visible name.
    pub(super) fn validate(&self, params: &StatementParams<'_>) -> Result<(), RunError> {
        if !self.has(Hook::ValidateParam) {
            return Ok(());
        }
        let mut visible = visible_params(params);
        visible.remove("config");
        match self.call(HookArgs::ValidateParam { params: &visible })? {
            HookResult::Refused(Some((name, value))) => {
                let text = value
                    .scalar_text()
                    .unwrap_or_else(|| qlio_data::codec::json::to_string(&value).into());
                let message = format!("Value of {name} \"{text}\" is not valid");
                Err(RunError::client(codes::PARAM_REJECTED, message))
            }
            _ => Ok(()),
        }
    }

    /// `patch uri`, which must be there, once per URI. A list from it, of any length, makes the statement a
    /// scatter.
    pub(super) fn patch_uris(&self, expansion: &Expansion) -> Result<Expansion, RunError> {
        let Expansion { uris, is_scatter } = expansion;
        let mut patched =
            Expansion { uris: Vec::with_capacity(uris.len()), is_scatter: *is_scatter };
        for uri in uris {
            if let HookResult::Uris { uris, is_list } = self.call(HookArgs::PatchUri { uri })? {
                patched.uris.extend(uris);
                patched.is_scatter |= is_list;
            }
        }
        Ok(patched)
    }

    /// The auth module; a denial sends nothing.
    pub(super) fn authorize(&self, call: &Call<'_>) -> Result<(), RunError> {
        let Some(auth) = &self.scripts.auth else { return Ok(()) };
        let deadline_ms = call
            .delays
            .timeout_ms
            .unwrap_or_else(|| call.run.engine.settings().timeout.as_millis() as u64);
        self.session.authorize(auth, call.run.catalog.config(), deadline_ms).map_err(|error| {
            let failed = RunError::gateway(codes::AUTH_DENIED, error.message.clone());
            failed.at_script(&error)
        })
    }

    /// `patch headers`.
    pub(super) fn headers(&self, uri: &str, headers: HeaderMap) -> Result<HeaderMap, RunError> {
        if !self.has(Hook::PatchHeaders) {
            return Ok(headers);
        }
        let shown = shown_headers(&headers);
        match self.call(HookArgs::PatchHeaders { uri, headers: &shown })? {
            HookResult::Headers(Some(object)) => from_object(&object),
            _ => Ok(headers),
        }
    }

    /// `body template`: a template of the hook's own, as text.
    pub(super) fn template(
        &self,
        uri: &str,
        headers: &mut HeaderMap,
    ) -> Result<Option<Payload>, RunError> {
        if !self.has(Hook::BodyTemplate) {
            return Ok(None);
        }
        let shown = shown_headers(headers);
        self.body_hook(HookArgs::BodyTemplate { uri, headers: &shown }, headers)
    }

    /// `patch body`.
    pub(super) fn body(
        &self,
        uri: &str,
        headers: &mut HeaderMap,
        body: Payload,
    ) -> Result<Payload, RunError> {
        if !self.has(Hook::PatchBody) {
            return Ok(body);
        }
        let shown = shown_headers(headers);
        let args = HookArgs::PatchBody { uri, headers: &shown, body: &body };
        let patched = self.body_hook(args, headers)?;
        Ok(patched.unwrap_or(body))
    }

    fn body_hook(
        &self,
        args: HookArgs<'_>,
        headers: &mut HeaderMap,
    ) -> Result<Option<Payload>, RunError> {
        match self.call(args)? {
            HookResult::Body { payload, headers: changed } => {
                if let Some(changed) = changed {
                    *headers = from_object(&changed)?;
                }
                Ok(payload)
            }
            _ => Ok(None),
        }
    }

    /// The verb's template over `{statement, params}`.
    pub(super) fn render(
        &self,
        params: &StatementParams<'_>,
        statement: &dyn Fn() -> Object,
    ) -> Result<String, RunError> {
        match &self.scripts.template {
            None => Ok(String::new()),
            Some(template) => self.render_template(template, params, statement),
        }
    }

    /// Renders a template that `body template` gave. The name of the verb's own template file, if it has
    /// one, says what kind it is.
    pub(super) fn render_own(
        &self,
        (file, text, escape): (&str, &str, Escape),
        params: &StatementParams<'_>,
        statement: &dyn Fn() -> Object,
    ) -> Result<String, RunError> {
        let template = self
            .scripts
            .own_template(file, text, escape)
            .map_err(|error| mustache_error(&error).with(Fact::Hook(Hook::BodyTemplate.name())))?;
        self.render_template(&template, params, statement)
    }

    fn render_template(
        &self,
        template: &Template,
        params: &StatementParams<'_>,
        statement: &dyn Fn() -> Object,
    ) -> Result<String, RunError> {
        match template {
            Template::Ejs(template) => {
                self.session.render(template).map_err(|error| template_error(&error))
            }
            Template::Mustache(template) => {
                let root = TemplateNames::new(params, statement);
                template.render(&Found::Names(&root)).map_err(|error| mustache_error(&error))
            }
        }
    }

    /// `compute key`.
    pub(super) fn cache_key(
        &self,
        call: &Call<'_>,
        uri: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<ComputedKey, RunError> {
        if !self.has(Hook::ComputeKey) {
            return Ok(ComputedKey::NoHook);
        }
        let body = String::from_utf8_lossy(body);
        let args = HookArgs::ComputeKey {
            table: &call.table.name,
            method: &call.verb.method,
            uri,
            body: (!body.is_empty()).then_some(&*body),
            headers: &shown_headers(headers),
            request_id_name: &call.run.engine.settings().request_id_header,
        };
        match self.call(args)? {
            HookResult::Key(Some(key)) => Ok(ComputedKey::Key(key)),
            _ => Ok(ComputedKey::Uncached),
        }
    }

    /// `parse response`.
    pub(super) fn parse(
        &self,
        uri: &str,
        status: u16,
        headers: &Headers,
        body: &Bytes,
    ) -> Result<Parsed, RunError> {
        let headers = received_headers(headers);
        let args = HookArgs::ParseResponse { uri, status, headers: &headers, body };
        match self.call(args)? {
            HookResult::Parsed(parsed) => Ok(parsed),
            _ => Ok(Parsed::Unchanged),
        }
    }

    /// `patch mediaType`; the text is made only if the hook looks at it.
    pub(super) fn media_type(
        &self,
        uri: &str,
        status: u16,
        headers: &Lazy,
        text: impl FnOnce() -> Lazy,
    ) -> Result<Option<String>, RunError> {
        if !self.has(Hook::PatchMediaType) {
            return Ok(None);
        }
        match self.call(HookArgs::PatchMediaType { uri, status, headers, body: &text() })? {
            HookResult::MediaType(media_type) => Ok(media_type),
            _ => Ok(None),
        }
    }

    /// `patch status`.
    pub(super) fn status(
        &self,
        uri: &str,
        status: u16,
        headers: &Lazy,
        body: impl FnOnce() -> Lazy,
    ) -> Result<u16, RunError> {
        if !self.has(Hook::PatchStatus) {
            return Ok(status);
        }
        match self.call(HookArgs::PatchStatus { uri, status, headers, body: &body() })? {
            HookResult::Status(Some(patched)) => Ok(u16::try_from(patched).unwrap_or(500)),
            _ => Ok(status),
        }
    }

    /// `patch response`, whatever the document is (FMT-3).
    pub(super) fn response(
        &self,
        uri: &str,
        status: u16,
        headers: &Lazy,
        body: Value,
    ) -> Result<Value, RunError> {
        let args = HookArgs::PatchResponse { uri, status, headers, body: &Lazy::from(body) };
        match self.call(args)? {
            HookResult::Response(value) => Ok(value),
            _ => Err(RunError::internal("a hook gave the result of another")),
        }
    }

    /// The custom transformer, which decodes whatever the media type.
    pub(super) fn transform(
        &self,
        call: &Call<'_>,
        text: impl FnOnce() -> Text,
        headers: &Headers,
    ) -> Option<Result<Value, RunError>> {
        let transformer = self.scripts.transformer.as_ref()?;
        let deadline_ms = call.run.engine.settings().timeout.as_millis() as u64;
        let value = transformer.to_value(
            call.run.engine.sandbox(),
            &text(),
            &to_object(headers.map()),
            deadline_ms,
        );
        Some(value.map_err(|error| hook_error("transformer", &error)))
    }
}

/// Everything that hooks have written in a session.
pub(super) fn written(session: &HookSession) -> Vec<(Text, Value)> {
    session.overlay().iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The headers of a request, for hooks.
fn shown_headers(headers: &HeaderMap) -> Lazy {
    Lazy::from(Value::object(to_object(headers)))
}

/// The headers of an answer, for hooks.
pub(super) fn received_headers(headers: &Headers) -> Lazy {
    let headers = headers.clone();
    Lazy::new(HEADERS_WEIGHT, move || Value::object(to_object(headers.map())))
}

fn hook_error(hook: &'static str, error: &ScriptError) -> RunError {
    let code = match error.kind {
        ScriptErrorKind::Time => codes::HOOK_TIME,
        ScriptErrorKind::Memory => codes::HOOK_MEMORY,
        _ => codes::HOOK_FAILED,
    };
    let failed = RunError::gateway(code, error.message.clone()).with(Fact::Hook(hook));
    failed.at_script(error)
}

fn mustache_error(error: &MustacheError) -> RunError {
    let message = format!("body template line {}: {}", error.line, error.reason);
    RunError::gateway(codes::BAD_BODY_TEMPLATE, message)
}

fn template_error(error: &ScriptError) -> RunError {
    let failed = RunError::gateway(codes::BAD_BODY_TEMPLATE, error.message.clone());
    failed.at_script(error)
}

/// Content of a hook as bytes.
pub(super) fn content_bytes(content: Content) -> Bytes {
    match content {
        Content::Text(text) => text.into_bytes(),
        Content::Bytes(bytes) => bytes,
    }
}
