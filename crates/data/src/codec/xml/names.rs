//! The names of the members of elements, and which of them comes next.
//!
//! In: places in a document where a name stands. Out: the number of that name among those inside the same
//! name, and its text as the beginning of a JSON member. Records are alike, so each name knows which came
//! after it last time, and the next one is compared with that alone. Names of ASCII characters only are
//! known here, and only as many as few records have.

use std::ops::Range;

use super::{
    scan::IS_NAME_BYTE,
    skip::{is_repeated, name_length_at},
};
use crate::codec::{
    json::Opening,
    lanes::{LANES, Lanes},
};

/// Names inside one name: as many are looked through for one that was not expected.
const CHILDREN_MAX: u32 = 64;
/// Room that is made for names at first.
pub(super) const ROOM: usize = 64;
/// Names in all.
const NAMES_MAX: usize = 1024;

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
    start: usize,
    length: usize,
    opening: Opening,
    /// The first of the names inside it, and how many those are.
    first: NameId,
    children: u32,
    /// The next one of those that are inside the same name.
    sibling: NameId,
    /// The names that came last time: as the first inside it, and after it.
    leading: NameId,
    follower: NameId,
    /// The number of the element in which it was a member last.
    pub(super) seen: u32,
}

impl Names {
    pub(super) fn new() -> Self {
        let none = Name::new(0, "");
        let mut names = Vec::with_capacity(ROOM);
        names.push(none);
        Self { names, is_full: false }
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
    pub(super) fn end_of(&self, id: NameId, bytes: &[u8], at: usize) -> Option<usize> {
        let name = self.name(id);
        let end = at + name.length;
        let is_same = name.is_at(bytes, at)
            && bytes.get(end).is_some_and(|byte| !IS_NAME_BYTE[usize::from(*byte)]);
        is_same.then_some(end)
    }

    /// The place behind the end tag at `at` if it is of this name, without blanks.
    #[inline]
    pub(super) fn behind_end_tag(&self, id: NameId, bytes: &[u8], at: usize) -> Option<usize> {
        let name = self.name(id);
        let behind = at + 2 + name.length;
        let is_there = bytes.get(at + 1) == Some(&b'/')
            && bytes.get(behind) == Some(&b'>')
            && name.is_at(bytes, at + 2);
        is_there.then_some(behind + 1)
    }

    /// The name at `at`, inside `parent`, and where it ends.
    pub(super) fn find(
        &mut self,
        bytes: &[u8],
        at: usize,
        parent: NameId,
    ) -> Option<(NameId, usize)> {
        let first = bytes.get(at);
        let mut known = self.name(parent).first;
        while known != NONE {
            // Most names differ in their first letter.
            if self.name(known).opening.bytes().get(Opening::NAME_AT) == first
                && let Some(end) = self.end_of(known, bytes, at)
            {
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
        // Names of ASCII characters are text.
        let name = std::str::from_utf8(&bytes[at..end]).ok()?;
        let mut name = Name::new(at, name);
        let parent = self.name_mut(parent);
        name.sibling = parent.first;
        parent.first = new;
        parent.children += 1;
        self.names.push(name);
        Some((new, end))
    }
}

impl Name {
    fn new(start: usize, name: &str) -> Self {
        Self {
            start,
            length: name.len(),
            // Names have no characters that JSON escapes.
            opening: Opening::plain(name),
            first: NONE,
            children: 0,
            sibling: NONE,
            leading: NONE,
            follower: NONE,
            seen: 0,
        }
    }

    /// A place where it stands in the document.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.length
    }

    /// Whether this name, or one that it is the beginning of, stands at `at`.
    #[inline]
    pub(super) fn is_at(&self, bytes: &[u8], at: usize) -> bool {
        let same = |from: usize| {
            let known = self.opening.bytes().get(Opening::NAME_AT + from..)?;
            let known = known.first_chunk::<LANES>()?;
            let there = bytes.get(at + from..)?.first_chunk::<LANES>()?;
            let same = Lanes::new(*known).simd_eq(Lanes::new(*there));
            Some(same.to_bitmask().trailing_ones() as usize)
        };
        match (self.length, same(0)) {
            (0, _) => false,
            (length @ ..=LANES, Some(same)) => same >= length,
            // The first and the last sixteen bytes, which overlap.
            (length, Some(start)) if self.opening.is_short() => {
                start == LANES && same(length - LANES) == Some(LANES)
            }
            _ => is_repeated(bytes, &self.range(), at),
        }
    }

    /// The name as it begins a member.
    pub(super) fn opening(&self) -> &Opening {
        &self.opening
    }
}
