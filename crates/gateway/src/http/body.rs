//! Request bodies: from the wire to a value, the original bytes, and attachments.
//!
//! In: the body stream, `content-type` and `content-encoding`. Out: a [`ParsedBody`]. Promises: no
//! more than the limit is ever held, of one body and of all together; a body that is not what its type says is an error with the
//! parser's message; the original bytes stay available for statements that forward them, whatever
//! the type. It does not know which names the value contributes to a scope. Rules: SRV-23.

use std::{
    fmt,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;
use qlio_data::{
    Object, Value,
    codec::{
        DecodeLimits, charset, form, json,
        media_type::MediaType,
        xml::{self, XmlOptions},
    },
    projection::Projection,
};
use qlio_engine::heavy::Heavy;
use qlio_syntax::diagnostic::{Code, codes};

use super::{
    compress::{self, DecompressError},
    failure::Failure,
    multipart::{self, Part},
    pace::Pace,
    quota::{Quota, Share},
};

/// What is decompressed and parsed on the worker, in bytes: about a millisecond of its time.
const AT_ONCE_BYTES_MAX: usize = 128 * 1024;

/// What one request body may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Setting `maxRequestLength`: bytes of a body, before and after decompression; default
    /// 10,000,000.
    pub request_bytes_max: usize,
    /// Settings `body.pauseMs` and `body.minBytesPerSecond`: how slowly a body may come; default 10 s without any of
    /// it, 4096 bytes a second on the whole.
    pub pace: Pace,
}

impl Default for BodyLimits {
    fn default() -> Self {
        let pace = Pace { pause_max: Duration::from_secs(10), rate_min: 4096 };
        Self { request_bytes_max: 10_000_000, pace }
    }
}

/// A request body after parsing.
#[derive(Debug, Clone)]
pub(crate) struct ParsedBody {
    /// What the body says. An object without members for types that are not parsed.
    pub value: Value,
    /// The bytes to forward: the body as it came (content coding removed), or the first part of a
    /// multipart body.
    pub raw: Bytes,
    /// The type of `raw`.
    pub content_type: Option<String>,
    /// The parts after the first of a multipart body: `{req.parts[n]}`.
    pub parts: Vec<Part>,
}

impl ParsedBody {
    /// No body.
    pub(crate) fn empty() -> Self {
        Self {
            value: Value::object(Object::new()),
            raw: Bytes::new(),
            content_type: None,
            parts: Vec::new(),
        }
    }
}

/// A body that is not what its type says. Prints the parser's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedBody {
    /// The kind of problem.
    pub code: Code,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for MalformedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for MalformedBody {}

impl From<MalformedBody> for Failure {
    fn from(error: MalformedBody) -> Self {
        Self::MalformedBody { code: Some(error.code), reason: error.reason }
    }
}

/// Reads a whole body, and takes its content coding off; a large one's by a heavy thread. The share of `memory` is that of the body, and to be kept
/// as long as the body is.
///
/// # Errors
/// 413 over the limit and 503 over that of all bodies (at once if the declared length is), 408 if the client
/// pauses too long or is too slow, 415 for an unknown coding, 400 if the body breaks off or its coding is broken.
///
/// # Cancellation
/// Dropping the future drops what was read.
pub(crate) async fn read<'q, B>(
    mut body: B,
    content_encoding: Option<&str>,
    limits: &BodyLimits,
    memory: &'q Quota,
    heavy: &Heavy,
) -> Result<(Bytes, Share<'q>), Failure>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: fmt::Display,
{
    let bytes_max = limits.request_bytes_max;
    let too_large = || Failure::BodyTooLarge { bytes_max };
    let no_room = || Failure::BodiesTooLarge { bytes_max: memory.most() };
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if declared > bytes_max {
        return Err(too_large());
    }
    let mut share = memory.take(declared).ok_or_else(no_room)?;
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    let began = Instant::now();
    loop {
        // What has arrived already is taken in any case.
        let bytes = first.len() + whole.len();
        let patience = limits.pace.patience(bytes, began.elapsed());
        let frame =
            tokio::time::timeout(patience, body.frame()).await.map_err(|_| Failure::BodyTimeout)?;
        let Some(frame) = frame else { break };
        let broken_off = |error: B::Error| {
            let reason = error.to_string();
            Failure::MalformedBody { code: None, reason }
        };
        let frame = frame.map_err(broken_off)?;
        // Trailers say nothing that we use.
        let Ok(data) = frame.into_data() else { continue };
        let bytes = bytes + data.len();
        if bytes > bytes_max {
            return Err(too_large());
        }
        // Most bodies come in one piece, which is then shared instead of copied.
        if first.is_empty() && whole.is_empty() {
            if !share.grow_to(bytes) {
                return Err(no_room());
            }
            first = data;
            continue;
        }
        if bytes > whole.capacity() {
            // Of a declared length there is one move, of others as many as it doubles.
            let room = bytes.max(declared).max(whole.capacity() * 2).min(bytes_max);
            if !share.grow_to(room) {
                return Err(no_room());
            }
            whole.reserve(room - whole.len());
        }
        whole.extend_from_slice(&first);
        first = Bytes::new();
        whole.extend_from_slice(&data);
    }
    let whole = if whole.is_empty() { first } else { whole.freeze() };
    let coded = whole.len();
    let at_once = bytes_max.min(AT_ONCE_BYTES_MAX);
    let is_plain = content_encoding.is_none();
    let undone = if is_plain || coded <= AT_ONCE_BYTES_MAX {
        let has_room = |bytes| share.grow_to(coded + bytes);
        match compress::decompress(whole.clone(), content_encoding, at_once, has_room) {
            // Not more than may be, but than can be done at once.
            Err(DecompressError::TooLarge) if at_once < bytes_max => None,
            undone => Some(undone),
        }
    } else {
        None
    };
    let body = match undone {
        Some(undone) => undone,
        // It is not known how large it gets, and nobody can be asked for room there.
        None if !share.grow_to(coded.saturating_add(bytes_max)) => Err(DecompressError::NoRoom),
        None => {
            let coding = content_encoding.map(str::to_owned);
            let undo = move || compress::decompress(whole, coding.as_deref(), bytes_max, |_| true);
            Box::pin(heavy.run(move |_| undo())).await?.value
        }
    };
    let body = body.map_err(|error| match error {
        DecompressError::TooLarge => too_large(),
        DecompressError::NoRoom => no_room(),
        DecompressError::UnknownCoding(coding) => Failure::UnknownBodyCoding { coding },
        DecompressError::Malformed(reason) => Failure::MalformedBody { code: None, reason },
    })?;
    // What is left of it cannot be more than it was.
    share.resize(body.len());
    Ok((body, share))
}

/// Parses a body; a large one is left to a heavy thread.
///
/// # Errors
/// 400 if it is not what its type says, 503 if too many wait for a heavy thread.
pub(crate) async fn understand(
    content_type: Option<&str>,
    raw: Bytes,
    xml: &XmlOptions,
    heavy: &Heavy,
) -> Result<ParsedBody, Failure> {
    if raw.len() <= AT_ONCE_BYTES_MAX {
        return Ok(parse(content_type, raw, xml)?);
    }
    let (content_type, xml) = (content_type.map(str::to_owned), xml.clone());
    let parsed = heavy.run(move |wanted| {
        let mut parsed = parse(content_type.as_deref(), raw, &xml)?;
        // Scripts read its members by name.
        if let Value::Raw(text) = &parsed.value {
            parsed.value = json::open_until(text, &wanted.stop());
        }
        Ok::<_, MalformedBody>(parsed)
    });
    Ok(Box::pin(parsed).await?.value?)
}

/// Parses a body as its media type says. `xml` is the setting for XML bodies.
pub(crate) fn parse(
    content_type: Option<&str>,
    raw: Bytes,
    xml: &XmlOptions,
) -> Result<ParsedBody, MalformedBody> {
    let mut parsed =
        ParsedBody { content_type: content_type.map(str::to_owned), raw, ..ParsedBody::empty() };
    let Some(content_type) = content_type.filter(|text| !text.trim().is_empty()) else {
        return Ok(parsed);
    };
    let media = MediaType::parse(content_type);
    match Kind::of(&media) {
        Kind::Json => parsed.value = parse_json(&media, parsed.raw.clone())?,
        Kind::Xml => parsed.value = parse_xml(&media, parsed.raw.clone(), xml)?,
        Kind::Form => {
            let text = utf8(&media, parsed.raw.clone())?;
            let text =
                std::str::from_utf8(&text).map_err(|error| malformed(codes::BAD_TEXT, error))?;
            let object = form::parse(text).map_err(|error| malformed(codes::BAD_FORM, error))?;
            parsed.value = Value::object(object);
        }
        Kind::Multipart => {
            let mut parts = multipart::parse(&media, &parsed.raw)?;
            if parts.is_empty() {
                return Err(malformed(codes::BAD_MULTIPART, "a multipart body without parts"));
            }
            let first = parts.remove(0);
            parsed.raw = first.data;
            parsed.content_type = first.content_type;
            parsed.parts = parts;
        }
        Kind::Opaque => {}
    }
    Ok(parsed)
}

enum Kind {
    Json,
    Xml,
    Form,
    Multipart,
    Opaque,
}

impl Kind {
    fn of(media: &MediaType) -> Self {
        match (media.main.as_str(), media.sub.as_str()) {
            ("application", "json") => Self::Json,
            ("application", "x-www-form-urlencoded") => Self::Form,
            ("multipart", "form-data" | "related" | "mixed") => Self::Multipart,
            (_, sub) if sub.ends_with("+json") => Self::Json,
            ("application" | "text", "xml") => Self::Xml,
            (_, sub) if sub.ends_with("+xml") => Self::Xml,
            _ => Self::Opaque,
        }
    }
}

fn parse_json(media: &MediaType, raw: Bytes) -> Result<Value, MalformedBody> {
    if raw.is_empty() {
        return Ok(Value::object(Object::new()));
    }
    let text = utf8(media, raw)?;
    json::decode(text, &Projection::All, &DecodeLimits::default())
        .map_err(|error| malformed(codes::BAD_JSON, format!("{error} at offset {}", error.offset)))
}

fn parse_xml(media: &MediaType, raw: Bytes, options: &XmlOptions) -> Result<Value, MalformedBody> {
    let (text, _) = charset::to_utf8(raw, media.charset(), charset::Sniff::Xml)
        .map_err(|error| malformed(codes::UNKNOWN_CHARSET, error))?;
    xml::decode_text(&text, &Projection::All, options, &DecodeLimits::default())
        .map_err(|error| malformed(codes::BAD_XML, format!("{error} at offset {}", error.offset)))
}

/// The body as UTF-8. Without a charset it is taken as it is, and its decoder checks it.
fn utf8(media: &MediaType, raw: Bytes) -> Result<Bytes, MalformedBody> {
    match media.charset() {
        None => Ok(raw),
        Some(name) => {
            let (text, is_replaced) = charset::to_utf8(raw, Some(name), charset::Sniff::None)
                .map_err(|error| malformed(codes::UNKNOWN_CHARSET, error))?;
            if is_replaced {
                let reason = format!("the body is not in the charset {name}");
                return Err(malformed(codes::BAD_TEXT, reason));
            }
            Ok(text.into_bytes())
        }
    }
}

fn malformed(code: Code, error: impl fmt::Display) -> MalformedBody {
    MalformedBody { code, reason: error.to_string() }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
