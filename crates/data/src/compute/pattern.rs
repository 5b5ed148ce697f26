//! Patterns of `like`, `ilike` and `matches`, and of the functions of regular expressions:
//! compiled once, matched in time linear in the text.

use regex::{Regex, RegexBuilder};

/// The most bytes that a compiled pattern, and what it keeps while matching, takes.
pub const PATTERN_BYTES_MAX: usize = 1 << 20;

/// The most groups and classes inside each other.
const PATTERN_DEPTH_MAX: u32 = 100;

/// The most bytes of a pattern's text.
const PATTERN_TEXT_BYTES_MAX: usize = 16 << 10;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern(Form);

#[derive(Debug, Clone)]
enum Form {
    /// A text without wildcards, perhaps between two `%`.
    Plain {
        text: String,
        is_open_before: bool,
        is_open_behind: bool,
    },
    Regex(Regex),
}

/// A pattern that is none, as a clause that goes on "the pattern …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError {
    /// Lower case, no full stop: `has an unclosed group, at character 3`.
    pub reason: String,
}

impl std::fmt::Display for PatternError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the pattern {}", self.reason)
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    /// `like`: `%` stands for any characters, `_` for one, and `\` takes its meaning from what follows
    /// it. The whole text has to fit.
    pub fn like(pattern: &str) -> Result<Self, PatternError> {
        if let Some(plain) = plain(pattern) {
            return Ok(Self(plain));
        }
        regex(&like_expression(pattern)?, false).map(Form::Regex).map(Self)
    }

    /// `ilike`: the same, and letters fit in either case.
    pub fn like_in_any_case(pattern: &str) -> Result<Self, PatternError> {
        regex(&like_expression(pattern)?, true).map(Form::Regex).map(Self)
    }

    /// `matches`: a regular expression that fits somewhere in the text.
    pub fn regex(pattern: &str) -> Result<Self, PatternError> {
        regex(pattern, false).map(Form::Regex).map(Self)
    }

    /// Whether it fits.
    pub fn is_match(&self, text: &str) -> bool {
        match &self.0 {
            Form::Regex(regex) => regex.is_match(text),
            Form::Plain { text: plain, is_open_before, is_open_behind } => {
                match (is_open_before, is_open_behind) {
                    (false, false) => text == plain,
                    (false, true) => text.starts_with(plain.as_str()),
                    (true, false) => text.ends_with(plain.as_str()),
                    (true, true) => {
                        memchr::memmem::find(text.as_bytes(), plain.as_bytes()).is_some()
                    }
                }
            }
        }
    }
}

/// A regular expression within the limits.
pub(super) fn regex(pattern: &str, is_in_any_case: bool) -> Result<Regex, PatternError> {
    if pattern.len() > PATTERN_TEXT_BYTES_MAX {
        let reason =
            format!("has more than {PATTERN_TEXT_BYTES_MAX} bytes (pattern_text_bytes_max)");
        return Err(PatternError { reason });
    }
    RegexBuilder::new(pattern)
        .case_insensitive(is_in_any_case)
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .nest_limit(PATTERN_DEPTH_MAX)
        .build()
        .map_err(|error| PatternError { reason: reason(pattern, &error) })
}

/// The reason without the drawing that the library makes of it.
fn reason(pattern: &str, error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(_) = error {
        return format!(
            "needs more than {PATTERN_BYTES_MAX} bytes when compiled (pattern_bytes_max)"
        );
    }
    let text = error.to_string();
    let what = text.lines().last().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(what);
    format!("\"{}\" is no regular expression: {what}", super::kind::clip(pattern))
}

/// The pattern of a `like` that needs no wildcards inside.
fn plain(pattern: &str) -> Option<Form> {
    let inner = pattern.strip_prefix('%').unwrap_or(pattern);
    let is_open_before = inner.len() < pattern.len();
    let text = inner.strip_suffix('%').unwrap_or(inner);
    let is_open_behind = text.len() < inner.len();
    let is_plain = !text.contains(['%', '_', '\\']);
    is_plain.then(|| Form::Plain { text: text.to_owned(), is_open_before, is_open_behind })
}

fn like_expression(pattern: &str) -> Result<String, PatternError> {
    let mut out = String::from(r"(?s)\A");
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '\\' => {
                let Some(escaped) = characters.next() else {
                    let reason = "ends with `\\`, which takes the meaning from what follows it; \
                                  write `\\\\` for one that stands for itself";
                    return Err(PatternError { reason: reason.to_owned() });
                };
                push_literal(escaped, &mut out);
            }
            _ => push_literal(character, &mut out),
        }
    }
    out.push_str(r"\z");
    Ok(out)
}

fn push_literal(character: char, out: &mut String) {
    out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn like_fits_the_whole_text() {
        for (pattern, text, fits) in [
            ("", "", true),
            ("", "a", false),
            ("%", "", true),
            ("%%", "x", true),
            ("abc", "abc", true),
            ("abc", "xabc", false),
            ("ab%", "abc", true),
            ("ab%", "xab", false),
            ("%bc", "abc", true),
            ("%b%", "abc", true),
            ("%b%", "ac", false),
            ("a_c", "aéc", true),
            ("a_c", "ac", false),
            ("a%c%e", "abcde", true),
            ("a%c%e", "abcd", false),
            ("%a\nb", "x a\nb", true),
            ("a_b%", "a\nb\n", true),
            (r"50\%", "50%", true),
            (r"50\%", "500", false),
            (r"a\_b", "a_b", true),
            (r"a\_b", "axb", false),
            (r"a\\%", r"a\b", true),
            ("a.c", "abc", false),
            ("(a", "(a", true),
            ("A%", "abc", false),
        ] {
            assert_eq!(Pattern::like(pattern).unwrap().is_match(text), fits, "{pattern} {text}");
        }
        assert!(Pattern::like_in_any_case("Ä%").unwrap().is_match("äb"));
        assert!(!Pattern::like_in_any_case("Ä").unwrap().is_match("äb"));
    }

    #[test]
    fn regular_expressions_search() {
        assert!(Pattern::regex(r"^\d{4}-").unwrap().is_match("2026-01"));
        assert!(Pattern::regex("b").unwrap().is_match("abc"));
        assert!(!Pattern::regex(r"^b$").unwrap().is_match("abc"));
        assert!(Pattern::regex("(?i)B").unwrap().is_match("abc"));
    }

    #[test]
    fn bad_and_huge_patterns_are_refused_with_a_reason() {
        for (pattern, reason) in [
            ("(a", "unclosed group"),
            ("a{2,1}", "invalid repetition"),
            (r"(a)\1", "backreferences are not supported"),
            ("(?=a)", "look-around"),
            (r"(\w{100}){100}{100}", "pattern_bytes_max"),
            (&format!("{}{}", "(".repeat(200), ")".repeat(200)), "nested parentheses"),
            (&"a".repeat(PATTERN_TEXT_BYTES_MAX + 1), "pattern_text_bytes_max"),
        ] {
            let error = Pattern::regex(pattern).unwrap_err();
            assert!(error.reason.contains(reason), "{error}");
        }
        let error = Pattern::like("a\\").unwrap_err();
        assert!(error.reason.starts_with("ends with `\\`"), "{error}");
    }

    #[test]
    fn hostile_patterns_stay_linear() {
        let text = "a".repeat(1 << 20);
        assert!(!Pattern::regex("(a*)*(a*)*b").unwrap().is_match(&text));
        let pattern = "%a%a%a%a%a%a%a%a%a%a%a%a%b";
        assert!(!Pattern::like(pattern).unwrap().is_match(&text));
    }

    /// `like` by its definition.
    fn is_like(pattern: &[char], text: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|from| is_like(rest, &text[from..])),
            ['_', rest @ ..] => !text.is_empty() && is_like(rest, &text[1..]),
            ['\\', escaped, rest @ ..] => {
                text.first() == Some(escaped) && is_like(rest, &text[1..])
            }
            [own, rest @ ..] => text.first() == Some(own) && is_like(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn like_does_what_its_definition_says(pattern in r"([ab%_.]|\\[a%_]){0,6}", text in "[abA%_.\n]{0,6}") {
            let (pattern_chars, text_chars): (Vec<_>, Vec<_>) =
                (pattern.chars().collect(), text.chars().collect());
            let fits = is_like(&pattern_chars, &text_chars);
            prop_assert_eq!(Pattern::like(&pattern).unwrap().is_match(&text), fits);
            if text == text.to_lowercase() {
                prop_assert_eq!(Pattern::like_in_any_case(&pattern).unwrap().is_match(&text.to_uppercase()),
                    Pattern::like(&pattern.to_uppercase()).unwrap().is_match(&text.to_uppercase()));
            }
        }

        #[test]
        fn no_pattern_panics(pattern in any::<String>(), text in any::<String>()) {
            let patterns =
                [Pattern::like(&pattern), Pattern::like_in_any_case(&pattern), Pattern::regex(&pattern)];
            for pattern in patterns.into_iter().flatten() {
                pattern.is_match(&text);
            }
        }
    }
}
