//! Content codings of answers and of request bodies.
//!
//! In: a whole body and a coding. Out: the coded or decoded body. Answers below
//! [`COMPRESS_BYTES_MIN`] are not worth it and stay as they are. Decoding is bounded, so that a
//! small request cannot unfold into a huge one. It does not choose a coding; `negotiate` does.

use std::io::{self, Read, Write};

use bytes::Bytes;
use flate2::{
    Compression,
    read::{MultiGzDecoder, ZlibDecoder},
    write::{GzEncoder, ZlibEncoder},
};

use super::negotiate::Coding;

/// Smaller answers are sent as they are.
pub(crate) const COMPRESS_BYTES_MIN: usize = 1024;

/// The level that answers are compressed with: most of the gain at a third of the time of the
/// default level.
const LEVEL: Compression = Compression::new(3);

/// Room for the first bytes of a body that is decoded.
const DECODED_BYTES_USUAL: usize = 16 * 1024;

/// Compresses a body.
pub(crate) fn compress(body: &[u8], coding: Coding) -> io::Result<Bytes> {
    let room = Vec::with_capacity(body.len() / 3);
    let compressed = match coding {
        Coding::Gzip => {
            let mut encoder = GzEncoder::new(room, LEVEL);
            encoder.write_all(body)?;
            encoder.finish()?
        }
        Coding::Deflate => {
            let mut encoder = ZlibEncoder::new(room, LEVEL);
            encoder.write_all(body)?;
            encoder.finish()?
        }
    };
    Ok(compressed.into())
}

/// Why a request body could not be decompressed.
#[derive(Debug)]
pub(crate) enum DecompressError {
    /// A coding that we do not read.
    UnknownCoding(String),
    /// More bytes than the limit.
    TooLarge,
    /// There is no room for more of it.
    NoRoom,
    /// The body is not what its coding says.
    Malformed(String),
}

/// Decodes a request body with this `content-encoding`, up to `bytes_max` bytes. Before it takes memory for so many
/// bytes beside the body, it asks whether there is room for them.
pub(crate) fn decompress(
    body: Bytes,
    content_encoding: Option<&str>,
    bytes_max: usize,
    has_room: impl FnMut(usize) -> bool,
) -> Result<Bytes, DecompressError> {
    let coding = content_encoding.unwrap_or_default().trim().to_ascii_lowercase();
    match coding.as_str() {
        "" | "identity" => Ok(body),
        "gzip" | "x-gzip" => read_all(MultiGzDecoder::new(&*body), bytes_max, has_room),
        "deflate" => read_all(ZlibDecoder::new(&*body), bytes_max, has_room),
        _ => Err(DecompressError::UnknownCoding(coding)),
    }
}

fn read_all(
    mut reader: impl Read,
    bytes_max: usize,
    mut has_room: impl FnMut(usize) -> bool,
) -> Result<Bytes, DecompressError> {
    let mut decoded = Vec::new();
    let mut room = DECODED_BYTES_USUAL;
    loop {
        // One byte more than is allowed shows that there is more.
        room = room.min(bytes_max.saturating_add(1));
        if !has_room(room) {
            return Err(DecompressError::NoRoom);
        }
        let left = room - decoded.len();
        decoded.reserve_exact(left);
        let read = reader
            .by_ref()
            .take(left as u64)
            .read_to_end(&mut decoded)
            .map_err(|error| DecompressError::Malformed(error.to_string()))?;
        if decoded.len() > bytes_max {
            return Err(DecompressError::TooLarge);
        }
        if read < left {
            return Ok(decoded.into());
        }
        room = room.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_compressed_decompresses_to_the_same() {
        let body = Bytes::from("low tide ".repeat(500));
        for coding in [Coding::Gzip, Coding::Deflate] {
            let coded = compress(&body, coding).expect("memory takes everything");
            assert!(coded.len() < body.len() / 5);
            let again =
                decompress(coded, Some(coding.name()), body.len(), |_| true).expect("our own");
            assert_eq!(again, body);
        }
    }

    #[test]
    fn decompression_is_bounded_on_both_sides_of_the_limit() {
        let coded = compress(&vec![b'x'; 5000], Coding::Gzip).expect("memory takes everything");
        assert!(decompress(coded.clone(), Some("gzip"), 5000, |_| true).is_ok());
        let refused = decompress(coded.clone(), Some("gzip"), 4999, |_| true);
        assert!(matches!(refused, Err(DecompressError::TooLarge)));
        let large = compress(&vec![b'x'; 1 << 20], Coding::Gzip).expect("memory takes everything");
        let mut most = 0;
        let refused = decompress(large, Some("gzip"), 1 << 20, |bytes| {
            most = bytes;
            bytes <= 100_000
        });
        assert!(matches!(refused, Err(DecompressError::NoRoom)));
        assert!(most < 200_000, "it is not asked for all at once");
    }

    #[test]
    fn unknown_codings_are_named() {
        assert!(matches!(
            decompress(Bytes::new(), Some("Sdch"), 10, |_| true),
            Err(DecompressError::UnknownCoding(name)) if name == "sdch"
        ));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decompress(body.clone().into(), Some("gzip"), 1000, |_| true);
            let _ = decompress(body.into(), Some("deflate"), 1000, |_| true);
        }
    }
}
