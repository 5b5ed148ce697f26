//! A document as it was read: elements, attributes and texts as places in it, grouped by name.
//!
//! In: what the builder found. Out: the value of the document, in which structures that are kept whole
//! are raw, or a tree all the way down. Nothing is allocated per element: members of one element stand
//! side by side, repeated ones are chained, names and texts are places. So a document is read once,
//! and what comes of it, text or tree, is decided when all arrays are known.

use std::ops::Range;

use super::{
    ArrayPaths, Coerce, TEXT,
    coerce::{self, coerce},
};
use crate::{Object, Text, Value, codec::json};

/// A place in the document, or behind it, in the texts that were written anew. Four bytes are enough for
/// [`DOCUMENT_BYTES_MAX`](super::DOCUMENT_BYTES_MAX).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Place {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub(super) fn of(range: &Range<usize>) -> Self {
        Self::new(range.start, range.end)
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// What an element or attribute is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    /// A scalar.
    Text(Place),
    /// An object of the members with these indexes.
    Object(Place),
    /// JSON text that was written already.
    Json(Place),
    /// Nothing: an array without elements.
    Missing,
}

impl Content {
    /// An object without members.
    pub(super) const EMPTY: Self = Self::Object(Place { start: 0, end: 0 });
}

/// How a member is called.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    /// A name in the document.
    In(Place),
    /// The member that holds text.
    Text,
    /// A declared array that the document does not have, by its place among the declared ones.
    Array(u32),
}

/// A member of an element, attributes and text included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) name: Name,
    pub(super) content: Content,
    /// The chain of further values of the same name: its first and last link, 0 for none.
    first_more: u32,
    last_more: u32,
    /// An array however often it comes.
    is_array: bool,
    /// Everything in it is kept.
    is_whole: bool,
}

impl Member {
    pub(super) fn new(name: Name, content: Content) -> Self {
        Self { name, content, first_more: 0, last_more: 0, is_array: false, is_whole: false }
    }

    pub(super) fn array(mut self, is_array: bool) -> Self {
        self.is_array = is_array;
        self
    }

    pub(super) fn whole(mut self, is_whole: bool) -> Self {
        self.is_whole = is_whole;
        self
    }

    fn is_list(&self) -> bool {
        self.is_array || self.first_more > 0
    }
}

#[derive(Debug, Clone, Copy)]
struct More {
    content: Content,
    next: u32,
}

/// A document that has been read, or the part of it that has.
pub(super) struct Tape<'a> {
    document: &'a Text,
    arrays: &'a ArrayPaths,
    /// Texts that had references to resolve, or came in several runs.
    pub(super) written: String,
    /// Elements that have become JSON text. Each stands in brackets, or between the commas of a list.
    pub(super) json: Text,
    /// The members of elements that have been closed.
    closed: Vec<Member>,
    /// Further values; the link of number n is at n - 1.
    more: Vec<More>,
}

impl<'a> Tape<'a> {
    pub(super) fn new(document: &'a Text, arrays: &'a ArrayPaths) -> Self {
        Self {
            document,
            arrays,
            written: String::new(),
            json: Text::default(),
            closed: Vec::new(),
            more: Vec::new(),
        }
    }

    /// Takes the members of an element that ends.
    pub(super) fn close(&mut self, members: &[Member]) -> Content {
        let start = self.closed.len();
        self.closed.extend_from_slice(members);
        Content::Object(Place::new(start, self.closed.len()))
    }

    /// Adds a further value to a member.
    pub(super) fn append(&mut self, member: &mut Member, content: Content) {
        self.more.push(More { content, next: 0 });
        let link = self.more.len() as u32;
        match member.last_more {
            0 => member.first_more = link,
            last => self.more[last as usize - 1].next = link,
        }
        member.last_more = link;
    }

    /// The last value of a member.
    pub(super) fn last(&self, member: &Member) -> Content {
        let last = member.last_more.checked_sub(1);
        last.map_or(member.content, |last| self.more[last as usize].content)
    }

    /// The text of a whole member if it was written as it is.
    fn written_json(&self, member: &Member) -> Option<Text> {
        let mut values = self.values(member);
        let Content::Json(place) = values.next()? else { return None };
        let Range { start, mut end } = place.range();
        if !member.is_list() {
            return Some(self.json.slice(start, end));
        }
        for content in values {
            match content {
                Content::Json(next) if next.range().start == end + 1 => end = next.range().end,
                _ => return None,
            }
        }
        // A list of its own stands in brackets; a part of another one does not.
        let text = self.json.slice(start - 1, end + 1);
        (text.as_bytes().first() == Some(&b'[') && text.ends_with(']')).then_some(text)
    }

    /// The place of the text that was written from `start` on.
    pub(super) fn written_place(&self, start: usize, end: usize) -> Place {
        Place::new(self.document.len() + start, self.document.len() + end)
    }

    /// The value of a member that stands for the whole document.
    pub(super) fn into_value(mut self, whole: &Member, mode: Coerce) -> Value {
        let written = Text::from(std::mem::take(&mut self.written));
        let tape = Finished { tape: &self, written: &written, mode };
        let mut writer = Some(Writer { tape, out: Vec::new(), is_exact: true });
        let value = tape.value(whole, &mut writer);
        match writer {
            Some(writer) if !writer.is_exact => tape.value(whole, &mut None),
            _ => value,
        }
    }

    fn values(&self, member: &Member) -> impl Iterator<Item = Content> {
        let mut next = member.first_more;
        let more = std::iter::from_fn(move || {
            let link = self.more[next.checked_sub(1)? as usize];
            next = link.next;
            Some(link.content)
        });
        let first = Some(member.content).filter(|content| !matches!(content, Content::Missing));
        first.into_iter().chain(more)
    }

    fn members(&self, members: Place) -> &[Member] {
        &self.closed[members.range()]
    }
}

/// A tape that is complete, with what is needed to make values of it.
#[derive(Clone, Copy)]
struct Finished<'t> {
    tape: &'t Tape<'t>,
    written: &'t Text,
    mode: Coerce,
}

impl<'t> Finished<'t> {
    /// The value of a member. Structures that are kept whole are raw if there is a writer.
    fn value(&self, member: &Member, writer: &mut Option<Writer<'_>>) -> Value {
        if let Some(writer) = writer
            && member.is_whole
            && (member.is_list() || !matches!(member.content, Content::Text(_)))
        {
            return writer.raw(member);
        }
        if member.is_list() {
            let elements = self.tape.values(member).map(|content| self.content(content, writer));
            return Value::array(elements.collect());
        }
        self.content(member.content, writer)
    }

    fn content(&self, content: Content, writer: &mut Option<Writer<'_>>) -> Value {
        match content {
            Content::Text(place) => coerce(self.text(place), self.mode),
            Content::Object(members) => {
                let members = self.tape.members(members).iter();
                let members =
                    members.map(|member| (self.name(member.name), self.value(member, writer)));
                Value::object(Object::from_distinct(members.collect()))
            }
            Content::Json(place) => {
                Value::Raw(self.tape.json.slice(place.range().start, place.range().end))
            }
            Content::Missing => Value::Absent,
        }
    }

    fn name(&self, name: Name) -> Text {
        match name {
            Name::In(place) => self.text(place),
            Name::Text => Text::from_static(TEXT),
            Name::Array(place) => self.tape.arrays.name(place as usize).clone(),
        }
    }

    fn text(&self, place: Place) -> Text {
        let (source, Range { start, end }) = self.source(place);
        source.slice(start, end)
    }

    /// The buffer that a text is in, and its place there.
    #[inline]
    fn source(&self, place: Place) -> (&'t Text, Range<usize>) {
        let Range { start, end } = place.range();
        let length = self.tape.document.len();
        if start < length {
            (self.tape.document, start..end)
        } else {
            (self.written, start - length..end - length)
        }
    }
}

/// Writes parts of a tape as JSON text.
struct Writer<'t> {
    tape: Finished<'t>,
    out: Vec<u8>,
    /// Whether what was written, read again, is equal to what a tree would be.
    is_exact: bool,
}

impl Writer<'_> {
    fn raw(&mut self, member: &Member) -> Value {
        if let Some(text) = self.tape.tape.written_json(member) {
            return Value::Raw(text);
        }
        self.out.clear();
        self.member(member);
        // What is written of text is text.
        json::raw_value(&mut self.out).unwrap_or_else(|| {
            self.is_exact = false;
            Value::Absent
        })
    }

    fn member(&mut self, member: &Member) {
        if !member.is_list() {
            return self.content(member.content);
        }
        self.out.push(b'[');
        let start = self.out.len();
        for content in self.tape.tape.values(member) {
            if self.out.len() > start {
                self.out.push(b',');
            }
            self.content(content);
        }
        self.out.push(b']');
    }

    fn content(&mut self, content: Content) {
        match content {
            Content::Text(place) => {
                let (source, part) = self.tape.source(place);
                self.is_exact &= coerce::write(source, part, self.tape.mode, &mut self.out);
            }
            Content::Object(members) => {
                self.out.push(b'{');
                let start = self.out.len();
                for member in self.tape.tape.members(members) {
                    self.name(member.name, self.out.len() == start);
                    self.member(member);
                }
                self.out.push(b'}');
            }
            Content::Json(place) => {
                json::write_raw(&self.tape.tape.json.as_bytes()[place.range()], &mut self.out);
            }
            // A list without elements has none to write.
            Content::Missing => {}
        }
    }

    /// Begins a member.
    #[inline]
    fn name(&mut self, name: Name, is_first: bool) {
        let (source, part) = match name {
            Name::In(place) => (self.tape.tape.document.as_bytes(), place.range()),
            Name::Text => (TEXT.as_bytes(), 0..TEXT.len()),
            Name::Array(place) => {
                if !is_first {
                    self.out.push(b',');
                }
                json::write_string(self.tape.tape.arrays.name(place as usize), &mut self.out);
                return self.out.push(b':');
            }
        };
        // Names have no characters that JSON escapes.
        json::write_plain_name(source, part, is_first, &mut self.out);
    }
}
