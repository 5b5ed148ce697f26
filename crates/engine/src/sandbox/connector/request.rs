//! `fetch`: requests as a script writes them, and answers as it reads them (CNC-9, CNC-10).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use qlio_data::{
    Object, Value,
    codec::{
        charset::{self, Sniff},
        media_type::MediaType,
    },
};
use rquickjs::{Array as JsArray, Ctx, Exception, Function, Object as JsObject, Value as JsValue};

use super::super::{convert, error::Fault, instance::byte_array, machine::Entered};

/// A request that a connector asks for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its number in the execution.
    pub id: u32,
    /// The method, in upper case.
    pub method: String,
    /// The URI as it was written.
    pub uri: String,
    /// The headers by name, texts or lists of texts.
    pub headers: Object,
    /// The body; empty for none.
    pub body: Bytes,
    /// How long the upstream may be silent, if the script says so.
    pub timeout_ms: Option<u64>,
    /// Whether redirects are followed rather than being the answer.
    pub follows_redirects: bool,
}

/// An answer to such a request.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Its usual words.
    pub reason: &'static str,
    /// The URI that answered.
    pub uri: String,
    /// Whether that is another than was asked.
    pub is_redirected: bool,
    /// The headers by lower-case name.
    pub headers: Object,
    /// The body without its content coding.
    pub body: Bytes,
}

/// The requests that the script has asked for since this was last called.
pub(super) fn read_requests(entered: &Entered<'_, '_>) -> Result<Vec<Request>, Fault> {
    let asked: JsArray<'_> = entered.kernel.call("takeRequests", ())?;
    let mut requests = Vec::with_capacity(asked.len());
    for request in asked.iter::<JsObject<'_>>() {
        requests.push(read_request(entered, &request?)?);
    }
    Ok(requests)
}

fn read_request<'js>(entered: &Entered<'_, 'js>, asked: &JsObject<'js>) -> Result<Request, Fault> {
    let body: JsValue<'js> = asked.get("body")?;
    let body = match (body.as_string(), body.as_object()) {
        (Some(text), _) => Bytes::from(convert::string_text(entered.ctx, text)?),
        (None, Some(wrapped)) => {
            let base64: String = wrapped.get("base64")?;
            let bytes = STANDARD.decode(base64).map_err(|_| Fault::result("unreadable bytes"))?;
            Bytes::from(bytes)
        }
        (None, None) => Bytes::new(),
    };
    let headers: JsValue<'js> = asked.get("headers")?;
    let headers = match entered.to_value(&headers)? {
        Value::Object(headers) => headers.as_ref().clone(),
        _ => Object::new(),
    };
    let timeout_ms: Option<f64> = asked.get("timeout")?;
    #[expect(clippy::cast_possible_truncation, reason = "a positive number, saturating")]
    #[expect(clippy::cast_sign_loss, reason = "a positive number, saturating")]
    let timeout_ms = timeout_ms.map(|milliseconds| milliseconds as u64);
    Ok(Request {
        id: asked.get("id")?,
        method: asked.get("method")?,
        uri: asked.get("uri")?,
        headers,
        body,
        timeout_ms,
        follows_redirects: asked.get("follows")?,
    })
}

/// The parts of an answer, for the kernel to make an object of. The body stays here until the script reads it.
pub(super) fn response<'js>(
    entered: &Entered<'_, 'js>,
    response: Response,
) -> Result<JsObject<'js>, Fault> {
    let Response { status, reason, uri, is_redirected, headers, body } = response;
    let ctx = entered.ctx;
    let parts = JsObject::new(ctx.clone())?;
    parts.set("status", status)?;
    parts.set("statusText", reason)?;
    parts.set("url", uri)?;
    parts.set("redirected", is_redirected)?;
    let media_type = headers.get("content-type").and_then(Value::as_str).unwrap_or_default();
    let media_type = MediaType::parse(media_type);
    parts.set("headers", entered.object_to_js(&headers)?)?;
    let text = body.clone();
    parts.set(
        "readText",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| {
            let decoded = charset::to_utf8(text.clone(), media_type.charset(), Sniff::None);
            let (text, _) =
                decoded.map_err(|error| Exception::throw_message(&ctx, &error.to_string()))?;
            convert::js_text(&ctx, &text)
        })?,
    )?;
    parts.set(
        "readBytes",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| byte_array(&ctx, &body))?,
    )?;
    Ok(parts)
}
