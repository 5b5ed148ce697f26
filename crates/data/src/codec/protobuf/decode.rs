//! The walk over the wire.
//!
//! Fields may come in any order and more than once, so a message is collected in slots, one per
//! field, and becomes an object at its end: lists grow, of scalars the last counts, parts of a
//! sub-message are put together (which is what merging means on the wire) and read then. A message
//! that is kept whole becomes JSON text instead ([`super::text`]); a body in which that cannot be
//! done, or that is malformed, is read once more without it, so this walk alone knows all errors.

use bytes::{Bytes, BytesMut};

use super::{
    DEPTH_MAX, Mapping, Message, ProtobufOptions,
    plan::{ALL, Action, PlanId, Plans},
    required::Required,
    scalar::{self, Scalar},
    tables::{Field, Kind, Lookup, MessageTable, Shape, Tables, WellKnown},
    text::Writer,
    well_known,
    wire::{Fault, Reader, Source, WireType},
};
use crate::{
    Object, Value,
    codec::{
        DecodeError, DecodeLimits,
        stop::{self, Watch},
    },
    projection::Projection,
};

/// Decodes what `projection` keeps of a message. No bytes at all are a message of defaults.
///
/// Messages that are kept whole come as [`Value::Raw`], as a rule.
pub fn decode(
    bytes: Bytes,
    projection: &Projection,
    message: &Message,
    options: &ProtobufOptions,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    walk(bytes.clone(), projection, message, *options, limits, Whole::Text)
        .or_else(|_| walk(bytes, projection, message, *options, limits, Whole::Tree))
        .map_err(Fault::into_error)
}

/// Decodes all of a message as a tree, for somebody who looks at everything.
pub fn decode_tree(
    bytes: Bytes,
    message: &Message,
    options: &ProtobufOptions,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    walk(bytes, &Projection::All, message, *options, limits, Whole::Tree).map_err(Fault::into_error)
}

/// Decodes a body in one of two ways. As text it fails also for bodies that are only unusual.
pub(super) fn walk(
    bytes: Bytes,
    projection: &Projection,
    message: &Message,
    options: ProtobufOptions,
    limits: &DecodeLimits,
    whole: Whole,
) -> Result<Value, Fault> {
    let tables = &*message.tables;
    let written = bytes.len();
    let source = Source { bytes, base: 0 };
    if written > limits.decoded_bytes_max {
        return Err(Fault::new(limits.decoded_bytes_max, too_large(limits)));
    }
    let (plans, plan) = Plans::new(tables, options, message.index, projection);
    let mut walker = Walker::new(tables, options, limits, plans, whole, written);
    let depth = DEPTH_MAX.min(limits.depth_max);
    let part = Part::all(&source);
    let value = walker.message(part, message.index, plan, depth)?;
    if walker.writer.is_exact() { Ok(value) } else { Err(part.reader().fault("inexact text")) }
}

fn too_large(limits: &DecodeLimits) -> String {
    format!("larger than {} bytes", limits.decoded_bytes_max)
}

/// The form of a message that is kept whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// A raw value.
    Text,
    /// An object.
    Tree,
}

/// A part of a source that is one message.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) source: &'a Source,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'a> Part<'a> {
    pub(super) fn all(source: &'a Source) -> Self {
        Self { source, start: 0, end: source.bytes.len() }
    }

    pub(super) fn reader(&self) -> Reader<'a> {
        Reader::new(self.source, self.start, self.end)
    }
}

/// The values of one field so far.
#[derive(Default)]
enum Slot {
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

pub(super) struct Walker<'a> {
    pub(super) tables: &'a Tables,
    pub(super) options: ProtobufOptions,
    pub(super) limits: &'a DecodeLimits,
    pub(super) plans: Plans,
    whole: Whole,
    /// A stack: the slots of every message that is being read, the innermost last.
    slots: Vec<Slot>,
    built: usize,
    written: usize,
    pub(super) writer: Writer,
    watch: Watch,
}

impl<'a> Walker<'a> {
    /// A walker that has `written` bytes in hand.
    pub(super) fn new(
        tables: &'a Tables,
        options: ProtobufOptions,
        limits: &'a DecodeLimits,
        plans: Plans,
        whole: Whole,
        written: usize,
    ) -> Self {
        let (slots, writer) = (Vec::new(), Writer::default());
        let watch = limits.stop.watch();
        Self { tables, options, limits, plans, whole, slots, built: 0, written, writer, watch }
    }
}

impl Walker<'_> {
    /// Reads a message of any type.
    pub(super) fn message(
        &mut self,
        part: Part<'_>,
        message: usize,
        plan: PlanId,
        depth: usize,
    ) -> Result<Value, Fault> {
        self.check_depth(part, depth)?;
        match self.own_form(message) {
            Some(kind) => self.in_own_form(part, kind, message, depth),
            None if plan == ALL && self.whole == Whole::Text => {
                self.raw_message(part, message, depth)
            }
            None => self.plain_message(part, message, plan, depth).map(Value::object),
        }
    }

    pub(super) fn check_depth(&self, part: Part<'_>, depth: usize) -> Result<(), Fault> {
        if depth > 0 {
            return Ok(());
        }
        let depth_max = DEPTH_MAX.min(self.limits.depth_max);
        Err(part.reader().fault(&format!("nested deeper than {depth_max}")))
    }

    /// Whether a message type has a JSON form of its own under this mapping.
    pub(super) fn own_form(&self, message: usize) -> Option<WellKnown> {
        let kind = self.tables.messages[message].well_known;
        kind.filter(|_| self.options.mapping == Mapping::Proto3)
    }

    /// Reads a message in a JSON form of its own, as a tree all the way down.
    pub(super) fn in_own_form(
        &mut self,
        part: Part<'_>,
        kind: WellKnown,
        message: usize,
        depth: usize,
    ) -> Result<Value, Fault> {
        let whole = std::mem::replace(&mut self.whole, Whole::Tree);
        let value = well_known::decode(self, part, kind, message, depth);
        self.whole = whole;
        value
    }

    /// Reads a message as its fields.
    pub(super) fn plain_message(
        &mut self,
        part: Part<'_>,
        message: usize,
        plan: PlanId,
        depth: usize,
    ) -> Result<Object, Fault> {
        let tables = self.tables;
        let table = &tables.messages[message];
        let base = self.slots.len();
        self.slots.resize_with(base + self.plans.slot_count(plan, table), Slot::default);
        self.fields(part, table, plan, |walker, reader, lookup, wire_type| {
            if lookup.is_in_oneof {
                walker.clear_oneof(table, plan, base, lookup.at);
            }
            let Some(slot) = walker.plans.slot(plan, lookup.at) else {
                return reader.skip(lookup.number, wire_type);
            };
            if walker.is_raw_list(lookup, plan) {
                return walker.raw_list(reader, lookup, wire_type, base + slot, depth);
            }
            let field = &table.fields[lookup.at];
            walker.field(reader, field, wire_type, (plan, lookup.at), base + slot, depth)
        })?;
        self.finish(part, table, plan, base, depth)
    }

    /// Reads the fields of a message one by one: `take` gets those that the mapping knows, others are passed. All
    /// required ones must be there.
    #[inline]
    pub(super) fn fields<'r>(
        &mut self,
        part: Part<'r>,
        table: &MessageTable,
        plan: PlanId,
        mut take: impl FnMut(&mut Self, &mut Reader<'r>, &Lookup, WireType) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut reader = part.reader();
        let mut required = Required::default();
        while !reader.is_done() {
            if self.watch.is_over() {
                return Err(reader.fault(stop::REASON));
            }
            if let Some(short) = self.plans.short_fields(plan) {
                required.first |= reader.pass_short(short);
                if reader.is_done() {
                    break;
                }
            }
            let Some((field, wire_type)) = reader.field(table, &mut required)? else { continue };
            if field.is_mapped(self.options) {
                take(self, &mut reader, field, wire_type)?;
            } else {
                reader.skip(field.number, wire_type)?;
            }
        }
        match required.missing(table) {
            None => Ok(()),
            Some(field) => {
                let name = &field.proto_name;
                Err(reader.fault(&format!("required field `{name}` is missing")))
            }
        }
    }

    /// Forgets the other members of the oneof that a field is in.
    fn clear_oneof(&mut self, table: &MessageTable, plan: PlanId, base: usize, at: usize) {
        let Some(oneof) = table.fields[at].oneof else { return };
        for other in table.oneofs[oneof].iter().filter(|other| **other != at) {
            if let Some(slot) = self.plans.slot(plan, *other) {
                self.slots[base + slot] = Slot::Empty;
            }
        }
    }

    /// Whether a field is a list of messages that are kept whole, as text.
    fn is_raw_list(&self, field: &Lookup, plan: PlanId) -> bool {
        let (Kind::Message(message) | Kind::Group(message)) = field.kind else { return false };
        self.whole == Whole::Text
            && field.shape(self.options) == Shape::Repeated
            && matches!(self.plans.action(plan, field.at), Action::Keep(ALL))
            && self.own_form(message).is_none()
    }

    /// Reads all of such a list. In several parts it is unusual.
    fn raw_list(
        &mut self,
        reader: &mut Reader<'_>,
        field: &Lookup,
        wire_type: WireType,
        slot: usize,
        depth: usize,
    ) -> Result<(), Fault> {
        if !matches!(self.slots[slot], Slot::Empty) {
            return Err(reader.fault("a list in several parts"));
        }
        self.slots[slot] = Slot::Value(self.raw_elements(reader, field, wire_type, depth)?);
        Ok(())
    }

    /// Reads one occurrence of a field that is kept.
    fn field(
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
    pub(super) fn map(
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
    fn pieces(
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

    /// Makes an object of the slots from `base` on, and gives them back.
    fn finish(
        &mut self,
        part: Part<'_>,
        table: &MessageTable,
        plan: PlanId,
        base: usize,
        depth: usize,
    ) -> Result<Object, Fault> {
        let set = self.slots[base..].iter().filter(|slot| !matches!(slot, Slot::Empty)).count();
        let mut members = Vec::with_capacity(set);
        for slot in 0..self.slots.len() - base {
            let at = self.plans.field_of(plan, slot);
            let field = &table.fields[at];
            let value = match std::mem::take(&mut self.slots[base + slot]) {
                Slot::Empty if self.options.defaults => self.default_of(field),
                Slot::Empty => None,
                Slot::Value(value) => Some(value),
                Slot::List(elements) => Some(Value::array(elements)),
                Slot::Map(members) => Some(Value::object(members)),
                pieces => {
                    let (Kind::Message(message) | Kind::Group(message)) = field.kind else {
                        continue;
                    };
                    let inner = match self.plans.action(plan, at) {
                        Action::Keep(plan) => *plan,
                        Action::Entries { .. } => ALL,
                    };
                    self.count(&part.reader())?;
                    Some(self.pieces(part.source, pieces, message, inner, depth)?)
                }
            };
            if let Some(value) = value {
                members.push((field.name(self.options).clone(), value));
            }
        }
        self.slots.truncate(base);
        Ok(Object::from_distinct(members))
    }

    /// Makes the value that an unset field prints with `defaults on`.
    pub(super) fn default_of(&self, field: &Field) -> Option<Value> {
        if self.options.mapping == Mapping::LowLevel || field.is_extension {
            return None;
        }
        match field.shape {
            Shape::Repeated => Some(Value::array(Vec::new())),
            Shape::Map => Some(Value::object(Object::new())),
            Shape::Single if field.is_implicit => self.tables.zero(field.kind, self.options),
            Shape::Single => None,
        }
    }

    #[inline]
    pub(super) fn count(&mut self, reader: &Reader<'_>) -> Result<(), Fault> {
        if self.watch.is_over() {
            return Err(reader.fault(stop::REASON));
        }
        self.built += 1;
        if self.built > self.limits.elements_max {
            let reason = format!("more than {} elements", self.limits.elements_max);
            return Err(reader.fault(&reason).of_elements());
        }
        Ok(())
    }

    #[inline]
    pub(super) fn write(&mut self, reader: &Reader<'_>, length: usize) -> Result<(), Fault> {
        self.written = self.written.saturating_add(length);
        if self.written > self.limits.decoded_bytes_max {
            return Err(Fault::new(reader.source.base + reader.at, too_large(self.limits)));
        }
        Ok(())
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
