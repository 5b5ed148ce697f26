//! A body under way: from what arrives, in any framing, to one buffer under a limit.

use bytes::{Bytes, BytesMut};
use qlio_http1::{
    chunks::{Chunks, Step},
    framing::Framing,
};

use super::{ErrorKind, Fault};
use crate::transport::collected::Collected;

/// The most that is reserved on the word of a `content-length` alone, in bytes.
const RESERVED_BYTES_MAX: usize = 1024 * 1024;

/// The least room for a piece of a body of unknown length, in bytes.
const PIECE_BYTES_MIN: usize = 4 * 1024;

pub(super) struct Receiving {
    limit: usize,
    state: State,
}

enum State {
    /// So many bytes; those that have come, unless all came at once.
    Sized {
        length: usize,
        body: BytesMut,
    },
    Chunked {
        chunks: Chunks,
        collected: Collected,
    },
    UntilClose {
        body: BytesMut,
    },
}

impl Receiving {
    pub(super) fn new(framing: Framing, limit: usize) -> Result<Self, Fault> {
        let sized = |length| State::Sized { length, body: BytesMut::new() };
        let state = match framing {
            Framing::None => sized(0),
            Framing::Length(length) => {
                let length = usize::try_from(length).ok().filter(|length| *length <= limit);
                sized(length.ok_or(ErrorKind::ResponseTooLarge { limit })?)
            }
            Framing::Chunked => {
                State::Chunked { chunks: Chunks::default(), collected: Collected::default() }
            }
            Framing::UntilClose => State::UntilClose { body: BytesMut::new() },
        };
        Ok(Self { limit, state })
    }

    /// Takes its part of what has arrived; the body, if it is complete.
    pub(super) fn take(&mut self, arrived: &mut Bytes) -> Result<Option<Bytes>, Fault> {
        let limit = self.limit;
        match &mut self.state {
            State::Sized { length, body } if body.is_empty() && *length <= arrived.len() => {
                Ok(Some(arrived.split_to(*length)))
            }
            State::Sized { length, body } => {
                if body.is_empty() {
                    body.reserve((*length).min(RESERVED_BYTES_MAX));
                    body.extend_from_slice(&std::mem::take(arrived));
                }
                if body.len() < *length {
                    return Ok(None);
                }
                let all = std::mem::take(body).freeze();
                // What came behind the body belongs to nobody; its owner sees it there.
                *arrived = all.slice(*length..);
                Ok(Some(all.slice(..*length)))
            }
            State::Chunked { chunks, collected } => loop {
                match chunks.next(arrived)? {
                    Step::Data(data) if data.len() > limit - collected.len() => {
                        return Err(ErrorKind::ResponseTooLarge { limit }.into());
                    }
                    Step::Data(data) => collected.push(data),
                    Step::End => return Ok(Some(std::mem::take(collected).into_bytes())),
                    Step::More => return Ok(None),
                }
            },
            State::UntilClose { body } => {
                body.extend_from_slice(&std::mem::take(arrived));
                if body.len() > limit {
                    return Err(ErrorKind::ResponseTooLarge { limit }.into());
                }
                Ok(None)
            }
        }
    }

    /// How many bytes of the body have come.
    pub(super) fn len(&self) -> usize {
        match &self.state {
            State::Sized { body, .. } | State::UntilClose { body } => body.len(),
            State::Chunked { collected, .. } => collected.len(),
        }
    }

    /// What has come of a body whose length is known, if anything has.
    pub(super) fn beginning(&self) -> Option<&[u8]> {
        match &self.state {
            State::Sized { length, body } if !body.is_empty() => {
                Some(&body[..body.len().min(*length)])
            }
            _ => None,
        }
    }

    /// Where the next bytes can be put at once, if they need not be looked at first.
    pub(super) fn room(&mut self) -> Option<&mut BytesMut> {
        match &mut self.state {
            State::Sized { length, body } => {
                if body.len() == body.capacity() {
                    // The declaration has proved itself for the first part; make room for all of it.
                    body.reserve(*length - body.len());
                }
                Some(body)
            }
            State::Chunked { .. } => None,
            State::UntilClose { body } => {
                // Grows by doubling, so that each byte is moved a limited number of times.
                body.reserve(PIECE_BYTES_MIN);
                Some(body)
            }
        }
    }

    /// The connection has ended in good order: the body, if that is how it ends.
    pub(super) fn end(self) -> Result<Bytes, Fault> {
        match self.state {
            State::Sized { .. } => Err(ErrorKind::LengthMismatch.into()),
            State::Chunked { .. } => Err(ErrorKind::Truncated.into()),
            State::UntilClose { body } => Ok(body.freeze()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 100;

    /// Lets pieces arrive as a connection does; the body and what is left, or the failure.
    fn receive(framing: Framing, pieces: &[&[u8]]) -> Result<(Bytes, Bytes), ErrorKind> {
        let mut receiving = Receiving::new(framing, LIMIT).map_err(|fault| fault.kind)?;
        let mut arrived = Bytes::new();
        let mut pieces = pieces.iter();
        loop {
            if let Some(body) = receiving.take(&mut arrived).map_err(|fault| fault.kind)? {
                return Ok((body, arrived));
            }
            let Some(piece) = pieces.next() else {
                return receiving.end().map(|body| (body, arrived)).map_err(|fault| fault.kind);
            };
            match receiving.room() {
                // The first piece comes together with the head.
                Some(room) if !room.is_empty() => room.extend_from_slice(piece),
                _ => arrived = [&arrived[..], piece].concat().into(),
            }
        }
    }

    #[test]
    fn a_body_ends_where_its_framing_says() {
        for (framing, body, rest) in [
            (Framing::None, "", "abcdef"),
            (Framing::Length(3), "abc", "def"),
            (Framing::Length(6), "abcdef", ""),
            (Framing::UntilClose, "abcdef", ""),
        ] {
            for pieces in [&[&b"abcdef"[..]][..], &[b"a", b"bcdef"], &[b"ab", b"cd", b"ef"]] {
                let (received, left) = receive(framing, pieces).expect("a body");
                assert_eq!(received, body, "{framing:?} {pieces:?}");
                assert!(rest.starts_with(std::str::from_utf8(&left).expect("text")), "{left:?}");
            }
        }
    }

    #[test]
    fn one_piece_is_not_copied() {
        let mut arrived = Bytes::from(vec![7; 10]);
        let start = arrived.as_ptr();
        let mut receiving = Receiving::new(Framing::Length(9), LIMIT).expect("within the limit");
        let body = receiving.take(&mut arrived).expect("no failure").expect("a body");
        assert_eq!((body.as_ptr(), body.len(), arrived.len()), (start, 9, 1));
    }

    #[test]
    fn a_body_that_ends_early_is_a_failure() {
        assert_eq!(receive(Framing::Length(7), &[b"abc"]), Err(ErrorKind::LengthMismatch));
        assert_eq!(receive(Framing::Length(7), &[]), Err(ErrorKind::LengthMismatch));
        assert_eq!(receive(Framing::Chunked, &[b"7\r\nabc"]), Err(ErrorKind::Truncated));
    }

    proptest! {
        #[test]
        fn no_body_is_longer_than_the_limit(length in 0..2 * LIMIT, piece_bytes in 1..60_usize) {
            let body = vec![b'x'; length];
            let chunked = [format!("{length:x}\r\n").as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
            let chunked = if length == 0 { b"0\r\n\r\n".to_vec() } else { chunked };
            for (framing, wire) in [
                (Framing::Length(length as u64), &body),
                (Framing::UntilClose, &body),
                (Framing::Chunked, &chunked),
            ] {
                let pieces: Vec<&[u8]> = wire.chunks(piece_bytes).collect();
                let received = receive(framing, &pieces).map(|(body, _)| body);
                let expected = if length > LIMIT {
                    Err(ErrorKind::ResponseTooLarge { limit: LIMIT })
                } else {
                    Ok(Bytes::copy_from_slice(&body))
                };
                prop_assert_eq!(received, expected, "{:?}", framing);
            }
        }
    }
}
