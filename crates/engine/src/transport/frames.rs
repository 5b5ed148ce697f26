//! What the transport must know of gRPC: where messages end, what trailers say.
//!
//! A gRPC call is a request over HTTP/2 whose answer is a row of messages, each behind a flag byte and
//! a length, and whose status comes in trailers. In: the pieces of an answer as they arrive. Out: when
//! enough messages are complete, and the trailers. It decodes no message and maps no status.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::headers::Headers;

/// The header or trailer with the status of a call.
pub(crate) const STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// The status of an upstream that cannot serve for now; counts as a network failure
/// (UPS-34).
const UNAVAILABLE: &[u8] = b"14";

/// Flag and length before each message, in bytes.
pub(crate) const HEAD_BYTES: usize = 5;

/// How the answer of a gRPC call is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grpc {
    /// The answer is cut behind so many messages, and the call cancelled.
    pub messages_max: Option<u64>,
}

/// The end of an answer: whatever comes behind its messages, or the place where it is cut.
#[derive(Debug)]
pub(super) struct Tail {
    messages_left: Option<u64>,
    /// Bytes of the message under way that are still to come, its head included.
    head: [u8; HEAD_BYTES],
    head_length: usize,
    body_left: u64,
    trailers: HeaderMap,
    is_cut: bool,
}

impl Tail {
    pub(super) fn new(grpc: Grpc) -> Self {
        Self {
            messages_left: grpc.messages_max,
            head: [0; HEAD_BYTES],
            head_length: 0,
            body_left: 0,
            trailers: HeaderMap::new(),
            is_cut: false,
        }
    }

    /// Takes note of a piece; how much of it belongs to the wanted messages.
    pub(super) fn wanted(&mut self, piece: &[u8]) -> usize {
        let Some(left) = &mut self.messages_left else { return piece.len() };
        let mut at = 0;
        while at < piece.len() && *left > 0 {
            if self.head_length < HEAD_BYTES {
                self.head[self.head_length] = piece[at];
                self.head_length += 1;
                at += 1;
                if self.head_length < HEAD_BYTES {
                    continue;
                }
                let [_, length @ ..] = self.head;
                self.body_left = u64::from(u32::from_be_bytes(length));
            }
            let passed = self.body_left.min((piece.len() - at) as u64);
            self.body_left -= passed;
            at += passed as usize;
            if self.body_left == 0 {
                self.head_length = 0;
                *left -= 1;
            }
        }
        self.is_cut = *left == 0;
        at
    }

    /// Whether there are enough messages.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn set_trailers(&mut self, trailers: HeaderMap) {
        self.trailers = trailers;
    }

    /// Puts the trailers among the headers, where they beat what the head has said. A call that was
    /// cut has gone well as far as anybody knows.
    pub(super) fn settle(self, headers: &mut HeaderMap) {
        if self.is_cut {
            headers.insert(STATUS, HeaderValue::from_static("0"));
            return;
        }
        for (name, value) in self.trailers {
            if let Some(name) = name {
                headers.insert(name, value);
            }
        }
    }
}

/// Whether the upstream says that it cannot serve for now.
pub(super) fn is_unavailable(headers: &Headers) -> bool {
    headers.get(STATUS) == Some(UNAVAILABLE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_answer_is_cut_behind_a_message_however_it_arrives(
            lengths in proptest::collection::vec(0..20_usize, 0..6),
            wanted in 0..7_usize,
            piece_bytes in 1..30_usize,
        ) {
            let frames: Vec<Vec<u8>> = lengths
                .iter()
                .map(|length| [&[0, 0, 0, 0, *length as u8][..], &vec![7; *length]].concat())
                .collect();
            let body = frames.concat();
            let expected: usize = frames.iter().take(wanted).map(Vec::len).sum();
            let mut tail = Tail::new(Grpc { messages_max: Some(wanted as u64) });
            let mut kept = 0;
            for piece in body.chunks(piece_bytes) {
                kept += tail.wanted(piece);
                if tail.is_cut() {
                    break;
                }
            }
            prop_assert_eq!(kept, expected);
            prop_assert_eq!(tail.is_cut(), !body.is_empty() && lengths.len() >= wanted);
        }
    }

    #[test]
    fn without_a_limit_everything_is_kept() {
        let mut tail = Tail::new(Grpc::default());
        assert_eq!(tail.wanted(&[0; 40]), 40);
        assert!(!tail.is_cut());
    }
}
