//! Mustache as tables of 2011 use it: variables, sections over lists and truths, no partials.
//!
//! A template is parsed once and rendered over plain values, without any script. A name that the
//! innermost section does not have is looked up at the root, never in sections between. White space
//! follows the rule of today: a line that holds nothing but a section, closing or comment tag
//! vanishes (`connectors.md` 2.6).
//!
//! Templates in the wild hold sections that are never closed. What does not pair is left out with a
//! note, and the rest renders as if it were not there.

mod parse;
mod render;

use std::fmt;

use qlio_data::Value;

/// Sections within sections.
const DEPTH_MAX: usize = 64;

/// A parsed template.
#[derive(Debug, Clone)]
pub(crate) struct Mustache {
    nodes: Vec<Node>,
    notes: Vec<MustacheError>,
}

#[derive(Debug, Clone)]
enum Node {
    Text(String),
    Variable { name: Name, is_raw: bool },
    Section { name: Name, is_inverted: bool, nodes: Vec<Node> },
}

/// A dotted name; no steps mean the current element, `.`.
#[derive(Debug, Clone)]
struct Name(Vec<String>);

/// Why a template can't be parsed or rendered, or what is odd about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MustacheError {
    /// What is wrong.
    pub(crate) reason: String,
    /// The line of the template, from 1; 0 when rendering.
    pub(crate) line: usize,
}

impl fmt::Display for MustacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        if self.line > 0 { write!(f, " (line {})", self.line) } else { Ok(()) }
    }
}

impl std::error::Error for MustacheError {}

impl Mustache {
    /// Parses a template.
    ///
    /// # Errors
    /// Sections that are nested too deeply.
    pub(crate) fn parse(text: &str) -> Result<Self, MustacheError> {
        parse::parse(text)
    }

    /// Tags that do not pair, in the order they were found.
    pub(crate) fn notes(&self) -> &[MustacheError] {
        &self.notes
    }

    /// Renders the template over the root object, usually `{statement, params}`.
    ///
    /// # Errors
    /// A text that becomes too long.
    pub(crate) fn render(&self, root: &Value) -> Result<String, MustacheError> {
        render::render(&self.nodes, root)
    }
}

impl Name {
    fn parse(text: &str) -> Self {
        if text == "." {
            return Self(Vec::new());
        }
        Self(text.split('.').map(|step| step.trim().to_owned()).collect())
    }

    fn find(&self, from: &Value) -> Value {
        // A name with dots may also be one flat name.
        if self.0.len() > 1 {
            let flat = from.member(&self.0.join("."));
            if !flat.is_absent() {
                return flat;
            }
        }
        let mut value = from.clone();
        for (at, step) in self.0.iter().enumerate() {
            // `params['a.b']`: the rest of the name may be one flat member.
            if at > 0 && at + 1 < self.0.len() {
                let flat = value.member(&self.0[at..].join("."));
                if !flat.is_absent() {
                    return flat;
                }
            }
            let next = match step.parse::<usize>() {
                Ok(index) if value.is_array() => value.element(index),
                _ if value.is_array() && step == "length" => Value::from(value.len()),
                _ => value.member(step),
            };
            value = next;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qlio_data::codec::json;

    use super::*;

    fn render(template: &str, root: &str) -> String {
        Mustache::parse(template).unwrap().render(&json::parse_str(root).unwrap()).unwrap()
    }

    #[test]
    fn variables_are_escaped_unless_they_ask_not_to_be() {
        let root = r#"{"params": {"n": "a & <b> \"'", "e": "&amp; &x &#39;"}}"#;
        assert_eq!(
            render("{{params.n}}|{{{params.n}}}|{{& params.n }}", root),
            "a &amp; &lt;b&gt; &quot;&#39;|a & <b> \"'|a & <b> \"'"
        );
        assert_eq!(render("{{params.e}}", root), "&amp; &amp;x &#39;");
    }

    #[test]
    fn values_print_as_javascript_prints_them() {
        let root =
            r#"{"z": 0, "f": false, "n": null, "l": [1, [2, null], "x"], "o": {}, "d": 1.50}"#;
        assert_eq!(
            render("{{z}};{{f}};{{n}};{{ghost}};{{l}};{{o}};{{d}};{{l.length}};{{l.0}}", root),
            "0;false;;;1,2,,x;[object Object];1.5;3;1"
        );
    }

    #[test]
    fn sections_repeat_choose_and_look_up_at_the_root() {
        let root =
            r#"{"params": {"l": ["x", "y"], "o": {"a": 1, "in": {"b": 2}}, "e": []}, "b": 9}"#;
        assert_eq!(render("[{{#params.l}}({{.}}{{b}}){{/params.l}}]", root), "[(x9)(y9)]");
        assert_eq!(
            render("{{#params}}{{#o}}{{a}}{{in.b}}{{b}}{{l}}{{/o}}{{/params}}", root),
            "129"
        );
        assert_eq!(
            render("{{#params.e}}has{{/params.e}}{{^params.e}}none{{/params.e}}", root),
            "none"
        );
        assert_eq!(render("{{^params.l}}none{{/params.l}}{{#b}}yes{{/b}}{{! note }}", root), "yes");
    }

    #[test]
    fn dotted_parameters_are_found_flat() {
        assert_eq!(render("{{params.a.b}}", r#"{"params": {"a.b": 1}}"#), "1");
    }

    #[test]
    fn lines_with_nothing_but_a_block_tag_vanish() {
        let root = r#"{"l": [1, 2]}"#;
        assert_eq!(render("a\n  {{#l}}  \n- {{.}}\n{{/l}}\nb\n", root), "a\n- 1\n- 2\nb\n");
        assert_eq!(render("a\r\n{{! c }}\r\nb", root), "a\r\nb");
        assert_eq!(render("{{#l}} {{.}} {{/l}}\n", root), " 1  2 \n");
        assert_eq!(render("{{#l}}\n{{/l}}", root), "");
    }

    #[test]
    fn notes_name_the_line() {
        for (template, notes) in [
            ("a\n{{#x}}", &[("section `x` is not closed", 2)][..]),
            ("{{/x}}", &[("section `x` is closed but not open", 1)]),
            (
                "\n\n{{#x}}\n{{/y}}",
                &[("section `y` is closed but not open", 4), ("section `x` is not closed", 3)],
            ),
            ("{{x", &[("a tag is not closed", 1)]),
            ("{{#x}}{{#x}}{{/x}}{{/x}}", &[]),
        ] {
            let found = Mustache::parse(template).unwrap();
            let found: Vec<_> =
                found.notes().iter().map(|note| (note.reason.as_str(), note.line)).collect();
            assert_eq!(found, notes, "{template}");
        }
    }

    #[test]
    fn tags_that_do_not_pair_are_left_out() {
        let root = r#"{"p": {"a": 1, "b": 2}, "l": [3, 4], "n": null}"#;
        for (template, text) in [
            // The first of several openers has the one closer.
            ("{{#p}}{{a}}{{#p}}{{b}}{{#p}}{{a}}{{/p}}|{{a}}", "121|"),
            ("{{#p}}{{#l}}{{a}}{{/p}}", "1"),
            ("{{#n}}x{{/n}}{{#n}}y", "y"),
            ("x{{/p}}y{{#p}}{{a}}{{/p}}", "xy1"),
            ("{{#p}}{{#l}}{{/p}}{{.}}{{/l}}", "[object Object]"),
            ("{{#l}}{{.}}{{/l}}{{", "34{{"),
        ] {
            assert_eq!(render(template, root), text, "{template}");
        }
        let deep = "{{#a}}".repeat(DEPTH_MAX + 1);
        assert_eq!(
            Mustache::parse(&deep).unwrap_err().reason,
            "more than 64 sections within each other"
        );
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails(template in "([{}#^/!&. \n]|[a-c])*") {
            if let Ok(parsed) = Mustache::parse(&template) {
                let root = json::parse_str(r#"{"a": [1, {"b": "<"}], "b": {"c": null}, "c": 0}"#);
                parsed.render(&root.unwrap()).unwrap();
            }
        }
    }
}
