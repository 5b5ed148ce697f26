//! One execution of a statement: the bag of parameters that its hooks, its auth module and its
//! ejs template share (`connectors.md` 2.1, 2.8, 3).

use std::{
    cell::{Cell, OnceCell, Ref, RefCell},
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use qlio_data::{Object, Value};
use rquickjs::{Object as JsObject, Value as JsValue};

use super::{
    convert,
    error::{Activity, Fault, ScriptError},
    hooks::{Content, Hook, HookArgs, HookResult, Parsed, Payload},
    instance::{Entry, byte_array},
    machine::{Entered, Sandbox},
    realm::Realm,
};
use crate::body::escape::Escape;

/// A loaded patch module. Cheap to clone, shared by threads.
#[derive(Debug, Clone)]
pub struct Patch {
    realm: Realm,
    entry: Entry,
    hooks: [bool; Hook::ALL.len()],
    warnings: Vec<String>,
}

/// A loaded auth module. Cheap to clone, shared by threads.
#[derive(Debug, Clone)]
pub struct AuthModule {
    realm: Realm,
    entry: Entry,
}

/// An ejs template of a table. Compiled when it is first rendered: templates with errors exist in
/// the wild and must not keep their table from loading (`connectors.md` 2.6). One that cannot be
/// compiled is not compiled again; copies know that too.
#[derive(Debug, Clone)]
pub struct EjsTemplate {
    id: u64,
    /// Counts the templates that have had this id.
    version: u64,
    file: String,
    text: String,
    escape: Escape,
    /// Why it cannot be compiled, once that is known.
    broken: Arc<OnceLock<ScriptError>>,
}

static NEXT_TEMPLATE: AtomicU64 = AtomicU64::new(1);

impl EjsTemplate {
    /// A template with the name of its file, which errors show. `<%=` escapes for markup.
    pub fn new(file: &str, text: &str) -> Self {
        Self::escaping(file, text, Escape::Markup)
    }

    /// A template whose `<%=` escapes for the type of its body.
    pub(crate) fn escaping(file: &str, text: &str, escape: Escape) -> Self {
        Self {
            id: NEXT_TEMPLATE.fetch_add(1, Ordering::Relaxed),
            version: 0,
            file: file.to_owned(),
            text: text.to_owned(),
            escape,
            broken: Arc::default(),
        }
    }

    /// Makes a template that takes the place of this one in the interpreter.
    pub(crate) fn replace(&self, text: &str, escape: Escape) -> Self {
        Self { id: self.id, version: self.version + 1, ..Self::escaping(&self.file, text, escape) }
    }

    /// The name under which the module of EJS has the escaping. Text bodies are escaped like markup, as ever:
    /// many of them are XML that is sent as plain text.
    fn escape_name(&self) -> &'static str {
        match self.escape {
            Escape::Json => "json",
            Escape::Form => "form",
            Escape::Markup | Escape::Verbatim => "markup",
        }
    }
}

impl Patch {
    /// Loads a patch; `file` lies below the realm's root. Fails if it can't be read or throws.
    pub fn load(sandbox: &Sandbox, realm: &Realm, file: &Path) -> Result<Self, ScriptError> {
        let (entry, name) = file_entry(realm, file)?;
        let (found, others) = sandbox.load(realm, &entry, &name, |entered, exports| {
            let found: JsObject<'_> = entered.kernel.call("describeExports", (exports,))?;
            let hooks: Vec<String> = found.get("hooks")?;
            let others: Vec<String> = found.get("others")?;
            Ok((hooks, others))
        })?;
        let warnings = others
            .iter()
            .map(|export| match export.as_str() {
                "udf" => format!("the hook `udf` of patch `{name}` is no longer called"),
                other => format!("the export `{other}` of patch `{name}` is no hook"),
            })
            .collect();
        let hooks = Hook::ALL.map(|hook| found.iter().any(|name| name == hook.name()));
        Ok(Self { realm: realm.clone(), entry, hooks, warnings })
    }

    /// The realm it was loaded into; sessions that call it are of this realm.
    pub fn realm(&self) -> &Realm {
        &self.realm
    }

    /// Whether the patch exports this hook.
    pub fn has(&self, hook: Hook) -> bool {
        self.hooks.get(hook as usize).copied().unwrap_or(false)
    }

    /// The hooks that it exports.
    pub fn hooks(&self) -> Vec<Hook> {
        Hook::ALL.into_iter().filter(|hook| self.has(*hook)).collect()
    }

    /// One line for every export that is no hook.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl AuthModule {
    /// Loads an auth module; `file` lies below the realm's root.
    pub fn load(sandbox: &Sandbox, realm: &Realm, file: &Path) -> Result<Self, ScriptError> {
        let (entry, name) = file_entry(realm, file)?;
        sandbox.load(realm, &entry, &name, |_, _| Ok(()))?;
        Ok(Self { realm: realm.clone(), entry })
    }

    /// The realm it was loaded into; sessions that ask it are of this realm.
    pub fn realm(&self) -> &Realm {
        &self.realm
    }
}

/// The entry of a file below the realm's root, with the name that errors show.
pub(super) fn file_entry(realm: &Realm, file: &Path) -> Result<(Entry, String), ScriptError> {
    let Some(path) = realm.entry(file) else {
        let name = file.to_string_lossy();
        let message = realm.files().missing_module("/", &name);
        return Err(ScriptError::new(super::ScriptErrorKind::NotFound, &name, message));
    };
    let name = path.trim_start_matches('/').to_owned();
    Ok((Entry::File(path), name))
}

/// One execution of one statement in one realm. Scripts see the same `params` object in every call;
/// names written into it are the overlay. Dropping the session frees it.
pub struct HookSession {
    sandbox: Sandbox,
    realm: Realm,
    id: u64,
    lower: Value,
    statement: Value,
    held: Cell<usize>,
    is_begun: OnceCell<()>,
    /// The instance in which it is open; 0 before it is in any.
    opened_in: Cell<u64>,
    /// What scripts had written into `params` when the last call ended.
    written: RefCell<Object>,
}

impl Drop for HookSession {
    fn drop(&mut self) {
        self.sandbox.close_session(self.realm.id(), self.id, self.held.get());
    }
}

impl HookSession {
    /// Starts an execution. `lower` holds the layers below the overlay, flattened, absent members
    /// left out; `statement` is the record that hooks see as `args.statement` and as `this`. Nothing
    /// is made in the interpreter before the first call.
    pub fn new(sandbox: &Sandbox, realm: &Realm, lower: Object, statement: Object) -> Self {
        Self {
            sandbox: sandbox.clone(),
            realm: realm.clone(),
            id: sandbox.next_session(),
            lower: Value::object(lower),
            statement: Value::object(statement),
            held: Cell::new(0),
            is_begun: OnceCell::new(),
            opened_in: Cell::new(0),
            written: RefCell::default(),
        }
    }

    /// Calls a hook that the patch has; the patch must be of the session's realm.
    pub fn call(&self, patch: &Patch, args: HookArgs<'_>) -> Result<HookResult, ScriptError> {
        let hook = args.hook();
        let activity = Activity { subject: "Hook", name: hook.name(), is_load: false };
        self.enter(&patch.entry, hook.name(), activity, weight(&args), |entered| {
            let exports = entered.instance.load(entered.ctx, &patch.entry)?;
            let result = if let HookArgs::ValidateParam { params } = args {
                validate(entered, self.js_id(), exports, params)?
            } else {
                let (given, bytes) = given(entered, &args)?;
                let is_async = entered.limits.hooks_async;
                let arguments = (self.js_id(), exports, hook.name(), given, bytes, is_async);
                let first: JsValue<'_> = entered.kernel.call("callHook", arguments)?;
                let silence = "the hook did not answer";
                let result = entered.drive(first, entered.limits.time_ms, silence)?;
                read_result(entered, hook, &result)?
            };
            self.note_written(entered)?;
            Ok(result)
        })
    }

    /// Asks the auth module; `Ok` permits. A denial, an exception and silence are errors
    /// (`connectors.md` 2.8). `deadline_ms` bounds the module's timers.
    pub fn authorize(
        &self,
        auth: &AuthModule,
        config: &Value,
        deadline_ms: u64,
    ) -> Result<(), ScriptError> {
        let activity = Activity { subject: "Auth module", name: "", is_load: false };
        self.enter(&auth.entry, "auth", activity, convert::weight(config), |entered| {
            let exports = entered.instance.load(entered.ctx, &auth.entry)?;
            let config = entered.to_js(config)?;
            let first: JsValue<'_> =
                entered.kernel.call("callAuth", (self.js_id(), exports, config))?;
            entered.drive(first, deadline_ms, "Auth module did not answer")?;
            self.note_written(entered)
        })
    }

    /// Renders a template over `statement` and `params`.
    pub fn render(&self, template: &EjsTemplate) -> Result<String, ScriptError> {
        let activity = Activity { subject: "Template", name: &template.file, is_load: false };
        if let Some(error) = template.broken.get() {
            return Err(error.clone());
        }
        let bytes_max = self.sandbox.limits().template_bytes;
        if template.text.len() > bytes_max {
            let message = format!("Template {} is longer than {bytes_max} bytes", template.file);
            let kind = super::ScriptErrorKind::Load;
            return Err(ScriptError::new(kind, &template.file, message));
        }
        let is_compiled = Cell::new(false);
        let rendered = self.enter_open(activity, 0, |entered| {
            let file = &template.file;
            let id = (template.id, template.version);
            let escape = template.escape_name();
            entered.instance.load_template(entered.ctx, id, &template.text, file, escape)?;
            is_compiled.set(true);
            #[expect(clippy::cast_precision_loss, reason = "ids count templates")]
            let id = template.id as f64;
            let text: JsValue<'_> = entered.kernel.call("renderTemplate", (id, self.js_id()))?;
            match text.as_string() {
                Some(text) => Ok(convert::string_text(entered.ctx, text)?),
                None => Err(Fault::result("the template did not give text")),
            }
        });
        if let Err(error) = &rendered
            && !is_compiled.get()
            && !error.is_limit()
        {
            // Whoever was first has the same reason.
            let _ = template.broken.set(error.clone());
        }
        rendered
    }

    /// What hooks and the auth module had written into `params` at the end of the last call that did
    /// not fail.
    pub fn overlay(&self) -> Ref<'_, Object> {
        self.written.borrow()
    }

    /// Takes down what scripts have written, in the same visit to the interpreter. Jobs that are left
    /// over may still write.
    fn note_written(&self, entered: &Entered<'_, '_>) -> Result<(), Fault> {
        entered.run_jobs()?;
        let overlay: JsValue<'_> = entered.kernel.call("overlayOf", (self.js_id(),))?;
        *self.written.borrow_mut() = match entered.to_value(&overlay)? {
            Value::Object(overlay) => Arc::unwrap_or_clone(overlay),
            _ => Object::new(),
        };
        Ok(())
    }

    /// Ids count up from 1 and stay far below the precision of a float.
    #[expect(clippy::cast_precision_loss, reason = "see above")]
    fn js_id(&self) -> f64 {
        self.id as f64
    }

    /// Enters for a function of a module, with the module loaded under its own time, and the session
    /// open.
    fn enter<R>(
        &self,
        entry: &Entry,
        function: &str,
        activity: Activity<'_>,
        weight: usize,
        work: impl FnOnce(&Entered<'_, '_>) -> Result<R, Fault>,
    ) -> Result<R, ScriptError> {
        if !self.sandbox.is_loaded(&self.realm, entry) {
            self.sandbox.load(&self.realm, entry, activity.name, |_, _| Ok(()))?;
        }
        let outcome = self.enter_open(activity, weight, work);
        outcome.map_err(|error| self.sandbox.placed(&self.realm, entry, function, error))
    }

    fn enter_open<R>(
        &self,
        activity: Activity<'_>,
        weight: usize,
        work: impl FnOnce(&Entered<'_, '_>) -> Result<R, Fault>,
    ) -> Result<R, ScriptError> {
        if self.is_begun.set(()).is_ok() {
            let held = convert::weight(&self.lower) + convert::weight(&self.statement);
            self.held.set(held);
            self.sandbox.hold(held);
        }
        let rescued = self.sandbox.take_rescued(self.id);
        self.sandbox.enter(&self.realm, activity, weight, |entered| {
            if self.opened_in.get() != entered.instance.serial() {
                let lower = entered.to_js(&self.lower)?;
                let statement = entered.to_js(&self.statement)?;
                let overlay = match &rescued {
                    Some(overlay) => entered.object_to_js(overlay)?,
                    None => JsValue::new_undefined(entered.ctx.clone()),
                };
                entered
                    .kernel
                    .call::<_, ()>("openSession", (self.js_id(), lower, statement, overlay))?;
                self.opened_in.set(entered.instance.serial());
            }
            work(entered)
        })
    }
}

fn validate<'js>(
    entered: &Entered<'_, 'js>,
    session: f64,
    exports: JsValue<'js>,
    params: &Object,
) -> Result<HookResult, Fault> {
    let names: Value = params.iter().map(|(name, _)| Value::String(name.clone())).collect();
    let values: Value = params.iter().map(|(_, value)| value.clone()).collect();
    let (names, values) = (entered.to_js(&names)?, entered.to_js(&values)?);
    let count = params.len();
    let refused: i32 =
        entered.kernel.call("validate", (session, exports, names, values, 0, count))?;
    let refused = usize::try_from(refused).ok().and_then(|at| params.at(at));
    Ok(HookResult::Refused(refused.map(|(name, value)| (name.clone(), value.clone()))))
}

/// The members of `args` that come from the host, and the bytes of a response.
fn given<'js>(
    entered: &Entered<'_, 'js>,
    args: &HookArgs<'_>,
) -> Result<(JsObject<'js>, JsValue<'js>), Fault> {
    let given = JsObject::new(entered.ctx.clone())?;
    let mut bytes = JsValue::new_undefined(entered.ctx.clone());
    match *args {
        HookArgs::ValidateParam { .. } => {}
        HookArgs::PatchUri { uri } => given.set("uri", uri)?,
        HookArgs::PatchHeaders { uri, headers } | HookArgs::BodyTemplate { uri, headers } => {
            given.set("uri", uri)?;
            given.set("headers", entered.object_to_js(headers)?)?;
        }
        HookArgs::PatchBody { uri, headers, body } => {
            given.set("uri", uri)?;
            given.set("body", payload_to_js(entered, body)?)?;
            given.set("headers", entered.object_to_js(headers)?)?;
        }
        HookArgs::ComputeKey { table, method, uri, body, headers, request_id_name } => {
            given.set("table", table)?;
            given.set("method", method)?;
            given.set("uri", uri)?;
            given.set("body", body)?;
            given.set("headers", entered.object_to_js(headers)?)?;
            given.set("reqIdName", request_id_name)?;
        }
        HookArgs::ParseResponse { uri, status, headers, body } => {
            given.set("uri", uri)?;
            given.set("status", status)?;
            given.set("headers", entered.object_to_js(headers)?)?;
            bytes = byte_array(entered.ctx, body)?;
        }
        HookArgs::PatchMediaType { uri, status, headers, body } => {
            given.set("uri", uri)?;
            given.set("status", status)?;
            given.set("headers", entered.object_to_js(headers)?)?;
            given.set("body", body)?;
        }
        HookArgs::PatchStatus { uri, status, headers, body }
        | HookArgs::PatchResponse { uri, status, headers, body } => {
            given.set("uri", uri)?;
            given.set("status", status)?;
            given.set("headers", entered.object_to_js(headers)?)?;
            given.set("body", entered.to_js(body)?)?;
        }
    }
    Ok((given, bytes))
}

fn payload_to_js<'js>(
    entered: &Entered<'_, 'js>,
    payload: &Payload,
) -> Result<JsObject<'js>, Fault> {
    let object = JsObject::new(entered.ctx.clone())?;
    match &payload.content {
        Some(Content::Text(text)) => object.set("content", text.as_str())?,
        Some(Content::Bytes(bytes)) => {
            let bytes = byte_array(entered.ctx, bytes)?;
            let buffer: JsValue<'js> = entered.kernel.call("bufferOf", (bytes,))?;
            object.set("content", buffer)?;
        }
        None => {}
    }
    object.set("type", payload.media_type.as_deref())?;
    Ok(object)
}

fn read_result<'js>(
    entered: &Entered<'_, 'js>,
    hook: Hook,
    result: &JsValue<'js>,
) -> Result<HookResult, Fault> {
    Ok(match hook {
        // Answered before.
        Hook::ValidateParam => HookResult::Refused(None),
        Hook::PatchUri => {
            let text = |uri: &Value| uri.as_str().map(str::to_owned);
            let (uris, is_list) = match entered.to_value(result)? {
                Value::Absent => (Vec::new(), false),
                Value::Array(uris) => (uris.iter().filter_map(text).collect(), true),
                uri => (text(&uri).into_iter().collect(), false),
            };
            HookResult::Uris { uris, is_list }
        }
        Hook::PatchHeaders => HookResult::Headers(headers_of(entered, result)?),
        Hook::BodyTemplate | Hook::PatchBody => {
            let Some(object) = result.as_object() else {
                return Err(Fault::result("the hook must return an object"));
            };
            let headers: JsValue<'js> = object.get("headers")?;
            let payload: JsValue<'js> = object.get("payload")?;
            HookResult::Body {
                payload: payload_of(entered, &payload)?.map(|(payload, _)| payload),
                headers: headers_of(entered, &headers)?,
            }
        }
        Hook::ComputeKey => HookResult::Key(text_of(entered, result)?),
        Hook::ParseResponse => HookResult::Parsed(match payload_of(entered, result)? {
            None => Parsed::Unchanged,
            Some((_, Some(value))) => Parsed::Value(value),
            Some((Payload { content: None, .. }, None)) => {
                return Err(Fault::result("parse response must return content or a value"));
            }
            Some((Payload { content: Some(content), media_type }, None)) => {
                Parsed::Content { content, media_type }
            }
        }),
        Hook::PatchMediaType => HookResult::MediaType(text_of(entered, result)?),
        Hook::PatchStatus => HookResult::Status(match result.as_number() {
            None => None,
            Some(status) if status.is_finite() => {
                #[expect(clippy::cast_possible_truncation, reason = "a status is a small number")]
                let status = status as i64;
                Some(status)
            }
            Some(_) => return Err(Fault::result("patch status must return a number")),
        }),
        Hook::PatchResponse => HookResult::Response(entered.to_value(result)?),
    })
}

fn text_of<'js>(entered: &Entered<'_, 'js>, value: &JsValue<'js>) -> Result<Option<String>, Fault> {
    match value.as_string() {
        Some(text) => Ok(Some(convert::string_text(entered.ctx, text)?)),
        None => Ok(None),
    }
}

/// Headers with text values; members without a value are left out.
fn headers_of<'js>(entered: &Entered<'_, 'js>, headers: &JsValue<'js>) -> Result<Object, Fault> {
    let Value::Object(members) = entered.to_value(headers)? else {
        return Err(Fault::result("the headers must be an object"));
    };
    let mut headers = Object::with_capacity(members.len());
    for (name, value) in members.iter() {
        let value = match value {
            Value::Array(list) => list
                .iter()
                .filter_map(|item| item.scalar_text().map(Value::String))
                .collect::<Value>(),
            other => match other.scalar_text() {
                Some(text) => Value::String(text),
                None => continue,
            },
        };
        headers.insert(name.clone(), value);
    }
    Ok(headers)
}

/// The payload, and the value of `{value: …}`.
fn payload_of<'js>(
    entered: &Entered<'_, 'js>,
    payload: &JsValue<'js>,
) -> Result<Option<(Payload, Option<Value>)>, Fault> {
    let Some(object) = payload.as_object() else { return Ok(None) };
    let content: JsValue<'js> = object.get("content")?;
    let content = match (content.as_string(), content.as_object()) {
        (Some(text), _) => Some(Content::Text(convert::string_text(entered.ctx, text)?.into())),
        (None, Some(bytes)) => {
            let base64: String = bytes.get("base64")?;
            let bytes = STANDARD.decode(base64).map_err(|_| Fault::result("unreadable bytes"))?;
            Some(Content::Bytes(Bytes::from(bytes)))
        }
        (None, None) => None,
    };
    let media_type: JsValue<'js> = object.get("type")?;
    let media_type = text_of(entered, &media_type)?.map(Into::into);
    let value: JsValue<'js> = object.get("value")?;
    let value = match value.as_object() {
        Some(wrapped) => {
            let value: JsValue<'js> = wrapped.get("is")?;
            Some(entered.to_value(&value)?)
        }
        None => None,
    };
    Ok(Some((Payload { content, media_type }, value)))
}

/// About how many bytes the arguments take inside the interpreter.
fn weight(args: &HookArgs<'_>) -> usize {
    match *args {
        HookArgs::ValidateParam { params } => {
            params.iter().map(|(name, value)| name.len() + convert::weight(value)).sum()
        }
        // The bytes, and room to make text of them in two steps.
        HookArgs::ParseResponse { body, .. } => body.len().saturating_mul(4),
        HookArgs::PatchMediaType { body, .. } => body.len() * 2,
        HookArgs::PatchStatus { body, .. } | HookArgs::PatchResponse { body, .. } => {
            convert::weight(body)
        }
        HookArgs::PatchBody { body, .. } => match &body.content {
            Some(Content::Text(text)) => text.len() * 2,
            Some(Content::Bytes(bytes)) => bytes.len(),
            None => 0,
        },
        HookArgs::ComputeKey { body, .. } => body.map_or(0, |body| body.len() * 2),
        HookArgs::PatchUri { .. }
        | HookArgs::PatchHeaders { .. }
        | HookArgs::BodyTemplate { .. } => 0,
    }
}
