//! From XML events to a value (`docs/reference/tables.md`, XML).
//!
//! In: the scanner's events, and what to keep of them. Out: the value of the document. Elements that nobody asked
//! for are passed by the scanner, which checks them, and never built. Elements that are kept whole are JSON text at
//! once if they are simple ([`super::whole`]); what is unusual, and what is above them, becomes a tree here, so this
//! is the one place that knows the whole mapping.

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::{
    TEXT, XmlOptions,
    coerce::{coerce, trim},
    keep::{ALL, ArrayPlace, Keep, State},
    reference,
    scan::{Event, Fault, Scanner},
    skip::Leaf,
    whole::{Room, Whole},
};
use crate::{
    Number, Object, Text, Value,
    codec::{DecodeLimits, json},
};

/// Text of an element, shared with the document as long as it is in one piece there.
#[derive(Default)]
enum Run {
    #[default]
    Empty,
    Shared(Range<usize>),
    Owned(String),
}

/// An element that is open.
struct Frame {
    /// Where its name stands.
    name: Range<usize>,
    state: State,
    place: ArrayPlace,
    /// The attributes and children that are kept; repeated ones are arrays.
    members: Object,
    /// Non-blank text so far, each run between children trimmed.
    text: Run,
    /// Whether the whole element has attributes or children, kept or not.
    has_members: bool,
}

impl Frame {
    fn new(name: Range<usize>, state: State, place: ArrayPlace, has_members: bool) -> Self {
        Self { name, state, place, members: Object::new(), text: Run::Empty, has_members }
    }
}

/// Elements of the innermost one that have one name and follow each other: they are written as one list.
struct Siblings {
    /// Where the name of the first stands.
    name: Range<usize>,
    count: usize,
}

pub(super) struct Builder<'a> {
    document: &'a Text,
    keep: Keep,
    options: &'a XmlOptions,
    limits: &'a DecodeLimits,
    /// The innermost element, and those around it.
    frame: Frame,
    outer: Vec<Frame>,
    /// Writes elements; its text is that of the [`Siblings`].
    whole: Whole,
    siblings: Option<Siblings>,
    /// Character data since the last tag.
    run: Run,
    built: usize,
    copied_bytes: usize,
    /// Whether the JSON text of every scalar, read again, is equal to the scalar.
    is_exact: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        document: &'a Text,
        keep: Keep,
        options: &'a XmlOptions,
        limits: &'a DecodeLimits,
    ) -> Self {
        let root = Frame::new(0..0, keep.root(), options.arrays.root(), true);
        Self {
            document,
            keep,
            options,
            limits,
            frame: root,
            outer: Vec::new(),
            whole: Whole::new(options.coerce, &limits.stop),
            siblings: None,
            run: Run::Empty,
            built: 0,
            copied_bytes: document.len(),
            is_exact: true,
        }
    }

    /// Builds every element by itself, none as text.
    #[cfg(test)]
    pub(super) fn element_by_element(mut self) -> Self {
        self.whole.try_none();
        self
    }

    pub(super) fn build(mut self, mut scanner: Scanner<'_>) -> Result<Value, Fault> {
        loop {
            if let Some(name) = scanner.simple_tag() {
                scanner.check_wanted()?;
                self.simple(&mut scanner, name)?;
                continue;
            }
            match scanner.next()? {
                Event::Done => {
                    self.flush_siblings();
                    let mut document = Value::object(self.close());
                    if self.keep.root() == ALL {
                        self.write(&mut document);
                    }
                    return Ok(document);
                }
                Event::Start { name, is_empty } => self.open(&mut scanner, name, is_empty)?,
                Event::End => self.end(scanner.offset())?,
                Event::Text { range, is_plain } => {
                    let text = &self.document[range.clone()];
                    let resolved = if is_plain {
                        reference::resolve_line_ends(text)
                    } else {
                        reference::resolve_text(text)
                    };
                    self.characters(range, resolved)?;
                }
                Event::CharacterData(range) => {
                    let resolved = reference::resolve_line_ends(&self.document[range.clone()]);
                    self.characters(range, resolved)?;
                }
            }
        }
    }

    /// Takes or passes an element without attributes if it has nothing but text; any other is opened.
    fn simple(&mut self, scanner: &mut Scanner<'_>, name: Range<usize>) -> Result<(), Fault> {
        let Frame { state, place, .. } = self.frame;
        let text = &self.document[name.clone()];
        let state = self.keep.member(state, text);
        let is_declared = place.is_some() && self.options.arrays.member(place, text).is_some();
        let leaf = if is_declared { None } else { scanner.pass_leaf(&name) };
        let Some(leaf) = leaf else {
            scanner.enter(&name);
            return self.open(scanner, name, false);
        };
        self.flush_run();
        self.frame.has_members = true;
        if state.is_some() {
            let value = self.leaf_value(leaf)?;
            self.count(scanner.offset())?;
            self.flush_siblings();
            self.add(name, value, false);
        }
        Ok(())
    }

    /// Takes an element that is kept whole as JSON text if it is simple; else it is left where it is.
    fn whole(&mut self, scanner: &mut Scanner<'_>, name: &Range<usize>) -> bool {
        let room = Room {
            elements: self.limits.elements_max.saturating_sub(self.built),
            copied_bytes: self.limits.decoded_bytes_max.saturating_sub(self.copied_bytes),
        };
        self.flush_run();
        let text = &self.document[name.clone()];
        let is_next = |siblings: &Siblings| self.document[siblings.name.clone()] == *text;
        if !self.siblings.as_ref().is_some_and(is_next) {
            self.flush_siblings();
        }
        let before = self.whole.out.len();
        if before > 0 {
            self.whole.out.push(b',');
        }
        let (start, depth) = (name.start - 1, scanner.open.len());
        let Some(written) = self.whole.element(scanner, start, depth, room) else {
            self.whole.out.truncate(before);
            return false;
        };
        match &mut self.siblings {
            Some(siblings) => {
                siblings.count += 1;
                // While there is little to move.
                if siblings.count == 2 {
                    self.whole.out.insert(0, b'[');
                }
            }
            none => *none = Some(Siblings { name: name.clone(), count: 1 }),
        }
        scanner.at = written.end;
        self.frame.has_members = true;
        self.built += written.built;
        self.copied_bytes += written.copied_bytes;
        true
    }

    /// Adds what was written of the innermost element's children: one value, or the list of several.
    #[inline]
    fn flush_siblings(&mut self) {
        if let Some(siblings) = self.siblings.take() {
            self.add_siblings(siblings);
        }
    }

    fn add_siblings(&mut self, Siblings { name, count }: Siblings) {
        let out = &mut self.whole.out;
        if count > 1 {
            out.push(b']');
        }
        let value = json::raw_value(out).unwrap_or_default();
        out.clear();
        self.add(name, value, false);
    }

    /// Opens an element whose start tag has been scanned, or passes all of it.
    fn open(
        &mut self,
        scanner: &mut Scanner<'_>,
        name: Range<usize>,
        is_empty: bool,
    ) -> Result<(), Fault> {
        if !is_empty && self.whole.is_tried(name.start - 1) && self.is_whole(&name) {
            scanner.open.pop();
            if self.whole(scanner, &name) {
                return Ok(());
            }
            scanner.open.push(name.clone());
        }
        if !self.start(scanner, name, is_empty)? && !is_empty {
            scanner.skip_element()?;
        }
        Ok(())
    }

    /// Whether a member of the innermost element is kept whole, without declared arrays in it.
    fn is_whole(&self, name: &Range<usize>) -> bool {
        let Frame { state, place, .. } = self.frame;
        let name = &self.document[name.clone()];
        self.keep.member(state, name) == Some(ALL)
            && self.options.arrays.member(place, name).is_none()
    }

    /// Makes the value of an element that has nothing but text.
    #[inline]
    fn leaf_value(&mut self, Leaf { text: range, is_plain }: Leaf) -> Result<Value, Fault> {
        let text = &self.document[range.clone()];
        let text = if is_plain {
            self.document.share(trim(text))
        } else {
            let resolved = reference::resolve_text(text);
            self.check_room(range.start, resolved.len())?;
            let trimmed = trim(&resolved);
            self.copied_bytes += trimmed.len();
            Text::from(trimmed)
        };
        if text.is_empty() {
            return Ok(Value::object(Object::new()));
        }
        Ok(self.scalar(text))
    }

    /// Makes a value of a text.
    fn scalar(&mut self, text: Text) -> Value {
        let value = coerce(text, self.options.coerce);
        if let Value::Number(Number::Float(value)) = value {
            self.is_exact &= json::is_read_back(value);
        }
        value
    }

    /// Opens an element; false if it is not kept.
    fn start(
        &mut self,
        scanner: &Scanner<'_>,
        name: Range<usize>,
        is_empty: bool,
    ) -> Result<bool, Fault> {
        self.flush_run();
        self.frame.has_members = true;
        let Frame { state, place, .. } = self.frame;
        let (arrays, text, offset) =
            (&self.options.arrays, &self.document[name.clone()], name.start);
        let Some(state) = self.keep.member(state, text) else { return Ok(false) };
        let place = arrays.member(place, text);
        self.flush_siblings();
        let frame = Frame::new(name, state, place, !scanner.attributes.is_empty());
        self.outer.push(std::mem::replace(&mut self.frame, frame));
        for attribute in &scanner.attributes {
            let name = &self.document[attribute.name.clone()];
            if self.keep.member(state, name).is_none() {
                continue;
            }
            let value = &self.document[attribute.value.clone()];
            let value = if attribute.is_plain {
                self.document.share(value)
            } else {
                self.keep_text(reference::resolve_attribute(value).into_owned(), offset)?
            };
            self.count(offset)?;
            let is_array = arrays.is_array(arrays.member(place, name));
            let value = self.scalar(value);
            self.add(attribute.name.clone(), value, is_array);
        }
        if is_empty {
            self.end(offset)?;
        }
        Ok(true)
    }

    /// Closes the innermost element and puts it into its parent.
    fn end(&mut self, offset: usize) -> Result<(), Fault> {
        self.flush_run();
        self.flush_siblings();
        self.count(offset)?;
        self.add_missing_arrays();
        let mut members = self.close();
        let Some(parent) = self.outer.pop() else {
            return Err(Fault::new(offset, "end tag without a start tag"));
        };
        let frame = std::mem::replace(&mut self.frame, parent);
        let text = match frame.text {
            Run::Empty => None,
            Run::Shared(range) => Some(self.document.share(&self.document[range])),
            Run::Owned(text) => Some(self.keep_text(text, offset)?),
        };
        let text = text.map(|text| self.scalar(text));
        let value = match text {
            Some(text) if !frame.has_members => text,
            text => {
                if let (Some(text), Some(member)) = (text, members.get_mut(TEXT)) {
                    *member = text;
                }
                Value::object(members)
            }
        };
        let is_array = self.options.arrays.is_array(frame.place);
        self.add(frame.name, value, is_array);
        Ok(())
    }

    /// Takes the members of the innermost element, which is complete. Those that are kept whole are JSON text if
    /// nobody around them is: a tree would only be printed.
    fn close(&mut self) -> Object {
        let mut members = std::mem::take(&mut self.frame.members);
        let state = self.frame.state;
        if state != ALL {
            for (name, value) in members.iter_mut() {
                let is_structure = matches!(value, Value::Array(_) | Value::Object(_));
                if is_structure && self.keep.member(state, name) == Some(ALL) {
                    self.write(value);
                }
            }
        }
        members
    }

    /// Makes a raw value of a structure, unless its text would say less.
    fn write(&self, value: &mut Value) {
        if self.is_exact {
            let mut out = Vec::new();
            json::encode(value, &mut out);
            *value = json::raw_value(&mut out).unwrap_or_default();
        }
    }

    /// Adds the members of the innermost element that are arrays even when the document has none of them.
    fn add_missing_arrays(&mut self) {
        let frame = &mut self.frame;
        for name in self.options.arrays.array_members(frame.place) {
            frame.has_members = true;
            let is_missing = frame.members.get(name).is_none();
            if is_missing && self.keep.member(frame.state, name).is_some() {
                frame.members.push_distinct(name.clone(), Value::array(Vec::new()));
            }
        }
    }

    /// Adds a member to the innermost element: the first value of a name stands alone unless it is declared an array,
    /// later ones make it one.
    #[inline]
    fn add(&mut self, name: Range<usize>, value: Value, is_array: bool) {
        let name = &self.document[name];
        match self.frame.members.get_mut(name) {
            // Only lists are arrays here.
            Some(Value::Array(elements)) if !is_written_list(&value) => {
                Arc::make_mut(elements).push(value);
            }
            Some(known) => {
                let mut elements = into_list(std::mem::take(known));
                elements.extend(into_list(value));
                *known = Value::array(elements);
            }
            None => {
                let value = if is_array { Value::array(vec![value]) } else { value };
                self.frame.members.push_distinct(self.document.share(name), value);
            }
        }
    }

    fn characters(&mut self, range: Range<usize>, text: Cow<'_, str>) -> Result<(), Fault> {
        let start = range.start;
        match (&mut self.run, text) {
            (Run::Empty, Cow::Borrowed(_)) => self.run = Run::Shared(range),
            (Run::Empty, Cow::Owned(text)) => self.run = Run::Owned(text),
            (Run::Owned(run), text) => run.push_str(&text),
            (Run::Shared(before), text) => {
                self.run = Run::Owned([&self.document[before.clone()], &text].concat());
            }
        }
        match &self.run {
            Run::Owned(run) => self.check_room(start, run.len()),
            Run::Empty | Run::Shared(_) => Ok(()),
        }
    }

    /// Ends a run of character data: trimmed, it joins the text of the innermost element.
    #[inline]
    fn flush_run(&mut self) {
        if !matches!(self.run, Run::Empty) {
            self.join_run();
        }
    }

    fn join_run(&mut self) {
        let (document, frame) = (self.document, &mut self.frame);
        let joined = match (std::mem::take(&mut self.run), &mut frame.text) {
            (Run::Empty, _) => return,
            (Run::Shared(range), Run::Empty) => {
                let trimmed = trim(&document[range.clone()]);
                let start = trimmed.as_ptr() as usize - document.as_ptr() as usize;
                Run::Shared(start..start + trimmed.len())
            }
            (Run::Owned(text), Run::Empty) => Run::Owned(trim(&text).to_owned()),
            (run, Run::Shared(before)) => {
                Run::Owned([&document[before.clone()], trim(run.as_str(document))].concat())
            }
            (run, Run::Owned(joined)) => return joined.push_str(trim(run.as_str(document))),
        };
        if joined.as_str(document).is_empty() {
            return;
        }
        // The text keeps the place of its first run among the other members.
        self.flush_siblings();
        let frame = &mut self.frame;
        if matches!(frame.text, Run::Empty) && self.keep.member(frame.state, TEXT).is_some() {
            frame.members.push_distinct(Text::from_static(TEXT), Value::Absent);
        }
        frame.text = joined;
    }

    #[inline]
    fn count(&mut self, offset: usize) -> Result<(), Fault> {
        self.built += 1;
        if self.built > self.limits.elements_max {
            let reason = format!("more than {} elements", self.limits.elements_max);
            return Err(Fault { offset, reason, has_too_many: true });
        }
        Ok(())
    }

    /// Keeps a text that is not in the document as it stands.
    fn keep_text(&mut self, text: String, offset: usize) -> Result<Text, Fault> {
        self.check_room(offset, text.len())?;
        self.copied_bytes += text.len();
        Ok(text.into())
    }

    /// Checks that there is room for a text of `length` bytes beside the document.
    fn check_room(&self, offset: usize, length: usize) -> Result<(), Fault> {
        let bytes_max = self.limits.decoded_bytes_max;
        if self.copied_bytes.saturating_add(length) > bytes_max {
            let reason = format!("document larger than {bytes_max} bytes");
            return Err(Fault::new(offset, reason));
        }
        Ok(())
    }
}

/// Whether a value is the list of [`Siblings`]; each of them is an object.
fn is_written_list(value: &Value) -> bool {
    matches!(value, Value::Raw(text) if text.starts_with('['))
}

/// The values that elements of one name have given so far.
fn into_list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(elements) => Arc::unwrap_or_clone(elements),
        Value::Raw(text) if text.starts_with('[') => json::elements(&text),
        value => vec![value],
    }
}

impl Run {
    fn as_str<'t>(&'t self, document: &'t str) -> &'t str {
        match self {
            Self::Empty => "",
            Self::Shared(range) => &document[range.clone()],
            Self::Owned(text) => text,
        }
    }
}
