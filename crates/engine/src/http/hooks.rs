//! Hooks around one statement (`connectors.md` 3): what they see, when they run, what their results
//! mean. A statement on a verb without scripts never comes here.

use std::rc::Rc;

use bytes::Bytes;
use http::HeaderMap;
use qlio_data::{Object, Text, Value, uri_template::Expansion};
use qlio_syntax::diagnostic::codes;

use super::{
    Call,
    scripts::{Template, VerbScripts},
    view::{TemplateNames, from_object, statement_record, to_object, visible_params},
};
use crate::{
    body::{
        escape::Escape,
        mustache::{Found, MustacheError},
    },
    error::{Fact, RunError},
    function::with_position,
    sandbox::{
        Content, Hook, HookArgs, HookResult, HookSession, Parsed, Payload, ScriptError,
        ScriptErrorKind,
    },
    scope::StatementParams,
};

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
        let lower = visible_params(&call.params(own, None));
        let statement = statement_record(call, own);
        let session = HookSession::new(call.run.engine.sandbox(), &scripts.realm, lower, statement);
        Self { scripts: Rc::clone(scripts), session }
    }

    /// The value that hooks have written under a name.
    pub(crate) fn written(&self, name: &str) -> Value {
        self.session.overlay().get(name).cloned().unwrap_or_default()
    }

    /// Everything that hooks have written, as own values of a request that goes on with it.
    pub(super) fn all_written(&self) -> Vec<(Text, Value)> {
        self.session.overlay().iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    pub(super) fn has(&self, hook: Hook) -> bool {
        self.scripts.patch.as_ref().is_some_and(|patch| patch.has(hook))
    }

    fn call(&self, args: HookArgs<'_>) -> Result<HookResult, RunError> {
        let Some(patch) = &self.scripts.patch else {
            return Err(RunError::internal("a hook without a patch"));
        };
        let hook = args.hook();
        self.session.call(patch, args).map_err(|error| hook_failed(hook.name(), &error))
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

    /// `patch uri`, once per URI. A list from it, of any length, makes the statement a scatter.
    pub(super) fn patch_uris(&self, expansion: Expansion) -> Result<Expansion, RunError> {
        if !self.has(Hook::PatchUri) {
            return Ok(expansion);
        }
        let mut patched = Expansion { uris: Vec::with_capacity(expansion.uris.len()), ..expansion };
        for uri in &expansion.uris {
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
            with_position(failed, &error)
        })
    }

    /// `patch headers`.
    pub(super) fn headers(&self, uri: &str, headers: HeaderMap) -> Result<HeaderMap, RunError> {
        if !self.has(Hook::PatchHeaders) {
            return Ok(headers);
        }
        match self.call(HookArgs::PatchHeaders { uri, headers: &to_object(&headers) })? {
            HookResult::Headers(object) => from_object(&object),
            _ => Ok(headers),
        }
    }

    /// `body template`: a template of the hook's own, as text.
    pub(super) fn template(
        &self,
        uri: &str,
        headers: &mut HeaderMap,
    ) -> Result<Option<Payload>, RunError> {
        self.body_hook(
            Hook::BodyTemplate,
            HookArgs::BodyTemplate { uri, headers: &to_object(headers) },
            headers,
        )
    }

    /// `patch body`.
    pub(super) fn body(
        &self,
        uri: &str,
        headers: &mut HeaderMap,
        body: Payload,
    ) -> Result<Payload, RunError> {
        let args = HookArgs::PatchBody { uri, headers: &to_object(headers), body: &body };
        let patched = self.body_hook(Hook::PatchBody, args, headers)?;
        Ok(patched.unwrap_or(body))
    }

    fn body_hook(
        &self,
        hook: Hook,
        args: HookArgs<'_>,
        headers: &mut HeaderMap,
    ) -> Result<Option<Payload>, RunError> {
        if !self.has(hook) {
            return Ok(None);
        }
        match self.call(args)? {
            HookResult::Body { payload, headers: changed } => {
                *headers = from_object(&changed)?;
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
            Some(template) => self.rendered(template, params, statement),
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
            .map_err(|error| mustache_failed(&error).with(Fact::Hook(Hook::BodyTemplate.name())))?;
        self.rendered(&template, params, statement)
    }

    fn rendered(
        &self,
        template: &Template,
        params: &StatementParams<'_>,
        statement: &dyn Fn() -> Object,
    ) -> Result<String, RunError> {
        match template {
            Template::Ejs(template) => {
                self.session.render(template).map_err(|error| template_failed(&error))
            }
            Template::Mustache(template) => {
                let root = TemplateNames::new(params, statement);
                template.render(Found::Names(&root)).map_err(|error| mustache_failed(&error))
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
            headers: &to_object(headers),
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
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Parsed, RunError> {
        if !self.has(Hook::ParseResponse) {
            return Ok(Parsed::Unchanged);
        }
        match self.call(HookArgs::ParseResponse {
            uri,
            status,
            headers: &to_object(headers),
            body,
        })? {
            HookResult::Parsed(parsed) => Ok(parsed),
            _ => Ok(Parsed::Unchanged),
        }
    }

    /// `patch mediaType`; the text is made only when the hook is there.
    pub(super) fn media_type(
        &self,
        uri: &str,
        status: u16,
        headers: &HeaderMap,
        text: impl FnOnce() -> Text,
    ) -> Result<Option<String>, RunError> {
        if !self.has(Hook::PatchMediaType) {
            return Ok(None);
        }
        let text = text();
        let args =
            HookArgs::PatchMediaType { uri, status, headers: &to_object(headers), body: &text };
        match self.call(args)? {
            HookResult::MediaType(media_type) => Ok(media_type),
            _ => Ok(None),
        }
    }

    /// `patch status`.
    pub(super) fn status(
        &self,
        uri: &str,
        status: u16,
        headers: &HeaderMap,
        body: &Value,
    ) -> Result<u16, RunError> {
        if !self.has(Hook::PatchStatus) {
            return Ok(status);
        }
        match self.call(HookArgs::PatchStatus {
            uri,
            status,
            headers: &to_object(headers),
            body,
        })? {
            HookResult::Status(Some(patched)) => Ok(u16::try_from(patched).unwrap_or(500)),
            _ => Ok(status),
        }
    }

    /// `patch response`, whatever the document is (C-Q52).
    pub(super) fn response(
        &self,
        uri: &str,
        status: u16,
        headers: &HeaderMap,
        body: Value,
    ) -> Result<Value, RunError> {
        if !self.has(Hook::PatchResponse) {
            return Ok(body);
        }
        match self.call(HookArgs::PatchResponse {
            uri,
            status,
            headers: &to_object(headers),
            body: &body,
        })? {
            HookResult::Response(value) => Ok(value),
            _ => Ok(body),
        }
    }

    /// The custom transformer, which decodes whatever the media type.
    pub(super) fn transform(
        &self,
        call: &Call<'_>,
        text: impl FnOnce() -> Text,
        headers: &HeaderMap,
    ) -> Option<Result<Value, RunError>> {
        let transformer = self.scripts.transformer.as_ref()?;
        let deadline_ms = call.run.engine.settings().timeout.as_millis() as u64;
        let value = transformer.to_value(
            call.run.engine.sandbox(),
            &text(),
            &to_object(headers),
            deadline_ms,
        );
        Some(value.map_err(|error| hook_failed("transformer", &error)))
    }
}

fn hook_failed(hook: &'static str, error: &ScriptError) -> RunError {
    let code = match error.kind {
        ScriptErrorKind::Time => codes::HOOK_TIME,
        ScriptErrorKind::Memory => codes::HOOK_MEMORY,
        _ => codes::HOOK_FAILED,
    };
    let failed = RunError::gateway(code, error.message.clone()).with(Fact::Hook(hook));
    with_position(failed, error)
}

fn mustache_failed(error: &MustacheError) -> RunError {
    let message = format!("body template line {}: {}", error.line, error.reason);
    RunError::gateway(codes::BAD_BODY_TEMPLATE, message)
}

fn template_failed(error: &ScriptError) -> RunError {
    let failed = RunError::gateway(codes::BAD_BODY_TEMPLATE, error.message.clone());
    with_position(failed, error)
}

/// Content of a hook as bytes.
pub(super) fn content_bytes(content: Content) -> Bytes {
    match content {
        Content::Text(text) => text.into_bytes(),
        Content::Bytes(bytes) => bytes,
    }
}
