//! Where in a JSON text the tags of a template stand.
//!
//! In: the text between the tags, in order. Out: whether a tag stands in a string, and whether a whole value
//! is due. The text need not be JSON: where it is not, the answers are merely of no use.

/// A place between two pieces of a template.
#[derive(Debug, Default)]
pub(super) struct JsonPlace {
    is_in_string: bool,
    is_behind_colon: bool,
}

impl JsonPlace {
    /// Whether a quote has been opened and not closed.
    pub(super) fn is_in_string(&self) -> bool {
        self.is_in_string
    }

    /// Whether a value is due because the last thing that is not blank was the colon behind a name.
    pub(super) fn is_behind_colon(&self) -> bool {
        self.is_behind_colon
    }

    /// Goes on behind this text.
    pub(super) fn pass(&mut self, text: &str) {
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => self.is_in_string = !self.is_in_string,
                b'\\' if self.is_in_string => {
                    bytes.next();
                }
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                self.is_behind_colon = byte == b':' && !self.is_in_string;
            }
        }
    }

    /// Goes on behind a value.
    pub(super) fn pass_value(&mut self) {
        self.is_behind_colon = false;
    }
}

/// Whether a value ends where this text goes on: tags of sections and comments write nothing themselves.
pub(super) fn ends_value(rest: &str) -> bool {
    let mut rest = rest.trim_ascii_start();
    while let Some(tag) = rest.strip_prefix("{{")
        && tag.starts_with(['#', '^', '/', '!'])
        && let Some((_, behind)) = tag.split_once("}}")
    {
        rest = behind.trim_ascii_start();
    }
    rest.is_empty() || rest.starts_with([',', '}', ']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_colons_are_known() {
        for (text, is_in_string, is_behind_colon) in [
            ("", false, false),
            ("{\"a\": ", false, true),
            ("{\"a\":\n\t", false, true),
            ("{\"a\": \"", true, false),
            ("{\"a\": \"x:", true, false),
            ("{\"a\": \"x\\\"", true, false),
            ("{\"a\": \"x\\\\\"", false, false),
            ("{\"a\": [", false, false),
        ] {
            let mut place = JsonPlace::default();
            place.pass(text);
            assert_eq!(
                (place.is_in_string(), place.is_behind_colon()),
                (is_in_string, is_behind_colon),
                "{text}"
            );
        }
    }

    #[test]
    fn sections_do_not_part_a_value_from_its_end() {
        for (rest, ends) in [
            ("}", true),
            (" , ", true),
            ("", true),
            ("{{/x}}{{! c }} ]", true),
            ("{{/x}}}", true),
            ("{{x}}", false),
            ("0}", false),
            ("{{/x", false),
        ] {
            assert_eq!(ends_value(rest), ends, "{rest}");
        }
    }
}
