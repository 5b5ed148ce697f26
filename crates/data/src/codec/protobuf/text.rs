//! Messages that are kept whole, from the wire to JSON text (ADR 0015).
//!
//! In: a part of the wire that is one message. Out: a raw value whose text is what the encoder would
//! print of the message read as a tree. A message is gone through twice: first its fields are noted
//! with their places, their contents passed by their length; then they are written in the order of
//! the schema. Nothing is allocated per field.
//!
//! It writes what writers of messages produce. Whatever is unusual (a scalar or a sub-message that
//! comes twice, two members of a oneof, equal keys of a map) or malformed is an error here that
//! nobody is shown: the walk of [`super::decode`] reads the body again and decides.

use std::{collections::HashSet, ops::Range};

use super::{
    decode::{Part, Required, Walker},
    scalar::{self, Form},
    tables::{Field, Kind, MessageTable, Shape},
    wire::{Fault, Reader, WireType},
};
use crate::{Value, codec::json};

/// Entries of a map up to which comparing keys is faster than hashing them.
const COMPARED_MAX: usize = 16;

/// Where text is written.
#[derive(Default)]
pub(super) struct Writer {
    out: Vec<u8>,
    /// A stack: the fields of every message that is being written, the innermost last.
    places: Vec<Place>,
    has_text: bool,
    has_inexact: bool,
}

impl Writer {
    /// Notes whether the text of a scalar says less than the scalar.
    pub(super) fn note(&mut self, form: &Form<'_>) {
        self.has_inexact |= !form.is_read_back();
    }

    /// Whether raw values that were made, if any, are equal to what trees would be.
    pub(super) fn is_exact(&self) -> bool {
        !(self.has_text && self.has_inexact)
    }
}

/// One occurrence of a field on the wire.
#[derive(Clone, Copy)]
struct Place {
    /// Index of the field.
    at: usize,
    is_packed: bool,
    /// A length-delimited scalar starts at its length, all else at its content.
    start: usize,
    end: usize,
}

impl Walker<'_> {
    /// Reads a message as a raw value.
    pub(super) fn raw_message(
        &mut self,
        part: Part<'_>,
        message: usize,
        depth: usize,
    ) -> Result<Value, Fault> {
        /// Names are longer than tags.
        const GROWTH: usize = 3;
        self.writer.has_text = true;
        self.writer.out.clear();
        self.writer.places.clear();
        self.writer.out.reserve((part.end - part.start).saturating_mul(GROWTH));
        self.write_message(part, message, depth)?;
        // The strings in it have not been checked one by one.
        json::raw_value(&mut self.writer.out)
            .ok_or_else(|| part.reader().fault("text is not UTF-8"))
    }

    /// Writes a message of any type.
    fn write_message(&mut self, part: Part<'_>, message: usize, depth: usize) -> Result<(), Fault> {
        self.check_depth(part, depth)?;
        if let Some(kind) = self.own_form(message) {
            let value = self.in_own_form(part, kind, message, depth)?;
            json::encode(&value, &mut self.writer.out);
            return Ok(());
        }
        let tables = self.tables;
        let table = &tables.messages[message];
        let base = self.writer.places.len();
        self.find_fields(part, table, base)?;
        self.write_members(part, table, base, depth)?;
        self.writer.places.truncate(base);
        // Names are not on the wire: text may grow far beyond it where a tree would share them.
        if self.writer.out.len() > self.limits.decoded_bytes_max {
            return Err(part.reader().fault("longer as text than a body may be"));
        }
        Ok(())
    }

    /// Notes the places of all fields, in the order of the schema.
    fn find_fields(
        &mut self,
        part: Part<'_>,
        table: &MessageTable,
        base: usize,
    ) -> Result<(), Fault> {
        let mut reader = part.reader();
        let mut required = Required::default();
        let (mut last, mut is_sorted) = (0, true);
        while !reader.is_done() {
            let tag_at = reader.at;
            let (number, wire_type) = reader.tag()?;
            let Some(lookup) = table.by_number(number) else {
                reader.skip(number, wire_type)?;
                continue;
            };
            if let Some(position) = lookup.required {
                required.mark(position);
            }
            let field = &table.fields[lookup.at];
            if !field.is_mapped(self.options) {
                reader.skip(number, wire_type)?;
                continue;
            }
            let is_packed = wire_type == WireType::Length
                && field.kind.is_packable()
                && field.shape == Shape::Repeated;
            if wire_type != field.kind.wire_type() && !is_packed {
                return Err(reader.fault_at(tag_at, "field is framed as another type"));
            }
            let content = reader.at;
            let (start, end) = match field.kind {
                Kind::Message(_) => reader.delimited()?,
                Kind::Group(_) => reader.group(number)?,
                _ if is_packed => reader.delimited()?,
                _ => {
                    reader.skip(number, wire_type)?;
                    (content, reader.at)
                }
            };
            is_sorted &= last <= lookup.at;
            last = lookup.at;
            self.writer.places.push(Place { at: lookup.at, is_packed, start, end });
        }
        if required.missing(table).is_some() {
            return Err(reader.fault("a required field is missing"));
        }
        let places = &mut self.writer.places[base..];
        if !is_sorted {
            places.sort_by_key(|place| place.at);
        }
        if table.has_oneofs && has_rivals(table, places) {
            return Err(reader.fault("two members of a oneof"));
        }
        Ok(())
    }

    /// Writes the fields that were found, as an object.
    fn write_members(
        &mut self,
        part: Part<'_>,
        table: &MessageTable,
        base: usize,
        depth: usize,
    ) -> Result<(), Fault> {
        let end = self.writer.places.len();
        self.writer.out.push(b'{');
        let start = self.writer.out.len();
        let (mut at, mut next_field) = (base, 0);
        loop {
            let first = self.writer.places[..end].get(at).copied();
            let found = first.map_or(table.fields.len(), |first| first.at);
            if self.options.defaults {
                for unset in &table.fields[next_field..found] {
                    self.write_default(unset, start);
                }
                next_field = found + 1;
            }
            let Some(first) = first else { break };
            let field = &table.fields[found];
            let mut behind = at + 1;
            while behind < end && self.writer.places[behind].at == found {
                behind += 1;
            }
            let before = self.writer.out.len();
            self.write_key(field, start);
            let is_set = match field.shape(self.options) {
                Shape::Single if behind - at > 1 => {
                    return Err(part.reader().fault("a field comes twice"));
                }
                Shape::Single => self.write_value(part, field, first, depth)?,
                Shape::Repeated => self.write_list(part, field, at..behind, depth)?,
                Shape::Map => self.write_map(part, field, at..behind, depth)?,
            };
            if !is_set {
                self.writer.out.truncate(before);
                if self.options.defaults {
                    self.write_default(field, start);
                }
            }
            at = behind;
        }
        self.writer.out.push(b'}');
        Ok(())
    }

    /// Begins a member of the object whose first member is at `start`.
    #[inline]
    fn write_key(&mut self, field: &Field, start: usize) {
        let out = &mut self.writer.out;
        if out.len() > start {
            out.push(b',');
        }
        out.extend_from_slice(field.key(self.options));
    }

    fn write_default(&mut self, field: &Field, start: usize) {
        if let Some(value) = self.default_of(field) {
            self.write_key(field, start);
            json::encode(&value, &mut self.writer.out);
        }
    }

    /// Writes the value of a field; false if it counts as unset.
    fn write_value(
        &mut self,
        part: Part<'_>,
        field: &Field,
        place: Place,
        depth: usize,
    ) -> Result<bool, Fault> {
        let mut reader = Reader::new(part.source, place.start, place.end);
        match field.kind {
            Kind::Message(message) | Kind::Group(message) => {
                self.count(&reader)?;
                let inner = Part { start: place.start, end: place.end, ..part };
                self.write_message(inner, message, depth - 1)?;
                Ok(true)
            }
            // Most fields are texts.
            Kind::String => {
                self.count(&reader)?;
                let (start, end) = reader.delimited()?;
                json::write_part(&part.source.bytes, start..end, &mut self.writer.out);
                Ok(start < end || !field.is_implicit)
            }
            _ => self.write_scalar(&mut reader, field),
        }
    }

    /// Writes a scalar; false if it counts as unset or is dropped.
    fn write_scalar(&mut self, reader: &mut Reader<'_>, field: &Field) -> Result<bool, Fault> {
        let tables = self.tables;
        let scalar = scalar::read(reader, field.kind, tables, self.options)?;
        self.count(reader)?;
        let is_unset = scalar.is_zero && field.is_implicit || matches!(scalar.form, Form::None);
        let before = self.writer.out.len();
        self.write_form(reader, scalar.form)?;
        if is_unset {
            self.writer.out.truncate(before);
        }
        Ok(!is_unset)
    }

    #[inline]
    fn write_form(&mut self, reader: &Reader<'_>, form: Form<'_>) -> Result<(), Fault> {
        self.writer.note(&form);
        let written = form.write(reader.source, &mut self.writer.out)?;
        self.write(reader, written)
    }

    /// Writes a list; false if nothing is in it.
    fn write_list(
        &mut self,
        part: Part<'_>,
        field: &Field,
        places: Range<usize>,
        depth: usize,
    ) -> Result<bool, Fault> {
        self.writer.out.push(b'[');
        let start = self.writer.out.len();
        for at in places {
            let place = self.writer.places[at];
            if !place.is_packed {
                let before = self.begin_element(start);
                if !self.write_value(part, field, place, depth)? {
                    self.writer.out.truncate(before);
                }
                continue;
            }
            let mut reader = Reader::new(part.source, place.start, place.end);
            while !reader.is_done() {
                let before = self.begin_element(start);
                if !self.write_scalar(&mut reader, field)? {
                    self.writer.out.truncate(before);
                }
            }
        }
        let is_set = self.writer.out.len() > start;
        self.writer.out.push(b']');
        Ok(is_set)
    }

    /// Begins an element of the list or object whose first one is at `start`; gives the place before.
    fn begin_element(&mut self, start: usize) -> usize {
        let before = self.writer.out.len();
        if before > start {
            self.writer.out.push(b',');
        }
        before
    }

    fn write_map(
        &mut self,
        part: Part<'_>,
        field: &Field,
        places: Range<usize>,
        depth: usize,
    ) -> Result<bool, Fault> {
        let tables = self.tables;
        let (Kind::Message(entry), count) = (field.kind, places.len()) else {
            return Err(part.reader().fault("map entry is no message"));
        };
        let [key_field, value_field] = tables.messages[entry].fields.as_slice() else {
            return Err(part.reader().fault("map entry without key and value"));
        };
        self.writer.out.push(b'{');
        let start = self.writer.out.len();
        let mut keys = Vec::with_capacity(count);
        for at in places {
            let place = self.writer.places[at];
            let inner = Part { start: place.start, end: place.end, ..part };
            self.begin_element(start);
            keys.push(self.write_entry(inner, key_field, value_field, depth)?);
        }
        self.writer.out.push(b'}');
        let key = |range: &Range<usize>| &self.writer.out[range.clone()];
        let is_unique = if count <= COMPARED_MAX {
            (1..count).all(|at| keys[..at].iter().all(|other| key(other) != key(&keys[at])))
        } else {
            let mut seen = HashSet::with_capacity(count);
            keys.iter().all(|range| seen.insert(key(range)))
        };
        if is_unique { Ok(true) } else { Err(part.reader().fault("a key comes twice")) }
    }

    /// Writes an entry of a map as a member; gives the place of its key.
    fn write_entry(
        &mut self,
        part: Part<'_>,
        key_field: &Field,
        value_field: &Field,
        depth: usize,
    ) -> Result<Range<usize>, Fault> {
        let tables = self.tables;
        let (mut key, mut value) = (None, None);
        let mut reader = part.reader();
        while !reader.is_done() {
            let (number, wire_type) = reader.tag()?;
            let (place, field) = match number {
                1 => (&mut key, key_field),
                2 => (&mut value, value_field),
                _ => {
                    reader.skip(number, wire_type)?;
                    continue;
                }
            };
            if wire_type != field.kind.wire_type() || place.is_some() {
                return Err(reader.fault("unusual map entry"));
            }
            *place = Some(Reader::new(part.source, reader.at, part.end));
            reader.skip(number, wire_type)?;
        }
        self.count(&reader)?;
        let key_start = self.writer.out.len();
        self.write_map_key(key, key_field)?;
        let key_end = self.writer.out.len();
        self.writer.out.push(b':');
        match (value, value_field.kind) {
            (value, Kind::Message(message)) => {
                let (start, end) = match value {
                    Some(mut value) => value.delimited()?,
                    None => (part.start, part.start),
                };
                self.write_message(Part { start, end, ..part }, message, depth - 1)?;
            }
            (Some(mut value), kind) => {
                let form = scalar::read(&mut value, kind, tables, self.options)?.form;
                self.write_form(&value, form)?;
            }
            (None, kind) => {
                let zero = self.tables.zero(kind, self.options).unwrap_or_default();
                json::encode(&zero, &mut self.writer.out);
            }
        }
        Ok(key_start..key_end)
    }

    /// Writes the key of an entry: a text whatever its type, and zero if there is none.
    fn write_map_key(&mut self, key: Option<Reader<'_>>, field: &Field) -> Result<(), Fault> {
        let tables = self.tables;
        let Some(mut reader) = key else {
            let zero = tables.zero(field.kind, self.options).unwrap_or_default();
            let text = zero.scalar_text().unwrap_or_default();
            json::encode(&Value::String(text), &mut self.writer.out);
            return Ok(());
        };
        let form = scalar::read(&mut reader, field.kind, tables, self.options)?.form;
        let is_quoted = matches!(form, Form::Text(_) | Form::Digits(..));
        let quote: &[u8] = if is_quoted { b"" } else { b"\"" };
        self.writer.out.extend_from_slice(quote);
        self.write_form(&reader, form)?;
        self.writer.out.extend_from_slice(quote);
        Ok(())
    }
}

/// Whether several members of a oneof are among the places, which are in the order of fields.
fn has_rivals(table: &MessageTable, places: &[Place]) -> bool {
    let is_found = |field: &usize| places.binary_search_by_key(field, |place| place.at).is_ok();
    let rivals = |members: &Vec<usize>| members.iter().filter(|field| is_found(field)).count();
    table.oneofs.iter().any(|members| members.len() > 1 && rivals(members) > 1)
}
