//! Objects: members in source order, found in constant time however many there are.

use std::{collections::HashMap, sync::OnceLock};

use foldhash::fast::RandomState;

use super::{Text, Value};

/// Objects with more members than this are searched by an index; below it comparing is faster than hashing.
const INDEXED_FROM: usize = 64;

type Index = HashMap<Text, usize, RandomState>;

/// The members of a JSON object. A later member of the same name replaces the value of the earlier
/// one and keeps its place (FMT-13).
#[derive(Debug, Clone, Default)]
pub struct Object {
    members: Vec<(Text, Value)>,
    /// Made when a name is searched for the first time; many objects are only passed on.
    index: OnceLock<Box<Index>>,
}

impl Object {
    /// An object without members.
    pub const fn new() -> Self {
        Self { members: Vec::new(), index: OnceLock::new() }
    }

    /// An empty object with room for `capacity` members.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { members: Vec::with_capacity(capacity), index: OnceLock::new() }
    }

    /// An object of members whose names are known to differ.
    pub(crate) fn from_distinct(members: Vec<(Text, Value)>) -> Self {
        Self { members, index: OnceLock::new() }
    }

    /// The number of members, absent ones included.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.position(name).map(|at| &self.members[at].1)
    }

    /// Sets a member; returns the value that was there.
    pub fn insert(&mut self, name: impl Into<Text>, value: Value) -> Option<Value> {
        let name = name.into();
        if let Some(at) = self.position(&name) {
            return Some(std::mem::replace(&mut self.members[at].1, value));
        }
        self.push_distinct(name, value);
        None
    }

    /// Adds a member whose name is known to be new.
    pub(crate) fn push_distinct(&mut self, name: Text, value: Value) {
        if let Some(index) = self.index.get_mut() {
            index.insert(name.clone(), self.members.len());
        }
        self.members.push((name, value));
    }

    /// The value of a member, to be changed.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.position(name).map(|at| &mut self.members[at].1)
    }

    /// The value of a member, which is absent from now on.
    pub fn take(&mut self, name: &str) -> Value {
        self.position(name).map_or(Value::Absent, |at| std::mem::take(&mut self.members[at].1))
    }

    /// Removes a member and keeps the order of the others.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.position(name)?;
        let (_, value) = self.members.remove(at);
        self.index.take();
        Some(value)
    }

    /// Keeps the members for which `keep` answers true.
    pub fn retain(&mut self, mut keep: impl FnMut(&Text, &Value) -> bool) {
        self.members.retain(|(name, value)| keep(name, value));
        self.index.take();
    }

    /// The members in order.
    pub fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&Text, &Value)> + ExactSizeIterator + Clone {
        self.members.iter().map(|(name, value)| (name, value))
    }

    /// The members in order, their values to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&Text, &mut Value)> {
        self.members.iter_mut().map(|(name, value)| (&*name, value))
    }

    /// The member at a position.
    pub fn at(&self, position: usize) -> Option<(&Text, &Value)> {
        self.members.get(position).map(|(name, value)| (name, value))
    }

    fn position(&self, name: &str) -> Option<usize> {
        if self.members.len() > INDEXED_FROM {
            return self.index().get(name).copied();
        }
        self.members.iter().position(|(member, _)| is_same(member.as_bytes(), name.as_bytes()))
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let names = self.members.iter().enumerate();
            Box::new(names.map(|(at, (name, _))| (name.clone(), at)).collect())
        })
    }
}

/// Whether two names are the same. Most that are not differ in length or in their last byte.
pub(crate) fn is_same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.last() == right.last() && left == right
}

impl<N: Into<Text>> FromIterator<(N, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(members: I) -> Self {
        let mut object = Self::new();
        for (name, value) in members {
            object.insert(name, value);
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_name_keeps_its_place_and_takes_the_last_value() {
        let object: Object = [("a", Value::int(1)), ("b", Value::int(2)), ("a", Value::int(3))]
            .into_iter()
            .collect();
        let names: Vec<_> = object.iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(object.get("a").and_then(Value::scalar_text).as_deref(), Some("3"));
    }

    #[test]
    fn large_objects_are_found_by_index_also_after_removal() {
        let mut object: Object = (0..100).map(|n| (n.to_string(), Value::int(n))).collect();
        object.remove("7");
        assert!(object.get("7").is_none());
        assert_eq!(object.get("99").and_then(Value::scalar_text).as_deref(), Some("99"));
        assert_eq!(object.len(), 99);
    }
}
