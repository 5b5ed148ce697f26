//! Request bodies (CON-39 to CON-52).

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use qlio_data::{
    Text, Value, codec::json, params::Params, projection::Projection, uri_template::UriTemplate,
};
use qlio_plan::catalog::{Body, Format, FormatKind, is_form_template};
use qlio_syntax::diagnostic::codes;

use super::{
    Call,
    hooks::{Hooks, content_bytes},
    prepare::{Unprepared, expand_failed},
    view::statement_record,
};
use crate::{
    error::{Fact, RunError},
    run::Run,
    sandbox::{self, Hook},
    verb_scripts::{body_escape, form_failed, is_made_of_json},
};

/// What a write sends besides its parameters.
#[derive(Debug, Clone)]
pub(crate) enum Payload {
    /// The verb's template, if it has one.
    Template,
    /// This value instead of the template: text as it is, structures as JSON.
    Opaque(Value),
    /// The template, or this object in the verb's declared format.
    Object(Value),
    /// The client's body as it came.
    Client,
}

/// A body with its media type.
struct Content {
    bytes: Bytes,
    media_type: Option<String>,
    /// Bytes that nobody encodes any more, rather than text.
    is_encoded: bool,
}

impl Content {
    fn of_hook(payload: sandbox::Payload) -> Self {
        Self {
            is_encoded: matches!(payload.content, Some(sandbox::Content::Bytes(_))),
            bytes: payload.content.map(content_bytes).unwrap_or_default(),
            media_type: payload.media_type.map(|text| text.to_string()),
        }
    }

    fn text(bytes: impl Into<Bytes>, media_type: Option<String>) -> Self {
        Self { bytes: bytes.into(), media_type, is_encoded: false }
    }
}

/// `patch body` on what was rendered.
async fn patch_content(
    run: &Run<'_>,
    hooks: &Hooks,
    uri: &str,
    headers: &mut HeaderMap,
    content: Option<Content>,
) -> Result<Option<Content>, RunError> {
    let given = match content {
        Some(Content { bytes, media_type, .. }) => sandbox::Payload {
            content: Some(match Text::from_utf8(bytes.clone()) {
                Ok(text) => sandbox::Content::Text(text),
                Err(_) => sandbox::Content::Bytes(bytes),
            }),
            media_type: media_type.map(Text::from),
        },
        None => sandbox::Payload::default(),
    };
    let payload = hooks.body(run, uri, headers, given).await?;
    Ok(payload.content.is_some().then(|| Content::of_hook(payload)))
}

impl Call<'_> {
    /// The body of one request: a hook that throws fails the request, a template that cannot be written
    /// the statement (CON-40, HOK-12). Sets
    /// `content-type` unless a header has set it.
    pub(super) async fn body(
        &self,
        uri: &str,
        own: &[(Text, Value)],
        hooks: Option<&Hooks>,
        payload: &Payload,
        parts: &[usize],
        headers: &mut HeaderMap,
    ) -> Result<Bytes, Unprepared> {
        let own_template = match hooks {
            Some(hooks) => {
                hooks.template(self.run, uri, headers).await.map_err(Unprepared::Task)?
            }
            None => None,
        };
        let mut content = match own_template {
            Some(template) => self.render_hook_template(template, own, hooks).await?,
            None => self.content(own, hooks, payload).await?,
        };
        if let Some(hooks) = hooks {
            let patched = patch_content(self.run, hooks, uri, headers, content).await;
            content = patched.map_err(Unprepared::Task)?;
        }
        if let (Some(format), Payload::Template | Payload::Object(_)) =
            (&self.verb.request_format, payload)
        {
            content = content.map(|content| self.encode_content(content, format)).transpose()?;
        }
        // What the statement says, holds: an opaque text replaces whatever was rendered.
        let is_opaque = match payload {
            Payload::Opaque(_) => true,
            Payload::Client => !self.run.request.raw_body.is_empty(),
            Payload::Template | Payload::Object(_) => false,
        };
        if is_opaque {
            content = self.content(own, hooks, payload).await?;
        }
        if !parts.is_empty() {
            content = Some(self.multipart(content, parts));
        }
        let Some(content) = content else { return Ok(Bytes::new()) };
        if let Some(media_type) = content.media_type
            && !headers.contains_key(header::CONTENT_TYPE)
        {
            let value = HeaderValue::from_str(&media_type).map_err(|_| {
                RunError::gateway(codes::BAD_HEADER, "Invalid header value for content-type")
            })?;
            headers.insert(header::CONTENT_TYPE, value);
        }
        Ok(content.bytes)
    }

    async fn content(
        &self,
        own: &[(Text, Value)],
        hooks: Option<&Hooks>,
        payload: &Payload,
    ) -> Result<Option<Content>, RunError> {
        let template_type = self.verb.body.as_ref().map(|body| body.media_type.clone());
        match payload {
            Payload::Opaque(value) => {
                let is_structure = value.is_structure();
                let bytes = match value.scalar_text() {
                    Some(text) => text.into_bytes(),
                    None if value.is_nothing() => return Ok(None),
                    None => json::to_string(value).into(),
                };
                let media_type =
                    template_type.or_else(|| is_structure.then(|| "application/json".to_owned()));
                Ok(Some(Content::text(bytes, media_type)))
            }
            Payload::Client => {
                let request = self.run.request;
                // Neither values nor a client's body: there is nothing to send, and no template asks for it.
                if request.raw_body.is_empty() {
                    return Ok(None);
                }
                let media_type = template_type.or_else(|| request.content_type.clone());
                Ok(Some(Content::text(request.raw_body.clone(), media_type)))
            }
            Payload::Template | Payload::Object(_) => {
                match (&self.verb.body, &self.verb.request_format) {
                    (Some(body), _) => self.render_template(body, own, hooks).await.map(Some),
                    (None, Some(format)) => {
                        let value = self.payload_value(format, own, payload);
                        // Hooks see JSON, whatever it becomes afterwards.
                        if hooks.is_none() || !is_made_of_json(format) {
                            return encode_value(format, &value).map(Some);
                        }
                        let media_type = "application/json".to_owned();
                        Ok(Some(Content::text(json::to_string(&value), Some(media_type))))
                    }
                    (None, None) => Ok(None),
                }
            }
        }
    }

    async fn render_template(
        &self,
        body: &Body,
        own: &[(Text, Value)],
        hooks: Option<&Hooks>,
    ) -> Result<Content, RunError> {
        let params = self.params(own, hooks);
        let text = match &body.form {
            Some(Ok(form)) => self.form(form, &params)?,
            Some(Err(fault)) => {
                let fault = form_failed(self.table, body, fault);
                return Err(fault.into_run_error(&self.table.name));
            }
            None => match hooks {
                Some(hooks) => hooks.render(&params, &|| statement_record(self, own)).await?,
                None => String::new(),
            },
        };
        Ok(Content::text(text, Some(body.media_type.clone())))
    }

    /// A form; what it leaves out is told, because it is easily overlooked.
    fn form(&self, form: &UriTemplate, params: &dyn Params) -> Result<String, RunError> {
        let form = form.expand_form(params).map_err(|error| expand_failed(&error))?;
        if let Some((name, count)) = form.shortened {
            self.run.warn(format!(
                "table {}: param `{name}` makes {count} bodies, and only the first is sent; use \
                 `{{|{name}}}` to send all values in one",
                self.table.name
            ));
        }
        Ok(form.text)
    }

    /// A template that "body template" gave: content and type of its own, else those of the verb
    /// (CON-40).
    async fn render_hook_template(
        &self,
        template: sandbox::Payload,
        own: &[(Text, Value)],
        hooks: Option<&Hooks>,
    ) -> Result<Option<Content>, RunError> {
        let body = self.verb.body.as_ref();
        let media_type = template.media_type.map(|text| text.to_string());
        let media_type = media_type.or_else(|| body.map(|body| body.media_type.clone()));
        let text = match template.content {
            Some(sandbox::Content::Text(text)) => text,
            Some(sandbox::Content::Bytes(bytes)) => {
                return Ok(Some(Content { bytes, media_type, is_encoded: true }));
            }
            None => body.map(|body| Text::from(&*body.content)).unwrap_or_default(),
        };
        let params = self.params(own, hooks);
        let text = match (media_type.as_deref(), hooks) {
            _ if text.is_empty() => String::new(),
            (Some(media_type), _) if is_form_template(media_type, &text) => {
                let form = UriTemplate::parse_form(&text).map_err(|fault| {
                    RunError::gateway(codes::BAD_BODY_TEMPLATE, fault.to_string())
                        .with(Fact::Hook(Hook::BodyTemplate.name()))
                })?;
                self.form(&form, &params)?
            }
            (media_type, Some(hooks)) => {
                let file = body.map_or("", |body| body.template.as_str());
                let escape = body_escape(self.verb, media_type.unwrap_or_default());
                let statement = || statement_record(self, own);
                hooks.render_own((file, &text, escape), &params, &statement).await?
            }
            (_, None) => text.to_string(),
        };
        Ok(Some(Content::text(text, media_type)))
    }

    /// The own parameters, or the inserted object.
    fn payload_value(&self, format: &Format, own: &[(Text, Value)], payload: &Payload) -> Value {
        if let Payload::Object(value) = payload {
            return value.clone();
        }
        let is_paging =
            |name: &Text| *name == self.verb.limit_name || *name == self.verb.offset_name;
        let has_field = |name: &Text| {
            format.protobuf.as_ref().is_none_or(|schema| schema.message.has_field(name))
        };
        let fields = own.iter().filter(|(name, value)| {
            // The statement's own limit is no field unless the message has one for it.
            !value.is_absent() && (!is_paging(name) || has_field(name))
        });
        Value::object(fields.cloned().collect())
    }

    /// JSON text, from a template or a hook, in the declared format of requests (FMT-30).
    fn encode_content(&self, content: Content, format: &Format) -> Result<Content, RunError> {
        if content.is_encoded || !is_made_of_json(format) {
            return Ok(content);
        }
        let value = json::decode(content.bytes, &Projection::All, &self.limits());
        let value = value.map_err(|error| {
            let message = format!(
                "the request body is no JSON that could be encoded: {} at byte {}",
                error.reason, error.offset
            );
            RunError::client(codes::UNENCODABLE, message)
        })?;
        encode_value(format, &value)
    }

    /// The outgoing multipart message: the body first, then the client's attachments that were asked
    /// for (CON-51).
    fn multipart(&self, content: Option<Content>, parts: &[usize]) -> Content {
        let boundary = format!("--------------------------{}", random_digits());
        let body_type =
            self.verb.body.as_ref().map_or("multipart/form-data", |body| body.media_type.as_str());
        let is_multipart = body_type.starts_with("multipart/");
        let mut bytes = Vec::new();
        if let Some(content) = content {
            let media_type = (!is_multipart).then_some(body_type);
            push_part(&mut bytes, &boundary, "body", None, media_type, &content.bytes);
        }
        for part in parts.iter().filter_map(|index| self.run.request.parts.get(*index)) {
            let (file, media_type) = (part.file_name.as_deref(), part.content_type.as_deref());
            push_part(&mut bytes, &boundary, &part.name, file, media_type, &part.data);
        }
        bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        let outer = if is_multipart { body_type } else { "multipart/form-data" };
        Content {
            bytes: bytes.into(),
            media_type: Some(format!("{outer}; boundary={boundary}")),
            is_encoded: true,
        }
    }
}

fn push_part(
    out: &mut Vec<u8>,
    boundary: &str,
    name: &str,
    file: Option<&str>,
    media_type: Option<&str>,
    data: &[u8],
) {
    // Names come from clients; a quote or line break in one must not end the header.
    let quoted = |text: &str| text.replace(['"', '\r', '\n'], "_");
    let mut head =
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(name));
    if let Some(file) = file {
        head.extend(["; filename=\"", &quoted(file), "\""]);
    }
    if let Some(media_type) = media_type {
        head.extend(["\r\nContent-Type: ", &quoted(media_type)]);
    }
    head.push_str("\r\n\r\n");
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

fn random_digits() -> String {
    let number = uuid::Uuid::new_v4().as_u128() % 1_000_000_000_000_000_000_000_000;
    format!("{number:024}")
}

/// A value in the declared format of requests.
fn encode_value(format: &Format, value: &Value) -> Result<Content, RunError> {
    let unwrapped;
    let value = match &format.root {
        Some(root) => {
            unwrapped = value.member(root);
            &unwrapped
        }
        None => value,
    };
    let failed = |reason: String| RunError::client(codes::UNENCODABLE, reason);
    let (bytes, media_type): (Bytes, _) = match format.kind {
        FormatKind::Json => (json::to_string(value).into(), "application/json"),
        FormatKind::Text => (value.scalar_text().unwrap_or_default().into_bytes(), "text/plain"),
        FormatKind::MessagePack => {
            let mut bytes = Vec::new();
            qlio_data::codec::msgpack::encode(value, &mut bytes)
                .map_err(|error| failed(error.to_string()))?;
            (bytes.into(), "application/msgpack")
        }
        FormatKind::Cbor => {
            let mut bytes = Vec::new();
            qlio_data::codec::cbor::encode(value, &mut bytes)
                .map_err(|error| failed(error.to_string()))?;
            (bytes.into(), "application/cbor")
        }
        FormatKind::Protobuf => {
            let protobuf = format
                .protobuf
                .as_ref()
                .ok_or_else(|| RunError::internal("a protobuf format without schema"))?;
            let bytes = qlio_data::codec::protobuf::encode(value, &protobuf.message)
                .map_err(|error| failed(error.to_string()))?;
            (bytes.into(), "application/x-protobuf")
        }
        FormatKind::Xml | FormatKind::Csv => {
            return Err(failed("bodies in this format need a body template".to_owned()));
        }
    };
    Ok(Content { bytes, media_type: Some(media_type.to_owned()), is_encoded: true })
}
