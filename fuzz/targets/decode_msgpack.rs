//! Any bytes decode or are refused, and what was decoded is written and read again unchanged.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    codec::{
        DecodeLimits,
        msgpack::{decode, encode},
    },
    projection::Projection,
};

fuzz_target!(|bytes: &[u8]| {
    let limits = DecodeLimits::default();
    let body = Bytes::copy_from_slice(bytes);
    let Ok(value) = decode(body.clone(), &Projection::All, &limits) else { return };
    decode(body, &Projection::none(), &limits).expect("less is kept of the same message");
    let mut again = Vec::new();
    encode(&value, &mut again).expect("no deeper than what was read");
    assert_eq!(decode(again.into(), &Projection::All, &limits).as_ref(), Ok(&value));
});
