//! Elements that are kept whole, from the document to JSON text in one pass (ADR 0015).
//!
//! In: the place of a start tag. Out: the element as the JSON text that the tape would give, or
//! nothing: whatever is unusual or wrong is given up, and the general way reads the element from its
//! start. So all errors and most rules live there. What is written here are records: attributes, text
//! or elements inside each other, repeated ones side by side. Their names are kept in
//! [`Names`], their texts are written in `scalar`.

use super::{
    Coerce,
    names::{NONE, NameId, Names},
    scan::Scanner,
};
use crate::codec::stop::{Stop, Watch};

/// Bytes of a value that are moved to make a list of it.
const MOVED_MAX: usize = 4096;
/// Elements inside each other that are written at once; it bounds how often a byte is moved.
const OPEN_MAX: usize = 32;
/// How much of a document is read in vain beyond what is not: so many bytes, and one in so many.
const WASTED_MAX: usize = 4096;
const WASTED_SHARE: usize = 8;
/// Room that is made at first for the text of a document, at most.
const ROOM_MAX: usize = 1 << 20;
/// The text of an element with attributes as it begins a member.
const TEXT_KEY: &[u8] = b",\"$t\":";

/// An element that is being written.
struct Frame {
    name: NameId,
    /// Its number among all elements with members.
    number: u32,
    has_members: bool,
    /// The member that was begun last, where its value starts, and whether that is a list.
    last: NameId,
    last_start: usize,
    is_list: bool,
}

/// How much may still be made of a document.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) elements: usize,
    pub(super) copied_bytes: usize,
}

/// An element that was written.
pub(super) struct Written {
    /// Where the document goes on.
    pub(super) end: usize,
    /// How many elements and attributes those are.
    pub(super) built: usize,
    /// Bytes of texts that had references to resolve.
    pub(super) copied_bytes: usize,
}

/// Writes elements, and remembers their names.
pub(super) struct Whole {
    /// The text of the elements that are written, or of all cells of a document.
    pub(super) out: Vec<u8>,
    pub(super) mode: Coerce,
    pub(super) names: Names,
    /// Elements that were numbered.
    numbered: u32,
    /// No element before this place is tried: what was given up is not read a third time.
    from: usize,
    /// Bytes of elements that were written, and of those that were read in vain.
    written: usize,
    wasted: usize,
    watch: Watch,
}

impl Whole {
    pub(super) fn new(mode: Coerce, stop: &Stop) -> Self {
        Self {
            out: Vec::new(),
            mode,
            names: Names::new(),
            numbered: 0,
            from: 0,
            written: 0,
            wasted: 0,
            watch: stop.watch(),
        }
    }

    /// Whether an element whose start tag is at `at` is worth a try.
    pub(super) fn is_tried(&self, at: usize) -> bool {
        at >= self.from
    }

    #[cfg(test)]
    pub(super) fn try_none(&mut self) {
        self.from = usize::MAX;
    }

    /// Appends the element whose start tag is at `at`, inside `depth` others, to [`Self::out`]. Nothing if it is not
    /// simple, or may be more than there is `room` for.
    pub(super) fn element(
        &mut self,
        scanner: &Scanner<'_>,
        at: usize,
        depth: usize,
        room: Room,
    ) -> Option<Written> {
        if self.out.capacity() == 0 {
            // Text is shorter than the document, as a rule.
            self.out.reserve((scanner.text.len() - at).min(ROOM_MAX));
        }
        let before = self.out.len();
        let mut attempt = self.attempt(scanner, at, depth, room);
        attempt.open.reserve(OPEN_MAX);
        let is_read = attempt.run().is_some() && attempt.built <= room.elements;
        let Attempt { at: end, built, copied_bytes, .. } = attempt;
        // Only structures are raw values.
        let is_structure = self.out.get(before) == Some(&b'{');
        if !is_read || !is_structure {
            self.out.truncate(before);
            self.give_up(scanner.text.len(), at, end);
            return None;
        }
        self.written += end - at;
        Some(Written { end, built, copied_bytes })
    }

    /// Begins to read at `at`, inside `depth` elements.
    #[inline]
    pub(super) fn attempt<'w, 't>(
        &'w mut self,
        scanner: &'w Scanner<'t>,
        at: usize,
        depth: usize,
        room: Room,
    ) -> Attempt<'w, 't> {
        Attempt {
            bytes: scanner.text.as_bytes(),
            scanner,
            whole: self,
            at,
            open: Vec::new(),
            open_max: OPEN_MAX.min(scanner.depth_max.saturating_sub(depth)),
            room,
            built: 0,
            copied_bytes: 0,
        }
    }

    /// Notes that the element at `at` was read in vain up to `end`, in a document of that many bytes.
    fn give_up(&mut self, document: usize, at: usize, end: usize) {
        self.wasted += end - at;
        let is_worthless = self.wasted > self.written + WASTED_MAX + document / WASTED_SHARE;
        let is_over = self.names.is_full || is_worthless;
        self.from = if is_over { usize::MAX } else { self.from.max(end + 1) };
    }
}

/// One element, being read and written; what gives `None` gives it up.
pub(super) struct Attempt<'w, 't> {
    pub(super) scanner: &'w Scanner<'t>,
    pub(super) bytes: &'t [u8],
    pub(super) whole: &'w mut Whole,
    /// How far the document has been read.
    pub(super) at: usize,
    open: Vec<Frame>,
    /// How many elements may be inside each other.
    open_max: usize,
    pub(super) room: Room,
    pub(super) built: usize,
    pub(super) copied_bytes: usize,
}

impl Attempt<'_, '_> {
    fn run(&mut self) -> Option<()> {
        let (name, end) = self.whole.names.find(self.bytes, self.at + 1, NONE)?;
        self.read(name, end)
    }

    /// Writes the element whose name ends at `end`; reads up to its end.
    pub(super) fn read(&mut self, name: NameId, end: usize) -> Option<()> {
        self.element(name, end)?;
        while let Some(frame) = self.open.last() {
            if self.whole.watch.is_over() {
                return None;
            }
            self.at = self.behind_gap(self.at)?;
            match self.bytes.get(self.at..)? {
                [b'<', b'/', ..] => {
                    let name = frame.name;
                    self.end_tag(name, self.at)?;
                    self.close();
                }
                // Between line ends to resolve, it would be part of one text with them.
                [b'<', b'!', b'-', b'-', ..] if !self.scanner.has_returns => {
                    self.at = self.scanner.comment_end(self.at)?;
                }
                [b'<', ..] => {
                    let (name, last) = (frame.name, frame.last);
                    let next = self.whole.names.next(self.bytes, self.at + 1, name, last);
                    let (name, end) = next?;
                    self.begin(name)?;
                    self.element(name, end)?;
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Begins a member, or a further value of the last one.
    #[inline]
    fn begin(&mut self, id: NameId) -> Option<()> {
        let frame = self.open.last_mut()?;
        let Whole { names, out, .. } = &mut *self.whole;
        let name = names.name_mut(id);
        if name.seen == frame.number {
            if frame.last != id {
                return None;
            }
            if !frame.is_list {
                if out.len() - frame.last_start > MOVED_MAX {
                    return None;
                }
                out.insert(frame.last_start, b'[');
                frame.is_list = true;
            }
            out.push(b',');
            return Some(());
        }
        name.seen = frame.number;
        frame.end_list(out);
        let start = out.len();
        name.opening().write(out);
        if !frame.has_members {
            frame.has_members = true;
            out[start] = b'{';
        }
        frame.last = id;
        frame.last_start = out.len();
        Some(())
    }

    /// Writes the value of an element whose name ends at `end`, or opens it if there are others in it.
    #[inline]
    fn element(&mut self, name: NameId, end: usize) -> Option<()> {
        if self.open.len() >= self.open_max {
            return None;
        }
        self.built += 1;
        match self.bytes.get(end..)? {
            [b'>', ..] => self.content(name, end + 1, false),
            [b'/', b'>', ..] => {
                self.whole.out.extend_from_slice(b"{}");
                self.at = end + 2;
                Some(())
            }
            _ => self.attributes(name, end),
        }
    }

    fn push(&mut self, name: NameId) -> Option<()> {
        let whole = &mut *self.whole;
        whole.numbered = whole.numbered.checked_add(1)?;
        self.open.push(Frame {
            name,
            number: whole.numbered,
            has_members: false,
            last: NONE,
            last_start: whole.out.len(),
            is_list: false,
        });
        Some(())
    }

    /// Writes the end of the innermost element.
    fn close(&mut self) {
        let Some(mut frame) = self.open.pop() else { return };
        let out = &mut self.whole.out;
        frame.end_list(out);
        out.extend_from_slice(if frame.has_members { b"}" } else { b"{}" });
    }

    fn attributes(&mut self, name: NameId, name_end: usize) -> Option<()> {
        self.push(name)?;
        let mut end = name_end;
        loop {
            let at = self.behind_blanks(end);
            match self.bytes.get(at..)? {
                [b'>', ..] => return self.content(name, at + 1, true),
                [b'/', b'>', ..] => {
                    self.at = at + 2;
                    self.close();
                    return Some(());
                }
                _ if at > end => end = self.attribute(at)?,
                _ => return None,
            }
        }
    }

    /// Writes the attribute at `at`; gives its end.
    fn attribute(&mut self, at: usize) -> Option<usize> {
        let frame = self.open.last()?;
        let (name, end) = self.whole.names.next(self.bytes, at, frame.name, frame.last)?;
        if self.whole.names.name(name).seen == frame.number {
            return None;
        }
        self.begin(name)?;
        self.built += 1;
        match self.bytes.get(end..)? {
            [b'=', quote @ (b'"' | b'\''), ..] => self.attribute_value(*quote, end + 2),
            _ => None,
        }
    }

    /// Writes what is between the tags of an element, or opens it. `is_open` if it is, because of
    /// attributes.
    #[inline]
    fn content(&mut self, name: NameId, start: usize, is_open: bool) -> Option<()> {
        let at = self.behind_gap(start)?;
        match self.bytes.get(at..)? {
            [b'<', b'/', ..] => {
                self.end_tag(name, at)?;
                if is_open {
                    self.close();
                } else {
                    self.whole.out.extend_from_slice(b"{}");
                }
            }
            // With blanks around it, it would be one text with them.
            [b'<', b'!', b'[', ..] if at == start => {
                let has_members = self.begin_text(is_open)?;
                let end = self.character_data(at)?;
                self.end_text(name, end, has_members)?;
            }
            [b'<', ..] => {
                if !is_open {
                    self.push(name)?;
                }
                self.at = at;
            }
            _ => {
                let has_members = self.begin_text(is_open)?;
                let end = self.text(at, start)?;
                self.end_text(name, end, has_members)?;
            }
        }
        Some(())
    }

    /// Begins the text of an element, as a member if it has others.
    #[inline]
    fn begin_text(&mut self, is_open: bool) -> Option<bool> {
        let has_members = is_open && self.open.pop()?.has_members;
        if has_members {
            self.whole.out.extend_from_slice(TEXT_KEY);
        }
        Some(has_members)
    }

    /// Ends an element with its text.
    #[inline]
    fn end_text(&mut self, name: NameId, end: usize, has_members: bool) -> Option<()> {
        self.end_tag(name, end)?;
        if has_members {
            self.whole.out.push(b'}');
        }
        Some(())
    }

    /// Passes the end tag at `at`, if it is one.
    #[inline]
    fn end_tag(&mut self, name: NameId, at: usize) -> Option<()> {
        self.at = self.whole.names.behind_end_tag(name, self.bytes, at)?;
        Some(())
    }

    /// The place behind blank text, for which there must be room if line ends are resolved in it.
    #[inline]
    fn behind_gap(&self, from: usize) -> Option<usize> {
        let at = self.behind_blanks(from);
        let is_changed = at > from && self.scanner.has_returns;
        let has_room = !is_changed || self.has_room(at - from);
        has_room.then_some(at)
    }

    #[inline]
    fn behind_blanks(&self, from: usize) -> usize {
        behind_blanks(self.bytes, from)
    }
}

/// The first place from `from` on where no blank is.
#[inline]
pub(super) fn behind_blanks(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

impl Frame {
    #[inline]
    fn end_list(&mut self, out: &mut Vec<u8>) {
        if self.is_list {
            out.push(b']');
            self.is_list = false;
        }
    }
}

#[cfg(test)]
mod tests;
