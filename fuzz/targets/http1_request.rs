//! Any bytes from a client are requests over HTTP/1.1 or a refusal, the same however they arrive. The first byte
//! of the input chooses the pieces.
#![no_main]

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Method, Uri};
use libfuzzer_sys::fuzz_target;
use qlio_http1::{
    Malformed,
    chunks::{Chunks, Step},
    framing::Framing,
    request::{Head, HeadLimits, HeadSearch, Refusal},
};

const LIMITS: HeadLimits = HeadLimits { bytes_max: 2_000, lines_max: 20 };

#[derive(Debug, PartialEq)]
enum Outcome {
    Request(Method, Uri, HeaderMap, Result<Vec<u8>, Malformed>),
    Refused(Refusal),
}

/// What is read, until the bytes end or nobody knows where the next request begins.
fn read(wire: &[u8], piece_bytes: usize) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut arrived = BytesMut::new();
    let mut pieces = wire.chunks(piece_bytes);
    // More has come, or there is no more.
    let mut feed = |arrived: &mut BytesMut| pieces.next().map(|piece| arrived.put_slice(piece));
    loop {
        let mut search = HeadSearch::default();
        let head = loop {
            match search.find(&arrived, &LIMITS) {
                Ok(Some(length)) => break Head::parse(arrived.split_to(length).freeze()),
                Ok(None) if feed(&mut arrived).is_some() => {}
                Ok(None) => return outcomes,
                Err(refusal) => break Err(refusal),
            }
        };
        let head = match head {
            Ok(head) => head,
            Err(refusal) => {
                outcomes.push(Outcome::Refused(refusal));
                return outcomes;
            }
        };
        let Some(body) = read_body(head.framing, &mut arrived, &mut feed) else { return outcomes };
        let (parts, ()) = head.request.into_parts();
        assert!(head.framing != Framing::UntilClose && parts.headers.len() <= LIMITS.lines_max);
        let is_read = body.is_ok();
        outcomes.push(Outcome::Request(parts.method, parts.uri, parts.headers, body));
        if !is_read {
            return outcomes;
        }
    }
}

/// The body, or nothing if it breaks off.
fn read_body(
    framing: Framing,
    arrived: &mut BytesMut,
    feed: &mut impl FnMut(&mut BytesMut) -> Option<()>,
) -> Option<Result<Vec<u8>, Malformed>> {
    let mut body = Vec::new();
    match framing {
        Framing::None | Framing::UntilClose => {}
        Framing::Length(length) => {
            while (arrived.len() as u64) < length {
                feed(arrived)?;
            }
            body.extend_from_slice(&arrived.split_to(length as usize));
        }
        Framing::Chunked => {
            let mut chunks = Chunks::default();
            loop {
                match chunks.next(arrived) {
                    Ok(Step::Data(data)) => body.extend_from_slice(&data),
                    Ok(Step::More) => feed(arrived)?,
                    Ok(Step::End) => break,
                    Err(malformed) => return Some(Err(malformed)),
                }
            }
        }
    }
    Some(Ok(body))
}

fuzz_target!(|input: &[u8]| {
    if let Some((choice, wire)) = input.split_first() {
        let wire = Bytes::copy_from_slice(wire);
        assert_eq!(read(&wire, usize::MAX), read(&wire, usize::from(*choice) + 1));
    }
});
