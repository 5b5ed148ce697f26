//! The head of a response, and how its body is framed (RFC 9112, 4 and 6).

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::{Method, StatusCode};
use smallvec::SmallVec;

use super::{Body, ErrorKind, Fault, Head, Headers};

/// The longest head, in bytes.
pub(super) const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The most headers in a head.
const HEADERS_MAX: usize = 100;

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Framing {
    /// There is none.
    None,
    /// After so many bytes.
    Length(u64),
    /// With the last chunk.
    Chunked,
    /// With the connection.
    UntilClose,
}

/// What was found at the start of some bytes; `length` is that of the head.
#[derive(Debug)]
pub(super) enum Parsed {
    Partial,
    /// A head that announces another one (status 1xx).
    Interim {
        length: usize,
    },
    Final {
        length: usize,
        head: Head,
        stays_open: bool,
    },
}

/// Reads a head from the start of `arrived`, without copying values.
pub(super) fn parse(arrived: &Bytes, method: &Method) -> Result<Parsed, Fault> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        arrived,
        &mut headers,
    );
    let length = match parsed {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(Parsed::Partial),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Fault::new(
                ErrorKind::Protocol,
                format_args!("more than {HEADERS_MAX} headers"),
            ));
        }
        Err(cause) => return Err(Fault::new(ErrorKind::Protocol, cause)),
    };
    let status = StatusCode::from_u16(response.code.unwrap_or_default())
        .map_err(|cause| Fault::new(ErrorKind::Protocol, cause))?;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Fault::new(ErrorKind::Protocol, "another protocol, which nobody asked for"));
    }
    if status.is_informational() {
        return Ok(Parsed::Interim { length });
    }
    let is_http10 = response.version == Some(0);
    let mut control = Control::default();
    let lines = response.headers.iter().map(|line| {
        control.note(line.name, line.value);
        (line.name, line.value)
    });
    let headers = Headers::of_lines(&arrived.slice(..length), lines)
        .ok_or_else(|| Fault::new(ErrorKind::Protocol, "invalid HTTP header name"))?;
    let framing = framing(method, status, &control, is_http10)?;
    let stays_open = framing != Framing::UntilClose && control.stays_open(is_http10);
    let head = Head { status, headers, body: Body::Framed(framing) };
    Ok(Parsed::Final { length, head, stays_open })
}

/// The values of one name; most heads have at most one.
type Values<'h> = SmallVec<[&'h [u8]; 1]>;

/// The headers that say how a body ends and whether the connection goes on, noted while all are read.
#[derive(Default)]
struct Control<'h> {
    connection: Values<'h>,
    content_length: Values<'h>,
    transfer_encoding: Values<'h>,
}

impl<'h> Control<'h> {
    #[inline]
    fn note(&mut self, name: &str, value: &'h [u8]) {
        // Few names are as long as one of these, so that few are compared.
        let values = if name.eq_ignore_ascii_case("content-length") {
            &mut self.content_length
        } else if name.eq_ignore_ascii_case("connection") {
            &mut self.connection
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            &mut self.transfer_encoding
        } else {
            return;
        };
        values.push(value);
    }

    /// Whether the connection can be used again after a body whose end is known.
    fn stays_open(&self, is_http10: bool) -> bool {
        let has_token = |token| has_token(self.connection.iter().copied(), token);
        // Two lengths are a sign of somebody in between who counts differently (RFC 9112, 6.3).
        let is_twofold =
            !self.transfer_encoding.is_empty() && (is_http10 || !self.content_length.is_empty());
        !is_twofold && !has_token("close") && (!is_http10 || has_token("keep-alive"))
    }
}

/// RFC 9112, 6.3, without what is only for servers and tunnels.
fn framing(
    method: &Method,
    status: StatusCode,
    control: &Control<'_>,
    is_http10: bool,
) -> Result<Framing, Fault> {
    if *method == Method::HEAD
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
    {
        return Ok(Framing::None);
    }
    let mut is_chunked = false;
    for coding in tokens(control.transfer_encoding.iter().copied()) {
        if is_chunked || !(coding.eq_ignore_ascii_case(b"chunked") || coding == b"identity") {
            return Err(Fault::new(
                ErrorKind::Protocol,
                format_args!("the transfer coding `{}` is not supported", coding.escape_ascii()),
            ));
        }
        is_chunked = coding != b"identity";
    }
    if is_chunked {
        return if is_http10 {
            Err(Fault::new(ErrorKind::Protocol, "chunks in HTTP/1.0"))
        } else {
            Ok(Framing::Chunked)
        };
    }
    let mut length = None;
    for value in &control.content_length {
        // Some name the same length twice, in one line or in several.
        for number in value.split(|byte| *byte == b',') {
            let number = decimal(number.trim_ascii()).ok_or_else(|| {
                Fault::new(ErrorKind::Protocol, "`content-length` is not a number")
            })?;
            if length.is_some_and(|length| length != number) {
                return Err(Fault::new(ErrorKind::Protocol, "`content-length` contradicts itself"));
            }
            length = Some(number);
        }
    }
    Ok(match length {
        None => Framing::UntilClose,
        Some(0) => Framing::None,
        Some(length) => Framing::Length(length),
    })
}

/// Digits only; `parse` alone would take a sign too.
fn decimal(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The members of a header that is a list, from its values.
fn tokens<'a>(values: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    values
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

/// Whether a header that is a list has this member, in any case.
pub(super) fn has_token<'a>(mut values: impl Iterator<Item = &'a [u8]>, wanted: &str) -> bool {
    let is_wanted = |token: &[u8]| token.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes());
    values.any(|value| value.split(|byte| *byte == b',').any(is_wanted))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Framing and whether the connection stays open.
    fn read(method: &Method, head: &str) -> Result<(Framing, bool), String> {
        match parse(&Bytes::from(format!("{head}\r\n\r\nrest")), method) {
            Ok(Parsed::Final {
                length,
                head: Head { body: Body::Framed(framing), .. },
                stays_open,
            }) => {
                assert_eq!(length, head.len() + 4);
                Ok((framing, stays_open))
            }
            Ok(other) => panic!("{other:?}"),
            Err(fault) => {
                assert_eq!(fault.kind, ErrorKind::Protocol);
                Err(fault.detail.map(Into::into).unwrap_or_default())
            }
        }
    }

    #[test]
    fn a_body_is_framed_as_the_head_says() {
        use Framing::{Chunked, Length, None, UntilClose};
        for (head, expected) in [
            ("HTTP/1.1 200 X\r\ncontent-length: 5", (Length(5), true)),
            ("HTTP/1.1 200 X\r\ncontent-length: 0", (None, true)),
            ("HTTP/1.1 200 X\r\ncontent-length: 5, 5\r\ncontent-length: 5", (Length(5), true)),
            ("HTTP/1.1 200 X\r\ncontent-length: 5\r\nconnection: x, CLOSE", (Length(5), false)),
            ("HTTP/1.0 200 X\r\ncontent-length: 5", (Length(5), false)),
            ("HTTP/1.0 200 X\r\ncontent-length: 5\r\nConnection: Keep-Alive", (Length(5), true)),
            ("HTTP/1.1 200 X\r\nTransfer-Encoding: Chunked", (Chunked, true)),
            ("HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\ncontent-length: 5", (Chunked, false)),
            (
                "HTTP/1.1 200 X\r\ntransfer-encoding: identity\r\ncontent-length: 5",
                (Length(5), false),
            ),
            ("HTTP/1.1 200 X", (UntilClose, false)),
            ("HTTP/1.1 204 X\r\ncontent-length: 5", (None, true)),
            ("HTTP/1.1 304 X\r\ntransfer-encoding: chunked", (None, true)),
        ] {
            assert_eq!(read(&Method::GET, head), Ok(expected), "{head}");
        }
        let head = "HTTP/1.1 200 X\r\ncontent-length: 5";
        assert_eq!(read(&Method::HEAD, head), Ok((None, true)));
    }

    #[test]
    fn what_can_be_understood_in_two_ways_is_refused() {
        for head in [
            "HTTP/1.1 200 X\r\ncontent-length: 5\r\ncontent-length: 6",
            "HTTP/1.1 200 X\r\ncontent-length: 5, 6",
            "HTTP/1.1 200 X\r\ncontent-length: +5",
            "HTTP/1.1 200 X\r\ncontent-length: 5x",
            "HTTP/1.1 200 X\r\ncontent-length:",
            "HTTP/1.1 200 X\r\ncontent-length: 99999999999999999999",
            "HTTP/1.1 200 X\r\ntransfer-encoding: gzip, chunked",
            "HTTP/1.1 200 X\r\ntransfer-encoding: chunked, chunked",
            "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\ntransfer-encoding: identity",
            "HTTP/1.0 200 X\r\ntransfer-encoding: chunked",
            "HTTP/1.1 101 X\r\nupgrade: y",
            "HTTP/1.1 099 X",
            "HTTP/1.1 200 X\r\nbad name: y",
            "HTTP/2 200 X",
            "SSH-2.0-Server",
        ] {
            assert!(read(&Method::GET, head).is_err(), "{head}");
        }
        let many = "x: y\r\n".repeat(HEADERS_MAX + 1);
        let refused = read(&Method::GET, &format!("HTTP/1.1 200 X\r\n{}", many.trim_end()));
        assert_eq!(refused, Err("more than 100 headers".to_owned()));
    }

    #[test]
    fn an_interim_response_is_no_answer() {
        let parsed = parse(&Bytes::from_static(b"HTTP/1.1 103 X\r\nlink: y\r\n\r\n"), &Method::GET);
        assert!(matches!(parsed, Ok(Parsed::Interim { length: 27 })));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_head_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let line = [b"HTTP/1.1 200 X\r\n", &bytes[..]].concat();
            for bytes in [bytes, line] {
                let length_max = bytes.len();
                if let Ok(Parsed::Final { length, .. }) = parse(&bytes.into(), &Method::GET) {
                    prop_assert!(length <= length_max);
                }
            }
        }
    }
}
