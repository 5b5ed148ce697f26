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
pub const COMPRESS_BYTES_MIN: usize = 1024;

/// The level that answers are compressed with: most of the gain at a third of the time of the
/// default level.
const LEVEL: Compression = Compression::new(3);

/// Compresses a body.
pub fn compress(body: &[u8], coding: Coding) -> io::Result<Bytes> {
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
pub enum DecompressError {
    /// A coding that we do not read.
    UnknownCoding(String),
    /// More bytes than the limit.
    TooLarge,
    /// The body is not what its coding says.
    Malformed(String),
}

/// Decodes a request body with this `content-encoding`, up to `bytes_max` bytes.
pub fn decompress(
    body: Bytes,
    content_encoding: Option<&str>,
    bytes_max: usize,
) -> Result<Bytes, DecompressError> {
    let coding = content_encoding.unwrap_or_default().trim().to_ascii_lowercase();
    match coding.as_str() {
        "" | "identity" => Ok(body),
        "gzip" | "x-gzip" => read_all(MultiGzDecoder::new(&*body), bytes_max),
        "deflate" => read_all(ZlibDecoder::new(&*body), bytes_max),
        _ => Err(DecompressError::UnknownCoding(coding)),
    }
}

fn read_all(reader: impl Read, bytes_max: usize) -> Result<Bytes, DecompressError> {
    let mut decoded = Vec::new();
    reader
        .take(bytes_max as u64 + 1)
        .read_to_end(&mut decoded)
        .map_err(|error| DecompressError::Malformed(error.to_string()))?;
    if decoded.len() > bytes_max {
        return Err(DecompressError::TooLarge);
    }
    Ok(decoded.into())
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
            let again = decompress(coded, Some(coding.name()), body.len()).expect("our own");
            assert_eq!(again, body);
        }
    }

    #[test]
    fn decompression_is_bounded_on_both_sides_of_the_limit() {
        let coded = compress(&vec![b'x'; 5000], Coding::Gzip).expect("memory takes everything");
        assert!(decompress(coded.clone(), Some("gzip"), 5000).is_ok());
        assert!(matches!(decompress(coded, Some("gzip"), 4999), Err(DecompressError::TooLarge)));
    }

    #[test]
    fn unknown_codings_are_named() {
        assert!(matches!(
            decompress(Bytes::new(), Some("Sdch"), 10),
            Err(DecompressError::UnknownCoding(name)) if name == "sdch"
        ));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decompress(body.clone().into(), Some("gzip"), 1000);
            let _ = decompress(body.into(), Some("deflate"), 1000);
        }
    }
}
