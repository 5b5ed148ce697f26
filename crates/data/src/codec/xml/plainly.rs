//! The mapping once more, told as plainly as it can be, to compare with: a tree, built without regard
//! to its cost, of everything.

use super::{
    Coerce,
    coerce::{coerce, trim},
    reference,
    scan::{Event, Scanner},
};
use crate::{Object, Text, Value};

#[derive(Default)]
struct Element {
    path: Vec<String>,
    members: Vec<(String, Vec<Value>)>,
    text: String,
    run: String,
}

/// The value of a document; `None` if it is malformed. `arrays` are the declared ones.
pub(super) fn tree(text: &str, mode: Coerce, arrays: &[&str]) -> Option<Value> {
    let mut scanner = Scanner::new(text, usize::MAX).ok()?;
    let mut open = vec![Element::default()];
    loop {
        match scanner.next().ok()? {
            Event::Done => break,
            Event::Text { range, .. } => {
                open.last_mut()?.run.push_str(&reference::resolve_text(&text[range]));
            }
            Event::CharacterData(range) => {
                open.last_mut()?.run.push_str(&reference::resolve_line_ends(&text[range]));
            }
            Event::Start { name, is_empty } => {
                let parent = open.last_mut()?;
                parent.end_run();
                let mut element = Element { path: parent.path.clone(), ..Element::default() };
                element.path.push(text[name].to_owned());
                for attribute in &scanner.attributes {
                    let value = reference::resolve_attribute(&text[attribute.value.clone()]);
                    let value = coerce(Text::from(&*value), mode);
                    element.add(&text[attribute.name.clone()], value);
                }
                open.push(element);
                if is_empty {
                    close(&mut open, mode, arrays)?;
                }
            }
            Event::End => close(&mut open, mode, arrays)?,
        }
    }
    Some(open.pop()?.object(mode, arrays))
}

fn close(open: &mut Vec<Element>, mode: Coerce, arrays: &[&str]) -> Option<()> {
    let mut element = open.pop()?;
    element.end_run();
    let name = element.path.last()?.clone();
    let has_members = element.members.iter().any(|(name, _)| name != "$t")
        || !element.declared(arrays).is_empty();
    let value = if has_members || element.text.is_empty() {
        element.object(mode, arrays)
    } else {
        coerce(element.text.as_str().into(), mode)
    };
    open.last_mut()?.add(&name, value);
    Some(())
}

impl Element {
    fn add(&mut self, name: &str, value: Value) {
        match self.members.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value),
            None => self.members.push((name.to_owned(), vec![value])),
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        let trimmed = trim(&run);
        if self.text.is_empty() && !trimmed.is_empty() {
            self.members.push(("$t".to_owned(), Vec::new()));
        }
        self.text.push_str(trimmed);
    }

    fn is_array(&self, name: &str, arrays: &[&str]) -> bool {
        arrays.iter().any(|path| {
            let steps: Vec<_> = path.split('.').collect();
            let own = self.path.iter().map(String::as_str).chain([name]);
            own.eq(steps)
        })
    }

    /// The declared arrays of this element, in the order of their declaration.
    fn declared(&self, arrays: &[&str]) -> Vec<String> {
        let depth = self.path.len();
        let mut names: Vec<String> = Vec::new();
        for path in arrays {
            let steps: Vec<_> = path.split('.').collect();
            let is_here = self.path.iter().eq(steps.iter().take(depth));
            if let Some(name) = steps.get(depth).filter(|_| is_here)
                && !names.iter().any(|known| known == name)
                && self.is_array(name, arrays)
            {
                names.push((*name).to_owned());
            }
        }
        names
    }

    fn object(&self, mode: Coerce, arrays: &[&str]) -> Value {
        let mut object = Object::new();
        for (name, values) in &self.members {
            let value = if name == "$t" {
                coerce(self.text.as_str().into(), mode)
            } else if values.len() > 1 || self.is_array(name, arrays) {
                Value::array(values.clone())
            } else {
                values[0].clone()
            };
            object.insert(name.as_str(), value);
        }
        for name in self.declared(arrays) {
            if object.get(&name).is_none() {
                object.insert(name, Value::array(Vec::new()));
            }
        }
        Value::object(object)
    }
}
