//! Settings as YAML 1.2: one document, whose aliases may not make it grow beyond bounds.

use std::fmt;

use qlio_data::{Object, Text, Value, codec::json};
use qlio_syntax::source::Position;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::{
    super::place::{Places, element, member},
    DEPTH_MAX, Located, Malformed,
};

/// Most scalars, lists and objects of a file, after its aliases were replaced.
const NODES_MAX: usize = 100_000;

/// Most anchors, and most aliases, of a file.
const ALIASES_MAX: usize = 1000;

pub(super) fn parse(text: &str) -> Result<Located, Malformed> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            flow_nesting_limit: DEPTH_MAX,
            max_documents: 1,
            max_nodes: NODES_MAX,
            max_events: NODES_MAX * 3,
            max_anchors: ALIASES_MAX,
            max_aliases: ALIASES_MAX,
            max_recorded_anchor_events: NODES_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: NODES_MAX,
            max_replay_stack_depth: DEPTH_MAX,
        },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    };
    let tree: Tree = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let position = error.location().map(position);
        let reason = error.without_snippet().to_string();
        // One line is enough, and the place is told in front of it.
        let line = reason.lines().next().unwrap_or_default();
        let reason = line.split_once(" at line ").map_or(line, |(reason, _)| reason);
        Malformed { position, reason: reason.to_owned() }
    })?;
    let mut places = Places::default();
    let value = tree.into_value("", &mut places);
    Ok((value, places))
}

fn position(location: Location) -> Position {
    Position { line: location.line() as u32, column: location.column() as u32 }
}

/// A node of the document.
enum Tree {
    Scalar(Value),
    List(Vec<Spanned<Tree>>),
    Object(Vec<(Spanned<String>, Tree)>),
}

impl Tree {
    /// The value; notes where its members stand. As deep as the budget of the parser lets it be.
    fn into_value(self, path: &str, places: &mut Places) -> Value {
        match self {
            Self::Scalar(value) => value,
            Self::List(elements) => {
                let value = |(index, tree): (usize, Spanned<Self>)| {
                    let path = element(path, index);
                    places.insert(&path, position(tree.referenced));
                    tree.value.into_value(&path, places)
                };
                elements.into_iter().enumerate().map(value).collect()
            }
            Self::Object(members) => {
                let mut object = Object::with_capacity(members.len());
                for (name, tree) in members {
                    let path = member(path, &name.value);
                    places.insert(&path, position(name.referenced));
                    object.insert(Text::from(name.value), tree.into_value(&path, places));
                }
                Value::object(object)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::int(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::from(value)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Tree, E> {
        let number = json::parse_str(&value.to_string());
        number.map(Tree::Scalar).map_err(|_| E::custom(format!("`{value}` is no number")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::from(value)))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = access.next_element()? {
            elements.push(element);
        }
        Ok(Tree::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut members = Vec::new();
        while let Some(entry) = access.next_entry()? {
            members.push(entry);
        }
        Ok(Tree::Object(members))
    }
}
