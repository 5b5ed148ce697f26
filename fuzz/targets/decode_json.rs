//! Any bytes decode or are refused, what is not kept changes nothing about that, and what was
//! decoded is written and read again unchanged.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    codec::{
        DecodeLimits,
        json::{decode, to_string},
    },
    projection::Projection,
};

fuzz_target!(|bytes: &[u8]| {
    let body = Bytes::copy_from_slice(bytes);
    let limits = DecodeLimits::default();
    let whole = decode(body.clone(), &Projection::All, &limits);
    let outline = decode(body, &Projection::none(), &limits);
    let Ok(value) = whole else {
        assert_eq!(whole.err(), outline.err());
        return;
    };
    outline.expect("less is kept of the same body");
    let written = to_string(&value.clone().into_tree());
    let again = decode(written.clone().into(), &Projection::All, &limits).expect("what we wrote");
    assert_eq!(again, value);
    assert_eq!(to_string(&again.into_tree()), written);
});
