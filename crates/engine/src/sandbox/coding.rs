//! Host services for bytes: text codings, digests, random bytes.
//!
//! Scripts hand bytes over as base64, which the interpreter encodes natively; the interpreter's own
//! memory is never borrowed.
#![expect(clippy::needless_pass_by_value, reason = "the interpreter hands arguments over by value")]

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use rquickjs::{
    Ctx, Exception, Function, Object as JsObject, String as JsString, Value as JsValue,
};
use sha2::Digest;

use super::{convert, instance::byte_array};

/// Random bytes that one call may ask for.
const RANDOM_BYTES_MAX: usize = 65_536;

/// Adds the services to the object that the kernel gets.
pub(super) fn add<'js>(ctx: &Ctx<'js>, services: &JsObject<'js>) -> rquickjs::Result<()> {
    services.set("decode", Function::new(ctx.clone(), decode)?)?;
    services.set("encode", Function::new(ctx.clone(), encode)?)?;
    services.set("digest", Function::new(ctx.clone(), digest)?)?;
    services.set("random", Function::new(ctx.clone(), random)?)
}

fn bytes_of(ctx: &Ctx<'_>, base64: &str) -> rquickjs::Result<Vec<u8>> {
    STANDARD
        .decode(base64)
        .map_err(|_| Exception::throw_message(ctx, "the bytes were not handed over as base64"))
}

/// Bytes to text; undecodable bytes become U+FFFD.
fn decode(ctx: Ctx<'_>, base64: String, encoding: String) -> rquickjs::Result<JsValue<'_>> {
    let bytes = bytes_of(&ctx, &base64)?;
    let text = match encoding.as_str() {
        "latin1" => bytes.iter().map(|&byte| char::from(byte)).collect(),
        "ascii" => bytes.iter().map(|&byte| char::from(byte & 0x7f)).collect(),
        "ucs2" => {
            let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{fffd}')).collect()
        }
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    };
    convert::js_text(&ctx, &text)
}

/// Text to bytes. Base64 and hexadecimal digits are read leniently, as far as they go.
fn encode<'js>(
    ctx: Ctx<'js>,
    text: JsString<'js>,
    encoding: String,
) -> rquickjs::Result<JsValue<'js>> {
    let text = convert::string_text(&ctx, &text)?;
    let bytes = match encoding.as_str() {
        "base64" => lenient_base64(&text),
        "hex" => lenient_hex(&text),
        "ucs2" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        // The low byte of each UTF-16 unit.
        "latin1" => text.encode_utf16().map(|unit| unit.to_le_bytes()[0]).collect(),
        _ => text.into_bytes(),
    };
    byte_array(&ctx, &bytes)
}

fn lenient_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for character in text.bytes() {
        let digit = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => continue,
        };
        held = held << 6 | u32::from(digit);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    bytes
}

fn lenient_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    text.as_bytes()
        .chunks_exact(2)
        .map_while(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8))
        .collect()
}

/// A hash of the bytes, or with a key the HMAC of them; undefined for an unknown algorithm.
fn digest(
    ctx: Ctx<'_>,
    algorithm: String,
    base64: String,
    key: rquickjs::function::Opt<Option<String>>,
) -> rquickjs::Result<Option<JsValue<'_>>> {
    let bytes = bytes_of(&ctx, &base64)?;
    let key = key.0.flatten().map(|key| bytes_of(&ctx, &key)).transpose()?;
    macro_rules! with {
        ($hash:ty) => {
            match &key {
                None => <$hash>::digest(&bytes).to_vec(),
                Some(key) => {
                    let Ok(mut mac) = <Hmac<$hash> as KeyInit>::new_from_slice(key) else {
                        return Ok(None);
                    };
                    mac.update(&bytes);
                    mac.finalize().into_bytes().to_vec()
                }
            }
        };
    }
    let digest = match algorithm.as_str() {
        "md5" => with!(md5::Md5),
        "sha1" => with!(sha1::Sha1),
        "sha256" => with!(sha2::Sha256),
        "sha512" => with!(sha2::Sha512),
        _ => return Ok(None),
    };
    byte_array(&ctx, &digest).map(Some)
}

fn random(ctx: Ctx<'_>, count: usize) -> rquickjs::Result<JsValue<'_>> {
    if count > RANDOM_BYTES_MAX {
        return Err(Exception::throw_range(&ctx, "too many random bytes at once"));
    }
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes)
        .map_err(|_| Exception::throw_message(&ctx, "no random bytes are available"))?;
    byte_array(&ctx, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_as_far_as_they_go() {
        assert_eq!(lenient_hex("6a6g7b"), b"j");
        assert_eq!(lenient_base64("aGVs\nbG8"), b"hello");
    }
}
