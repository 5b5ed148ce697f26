//! Content codings over the wire.

use std::io::Write;

use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use qlio_engine::transport::{ErrorKind, Transport, TransportError, TransportSettings};

use crate::{
    get, transport,
    upstream::{Step, Upstream, response},
};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("written");
    encoder.finish().expect("finished")
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("written");
    encoder.finish().expect("finished")
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("written");
    encoder.finish().expect("finished")
}

fn brotli(text: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    brotli::BrotliCompress(&mut &*text, &mut coded, &brotli::enc::BrotliEncoderParams::default())
        .expect("written");
    coded
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Sends `body` under `coding` through a transport with a limit for decoded bytes.
async fn decoded(coding: &str, body: Vec<u8>, limit: usize) -> Result<Vec<u8>, TransportError> {
    let header = format!("content-encoding: {coding}");
    let upstream =
        Upstream::start(move |_| vec![Step::Send(response(200, &[&header], &body))]).await;
    let settings = TransportSettings { decoded_bytes_max: limit, ..TransportSettings::default() };
    let transport = Transport::new(settings).expect("valid");
    transport.send(get(&upstream.uri("/"))).await.map(|reply| reply.body.to_vec())
}

#[tokio::test]
async fn every_coding_is_undone() {
    let text = "the same words again and again, ".repeat(40_000).into_bytes();
    for (coding, body) in [
        ("identity", text.clone()),
        ("gzip", gzip(&text)),
        ("X-GZip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("deflate", deflate(&text)),
        ("br", brotli(&text)),
        ("zstd", zstd(&text)),
        ("gzip, br", brotli(&gzip(&text))),
        ("deflate, identity,, zstd", zstd(&zlib(&text))),
    ] {
        assert!(decoded(coding, body, text.len()).await.expect(coding) == text, "{coding}");
    }
}

#[tokio::test]
async fn concatenated_members_are_one_text_and_padding_is_ignored() {
    let mut body = [gzip(b"one "), gzip(b"two")].concat();
    body.extend_from_slice(&[0; 16]);
    assert_eq!(decoded("gzip", body, 100).await.expect("decoded"), b"one two");
    // A skippable frame with three bytes, between two frames.
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let body = [&zstd(b"one "), &skipped[..], &zstd(b"two")].concat();
    assert_eq!(decoded("zstd", body, 100).await.expect("decoded"), b"one two");
}

#[tokio::test]
async fn an_empty_coded_body_is_empty() {
    for coding in ["gzip", "deflate", "br", "zstd", "gzip, br"] {
        assert_eq!(decoded(coding, Vec::new(), 100).await.expect(coding), b"");
    }
}

#[tokio::test]
async fn an_unknown_coding_is_named() {
    let error = decoded("Snappy", b"x".to_vec(), 100).await.expect_err("refused");
    assert_eq!(error.to_string(), "Content-Encoding 'snappy' is not supported");
    let error = decoded("gzip,gzip,gzip,gzip,gzip", b"x".to_vec(), 100).await.expect_err("refused");
    assert!(matches!(error.kind, ErrorKind::ContentCoding { .. }), "{error:?}");
}

#[tokio::test]
async fn broken_streams_are_corrupted() {
    let text = "some text, and some more text".repeat(100).into_bytes();
    for (coding, body) in [
        ("gzip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("br", brotli(&text)),
        ("zstd", zstd(&text)),
    ] {
        let cut = body[..body.len() - 6].to_vec();
        let mut bent = body.clone();
        bent[body.len() / 2] ^= 0x55;
        for broken in [cut, bent, b"no such stream".to_vec()] {
            let error = decoded(coding, broken, 1_000_000).await;
            assert!(error.as_deref() != Ok(&text[..]), "{coding}");
            // Brotli has no checksum: a flipped bit may go unnoticed, but never as our text.
            if let Err(error) = error {
                assert_eq!(error.kind, ErrorKind::CorruptedStream, "{coding}");
                assert_eq!(error.to_string(), "Corrupted stream");
                assert!(!error.is_retryable());
            } else {
                assert_eq!(coding, "br");
            }
        }
    }
}

#[tokio::test]
async fn a_bomb_stops_at_the_limit() {
    let zeros = vec![0; 20_000_000];
    for (coding, body) in [
        ("gzip", gzip(&zeros)),
        ("deflate", zlib(&zeros)),
        ("br", brotli(&zeros)),
        ("zstd", zstd(&zeros)),
        ("gzip, gzip", gzip(&gzip(&zeros))),
    ] {
        let error = decoded(coding, body, 100_000).await.expect_err(coding);
        assert_eq!(error.kind, ErrorKind::DecodedTooLarge { limit: 100_000 }, "{coding}");
    }
    let exact = gzip(&vec![7; 50_000]);
    assert_eq!(decoded("gzip", exact.clone(), 50_000).await.expect("decoded").len(), 50_000);
    assert!(decoded("gzip", exact, 49_999).await.is_err());
}

#[tokio::test]
async fn the_size_on_the_wire_is_reported() {
    let body = gzip(&vec![7; 50_000]);
    let size = body.len();
    let upstream = Upstream::start(move |_| {
        vec![Step::Send(response(200, &["content-encoding: gzip"], &body))]
    })
    .await;
    let reply = transport().send(get(&upstream.uri("/"))).await.expect("an answer");
    assert_eq!((reply.wire_bytes, reply.body.len()), (size, 50_000));
}
