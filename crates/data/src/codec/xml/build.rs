//! From XML events to a tape (`connectors.md` 5.6).
//!
//! In: the scanner's events, and what to keep of them. Out: the [`Tape`] of the document. Elements
//! that nobody asked for are passed by the scanner, which checks them, and never noted.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use foldhash::fast::RandomState;

use super::{
    TEXT, XmlOptions,
    coerce::trim,
    keep::{ALL, ArrayPlace, Keep, State},
    reference,
    scan::{Event, Fault, Scanner},
    skip::Leaf,
    tape::{Content, Member, Name, Place, Tape},
    whole::{Room, Whole},
};
use crate::{Text, Value, codec::DecodeLimits};

/// Members of one element up to which comparing names is faster than hashing them.
const INDEXED_FROM: usize = 64;

/// Text of an element, shared with the document as long as it is in one piece there.
#[derive(Default)]
enum Run {
    #[default]
    Empty,
    Shared(usize, usize),
    Owned(String),
}

/// An element that is open.
struct Frame<'a> {
    name: Place,
    state: State,
    place: ArrayPlace,
    /// Where its members begin among those of all open elements.
    base: usize,
    /// Non-blank text so far, each run between children trimmed.
    text: Run,
    /// How many members came before the text.
    text_at: usize,
    /// Whether the whole element has attributes or children, kept or not.
    has_members: bool,
    /// A bit for each tag of a member: what has none is not among them.
    seen: u64,
    /// The members by name, once there are many.
    index: Option<Box<Index<'a>>>,
}

type Index<'a> = HashMap<&'a str, usize, RandomState>;

impl Frame<'_> {
    fn new(name: Place, state: State, place: ArrayPlace, base: usize, has_members: bool) -> Self {
        Self {
            name,
            state,
            place,
            base,
            text: Run::Empty,
            text_at: 0,
            has_members,
            seen: 0,
            index: None,
        }
    }
}

pub(super) struct Builder<'a> {
    document: &'a Text,
    keep: Keep,
    options: &'a XmlOptions,
    limits: &'a DecodeLimits,
    /// The innermost element, and those around it.
    frame: Frame<'a>,
    outer: Vec<Frame<'a>>,
    /// The members of all open elements, those of the innermost last.
    members: Vec<Member>,
    /// A few bytes of the name of each member, to compare first.
    tags: Vec<u32>,
    tape: Tape<'a>,
    whole: Whole,
    /// Character data since the last tag.
    run: Run,
    built: usize,
    copied_bytes: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        document: &'a Text,
        keep: Keep,
        options: &'a XmlOptions,
        limits: &'a DecodeLimits,
    ) -> Self {
        let root = Frame::new(Place::new(0, 0), keep.root(), options.arrays.root(), 0, true);
        Self {
            document,
            keep,
            options,
            limits,
            frame: root,
            outer: Vec::new(),
            members: Vec::new(),
            tags: Vec::new(),
            tape: Tape::new(document, &options.arrays),
            whole: Whole::new(options.coerce),
            run: Run::Empty,
            built: 0,
            copied_bytes: document.len(),
        }
    }

    pub(super) fn build(mut self, mut scanner: Scanner<'_>) -> Result<Value, Fault> {
        loop {
            if let Some(name) = scanner.simple_tag() {
                self.simple(&mut scanner, name)?;
                continue;
            }
            let fault = match scanner.next()? {
                Event::Done => break,
                Event::Start { name, is_empty } => {
                    self.open(&mut scanner, name, is_empty)?;
                    Ok(())
                }
                Event::End => self.end().map_err(|reason| (scanner.offset(), reason)),
                Event::Text { range, is_plain } => {
                    let text = &self.document[range.clone()];
                    let resolved = if is_plain {
                        reference::resolve_line_ends(text)
                    } else {
                        reference::resolve_text(text)
                    };
                    self.characters(range.start, resolved).map_err(|reason| (range.start, reason))
                }
                Event::CharacterData(range) => {
                    let resolved = reference::resolve_line_ends(&self.document[range.clone()]);
                    self.characters(range.start, resolved).map_err(|reason| (range.start, reason))
                }
            };
            fault.map_err(|(offset, reason)| Fault { offset, reason })?;
        }
        let document = self.tape.close(&self.members);
        self.tape.json = self.whole.finish();
        // Nobody asks for the name of the whole.
        let whole = Member::new(Name::Text, document).whole(self.keep.root() == ALL);
        Ok(self.tape.into_value(&whole, self.options.coerce))
    }

    /// Takes or passes an element without attributes if it has nothing but text; any other is opened.
    fn simple(&mut self, scanner: &mut Scanner<'_>, name: Range<usize>) -> Result<(), Fault> {
        let Frame { state, place, .. } = self.frame;
        let text = &self.document[name.clone()];
        let state = self.keep.member(state, text);
        let is_declared = place.is_some() && self.options.arrays.member(place, text).is_some();
        let leaf = if is_declared { None } else { scanner.leaf_called(&name) };
        let Some(leaf) = leaf else {
            scanner.enter(&name);
            return self.open(scanner, name, false);
        };
        self.flush_run();
        self.frame.has_members = true;
        if let Some(state) = state {
            let content = self.leaf_content(leaf)?;
            self.count().map_err(|reason| Fault { offset: scanner.offset(), reason })?;
            self.add(Place::of(&name), content, false, state);
        }
        Ok(())
    }

    /// Takes an element that is kept whole as JSON text if it is simple; else it is left where it is.
    fn whole(&mut self, scanner: &mut Scanner<'_>, name: &Range<usize>) -> bool {
        let room = Room {
            elements: self.limits.elements_max.saturating_sub(self.built),
            copied_bytes: self.limits.decoded_bytes_max.saturating_sub(self.copied_bytes),
        };
        let at = self.find(&self.document[name.clone()]);
        let is_next = at.is_some_and(|at| match self.tape.last(&self.members[at]) {
            Content::Json(place) => place.range().end == self.whole.out.len(),
            _ => false,
        });
        let (start, depth) = (name.start - 1, scanner.open.len());
        let Some(written) = self.whole.element(scanner, start, depth, room, is_next) else {
            return false;
        };
        scanner.at = written.end;
        self.flush_run();
        self.frame.has_members = true;
        self.built += written.built;
        self.copied_bytes += written.copied_bytes;
        self.add(Place::of(name), Content::Json(written.json), false, ALL);
        true
    }

    /// Opens an element whose start tag has been scanned, or passes all of it.
    fn open(
        &mut self,
        scanner: &mut Scanner<'_>,
        name: Range<usize>,
        is_empty: bool,
    ) -> Result<(), Fault> {
        let offset = name.start;
        if !is_empty && self.whole.is_tried(offset - 1) && self.is_whole(&name) {
            scanner.open.pop();
            if self.whole(scanner, &name) {
                return Ok(());
            }
            scanner.open.push(name.clone());
        }
        let is_kept = self.start(scanner, &name, is_empty);
        if !is_kept.map_err(|reason| Fault { offset, reason })? && !is_empty {
            scanner.skip_element()?;
        }
        Ok(())
    }

    /// The same without elements that become text at once.
    #[cfg(test)]
    pub(super) fn element_by_element(mut self) -> Self {
        self.whole.try_none();
        self
    }

    /// Whether a member of the innermost element is kept whole, without declared arrays in it.
    fn is_whole(&self, name: &Range<usize>) -> bool {
        let Frame { state, place, .. } = self.frame;
        let name = &self.document[name.clone()];
        self.keep.member(state, name) == Some(ALL)
            && self.options.arrays.member(place, name).is_none()
    }

    /// What the text of a leaf is.
    #[inline]
    fn leaf_content(&mut self, leaf: Leaf) -> Result<Content, Fault> {
        let Leaf { text: range, is_plain } = leaf;
        let text = &self.document[range.clone()];
        if is_plain {
            let trimmed = trim(text);
            if trimmed.is_empty() {
                return Ok(Content::EMPTY);
            }
            let start = range.start + offset_in(text, trimmed);
            return Ok(Content::Text(Place::new(start, start + trimmed.len())));
        }
        let start = self.tape.written.len();
        reference::resolve_text_onto(text, &mut self.tape.written);
        let resolved = &self.tape.written[start..];
        if self.copied_bytes.saturating_add(resolved.len()) > self.limits.decoded_bytes_max {
            return Err(Fault { offset: range.start, reason: too_large(self.limits) });
        }
        let trimmed = trim(resolved);
        let (start, length) = (start + offset_in(resolved, trimmed), trimmed.len());
        self.copied_bytes += length;
        if length == 0 {
            return Ok(Content::EMPTY);
        }
        Ok(Content::Text(self.tape.written_place(start, start + length)))
    }

    /// Opens an element; false if it is not kept.
    fn start(
        &mut self,
        scanner: &Scanner<'_>,
        name: &Range<usize>,
        is_empty: bool,
    ) -> Result<bool, String> {
        self.flush_run();
        self.frame.has_members = true;
        let Frame { state, place, .. } = self.frame;
        let Some(state) = self.keep.member(state, &self.document[name.clone()]) else {
            return Ok(false);
        };
        let place = self.options.arrays.member(place, &self.document[name.clone()]);
        let (base, has_members) = (self.members.len(), !scanner.attributes.is_empty());
        let frame = Frame::new(Place::of(name), state, place, base, has_members);
        self.outer.push(std::mem::replace(&mut self.frame, frame));
        for attribute in &scanner.attributes {
            let name = &self.document[attribute.name.clone()];
            let Some(inner) = self.keep.member(state, name) else { continue };
            let is_array = self.options.arrays.is_array(self.options.arrays.member(place, name));
            let text = if attribute.is_plain {
                Place::of(&attribute.value)
            } else {
                let text = &self.document[attribute.value.clone()];
                self.owned(&reference::resolve_attribute(text))?
            };
            self.count()?;
            self.add(Place::of(&attribute.name), Content::Text(text), is_array, inner);
        }
        if is_empty {
            self.end()?;
        }
        Ok(true)
    }

    /// Closes the innermost element and puts it into its parent.
    fn end(&mut self) -> Result<(), String> {
        self.flush_run();
        self.count()?;
        self.add_missing_arrays();
        let Some(parent) = self.outer.pop() else {
            return Err("end tag without a start tag".to_owned());
        };
        let frame = std::mem::replace(&mut self.frame, parent);
        let text = match frame.text {
            Run::Empty => None,
            Run::Shared(start, end) => Some(Place::new(start, end)),
            Run::Owned(text) => Some(self.owned(&text)?),
        };
        let content = match text {
            Some(text) if !frame.has_members => Content::Text(text),
            text => {
                // The text keeps the place of its first run among the other members.
                if let Some(text) = text
                    && let Some(state) = self.keep.member(frame.state, TEXT)
                {
                    let member = Member::new(Name::Text, Content::Text(text)).whole(state == ALL);
                    self.members.insert(frame.base + frame.text_at, member);
                }
                self.tape.close(&self.members[frame.base..])
            }
        };
        self.members.truncate(frame.base);
        self.tags.truncate(frame.base);
        let is_array = self.options.arrays.is_array(frame.place);
        self.add(frame.name, content, is_array, frame.state);
        Ok(())
    }

    /// Members of the innermost element that are arrays even when the document has none of them.
    fn add_missing_arrays(&mut self) {
        let (arrays, frame) = (&self.options.arrays, &self.frame);
        let (place, state, has_text) = (frame.place, frame.state, frame.has_text());
        for (name, array) in arrays.array_members(place) {
            self.frame.has_members = true;
            let Some(inner) = self.keep.member(state, name) else { continue };
            if self.find(name).is_none() && !(has_text && name == TEXT) {
                let member = Member::new(Name::Array(array as u32), Content::Missing);
                self.push(member.array(true).whole(inner == ALL), name);
            }
        }
    }

    /// Rule 1: the first value of a name stands alone, later ones make it an array.
    #[inline]
    fn add(&mut self, name: Place, content: Content, is_array: bool, state: State) {
        let document = self.document;
        let text = &document[name.range()];
        if let Some(at) = self.find(text) {
            self.tape.append(&mut self.members[at], content);
        } else {
            let member = Member::new(Name::In(name), content);
            self.push(member.array(is_array).whole(state == ALL), text);
        }
    }

    /// Adds a member that the innermost element does not have yet.
    #[inline]
    fn push(&mut self, member: Member, name: &'a str) {
        let at = self.members.len();
        let tag = tag(name);
        self.members.push(member);
        self.tags.push(tag);
        self.frame.seen |= bit(tag);
        if at - self.frame.base >= INDEXED_FROM {
            self.index(at, name);
        }
    }

    /// Notes a member of an element that has many.
    #[cold]
    fn index(&mut self, at: usize, name: &'a str) {
        let (members, document, base) = (&self.members, self.document, self.frame.base);
        let index = self.frame.index.get_or_insert_with(|| {
            let names = (base..).zip(&members[base..]).filter_map(|(at, member)| {
                let Name::In(place) = member.name else { return None };
                Some((&document[place.range()], at))
            });
            Box::new(names.collect())
        });
        index.insert(name, at);
    }

    /// The member of the innermost element with a name that the document has.
    #[inline]
    fn find(&self, name: &str) -> Option<usize> {
        let (frame, tag) = (&self.frame, tag(name));
        if frame.seen & bit(tag) == 0 {
            return None;
        }
        if let Some(index) = &frame.index {
            return index.get(name).copied();
        }
        let tags = (frame.base..).zip(&self.tags[frame.base..]);
        let mut same = tags.filter(|(_, other)| **other == tag).map(|(at, _)| at);
        same.find(|at| match self.members[*at].name {
            Name::In(place) => self.document[place.range()] == *name,
            Name::Text | Name::Array(_) => false,
        })
    }

    fn characters(&mut self, start: usize, text: Cow<'_, str>) -> Result<(), String> {
        match (&mut self.run, text) {
            (Run::Empty, Cow::Borrowed(text)) => {
                self.run = Run::Shared(start, start + text.len());
            }
            (Run::Empty, Cow::Owned(text)) => self.run = Run::Owned(text),
            (Run::Owned(run), text) => run.push_str(&text),
            (Run::Shared(from, to), text) => {
                let mut run = self.document[*from..*to].to_owned();
                run.push_str(&text);
                self.run = Run::Owned(run);
            }
        }
        if let Run::Owned(run) = &self.run
            && self.copied_bytes.saturating_add(run.len()) > self.limits.decoded_bytes_max
        {
            return Err(too_large(self.limits));
        }
        Ok(())
    }

    /// Ends a run of character data: trimmed, it joins the text of the innermost element.
    #[inline]
    fn flush_run(&mut self) {
        if !matches!(self.run, Run::Empty) {
            self.join_run();
        }
    }

    fn join_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        let document = self.document;
        let (text, start) = match &run {
            Run::Empty => return,
            Run::Shared(start, end) => (&document[*start..*end], Some(*start)),
            Run::Owned(text) => (text.as_str(), None),
        };
        let trimmed = trim(text);
        if trimmed.is_empty() {
            return;
        }
        let trimmed_start = start.map(|start| start + offset_in(text, trimmed));
        let members = self.members.len();
        let frame = &mut self.frame;
        match (&mut frame.text, trimmed_start) {
            (Run::Empty, start) => {
                frame.text_at = members - frame.base;
                frame.text = match start {
                    Some(start) => Run::Shared(start, start + trimmed.len()),
                    None => Run::Owned(trimmed.to_owned()),
                };
            }
            (Run::Shared(from, to), _) => {
                frame.text = Run::Owned([&document[*from..*to], trimmed].concat());
            }
            (Run::Owned(joined), _) => joined.push_str(trimmed),
        }
    }

    #[inline]
    fn count(&mut self) -> Result<(), String> {
        self.built += 1;
        if self.built > self.limits.elements_max {
            return Err(format!("more than {} elements", self.limits.elements_max));
        }
        Ok(())
    }

    /// Keeps a text that is not in the document as it stands.
    fn owned(&mut self, text: &str) -> Result<Place, String> {
        self.copied_bytes = self.copied_bytes.saturating_add(text.len());
        if self.copied_bytes > self.limits.decoded_bytes_max {
            return Err(too_large(self.limits));
        }
        let start = self.tape.written.len();
        self.tape.written.push_str(text);
        Ok(self.tape.written_place(start, start + text.len()))
    }
}

impl Frame<'_> {
    fn has_text(&self) -> bool {
        !matches!(self.text, Run::Empty)
    }
}

fn too_large(limits: &DecodeLimits) -> String {
    format!("document larger than {} bytes", limits.decoded_bytes_max)
}

fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// The length of a name and three of its bytes: names that differ hardly ever have the same.
#[inline]
fn tag(name: &str) -> u32 {
    match name.as_bytes() {
        [] => 0,
        bytes @ [first, .., last] => {
            u32::from_le_bytes([bytes.len() as u8, *first, bytes[bytes.len() / 2], *last])
        }
        [only] => u32::from_le_bytes([1, *only, *only, *only]),
    }
}

/// One of 64 bits, by all of a tag.
#[inline]
fn bit(tag: u32) -> u64 {
    // The upper bits of a product with the golden ratio depend on all bits of the factor.
    1 << (tag.wrapping_mul(0x9e37_79b9) >> 26)
}
