//! Bodies in chunks (RFC 9112, 7.1). Trailers are passed over: nothing of HTTP/1.1 that we use comes in them.

use bytes::{Buf, Bytes};

use super::{Malformed, fields::split_field, first_line};

/// The longest line with the size of a chunk, in bytes.
const LINE_BYTES_MAX: usize = 4 * 1024;

/// Bytes that the lines of a body may have beyond the sizes themselves, so that nobody feeds us with these.
const EXTENSION_BYTES_MAX: usize = 16 * 1024;

/// The most hexadecimal digits of a size.
const DIGITS_MAX: usize = 16;

/// The longest trailer section, in bytes.
const TRAILER_BYTES_MAX: usize = 16 * 1024;

/// How far a body has got.
#[derive(Debug, Default)]
pub struct Chunks {
    state: State,
    /// What extensions or trailers have taken so far.
    passed_over: usize,
}

#[derive(Debug, Clone, Copy, Default)]
enum State {
    #[default]
    Size,
    Data(u64),
    DataEnd,
    Trailers,
    End,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// A piece of the body, at least one byte.
    Data(Bytes),
    /// Nothing before more has arrived.
    More,
    /// Nothing, ever.
    End,
}

impl Chunks {
    /// Takes the next piece from the front of what has arrived, which is in one place.
    ///
    /// # Errors
    /// A chunk without a size or longer than it, trailers that are no headers, a line over its limit.
    pub fn next(&mut self, arrived: &mut impl Buf) -> Result<Step, Malformed> {
        loop {
            match &mut self.state {
                State::Size => {
                    let Some(line) = line(arrived.chunk(), "a chunk size too long")? else {
                        return Ok(Step::More);
                    };
                    let (size, digits) = size(line)?;
                    let taken = line.len() + 2;
                    self.pass_over(taken - digits - 2, EXTENSION_BYTES_MAX)?;
                    arrived.advance(taken);
                    self.state = State::Data(size);
                    if size == 0 {
                        self.passed_over = 0;
                        self.state = State::Trailers;
                    }
                }
                State::Data(left) => {
                    if !arrived.has_remaining() {
                        return Ok(Step::More);
                    }
                    let at_hand = arrived.remaining();
                    let taken = usize::try_from(*left).map_or(at_hand, |left| left.min(at_hand));
                    *left -= taken as u64;
                    if *left == 0 {
                        self.state = State::DataEnd;
                    }
                    return Ok(Step::Data(arrived.copy_to_bytes(taken)));
                }
                State::DataEnd => match arrived.chunk() {
                    [b'\r', b'\n', ..] => {
                        arrived.advance(2);
                        self.state = State::Size;
                    }
                    [] | [b'\r'] => return Ok(Step::More),
                    _ => return Err(Malformed::new("a chunk longer than its size")),
                },
                State::Trailers => {
                    let Some(line) = line(arrived.chunk(), "a trailer too long")? else {
                        return Ok(Step::More);
                    };
                    let taken = line.len() + 2;
                    if line.is_empty() {
                        self.state = State::End;
                    } else {
                        split_field(line)?;
                        self.pass_over(taken, TRAILER_BYTES_MAX)?;
                    }
                    arrived.advance(taken);
                }
                State::End => return Ok(Step::End),
            }
        }
    }

    fn pass_over(&mut self, bytes: usize, bytes_max: usize) -> Result<(), Malformed> {
        self.passed_over += bytes;
        if self.passed_over > bytes_max {
            return Err(Malformed::new("chunk extensions or trailers without end"));
        }
        Ok(())
    }
}

/// The first line, if it has come and is not too long.
fn line<'a>(arrived: &'a [u8], too_long: &'static str) -> Result<Option<&'a [u8]>, Malformed> {
    let reach = arrived.len().min(LINE_BYTES_MAX);
    match first_line(&arrived[..reach])? {
        None if arrived.len() > LINE_BYTES_MAX => Err(Malformed::new(too_long)),
        line => Ok(line),
    }
}

/// The size of a chunk from its line, and with how many digits it is written. Extensions say nothing that we
/// use, but they have to be text: others might end the line at a control character.
fn size(line: &[u8]) -> Result<(u64, usize), Malformed> {
    let invalid = || Malformed::new("a chunk without a size");
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let text = str::from_utf8(&line[..digits]).map_err(|_| invalid())?;
    if digits == 0 || digits > DIGITS_MAX {
        return Err(invalid());
    }
    let size = u64::from_str_radix(text, 16).map_err(|_| invalid())?;
    let rest = &line[digits..];
    let is_text = rest.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control());
    match rest.trim_ascii_start() {
        [] | [b';', ..] if is_text => Ok((size, digits)),
        _ => Err(invalid()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The body, and the bytes behind it.
    type Read = (Vec<u8>, Vec<u8>);

    /// `None` if the body is not complete.
    fn read(pieces: &[&[u8]]) -> Result<Option<Read>, Malformed> {
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
        let trailer = format!("0\r\nt: {}", "x".repeat(LINE_BYTES_MAX));
        let trailers = format!("0\r\n{}", "t: x\r\n".repeat(TRAILER_BYTES_MAX / 6 + 1));
        for body in [
            "zz\r\n",
            "\r\n",
            ";\r\n",
            "-1\r\n",
            "+1\r\n",
            "0x1\r\n",
            "1 1\r\n",
            "1\n",
            "1;a\n\r\n",
            "1;a\rb\r\n",
            "fffffffffffffffff\r\n",
            "1\r\nab",
            "1\r\na\n",
            "0\r\nbad trailer\r\n\r\n",
            "0\r\na: b\n\r\n",
            &long,
            &long[..=LINE_BYTES_MAX],
            &often,
            &trailer,
            &trailers,
        ] {
            assert!(read(&[body.as_bytes()]).is_err(), "{body}");
        }
    }

    #[test]
    fn a_size_may_be_as_large_as_a_number() {
        assert_eq!(read(&[b"ffffffffffffffff \t;a=\"b\"\r\nab"]), Ok(None));
        assert_eq!(read(&[b"000000000000001\r\na\r\n0\r\n\r\n"]), Ok(Some((b"a".into(), vec![]))));
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
        fn any_bytes_end_in_a_body_or_an_error(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            piece_bytes in 1..60_usize,
        ) {
            let whole = read(&[&bytes]);
            let pieces: Vec<&[u8]> = bytes.chunks(piece_bytes).collect();
            prop_assert_eq!(&read(&pieces), &whole);
            if let Ok(Some((body, rest))) = whole {
                prop_assert!(body.len() + rest.len() < bytes.len());
            }
        }
    }
}
