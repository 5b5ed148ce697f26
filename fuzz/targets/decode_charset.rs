//! Any bytes become text in any charset, named or declared in the body, and UTF-8 stays as it is.
//! The first line of the input is the name of the charset.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::codec::{
    charset::{Sniff, to_utf8},
    media_type::MediaType,
};

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (name, body) = bytes.split_at(end);
    let body = Bytes::copy_from_slice(body.strip_prefix(b"\n").unwrap_or_default());
    let name = String::from_utf8_lossy(name);
    let media = MediaType::parse(&name);
    let _ = (media.decoder(), media.to_string());
    for charset in [None, Some(&*name), media.charset()] {
        for sniff in [Sniff::None, Sniff::Xml] {
            let _ = to_utf8(body.clone(), charset, sniff);
        }
    }
    if let Ok(text) = str::from_utf8(&body) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_marked = body.starts_with(b"\xff\xfe") || body.starts_with(b"\xfe\xff");
        if !is_marked {
            let (read, is_lossy) =
                to_utf8(body.clone(), Some("utf-8"), Sniff::None).expect("a known charset");
            assert_eq!((read.as_str(), is_lossy), (text, false));
        }
    }
});
