//! Where URI templates, headers and bodies of tables get their values from.
//!
//! The engine implements [`Params`] over the layers of one statement (CON-19);
//! [`lookup`] adds the rule by which a dotted name is found in them (CON-20).

use crate::{Object, Value, path::step};

/// How a dotted name leads into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// An array on the way counts as its first element.
    FirstElement,
    /// Arrays have elements by number, and a length.
    Plain,
}

/// The parameters of one statement.
pub trait Params {
    /// The value of a name in the statement's layers, the client's layers and the settings; absent
    /// if none has it. Defaults of the verb are not among them.
    fn get(&self, name: &str) -> Value;

    /// The verb's own default for a name.
    fn default(&self, name: &str) -> Value;

    /// What a dotted name leads to from one of the names that [`Self::get`] has, if that has been found before.
    fn found(&self, dotted: &str, manner: Manner) -> Option<Value> {
        let _ = (dotted, manner);
        None
    }

    /// How many bytes a text that is made of parameters may take.
    fn text_room(&self) -> usize {
        usize::MAX
    }

    /// A text would take more than there is room for, and is not made.
    fn refuse_text(&self) {}
}

/// The members are the parameters; there are no defaults.
impl Params for Object {
    fn get(&self, name: &str) -> Value {
        Object::get(self, name).cloned().unwrap_or_default()
    }

    fn default(&self, _name: &str) -> Value {
        Value::Absent
    }
}

/// Finds the value of a name that may hold dots: first as one flat name, then step by step, where
/// an array on the way counts as its first element; then the same in the verb's defaults. Absent
/// and null count as not found, so a default shows through both.
pub fn lookup(params: &dyn Params, dotted: &str) -> Value {
    let found = lookup_given(params, dotted);
    if found.is_nothing() { walk(dotted, |name| params.default(name), None) } else { found }
}

/// Finds the value of a name like [`lookup`], but not in the verb's defaults.
pub fn lookup_given(params: &dyn Params, dotted: &str) -> Value {
    walk(dotted, |name| params.get(name), Some(params))
}

/// Finds the value of a name in a text, such as that of a header (CON-31): the plain walk
/// of texts (TOK-13), in which lists have elements by number and a length. Defaults stand
/// in for what is absent only: null is a value.
pub fn lookup_text(params: &dyn Params, dotted: &str) -> Value {
    let found = plain_walk(dotted, |name| params.get(name), Some(params));
    if found.is_absent() { plain_walk(dotted, |name| params.default(name), None) } else { found }
}

/// What has been found before is asked of `known`.
fn plain_walk(dotted: &str, root: impl Fn(&str) -> Value, known: Option<&dyn Params>) -> Value {
    let flat = root(dotted);
    let Some((first, rest)) = dotted.split_once('.') else { return flat };
    if !flat.is_absent() {
        return flat;
    }
    if let Some(found) = known.and_then(|known| known.found(dotted, Manner::Plain)) {
        return found;
    }
    rest.split('.').fold(root(first), |value, name| step::member(&value, name))
}

/// What has been found before is asked of `known`.
fn walk(dotted: &str, root: impl Fn(&str) -> Value, known: Option<&dyn Params>) -> Value {
    let flat = root(dotted);
    let Some((first, rest)) = dotted.split_once('.') else { return flat };
    if !flat.is_nothing() {
        return flat;
    }
    if let Some(found) = known.and_then(|known| known.found(dotted, Manner::FirstElement)) {
        return found;
    }
    let mut value = root(first);
    for name in rest.split('.') {
        if value.is_array() {
            value = value.element(0);
        }
        if value.is_nothing() {
            return Value::Absent;
        }
        value = step::member(&value, name);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;

    struct Layers {
        own: Object,
        defaults: Object,
    }

    impl Params for Layers {
        fn get(&self, name: &str) -> Value {
            Object::get(&self.own, name).cloned().unwrap_or_default()
        }

        fn default(&self, name: &str) -> Value {
            Object::get(&self.defaults, name).cloned().unwrap_or_default()
        }
    }

    fn layers(own: &str, defaults: &str) -> Layers {
        let object = |text| match json::parse_str(text).expect("valid JSON").open().as_ref() {
            Value::Object(object) => Object::clone(object),
            other => panic!("not an object: {other:?}"),
        };
        Layers { own: object(own), defaults: object(defaults) }
    }

    fn found(own: &str, defaults: &str, name: &str) -> String {
        match lookup(&layers(own, defaults), name) {
            Value::Absent => "absent".to_owned(),
            value => json::to_string(&value.into_tree()),
        }
    }

    #[test]
    fn a_flat_name_with_a_dot_goes_before_the_walk() {
        assert_eq!(found(r#"{"dock.depth": 4, "dock": {"depth": 9}}"#, "{}", "dock.depth"), "4");
        assert_eq!(found(r#"{"dock": {"depth": 9}}"#, "{}", "dock.depth"), "9");
    }

    #[test]
    fn an_array_on_the_way_is_its_first_element() {
        let own = r#"{"fleet": {"ships": [{"mast": [{"h": 12}, {"h": 9}]}, {}]}}"#;
        assert_eq!(found(own, "{}", "fleet.ships.mast.h"), "12");
        assert_eq!(found(r#"{"l": [1, 2]}"#, "{}", "l"), "[1,2]");
        assert_eq!(found(r#"{"l": []}"#, "{}", "l.x"), "absent");
    }

    #[test]
    fn texts_find_lengths_and_elements_and_null() {
        let text = |own: &str, defaults: &str, name: &str| {
            let value = lookup_text(&layers(own, defaults), name);
            if value.is_absent() {
                "absent".to_owned()
            } else {
                json::to_string(&value.into_tree())
            }
        };
        assert_eq!(text(r#"{"l": ["abc", "d"]}"#, "{}", "l.length"), "2");
        assert_eq!(text(r#"{"l": [{"p": 1}]}"#, "{}", "l.p"), "absent");
        assert_eq!(text(r#"{"l": [{"p": 1}]}"#, "{}", "l.0.p"), "1");
        assert_eq!(text(r#"{"n": null}"#, r#"{"n": 7}"#, "n"), "null");
        assert_eq!(text(r#"{"o": {"n": 1}}"#, r#"{"o.n": 7}"#, "o.n"), "1");
        assert_eq!(text("{}", r#"{"o.n": 7}"#, "o.n"), "7");
    }

    #[test]
    fn defaults_stand_in_for_absent_and_null_but_not_for_falsy_values() {
        assert_eq!(found("{}", r#"{"n": 7}"#, "n"), "7");
        assert_eq!(found(r#"{"n": null}"#, r#"{"n": 7}"#, "n"), "7");
        assert_eq!(found(r#"{"n": 0}"#, r#"{"n": 7}"#, "n"), "0");
        assert_eq!(found(r#"{"n": false}"#, r#"{"n": 7}"#, "n"), "false");
        assert_eq!(found(r#"{"n": ""}"#, r#"{"n": 7}"#, "n"), "\"\"");
        assert_eq!(found(r#"{"a": {"b": null}}"#, r#"{"a": {"b": 3}}"#, "a.b"), "3");
        assert_eq!(found(r#"{"a": "text"}"#, r#"{"a": {"b": 3}}"#, "a.b"), "3");
    }
}
