//! Answers as JavaScript calls, for pages that load them with a script element (SRV-37).
//!
//! In: the `callback` parameter and the JSON text of an answer. Out: a checked name, and the call.
//! The name is restricted so that a link cannot make a browser run other code from our origin.

/// The longest callback name, in bytes.
pub(crate) const CALLBACK_BYTES_MAX: usize = 128;

/// A callback name that is safe to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Callback<'q>(&'q str);

/// The same, without the text that it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedCallback(String);

impl OwnedCallback {
    /// The name.
    pub fn borrow(&self) -> Callback<'_> {
        Callback(&self.0)
    }
}

/// The name is not one that we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidCallback;

impl<'q> Callback<'q> {
    /// Checks a name: a letter, `_` or `$`, then letters, digits, `_`, `$`, `.`, `[` and `]`.
    pub fn parse(name: &'q str) -> Result<Self, InvalidCallback> {
        let starts_well = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$';
        let is_valid = name.len() <= CALLBACK_BYTES_MAX
            && name.bytes().next().is_some_and(starts_well)
            && name
                .bytes()
                .all(|byte| starts_well(byte) || byte.is_ascii_digit() || b".[]".contains(&byte));
        if is_valid { Ok(Self(name)) } else { Err(InvalidCallback) }
    }

    /// The name on its own.
    pub fn into_owned(self) -> OwnedCallback {
        OwnedCallback(self.0.to_owned())
    }

    /// The call with this JSON as its argument. U+2028 and U+2029 end lines in older JavaScript
    /// and are written as escapes.
    pub fn wrap(self, json: &[u8]) -> Vec<u8> {
        let mut call = Vec::with_capacity(self.0.len() + json.len() + 2);
        call.extend_from_slice(self.0.as_bytes());
        call.push(b'(');
        let mut rest = json;
        while let Some(at) = rest.iter().position(|byte| *byte == 0xE2) {
            let (before, after) = rest.split_at(at);
            call.extend_from_slice(before);
            let (escape, taken): (&[u8], usize) = match after {
                [_, 0x80, 0xA8, ..] => (b"\\u2028", 3),
                [_, 0x80, 0xA9, ..] => (b"\\u2029", 3),
                _ => (&after[..1], 1),
            };
            call.extend_from_slice(escape);
            rest = &after[taken..];
        }
        call.extend_from_slice(rest);
        call.push(b')');
        call
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_names_are_accepted() {
        for name in ["cb", "_", "$", "a.b[0].c", "jQuery_1"] {
            assert!(Callback::parse(name).is_ok(), "{name}");
        }
        for name in ["", "1a", "a b", "a(", "alert(1);x", "é", "a\n", ".a", "a-b"] {
            assert_eq!(Callback::parse(name), Err(InvalidCallback), "{name}");
        }
        assert!(Callback::parse(&"a".repeat(CALLBACK_BYTES_MAX)).is_ok());
        assert!(Callback::parse(&"a".repeat(CALLBACK_BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn the_call_holds_the_json_and_no_line_ends() {
        let callback = Callback::parse("cb").expect("a valid name");
        assert_eq!(callback.wrap(br#"{"a":1}"#), br#"cb({"a":1})"#);
        let text = "\"a\u{2028}b\u{2029}€\"";
        assert_eq!(callback.wrap(text.as_bytes()), "cb(\"a\\u2028b\\u2029€\")".as_bytes());
    }
}
