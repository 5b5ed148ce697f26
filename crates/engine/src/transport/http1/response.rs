//! The head of a response (RFC 9112, 4).

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::{Method, StatusCode};
use qlio_http1::framing::{Control, Framing};

use super::{Body, ErrorKind, Fault, Head, Headers};

/// The longest head, in bytes.
pub(super) const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The most headers in a head.
const HEADERS_MAX: usize = 100;

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
    let framing = control.response_framing(method, status, is_http10)?;
    let stays_open = framing != Framing::UntilClose && control.stays_open(is_http10);
    let head = Head { status, headers, body: Body::Framed(framing) };
    Ok(Parsed::Final { length, head, stays_open })
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
