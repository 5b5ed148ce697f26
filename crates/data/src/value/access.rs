//! Looking inside values, raw or not, without caring which.
//!
//! Raw structures are decoded one level at a time: what nobody asks for stays a slice. Nothing here
//! has the semantics of paths (no positions by name, no `length`); that is the path module's.

use std::{borrow::Cow, sync::Arc};

use super::{Object, Value};
use crate::codec::json;

impl Value {
    /// The value with its outermost level decoded: raw structures become an array or an object whose
    /// own structures are raw slices of the same buffer. Everything else is borrowed.
    ///
    /// Each call on a raw value decodes again; keep the result to look into several places.
    pub fn open(&self) -> Cow<'_, Self> {
        match self {
            Self::Raw(text) => Cow::Owned(json::open(text)),
            other => Cow::Borrowed(other),
        }
    }

    /// The member `name` of an object; absent if there is none or this is not an object.
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        match self {
            Self::Object(object) => object.get(name).cloned().unwrap_or_default(),
            Self::Raw(text) => json::member(text, name),
            _ => Self::Absent,
        }
    }

    /// The element at `index`, from 0; absent if there is none or this is not an array.
    #[must_use]
    pub fn element(&self, index: usize) -> Self {
        match self {
            Self::Array(elements) => elements.get(index).cloned().unwrap_or_default(),
            Self::Raw(text) => json::element(text, index),
            _ => Self::Absent,
        }
    }

    /// The elements of an array; `None` if this is not an array.
    pub fn elements(&self) -> Option<Cow<'_, [Self]>> {
        match self {
            Self::Array(elements) => Some(Cow::Borrowed(elements)),
            Self::Raw(text) if self.is_array() => Some(Cow::Owned(json::elements(text))),
            _ => None,
        }
    }

    /// The number of elements of an array or members of an object; 0 for everything else.
    pub fn len(&self) -> usize {
        match self {
            Self::Array(elements) => elements.len(),
            Self::Object(object) => object.len(),
            Self::Raw(text) => json::count(text),
            _ => 0,
        }
    }

    /// Whether there is no element and no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value with every raw structure in it decoded all the way down.
    #[must_use]
    pub fn into_tree(&self) -> Self {
        let mut frames: Vec<Frame<'_>> = Vec::new();
        let mut next = self;
        loop {
            let mut done = match next {
                Self::Raw(text) => json::tree(text).unwrap_or_default(),
                Self::Array(elements) => {
                    let built = Vec::with_capacity(elements.len());
                    frames.push(Frame::Array { source: elements, built });
                    Self::Absent
                }
                Self::Object(object) => {
                    let built = Object::with_capacity(object.len());
                    frames.push(Frame::Object { source: object, built });
                    Self::Absent
                }
                scalar => scalar.clone(),
            };
            let mut is_new = matches!(next, Self::Array(_) | Self::Object(_));
            loop {
                let Some(frame) = frames.last_mut() else { return done };
                if !std::mem::take(&mut is_new) {
                    frame.put(done);
                }
                if let Some(value) = frame.next() {
                    next = value;
                    break;
                }
                done = match frames.pop() {
                    Some(Frame::Array { built, .. }) => Self::Array(Arc::new(built)),
                    Some(Frame::Object { built, .. }) => Self::Object(Arc::new(built)),
                    None => Self::Absent,
                };
            }
        }
    }
}

/// A structure whose tree is being built; as many parts are done as `built` has.
enum Frame<'v> {
    Array { source: &'v [Value], built: Vec<Value> },
    Object { source: &'v Object, built: Object },
}

impl<'v> Frame<'v> {
    fn next(&self) -> Option<&'v Value> {
        match self {
            Self::Array { source, built } => source.get(built.len()),
            Self::Object { source, built } => source.at(built.len()).map(|(_, value)| value),
        }
    }

    fn put(&mut self, value: Value) {
        match self {
            Self::Array { built, .. } => built.push(value),
            Self::Object { source, built } => {
                if let Some((name, _)) = source.at(built.len()) {
                    built.insert(name.clone(), value);
                }
            }
        }
    }
}
