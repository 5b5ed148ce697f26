//! Any bytes are a multipart body or are refused, and its parts are parts of it.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::codec::media_type::MediaType;

/// Stands in for the gateway's module of this name.
mod body {
    #[derive(Debug)]
    pub struct MalformedBody {
        pub code: qlio_syntax::diagnostic::Code,
        pub reason: String,
    }
}

// The gateway keeps this module to itself; here it is compiled alone, without the gateway.
#[path = "../../crates/gateway/src/http/multipart.rs"]
mod multipart;

fuzz_target!(|bytes: &[u8]| {
    let media = MediaType::parse("multipart/form-data; boundary=~");
    let body = Bytes::copy_from_slice(bytes);
    match multipart::parse(&media, &body) {
        Ok(parts) => {
            assert!(parts.len() <= multipart::PARTS_MAX);
            assert!(parts.iter().map(|part| part.data.len()).sum::<usize>() <= body.len());
            assert!(parts.iter().all(|part| part.size == part.data.len()));
        }
        Err(error) => assert!(error.code.number > 0 && !error.reason.is_empty()),
    }
});
