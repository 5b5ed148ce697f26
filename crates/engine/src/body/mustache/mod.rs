//! Mustache as tables of 2011 use it: variables, sections over lists and truths, no partials.
//!
//! A template is parsed once, for the media type of its body, and rendered over names that are looked up
//! as it asks for them, without any script. A name that the innermost section does not have is looked up at
//! the root, never in sections between. White space follows the rule of today: a line that holds nothing but
//! a section, closing or comment tag vanishes.
//!
//! Templates in the wild hold sections that are never closed. What does not pair is left out with a
//! note, and the rest renders as if it were not there.

mod json_place;
mod parse;
mod render;
mod view;

use std::fmt;

pub(crate) use self::view::{Found, Names};
use super::escape::Escape;

/// Sections within sections.
const DEPTH_MAX: usize = 64;

/// A parsed template.
#[derive(Debug, Clone)]
pub(crate) struct Mustache {
    nodes: Vec<Node>,
    notes: Vec<MustacheError>,
    escape: Escape,
}

#[derive(Debug, Clone)]
enum Node {
    Text(String),
    Variable { name: Name, writing: Writing },
    Section { name: Name, is_inverted: bool, nodes: Vec<Node> },
}

/// How the value of a variable is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writing {
    /// As it is: three braces, or an ampersand.
    Raw,
    /// Escaped for the media type.
    Escaped,
    /// As items of a JSON list: between texts of JSON, but not in one.
    JsonItems,
    /// As a whole JSON value: alone behind a colon.
    JsonValue,
}

/// A dotted name; no steps mean the current element, `.`.
#[derive(Debug, Clone)]
struct Name {
    steps: Vec<String>,
    /// For each step but the last, the rest of the name from there: it may be one flat name.
    rests: Vec<String>,
}

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
    /// Parses a template of bodies with this escaping.
    ///
    /// # Errors
    /// Sections that are nested too deeply.
    pub(crate) fn parse(text: &str, escape: Escape) -> Result<Self, MustacheError> {
        parse::parse(text, escape)
    }

    /// What is odd about the template, in the order it was found: tags that do not pair, and values that
    /// are put into JSON as they are.
    pub(crate) fn notes(&self) -> &[MustacheError] {
        &self.notes
    }

    /// What the template asks the member `root` of its root for, as far as that can be seen before it is rendered.
    pub(crate) fn names_below(&self, root: &str) -> Vec<&str> {
        let mut names = Vec::new();
        add_names(&self.nodes, root, &mut names);
        names
    }

    /// Renders the template over the root, usually the names `statement` and `params`.
    ///
    /// # Errors
    /// A text that becomes too long.
    pub(crate) fn render(&self, root: &Found<'_>) -> Result<String, MustacheError> {
        render::render(&self.nodes, root, self.escape)
    }
}

/// Adds what nodes ask `root` for: the name as a whole may be a flat one, too.
fn add_names<'n>(nodes: &'n [Node], root: &str, names: &mut Vec<&'n str>) {
    for node in nodes {
        let (name, inner) = match node {
            Node::Text(_) => continue,
            Node::Variable { name, .. } => (name, &[][..]),
            Node::Section { name, nodes, .. } => (name, &nodes[..]),
        };
        if let [first, second, ..] = &name.steps[..]
            && first == root
        {
            names.push(second);
            names.extend(name.rests.get(1).map(String::as_str));
        }
        add_names(inner, root, names);
    }
}

impl Name {
    fn parse(text: &str) -> Self {
        if text == "." {
            return Self { steps: Vec::new(), rests: Vec::new() };
        }
        let steps: Vec<String> = text.split('.').map(|step| step.trim().to_owned()).collect();
        let rests = (0..steps.len() - 1).map(|at| steps[at..].join(".")).collect();
        Self { steps, rests }
    }

    /// The value of the name below `from`; at each step but the last one, the whole rest of the name may
    /// also be one flat name, as in `params['a.b']`.
    fn find<'v>(&self, from: &Found<'v>) -> Found<'v> {
        let mut found = from.clone();
        for (at, step) in self.steps.iter().enumerate() {
            if let Some(rest) = self.rests.get(at) {
                let flat = found.member(rest);
                if !flat.is_absent() {
                    return flat;
                }
            }
            found = found.member(step);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qlio_data::codec::json;

    use super::*;

    fn render_as(escape: Escape, template: &str, root: &str) -> String {
        let root = json::parse_str(root).unwrap();
        Mustache::parse(template, escape).unwrap().render(&Found::Value(root)).unwrap()
    }

    fn render(template: &str, root: &str) -> String {
        render_as(Escape::Markup, template, root)
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
    fn what_a_template_asks_for_is_seen_before_it_is_rendered() {
        let template =
            "{{params.a}} {{#params.b.c.d}}{{.}} {{x}} {{params.e}}{{/params.b.c.d}} {{y.params}}";
        let template = Mustache::parse(template, Escape::Markup).unwrap();
        assert_eq!(template.names_below("params"), ["a", "b", "b.c.d", "e"]);
    }

    #[test]
    fn a_tag_ends_with_all_closing_braces() {
        let root = r#"{"n": "<7"}"#;
        for (template, text) in [
            ("a{{n}}}b", "a<7b"),
            ("{{n}}}}", "<7"),
            ("{{{n}}}}b", "<7b"),
            ("{{{n}}b", "<7b"),
            ("{{#n}}}x{{/n}}}y", "xy"),
        ] {
            assert_eq!(render_as(Escape::Verbatim, template, root), text, "{template}");
        }
    }

    #[test]
    fn braces_that_close_objects_of_json_are_none_of_the_tag() {
        let root = r#"{"n": 7, "t": "x"}"#;
        for (template, text) in [
            (r#"{"n": {{n}}}"#, r#"{"n": 7}"#),
            (r#"{"o": {"n": {{{n}}}}}"#, r#"{"o": {"n": 7}}"#),
            (r#"{"o": {{#n}}{"n": 1}{{/n}}}"#, r#"{"o": {"n": 1}}"#),
            (r#"{"t": "{{t}}}"}"#, r#"{"t": "x"}"#),
            (r#"{"t": "\"{{t}}}"}"#, r#"{"t": "\"x"}"#),
        ] {
            assert_eq!(render_as(Escape::Json, template, root), text, "{template}");
        }
    }

    #[test]
    fn values_are_written_into_json_as_json_needs_them() {
        let root = r#"{"q": "la\"mp", "n": 7, "b": false, "z": null, "l": ["a\"b",2], "o": {"k":["v"]}, "e": []}"#;
        for (template, text) in [
            (r#"{"q": "{{q}}", "n": {{n}}, "b": {{b}}}"#, r#"{"q": "la\"mp", "n": 7, "b": false}"#),
            (r#"{"z": {{z}}, "g": {{ghost}} }"#, r#"{"z": null, "g": null }"#),
            (r#"{"z": "{{z}}", "g": "{{ghost}}"}"#, r#"{"z": "", "g": ""}"#),
            (
                r#"{"l": {{l}}, "o": {{o}}, "e": {{e}}}"#,
                r#"{"l": ["a\"b",2], "o": {"k":["v"]}, "e": []}"#,
            ),
            (r#"{"l": [{{l}}], "e": [{{e}}]}"#, r#"{"l": ["a\"b",2], "e": []}"#),
            (r#"{"l": "{{l}}", "o": "{{o}}"}"#, r#"{"l": "a\"b,2", "o": "{\"k\":[\"v\"]}"}"#),
            (r#"{"n": {{#n}}{{n}}{{/n}}{{^n}}0{{/n}}, "m": {{n}}{{n}}}"#, r#"{"n": 7, "m": 77}"#),
            (r#"{"q": "{{{q}}}", "l": [{{&l}}]}"#, r#"{"q": "la"mp", "l": [a"b,2]}"#),
            ("{{q}}", r#"la\"mp"#),
        ] {
            assert_eq!(render_as(Escape::Json, template, root), text, "{template}");
        }
    }

    #[test]
    fn raw_values_in_json_are_noted() {
        let notes = |escape| {
            Mustache::parse("{\"a\": {{{x}}},\n\"b\": \"{{& y }}\"}", escape).unwrap().notes().len()
        };
        assert_eq!(notes(Escape::Json), 2);
        assert_eq!(notes(Escape::Markup), 0);
        let template = Mustache::parse("\n{{{ x.y }}}", Escape::Json).unwrap();
        let note = &template.notes()[0];
        assert_eq!(note.line, 2);
        assert!(note.reason.starts_with("`{{{x.y}}}` is not escaped"), "{note}");
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
            let found = Mustache::parse(template, Escape::Markup).unwrap();
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
            Mustache::parse(&deep, Escape::Markup).unwrap_err().reason,
            "more than 64 sections within each other"
        );
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails(template in "([{}#^/!&. \n]|[a-c])*") {
            let root = json::parse_str(r#"{"a": [1, {"b": "<"}], "b": {"c": null}, "c": 0}"#).unwrap();
            for escape in [Escape::Json, Escape::Markup, Escape::Form, Escape::Verbatim] {
                if let Ok(parsed) = Mustache::parse(&template, escape) {
                    parsed.render(&Found::Value(root.clone())).unwrap();
                }
            }
        }
    }
}
