//! The walk over the wire.
//!
//! Fields may come in any order and more than once, so a message is collected in slots, one per
//! field, and becomes an object at its end: lists grow, of scalars the last counts, parts of a
//! sub-message are put together (which is what merging means on the wire) and read then. A message
//! that is kept whole becomes JSON text instead ([`super::text`]); a body in which that cannot be
//! done, or that is malformed, is read once more without it, so this walk alone knows all errors.

mod field;

use bytes::Bytes;

use self::field::Slot;
use super::{
    DEPTH_MAX, Mapping, Message, ProtobufOptions,
    plan::{ALL, Action, PlanId, Plans},
    required::Required,
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
