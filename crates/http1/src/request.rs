//! The head of a request (RFC 9112, 2 to 3, 5 and 6).
//!
//! Lines are cut here; names, values, methods and targets are judged by the types of `http`, which hold nothing
//! that could break out of them. Raw bytes in a target, which RFC 3986 wants encoded, are encoded:
//! `GET /nf.pl?"><script>` is a request, not a fault of the protocol.

use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version, header};

use super::{
    Malformed,
    fields::split_field,
    first_line,
    framing::{Control, Framing, has_token},
    without_return,
};

/// The longest target, in bytes; the type of targets holds no more.
pub const TARGET_BYTES_MAX: usize = u16::MAX as usize - 1;

/// What a head may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes, lines and the empty line at the end included.
    pub bytes_max: usize,
    /// Header lines.
    pub lines_max: usize,
}

/// Why a head is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is no head, or one that can be understood in two ways.
    Malformed(Malformed),
    /// Its target is over [`TARGET_BYTES_MAX`], or leaves no room for anything else.
    TargetTooLong,
    /// It is over one of its [`HeadLimits`].
    TooLarge,
    /// Its body has a transfer coding that is not supported, this one.
    UnknownCoding(String),
}

impl Refusal {
    /// Of a head whose end will not come.
    pub fn broken_off() -> Self {
        Self::Malformed(Malformed::new("the request head breaks off"))
    }
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// Looks for the end of a head while it arrives, at each byte once.
#[derive(Debug, Default)]
pub struct HeadSearch {
    /// Bytes that were looked at.
    searched: usize,
    /// Where the line begins in which the search goes on.
    line_at: usize,
    /// Lines so far, without empty ones before the request line.
    lines: usize,
}

impl HeadSearch {
    /// The length of the head that `arrived` begins with, once all of it is there. Between two calls `arrived`
    /// only grows.
    ///
    /// # Errors
    /// A line that ends without a carriage return, or a head over its limits.
    pub fn find(&mut self, arrived: &[u8], limits: &HeadLimits) -> Result<Option<usize>, Refusal> {
        // No further than the limit: however it arrives, the same is found to be wrong with it.
        let reach = &arrived[..arrived.len().min(limits.bytes_max)];
        while let Some(end) = memchr::memchr(b'\n', &reach[self.searched..]) {
            let end = self.searched + end + 1;
            let is_empty = without_return(&reach[self.line_at..end - 1])?.is_empty();
            self.searched = end;
            self.line_at = end;
            // Some clients send an empty line behind a body (RFC 9112, 2.2).
            if is_empty && self.lines > 0 {
                return Ok(Some(end));
            }
            self.lines += usize::from(!is_empty);
            if self.lines > limits.lines_max + 1 {
                return Err(Refusal::TooLarge);
            }
        }
        self.searched = reach.len();
        match (arrived.len() > reach.len(), self.lines) {
            (false, _) => Ok(None),
            (true, 0) if self.line_at < reach.len() => Err(Refusal::TargetTooLong),
            (true, _) => Err(Refusal::TooLarge),
        }
    }
}

/// The head of a request, and what it says about the message and the connection.
#[derive(Debug)]
pub struct Head {
    /// Method, target, version and headers.
    pub request: Request<()>,
    /// How the body ends.
    pub framing: Framing,
    /// Whether the client wants to send further requests.
    pub stays_open: bool,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

impl Head {
    /// Reads a head whose end was found. Values are parts of `text`, without a copy.
    ///
    /// # Errors
    /// It is no head, can be understood in two ways, or its target is too long.
    pub fn parse(mut text: Bytes) -> Result<Self, Refusal> {
        let mut line = take_line(&mut text)?;
        while line.is_empty() && !text.is_empty() {
            line = take_line(&mut text)?;
        }
        let (method, target, version) = split_request_line(&line)?;
        let mut request = Request::new(());
        *request.method_mut() = Method::from_bytes(method).map_err(|_| malformed("HTTP method"))?;
        *request.version_mut() = version;
        *request.uri_mut() = parse_target(&line.slice_ref(target))?;
        let is_http10 = version == Version::HTTP_10;

        let text = text;
        let mut control = Control::default();
        let mut hosts = 0;
        let mut expects_continue = false;
        let mut headers = HeaderMap::with_capacity(HEADERS_USUAL);
        let mut rest = &text[..];
        while let Some(line) = first_line(rest)?.filter(|line| !line.is_empty()) {
            rest = &rest[line.len() + 2..];
            let (name, value) = split_field(line)?;
            control.note(name.as_str(), value);
            if name == header::HOST {
                hosts += 1;
                check_host(value)?;
            } else if name == header::EXPECT {
                expects_continue |= !is_http10 && has_token([value].into_iter(), "100-continue");
            }
            put(&mut headers, name, text.slice_ref(value))?;
        }
        let framing = control.request_framing(is_http10)?;
        // Somebody before us may have decided by another one (RFC 9112, 3.2).
        match hosts {
            1 => {}
            0 if is_http10 => {}
            0 => return Err(Malformed::new("no `host` header").into()),
            _ => return Err(Malformed::new("more than one `host` header").into()),
        }
        *request.headers_mut() = headers;
        Ok(Self { request, framing, stays_open: control.stays_open(is_http10), expects_continue })
    }
}

/// Room for the headers of most requests.
const HEADERS_USUAL: usize = 12;

fn malformed(part: &str) -> Malformed {
    Malformed::new(format!("invalid {part}"))
}

/// Takes a line, without its end, off the front of a whole head.
fn take_line(text: &mut Bytes) -> Result<Bytes, Malformed> {
    let length = first_line(text)?.map_or(text.len(), <[u8]>::len);
    let line = text.split_to(length);
    text.advance(text.len().min(2));
    Ok(line)
}

/// Method, target and version, with one space between them (RFC 9112, 3).
fn split_request_line(line: &[u8]) -> Result<(&[u8], &[u8], Version), Malformed> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    let target = words.next().unwrap_or_default();
    let version = match words.next() {
        Some(b"HTTP/1.1") => Version::HTTP_11,
        Some(b"HTTP/1.0") => Version::HTTP_10,
        _ => return Err(malformed("HTTP version")),
    };
    Ok((method, target, version))
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: Bytes) -> Result<(), Refusal> {
    let value =
        HeaderValue::from_maybe_shared(value).map_err(|_| malformed("HTTP header value"))?;
    headers.try_append(name, value).map_err(|_| Refusal::TooLarge)?;
    Ok(())
}

/// The bytes of a host and port (RFC 3986, 3.2), without a user: whoever routes by them reads them as we do.
fn check_host(value: &[u8]) -> Result<(), Malformed> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%:[]".contains(byte);
    if value.is_empty() || !value.iter().all(is_part) {
        return Err(malformed("`host` header"));
    }
    Ok(())
}

fn parse_target(target: &Bytes) -> Result<Uri, Refusal> {
    if target.is_ascii()
        && let Ok(uri) = Uri::from_maybe_shared(target.clone())
    {
        return Ok(uri);
    }
    let encoded = encode_target(target);
    if encoded.len() > TARGET_BYTES_MAX {
        return Err(Refusal::TargetTooLong);
    }
    Ok(Uri::from_maybe_shared(encoded).map_err(|_| malformed("URI"))?)
}

/// Encodes bytes that only lack their encoding; others that do not belong in a target stay, and are refused.
fn encode_target(target: &[u8]) -> Bytes {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = Vec::with_capacity(target.len() + 16);
    let mut is_query = false;
    for byte in target {
        is_query |= *byte == b'?';
        let is_raw = match byte {
            b'<' | b'>' | 0x80.. => true,
            b'`' => !is_query,
            b'"' => is_query,
            _ => false,
        };
        if is_raw {
            let digit = |nibble: u8| DIGITS[usize::from(nibble)];
            encoded.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        } else {
            encoded.push(*byte);
        }
    }
    encoded.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: HeadLimits = HeadLimits { bytes_max: 300, lines_max: 4 };

    /// What is told of a head: method, target, headers, framing, and what is expected of the connection.
    type Told = (String, String, Vec<(String, Vec<u8>)>, Framing, bool, bool);

    /// The head at the start of what arrives in pieces, and the bytes behind it; `None` if it is not complete.
    fn read(pieces: &[&[u8]]) -> Result<Option<(Told, Vec<u8>)>, Refusal> {
        let mut search = HeadSearch::default();
        let mut arrived = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            arrived.extend_from_slice(piece);
            let Some(length) = search.find(&arrived, &LIMITS)? else { continue };
            let mut rest = arrived.split_off(length);
            rest.extend(pieces[at + 1..].concat());
            let Head { request, framing, stays_open, expects_continue } =
                Head::parse(arrived.into())?;
            let headers = request.headers().iter();
            let headers = headers
                .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
                .collect();
            let (method, target) = (request.method().to_string(), request.uri().to_string());
            let told = (method, target, headers, framing, stays_open, expects_continue);
            return Ok(Some((told, rest)));
        }
        Ok(None)
    }

    #[track_caller]
    fn read_whole(text: &str) -> Told {
        read(&[text.as_bytes()]).expect(text).expect("a whole head").0
    }

    #[test]
    fn a_head_says_what_is_asked_for() {
        let text = "\r\nPOST /a?b HTTP/1.1\r\nHost: h\r\nX:  y z\t\r\nExpect: 100-Continue\r\n\
                    Content-Length: 5\r\n\r\n";
        let (method, target, headers, framing, stays_open, expects_continue) = read_whole(text);
        assert_eq!((method.as_str(), target.as_str()), ("POST", "/a?b"));
        assert_eq!(headers[1], ("x".to_owned(), b"y z".to_vec()));
        assert_eq!((framing, stays_open, expects_continue), (Framing::Length(5), true, true));
        let old = "GET / HTTP/1.0\r\nexpect: 100-continue\r\n\r\n";
        let (.., framing, stays_open, expects_continue) = read_whole(old);
        assert_eq!((framing, stays_open, expects_continue), (Framing::None, false, false));
    }

    #[test]
    fn only_what_would_be_refused_is_encoded() {
        for (target, expected) in [
            ("/a\"b<c>d`e?f\"g<h>i`j?<", "/a\"b%3Cc%3Ed%60e?f%22g%3Ch%3Ei`j?%3C"),
            ("/{}|\\^[]%3c%?{`", "/{}|\\^[]%3c%?{`"),
            ("/é?é", "/%C3%A9?%C3%A9"),
            ("http://h/<", "http://h/%3C"),
            ("*", "*"),
        ] {
            let (_, told, ..) = read_whole(&format!("GET {target} HTTP/1.1\r\nhost: h\r\n\r\n"));
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn the_limits_are_the_last_that_is_taken() {
        let of_bytes = |bytes: usize| format!("GET / HTTP/1.0\r\na: {}\r\n\r\n", "x".repeat(bytes));
        let frame = of_bytes(0).len();
        read_whole(&of_bytes(LIMITS.bytes_max - frame));
        let long = of_bytes(LIMITS.bytes_max - frame + 1);
        assert_eq!(read(&[long.as_bytes()]), Err(Refusal::TooLarge));
        // Before its end has come, too.
        assert_eq!(read(&[&long.as_bytes()[..=LIMITS.bytes_max]]), Err(Refusal::TooLarge));
        let of_lines = |lines| format!("GET / HTTP/1.0\r\n{}\r\n", "a: b\r\n".repeat(lines));
        read_whole(&of_lines(LIMITS.lines_max));
        let many = of_lines(LIMITS.lines_max + 1);
        assert_eq!(read(&[many.as_bytes()]), Err(Refusal::TooLarge));
        let target = format!("GET /{}", "x".repeat(LIMITS.bytes_max));
        assert_eq!(read(&[target.as_bytes()]), Err(Refusal::TargetTooLong));
        assert_eq!(read(&["\r\n".repeat(200).as_bytes()]), Err(Refusal::TooLarge));
    }

    #[test]
    fn a_target_that_grows_too_long_is_refused() {
        let target = format!("/{}", "<".repeat(TARGET_BYTES_MAX / 3 + 1));
        assert!(target.len() < TARGET_BYTES_MAX);
        let refused = parse_target(&target.into());
        assert_eq!(refused.expect_err("too long"), Refusal::TargetTooLong);
    }

    /// Heads, and what is nearly one.
    fn heads() -> impl Strategy<Value = String> {
        "(\r\n){0,2}(GET|P<|) (/[a<>\"`?é]{0,6}|) HTTP/1\\.[012](\r\n|\n)\
         (([a-z :]{1,3}|host|content-length|transfer-encoding|connection|expect):[ \t]?\
         ([0-9]{1,2}|chunked|close|h|[ -~\u{0}]{0,5})(\r\n|\r\n |\n)){0,5}(\r\n|)x{0,3}"
    }

    proptest! {
        #[test]
        fn a_head_is_the_same_however_it_arrives(text in heads(), piece_bytes in 1..60_usize) {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(piece_bytes).collect();
            prop_assert_eq!(read(&pieces), read(&[text.as_bytes()]), "{:?}", text);
        }

        #[test]
        fn any_bytes_are_a_head_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let line = [b"GET / HTTP/1.1\r\nhost: h\r\n", &bytes[..]].concat();
            for bytes in [bytes, line] {
                if let Ok(Some((_, rest))) = read(&[&bytes]) {
                    prop_assert!(rest.len() < bytes.len());
                }
            }
        }
    }
}
