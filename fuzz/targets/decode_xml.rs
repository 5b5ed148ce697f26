//! Any bytes decode or are refused; what is not kept changes nothing about that.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    codec::{
        DecodeLimits,
        xml::{ArrayPaths, Coerce, XmlOptions, decode},
    },
    projection::Projection,
};

fuzz_target!(|bytes: &[u8]| {
    let body = Bytes::copy_from_slice(bytes);
    let limits = DecodeLimits::default();
    for coerce in [Coerce::Safe, Coerce::Original, Coerce::None] {
        let options = XmlOptions { coerce, arrays: ArrayPaths::new(["a.b", "a"]) };
        let whole = decode(body.clone(), &Projection::All, &options, &limits);
        let outline = decode(body.clone(), &Projection::none(), &options, &limits);
        assert_eq!(whole.err(), outline.err());
    }
});
