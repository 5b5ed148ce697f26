//! Request bodies (`connectors.md` 2.6).

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use qlio_data::{Text, Value, codec::json, uri_template::UriTemplate};
use qlio_plan::catalog::{Body, Format, FormatKind};
use qlio_syntax::diagnostic::codes;

use super::{Call, prepare::expand_failed};
use crate::error::{Origin, RunError};

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
}

impl Call<'_> {
    /// The body of one request; sets `content-type` unless a header has set it.
    pub(super) async fn body(
        &self,
        own: &[(Text, Value)],
        payload: &Payload,
        parts: &[usize],
        headers: &mut HeaderMap,
    ) -> Result<Bytes, RunError> {
        let mut content = self.content(own, payload).await?;
        if !parts.is_empty() {
            content = Some(self.multipart(content, parts));
        }
        let Some(content) = content else { return Ok(Bytes::new()) };
        if let Some(media_type) = content.media_type
            && !headers.contains_key(header::CONTENT_TYPE)
        {
            let value = HeaderValue::from_str(&media_type).map_err(|_| {
                RunError::new(
                    codes::BAD_HEADER,
                    Origin::Gateway,
                    500,
                    "Invalid header value for content-type",
                )
            })?;
            headers.insert(header::CONTENT_TYPE, value);
        }
        Ok(content.bytes)
    }

    async fn content(
        &self,
        own: &[(Text, Value)],
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
                Ok(Some(Content { bytes, media_type }))
            }
            Payload::Client => {
                let request = self.run.request;
                if request.raw_body.is_empty() {
                    return match &self.verb.body {
                        Some(body) => self.rendered(body, own).await.map(Some),
                        None => Ok(None),
                    };
                }
                let media_type = template_type.or_else(|| request.content_type.clone());
                Ok(Some(Content { bytes: request.raw_body.clone(), media_type }))
            }
            Payload::Template | Payload::Object(_) => {
                match (&self.verb.body, &self.verb.request_format) {
                    (Some(body), _) => self.rendered(body, own).await.map(Some),
                    (None, Some(format)) => encoded(format, own, payload).map(Some),
                    (None, None) => Ok(None),
                }
            }
        }
    }

    async fn rendered(&self, body: &Body, own: &[(Text, Value)]) -> Result<Content, RunError> {
        let params = self.params(own);
        let text = if body.media_type == "application/x-www-form-urlencoded" {
            let template = UriTemplate::parse_form(&body.content).map_err(|fault| {
                let message = format!("body template `{}`: {fault}", body.template);
                RunError::new(codes::BAD_BODY_TEMPLATE, Origin::Gateway, 500, message)
            })?;
            template.expand_form(&params).map_err(|error| expand_failed(&error))?
        } else {
            self.render_template(body, own).await?
        };
        Ok(Content { bytes: text.into(), media_type: Some(body.media_type.clone()) })
    }

    /// The outgoing multipart message: the body first, then the client's attachments that were asked
    /// for (`connectors.md` 2.7).
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
        Content { bytes: bytes.into(), media_type: Some(format!("{outer}; boundary={boundary}")) }
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
        head.push_str(&format!("; filename=\"{}\"", quoted(file)));
    }
    if let Some(media_type) = media_type {
        head.push_str(&format!("\r\nContent-Type: {}", quoted(media_type)));
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

/// The own parameters, or the inserted object, in the declared format of the verb.
fn encoded(format: &Format, own: &[(Text, Value)], payload: &Payload) -> Result<Content, RunError> {
    let value = match payload {
        Payload::Object(value) => value.clone(),
        _ => Value::object(own.iter().filter(|(_, value)| !value.is_absent()).cloned().collect()),
    };
    let value = match &format.root {
        Some(root) => value.member(root),
        None => value,
    };
    let failed = |reason: String| RunError::client(codes::UNENCODABLE, reason);
    let (bytes, media_type): (Bytes, _) = match format.kind {
        FormatKind::Json => (json::to_string(&value).into(), "application/json"),
        FormatKind::Text => (value.scalar_text().unwrap_or_default().into_bytes(), "text/plain"),
        FormatKind::MessagePack => {
            let mut bytes = Vec::new();
            qlio_data::codec::msgpack::encode(&value, &mut bytes)
                .map_err(|error| failed(error.to_string()))?;
            (bytes.into(), "application/msgpack")
        }
        FormatKind::Protobuf => {
            let protobuf = format
                .protobuf
                .as_ref()
                .ok_or_else(|| RunError::internal("a protobuf format without schema"))?;
            let bytes = qlio_data::codec::protobuf::encode(&value, &protobuf.message)
                .map_err(|error| failed(error.to_string()))?;
            (bytes.into(), "application/x-protobuf")
        }
        FormatKind::Xml | FormatKind::Csv => {
            return Err(failed("bodies in this format need a body template".to_owned()));
        }
    };
    Ok(Content { bytes, media_type: Some(media_type.to_owned()) })
}
