//! Renders parsed templates over plain values, as JavaScript of 2011 printed them.

use qlio_data::{Value, codec::xml};

use super::{DEPTH_MAX, MustacheError, Name, Node};

/// Bytes of a rendered text.
const RENDERED_BYTES_MAX: usize = 32 << 20;
/// Values that one rendering visits, so that nested lists that print nothing end too.
const STEPS_MAX: usize = 10_000_000;

/// The text of the nodes over a root.
pub(super) fn render(nodes: &[Node], root: &Value) -> Result<String, MustacheError> {
    let mut renderer = Renderer { root, out: String::new(), steps: 0 };
    renderer.nodes(nodes, root)?;
    Ok(renderer.out)
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
        match (xml::reference_of(character), character) {
            (_, '&') if is_entity(&text[at + 1..]) => out.push('&'),
            (Some(reference), _) => out.push_str(reference),
            (None, other) => out.push(other),
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
