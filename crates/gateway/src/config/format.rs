//! The formats of a settings file: by its name JSON, TOML or YAML, to values with their places.
//!
//! In: the text of a file. Out: one value and where its members stand, or what is wrong and where. Which
//! settings there are is no business of a format, so all three give the same messages.

mod toml;
mod yaml;

use std::path::Path;

use qlio_data::{Value, codec::json};
use qlio_syntax::source::{LineIndex, Position};

use super::place::Places;

/// Objects and lists that may stand inside of each other; for JSON its decoder says how many.
const DEPTH_MAX: usize = 32;

/// A format of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Toml,
    Yaml,
}

/// Why a text is not in its format.
#[derive(Debug)]
pub(super) struct Malformed {
    pub(super) position: Option<Position>,
    pub(super) reason: String,
}

/// A value, and where its members and elements stand.
type Located = (Value, Places);

impl Format {
    /// The format that the ending of a file's name says; JSON if it says nothing else.
    pub(super) fn of(file: &Path) -> Self {
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "toml" => Self::Toml,
            "yaml" | "yml" => Self::Yaml,
            _ => Self::Json,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }

    pub(super) fn parse(self, text: &str) -> Result<Located, Malformed> {
        match self {
            Self::Json => parse_json(text),
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text),
        }
    }
}

fn parse_json(text: &str) -> Result<Located, Malformed> {
    match json::parse_str(text) {
        Ok(value) => Ok((value.into_tree(), Places::of(text))),
        Err(error) => {
            let position = LineIndex::new(text).position(text, error.offset as u32);
            Err(Malformed { position: Some(position), reason: error.reason })
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const JSON: &str = "{\"a\": {\"b\": [1, \"x\", true],\n  \"c\": -0.5}, \"d.e\": null}";

    #[test]
    fn the_ending_says_the_format() {
        for (name, format) in [
            ("qlio.json", Format::Json),
            ("a/qlio.TOML", Format::Toml),
            ("qlio.yaml", Format::Yaml),
            ("other.yml", Format::Yaml),
            ("settings", Format::Json),
        ] {
            assert_eq!(Format::of(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn the_formats_give_the_same_values_with_their_places() {
        let toml = "\"d.e\" = \"none\"\n[a]\nb = [1, \"x\", true]\n  c = -0.5\n";
        let yaml = "a:\n  b: [1, x, true]\n  c: -0.5\nd.e:\n";
        for (format, text, places) in [
            (Format::Json, JSON, ["1:2", "1:8", "1:14", "1:17", "2:3", "2:15"]),
            (Format::Toml, toml, ["2:2", "3:1", "3:6", "3:9", "4:3", "1:1"]),
            (Format::Yaml, yaml, ["1:1", "2:3", "2:7", "2:10", "3:3", "4:1"]),
        ] {
            let (value, found) = format.parse(text).unwrap();
            let a = json::to_string(&value.member("a"));
            assert_eq!(a, "{\"b\":[1,\"x\",true],\"c\":-0.5}", "{format:?}");
            let paths = ["a", "a.b", "a.b[0]", "a.b[1]", "a.c", "d.e"];
            let shown = paths.map(|path| found.position(path).unwrap().to_string());
            assert_eq!(shown, places, "{format:?}");
        }
    }

    #[test]
    fn what_is_malformed_is_told_with_its_place() {
        for (format, text, place) in [
            (Format::Json, "{\"a\": 1,\n !}", "2:2"),
            (Format::Toml, "a = 1\nb = = 2\n", "2:5"),
            (Format::Toml, "a = 1\na = 2\n", "2:1"),
            (Format::Toml, "a = nan\n", "1:5"),
            (Format::Toml, "a = 99999999999999999999\n", "1:5"),
            (Format::Yaml, "a: 1\nb: [1\n", "2:4"),
            (Format::Yaml, "a: 1\na: 2\n", "2:1"),
            (Format::Yaml, "a: .nan\n", "1:4"),
        ] {
            let malformed = format.parse(text).unwrap_err();
            let position = malformed.position.map(|position| position.to_string());
            assert_eq!(position.as_deref(), Some(place), "{text}: {}", malformed.reason);
            assert!(!malformed.reason.contains('\n'), "{}", malformed.reason);
        }
    }

    #[test]
    fn what_is_nested_too_deeply_or_grows_by_aliases_is_refused() {
        let deep = |format: Format, open: &str, close: &str, start: &str| {
            let text = format!("{start}{}{}", open.repeat(200), close.repeat(200));
            assert!(format.parse(&text).is_err(), "{format:?}");
        };
        deep(Format::Toml, "[", "]", "a = ");
        deep(Format::Yaml, "[", "]", "a: ");
        let mut bomb = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned()];
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push(format!("a{level}: &a{level} [{aliases}]"));
        }
        let refused = Format::Yaml.parse(&bomb.join("\n")).unwrap_err();
        assert!(refused.reason.len() < 500, "{}", refused.reason);
        // A few are what they are for.
        let (value, places) = Format::Yaml.parse("a: &hosts [h]\nb: *hosts\n").unwrap();
        assert_eq!(json::to_string(&value), "{\"a\":[\"h\"],\"b\":[\"h\"]}");
        assert_eq!(places.position("b").unwrap().to_string(), "2:1");
    }

    #[test]
    fn words_of_old_yaml_are_texts() {
        let (value, _) = Format::Yaml.parse("a: [yes, on, 0o17, 007, 1_000, ~, '1']").unwrap();
        assert_eq!(
            json::to_string(&value.member("a")),
            "[\"yes\",\"on\",15,\"007\",\"1_000\",null,\"1\"]"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "([a-c]|[\\[\\]{}:,=\"'&*!|>#. \n-]|[0-9]|\u{e9}){0,60}") {
            for format in [Format::Json, Format::Toml, Format::Yaml] {
                let _ = format.parse(&text);
            }
        }
    }
}
