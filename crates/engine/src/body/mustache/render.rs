//! Renders parsed templates, with values printed as JavaScript of 2011 printed them, or as JSON needs them.

use qlio_data::{Value, codec::json};

use super::{DEPTH_MAX, Escape, Found, MustacheError, Name, Node, Writing};

/// Bytes of a rendered text.
const RENDERED_BYTES_MAX: usize = 32 << 20;
/// Values that one rendering visits, so that nested lists that print nothing end too.
const STEPS_MAX: usize = 10_000_000;

/// The text of the nodes over a root.
pub(super) fn render(
    nodes: &[Node],
    root: &Found<'_>,
    escape: Escape,
) -> Result<String, MustacheError> {
    let mut renderer = Renderer { root, escape, out: String::new(), steps: 0 };
    renderer.nodes(nodes, root)?;
    Ok(renderer.out)
}

struct Renderer<'a, 'v> {
    root: &'a Found<'v>,
    escape: Escape,
    out: String,
    steps: usize,
}

impl<'v> Renderer<'_, 'v> {
    fn find(&self, name: &Name, current: &Found<'v>) -> Found<'v> {
        let own = name.find(current);
        if own.is_absent() && !name.steps.is_empty() { name.find(self.root) } else { own }
    }

    fn nodes(&mut self, nodes: &[Node], current: &Found<'v>) -> Result<(), MustacheError> {
        for node in nodes {
            self.steps += 1;
            if self.out.len() > RENDERED_BYTES_MAX || self.steps > STEPS_MAX {
                let reason = format!("the rendered text is longer than {RENDERED_BYTES_MAX} bytes");
                return Err(MustacheError { reason, line: 0 });
            }
            match node {
                Node::Text(text) => self.out.push_str(text),
                Node::Variable { name, writing } => {
                    let value = self.find(name, current).into_value();
                    self.variable(&value, *writing);
                }
                Node::Section { name, is_inverted, nodes } => {
                    let found = self.find(name, current);
                    self.section(&found, *is_inverted, nodes, current)?;
                }
            }
        }
        Ok(())
    }

    fn section(
        &mut self,
        found: &Found<'v>,
        is_inverted: bool,
        nodes: &[Node],
        current: &Found<'v>,
    ) -> Result<(), MustacheError> {
        let Found::Value(value) = found else {
            return if is_inverted { Ok(()) } else { self.nodes(nodes, found) };
        };
        let elements = value.elements();
        let is_shown =
            elements.as_ref().map_or_else(|| value.is_truthy(), |elements| !elements.is_empty());
        match (is_inverted, is_shown, elements) {
            (false, true, Some(elements)) => {
                for element in elements.iter() {
                    self.nodes(nodes, &Found::Value(element.clone()))?;
                }
                Ok(())
            }
            (false, true, None) if value.is_object() => self.nodes(nodes, found),
            (true, false, _) | (false, true, None) => self.nodes(nodes, current),
            _ => Ok(()),
        }
    }

    fn variable(&mut self, value: &Value, writing: Writing) {
        match (writing, value.scalar_text()) {
            (Writing::Raw, Some(text)) => self.out.push_str(&text),
            (_, Some(text)) => self.escape.push(&text, &mut self.out),
            (Writing::JsonValue, None) => self.out.push_str(&json::to_string(value)),
            (Writing::JsonItems, None) if value.is_structure() => self.json_items(value),
            (Writing::Raw, None) => print(value, false, 0, &mut self.out),
            (Writing::Escaped | Writing::JsonItems, None) => {
                let mut text = String::new();
                print(value, self.escape == Escape::Json, 0, &mut text);
                self.escape.push(&text, &mut self.out);
            }
        }
    }

    /// A list as items, so that a template may write the brackets itself.
    fn json_items(&mut self, value: &Value) {
        let Some(elements) = value.elements() else {
            self.out.push_str(&json::to_string(value));
            return;
        };
        for (at, element) in elements.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.out.push_str(&json::to_string(element));
        }
    }
}

/// Appends the text of a value: lists joined with commas as JavaScript does, null and absent empty. Objects
/// have no text of their own; only JSON is `with_json`.
fn print(value: &Value, with_json: bool, depth: usize, out: &mut String) {
    if let Some(text) = value.scalar_text() {
        out.push_str(&text);
        return;
    }
    match value.elements() {
        Some(elements) if depth < DEPTH_MAX => {
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                print(element, with_json, depth + 1, out);
            }
        }
        None if value.is_object() && with_json => out.push_str(&json::to_string(value)),
        None if value.is_object() => out.push_str("[object Object]"),
        _ => {}
    }
}
