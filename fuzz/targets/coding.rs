//! Any bytes are decoded or refused in every content coding, and never grow over the limit. The
//! first byte of the input chooses the codings.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

/// What the module below calls the engine's.
mod heavy {
    pub(crate) use qlio_engine::heavy::Heavy;
}

// The engine keeps this module to itself; here it is compiled alone.
#[allow(dead_code)]
#[path = "../../crates/engine/src/transport"]
mod transport {
    mod coding;

    mod headers {
        /// Codings are chosen by the input, not by headers.
        pub(super) struct Headers;

        impl Headers {
            pub(super) fn all(&self, _: &http::HeaderName) -> impl Iterator<Item = &[u8]> {
                std::iter::empty()
            }
        }
    }

    /// Stands in for the engine's module of this name.
    mod error {
        #[derive(PartialEq)]
        pub(super) enum ErrorKind {
            ContentCoding { name: Box<str> },
            CorruptedStream,
            DecodedTooLarge { limit: usize },
            Busy(qlio_engine::heavy::Busy),
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
        let (chosen, heavy) = (chosen[..count].to_vec(), crate::heavy::Heavy::default());
        if let Ok(bytes) = runtime.block_on(coding::decode(body, chosen, LIMIT, &heavy)) {
            assert!(bytes.len() <= LIMIT);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, body)) = bytes.split_first() else { return };
    transport::check(*choice, Bytes::copy_from_slice(body));
});
