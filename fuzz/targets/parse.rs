//! Any text can be analysed and reported on without a panic, and all spans lie in the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qlio_syntax::{analyse, render::render};

fuzz_target!(|text: &str| {
    let analysis = analyse(text);
    for diagnostic in &analysis.diagnostics {
        let span = diagnostic.primary.span;
        assert!(text.get(span.start as usize..span.end as usize).is_some());
    }
    render(&analysis.diagnostics, "fuzz.ql", text, false);
});
