//! Evaluation: from one value to its matches, one segment after the other.
//!
//! Every segment maps the list of matches so far to the next list, in order, which gives document
//! order without recursion. Descents walk with an explicit stack.

use super::{
    MATCHES_MAX, Options, Path, PathError, Segment, VISITS_MAX,
    expression::{Expression, Place},
    step,
};
use crate::{Scope, Value};

/// All matches, as a list.
pub(super) fn all(
    path: &Path,
    root: &Value,
    scope: &dyn Scope,
    options: Options,
) -> Result<Vec<Value>, PathError> {
    let matches = matches(path, root, scope)?;
    if options.flatten { flattened(path, matches) } else { Ok(matches) }
}

/// The match, the list of several, or absent.
pub(super) fn one(
    path: &Path,
    root: &Value,
    scope: &dyn Scope,
    options: Options,
) -> Result<Value, PathError> {
    if path.is_plain() {
        return Ok(plain(path, root));
    }
    let mut matches = matches(path, root, scope)?;
    match matches.len() {
        0 => Ok(Value::Absent),
        1 => Ok(matches.swap_remove(0)),
        _ if options.flatten => Ok(Value::array(flattened(path, matches)?)),
        _ => Ok(Value::array(matches)),
    }
}

/// The matches with the elements of arrays in their place, one level.
fn flattened(path: &Path, matches: Vec<Value>) -> Result<Vec<Value>, PathError> {
    if !matches.iter().any(Value::is_array) {
        return Ok(matches);
    }
    let mut flat = Vec::with_capacity(matches.len());
    for value in matches {
        match value.elements() {
            Some(elements) => flat.extend(elements.iter().cloned()),
            None => flat.push(value),
        }
        if flat.len() > MATCHES_MAX {
            return Err(too_many(path));
        }
    }
    Ok(flat)
}

/// The value at the end of member steps, without any list.
fn plain(path: &Path, root: &Value) -> Value {
    let mut value = root.clone();
    for segment in &path.segments {
        let Segment::Member(name) = segment else { return Value::Absent };
        value = step::member(&value, name);
        if value.is_absent() {
            break;
        }
    }
    value
}

fn matches(path: &Path, root: &Value, scope: &dyn Scope) -> Result<Vec<Value>, PathError> {
    let mut found = vec![root.clone()];
    let mut walk = Walk { path, root, scope, visits: 0, found: Vec::new() };
    for segment in &path.segments {
        for value in &found {
            walk.apply(segment, value)?;
        }
        found = std::mem::take(&mut walk.found);
        if found.is_empty() {
            break;
        }
    }
    Ok(found)
}

struct Walk<'a> {
    path: &'a Path,
    root: &'a Value,
    scope: &'a dyn Scope,
    visits: usize,
    found: Vec<Value>,
}

impl Walk<'_> {
    fn apply(&mut self, segment: &Segment, value: &Value) -> Result<(), PathError> {
        self.visit()?;
        match segment {
            Segment::Member(name) => self.push(step::member(value, name)),
            Segment::Index(index) => self.push(step::index(value, *index)),
            Segment::Root => self.push(self.root.clone()),
            Segment::Wildcard => self.children(value),
            Segment::Descendant(name) => {
                self.descend(value, |walk, node| walk.push(step::member(node, name)))
            }
            Segment::DescendantWildcard => self.descend(value, Self::children),
            Segment::Descend => self.descend(value, |walk, node| walk.push(node.clone())),
            Segment::Union(parts) => parts.iter().try_for_each(|part| self.apply(part, value)),
            Segment::Slice { start, end, step } => self.slice(value, *start, *end, *step),
            Segment::Filter(expression) => self.filter(value, expression),
            Segment::Computed(expression) => match expression.step(self.place(value))? {
                Some(name) => self.push(step::member(value, &name)),
                None => Ok(()),
            },
        }
    }

    fn place<'b>(&'b self, current: &'b Value) -> Place<'b> {
        Place { current, root: self.root, scope: self.scope }
    }

    fn children(&mut self, value: &Value) -> Result<(), PathError> {
        for_each_child(value, |child| self.push(child.clone()))
    }

    fn filter(&mut self, value: &Value, expression: &Expression) -> Result<(), PathError> {
        for_each_child(value, |child| {
            self.visit()?;
            if child.is_truthy() && expression.is_true(self.place(child))? {
                self.push(child.clone())?;
            }
            Ok(())
        })
    }

    /// Calls `act` on the node and on every structure in it, parents before children.
    fn descend(
        &mut self,
        value: &Value,
        mut act: impl FnMut(&mut Self, &Value) -> Result<(), PathError>,
    ) -> Result<(), PathError> {
        // Decoding once beats decoding every raw level again from its own start.
        let mut open = vec![value.into_tree()];
        while let Some(node) = open.pop() {
            self.visit()?;
            act(self, &node)?;
            let behind = open.len();
            for_each_child(&node, |child| {
                if child.is_structure() {
                    open.push(child.clone());
                }
                Ok(())
            })?;
            open[behind..].reverse();
        }
        Ok(())
    }

    fn slice(
        &mut self,
        value: &Value,
        start: Option<i64>,
        end: Option<i64>,
        step: Option<i64>,
    ) -> Result<(), PathError> {
        let Some(elements) = value.elements() else { return Ok(()) };
        let length = i64::try_from(elements.len()).unwrap_or(i64::MAX);
        let step = step.filter(|step| *step != 0).unwrap_or(1);
        // Positions outside the array are pulled to its edges; going backwards the edges are one
        // position further left, since the end is not included.
        let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let edge = |position: i64| {
            let counted = if position < 0 { position.saturating_add(length) } else { position };
            counted.clamp(low, high)
        };
        let (first, last) = if step > 0 { (low, high) } else { (high, low) };
        let mut at = start.map_or(first, edge);
        let end = end.map_or(last, edge);
        while if step > 0 { at < end } else { at > end } {
            if let Some(element) = usize::try_from(at).ok().and_then(|at| elements.get(at)) {
                self.push(element.clone())?;
            }
            at = at.saturating_add(step);
        }
        Ok(())
    }

    fn push(&mut self, value: Value) -> Result<(), PathError> {
        if value.is_absent() {
            return Ok(());
        }
        if self.found.len() == MATCHES_MAX {
            return Err(too_many(self.path));
        }
        self.found.push(value);
        Ok(())
    }

    fn visit(&mut self) -> Result<(), PathError> {
        self.visits += 1;
        if self.visits > VISITS_MAX {
            let reason = format!("more than {VISITS_MAX} values to look at");
            return Err(PathError::limit(reason, self.path.text()));
        }
        Ok(())
    }
}

fn too_many(path: &Path) -> PathError {
    PathError::limit(format!("more than {MATCHES_MAX} matches"), path.text())
}

/// Calls `act` on every element or present member; scalars have none.
fn for_each_child(
    value: &Value,
    mut act: impl FnMut(&Value) -> Result<(), PathError>,
) -> Result<(), PathError> {
    match value.open().as_ref() {
        Value::Array(elements) => elements.iter().try_for_each(act),
        Value::Object(object) => object
            .iter()
            .filter(|(_, member)| !member.is_absent())
            .try_for_each(|(_, member)| act(member)),
        _ => Ok(()),
    }
}
