//! From XML events to a value (`connectors.md` 5.6).
//!
//! In: the scanner's events, and what to keep of them. Out: the object that holds the root element.
//! Elements that nobody asked for are passed by the scanner, which checks them, and never built.

use std::borrow::Cow;

use super::{
    Coerce, XmlOptions,
    coerce::{coerce, trim},
    keep::{ALL, ArrayPlace, Keep, State},
    reference,
    scan::{Event, Fault, Scanner},
};
use crate::{Object, Text, Value, codec::DecodeLimits};

/// The member that holds the text of an element that has other members too.
const TEXT: &str = "$t";

/// Text of an element, shared with the document as long as it is in one piece there.
#[derive(Default)]
enum Run {
    #[default]
    Empty,
    Shared(usize, usize),
    Owned(String),
}

/// An element that is being built.
struct Frame {
    name: Text,
    state: State,
    place: ArrayPlace,
    members: Object,
    /// Non-blank text so far, each run between children trimmed.
    text: Run,
    /// Whether the whole element has attributes or children, kept or not.
    has_members: bool,
}

pub(super) struct Builder<'a> {
    document: &'a Text,
    keep: Keep,
    options: &'a XmlOptions,
    limits: &'a DecodeLimits,
    frames: Vec<Frame>,
    /// Character data since the last tag.
    run: Run,
    built: usize,
    copied_bytes: usize,
    text_name: Text,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        document: &'a Text,
        keep: Keep,
        options: &'a XmlOptions,
        limits: &'a DecodeLimits,
    ) -> Self {
        let root = Frame {
            name: Text::default(),
            state: keep.root(),
            place: options.arrays.root(),
            members: Object::new(),
            text: Run::Empty,
            has_members: true,
        };
        Self {
            document,
            keep,
            options,
            limits,
            frames: vec![root],
            run: Run::Empty,
            built: 0,
            copied_bytes: document.len(),
            text_name: Text::from_static(TEXT),
        }
    }

    pub(super) fn build(mut self, mut scanner: Scanner<'_>) -> Result<Value, Fault> {
        loop {
            if self.passes_leaf(&mut scanner) {
                continue;
            }
            let fault = match scanner.next()? {
                Event::Done => break,
                Event::Start { name, is_empty } => {
                    let offset = name.start;
                    match self.start(&scanner, name, is_empty) {
                        Ok(false) if !is_empty => {
                            scanner.skip_element()?;
                            Ok(())
                        }
                        Ok(_) => Ok(()),
                        Err(reason) => Err((offset, reason)),
                    }
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
        let root = self.frames.pop().map(|frame| frame.members).unwrap_or_default();
        Ok(Value::object(root))
    }

    /// Passes a child that nobody asked for, if it is a simple one.
    fn passes_leaf(&mut self, scanner: &mut Scanner<'_>) -> bool {
        let state = self.top().state;
        if state == ALL {
            return false;
        }
        let is_passed = scanner.simple_tag().is_some_and(|name| {
            self.keep.member(state, name).is_none() && scanner.skip_leaf_called(name)
        });
        if is_passed {
            self.flush_run();
            self.top().has_members = true;
        }
        is_passed
    }

    /// Opens an element; false if it is not kept.
    fn start(
        &mut self,
        scanner: &Scanner<'_>,
        name: std::ops::Range<usize>,
        is_empty: bool,
    ) -> Result<bool, String> {
        self.flush_run();
        let parent = self.top();
        parent.has_members = true;
        let (state, place) = (parent.state, parent.place);
        let Some(state) = self.keep.member(state, &self.document[name.clone()]) else {
            return Ok(false);
        };
        let place = self.options.arrays.member(place, &self.document[name.clone()]);
        let mut frame = Frame {
            name: self.document.slice(name.start, name.end),
            state,
            place,
            members: Object::new(),
            text: Run::Empty,
            has_members: !scanner.attributes.is_empty(),
        };
        for attribute in &scanner.attributes {
            let name = &self.document[attribute.name.clone()];
            if self.keep.member(state, name).is_none() {
                continue;
            }
            let is_array = self.options.arrays.is_array(self.options.arrays.member(place, name));
            let text = &self.document[attribute.value.clone()];
            let text = if attribute.is_plain {
                self.document.share(text)
            } else {
                self.owned(reference::resolve_attribute(text).into_owned())?
            };
            self.count()?;
            let name = self.document.slice(attribute.name.start, attribute.name.end);
            add(&mut frame.members, name, coerce(text, self.options.coerce), is_array);
        }
        self.frames.push(frame);
        if is_empty {
            self.end()?;
        }
        Ok(true)
    }

    /// Closes the innermost element and puts its value into its parent.
    fn end(&mut self) -> Result<(), String> {
        self.flush_run();
        self.count()?;
        let Some(mut frame) = self.frames.pop() else {
            return Err("end tag without a start tag".to_owned());
        };
        self.add_missing_arrays(&mut frame);
        let text = match std::mem::take(&mut frame.text) {
            Run::Empty => None,
            Run::Shared(start, end) => Some(self.document.slice(start, end)),
            Run::Owned(text) => Some(self.owned(text)?),
        };
        let value = match text {
            Some(text) if !frame.has_members => coerce(text, self.options.coerce),
            Some(text) => {
                if self.keep.member(frame.state, TEXT).is_some() {
                    frame.members.insert(self.text_name.clone(), coerce(text, self.options.coerce));
                }
                Value::object(frame.members)
            }
            None => Value::object(frame.members),
        };
        let is_array = self.options.arrays.is_array(frame.place);
        add(&mut self.top().members, frame.name, value, is_array);
        Ok(())
    }

    /// Members that are arrays even when the document has none of them.
    fn add_missing_arrays(&self, frame: &mut Frame) {
        if frame.place.is_none() {
            return;
        }
        for name in self.options.arrays.array_members(frame.place) {
            frame.has_members = true;
            let is_kept = self.keep.member(frame.state, name).is_some();
            if is_kept && frame.members.get(name).is_none() {
                frame.members.insert(name.clone(), Value::array(Vec::new()));
            }
        }
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
    fn flush_run(&mut self) {
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
        let length = trimmed.len();
        let text_name = self.text_name.clone();
        let state = self.top().state;
        let is_kept = self.keep.member(state, TEXT).is_some();
        let frame = self.top();
        match (&mut frame.text, trimmed_start) {
            (Run::Empty, start) => {
                frame.text = match start {
                    Some(start) => Run::Shared(start, start + length),
                    None => Run::Owned(trimmed.to_owned()),
                };
                // The text keeps the place of its first run among the other members.
                if is_kept {
                    frame.members.insert(text_name, Value::Null);
                }
            }
            (Run::Shared(from, to), _) => {
                frame.text = Run::Owned([&document[*from..*to], trimmed].concat());
            }
            (Run::Owned(joined), _) => joined.push_str(trimmed),
        }
    }

    fn top(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the frame of the document is popped last")
    }

    fn count(&mut self) -> Result<(), String> {
        self.built += 1;
        if self.built > self.limits.elements_max {
            return Err(format!("more than {} elements", self.limits.elements_max));
        }
        Ok(())
    }

    fn owned(&mut self, text: String) -> Result<Text, String> {
        self.copied_bytes = self.copied_bytes.saturating_add(text.len());
        if self.copied_bytes > self.limits.decoded_bytes_max {
            return Err(too_large(self.limits));
        }
        Ok(text.into())
    }
}

fn too_large(limits: &DecodeLimits) -> String {
    format!("document larger than {} bytes", limits.decoded_bytes_max)
}

fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Rule 1: the first value of a name stands alone, later ones make it an array.
fn add(members: &mut Object, name: Text, value: Value, is_array: bool) {
    if is_array && members.get(&name).is_none() {
        members.insert(name, Value::array(vec![value]));
        return;
    }
    let Some(earlier) = members.insert(name.clone(), value) else { return };
    let value = members.insert(name.clone(), Value::Null).unwrap_or_default();
    let joined = match earlier {
        // Only this function makes arrays, and nobody else holds this one yet.
        Value::Array(mut list) => {
            std::sync::Arc::make_mut(&mut list).push(value);
            Value::Array(list)
        }
        single => Value::array(vec![single, value]),
    };
    members.insert(name, joined);
}

impl Default for XmlOptions {
    fn default() -> Self {
        Self { coerce: Coerce::Safe, arrays: super::ArrayPaths::default() }
    }
}
