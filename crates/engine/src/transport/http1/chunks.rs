//! Bodies in chunks (RFC 9112, 7.1). Trailers are passed over: nothing of HTTP/1.1 that we use comes in them.

use bytes::{Buf, Bytes};

use super::{ErrorKind, Fault};

/// The longest line with the size of a chunk, in bytes.
const LINE_BYTES_MAX: usize = 4 * 1024;

/// Bytes that the lines of a body may have beyond the sizes themselves, so that nobody feeds us with these.
const EXTENSION_BYTES_MAX: usize = 16 * 1024;

/// Digits of a size and the end of its line.
const PLAIN_LINE_BYTES: usize = 18;

/// The longest trailer section, in bytes.
const TRAILER_BYTES_MAX: usize = 16 * 1024;

/// The most trailers.
const TRAILERS_MAX: usize = 64;

/// How far a body has got.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    state: State,
    extension_bytes: usize,
}

#[derive(Debug, Clone, Copy, Default)]
enum State {
    #[default]
    Size,
    Data(u64),
    DataEnd,
    Trailers,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A piece of the body, at least one byte.
    Data(Bytes),
    /// Nothing before more has arrived.
    More,
    /// Nothing, ever.
    End,
}

impl Chunks {
    /// Takes the next piece from the front of what has arrived.
    pub(super) fn next(&mut self, arrived: &mut Bytes) -> Result<Step, Fault> {
        loop {
            match &mut self.state {
                State::Size => match httparse::parse_chunk_size(arrived) {
                    Ok(httparse::Status::Complete((length, size))) if length <= LINE_BYTES_MAX => {
                        self.extension_bytes += length.saturating_sub(PLAIN_LINE_BYTES);
                        if self.extension_bytes > EXTENSION_BYTES_MAX {
                            return Err(invalid("chunk extensions without end"));
                        }
                        arrived.advance(length);
                        self.state = if size == 0 { State::Trailers } else { State::Data(size) };
                    }
                    Ok(httparse::Status::Partial) if arrived.len() <= LINE_BYTES_MAX => {
                        return Ok(Step::More);
                    }
                    Ok(_) => return Err(invalid("a chunk size too long")),
                    Err(_) => return Err(invalid("a chunk without a size")),
                },
                State::Data(left) => {
                    if arrived.is_empty() {
                        return Ok(Step::More);
                    }
                    let taken = usize::try_from(*left)
                        .map_or(arrived.len(), |left| left.min(arrived.len()));
                    *left -= taken as u64;
                    if *left == 0 {
                        self.state = State::DataEnd;
                    }
                    return Ok(Step::Data(arrived.split_to(taken)));
                }
                State::DataEnd => match &arrived[..] {
                    [b'\r', b'\n', ..] => {
                        arrived.advance(2);
                        self.state = State::Size;
                    }
                    [] | [b'\r'] => return Ok(Step::More),
                    _ => return Err(invalid("a chunk longer than its size")),
                },
                State::Trailers => {
                    let mut trailers = [httparse::EMPTY_HEADER; TRAILERS_MAX];
                    match httparse::parse_headers(arrived, &mut trailers) {
                        Ok(httparse::Status::Complete((length, _)))
                            if length <= TRAILER_BYTES_MAX =>
                        {
                            arrived.advance(length);
                            return Ok(Step::End);
                        }
                        Ok(httparse::Status::Partial) if arrived.len() <= TRAILER_BYTES_MAX => {
                            return Ok(Step::More);
                        }
                        Ok(_) => {
                            return Err(invalid("trailers without end"));
                        }
                        Err(cause) => return Err(Fault::new(ErrorKind::Protocol, cause)),
                    }
                }
            }
        }
    }
}

fn invalid(what: &str) -> Fault {
    Fault::new(ErrorKind::Protocol, what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The body, and the bytes behind it.
    type Read = (Vec<u8>, Vec<u8>);

    /// `None` if the body is not complete.
    fn read(pieces: &[&[u8]]) -> Result<Option<Read>, Fault> {
        let mut chunks = Chunks::default();
        let mut arrived = Bytes::new();
        let mut body = Vec::new();
        let mut pieces = pieces.iter();
        loop {
            match chunks.next(&mut arrived)? {
                Step::Data(data) => body.extend_from_slice(&data),
                Step::End => {
                    let rest = pieces.flat_map(|piece| piece.iter().copied());
                    return Ok(Some((body, arrived.iter().copied().chain(rest).collect())));
                }
                Step::More => match pieces.next() {
                    Some(piece) => arrived = [&arrived[..], piece].concat().into(),
                    None => return Ok(None),
                },
            }
        }
    }

    #[test]
    fn broken_chunks_are_refused() {
        let long = format!("1;{}\r\nx\r\n0\r\n\r\n", "x".repeat(LINE_BYTES_MAX));
        let often = format!("1;{}\r\nx\r\n", "x".repeat(1000)).repeat(20);
        let trailers = format!("0\r\nt: {}", "x".repeat(TRAILER_BYTES_MAX));
        for body in [
            "zz\r\n",
            "-1\r\n",
            "fffffffffffffffff\r\n",
            "1\r\nab",
            "1\r\na\n",
            "0\r\nbad trailer\r\n\r\n",
            &long,
            &long[..=LINE_BYTES_MAX],
            &often,
            &trailers,
        ] {
            let fault = read(&[body.as_bytes()]).expect_err(body);
            assert_eq!(fault.kind, ErrorKind::Protocol, "{body}");
        }
    }

    proptest! {
        #[test]
        fn a_body_is_the_same_however_it_arrives(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
            extension in "(;[a-z]{0,8}(=[a-z]{0,8})?)?",
            trailer in "(x-[a-z]{1,8}: [a-z]{0,8}\r\n){0,3}",
            piece_bytes in 1..60_usize,
        ) {
            let mut wire = Vec::new();
            for chunk in &chunks {
                wire.extend_from_slice(format!("{:X}{extension}\r\n", chunk.len()).as_bytes());
                wire.extend_from_slice(chunk);
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(format!("0{extension}\r\n{trailer}\r\n").as_bytes());
            let short = wire.len() - 1;
            let incomplete: Vec<&[u8]> = wire[..short].chunks(piece_bytes).collect();
            prop_assert_eq!(read(&incomplete).expect("well-formed"), None);
            wire.extend_from_slice(b"next");
            let pieces: Vec<&[u8]> = wire.chunks(piece_bytes).collect();
            let read = read(&pieces).expect("well-formed");
            prop_assert_eq!(read, Some((chunks.concat(), b"next".to_vec())));
        }

        #[test]
        fn any_bytes_end_in_a_body_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some((body, rest))) = read(&[&bytes]) {
                prop_assert!(body.len() + rest.len() < bytes.len());
            }
        }
    }
}
