//! Any text is a Mustache template or is refused, and rendering ends within its limits. The first
//! line of the input is the JSON that is rendered, the rest is the template.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qlio_data::codec::json::parse_str;

// The engine keeps this module to itself; here it is compiled alone, without the engine.
#[allow(dead_code, unused_imports)]
#[path = "../../crates/engine/src/body"]
mod body {
    pub(crate) mod escape;
    pub(crate) mod mustache;
}

use body::{
    escape::Escape,
    mustache::{Found, Mustache},
};

fuzz_target!(|text: &str| {
    let (root, template) = text.split_once('\n').unwrap_or(("", text));
    let root = parse_str(root).map(|value| value.into_tree()).unwrap_or_default();
    let root = Found::Value(root);
    for escape in [Escape::Verbatim, Escape::Markup, Escape::Json, Escape::Form] {
        let Ok(template) = Mustache::parse(template, escape) else { return };
        let rendered = template.render(&root).ok();
        assert_eq!(template.render(&root).ok(), rendered);
    }
});
