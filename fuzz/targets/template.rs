//! Any text is a template of a string, a URI or a form, or is refused, and filling it never panics.
//! The first line of the input is the template, the rest is a JSON object of parameters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qlio_data::{
    Object, Value, codec::json::parse_str, mutable_uri::normalize, scope::SlotId,
    template::Template, uri_template::UriTemplate,
};

/// The most URIs of one expansion.
const URIS_MAX: usize = 50;

fuzz_target!(|text: &str| {
    let (text, params) = text.split_once('\n').unwrap_or((text, "{}"));
    let params = match parse_str(params).map(|value| value.into_tree()) {
        Ok(Value::Object(members)) => Object::clone(&members),
        _ => Object::new(),
    };
    let mut template = Template::parse(text);
    let filled = template.fill(&params);
    assert_eq!(template.fill(&params), filled);
    template.fill_drop(&params);
    let _ = template.required_missing(&params);
    // Slots are another way to the same values.
    let names: Vec<String> = params.iter().map(|(name, _)| name.to_string()).collect();
    template.bind(&mut |name| names.iter().position(|known| known == name).map(SlotId::at));
    assert_eq!(template.fill(&params), filled);
    UriTemplate::substitute_config(text, &|name| Some(name.to_owned()));
    if let Ok(template) = UriTemplate::parse(text) {
        if let Ok(expansion) = template.expand_limited(&params, URIS_MAX) {
            assert!(expansion.uris.len() <= URIS_MAX);
        }
        let _ = template.expand_form(&params);
    }
    let normal = normalize(text);
    assert_eq!(normalize(&normal), normal, "{text:?}");
});
