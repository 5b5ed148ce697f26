//! Cache keys: what makes two requests the same request (CAC-8). Canonical JSON takes the
//! place of the normaliser of ql.io 0.8, which dropped what made requests differ (CAC-9).
//!
//! In: the request as it would be sent. Out: one short text that all tiers use. Credentials and
//! bodies enter as digests only, so a key may appear in events and logs.

use std::sync::Arc;

use qlio_data::{Text, Value, codec::json};
use sha2::{Digest, Sha256};

/// Product and version of the stored form. Raise the version when [`super::record`] changes.
pub(super) const PREFIX: &str = "qlio:2:";

/// Marks keys that a hook computed, so that they never equal a digest.
const COMPUTED: &str = "qlio:2:=";

/// Headers that say nothing about the answer.
const SKIPPED_HEADERS: [&str; 13] = [
    "connection",
    "host",
    "referer",
    "content-length",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailers",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "request-id",
];

/// What the default key is made of.
#[derive(Debug, Clone, Copy)]
pub struct KeyParts<'a> {
    /// The table's name.
    pub table: &'a str,
    /// The method, in any case.
    pub method: &'a str,
    /// The URI as sent.
    pub uri: &'a str,
    /// The headers that the table defines or a hook has set, in any case and order.
    pub headers: &'a [(&'a str, &'a str)],
    /// The configured name of the request-id header, which is left out like the skip list.
    pub request_id_header: &'a str,
    /// The body as sent.
    pub body: &'a [u8],
}

/// The name of one entry. Cloning shares the text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheKey(Arc<str>);

impl CacheKey {
    /// The key of a request: prefix and SHA-256 of the canonical JSON of its parts.
    pub fn of(parts: &KeyParts<'_>) -> Self {
        let mut headers: Vec<(String, &str)> = parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), *value))
            .filter(|(name, _)| !is_skipped(name, parts.request_id_header))
            .collect();
        // Stable: values of one name keep their order, which may matter to the upstream.
        headers.sort_by(|left, right| left.0.cmp(&right.0));
        let headers = headers
            .into_iter()
            .map(|(name, value)| Value::array(vec![text(&name), text(value)]))
            .collect();
        let list = Value::array(vec![
            text(parts.table),
            text(&parts.method.to_ascii_lowercase()),
            text(parts.uri),
            Value::array(headers),
            text(&hex(&Sha256::digest(parts.body))),
        ]);
        let digest = hex(&Sha256::digest(json::to_string(&list)));
        Self(format!("{PREFIX}{digest}").into())
    }

    /// The key that a "compute key" hook gave; `None` for empty text, which means "don't cache".
    pub fn computed(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(format!("{COMPUTED}{text}").into()))
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for CacheKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_skipped(name: &str, request_id_header: &str) -> bool {
    SKIPPED_HEADERS.contains(&name) || name.eq_ignore_ascii_case(request_id_header)
}

fn text(text: &str) -> Value {
    Value::String(Text::from(text))
}

/// Lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: KeyParts<'_> = KeyParts {
        table: "crew.rota",
        method: "get",
        uri: "http://api.harbor.test/rota?d=1",
        headers: &[],
        request_id_header: "x-trace",
        body: b"",
    };

    #[test]
    fn a_key_is_the_prefix_and_a_digest() {
        let key = CacheKey::of(&PARTS);
        let digest = key.as_str().strip_prefix("qlio:2:").expect("prefix");
        assert_eq!(digest.len(), 64);
        assert!(digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        // The text itself, so that a changed canonical form cannot pass unseen.
        let list = format!(
            r#"["crew.rota","get","http://api.harbor.test/rota?d=1",[],"{}"]"#,
            hex(&Sha256::digest(b""))
        );
        assert_eq!(digest, hex(&Sha256::digest(list)));
    }

    #[test]
    fn every_part_makes_a_difference() {
        let variants = [
            PARTS,
            KeyParts { table: "crew", ..PARTS },
            KeyParts { method: "post", ..PARTS },
            KeyParts { uri: "http://api.harbor.test/rota?d=2", ..PARTS },
            KeyParts { headers: &[("X-L", "nb")], ..PARTS },
            KeyParts { headers: &[("X-L", "sv")], ..PARTS },
            KeyParts { body: b"{}", ..PARTS },
        ];
        let mut keys: Vec<_> = variants.iter().map(CacheKey::of).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), variants.len());
    }

    #[test]
    fn header_case_and_order_make_none() {
        let one = KeyParts { headers: &[("X-A", "1"), ("accept", "json")], ..PARTS };
        let other = KeyParts { headers: &[("Accept", "json"), ("x-a", "1")], ..PARTS };
        assert_eq!(CacheKey::of(&one), CacheKey::of(&other));
    }

    #[test]
    fn values_of_one_header_keep_their_order() {
        let one = KeyParts { headers: &[("x-a", "1"), ("x-a", "2")], ..PARTS };
        let other = KeyParts { headers: &[("x-a", "2"), ("x-a", "1")], ..PARTS };
        assert_ne!(CacheKey::of(&one), CacheKey::of(&other));
    }

    #[test]
    fn headers_of_the_connection_and_the_request_id_are_left_out() {
        let headers = [
            ("Host", "h"),
            ("User-Agent", "u"),
            ("Request-Id", "r"),
            ("X-Trace", "t"),
            ("TE", "trailers"),
            ("content-length", "4"),
        ];
        assert_eq!(CacheKey::of(&KeyParts { headers: &headers, ..PARTS }), CacheKey::of(&PARTS));
    }

    #[test]
    fn parts_cannot_run_into_each_other() {
        let one = KeyParts { table: "a\",\"b", method: "get", ..PARTS };
        let other = KeyParts { table: "a", method: "b\",\"get", ..PARTS };
        assert_ne!(CacheKey::of(&one), CacheKey::of(&other));
    }

    #[test]
    fn a_computed_key_replaces_all_of_it_and_is_never_a_digest() {
        let digest = CacheKey::of(&PARTS);
        let computed = CacheKey::computed(&digest.as_str()["qlio:2:".len()..]).expect("key");
        assert_ne!(computed, digest);
        assert_eq!(CacheKey::computed("spring tide").expect("key").as_str(), "qlio:2:=spring tide");
        assert_eq!(CacheKey::computed(""), None);
    }
}
