//! Media types, and which decoder a body gets because of them (FMT-8, FMT-9).
//!
//! In: the text of a `content-type` (or what a patch put in its place). Out: a [`MediaType`] in
//! normal form and the [`Decoder`] it calls for. Parsing never fails: servers send all sorts of
//! things, and a type that nobody knows simply has no decoder. It does not decide about empty
//! bodies, patches or declared formats.

use std::fmt;

/// A media type: lower-case type and subtype, and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaType {
    /// The part before the slash, `text` in `text/csv`.
    pub main: String,
    /// The part after the slash, `csv` in `text/csv`; empty if there is no slash.
    pub sub: String,
    /// Parameters in order: lower-case name, and the value without its quotes. A flag such as
    /// `header` in `text/csv;header` has no value.
    pub params: Vec<(String, Option<String>)>,
    /// Nothing names a type, so that JSON is taken for granted.
    pub is_assumed: bool,
}

/// How a body becomes a value (FMT-9, FMT-23).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoder {
    /// XML.
    Xml,
    /// JSON.
    Json,
    /// CSV, with names in its first record or without.
    Csv {
        /// Whether the first record names the columns.
        header: bool,
    },
    /// JSON, else XML, else the text itself.
    Text,
    /// `MessagePack`.
    MessagePack,
    /// CBOR.
    Cbor,
}

impl MediaType {
    /// Reads a media type. Of a comma list the first counts; nothing at all means JSON; the words
    /// `XML` and `JSON` and the type `text/xml` stand for the `application/` types.
    pub fn parse(text: &str) -> Self {
        let first = first_of_list(text).trim();
        let is_assumed = first.is_empty();
        let first = match first {
            "" | "JSON" => "application/json",
            "XML" => "application/xml",
            other => other,
        };
        let mut parts = split_outside_quotes(first, b';');
        let essence = parts.next().unwrap_or_default();
        let (main, sub) = essence.split_once('/').unwrap_or((essence, ""));
        let (mut main, sub) = (lower_without_blanks(main), lower_without_blanks(sub));
        if main == "text" && sub == "xml" {
            "application".clone_into(&mut main);
        }
        let params = parts.filter_map(parameter).collect();
        Self { main, sub, params, is_assumed }
    }

    /// Whether a parameter is present, with a value or without.
    pub fn has_param(&self, name: &str) -> bool {
        self.params.iter().any(|(param, _)| param.eq_ignore_ascii_case(name))
    }

    /// The value of a parameter; the first counts.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params
            .iter()
            .find(|(param, _)| param.eq_ignore_ascii_case(name))
            .and_then(|(_, value)| value.as_deref())
    }

    /// The `charset` parameter, if it names one.
    pub fn charset(&self) -> Option<&str> {
        self.param("charset").filter(|charset| !charset.is_empty())
    }

    /// Subtype `xml`, or one ending in `+xml`.
    pub fn is_xml(&self) -> bool {
        self.sub == "xml" || self.sub.ends_with("+xml")
    }

    /// Subtype `json`, one ending in `+json`, or one of the script types that JSON was sent as.
    pub fn is_json(&self) -> bool {
        matches!(self.sub.as_str(), "json" | "javascript" | "x-javascript")
            || self.sub.ends_with("+json")
    }

    /// Subtype `csv`.
    pub fn is_csv(&self) -> bool {
        self.sub == "csv"
    }

    /// Whether CSV of this type names its columns in the first record: the parameter `header` is
    /// there and is not `absent` (FMT-20).
    pub fn has_csv_header(&self) -> bool {
        self.has_param("header")
            && !self.param("header").is_some_and(|value| value.eq_ignore_ascii_case("absent"))
    }

    /// The decoder for a body of this type; `None` is the error `No transformer available`.
    pub fn decoder(&self) -> Option<Decoder> {
        if self.is_xml() {
            Some(Decoder::Xml)
        } else if self.is_json() {
            Some(Decoder::Json)
        } else if self.is_csv() {
            Some(Decoder::Csv { header: self.has_csv_header() })
        } else if self.main == "text" {
            Some(Decoder::Text)
        } else if matches!(self.sub.as_str(), "msgpack" | "x-msgpack" | "vnd.msgpack") {
            Some(Decoder::MessagePack)
        } else if self.sub == "cbor" || self.sub.ends_with("+cbor") {
            Some(Decoder::Cbor)
        } else {
            None
        }
    }
}

/// Prints the type, and the parameters with quotes where their values need them.
impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.main)?;
        if !self.sub.is_empty() {
            write!(f, "/{}", self.sub)?;
        }
        for (name, value) in &self.params {
            write!(f, ";{name}")?;
            match value {
                Some(value) if !value.is_empty() && value.bytes().all(is_token_byte) => {
                    write!(f, "={value}")?;
                }
                Some(value) => {
                    write!(f, "=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))?;
                }
                None => {}
            }
        }
        Ok(())
    }
}

/// The bytes of an HTTP token (RFC 9110, 5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn lower_without_blanks(text: &str) -> String {
    // As nearly all types come.
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return text.to_ascii_lowercase();
    }
    text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect()
}

fn first_of_list(text: &str) -> &str {
    split_outside_quotes(text, b',').find(|item| !item.trim().is_empty()).unwrap_or_default()
}

/// Splits at `separator`, except inside double quotes.
fn split_outside_quotes(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let current = rest?;
        let mut is_quoted = false;
        let mut is_escaped = false;
        for (at, byte) in current.bytes().enumerate() {
            if is_escaped {
                is_escaped = false;
            } else if is_quoted && byte == b'\\' {
                is_escaped = true;
            } else if byte == b'"' {
                is_quoted = !is_quoted;
            } else if byte == separator && !is_quoted {
                rest = Some(&current[at + 1..]);
                return Some(&current[..at]);
            }
        }
        rest = None;
        Some(current)
    })
}

fn parameter(text: &str) -> Option<(String, Option<String>)> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(unquote(value.trim()))),
        None => (text, None),
    };
    let name = lower_without_blanks(name);
    (!name.is_empty()).then_some((name, value))
}

/// Takes off double quotes and their escapes, or single quotes, which some servers send.
fn unquote(value: &str) -> String {
    if let Some(inner) = value.strip_prefix('"') {
        let mut out = String::with_capacity(inner.len());
        let mut chars = inner.chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => out.extend(chars.next()),
                other => out.push(other),
            }
        }
        return out;
    }
    let inner = value.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\''));
    inner.unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn essence(text: &str) -> String {
        let media = MediaType::parse(text);
        format!("{}/{}", media.main, media.sub)
    }

    #[test]
    fn types_are_brought_into_normal_form() {
        for (text, expected) in [
            ("", "application/json"),
            ("  ", "application/json"),
            ("JSON", "application/json"),
            ("XML", "application/xml"),
            ("text/xml", "application/xml"),
            ("Text/XML; charset=utf-8", "application/xml"),
            ("Application/JSON", "application/json"),
            (" text / csv ; header", "text/csv"),
            ("text/csv, text/html", "text/csv"),
            (", application/json", "application/json"),
            ("xml", "xml/"),
        ] {
            assert_eq!(essence(text), expected, "{text}");
        }
    }

    #[test]
    fn parameters_lose_case_blanks_and_quotes() {
        let media =
            MediaType::parse("text/csv; Header ; CHARSET = \"utf-8\" ; x=\"a;b,\\\"c\" ;; q='z'");
        assert!(media.has_param("header"));
        assert_eq!(media.param("header"), None);
        assert_eq!(media.charset(), Some("utf-8"));
        assert_eq!(media.param("x"), Some("a;b,\"c"));
        assert_eq!(media.param("q"), Some("z"));
        assert_eq!(MediaType::parse("text/plain;charset=").charset(), None);
    }

    #[test]
    fn the_decoder_follows_the_first_row_that_matches() {
        for (text, expected) in [
            ("application/xml", Some(Decoder::Xml)),
            ("application/atom+xml", Some(Decoder::Xml)),
            ("text/xml", Some(Decoder::Xml)),
            ("", Some(Decoder::Json)),
            ("text/json;charset=utf-8", Some(Decoder::Json)),
            ("application/problem+json", Some(Decoder::Json)),
            ("text/javascript", Some(Decoder::Json)),
            ("application/x-javascript", Some(Decoder::Json)),
            ("text/csv", Some(Decoder::Csv { header: false })),
            ("text/csv;header", Some(Decoder::Csv { header: true })),
            ("text/csv;header=present", Some(Decoder::Csv { header: true })),
            ("text/csv;header=absent", Some(Decoder::Csv { header: false })),
            ("application/csv", Some(Decoder::Csv { header: false })),
            ("text/html", Some(Decoder::Text)),
            ("application/msgpack", Some(Decoder::MessagePack)),
            ("application/x-msgpack", Some(Decoder::MessagePack)),
            ("application/cbor", Some(Decoder::Cbor)),
            ("application/senml+cbor", Some(Decoder::Cbor)),
            ("application/cbor-seq", None),
            ("application/octet-stream", None),
            ("application/x-protobuf", None),
            ("nonsense", None),
        ] {
            assert_eq!(MediaType::parse(text).decoder(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn printing_and_parsing_again_changes_nothing(text in ".{0,60}") {
            let media = MediaType::parse(&text);
            // A first word that is a shorthand, or blank, reads as another type.
            prop_assume!(!media.main.is_empty() && !media.main.contains('"'));
            prop_assume!(!media.sub.contains('"'));
            prop_assume!(media.params.iter().all(|(name, _)| !name.contains('"')));
            let written = MediaType { is_assumed: false, ..media.clone() };
            prop_assert_eq!(MediaType::parse(&media.to_string()), written);
        }
    }
}
