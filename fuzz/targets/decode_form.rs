//! Any text is a form or is refused, and a form can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qlio_data::{
    Value,
    codec::form::{encode, parse},
};

/// The notation has no way to write a name with brackets in it.
fn has_plain_names(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().all(|(name, value)| !name.contains(['[', ']']) && has_plain_names(value))
        }
        Value::Array(elements) => elements.iter().all(has_plain_names),
        _ => true,
    }
}

fuzz_target!(|text: &str| {
    let Ok(form) = parse(text) else { return };
    let written = encode(&form).expect("no deeper than what was read");
    let again = parse(&written).expect("what we wrote");
    if has_plain_names(&Value::object(form)) {
        assert_eq!(encode(&again).as_ref(), Ok(&written));
    }
});
