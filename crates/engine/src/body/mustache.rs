//! Mustache as tables of 2011 use it: variables, sections over lists and truths, no partials.
//!
//! A template is parsed once and rendered over plain values, without any script. A name that the
//! innermost section does not have is looked up at the root, never in sections between. White space
//! follows the rule of today: a line that holds nothing but a section, closing or comment tag
//! vanishes (`connectors.md` 2.6).

use std::fmt;

use qlio_data::Value;

/// Sections within sections.
const DEPTH_MAX: usize = 64;
/// Bytes of a rendered text.
const RENDERED_BYTES_MAX: usize = 32 << 20;
/// Values that one rendering visits, so that nested lists that print nothing end too.
const STEPS_MAX: usize = 10_000_000;

/// A parsed template.
#[derive(Debug, Clone)]
pub(crate) struct Mustache {
    nodes: Vec<Node>,
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

/// Why a template can't be parsed or rendered.
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
    pub(crate) fn parse(text: &str) -> Result<Self, MustacheError> {
        let mut parser = Parser { text, at: 0, line: 1, open: Vec::new(), nodes: Vec::new() };
        parser.run()?;
        match parser.open.pop() {
            Some(open) => Err(MustacheError {
                reason: format!("section `{}` is not closed", open.written),
                line: open.line,
            }),
            None => Ok(Self { nodes: parser.nodes }),
        }
    }

    /// Renders the template over the root object, usually `{statement, params}`.
    pub(crate) fn render(&self, root: &Value) -> Result<String, MustacheError> {
        let mut renderer = Renderer { root, out: String::new(), steps: 0 };
        renderer.nodes(&self.nodes, root)?;
        Ok(renderer.out)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    open: Vec<Open<'a>>,
    nodes: Vec<Node>,
}

struct Open<'a> {
    written: &'a str,
    is_inverted: bool,
    line: usize,
    /// The nodes before the section.
    before: Vec<Node>,
}

impl<'a> Parser<'a> {
    fn error<T>(&self, reason: String) -> Result<T, MustacheError> {
        Err(MustacheError { reason, line: self.line })
    }

    fn run(&mut self) -> Result<(), MustacheError> {
        while let Some(found) = self.text[self.at..].find("{{") {
            let start = self.at + found;
            let before = &self.text[self.at..start];
            self.line += before.matches('\n').count();
            let is_triple = self.text[start..].starts_with("{{{");
            let (opener, closer) = if is_triple { (3, "}}}") } else { (2, "}}") };
            let Some(length) = self.text[start + opener..].find(closer) else {
                return self.error("a tag is not closed".to_owned());
            };
            let inner = &self.text[start + opener..start + opener + length];
            let mut end = start + opener + length + closer.len();
            let sign = if is_triple { '{' } else { inner.chars().next().unwrap_or(' ') };
            let is_block = matches!(sign, '#' | '^' | '/' | '!');
            let mut before = before;
            if is_block && let Some((line_start, line_end)) = self.standalone(start, end) {
                before = &self.text[self.at..line_start.max(self.at)];
                end = line_end;
            }
            if !before.is_empty() {
                self.nodes.push(Node::Text(before.to_owned()));
            }
            self.tag(sign, inner)?;
            self.line += self.text[start..end].matches('\n').count();
            self.at = end;
        }
        let rest = &self.text[self.at..];
        if !rest.is_empty() {
            self.nodes.push(Node::Text(rest.to_owned()));
        }
        Ok(())
    }

    fn tag(&mut self, sign: char, inner: &'a str) -> Result<(), MustacheError> {
        let name = match sign {
            '#' | '^' | '/' | '&' => inner[1..].trim(),
            _ => inner.trim(),
        };
        match sign {
            // Partials have no text to come from.
            '!' | '>' => {}
            '#' | '^' => {
                if self.open.len() >= DEPTH_MAX {
                    return self.error(format!("more than {DEPTH_MAX} sections within each other"));
                }
                let before = std::mem::take(&mut self.nodes);
                self.open.push(Open {
                    written: name,
                    is_inverted: sign == '^',
                    line: self.line,
                    before,
                });
            }
            '/' => {
                let Some(open) = self.open.pop() else {
                    return self.error(format!("section `{name}` is closed but not open"));
                };
                if open.written != name {
                    return self.error(format!(
                        "section `{}` is open, not `{name}` that is closed here",
                        open.written
                    ));
                }
                let nodes = std::mem::replace(&mut self.nodes, open.before);
                let (name, is_inverted) = (Name::parse(name), open.is_inverted);
                self.nodes.push(Node::Section { name, is_inverted, nodes });
            }
            _ => self.nodes.push(Node::Variable {
                name: Name::parse(name),
                is_raw: matches!(sign, '{' | '&'),
            }),
        }
        Ok(())
    }

    /// The bounds of the line if nothing but blanks stands beside the tag.
    fn standalone(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let is_blank = |text: &str| text.chars().all(|c| c == ' ' || c == '\t');
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        // What stands before on this line must not hold another tag either.
        if line_start < self.at && !(self.at == 0 || self.text[..self.at].ends_with('\n')) {
            return None;
        }
        let after = &self.text[end..];
        let line_length = after.find('\n').unwrap_or(after.len());
        let tail = after[..line_length].strip_suffix('\r').unwrap_or(&after[..line_length]);
        if !is_blank(&self.text[line_start..start]) || !is_blank(tail) {
            return None;
        }
        let line_end = end + line_length + usize::from(line_length < after.len());
        Some((line_start, line_end))
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
                _ if value.is_array() && step == "length" => {
                    Value::int(i64::try_from(value.len()).unwrap_or(i64::MAX))
                }
                _ => value.member(step),
            };
            value = next;
        }
        value
    }
}

struct Renderer<'a> {
    root: &'a Value,
    out: String,
    steps: usize,
}

impl Renderer<'_> {
    fn find(&self, name: &Name, current: &Value) -> Value {
        if name.0.is_empty() {
            return current.clone();
        }
        let own = name.find(current);
        if own.is_absent() { name.find(self.root) } else { own }
    }

    fn nodes(&mut self, nodes: &[Node], current: &Value) -> Result<(), MustacheError> {
        for node in nodes {
            self.steps += 1;
            if self.out.len() > RENDERED_BYTES_MAX || self.steps > STEPS_MAX {
                let reason = format!("the rendered text is longer than {RENDERED_BYTES_MAX} bytes");
                return Err(MustacheError { reason, line: 0 });
            }
            match node {
                Node::Text(text) => self.out.push_str(text),
                Node::Variable { name, is_raw } => {
                    let text = printed(&self.find(name, current), 0);
                    if *is_raw {
                        self.out.push_str(&text);
                    } else {
                        escape(&text, &mut self.out);
                    }
                }
                Node::Section { name, is_inverted, nodes } => {
                    let value = self.find(name, current);
                    let elements = value.elements();
                    let is_shown = elements
                        .as_ref()
                        .map_or_else(|| value.is_truthy(), |elements| !elements.is_empty());
                    match (is_inverted, is_shown, elements) {
                        (false, true, Some(elements)) => {
                            for element in elements.iter() {
                                self.nodes(nodes, element)?;
                            }
                        }
                        (false, true, None) if value.is_object() => self.nodes(nodes, &value)?,
                        (true, false, _) | (false, true, None) => self.nodes(nodes, current)?,
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }
}

/// The text of a value: lists joined with commas as JavaScript does, null and absent empty.
fn printed(value: &Value, depth: usize) -> String {
    if let Some(text) = value.scalar_text() {
        return text.as_str().to_owned();
    }
    match value.elements() {
        Some(elements) if depth < DEPTH_MAX => {
            let texts: Vec<_> = elements.iter().map(|item| printed(item, depth + 1)).collect();
            texts.join(",")
        }
        None if value.is_object() => "[object Object]".to_owned(),
        _ => String::new(),
    }
}

/// Escapes for HTML; an ampersand that already starts an entity stays.
fn escape(text: &str, out: &mut String) {
    for (at, character) in text.char_indices() {
        match character {
            '&' if is_entity(&text[at + 1..]) => out.push('&'),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
}

/// Names of entities are short; looking no further keeps escaping linear.
fn is_entity(rest: &str) -> bool {
    const NAME_MAX: usize = 32;
    let rest = rest.strip_prefix('#').unwrap_or(rest);
    let name = rest.bytes().take(NAME_MAX).take_while(u8::is_ascii_alphanumeric).count();
    name > 0 && rest.as_bytes().get(name) == Some(&b';')
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
    fn faults_name_the_line() {
        for (template, reason, line) in [
            ("a\n{{#x}}", "section `x` is not closed", 2),
            ("{{/x}}", "section `x` is closed but not open", 1),
            ("\n\n{{#x}}{{/y}}", "section `x` is open, not `y` that is closed here", 3),
            ("{{x", "a tag is not closed", 1),
        ] {
            let error = Mustache::parse(template).unwrap_err();
            assert_eq!((error.reason.as_str(), error.line), (reason, line), "{template}");
        }
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
