//! Any bytes decode or are refused, what is not kept changes nothing about that, and what was
//! decoded is written and read again unchanged.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    codec::{
        DecodeLimits,
        cbor::{decode, encode},
        json::to_string,
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
    let once_more = decode(again.into(), &Projection::All, &limits).expect("what we wrote");
    // Integers beyond 64 bits are written as text, so only the text is compared.
    let plain = |value| to_string(value).replace('"', "");
    assert_eq!(plain(&once_more), plain(&value));
});
