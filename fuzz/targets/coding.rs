//! Any bytes are decoded or refused in every content coding, and never grow over the limit. The
//! first byte of the input chooses the codings.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

// The engine keeps this module to itself; here it is compiled alone, without the engine.
#[allow(dead_code)]
#[path = "../../crates/engine/src/transport"]
mod transport {
    mod coding;

    /// Stands in for the engine's module of this name.
    mod error {
        #[derive(PartialEq)]
        pub(super) enum ErrorKind {
            ContentCoding { name: Box<str> },
            CorruptedStream,
            DecodedTooLarge { limit: usize },
        }

        pub(super) struct Fault {
            pub(super) kind: ErrorKind,
        }

        impl From<ErrorKind> for Fault {
            fn from(kind: ErrorKind) -> Self {
                Self { kind }
            }
        }
    }

    use bytes::Bytes;

    const LIMIT: usize = 100_000;

    pub fn check(choice: u8, body: Bytes) {
        use coding::Coding::{Brotli, Deflate, Gzip, Zstd};
        let codings = [Gzip, Deflate, Brotli, Zstd];
        let chosen = [codings[usize::from(choice & 3)], codings[usize::from(choice >> 2 & 3)]];
        let count = 1 + usize::from(choice >> 4 & 1);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        if let Ok(bytes) = runtime.block_on(coding::decode(body, &chosen[..count], LIMIT)) {
            assert!(bytes.len() <= LIMIT);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, body)) = bytes.split_first() else { return };
    transport::check(*choice, Bytes::copy_from_slice(body));
});
