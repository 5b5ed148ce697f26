//! The body of an answer: which bytes, and in which content coding.

use std::io::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Map, Value};

use super::{Received, Respond};

impl Respond {
    /// The bytes of the body before any content coding.
    pub(super) fn plain_body(&self, request: &Received) -> Vec<u8> {
        if let Some(names) = &self.echo {
            return echo(names, request).to_string().into_bytes();
        }
        if let Some(json) = &self.json {
            return json.to_string().into_bytes();
        }
        if let Some(text) = &self.base64 {
            return decode(text).unwrap_or_default();
        }
        self.body.as_deref().unwrap_or_default().as_bytes().to_vec()
    }

    /// The bytes of the body as they are sent.
    pub(super) fn coded_body(&self, request: &Received) -> io::Result<Vec<u8>> {
        let plain = self.plain_body(request);
        match self.coding.as_deref() {
            Some("gzip" | "x-gzip") => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(&plain)?;
                encoder.finish()
            }
            // RFC 9110 8.4.1.2: the coding called deflate is the zlib format.
            Some("deflate") => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(&plain)?;
                encoder.finish()
            }
            Some("br") => {
                let mut coded = Vec::new();
                let params = brotli::enc::BrotliEncoderParams { quality: 3, ..Default::default() };
                brotli::BrotliCompress(&mut plain.as_slice(), &mut coded, &params)?;
                Ok(coded)
            }
            Some("zstd") => Ok(compress_to_vec(plain.as_slice(), CompressionLevel::Fastest)),
            _ => Ok(plain),
        }
    }

    /// The content type of the answer, if it has one.
    pub(super) fn media_type(&self) -> Option<&str> {
        let is_json = self.json.is_some() || self.echo.is_some();
        self.content_type.as_deref().or(is_json.then_some("application/json"))
    }

    pub(super) fn body_problem(&self) -> Option<String> {
        let texts = self.base64.iter().chain(self.messages.iter().flatten());
        let is_wrong = texts.into_iter().any(|text| decode(text).is_none());
        is_wrong.then(|| "a body is not base64".to_owned())
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim()).ok()
}

fn echo(names: &[String], request: &Received) -> Value {
    let part = |name: &str| match name {
        "method" => Value::from(request.method.as_str()),
        "path" => Value::from(request.target.as_str()),
        "body" if request.body.is_empty() => Value::Null,
        "body" => Value::from(request.text()),
        "json" => request.json().unwrap_or(Value::Null),
        _ => name
            .strip_prefix("header:")
            .and_then(|name| request.header(name))
            .map_or(Value::Null, Value::from),
    };
    Value::Object(names.iter().map(|name| (name.clone(), part(name))).collect::<Map<_, _>>())
}
