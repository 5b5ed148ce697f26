//! Looking into raw slices: one level at a time, trusting that they were checked when they were
//! made.
//!
//! In: the text of a [`Value::Raw`]. Out: its members or elements; structures among them are raw
//! slices of the same buffer again. Text that is not valid JSON (a raw value made by hand) gives
//! what was found up to the fault.

use super::{
    decode::{scalar, string},
    fault::Fault,
    scan::Scanner,
    tokens::Span,
};
use crate::{
    Object, Text, Value,
    codec::stop::{Stop, Watch},
};

/// The array or object, decoded one level.
pub(crate) fn open(raw: &Text) -> Value {
    open_until(raw, &Stop::default())
}

/// The same; less than all of it once nobody waits for it any more.
pub fn open_until(raw: &Text, stop: &Stop) -> Value {
    let mut watch = stop.watch();
    if raw.as_bytes().first() == Some(&b'[') {
        return Value::array(elements_until(raw, &mut watch));
    }
    let mut object = Object::new();
    let mut members = Members::of(raw);
    while let Some(name) = members.next() {
        let Ok(value) = members.items.value() else { break };
        if watch.is_over() {
            break;
        }
        object.insert(string(raw, name), value);
    }
    Value::object(object)
}

/// The value of a member of a raw object: the last of that name.
pub(crate) fn member(raw: &Text, wanted: &str) -> Value {
    let mut found = Value::Absent;
    let mut members = Members::of(raw);
    while let Some(name) = members.next() {
        let is_wanted = if name.has_escapes {
            string(raw, name) == *wanted
        } else {
            &raw.as_bytes()[name.start..name.end] == wanted.as_bytes()
        };
        if is_wanted {
            match members.items.value() {
                Ok(value) => found = value,
                Err(_) => break,
            }
        } else if members.items.pass().is_err() {
            break;
        }
    }
    found
}

/// The elements of a raw array; none if it is an object.
pub(crate) fn elements(raw: &Text) -> Vec<Value> {
    elements_until(raw, &mut Stop::default().watch())
}

fn elements_until(raw: &Text, watch: &mut Watch) -> Vec<Value> {
    let mut elements = Vec::new();
    let mut items = Items::of(raw, b'[');
    while items.next() {
        let Ok(value) = items.value() else { break };
        if watch.is_over() {
            break;
        }
        elements.push(value);
    }
    elements
}

/// One element of a raw array.
pub(crate) fn element(raw: &Text, index: usize) -> Value {
    let mut items = Items::of(raw, b'[');
    let mut at = 0;
    while items.next() {
        if at == index {
            return items.value().unwrap_or_default();
        }
        if items.pass().is_err() {
            break;
        }
        at += 1;
    }
    Value::Absent
}

/// The number of elements of a raw array, or of differently named members of a raw object.
pub(crate) fn count(raw: &Text) -> usize {
    if raw.as_bytes().first() == Some(&b'{') {
        return match open(raw) {
            Value::Object(object) => object.len(),
            _ => 0,
        };
    }
    let mut items = Items::of(raw, b'[');
    let mut count = 0;
    while items.next() && items.pass().is_ok() {
        count += 1;
    }
    count
}

/// The items of a structure, one after the other.
struct Items<'t> {
    text: &'t Text,
    scanner: Scanner<'t>,
    is_first: bool,
}

impl<'t> Items<'t> {
    /// Starts in front of the first item if the structure opens with `opener`, else at the end.
    fn of(text: &'t Text, opener: u8) -> Self {
        let mut scanner = Scanner::new(text.as_bytes(), usize::MAX);
        let is_first = scanner.peek() == opener;
        if is_first {
            scanner.advance();
        }
        Self { text, scanner, is_first }
    }

    /// Moves to the start of the next item; false at the end.
    fn next(&mut self) -> bool {
        self.scanner.skip_blanks();
        if std::mem::take(&mut self.is_first) {
            return !matches!(self.scanner.peek(), b']' | b'}');
        }
        if self.scanner.peek() != b',' {
            return false;
        }
        self.scanner.advance();
        self.scanner.skip_blanks();
        true
    }

    /// Reads the value at the position.
    fn value(&mut self) -> Result<Value, Fault> {
        match self.scanner.peek() {
            b'{' | b'[' => {
                let start = self.scanner.at();
                self.scanner.trusted_structure()?;
                Ok(Value::Raw(self.text.slice(start, self.scanner.at())))
            }
            _ => scalar(self.text, &mut self.scanner),
        }
    }

    /// Moves over the value at the position.
    fn pass(&mut self) -> Result<(), Fault> {
        match self.scanner.peek() {
            b'{' | b'[' => self.scanner.trusted_structure(),
            _ => self.scanner.value(0),
        }
    }
}

/// The members of an object; the caller reads or passes the value after each name.
struct Members<'t> {
    items: Items<'t>,
}

impl<'t> Members<'t> {
    fn of(text: &'t Text) -> Self {
        Self { items: Items::of(text, b'{') }
    }

    /// Moves behind the next name and its colon.
    fn next(&mut self) -> Option<Span> {
        if self.items.next() { self.items.scanner.name().ok() } else { None }
    }
}
