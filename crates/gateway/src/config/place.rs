//! Where the members of a settings file stand, for messages.
//!
//! In: a text that is one JSON object. Out: the line and column of each member's name, by dotted path.
//! It trusts the text to be valid JSON; of other texts it says something or nothing, and never panics.

use std::collections::HashMap;

use qlio_data::codec::json;
use qlio_syntax::source::{LineIndex, Position};

/// Members nested deeper than this are no settings.
const DEPTH_MAX: usize = 8;

/// The places of the members of one settings file.
#[derive(Debug, Default)]
pub(super) struct Places {
    by_path: HashMap<String, Position>,
}

impl Places {
    pub(super) fn of(text: &str) -> Self {
        let lines = LineIndex::new(text);
        let mut by_path = HashMap::new();
        // The paths of the objects around; an array adds a level whose path no setting has.
        let mut around: Vec<String> = Vec::new();
        let mut name = None;
        let mut rest = Scanner { text, at: 0 };
        while let Some((start, token)) = rest.next_token() {
            match token {
                "{" | "[" => {
                    let path: Option<String> = name.take();
                    around.push(match path {
                        _ if token == "[" => "[".to_owned(),
                        Some(path) => format!("{path}."),
                        None if around.is_empty() => String::new(),
                        None => "[".to_owned(),
                    });
                }
                "}" | "]" => drop(around.pop()),
                "," => name = None,
                ":" => {}
                _ if name.is_none() && token.starts_with('"') => {
                    let prefix = around.last().filter(|prefix| !prefix.starts_with('['));
                    let text_of = |token: &str| {
                        let value = json::parse_str(token).ok()?;
                        value.as_str().map(str::to_owned)
                    };
                    if let (Some(prefix), true) = (prefix, around.len() <= DEPTH_MAX)
                        && let Some(key) = text_of(token)
                    {
                        let path = format!("{prefix}{key}");
                        by_path.insert(path.clone(), lines.position(text, start as u32));
                        name = Some(path);
                    }
                }
                _ => {}
            }
        }
        Self { by_path }
    }

    /// The place of the member at a dotted path.
    pub(super) fn position(&self, path: &str) -> Option<Position> {
        self.by_path.get(path).copied()
    }
}

/// Cuts a JSON text into punctuation, quoted texts and other words.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn next_token(&mut self) -> Option<(usize, &'a str)> {
        let bytes = self.text.as_bytes();
        let is_blank = |byte: &u8| byte.is_ascii_whitespace();
        self.at += bytes[self.at..].iter().take_while(|byte| is_blank(byte)).count();
        let start = self.at;
        match bytes.get(start)? {
            b'"' => {
                self.at += 1;
                while let Some(byte) = bytes.get(self.at) {
                    self.at += if *byte == b'\\' { 2 } else { 1 };
                    if *byte == b'"' {
                        break;
                    }
                }
            }
            b'{' | b'}' | b'[' | b']' | b',' | b':' => self.at += 1,
            _ => {
                let is_word = |byte: &u8| !is_blank(byte) && !b"{}[],:\"".contains(byte);
                self.at += bytes[start..].iter().take_while(|byte| is_word(byte)).count();
            }
        }
        self.at = self.at.min(bytes.len());
        Some((start, self.text.get(start..self.at).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_at_their_names() {
        let places = Places::of(
            "{\"a\": 1,\n  \"b\": {\"c\": [{\"d\": \"x,\\\"{\"}], \"e\": \"b\"},\n \"f\\u0067\": {}}",
        );
        let shown = |path: &str| places.position(path).map(|position| position.to_string());
        assert_eq!(shown("a").as_deref(), Some("1:2"));
        assert_eq!(shown("b").as_deref(), Some("2:3"));
        assert_eq!(shown("b.c").as_deref(), Some("2:9"));
        assert_eq!(shown("b.e").as_deref(), Some("2:32"));
        assert_eq!(shown("fg").as_deref(), Some("3:2"));
        assert_eq!(shown("d"), None);
    }

    #[test]
    fn any_text_is_survived() {
        for text in ["", "\"", "{\"a", "{\"a\\", "]]}}", "{\"é\\", "{{{{[[[[\"a\":", "\u{0}{:,}"] {
            Places::of(text);
        }
    }
}
