//! The parts of a body that a decode must keep.
//!
//! In: the paths that a script will evaluate on an answer. Out: a [`Projection`] that codecs follow
//! while they read, so that parts nobody asks for are checked, but never built. It promises that the
//! added paths find the same in the pruned value as in the whole one; where a path cannot be
//! foreseen (filters, computed steps, descendants) it keeps everything. It does not evaluate paths.

use crate::{
    Text,
    path::{Path, Segment},
    value::is_same,
};

/// The most parts of a projection that a union in a path may multiply to; beyond it everything below
/// the union is kept.
const UNION_PARTS_MAX: usize = 1_000;

/// The parts of a value that a decode must keep. Scalars are always kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// Everything.
    All,
    /// Of an object, these members, each with its own projection. An array keeps all its positions
    /// and applies this same projection to every element.
    Members(Vec<(Text, Projection)>),
    /// Every member of an object and every element of an array, each with this projection.
    Each(Box<Projection>),
}

impl Projection {
    /// Nothing but the outline: objects lose all members, arrays keep their length.
    pub const fn none() -> Self {
        Self::Members(Vec::new())
    }

    /// Whether everything is kept.
    pub fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// The projection of the member `name` of an object; `None` if it is not kept.
    pub fn member(&self, name: &[u8]) -> Option<&Self> {
        self.named_member(name).map(|(_, projection)| projection)
    }

    /// As [`Projection::member`], with the name as the projection has it, if it names members: a copy of that
    /// costs less than a slice of the text.
    pub(crate) fn named_member(&self, name: &[u8]) -> Option<(Option<&Text>, &Self)> {
        match self {
            Self::Members(members) => members
                .iter()
                .find(|(member, _)| is_same(member.as_bytes(), name))
                .map(|(member, projection)| (Some(member), projection)),
            Self::All => Some((None, self)),
            Self::Each(each) => Some((None, each)),
        }
    }

    /// The projection of the elements of an array.
    pub fn element(&self) -> &Self {
        match self {
            Self::All | Self::Members(_) => self,
            Self::Each(each) => each,
        }
    }

    /// Keeps also what `other` keeps (and possibly more).
    pub fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::All, _) => {}
            (Self::Members(members), other) if members.is_empty() => *self = other,
            (_, Self::Members(others)) if others.is_empty() => {}
            (Self::Members(members), Self::Members(others)) => {
                for (name, projection) in others {
                    match members.iter_mut().find(|(member, _)| *member == name) {
                        Some((_, known)) => known.merge(projection),
                        None => members.push((name, projection)),
                    }
                }
            }
            (Self::Each(each), Self::Each(other)) => each.merge(*other),
            // Named members here and all members there cannot be told in one form.
            (Self::Members(_), Self::Each(_))
            | (Self::Each(_), Self::Members(_))
            | (_, Self::All) => {
                *self = Self::All;
            }
        }
    }

    /// Keeps also what `path` needs to find the same matches as in the whole value.
    pub fn add_path(&mut self, path: &Path) {
        let needed =
            path.segments().iter().rev().try_fold(Self::All, |rest, segment| step(segment, rest));
        self.merge(needed.unwrap_or(Self::All));
    }

    /// Keeps also what is reached by the members `names`, one inside the other.
    pub fn add_members<N: AsRef<str>>(&mut self, names: &[N]) {
        let needed = names.iter().rev().fold(Self::All, |rest, name| named(name.as_ref(), rest));
        self.merge(needed);
    }

    /// Makes the projection of a value that keeps `inner` of its member `name`.
    pub fn within(name: &str, inner: Self) -> Self {
        named(name, inner)
    }

    /// The number of places that the projection tells apart.
    fn parts(&self) -> usize {
        match self {
            Self::All => 1,
            Self::Members(members) => {
                members.iter().map(|(_, projection)| projection.parts()).sum::<usize>() + 1
            }
            Self::Each(each) => each.parts() + 1,
        }
    }
}

/// Makes the projection that one step of a path needs for the next steps to find `rest`. `None`: the step
/// may look anywhere, from the root on.
fn step(segment: &Segment, rest: Projection) -> Option<Projection> {
    match segment {
        Segment::Member(name) => Some(named(name, rest)),
        Segment::Index(_) | Segment::Wildcard | Segment::Slice { .. } => Some(each(rest)),
        Segment::Union(parts) => {
            let is_large = rest.parts().saturating_mul(parts.len()) > UNION_PARTS_MAX;
            let rest = if is_large { Projection::All } else { rest };
            parts.iter().try_fold(Projection::none(), |mut all, part| {
                all.merge(step(part, rest.clone())?);
                Some(all)
            })
        }
        // A descent may find its name anywhere below; expressions see the root as well.
        Segment::Descendant(_)
        | Segment::DescendantWildcard
        | Segment::Descend
        | Segment::Filter(_)
        | Segment::Computed(_)
        | Segment::Root => None,
    }
}

fn named(name: &str, rest: Projection) -> Projection {
    let is_index = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if is_index {
        // On an array a decimal name is a position (PTH-10), on an object a member.
        each(rest)
    } else {
        // `length` needs no care: arrays keep their positions, text is kept whole.
        Projection::Members(vec![(name.into(), rest)])
    }
}

fn each(rest: Projection) -> Projection {
    Projection::Each(Box::new(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&[&str]]) -> Projection {
        let mut projection = Projection::none();
        for path in paths {
            projection.add_members(path);
        }
        projection
    }

    #[test]
    fn paths_with_a_common_start_share_it() {
        let projection = of(&[&["a", "b"], &["a", "c"], &["d"]]);
        let a = projection.member(b"a").unwrap();
        assert_eq!(a.member(b"b"), Some(&Projection::All));
        assert_eq!(a.member(b"c"), Some(&Projection::All));
        assert_eq!(a.member(b"d"), None);
        assert_eq!(projection.member(b"d"), Some(&Projection::All));
    }

    #[test]
    fn a_whole_member_swallows_its_parts_in_either_order() {
        assert_eq!(of(&[&["a"], &["a", "b"]]), of(&[&["a", "b"], &["a"]]));
        assert_eq!(of(&[&["a"], &["a", "b"]]).member(b"a"), Some(&Projection::All));
    }

    #[test]
    fn a_decimal_name_keeps_every_position() {
        assert_eq!(of(&[&["0"]]), Projection::Each(Box::new(Projection::All)));
        assert!(of(&[&["0"], &["a"]]).is_all());
    }

    fn of_text(paths: &[&str]) -> Projection {
        let mut projection = Projection::none();
        for path in paths {
            projection.add_path(&Path::parse(path).unwrap());
        }
        projection
    }

    #[test]
    fn steps_that_cannot_be_foreseen_keep_everything() {
        for path in ["a..b", "$..b", "a[?(@.b)]", "a[(@.length-1)].c", "*.a..b", "$"] {
            assert!(of_text(&[path]).is_all(), "{path}");
        }
        for path in ["a", "a.b", "a[0].b", "a.*", "a[1:2].c", "a['b','c']", "a.length"] {
            assert!(!of_text(&[path]).is_all(), "{path}");
        }
    }

    #[test]
    fn a_union_needs_all_its_parts() {
        assert_eq!(of_text(&["a['b','c'].d"]), of(&[&["a", "b", "d"], &["a", "c", "d"]]));
    }

    #[test]
    fn unions_of_unions_stay_small() {
        let path = "['a','b']".repeat(200);
        let projection = of_text(&[&path]);
        assert!(projection.parts() < 4 * UNION_PARTS_MAX, "{}", projection.parts());
    }

    #[test]
    fn the_empty_path_keeps_everything() {
        assert!(of(&[&[]]).is_all());
    }
}
