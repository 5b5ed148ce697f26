//! Formatted text is well-formed, stable and has all comments.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qlio_syntax::{format::format_text, parse};

fuzz_target!(|text: &str| {
    let Ok(formatted) = format_text(text) else { return };
    let again = parse(&formatted);
    assert!(again.is_ok(), "{:?}", again.diagnostics);
    assert_eq!(parse(text).comments.len(), again.comments.len());
    assert_eq!(format_text(&formatted).as_deref(), Ok(formatted.as_str()));
});
