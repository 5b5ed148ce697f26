//! Any text is a path or is refused, and a path finds the same in what its projection keeps as in
//! the whole value. The first line of the input is the path, the rest is JSON.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    codec::{DecodeLimits, json::decode},
    path::{Options, Path},
    projection::Projection,
    scope::EmptyScope,
};

fuzz_target!(|text: &str| {
    let (path, body) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(path) = Path::parse(path) else { return };
    let printed = Path::from_segments(path.segments().to_vec());
    let again = Path::parse(printed.text()).expect("canonical text is a path");
    assert_eq!(again.segments(), printed.segments());
    let limits = DecodeLimits::default();
    let body = Bytes::copy_from_slice(body.as_bytes());
    let Ok(whole) = decode(body.clone(), &Projection::All, &limits) else { return };
    let mut projection = Projection::none();
    projection.add_path(&path);
    let pruned = decode(body, &projection, &limits).expect("less is kept of the same body");
    for flatten in [false, true] {
        let options = Options { flatten };
        assert_eq!(
            path.select(&whole, &EmptyScope, options),
            path.select(&pruned, &EmptyScope, options)
        );
    }
});
