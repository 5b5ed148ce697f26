//! How much memory a value stands for.

use super::Value;
use crate::codec::json;

/// Bytes of a value beside its text.
const VALUE_BYTES: usize = size_of::<Value>();

/// Bytes of a member beside its value and the text of its name.
const MEMBER_BYTES: usize = 32;

impl Value {
    /// About how many bytes the value takes when every part of it is counted as often as it is
    /// contained. Stops soon after `bytes_max`: a value that contains the same part many times is small
    /// in memory and may be huge written out.
    pub fn weigh(&self, bytes_max: usize) -> usize {
        Weighing::of(self, bytes_max, own_bytes).finish()
    }

    /// The same once every raw part is decoded; an estimate from above.
    pub fn weigh_decoded(&self, bytes_max: usize) -> usize {
        let decoded_bytes = |value: &Self| match value {
            Self::Raw(text) => own_bytes(value) + part_bytes(text.as_bytes()),
            value => own_bytes(value),
        };
        Weighing::of(self, bytes_max, decoded_bytes).finish()
    }

    /// About how many bytes the value takes as JSON text; an estimate from above. Stops soon after `bytes_max`.
    pub fn weigh_written(&self, bytes_max: usize) -> usize {
        let written_bytes = |value: &Self| match value {
            Self::String(text) => json::written_bytes(text),
            value => own_bytes(value),
        };
        Weighing::of(self, bytes_max, written_bytes).finish()
    }

    /// [`weigh`](Self::weigh), step by step.
    pub fn weighing(&self, bytes_max: usize) -> Weighing<'_> {
        Weighing::of(self, bytes_max, own_bytes)
    }
}

/// A value that is being weighed.
#[derive(Debug)]
pub struct Weighing<'v, Own = fn(&Value) -> usize> {
    own_bytes: Own,
    bytes: usize,
    bytes_max: usize,
    /// Lists and objects that contain each other, and how many parts of each are weighed.
    open: Vec<(&'v Value, usize)>,
}

impl Weighing<'_> {
    /// The weight of what was weighed so far.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl<'v, Own: Fn(&Value) -> usize> Weighing<'v, Own> {
    fn of(value: &'v Value, bytes_max: usize, own_bytes: Own) -> Self {
        let open = if is_tree(value) { vec![(value, 0)] } else { Vec::new() };
        Self { bytes: own_bytes(value), own_bytes, bytes_max, open }
    }

    fn finish(mut self) -> usize {
        self.go_on(usize::MAX);
        self.bytes
    }

    /// Weighs up to so many more parts; whether there are further ones.
    pub fn go_on(&mut self, parts: usize) -> bool {
        let mut left = parts;
        while let Some((structure, mut at)) = self.open.pop() {
            // Parts without parts are weighed without a look at the list.
            while let Some((name_bytes, part)) = part_at(structure, at) {
                if left == 0 {
                    self.open.push((structure, at));
                    return true;
                }
                left -= 1;
                at += 1;
                self.bytes += name_bytes + (self.own_bytes)(part);
                if self.bytes > self.bytes_max {
                    self.open.clear();
                    return false;
                }
                if is_tree(part) {
                    self.open.push((structure, at));
                    self.open.push((part, 0));
                    break;
                }
            }
        }
        false
    }
}

/// A part of a list or an object, and what its name takes.
fn part_at(structure: &Value, at: usize) -> Option<(usize, &Value)> {
    match structure {
        Value::Array(elements) => elements.get(at).map(|element| (0, element)),
        Value::Object(object) => {
            object.at(at).map(|(name, value)| (MEMBER_BYTES + name.len(), value))
        }
        _ => None,
    }
}

fn is_tree(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

/// What the parts of a text of JSON take as values: each stands behind one of these bytes.
fn part_bytes(text: &[u8]) -> usize {
    let parts = text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    parts * (VALUE_BYTES + MEMBER_BYTES)
}

fn own_bytes(value: &Value) -> usize {
    VALUE_BYTES
        + match value {
            Value::String(text) | Value::Raw(text) => text.len(),
            _ => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_names_and_parts_count() {
        let small = json::parse_str(r#"{"a":[1,2]}"#).unwrap().into_tree();
        let large = json::parse_str(r#"{"a":[1,2,"0123456789"],"bcd":null}"#).unwrap().into_tree();
        assert_eq!(small.weigh(usize::MAX), 4 * VALUE_BYTES + MEMBER_BYTES + 1);
        assert_eq!(large.weigh(usize::MAX), 6 * VALUE_BYTES + 2 * MEMBER_BYTES + 4 + 10);
        assert_eq!(Value::from("abc").weigh(0), VALUE_BYTES + 3);
    }

    #[test]
    fn a_raw_part_weighs_its_text_and_decoded_at_least_what_it_becomes() {
        for text in [r#"[1,[2,{"a":"b"}],[]]"#, r#"{"a":{"b":[true,null]}}"#, "[]"] {
            let raw = json::parse_str(text).unwrap();
            assert_eq!(raw.weigh(usize::MAX), VALUE_BYTES + text.len());
            let tree = raw.into_tree().weigh(usize::MAX);
            assert!(raw.weigh_decoded(usize::MAX) >= tree, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_no_longer_than_its_weight() {
        for text in
            [r#"["\"\\\n\u0001",{"a\tb":[1,true,null,-2.5e300]}]"#, "\"\\u0001\"", "[[],{}]"]
        {
            let value = json::parse_str(text).unwrap().into_tree();
            let written = json::to_string(&value).len();
            assert!(value.weigh_written(usize::MAX) >= written, "{text}");
        }
        let quotes = Value::from("\"".repeat(1_000));
        assert_eq!(quotes.weigh_written(usize::MAX), json::to_string(&quotes).len());
    }

    #[test]
    fn steps_add_up_to_the_whole() {
        let value = json::parse_str(r#"{"a":[1,[2,3],{"b":"c"}],"d":[]}"#).unwrap().into_tree();
        for parts in 1..9 {
            let mut weighing = value.weighing(usize::MAX);
            let mut steps = 1;
            while weighing.go_on(parts) {
                steps += 1;
            }
            assert_eq!(weighing.bytes(), value.weigh(usize::MAX));
            assert!(steps <= 12 / parts + 1, "{steps} steps of {parts}");
        }
        assert!(!value.weighing(0).go_on(1), "nothing is weighed that would not fit");
    }

    #[test]
    fn a_part_counts_as_often_as_it_is_contained() {
        let mut value = Value::from("x".repeat(100));
        for _ in 0..200 {
            value = Value::array(vec![value.clone(), value]);
        }
        let weight = value.weigh(1_000_000);
        assert!((1_000_000..1_001_000).contains(&weight), "{weight}");
    }
}
