//! Encodings, hashes and parts of URIs. Texts are taken by their bytes in UTF-8.

use std::fmt::Write as _;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::{Digest as _, Md5};
use sha2::Sha256;

use super::{Function, Group, Volatility, argument, function};
use crate::{
    Value,
    compute::{ComputeError, text::check_length},
    percent,
};

pub(super) const GROUP: Group = Group { title: "Bytes and the web", functions: &FUNCTIONS };

/// Base64 that others wrote, with or without `=` at the end.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

const FUNCTIONS: [Function; 10] = [
    function(
        "base64",
        "base64(x)",
        "The bytes of the text in Base64.",
        &[("base64('hé')", "\"aMOp\"")],
        |_, arguments| {
            let text = argument::text(arguments, 0)?;
            check_length(text.len().div_ceil(3).saturating_mul(4))?;
            Ok(STANDARD.encode(text.as_bytes()).into())
        },
    ),
    function(
        "from_base64",
        "from_base64(x)",
        "The text of Base64, the form for URIs included.",
        &[("from_base64('aMOp')", "\"hé\""), ("from_base64('Pz8_')", "\"???\"")],
        |_, arguments| from_base64(arguments),
    ),
    function(
        "hex",
        "hex(x)",
        "The bytes of the text as hexadecimal digits.",
        &[("hex('hé')", "\"68c3a9\"")],
        |_, arguments| {
            let text = argument::text(arguments, 0)?;
            check_length(text.len().saturating_mul(2))?;
            Ok(hexadecimal(text.as_bytes()).into())
        },
    ),
    function(
        "sha256",
        "sha256(x)",
        "The SHA-256 hash of the text, as hexadecimal digits.",
        &[(
            "sha256('abc')",
            "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"",
        )],
        |_, arguments| {
            Ok(hexadecimal(&Sha256::digest(argument::text(arguments, 0)?.as_bytes())).into())
        },
    ),
    function(
        "md5",
        "md5(x)",
        "The MD5 hash of the text, as hexadecimal digits. It protects nothing; some APIs ask for it.",
        &[("md5('abc')", "\"900150983cd24fb0d6963f7d28e17f72\"")],
        |_, arguments| {
            Ok(hexadecimal(&Md5::digest(argument::text(arguments, 0)?.as_bytes())).into())
        },
    ),
    function(
        "hmac_sha256",
        "hmac_sha256(x, key)",
        "The HMAC of the text with SHA-256 and a key, as hexadecimal digits.",
        &[(
            "hmac_sha256('what do ya want for nothing?', 'Jefe')",
            "\"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\"",
        )],
        |_, arguments| {
            let (text, key) = (argument::text(arguments, 0)?, argument::text(arguments, 1)?);
            let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes());
            // Keys of any length are taken.
            let mut mac = mac.map_err(|_| ComputeError::invalid(1, "the key is not usable"))?;
            mac.update(text.as_bytes());
            Ok(hexadecimal(&mac.finalize().into_bytes()).into())
        },
    ),
    function(
        "url_encode",
        "url_encode(x)",
        "The text as part of a URI: all but letters, digits and `-._~` as `%` and hexadecimal digits.",
        &[("url_encode('a b/é')", "\"a%20b%2F%C3%A9\"")],
        |_, arguments| {
            let text = argument::text(arguments, 0)?;
            check_length(text.len().saturating_mul(3))?;
            let mut out = String::new();
            let is_unreserved = |byte: u8| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
            };
            percent::encode_except(&text, is_unreserved, &mut out);
            Ok(out.into())
        },
    ),
    function(
        "url_decode",
        "url_decode(x)",
        "The text without those escapes.",
        &[("url_decode('a%20b+c')", "\"a b+c\"")],
        |_, arguments| {
            let text = argument::text(arguments, 0)?;
            let decoded = percent::decode(&text).map_err(|_| {
                ComputeError::invalid(
                    0,
                    "the text has a `%` that is no escape, or no UTF-8 behind it",
                )
            })?;
            Ok(decoded.as_ref().into())
        },
    ),
    function(
        "url_part",
        "url_part(x, part)",
        "A part of a URI as it is written: `scheme`, `user`, `host`, `port`, `path`, `query` or \
         `fragment`; null if it has none.",
        &[
            ("url_part('https://api.test:8080/a?b=1#c', 'host')", "\"api.test\""),
            ("url_part('https://api.test:8080/a?b=1#c', 'port')", "\"8080\""),
            ("url_part('https://api.test/a?b=1', 'query')", "\"b=1\""),
            ("url_part('/a', 'host')", "null"),
        ],
        |_, arguments| url_part(arguments),
    ),
    Function {
        volatility: Volatility::Row,
        ..function(
            "uuid",
            "uuid()",
            "A random UUID (version 4), another one for each row.",
            &[("length(uuid())", "36")],
            |context, _| {
                // Version 4, variant of RFC 9562.
                let bits =
                    context.random() & !(0xf000 << 64 | 0xc000 << 48) | 0x4000 << 64 | 0x8000 << 48;
                let digits = format!("{bits:032x}");
                let parts =
                    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
                Ok(parts.join("-").into())
            },
        )
    },
];

fn hexadecimal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a text never fails.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn from_base64(arguments: &[Value]) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    let is_for_uris = text.contains(['-', '_']);
    let alphabet = if is_for_uris { alphabet::URL_SAFE } else { alphabet::STANDARD };
    let bytes = GeneralPurpose::new(&alphabet, LENIENT)
        .decode(text.trim())
        .map_err(|error| ComputeError::invalid(0, format!("the text is no Base64: {error}")))?;
    let decoded = String::from_utf8(bytes);
    decoded
        .map(Value::from)
        .map_err(|_| ComputeError::invalid(0, "the bytes of the Base64 are no text in UTF-8"))
}

fn url_part(arguments: &[Value]) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    let wanted = argument::text(arguments, 1)?;
    let parts = UriParts::of(&text);
    let part = match wanted.as_str() {
        "scheme" => parts.scheme,
        "user" => parts.user,
        "host" => parts.host,
        "port" => parts.port,
        "path" => Some(parts.path),
        "query" => parts.query,
        "fragment" => parts.fragment,
        _ => {
            let wanted = "'scheme', 'user', 'host', 'port', 'path', 'query' or 'fragment'";
            return Err(ComputeError::wrong(1, &arguments[1], wanted));
        }
    };
    Ok(part.map_or(Value::Null, |part| text.share(part).into()))
}

/// A URI taken apart as RFC 3986 does in its appendix B; any text is one.
struct UriParts<'t> {
    scheme: Option<&'t str>,
    user: Option<&'t str>,
    host: Option<&'t str>,
    port: Option<&'t str>,
    path: &'t str,
    query: Option<&'t str>,
    fragment: Option<&'t str>,
}

impl<'t> UriParts<'t> {
    fn of(text: &'t str) -> Self {
        let (rest, fragment) = split(text, '#');
        let (rest, query) = split(rest, '?');
        let (scheme, rest) = match rest.split_once(':') {
            Some((scheme, behind)) if is_scheme(scheme) => (Some(scheme), behind),
            _ => (None, rest),
        };
        let Some(behind) = rest.strip_prefix("//") else {
            return Self {
                scheme,
                user: None,
                host: None,
                port: None,
                path: rest,
                query,
                fragment,
            };
        };
        let (authority, path) = behind.split_at(behind.find('/').unwrap_or(behind.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        // A colon inside of brackets belongs to an IPv6 address.
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (host, None),
        };
        let port = port.filter(|port| !port.is_empty());
        Self { scheme, user, host: Some(host), port, path, query, fragment }
    }
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, behind)) => (before, Some(behind)),
        None => (text, None),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_taken_apart() {
        let parts = UriParts::of("https://me:pw@[2001:db8::1]:8080/a:b/c?d=e?f#g?h");
        assert_eq!(parts.scheme, Some("https"));
        assert_eq!(parts.user, Some("me:pw"));
        assert_eq!(parts.host, Some("[2001:db8::1]"));
        assert_eq!(parts.port, Some("8080"));
        assert_eq!(parts.path, "/a:b/c");
        assert_eq!(parts.query, Some("d=e?f"));
        assert_eq!(parts.fragment, Some("g?h"));
        let parts = UriParts::of("http://[::1]");
        assert_eq!((parts.host, parts.port, parts.path), (Some("[::1]"), None, ""));
        let parts = UriParts::of("mailto:a@b.test");
        assert_eq!((parts.scheme, parts.host, parts.path), (Some("mailto"), None, "a@b.test"));
        let parts = UriParts::of("a/b:c");
        assert_eq!((parts.scheme, parts.path), (None, "a/b:c"));
    }
}
