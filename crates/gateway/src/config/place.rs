//! Where the members of a settings file stand, for messages: the line and column of each member's name
//! and of each element, by paths such as `egress.deny[0]`.
//!
//! Formats note the places while they read. The JSON decoder tells none, so those of JSON are found in its
//! text, which is trusted to be valid; of other texts something or nothing is found, without a panic.

use std::collections::HashMap;

use qlio_data::{Value, codec::json};
use qlio_syntax::source::{LineIndex, Position};

/// Members nested deeper than this are no settings.
const DEPTH_MAX: usize = 8;

/// The places of the members of one settings file.
#[derive(Debug, Default)]
pub(super) struct Places {
    by_path: HashMap<String, Position>,
}

/// What a token of JSON stands in; without a path it is too deep to be a setting.
enum Around {
    Object(Option<String>),
    /// With the number of elements so far.
    List(Option<String>, usize),
}

impl Places {
    /// The places in a text that is valid JSON.
    pub(super) fn of(text: &str) -> Self {
        let lines = LineIndex::new(text);
        let mut places = Self::default();
        let mut around: Vec<Around> = Vec::new();
        // The path of the member whose name was read last.
        let mut named = None;
        let mut rest = Scanner { text, at: 0 };
        while let Some((start, token)) = rest.next_token() {
            if matches!(token, "}" | "]" | "," | ":") {
                if token == "}" || token == "]" {
                    around.pop();
                }
                continue;
            }
            let is_deep = around.len() > DEPTH_MAX;
            let place = || lines.position(text, start as u32);
            let path = match around.last_mut() {
                None => Some(String::new()),
                Some(Around::Object(outer)) => {
                    if let Some(path) = named.take() {
                        path
                    } else {
                        let name = json::parse_str(token).ok();
                        let name = name.as_ref().and_then(Value::as_str);
                        let path = outer.as_deref().zip(name).filter(|_| !is_deep);
                        let path = path.map(|(outer, name)| member(outer, name));
                        if let Some(path) = &path {
                            places.insert(path, place());
                        }
                        named = Some(path);
                        continue;
                    }
                }
                Some(Around::List(outer, count)) => {
                    let path = outer.as_deref().filter(|_| !is_deep);
                    let path = path.map(|outer| element(outer, *count));
                    *count += 1;
                    if let Some(path) = &path {
                        places.insert(path, place());
                    }
                    path
                }
            };
            match token {
                "{" => around.push(Around::Object(path)),
                "[" => around.push(Around::List(path, 0)),
                _ => {}
            }
        }
        places
    }

    pub(super) fn insert(&mut self, path: &str, position: Position) {
        self.by_path.insert(path.to_owned(), position);
    }

    /// The place of the member at a dotted path.
    pub(super) fn position(&self, path: &str) -> Option<Position> {
        self.by_path.get(path).copied()
    }
}

/// The path of a member of the object at a path.
pub(super) fn member(outer: &str, name: &str) -> String {
    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
}

/// The path of an element of the list at a path.
pub(super) fn element(outer: &str, index: usize) -> String {
    format!("{outer}[{index}]")
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
        assert_eq!(shown("b.c[0]").as_deref(), Some("2:15"));
        assert_eq!(shown("b.c[0].d").as_deref(), Some("2:16"));
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
