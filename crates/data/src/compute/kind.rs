//! The kinds of values that expressions tell apart, and how messages speak of a value.

use crate::Value;

/// The most characters of a text that a message repeats.
const SHOWN_CHARS_MAX: usize = 40;

/// The kind of a value, as `typeof` names it and `is` tests it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `null`.
    Null,
    /// No value at all.
    Missing,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// Text.
    Text,
    /// A list.
    List,
    /// An object.
    Object,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Null,
        Self::Missing,
        Self::Boolean,
        Self::Number,
        Self::Text,
        Self::List,
        Self::Object,
    ];

    /// The kind of a value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Absent => Self::Missing,
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::Text,
            Value::Array(_) | Value::Object(_) | Value::Raw(_) if value.is_array() => Self::List,
            Value::Array(_) | Value::Object(_) | Value::Raw(_) => Self::Object,
        }
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Missing => "missing",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::Text => "text",
            Self::List => "list",
            Self::Object => "object",
        }
    }

    /// The kind with that word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// `value is kind`: what is missing is null as well.
    pub fn is_of(self, value: &Value) -> bool {
        let kind = Self::of(value);
        kind == self || (self == Self::Null && kind == Self::Missing)
    }
}

/// A value as messages name it: `the text "n/a"`, `the number 7`, `a list`.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Absent => "nothing".to_owned(),
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {}", clip(&number.to_shortest())),
        Value::String(text) => format!("the text \"{}\"", clip(text).escape_debug()),
        _ if value.is_array() => "a list".to_owned(),
        _ => "an object".to_owned(),
    }
}

/// The beginning of a text, with dots if there is more.
pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;

    #[test]
    fn each_value_has_one_kind_and_missing_is_null_too() {
        for (text, kind) in [
            ("null", Kind::Null),
            ("true", Kind::Boolean),
            ("1.5", Kind::Number),
            ("\"a\"", Kind::Text),
            ("[1]", Kind::List),
            ("{}", Kind::Object),
        ] {
            for value in
                [json::parse_str(text).unwrap(), json::parse_str(text).unwrap().into_tree()]
            {
                assert_eq!(Kind::of(&value), kind, "{text}");
                let holding: Vec<_> =
                    Kind::ALL.into_iter().filter(|kind| kind.is_of(&value)).collect();
                assert_eq!(holding, [kind]);
                assert_eq!(Kind::named(kind.name()), Some(kind));
            }
        }
        assert!(Kind::Null.is_of(&Value::Absent) && Kind::Missing.is_of(&Value::Absent));
        assert!(!Kind::Missing.is_of(&Value::Null));
        assert_eq!(Kind::named("array"), None);
    }

    #[test]
    fn messages_show_the_beginning_of_long_texts() {
        assert_eq!(describe(&Value::from("a\n\"b\"")), r#"the text "a\n\"b\"""#);
        let shown = describe(&Value::from("é".repeat(1000)));
        assert_eq!(shown, format!("the text \"{}…\"", "é".repeat(SHOWN_CHARS_MAX)));
    }
}
