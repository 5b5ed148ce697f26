//! How deep a value nests.
//!
//! Bodies are bounded when they are decoded, but a script can put values into values without end,
//! and giving up a very deep value takes the thread's stack (each level drops the next). Whoever
//! builds values from values asks here first. Parts that are shared are looked at once, so the cost
//! is that of the distinct parts, not of the value written out.

use std::{collections::HashMap, sync::Arc};

use super::Value;

impl Value {
    /// Whether more than `levels_max` structures lie one inside the other, the outermost included.
    /// A raw structure counts as one level; the decode bounded what is in it.
    pub fn is_deeper_than(&self, levels_max: usize) -> bool {
        // The levels of shared structures that have been looked through.
        let mut levels_of: HashMap<*const (), usize> = HashMap::new();
        let mut open: Vec<Frame<'_>> = Vec::new();
        let mut value = self;
        loop {
            // The levels of `value`; of one that is opened here, those inside that are known yet.
            let mut levels = match (value, address(value)) {
                (Self::Raw(_), _) => 1,
                (_, Some(address)) => levels_of.get(&address).copied().unwrap_or_else(|| {
                    open.push(Frame { structure: value, at: 0, inside: 0 });
                    0
                }),
                _ => 0,
            };
            if open.len() + levels > levels_max {
                return true;
            }
            value = loop {
                let Some(frame) = open.last_mut() else { return false };
                frame.inside = frame.inside.max(levels);
                if let Some(part) = frame.next() {
                    break part;
                }
                levels = frame.inside + 1;
                if is_shared(frame.structure)
                    && let Some(address) = address(frame.structure)
                {
                    levels_of.insert(address, levels);
                }
                open.pop();
            };
        }
    }
}

/// A structure whose parts are being looked at.
struct Frame<'v> {
    structure: &'v Value,
    at: usize,
    /// The most levels that a part seen so far has.
    inside: usize,
}

impl<'v> Frame<'v> {
    fn next(&mut self) -> Option<&'v Value> {
        let at = self.at;
        self.at += 1;
        match self.structure {
            Value::Array(elements) => elements.get(at),
            Value::Object(object) => object.at(at).map(|(_, value)| value),
            _ => None,
        }
    }
}

fn address(value: &Value) -> Option<*const ()> {
    match value {
        Value::Array(elements) => Some(Arc::as_ptr(elements).cast()),
        Value::Object(object) => Some(Arc::as_ptr(object).cast()),
        _ => None,
    }
}

fn is_shared(value: &Value) -> bool {
    match value {
        Value::Array(elements) => Arc::strong_count(elements) > 1,
        Value::Object(object) => Arc::strong_count(object) > 1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Object, Value, codec::json};

    #[test]
    fn levels_are_counted_to_the_deepest_part() {
        let inner = json::parse_str("[[1]]").unwrap();
        let object: Object =
            [("a", Value::array(vec![])), ("b", Value::array(vec![inner]))].into_iter().collect();
        let value = Value::array(vec![Value::Null, object.into(), Value::int(1)]);
        assert!(value.is_deeper_than(3));
        assert!(!value.is_deeper_than(4));
        assert!(value.into_tree().is_deeper_than(4));
        assert!(!value.into_tree().is_deeper_than(5));
        assert!(!Value::int(1).is_deeper_than(0));
        assert!(Value::array(vec![]).is_deeper_than(0));
    }

    #[test]
    fn shared_parts_are_looked_at_once() {
        let mut value = Value::array(vec![]);
        for _ in 0..200 {
            value = Value::array(vec![value.clone(), Value::array(vec![value])]);
        }
        assert!(value.is_deeper_than(400));
        assert!(!value.is_deeper_than(401));
    }
}
