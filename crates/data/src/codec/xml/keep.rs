//! The parts of a document to keep, and the elements that are arrays: both looked up while scanning.
//!
//! In: a [`Projection`] and the paths of `using xml arrays`. Out: two small graphs of states that the
//! builder walks down element by element. XML tells only at the end of the parent whether a child
//! was repeated, so `Each` must be read both ways at once, as "every element" and as "every member";
//! that is why projections are translated first.

use crate::{Text, projection::Projection, value::is_same};

/// A projection of more states than this (they come from a script's paths, so hardly ever) is
/// replaced by "keep all", which is always correct.
const STATES_MAX: usize = 4096;

/// A state of [`Keep`]: what to keep inside one element.
pub(super) type State = usize;

/// The state that keeps everything.
pub(super) const ALL: State = 0;

/// Projections as states.
pub(super) struct Keep {
    states: Vec<Members>,
    root: State,
}

#[derive(Default)]
struct Members {
    named: Vec<(Text, State)>,
    others: Option<State>,
}

impl Keep {
    /// Translates a projection of the whole document, that is, of the object that holds the root.
    pub(super) fn new(projection: &Projection) -> Self {
        let all = Members { named: Vec::new(), others: Some(ALL) };
        let mut keep = Self { states: vec![all], root: ALL };
        keep.root = keep.state_of(&[projection]);
        if keep.states.len() > STATES_MAX {
            keep.states.truncate(1);
            keep.root = ALL;
        }
        keep
    }

    /// The state around the root element.
    pub(super) fn root(&self) -> State {
        self.root
    }

    /// The state inside the member `name`; `None` if it is not kept.
    pub(super) fn member(&self, state: State, name: &str) -> Option<State> {
        if state == ALL {
            return Some(ALL);
        }
        let members = &self.states[state];
        let is_wanted = |(member, _): &&(Text, State)| is_same(member.as_bytes(), name.as_bytes());
        let named = members.named.iter().find(is_wanted);
        named.map(|(_, state)| *state).or(members.others)
    }

    /// The state that keeps whatever one of `projections` keeps.
    fn state_of(&mut self, projections: &[&Projection]) -> State {
        if projections.iter().any(|projection| projection.is_all())
            || self.states.len() > STATES_MAX
        {
            return ALL;
        }
        let state = self.states.len();
        self.states.push(Members::default());
        let each: Vec<_> = projections
            .iter()
            .filter_map(|projection| match projection {
                Projection::Each(each) => Some(&**each),
                _ => None,
            })
            .collect();
        let mut named: Vec<(Text, Vec<&Projection>)> = Vec::new();
        for projection in projections {
            let Projection::Members(members) = projection else { continue };
            for (name, inner) in members {
                match named.iter_mut().find(|(known, _)| known == name) {
                    Some((_, inners)) => inners.push(inner),
                    None => named.push((name.clone(), vec![inner])),
                }
            }
        }
        for (name, mut inners) in named {
            inners.extend(&each);
            let inner = self.state_of(&either_way(&inners));
            self.states[state].named.push((name, inner));
        }
        if !each.is_empty() {
            let inner = self.state_of(&either_way(&each));
            self.states[state].others = Some(inner);
        }
        state
    }
}

/// A child may turn out to be an array, so `Each(p)` means `p` for it as well.
fn either_way<'p>(projections: &[&'p Projection]) -> Vec<&'p Projection> {
    let mut all = projections.to_vec();
    let mut at = 0;
    while let Some(projection) = all.get(at) {
        if let Projection::Each(each) = projection {
            all.push(each);
        }
        at += 1;
    }
    all
}

/// Paths of elements that are arrays however often they come (`using xml arrays`, FMT-18). A path
/// names the members from the root element on, separated by dots: `tides.tide`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArrayPaths {
    /// A tree in a list; the first node, if any, is the document.
    nodes: Vec<ArrayNode>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ArrayNode {
    members: Vec<(Text, usize)>,
    is_array: bool,
}

/// A place in [`ArrayPaths`]; `None` is a place that no path leads to.
pub(super) type ArrayPlace = Option<usize>;

impl ArrayPaths {
    /// Collects paths; empty ones are ignored.
    pub fn new<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut arrays = Self::default();
        for path in paths {
            let path = path.as_ref().trim();
            if !path.is_empty() {
                arrays.add(path);
            }
        }
        arrays
    }

    /// Whether there is no path.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn add(&mut self, path: &str) {
        if self.nodes.is_empty() {
            self.nodes.push(ArrayNode::default());
        }
        let mut at = 0;
        for name in path.split('.') {
            let known = self.nodes[at].members.iter().find(|(member, _)| member == name);
            at = if let Some((_, known)) = known {
                *known
            } else {
                let next = self.nodes.len();
                self.nodes[at].members.push((name.into(), next));
                self.nodes.push(ArrayNode::default());
                next
            };
        }
        self.nodes[at].is_array = true;
    }

    pub(super) fn root(&self) -> ArrayPlace {
        (!self.nodes.is_empty()).then_some(0)
    }

    pub(super) fn member(&self, place: ArrayPlace, name: &str) -> ArrayPlace {
        let members = &self.nodes[place?].members;
        members.iter().find(|(member, _)| member == name).map(|(_, next)| *next)
    }

    pub(super) fn is_array(&self, place: ArrayPlace) -> bool {
        place.is_some_and(|at| self.nodes[at].is_array)
    }

    /// Whether the members of the element that `names` lead to are as they come: no path leads on.
    pub(super) fn ends_with(&self, names: &[Text]) -> bool {
        let place = names.iter().fold(self.root(), |place, name| self.member(place, name));
        place.is_none_or(|place| self.nodes[place].members.is_empty())
    }

    /// The names of the members of `place` that are arrays.
    pub(super) fn array_members(&self, place: ArrayPlace) -> impl Iterator<Item = &Text> {
        let members = place.map(|at| self.nodes[at].members.as_slice()).unwrap_or_default();
        let arrays = members.iter().filter(|(_, next)| self.nodes[*next].is_array);
        arrays.map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(inner: Projection) -> Projection {
        Projection::Each(Box::new(inner))
    }

    fn members(names: &[(&str, Projection)]) -> Projection {
        Projection::Members(names.iter().map(|(n, p)| ((*n).into(), p.clone())).collect())
    }

    #[test]
    fn each_is_read_as_elements_and_as_members() {
        let inner = members(&[("x", Projection::All)]);
        let keep = Keep::new(&members(&[("items", each(inner))]));
        let items = keep.member(keep.root(), "items").unwrap();
        assert_eq!(keep.member(items, "x"), Some(ALL), "as an element of a list");
        let other = keep.member(items, "other").expect("as any member");
        assert_eq!(keep.member(other, "x"), Some(ALL));
        assert_eq!(keep.member(other, "y"), None);
        assert_eq!(keep.member(keep.root(), "other"), None);
    }

    #[test]
    fn a_huge_projection_keeps_everything() {
        let names: Vec<_> = (0..5000).map(|n| (n.to_string().into(), Projection::none())).collect();
        let keep = Keep::new(&Projection::Members(names));
        assert_eq!(keep.root(), ALL);
    }

    #[test]
    fn array_paths_share_their_start() {
        let arrays = ArrayPaths::new(["a.b", "a.c", "", "a.c.d"]);
        let a = arrays.member(arrays.root(), "a");
        assert!(!arrays.is_array(a));
        assert!(arrays.is_array(arrays.member(a, "b")));
        assert!(arrays.is_array(arrays.member(arrays.member(a, "c"), "d")));
        assert_eq!(arrays.array_members(a).map(Text::as_str).collect::<Vec<_>>(), ["b", "c"]);
    }
}
