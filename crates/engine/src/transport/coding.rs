//! Content codings: gzip, deflate (zlib and raw), brotli, zstandard, stacked, under a limit (UPS-17).
//!
//! Everything is decoded in steps of bounded size. What takes more than one is done by a heavy thread, which
//! asks between steps whether it is still wanted.

use std::io::{Cursor, Read};

use brotli_decompressor::Decompressor;
use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use http::header::CONTENT_ENCODING;
use ruzstd::decoding::{
    StreamingDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

use super::{
    error::{ErrorKind, Fault},
    headers::Headers,
};
use crate::heavy::Heavy;

/// Output per step, in bytes.
const STEP_BYTES: u64 = 512 * 1024;

/// What is undone on the worker, in bytes before and after: about a millisecond of its time.
pub(crate) const AT_ONCE_BYTES_MAX: usize = 128 * 1024;

/// The most codings on top of each other.
const CODINGS_MAX: usize = 4;

/// How much of an unknown coding's name is repeated in the error.
const NAME_CHARS_MAX: usize = 64;

/// The window a zstandard stream may ask for in HTTP (RFC 9659), in bytes.
const ZSTD_WINDOW_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Input buffer of the brotli decoder, in bytes.
const BROTLI_BUFFER_BYTES: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// The codings of a response in the order they were applied.
pub(super) fn codings(headers: &Headers) -> Result<Vec<Coding>, Fault> {
    let mut found = Vec::new();
    for value in headers.all(&CONTENT_ENCODING) {
        for name in value.split(|byte| *byte == b',') {
            let name = String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase();
            let coding = match name.as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Coding::Gzip,
                "deflate" => Coding::Deflate,
                "br" => Coding::Brotli,
                "zstd" => Coding::Zstd,
                _ => return Err(unsupported(&name)),
            };
            if found.len() == CODINGS_MAX {
                return Err(unsupported(&name));
            }
            found.push(coding);
        }
    }
    Ok(found)
}

fn unsupported(name: &str) -> Fault {
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    ErrorKind::ContentCoding { name: name.into() }.into()
}

/// Undoes the codings. An empty body stays empty. What makes more than can be undone at once goes to a heavy
/// thread, from the start.
pub(super) async fn decode(
    body: Bytes,
    codings: Vec<Coding>,
    limit: usize,
    heavy: &Heavy,
) -> Result<Bytes, Fault> {
    if codings.len() == 1 && body.len() <= AT_ONCE_BYTES_MAX {
        let at_once = limit.min(AT_ONCE_BYTES_MAX);
        let undone = undo(body.clone(), &codings, at_once, &|| true);
        let is_larger = matches!(undone, Err(ErrorKind::DecodedTooLarge { .. }));
        if !is_larger || at_once == limit {
            return Ok(undone?);
        }
    }
    let undone = heavy.run(move |wanted| undo(body, &codings, limit, &|| wanted.is_wanted()));
    Ok(undone.await.map_err(ErrorKind::Busy)?.value?)
}

/// Undoes gzip as long as somebody wants it; `None` if it is broken or makes more than `limit` bytes.
pub(crate) fn gunzip(body: Bytes, limit: usize, is_wanted: &dyn Fn() -> bool) -> Option<Bytes> {
    undo(body, &[Coding::Gzip], limit, is_wanted).ok()
}

/// Undoes the codings as long as somebody wants it.
fn undo(
    mut body: Bytes,
    codings: &[Coding],
    limit: usize,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Bytes, ErrorKind> {
    for coding in codings.iter().rev() {
        if body.is_empty() {
            break;
        }
        let mut output = Output::new(&body, limit, is_wanted);
        match coding {
            Coding::Gzip => gzip(body, &mut output)?,
            Coding::Deflate => deflate(body, &mut output)?,
            Coding::Brotli => {
                output.fill(&mut Decompressor::new(Cursor::new(body), BROTLI_BUFFER_BYTES))?;
            }
            Coding::Zstd => zstd(body, &mut output)?,
        }
        body = output.bytes.into();
    }
    Ok(body)
}

/// Several members are one text; what follows the last one is padding.
fn gzip(body: Bytes, output: &mut Output<'_>) -> Result<(), ErrorKind> {
    let mut rest = Cursor::new(body);
    loop {
        let mut decoder = GzDecoder::new(rest);
        output.fill(&mut decoder)?;
        rest = decoder.into_inner();
        if !remaining(&rest).starts_with(&[0x1f, 0x8b]) {
            return Ok(());
        }
    }
}

/// The standard says zlib; some servers send the bare stream.
fn deflate(body: Bytes, output: &mut Output<'_>) -> Result<(), ErrorKind> {
    let looks_like_zlib = matches!(*body, [first, second, ..]
        if first & 0x0f == 8 && u16::from_be_bytes([first, second]) % 31 == 0);
    if looks_like_zlib {
        match output.fill(&mut ZlibDecoder::new(Cursor::new(body.clone()))) {
            Err(ErrorKind::CorruptedStream) => output.bytes.clear(),
            undone => return undone,
        }
    }
    output.fill(&mut DeflateDecoder::new(Cursor::new(body)))
}

fn zstd(body: Bytes, output: &mut Output<'_>) -> Result<(), ErrorKind> {
    let mut rest = Cursor::new(body);
    while !remaining(&rest).is_empty() {
        let mut decoder =
            match StreamingDecoder::new_with_max_window_size(&mut rest, ZSTD_WINDOW_BYTES_MAX) {
                Ok(decoder) => decoder,
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if length > remaining(&rest).len() as u64 {
                        return Err(ErrorKind::CorruptedStream);
                    }
                    rest.set_position(rest.position() + length);
                    continue;
                }
                Err(_) => return Err(ErrorKind::CorruptedStream),
            };
        output.fill(&mut decoder)?;
        let decoder = decoder.into_frame_decoder();
        let declared = decoder.get_checksum_from_data();
        if declared.is_some() && declared != decoder.get_calculated_checksum() {
            return Err(ErrorKind::CorruptedStream);
        }
    }
    Ok(())
}

fn remaining(cursor: &Cursor<Bytes>) -> &[u8] {
    let start = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
    cursor.get_ref().get(start..).unwrap_or_default()
}

/// Decoded bytes under a limit.
struct Output<'w> {
    bytes: Vec<u8>,
    limit: usize,
    is_wanted: &'w dyn Fn() -> bool,
}

impl<'w> Output<'w> {
    fn new(coded: &Bytes, limit: usize, is_wanted: &'w dyn Fn() -> bool) -> Self {
        // Texts shrink to a third or less; a guess that is too small costs one copy.
        let guess = coded.len().saturating_mul(4).min(limit).min(STEP_BYTES as usize);
        Self { bytes: Vec::with_capacity(guess), limit, is_wanted }
    }

    /// Decodes until the end of the stream.
    fn fill(&mut self, decoder: &mut impl Read) -> Result<(), ErrorKind> {
        loop {
            // One byte more than allowed shows that the limit is exceeded.
            let room = (self.limit - self.bytes.len()) as u64 + 1;
            let step = room.min(STEP_BYTES);
            let read = decoder
                .by_ref()
                .take(step)
                .read_to_end(&mut self.bytes)
                .map_err(|_| ErrorKind::CorruptedStream)?;
            if self.bytes.len() > self.limit {
                return Err(ErrorKind::DecodedTooLarge { limit: self.limit });
            }
            // What nobody wants may as well be cut off: nobody looks at it.
            if (read as u64) < step || !(self.is_wanted)() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    fn run(body: Vec<u8>, coding: Coding, limit: usize) -> Result<Bytes, ErrorKind> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let heavy = Heavy::default();
        runtime
            .block_on(decode(body.into(), vec![coding], limit, &heavy))
            .map_err(|fault| fault.kind)
    }

    fn gzipped(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).expect("written");
        encoder.finish().expect("finished")
    }

    proptest! {
        #[test]
        fn noise_is_decoded_or_refused_but_never_exceeds_the_limit(
            mut body: Vec<u8>,
            start in prop::sample::select(vec![
                &b""[..], b"\x1f\x8b\x08\x00", b"\x78\x9c", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18",
            ]),
        ) {
            body.splice(0..0, start.iter().copied());
            for coding in ALL {
                match run(body.clone(), coding, 1000) {
                    Ok(bytes) => prop_assert!(bytes.len() <= 1000),
                    Err(ErrorKind::CorruptedStream | ErrorKind::DecodedTooLarge { .. }) => {}
                    Err(kind) => prop_assert!(false, "{coding:?}: {kind:?}"),
                }
            }
        }

        #[test]
        fn a_damaged_stream_never_passes_for_another_text(
            text: Vec<u8>,
            at: prop::sample::Index,
            bit in 0_u8..8,
        ) {
            let mut body = gzipped(&text);
            // The ten bytes of the header hold a time and flags that do not change the text.
            let position = 10 + at.index(body.len() - 10);
            body[position] ^= 1 << bit;
            match run(body, Coding::Gzip, 1_000_000) {
                Ok(bytes) => prop_assert_eq!(&bytes[..], &text[..]),
                Err(kind) => prop_assert_eq!(kind, ErrorKind::CorruptedStream),
            }
        }
    }
}
