//! Any bytes from an upstream are a response over HTTP/1.1 or none, the same however they arrive, and never
//! longer than the limit. The first byte of the input chooses method and pieces.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

// The engine keeps these modules to itself; here they are compiled alone, without the engine.
#[allow(dead_code)]
#[path = "../../crates/engine/src/transport"]
mod transport {
    mod collected;
    mod headers;

    /// Stands in for the connection, which feeds these modules.
    #[path = "http1"]
    pub mod http1 {
        mod receiving;
        mod response;

        use bytes::{Buf, Bytes};
        use http::{HeaderMap, Method, StatusCode};
        use qlio_http1::framing::Framing;
        use receiving::Receiving;
        use response::{Parsed, parse};

        use super::headers::Headers;

        #[derive(Debug, PartialEq)]
        enum ErrorKind {
            LengthMismatch,
            Protocol,
            ResponseTooLarge { limit: usize },
            Truncated,
        }

        #[derive(Debug)]
        struct Fault {
            kind: ErrorKind,
        }

        impl Fault {
            fn new(kind: ErrorKind, _detail: impl std::fmt::Display) -> Self {
                Self { kind }
            }
        }

        impl From<ErrorKind> for Fault {
            fn from(kind: ErrorKind) -> Self {
                Self { kind }
            }
        }

        impl From<qlio_http1::Malformed> for Fault {
            fn from(_: qlio_http1::Malformed) -> Self {
                ErrorKind::Protocol.into()
            }
        }

        #[derive(Debug)]
        struct Head {
            status: StatusCode,
            headers: Headers,
            body: Body,
        }

        #[derive(Debug)]
        enum Body {
            Framed(Framing),
        }

        const LIMIT: usize = 10_000;

        type Outcome = Result<(StatusCode, HeaderMap, Bytes), ErrorKind>;

        fn receive(wire: &Bytes, method: &Method, piece_bytes: usize) -> Option<Outcome> {
            let mut wire = wire.clone();
            let head = loop {
                match parse(&wire, method) {
                    Ok(Parsed::Partial) => return None,
                    Ok(Parsed::Interim { length }) => wire.advance(length),
                    Ok(Parsed::Final { length, head, .. }) => {
                        wire.advance(length);
                        break head;
                    }
                    Err(fault) => return Some(Err(fault.kind)),
                }
            };
            let Body::Framed(framing) = head.body;
            let mut receiving = match Receiving::new(framing, LIMIT) {
                Ok(receiving) => receiving,
                Err(fault) => return Some(Err(fault.kind)),
            };
            let mut arrived = Bytes::new();
            let body = loop {
                match receiving.take(&mut arrived) {
                    Ok(Some(body)) => break Ok(body),
                    Ok(None) if wire.is_empty() => break receiving.end(),
                    Ok(None) => {}
                    Err(fault) => break Err(fault),
                }
                let piece = wire.split_to(piece_bytes.min(wire.len()));
                match receiving.room() {
                    Some(room) if !room.is_empty() => room.extend_from_slice(&piece),
                    _ => arrived = [&arrived[..], &piece].concat().into(),
                }
            };
            let headers = head.headers.map().clone();
            Some(body.map(|body| (head.status, headers, body)).map_err(|fault| fault.kind))
        }

        pub fn check(choice: u8, wire: &Bytes) {
            let method = if choice & 1 == 0 { Method::GET } else { Method::HEAD };
            let whole = receive(wire, &method, usize::MAX);
            let pieces = receive(wire, &method, usize::from(choice / 2) + 1);
            assert_eq!(whole, pieces);
            if let Some(Ok((_, _, body))) = whole {
                assert!(body.len() <= LIMIT);
            }
        }
    }
}

fuzz_target!(|input: &[u8]| {
    if let Some((choice, wire)) = input.split_first() {
        transport::http1::check(*choice, &Bytes::copy_from_slice(wire));
    }
});
