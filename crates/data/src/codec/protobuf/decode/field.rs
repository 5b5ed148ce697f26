//! The fields of a message: what one of them holds so far, and how the next occurrence adds to it.
//!
//! In: a reader that stands behind the tag of a field. Out: the slot of that field, grown. Sub-messages are
//! noted by where they stand and read at the end of the message, entries of maps at once.

use bytes::BytesMut;

use super::{
    super::{
        plan::{ALL, Action, PlanId},
        scalar::{self, Scalar},
        tables::{Field, Kind, Lookup, Shape},
        wire::{Fault, Reader, Source, WireType},
    },
    Part, Walker, Whole,
};
use crate::{Object, Value};

/// The values of one field so far.
#[derive(Default)]
pub(super) enum Slot {
    #[default]
    Empty,
    Value(Value),
    List(Vec<Value>),
    Map(Object),
    /// A sub-message in one piece.
    Piece(usize, usize),
    /// A sub-message in several pieces.
    Pieces(Vec<(usize, usize)>),
}

impl Walker<'_> {
    /// Reads one occurrence of a field that is kept.
    pub(super) fn field(
        &mut self,
        reader: &mut Reader<'_>,
        field: &Field,
        wire_type: WireType,
        (plan, at): (PlanId, usize),
        slot: usize,
        depth: usize,
    ) -> Result<(), Fault> {
        let shape = field.shape(self.options);
        let is_packed =
            shape == Shape::Repeated && wire_type == WireType::Length && field.kind.is_packable();
        if is_packed {
            return self.read_packed(reader, field, slot);
        }
        if wire_type != field.kind.wire_type() {
            if wire_type == WireType::EndGroup {
                return reader.skip(field.number, wire_type);
            }
            let name = &field.proto_name;
            return Err(reader.fault(&format!("field `{name}` is framed as another type")));
        }
        let (message, start, end) = match field.kind {
            Kind::Message(message) => {
                let (start, end) = reader.take_delimited()?;
                (message, start, end)
            }
            Kind::Group(message) => {
                let (start, end) = reader.group(field.number)?;
                (message, start, end)
            }
            _ => return self.scalar(reader, field, shape, slot),
        };
        let part = Part { source: reader.source, start, end };
        match shape {
            Shape::Single => self.slots[slot].add_piece(start, end),
            Shape::Repeated => {
                let plan = match self.plans.action(plan, at) {
                    Action::Keep(plan) => *plan,
                    Action::Entries { .. } => ALL,
                };
                let value = self.message(part, message, plan, depth - 1)?;
                self.count(reader)?;
                self.slots[slot].push(value);
            }
            Shape::Map => self.entry(part, message, (plan, at), slot, depth)?,
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        reader: &mut Reader<'_>,
        field: &Field,
        shape: Shape,
        slot: usize,
    ) -> Result<(), Fault> {
        let tables = self.tables;
        let Scalar { form, is_zero } = scalar::read(reader, field.kind, tables, self.options)?;
        self.writer.note(&form);
        let (value, written) = form.into_value(reader.source)?;
        self.count(reader)?;
        self.write(reader, written)?;
        if shape == Shape::Repeated {
            if !value.is_absent() {
                self.slots[slot].push(value);
            }
        } else if is_zero && field.is_implicit {
            self.slots[slot] = Slot::Empty;
        } else if !value.is_absent() {
            self.slots[slot] = Slot::Value(value);
        }
        Ok(())
    }

    fn read_packed(
        &mut self,
        reader: &mut Reader<'_>,
        field: &Field,
        slot: usize,
    ) -> Result<(), Fault> {
        let (start, end) = reader.take_delimited()?;
        let mut inner = Reader::new(reader.source, start, end);
        while !inner.is_done() {
            self.scalar(&mut inner, field, Shape::Repeated, slot)?;
        }
        Ok(())
    }

    /// Reads the entries of a map that stand side by side, all the way down.
    pub(in super::super) fn map(
        &mut self,
        reader: &mut Reader<'_>,
        field: &Lookup,
        wire_type: WireType,
        depth: usize,
    ) -> Result<Value, Fault> {
        let whole = std::mem::replace(&mut self.whole, Whole::Tree);
        let slot = self.slots.len();
        self.slots.push(Slot::Empty);
        let mut next = Some(wire_type);
        while let Some(wire_type) = next {
            let Kind::Message(entry) = field.kind else {
                return Err(reader.fault("map entry is no message"));
            };
            if wire_type != WireType::Length {
                return Err(reader.fault("map entry is framed as another type"));
            }
            let (start, end) = reader.take_delimited()?;
            let part = Part { source: reader.source, start, end };
            self.entry(part, entry, (ALL, field.at), slot, depth)?;
            next = reader.next_of(field.number)?;
        }
        self.whole = whole;
        match self.slots.pop() {
            Some(Slot::Map(members)) => Ok(Value::object(members)),
            _ => Ok(Value::object(Object::new())),
        }
    }

    /// Reads an entry of a map: a message with key 1 and value 2.
    fn entry(
        &mut self,
        part: Part<'_>,
        entry: usize,
        (plan, at): (PlanId, usize),
        slot: usize,
        depth: usize,
    ) -> Result<(), Fault> {
        let tables = self.tables;
        let [key_field, value_field] = tables.messages[entry].fields.as_slice() else {
            return Err(part.reader().fault("map entry without key and value"));
        };
        let mut reader = part.reader();
        let mut key = None;
        let mut value = Slot::Empty;
        while !reader.is_done() {
            let (number, wire_type) = reader.tag()?;
            let field = match number {
                1 => key_field,
                2 => value_field,
                _ => {
                    reader.skip(number, wire_type)?;
                    continue;
                }
            };
            if wire_type != field.kind.wire_type() {
                return Err(reader.fault("map entry is framed as another type"));
            }
            if let Kind::Message(_) = field.kind {
                let (start, end) = reader.take_delimited()?;
                value.add_piece(start, end);
                continue;
            }
            let form = scalar::read(&mut reader, field.kind, tables, self.options)?.form;
            self.writer.note(&form);
            let (scalar, written) = form.into_value(reader.source)?;
            self.write(&reader, written)?;
            if number == 1 {
                key = Some(scalar);
            } else {
                value = Slot::Value(scalar);
            }
        }
        let key = key.or_else(|| tables.zero(key_field.kind, self.options)).unwrap_or_default();
        let key = key.scalar_text().unwrap_or_default();
        if !matches!(self.slots[slot], Slot::Map(_)) {
            self.slots[slot] = Slot::Map(Object::new());
        }
        let Some(plan) = self.plans.action(plan, at).entry(&key) else { return Ok(()) };
        let value = match (value, value_field.kind) {
            (Slot::Value(value), _) => value,
            (Slot::Empty, Kind::Message(message)) => {
                let nothing = Part { end: part.start, ..part };
                self.message(nothing, message, plan, depth - 1)?
            }
            (pieces, Kind::Message(message)) => {
                self.pieces(part.source, pieces, message, plan, depth)?
            }
            (_, kind) => tables.zero(kind, self.options).unwrap_or_default(),
        };
        self.count(&reader)?;
        if let Slot::Map(map) = &mut self.slots[slot] {
            map.insert(key, value);
        }
        Ok(())
    }

    /// Reads a sub-message that came in one or several pieces.
    pub(super) fn pieces(
        &mut self,
        source: &Source,
        pieces: Slot,
        message: usize,
        plan: PlanId,
        depth: usize,
    ) -> Result<Value, Fault> {
        let pieces = match pieces {
            Slot::Piece(start, end) => {
                return self.message(Part { source, start, end }, message, plan, depth - 1);
            }
            Slot::Pieces(pieces) => pieces,
            _ => return Ok(Value::Absent),
        };
        let length = pieces.iter().map(|(start, end)| end - start).sum();
        let first = pieces.first().map_or(0, |(start, _)| *start);
        self.write(&Reader::new(source, first, first), length)?;
        let mut joined = BytesMut::with_capacity(length);
        for (start, end) in pieces {
            joined.extend_from_slice(&source.bytes[start..end]);
        }
        let merged = Source { bytes: joined.freeze(), base: source.base + first };
        self.message(Part::all(&merged), message, plan, depth - 1)
    }
}

impl Slot {
    fn push(&mut self, value: Value) {
        match self {
            Self::List(elements) => elements.push(value),
            empty => *empty = Self::List(vec![value]),
        }
    }

    fn add_piece(&mut self, start: usize, end: usize) {
        match self {
            Self::Piece(first, first_end) => {
                *self = Self::Pieces(vec![(*first, *first_end), (start, end)]);
            }
            Self::Pieces(pieces) => pieces.push((start, end)),
            empty => *empty = Self::Piece(start, end),
        }
    }
}
