//! Hooks around one statement (HOK-1): what they see, when they run, what their results
//! mean. A statement on a verb without scripts never comes here.

use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use qlio_data::{Object, Text, Value, uri_template::Expansion};
use qlio_syntax::diagnostic::codes;

use super::{
    Call,
    rendering::rendered_apart,
    view::{
        TemplateNames, invalid_header, lazy_statement, to_object, visible_params, write_headers,
    },
};
use crate::{
    body::{
        escape::Escape,
        mustache::{Found, MustacheError},
    },
    error::{Fact, RunError},
    heavy::Wanted,
    run::Run,
    sandbox::{
        ArgsApart, Content, Decode, HeaderChange, Hook, HookArgs, HookResult, HookSession, Lazy,
        Parsed, Patch, Payload, Sandbox, Script, ScriptError, ScriptErrorKind, SessionApart,
    },
    scope::StatementParams,
    slice,
    transport::Headers,
    verb_scripts::{Template, VerbScripts},
};

/// About how many bytes the headers of a request or an answer take inside the interpreter.
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
        self.scripts.may_replace_answers()
    }

    pub(super) fn has_transformer(&self) -> bool {
        self.scripts.transformer.is_some()
    }

    async fn call(&self, run: &Run<'_>, args: HookArgs<'_>) -> Result<HookResult, RunError> {
        self.call_decoding(run, args, None).await
    }

    /// Calls a hook that may have the body decoded.
    async fn call_decoding(
        &self,
        run: &Run<'_>,
        args: HookArgs<'_>,
        decode: Option<Decode>,
    ) -> Result<HookResult, RunError> {
        let Some(patch) = &self.scripts.patch else {
            return Err(RunError::internal("a hook without a patch"));
        };
        let hook = args.hook();
        let script = patch.script(hook);
        let here = slice::try_here(run, script, |sandbox| {
            // Set for this call alone: others may have their turn before this one goes on elsewhere.
            sandbox.set_decoder(decode.clone());
            let outcome = self.session.call(patch, args);
            sandbox.set_decoder(None);
            outcome
        });
        let outcome = if let Some(outcome) = here? {
            outcome
        } else {
            let (given, patch) = (ArgsApart::of(&args), Patch::clone(patch));
            let call = move |session: &HookSession| given.lend(|args| session.call(&patch, args));
            Box::pin(self.apart(run, script, decode.as_ref(), call)).await?
        };
        run.budget.pause().await?;
        outcome.map_err(|error| hook_error(hook.name(), &error))
    }

    /// Calls a script of the session on a heavy thread.
    async fn apart<R: Send + 'static>(
        &self,
        run: &Run<'_>,
        script: Script<'_>,
        decode: Option<&Decode>,
        call: impl FnOnce(&HookSession) -> R + Send + 'static,
    ) -> Result<R, RunError> {
        let session = SessionApart::of(&self.session, decode);
        let called = slice::do_apart(run, script, move |sandbox, _| session.run(sandbox, call));
        let (outcome, changes) = called.await?;
        self.session.take_over(changes);
        Ok(outcome)
    }

    /// `validate param`, once per visible name.
    pub(super) async fn validate(&self, params: &StatementParams<'_>) -> Result<(), RunError> {
        if !self.has(Hook::ValidateParam) {
            return Ok(());
        }
        let mut visible = visible_params(params);
        visible.remove("config");
        match self.call(params.run, HookArgs::ValidateParam { params: &visible }).await? {
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
    pub(super) async fn patch_uris(
        &self,
        run: &Run<'_>,
        expansion: &Expansion,
    ) -> Result<Expansion, RunError> {
        let Expansion { uris, is_scatter } = expansion;
        let mut patched =
            Expansion { uris: Vec::with_capacity(uris.len()), is_scatter: *is_scatter };
        for uri in uris {
            let given = self.call(run, HookArgs::PatchUri { uri }).await?;
            if let HookResult::Uris { uris, is_list } = given {
                patched.uris.extend(uris);
                patched.is_scatter |= is_list;
            }
        }
        Ok(patched)
    }

    /// The auth module; a denial sends nothing.
    pub(super) async fn authorize(&self, call: &Call<'_>) -> Result<(), RunError> {
        let Some(auth) = &self.scripts.auth else { return Ok(()) };
        let run = call.run;
        let deadline_ms = call
            .delays
            .timeout_ms
            .unwrap_or_else(|| run.engine.settings().timeout.as_millis() as u64);
        let config = run.catalog.config();
        let here = slice::try_here(run, auth.script(), |_| {
            self.session.authorize(auth, config, deadline_ms)
        });
        let outcome = if let Some(outcome) = here? {
            outcome
        } else {
            let (script, auth, config) = (auth.script(), auth.clone(), config.clone());
            let ask = move |session: &HookSession| session.authorize(&auth, &config, deadline_ms);
            Box::pin(self.apart(run, script, None, ask)).await?
        };
        run.budget.pause().await?;
        outcome.map_err(|error| {
            let failed = RunError::gateway(codes::AUTH_DENIED, error.message.clone());
            failed.at_script(&error)
        })
    }

    /// `patch headers`.
    pub(super) async fn headers(
        &self,
        run: &Run<'_>,
        uri: &str,
        headers: HeaderMap,
    ) -> Result<HeaderMap, RunError> {
        if !self.has(Hook::PatchHeaders) {
            return Ok(headers);
        }
        let headers = Rc::new(headers);
        let shown = shown_headers(&headers);
        let given = self.call(run, HookArgs::PatchHeaders { uri, headers: &shown }).await?;
        drop(shown);
        let headers = Rc::unwrap_or_clone(headers);
        match given {
            HookResult::Headers(change) => changed(headers, change),
            _ => Ok(headers),
        }
    }

    /// `body template`: a template of the hook's own, as text.
    pub(super) async fn template(
        &self,
        run: &Run<'_>,
        uri: &str,
        headers: &mut HeaderMap,
    ) -> Result<Option<Payload>, RunError> {
        if !self.has(Hook::BodyTemplate) {
            return Ok(None);
        }
        let shown = shown_headers(&Rc::new(headers.clone()));
        self.body_hook(run, HookArgs::BodyTemplate { uri, headers: &shown }, headers).await
    }

    /// `patch body`.
    pub(super) async fn body(
        &self,
        run: &Run<'_>,
        uri: &str,
        headers: &mut HeaderMap,
        body: Payload,
    ) -> Result<Payload, RunError> {
        if !self.has(Hook::PatchBody) {
            return Ok(body);
        }
        let shown = shown_headers(&Rc::new(headers.clone()));
        let args = HookArgs::PatchBody { uri, headers: &shown, body: &body };
        let patched = self.body_hook(run, args, headers).await?;
        Ok(patched.unwrap_or(body))
    }

    async fn body_hook(
        &self,
        run: &Run<'_>,
        args: HookArgs<'_>,
        headers: &mut HeaderMap,
    ) -> Result<Option<Payload>, RunError> {
        match self.call(run, args).await? {
            HookResult::Body { payload, headers: change } => {
                *headers = changed(std::mem::take(headers), change)?;
                Ok(payload)
            }
            _ => Ok(None),
        }
    }

    /// The verb's template over `{statement, params}`.
    pub(super) async fn render(
        &self,
        params: &StatementParams<'_>,
        statement: &dyn Fn() -> Object,
    ) -> Result<String, RunError> {
        match &self.scripts.template {
            None => Ok(String::new()),
            Some(template) => self.render_template(template, params, statement).await,
        }
    }

    /// Renders a template that `body template` gave. The name of the verb's own template file, if it has
    /// one, says what kind it is.
    pub(super) async fn render_own(
        &self,
        (file, text, escape): (&str, &str, Escape),
        params: &StatementParams<'_>,
        statement: &dyn Fn() -> Object,
    ) -> Result<String, RunError> {
        let template = self
            .scripts
            .own_template(file, text, escape)
            .map_err(|error| mustache_error(&error).with(Fact::Hook(Hook::BodyTemplate.name())))?;
        self.render_template(&template, params, statement).await
    }

    async fn render_template(
        &self,
        template: &Template,
        params: &StatementParams<'_>,
        statement: &dyn Fn() -> Object,
    ) -> Result<String, RunError> {
        match template {
            Template::Ejs(template) => {
                let run = params.run;
                let script = self.session.template_script(template);
                let here = slice::try_here(run, script, |_| self.session.render(template));
                let outcome = if let Some(outcome) = here? {
                    outcome
                } else {
                    let template = template.clone();
                    let render = move |session: &HookSession| session.render(&template);
                    Box::pin(self.apart(run, script, None, render)).await?
                };
                run.budget.pause().await?;
                outcome.map_err(|error| template_error(&error))
            }
            Template::Mustache(template) => {
                let names = TemplateNames::new(params, statement);
                let rendered = match rendered_apart(template, params, &names).await? {
                    Some(rendered) => rendered,
                    None => template.render(&Found::Names(&names)),
                };
                rendered.map_err(|error| mustache_error(&error))
            }
        }
    }

    /// `compute key`.
    pub(super) async fn cache_key(
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
            headers: &shown_headers(&Rc::new(headers.clone())),
            request_id_name: &call.run.engine.settings().request_id_header,
        };
        match self.call(call.run, args).await? {
            HookResult::Key(Some(key)) => Ok(ComputedKey::Key(key)),
            _ => Ok(ComputedKey::Uncached),
        }
    }

    /// `parse response`.
    pub(super) async fn parse(
        &self,
        run: &Run<'_>,
        uri: &str,
        status: u16,
        headers: &Headers,
        body: &Bytes,
        decode: Option<Decode>,
    ) -> Result<Parsed, RunError> {
        let headers = received_headers(headers);
        let args = HookArgs::ParseResponse { uri, status, headers: &headers, body };
        match self.call_decoding(run, args, decode).await? {
            HookResult::Parsed(parsed) => Ok(parsed),
            _ => Ok(Parsed::Unchanged),
        }
    }

    /// `patch mediaType`; the text is made only if the hook looks at it.
    pub(super) async fn media_type(
        &self,
        run: &Run<'_>,
        uri: &str,
        status: u16,
        headers: &Lazy,
        text: impl FnOnce() -> Lazy,
    ) -> Result<Option<String>, RunError> {
        if !self.has(Hook::PatchMediaType) {
            return Ok(None);
        }
        let args = HookArgs::PatchMediaType { uri, status, headers, body: &text() };
        match self.call(run, args).await? {
            HookResult::MediaType(media_type) => Ok(media_type),
            _ => Ok(None),
        }
    }

    /// `patch status`.
    pub(super) async fn status(
        &self,
        run: &Run<'_>,
        uri: &str,
        status: u16,
        headers: &Lazy,
        body: impl FnOnce() -> Lazy,
    ) -> Result<u16, RunError> {
        if !self.has(Hook::PatchStatus) {
            return Ok(status);
        }
        let args = HookArgs::PatchStatus { uri, status, headers, body: &body() };
        match self.call(run, args).await? {
            HookResult::Status(Some(patched)) => Ok(u16::try_from(patched).unwrap_or(500)),
            _ => Ok(status),
        }
    }

    /// `patch response`, whatever the document is (FMT-3).
    pub(super) async fn response(
        &self,
        run: &Run<'_>,
        uri: &str,
        status: u16,
        headers: &Lazy,
        body: Value,
    ) -> Result<Value, RunError> {
        let args = HookArgs::PatchResponse { uri, status, headers, body: &Lazy::from(body) };
        match self.call(run, args).await? {
            HookResult::Response(value) => Ok(value),
            _ => Err(RunError::internal("a hook gave the result of another")),
        }
    }

    /// The custom transformer, which decodes whatever the media type.
    pub(super) async fn transform(
        &self,
        run: &Run<'_>,
        text: impl FnOnce() -> Text,
        headers: &Headers,
    ) -> Result<Option<Value>, RunError> {
        let Some(transformer) = &self.scripts.transformer else { return Ok(None) };
        let deadline_ms = run.engine.settings().timeout.as_millis() as u64;
        let (text, headers) = (text(), to_object(headers.map()));
        let here = slice::try_here(run, transformer.script(), |sandbox| {
            transformer.to_value(sandbox, &text, &headers, deadline_ms)
        });
        let outcome = if let Some(outcome) = here? {
            outcome
        } else {
            let (script, transformer) = (transformer.script(), transformer.clone());
            let decode = move |sandbox: &Sandbox, _: &Wanted| {
                transformer.to_value(sandbox, &text, &headers, deadline_ms)
            };
            Box::pin(slice::do_apart(run, script, decode)).await?
        };
        run.budget.pause().await?;
        outcome.map(Some).map_err(|error| hook_error("transformer", &error))
    }
}

/// Everything that hooks have written in a session.
pub(super) fn written(session: &HookSession) -> Vec<(Text, Value)> {
    session.overlay().iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The headers of a request, for hooks.
fn shown_headers(headers: &Rc<HeaderMap>) -> Lazy {
    let headers = Rc::clone(headers);
    Lazy::new(HEADERS_WEIGHT, move || Value::object(to_object(&headers)))
}

/// Headers after a hook.
fn changed(mut headers: HeaderMap, change: HeaderChange) -> Result<HeaderMap, RunError> {
    match change {
        HeaderChange::None => {}
        HeaderChange::Some(written) => {
            for (name, value) in written {
                let (parsed, value) = (HeaderName::try_from(&name), HeaderValue::try_from(value));
                let (Ok(parsed), Ok(value)) = (parsed, value) else {
                    return Err(invalid_header(&name));
                };
                headers.insert(parsed, value);
            }
        }
        HeaderChange::All(all) => {
            headers = HeaderMap::with_capacity(all.len());
            write_headers(&mut headers, &all)?;
        }
    }
    Ok(headers)
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
