//! The names of the members of elements, and which of them comes next.
//!
//! In: places in a document where a name stands. Out: the number of that name among those inside the same
//! name, and its text as the beginning of a JSON member. Records are alike, so each name knows which came
//! after it last time, and the next one is compared with that alone. Names of ASCII characters only are
//! known here, and only as many as few records have.

use super::{
    scan::IS_NAME_BYTE,
    skip::{is_repeated, name_length_at},
    tape::Place,
};
use crate::codec::lanes::{LANES, Lanes};

/// Names inside one name: as many are looked through for one that was not expected.
const CHILDREN_MAX: u32 = 64;
/// Names in all.
const NAMES_MAX: usize = 1024;
/// Room for a name of usual length as it begins a member: with a comma, two quotes and a colon.
const KEY_BYTES: usize = 32;
const NAME_AT: usize = 2;
const AROUND_NAME: usize = 4;
/// Names up to this length have such a form.
const SHORT_MAX: usize = KEY_BYTES - AROUND_NAME;

/// The number of a name.
pub(super) type NameId = u32;

/// No name, or the one that is inside nothing.
pub(super) const NONE: NameId = 0;

/// Names inside names.
pub(super) struct Names {
    names: Vec<Name>,
    /// Whether there were more than are kept.
    pub(super) is_full: bool,
}

/// A name inside another one.
pub(super) struct Name {
    /// Where it stood first.
    place: Place,
    length: usize,
    /// `,"name":` if there is room for it.
    key: [u8; KEY_BYTES],
    /// The first of the names inside it, and how many those are.
    first: NameId,
    children: u32,
    /// The next one of those that are inside the same name.
    sibling: NameId,
    /// What came last time: as the first inside it, and after it.
    leading: NameId,
    follower: NameId,
    /// The number of the element in which it was a member last.
    pub(super) seen: u32,
}

impl Names {
    pub(super) fn new() -> Self {
        let none = Name::new(Place::new(0, 0), b"");
        Self { names: vec![none], is_full: false }
    }

    pub(super) fn name(&self, id: NameId) -> &Name {
        &self.names[id as usize]
    }

    pub(super) fn name_mut(&mut self, id: NameId) -> &mut Name {
        &mut self.names[id as usize]
    }

    /// The name at `at`, inside `parent` and behind the member `last` of it, and where it ends.
    #[inline]
    pub(super) fn next(
        &mut self,
        bytes: &[u8],
        at: usize,
        parent: NameId,
        last: NameId,
    ) -> Option<(NameId, usize)> {
        let expected = match last {
            NONE => self.name(parent).leading,
            last => self.name(last).follower,
        };
        if let Some(end) = self.end_of(expected, bytes, at) {
            return Some((expected, end));
        }
        // Members that some records lack are passed; those that come several times come again.
        for guess in [self.name(expected).follower, last] {
            if let Some(end) = self.end_of(guess, bytes, at) {
                return Some((guess, end));
            }
        }
        let found = self.find(bytes, at, parent)?;
        match last {
            NONE => self.name_mut(parent).leading = found.0,
            last => self.name_mut(last).follower = found.0,
        }
        Some(found)
    }

    /// The end of the name at `at` if it is this one.
    #[inline]
    fn end_of(&self, id: NameId, bytes: &[u8], at: usize) -> Option<usize> {
        let name = self.name(id);
        let end = at + name.length;
        let is_same = name.is_at(bytes, at)
            && bytes.get(end).is_some_and(|byte| !IS_NAME_BYTE[usize::from(*byte)]);
        is_same.then_some(end)
    }

    /// The name at `at`, inside `parent`, and where it ends.
    pub(super) fn find(
        &mut self,
        bytes: &[u8],
        at: usize,
        parent: NameId,
    ) -> Option<(NameId, usize)> {
        let mut known = self.name(parent).first;
        while known != NONE {
            if let Some(end) = self.end_of(known, bytes, at) {
                return Some((known, end));
            }
            known = self.name(known).sibling;
        }
        let end = at + name_length_at(bytes, at)?;
        // A longer character may belong to the name.
        if IS_NAME_BYTE[usize::from(*bytes.get(end)?)] {
            return None;
        }
        let new = u32::try_from(self.names.len()).ok()?;
        if self.names.len() >= NAMES_MAX || self.name(parent).children >= CHILDREN_MAX {
            self.is_full = true;
            return None;
        }
        let mut name = Name::new(Place::new(at, end), &bytes[at..end]);
        let parent = self.name_mut(parent);
        name.sibling = parent.first;
        parent.first = new;
        parent.children += 1;
        self.names.push(name);
        Some((new, end))
    }
}

impl Name {
    fn new(place: Place, name: &[u8]) -> Self {
        let mut key = [0; KEY_BYTES];
        let length = name.len();
        if length <= SHORT_MAX {
            key[..NAME_AT].copy_from_slice(b",\"");
            key[NAME_AT..][..length].copy_from_slice(name);
            key[NAME_AT + length..][..2].copy_from_slice(b"\":");
        }
        Self {
            place,
            length,
            key,
            first: NONE,
            children: 0,
            sibling: NONE,
            leading: NONE,
            follower: NONE,
            seen: 0,
        }
    }

    /// Its length in bytes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Whether this name, or one that it is the beginning of, stands at `at`.
    #[inline]
    pub(super) fn is_at(&self, bytes: &[u8], at: usize) -> bool {
        let same = |from: usize| {
            let known = self.key.get(NAME_AT + from..)?.first_chunk::<LANES>()?;
            let there = bytes.get(at + from..)?.first_chunk::<LANES>()?;
            let same = Lanes::new(*known).simd_eq(Lanes::new(*there));
            Some(same.to_bitmask().trailing_ones() as usize)
        };
        match (self.length, same(0)) {
            (0, _) => false,
            (length @ ..=LANES, Some(same)) => same >= length,
            // The first and the last sixteen bytes, which overlap.
            (length @ ..=SHORT_MAX, Some(start)) => {
                start == LANES && same(length - LANES) == Some(LANES)
            }
            _ => is_repeated(bytes, &self.place.range(), at),
        }
    }

    /// Appends `,"name":`.
    #[inline]
    pub(super) fn write_key(&self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.length <= SHORT_MAX {
            // Copying all of it and cutting off what is too much is cheaper than copying just as many
            // bytes as there are.
            out.extend_from_slice(&self.key);
            out.truncate(out.len() - KEY_BYTES + AROUND_NAME + self.length);
        } else {
            out.extend_from_slice(b",\"");
            out.extend_from_slice(&bytes[self.place.range()]);
            out.extend_from_slice(b"\":");
        }
    }
}
