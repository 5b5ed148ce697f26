//! Raw bytes in request targets: `GET /nf.pl?"><script>` is a request, not a fault of the protocol.
//!
//! RFC 3986 wants `"`, `<`, `>`, `` ` `` and everything beyond ASCII encoded in a target. Not every
//! client does it; hyper refuses such targets, the original took them as they came (`server.md`
//! 8.23). So those bytes are percent-encoded between the socket and hyper. In: the bytes of a client
//! in any pieces, and after each head what hyper made of its framing. Out: the same bytes, those few
//! replaced in targets. Nothing else is touched: what hyper takes stays raw, spaces and controls stay
//! and are refused.
//!
//! **No request can hide.** Where a head begins is not guessed. Whatever follows a head is held back
//! until hyper has read that head and said how long the body is; then exactly that many bytes pass
//! unseen, and the next head begins. After a body without a length, or a request for another
//! protocol, everything passes unseen for good: the next raw target is refused, never misread.
//!
//! An ordinary head is looked at once and passes without a copy. A copy is made of what stands behind
//! a head in the same piece; it is as long as what hyper offers to read at once, thrice that if every
//! byte has to be encoded.

use std::mem;

use bytes::{Buf, BufMut, BytesMut};
use qlio_data::percent;
use tokio::io::ReadBuf;

/// How the body of a request ends, in the eyes of the one who reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many bytes; none for a request without a body.
    Sized(u64),
    /// Nobody knows beforehand: a chunked body, or another protocol.
    Unsized,
}

/// Where in the stream of requests the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before a request line; empty lines may come first.
    Start,
    Method,
    Path,
    Query,
    /// The rest of the request line.
    Version,
    /// Among the header lines; so much of the current one has been seen.
    Fields(Line),
    /// Behind a head whose framing is not known yet.
    Between,
    /// In a body; so many bytes are left of it.
    Body(u64),
    /// Anywhere; nothing is looked at any more.
    Unseen,
}

/// What has been seen of a header line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Nothing,
    /// Only a carriage return: with the line feed it is the end of the head.
    Return,
    Something,
}

/// Encodes the raw bytes in the targets of one connection.
#[derive(Debug)]
pub(super) struct TargetEncoder {
    place: Place,
    /// Read but not passed on.
    held: BytesMut,
    /// So many bytes of `held` come first and have been looked at.
    verbatim: usize,
}

impl TargetEncoder {
    /// At the beginning of a connection.
    pub(super) fn new() -> Self {
        Self { place: Place::Start, held: BytesMut::new(), verbatim: 0 }
    }

    /// Whether there are bytes to [`pass`](Self::pass) on before more are read.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// The reader wants more. Since it wanted the last bytes, it has perhaps read a head.
    pub(super) fn resume(&mut self, head: Option<Framing>) {
        self.place = match (self.place, head) {
            (Place::Between, Some(Framing::Sized(0))) => Place::Start,
            (Place::Between, Some(Framing::Sized(length))) => Place::Body(length),
            // Its end is not known, or a head ended where we saw no end, or none where we saw one.
            (_, Some(_)) | (Place::Between, None) => Place::Unseen,
            (place, None) => place,
        };
    }

    /// Takes bytes that have just been read; nothing is held. Answers how many of them go on as they
    /// are; the others are held.
    pub(super) fn admit(&mut self, read: &[u8]) -> usize {
        let count = self.scan(read);
        self.held.extend_from_slice(&read[count..]);
        count
    }

    /// Passes on what is held, as far as there is room and the framing is known: one byte at least,
    /// if there is room at all and the framing is known.
    pub(super) fn pass(&mut self, room: &mut ReadBuf<'_>) {
        while self.holds() && room.remaining() > 0 {
            let reach = self.held.len().min(room.remaining());
            let count = if self.verbatim > 0 {
                let count = self.verbatim.min(reach);
                self.verbatim -= count;
                count
            } else {
                let held = mem::take(&mut self.held);
                let count = self.scan(&held[..reach]);
                self.held = held;
                count
            };
            if count == 0 {
                if self.place == Place::Between {
                    return;
                }
                self.encode();
            }
            room.put_slice(&self.held[..count]);
            self.held.advance(count);
        }
        if !self.holds() {
            // Give the memory back: many connections are idle most of the time.
            self.held = BytesMut::new();
        }
    }

    /// Instead of the client, `message` has been speaking, and nothing else is looked at.
    pub(super) fn replace(&mut self, message: &[u8]) {
        self.place = Place::Unseen;
        self.held = BytesMut::from(message);
        self.verbatim = 0;
    }

    /// Encodes what is held, from a raw byte to the end of the target or of what is there.
    fn encode(&mut self) {
        let held = mem::take(&mut self.held);
        let mut encoded = BytesMut::with_capacity(held.len() * 2);
        let mut at = 0;
        while at < held.len() && matches!(self.place, Place::Path | Place::Query) {
            if is_raw(self.place, held[at]) {
                encoded.put_slice(&percent::escape(held[at]));
            } else {
                self.step(held[at]);
                encoded.put_u8(held[at]);
            }
            at += 1;
        }
        self.verbatim = encoded.len();
        encoded.put_slice(&held[at..]);
        self.held = encoded;
    }

    /// Goes over bytes; how many go on as they are. It stops before a raw byte in a target, and
    /// behind a head.
    fn scan(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            match self.place {
                Place::Unseen => return bytes.len(),
                Place::Between => return at,
                Place::Body(left) => {
                    let rest = bytes.len() - at;
                    let count = usize::try_from(left).map_or(rest, |left| left.min(rest));
                    at += count;
                    let left = left - count as u64;
                    self.place = if left == 0 { Place::Start } else { Place::Body(left) };
                }
                Place::Fields(line) => at += self.scan_line(line, &bytes[at..]),
                Place::Version => {
                    let end = memchr::memchr(b'\n', &bytes[at..]);
                    at = end.map_or(bytes.len(), |end| at + end + 1);
                    if end.is_some() {
                        self.place = Place::Fields(Line::Nothing);
                    }
                }
                Place::Start | Place::Method | Place::Path | Place::Query => {
                    if is_raw(self.place, bytes[at]) {
                        return at;
                    }
                    self.step(bytes[at]);
                    at += 1;
                }
            }
        }
        at
    }

    /// Goes over one header line, of which `line` has been seen; how many bytes it is.
    fn scan_line(&mut self, line: Line, bytes: &[u8]) -> usize {
        let end = memchr::memchr(b'\n', bytes);
        let seen = match (line, &bytes[..end.unwrap_or(bytes.len())]) {
            (line, b"") => line,
            (Line::Nothing, b"\r") => Line::Return,
            _ => Line::Something,
        };
        self.place = match (end, seen) {
            (None, seen) => Place::Fields(seen),
            (Some(_), Line::Something) => Place::Fields(Line::Nothing),
            (Some(_), _) => Place::Between,
        };
        end.map_or(bytes.len(), |end| end + 1)
    }

    /// Goes over one byte of a request line.
    fn step(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::Start, b'\r' | b'\n') => Place::Start,
            (_, b'\n') => Place::Fields(Line::Nothing),
            (Place::Start, _) => Place::Method,
            (Place::Method, b' ') => Place::Path,
            (Place::Path, b'?') => Place::Query,
            (Place::Path | Place::Query, b' ') => Place::Version,
            (place, _) => place,
        };
    }
}

/// Whether hyper would refuse a byte that only lacks its encoding; or would have to be asked, as
/// beyond ASCII, where it takes UTF-8 and nothing else.
fn is_raw(place: Place, byte: u8) -> bool {
    match place {
        Place::Path => matches!(byte, b'<' | b'>' | b'`' | 0x80..),
        Place::Query => matches!(byte, b'<' | b'>' | b'"' | 0x80..),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Passes `pieces` through an encoder, in reads of at most `room` bytes; `framings` are what
    /// hyper says after each head.
    fn pass(pieces: &[&[u8]], room: usize, framings: &[Framing]) -> Vec<u8> {
        let mut encoder = TargetEncoder::new();
        let mut framings = framings.iter().copied();
        let mut passed = Vec::new();
        let mut take = |encoder: &mut TargetEncoder, piece: Option<&[u8]>| {
            if encoder.place == Place::Between {
                encoder.resume(framings.next());
            }
            let mut buffer = vec![0; piece.map_or(room, <[u8]>::len)];
            let mut buffer = ReadBuf::new(&mut buffer);
            if let Some(piece) = piece {
                buffer.put_slice(piece);
                let count = encoder.admit(piece);
                buffer.set_filled(count);
            }
            if buffer.filled().is_empty() {
                encoder.pass(&mut buffer);
            }
            assert!(!buffer.filled().is_empty(), "an empty read would be the end");
            passed.extend_from_slice(buffer.filled());
        };
        for piece in pieces {
            while encoder.holds() {
                take(&mut encoder, None);
            }
            if !piece.is_empty() {
                take(&mut encoder, Some(piece));
            }
        }
        while encoder.holds() {
            take(&mut encoder, None);
        }
        passed
    }

    #[track_caller]
    fn check(text: &str, framings: &[Framing], expected: &str) {
        let passed = pass(&[text.as_bytes()], 4096, framings);
        assert_eq!(String::from_utf8_lossy(&passed), expected);
    }

    const NO_BODY: Framing = Framing::Sized(0);

    #[test]
    fn only_what_would_be_refused_is_encoded() {
        for (line, expected) in [
            ("GET /a\"b<c>d`e?f\"g<h>i`j?<", "GET /a\"b%3Cc%3Ed%60e?f%22g%3Ch%3Ei`j?%3C"),
            ("<A> / <", "<A> / <"),
            ("GET /a b<c", "GET /a b<c"),
            ("GET\t/<", "GET\t/<"),
            ("GET /{}|\\^[]%3c%?{`", "GET /{}|\\^[]%3c%?{`"),
            ("é /é?é ", "é /%C3%A9?%C3%A9 "),
        ] {
            let rest = " HTTP/1.1\r\nx-<\">: <\">`\r\n\r\n";
            check(&format!("{line}{rest}"), &[], &format!("{expected}{rest}"));
        }
    }

    #[test]
    fn bodies_pass_as_they_are_and_the_next_target_does_not() {
        let post = "POST /< HTTP/1.1\r\ncontent-length: 9\r\n\r\n";
        let text = format!("{post}GET /<>  GET /< HTTP/1.1\n\n\r\nGET /> HTTP/1.1\r\n\r\n");
        let expected = text.replacen("/< ", "/%3C ", 1);
        let at = expected.find("  GET").expect("stands there") + 1;
        let (first, second) = expected.split_at(at);
        let second = second.replace('<', "%3C").replace('>', "%3E");
        check(&text, &[Framing::Sized(9), NO_BODY], &format!("{first}{second}"));
    }

    #[test]
    fn nothing_is_touched_where_the_beginning_of_a_head_is_not_certain() {
        let text = "GET / HTTP/1.1\r\n\r\nGET /< HTTP/1.1\r\n\r\nGET /< HTTP/1.1\r\n\r\n";
        check(text, &[Framing::Unsized], text);
        check(text, &[], text);
        let mut encoder = TargetEncoder::new();
        assert_eq!(encoder.admit(b"GET / HTTP/1.1\r\n"), 16);
        encoder.resume(Some(NO_BODY));
        assert_eq!(encoder.admit(b"GET /<"), 6);
    }

    #[test]
    fn a_target_of_raw_bytes_alone_takes_linear_time() {
        let target = "<".repeat(1 << 20);
        let passed = pass(&[format!("GET /{target}").as_bytes()], 4096, &[]);
        assert_eq!(passed.len(), 5 + 3 * target.len());
    }

    fn message() -> impl Strategy<Value = (String, String, Framing)> {
        let line = "(\r\n|\n)?(GET|P<)( /[a<>\"`?]{0,6}){0,2} ?H(\r?\n)";
        let fields = "(a: ?[<> \r]{0,3}x(\r?\n)){0,2}(\r?\n)";
        let body = "[<> \r\nG/]{0,8}";
        (line, fields, body).prop_map(|(line, fields, body)| {
            let mut words = line.splitn(3, ' ');
            let method = words.next().unwrap_or_default();
            let mut expected = method.to_owned();
            if let Some(target) = words.next() {
                let (path, query) = match target.split_once('?') {
                    Some((path, query)) => (path, Some(query)),
                    None => (target, None),
                };
                let encode = |text: &str| text.replace('<', "%3C").replace('>', "%3E");
                expected.push(' ');
                expected.push_str(&encode(path).replace('`', "%60"));
                if let Some(query) = query {
                    expected.push('?');
                    expected.push_str(&encode(query).replace('"', "%22"));
                }
            }
            if let Some(rest) = words.next() {
                expected.push(' ');
                expected.push_str(rest);
            }
            let framing = Framing::Sized(body.len() as u64);
            let rest = format!("{fields}{body}");
            (format!("{line}{rest}"), format!("{expected}{rest}"), framing)
        })
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_same_bytes(
            messages in prop::collection::vec(message(), 1..4),
            cuts in prop::collection::vec(0usize..200, 0..12),
            room in 1usize..40,
        ) {
            let text: String = messages.iter().map(|(text, ..)| text.as_str()).collect();
            let expected: String = messages.iter().map(|(_, text, _)| text.as_str()).collect();
            let framings: Vec<_> = messages.iter().map(|(.., framing)| *framing).collect();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let bytes = text.as_bytes();
            let pieces: Vec<_> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            let passed = pass(&pieces, room, &framings);
            prop_assert_eq!(String::from_utf8_lossy(&passed), expected);
        }

        #[test]
        fn any_bytes_pass_in_full(
            text in "[GET /<>\"`?\r\n:a]{0,60}",
            cut in 0usize..60,
            framings in prop::collection::vec(prop_oneof![
                (0u64..9).prop_map(Framing::Sized),
                Just(Framing::Sized(u64::MAX)),
                Just(Framing::Unsized),
            ], 0..4),
        ) {
            let (one, other) = text.as_bytes().split_at(cut.min(text.len()));
            let passed = pass(&[one, other], 7, &framings);
            let whole = pass(&[text.as_bytes()], 4096, &framings);
            prop_assert_eq!(&passed, &whole);
            let decoded = String::from_utf8_lossy(&passed)
                .replace("%3C", "<")
                .replace("%3E", ">")
                .replace("%22", "\"")
                .replace("%60", "`");
            prop_assert_eq!(decoded, text);
        }
    }
}
