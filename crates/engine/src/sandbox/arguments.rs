//! Arguments and results of hooks.
//!
//! In: the arguments of a hook. Out: an object with those that cost nothing, and the [`Inputs`] from which the
//! kernel takes the others when the hook looks at them; afterwards, what the result means.

use std::cell::Cell;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use qlio_data::{Object, Value};
use rquickjs::{
    Array as JsArray, Ctx, Exception, Function, IntoJs, Object as JsObject, Value as JsValue,
    function::Opt,
};

use super::{
    convert,
    error::Fault,
    hooks::{Content, HeaderChange, Hook, HookArgs, HookResult, Parsed, Payload},
    instance::{HostState, byte_array},
    lazy::Lazy,
    machine::Entered,
    view,
};

/// The parts that the running call may ask for.
pub(super) struct Inputs {
    /// Numbers calls, so that what was kept from an earlier one is told from this.
    pub(super) call: u32,
    pub(super) uri: String,
    pub(super) headers: Option<Lazy>,
    pub(super) body: Option<Lazy>,
    pub(super) bytes: Option<Bytes>,
    /// The layers of parameters below what scripts write.
    pub(super) params: Value,
    /// What scripts have written before, for a realm that was built anew since.
    pub(super) written: Object,
    pub(super) statement: Lazy,
    /// The script has looked at its parameters.
    pub(super) is_opened: Cell<bool>,
}

impl Inputs {
    /// Of a call without arguments of its own.
    pub(super) fn new(call: u32, params: Value, statement: Lazy, written: Object) -> Self {
        Self {
            call,
            uri: String::new(),
            headers: None,
            body: None,
            bytes: None,
            params,
            written,
            statement,
            is_opened: Cell::new(false),
        }
    }

    /// The settings for scripts, if they are a structure, as they mostly are.
    fn config(&self) -> Option<&Value> {
        let Value::Object(params) = &self.params else { return None };
        params.get(CONFIG).filter(|config| config.is_structure())
    }
}

/// The numbers of what the kernel asks for; see `kernel/views.js`.
mod part {
    pub(super) const URI: u32 = 0;
    pub(super) const HEADERS: u32 = 1;
    pub(super) const BODY: u32 = 2;
    pub(super) const BYTES: u32 = 3;
    pub(super) const PARAMS: u32 = 4;
    pub(super) const WRITTEN: u32 = 5;
    pub(super) const STATEMENT: u32 = 6;
    pub(super) const HEADER_MEMBERS: u32 = 7;
    pub(super) const CONFIG: u32 = 8;

    /// What the kernel is told of the parameters: scripts have written some before; `config` is still to be asked for.
    pub(super) const HAS_WRITTEN: u32 = 1;
    pub(super) const HAS_CONFIG: u32 = 2;
}

/// The parameter that is the settings for scripts. All statements have it and few scripts look at it.
const CONFIG: &str = "config";

/// Answers the kernel: a value, or `target` filled with the members of one.
#[expect(clippy::needless_pass_by_value, reason = "the interpreter hands arguments over by value")]
pub(super) fn ask<'js>(
    ctx: Ctx<'js>,
    host: &HostState,
    part: u32,
    call: u32,
    target: Opt<JsValue<'js>>,
    view: Opt<Function<'js>>,
) -> rquickjs::Result<JsValue<'js>> {
    let inputs = host.inputs.borrow().clone();
    let inputs = inputs.filter(|inputs| inputs.call == call);
    let Some(inputs) = inputs else {
        let message = "what a hook was given can not be kept beyond its call";
        return Err(Exception::throw_message(&ctx, message));
    };
    let lazily = |lazy: &Option<Lazy>| match (lazy, &view.0) {
        (Some(lazy), Some(view)) => view::show(&ctx, lazy.get(), view),
        _ => Ok(JsValue::new_undefined(ctx.clone())),
    };
    let fill = |value: &Value| {
        let target = target.0.as_ref().and_then(JsValue::as_object);
        view::open(&ctx, value, target, view.0.as_ref())?;
        Ok(JsValue::new_undefined(ctx.clone()))
    };
    match part {
        part::URI => inputs.uri.as_str().into_js(&ctx),
        part::HEADERS => lazily(&inputs.headers),
        part::BODY => lazily(&inputs.body),
        part::BYTES => byte_array(&ctx, inputs.bytes.as_deref().unwrap_or_default()),
        part::PARAMS => {
            inputs.is_opened.set(true);
            let has_written = if inputs.written.is_empty() { 0 } else { part::HAS_WRITTEN };
            let has_config = if inputs.config().is_some() { part::HAS_CONFIG } else { 0 };
            if let Some(target) = target.0.as_ref().and_then(JsValue::as_object)
                && let Some(view) = &view.0
                && let Value::Object(params) = &inputs.params
            {
                let given = params.iter().filter(|(name, _)| has_config == 0 || **name != *CONFIG);
                view::show_members(&ctx, given, target, view)?;
            }
            (has_written | has_config).into_js(&ctx)
        }
        part::CONFIG => match (inputs.config(), &view.0) {
            (Some(config), Some(view)) => view::show(&ctx, config, view),
            _ => Ok(JsValue::new_undefined(ctx.clone())),
        },
        part::WRITTEN => fill(&Value::object(inputs.written.clone())),
        part::STATEMENT => fill(inputs.statement.get()),
        part::HEADER_MEMBERS => fill(inputs.headers.as_ref().map_or(&Value::Absent, Lazy::get)),
        _ => Err(Exception::throw_message(&ctx, "the kernel asked for what there is not")),
    }
}

/// What the kernel gets of `args` at once: an object with the members that cost nothing, the URI or the status if
/// that is the only one, or nothing. The others go into the inputs.
pub(super) fn give<'js>(
    entered: &Entered<'_, 'js>,
    args: &HookArgs<'_>,
    inputs: &mut Inputs,
) -> Result<JsValue<'js>, Fault> {
    let ctx = entered.ctx;
    match *args {
        HookArgs::ValidateParam { .. } => {}
        HookArgs::PatchUri { uri } => return Ok(uri.into_js(ctx)?),
        HookArgs::PatchHeaders { uri, headers } | HookArgs::BodyTemplate { uri, headers } => {
            uri.clone_into(&mut inputs.uri);
            inputs.headers = Some(headers.clone());
        }
        HookArgs::PatchBody { uri, headers, body } => {
            uri.clone_into(&mut inputs.uri);
            inputs.headers = Some(headers.clone());
            let given = JsObject::new(ctx.clone())?;
            given.set("body", payload_to_js(entered, body)?)?;
            return Ok(given.into_value());
        }
        HookArgs::ComputeKey { table, method, uri, body, headers, request_id_name } => {
            uri.clone_into(&mut inputs.uri);
            inputs.headers = Some(headers.clone());
            let given = JsObject::new(ctx.clone())?;
            given.set("table", table)?;
            given.set("method", method)?;
            given.set("body", body)?;
            given.set("reqIdName", request_id_name)?;
            return Ok(given.into_value());
        }
        HookArgs::ParseResponse { uri, status, headers, body } => {
            uri.clone_into(&mut inputs.uri);
            inputs.headers = Some(headers.clone());
            inputs.bytes = Some(body.clone());
            return Ok(JsValue::new_int(ctx.clone(), status.into()));
        }
        HookArgs::PatchMediaType { uri, status, headers, body }
        | HookArgs::PatchStatus { uri, status, headers, body }
        | HookArgs::PatchResponse { uri, status, headers, body } => {
            uri.clone_into(&mut inputs.uri);
            inputs.headers = Some(headers.clone());
            inputs.body = Some(body.clone());
            return Ok(JsValue::new_int(ctx.clone(), status.into()));
        }
    }
    Ok(JsValue::new_undefined(ctx.clone()))
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

/// Reads the result of a hook.
pub(super) fn read_result<'js>(
    entered: &Entered<'_, 'js>,
    hook: Hook,
    result: &JsValue<'js>,
) -> Result<HookResult, Fault> {
    Ok(match hook {
        // Answered before.
        Hook::ValidateParam => HookResult::Refused(None),
        Hook::PatchUri => {
            let mut uris = Vec::new();
            match result.as_array() {
                None => uris.extend(text_of(entered, result)?),
                Some(list) => {
                    for uri in list.iter::<JsValue<'js>>() {
                        uris.extend(text_of(entered, &uri?)?);
                    }
                }
            }
            HookResult::Uris { uris, is_list: result.is_array() }
        }
        Hook::PatchHeaders => HookResult::Headers(changed_headers(entered, result)?),
        Hook::BodyTemplate | Hook::PatchBody => {
            let Some(object) = result.as_object() else {
                return Err(Fault::result("the hook must return an object"));
            };
            let headers: JsValue<'js> = object.get("headers")?;
            let payload: JsValue<'js> = object.get("payload")?;
            HookResult::Body {
                payload: payload_of(entered, &payload)?.map(|(payload, _)| payload),
                headers: changed_headers(entered, &headers)?,
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

/// What a hook made of headers: nothing, a list of what it wrote, or all (see `changeOfHeaders` in `kernel/hooks.js`).
fn changed_headers<'js>(
    entered: &Entered<'_, 'js>,
    headers: &JsValue<'js>,
) -> Result<HeaderChange, Fault> {
    if headers.is_undefined() {
        return Ok(HeaderChange::None);
    }
    match headers.as_array() {
        Some(written) => written_headers(entered, written).map(HeaderChange::Some),
        None => header_texts(entered, headers).map(HeaderChange::All),
    }
}

/// Headers that a hook has written and not read: names and values in turn, which are texts and numbers.
fn written_headers<'js>(
    entered: &Entered<'_, 'js>,
    written: &JsArray<'js>,
) -> Result<Vec<(String, String)>, Fault> {
    if written.len() > entered.limits.result_elements {
        return Err(Fault::result("a hook has written too many headers"));
    }
    let mut headers = Vec::with_capacity(written.len() / 2);
    let mut members = written.iter::<JsValue<'js>>();
    while let (Some(name), Some(value)) = (members.next(), members.next()) {
        let value = value?;
        let text = match text_of(entered, &value)? {
            Some(text) => Some(text),
            None => entered.to_value(&value)?.scalar_text().map(|text| text.to_string()),
        };
        if let (Some(name), Some(text)) = (text_of(entered, &name?)?, text) {
            headers.push((name, text));
        }
    }
    Ok(headers)
}

/// Headers with text values; members without a value are left out.
fn header_texts<'js>(entered: &Entered<'_, 'js>, headers: &JsValue<'js>) -> Result<Object, Fault> {
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
pub(super) fn weight(args: &HookArgs<'_>) -> usize {
    match *args {
        HookArgs::ValidateParam { params } => {
            params.iter().map(|(name, value)| name.len() + convert::weight(value)).sum()
        }
        // The bytes, and room to make text of them in two steps.
        HookArgs::ParseResponse { body, .. } => body.len().saturating_mul(4),
        HookArgs::PatchMediaType { body, .. }
        | HookArgs::PatchStatus { body, .. }
        | HookArgs::PatchResponse { body, .. } => body.weight(),
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
