//! Any bytes decode or are refused; what is not kept changes nothing about that.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    codec::{DecodeLimits, csv::decode},
    projection::Projection,
};

fuzz_target!(|bytes: &[u8]| {
    let body = Bytes::copy_from_slice(bytes);
    let limits = DecodeLimits::default();
    for header in [false, true] {
        let whole = decode(body.clone(), header, &Projection::All, &limits);
        let outline = decode(body.clone(), header, &Projection::none(), &limits);
        assert_eq!(whole.err(), outline.err());
    }
});
