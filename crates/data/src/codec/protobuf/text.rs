//! Messages that are kept whole, from the wire to JSON text (ADR 0015).
//!
//! In: a part of the wire that is one message. Out: a raw value whose text is what the encoder would
//! print of the message read as a tree. Fields are written as they come, which is the order of the
//! schema, as a rule; where it is not, what was written is put into that order. Nothing is allocated per
//! field.
//!
//! It writes what writers of messages produce. Whatever is unusual (a scalar or a sub-message that
//! comes twice, two members of a oneof) or malformed is an error here that
//! nobody is shown: the walk of [`super::decode`] reads the body again and decides.

use std::ops::Range;

use super::{
    decode::{Part, Walker},
    plan::ALL,
    scalar::{self, Form},
    tables::{Kind, Lookup, MessageTable, Shape},
    wire::{Fault, Reader, WireType},
};
use crate::{Text, Value, codec::json};

/// Where text is written.
#[derive(Default)]
pub(super) struct Writer {
    out: Vec<u8>,
    /// A stack: what was written of every message that is being written, the innermost last.
    runs: Vec<Run>,
    has_text: bool,
    has_inexact: bool,
}

impl Writer {
    /// Notes whether the text of a scalar says less than the scalar.
    pub(super) fn note(&mut self, form: &Form<'_>) {
        self.has_inexact |= !form.is_read_back();
    }

    /// Begins a text of that many bytes on the wire.
    pub(super) fn start(&mut self, bytes: usize) {
        /// Names are longer than tags.
        const GROWTH: usize = 3;
        self.has_text = true;
        self.out.clear();
        self.runs.clear();
        self.out.reserve(bytes.saturating_mul(GROWTH));
    }

    /// The text as a value. The strings in it have not been checked one by one.
    fn raw_value(&mut self, reader: &Reader<'_>) -> Result<Value, Fault> {
        json::raw_value(&mut self.out).ok_or_else(|| reader.fault("text is not UTF-8"))
    }

    /// All text so far.
    pub(super) fn text(&self) -> &[u8] {
        &self.out
    }

    /// The length of all text so far.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Takes back what was written from `start` on.
    pub(super) fn truncate(&mut self, start: usize) {
        self.out.truncate(start);
    }

    /// All text, if it is UTF-8.
    pub(super) fn into_text(self) -> Option<Text> {
        Text::from_utf8(self.out.into()).ok()
    }

    /// Whether raw values and other text that was made, if any, are equal to what trees would be.
    pub(super) fn is_exact(&self) -> bool {
        !(self.has_text && self.has_inexact)
    }
}

/// A field that was written, or the values of a repeated one that stood side by side.
#[derive(Clone, Copy)]
struct Run {
    /// Index of the field.
    at: usize,
    /// Where it starts: with a comma. Nothing is there if the field counts as unset.
    start: usize,
}

impl Walker<'_> {
    /// Reads a message as a raw value.
    pub(super) fn raw_message(
        &mut self,
        part: Part<'_>,
        message: usize,
        depth: usize,
    ) -> Result<Value, Fault> {
        self.writer.start(part.end - part.start);
        self.write_message(part, message, depth)?;
        self.writer.raw_value(&part.reader())
    }

    /// Reads the elements of a list of messages that stand side by side as a raw value.
    pub(super) fn raw_elements(
        &mut self,
        reader: &mut Reader<'_>,
        field: &Lookup,
        wire_type: WireType,
        depth: usize,
    ) -> Result<Value, Fault> {
        self.writer.start(reader.left());
        self.write_list(reader, field, wire_type, depth)?;
        self.writer.raw_value(reader)
    }

    /// Writes a message of any type.
    fn write_message(&mut self, part: Part<'_>, message: usize, depth: usize) -> Result<(), Fault> {
        self.check_depth(part, depth)?;
        if let Some(kind) = self.own_form(message) {
            let value = self.in_own_form(part, kind, message, depth)?;
            json::encode(&value, &mut self.writer.out);
            return Ok(());
        }
        let (tables, base) = (self.tables, self.writer.runs.len());
        self.write_members(part, &tables.messages[message], base, depth)?;
        self.writer.runs.truncate(base);
        // Names are not on the wire: text may grow far beyond it where a tree would share them.
        if self.writer.out.len() > self.limits.decoded_bytes_max {
            return Err(part.reader().fault("longer as text than a body may be"));
        }
        Ok(())
    }

    /// Writes all fields, as an object.
    fn write_members(
        &mut self,
        part: Part<'_>,
        table: &MessageTable,
        base: usize,
        depth: usize,
    ) -> Result<(), Fault> {
        let openings = table.openings(self.options);
        let start = self.writer.out.len();
        // The first field that may still come in order.
        let (mut next, mut is_sorted) = (0, true);
        self.fields(part, table, ALL, |walker, reader, field, wire_type| {
            let at = field.at;
            is_sorted &= at >= next;
            if walker.options.defaults && at > next {
                walker.write_defaults(table, next..at);
            }
            next = at + 1;
            let before = walker.writer.out.len();
            walker.writer.runs.push(Run { at, start: before });
            openings[at].write(&mut walker.writer.out);
            if !walker.write_field(reader, field, wire_type, depth)? {
                walker.writer.out.truncate(before);
                if walker.options.defaults {
                    walker.write_defaults(table, at..next);
                }
            }
            Ok(())
        })?;
        if self.options.defaults {
            self.write_defaults(table, next..table.fields.len());
        }
        if !is_sorted {
            self.sort_members(&part.reader(), table, base, start)?;
        }
        if table.has_oneofs && has_rivals(table, &self.writer.runs[base..]) {
            return Err(part.reader().fault("two members of a oneof"));
        }
        let out = &mut self.writer.out;
        // The bracket takes the place of the comma before the first member.
        match out.get_mut(start) {
            Some(comma) => *comma = b'{',
            None => out.push(b'{'),
        }
        out.push(b'}');
        Ok(())
    }

    /// Writes the value of a field, or those of a repeated one that stand side by side; false if that
    /// counts as unset.
    #[inline]
    pub(super) fn write_field(
        &mut self,
        reader: &mut Reader<'_>,
        field: &Lookup,
        wire_type: WireType,
        depth: usize,
    ) -> Result<bool, Fault> {
        match field.shape(self.options) {
            Shape::Single => self.write_value(reader, field, wire_type, depth),
            Shape::Repeated => self.write_list(reader, field, wire_type, depth),
            Shape::Map => {
                let entries = self.map(reader, field, wire_type, depth)?;
                json::encode(&entries, &mut self.writer.out);
                Ok(true)
            }
        }
    }

    /// Puts what was written since `start` into the order of the schema, and lists together.
    #[cold]
    fn sort_members(
        &mut self,
        reader: &Reader<'_>,
        table: &MessageTable,
        base: usize,
        start: usize,
    ) -> Result<(), Fault> {
        if self.options.defaults {
            return Err(reader.fault("defaults between fields that are not in order"));
        }
        let written = self.writer.out.split_off(start);
        let runs = &mut self.writer.runs[base..];
        let ends = runs.iter().skip(1).map(|run| run.start).chain([start + written.len()]);
        let mut texts: Vec<_> = std::iter::zip(runs.iter(), ends)
            .map(|(run, end)| (run.at, &written[run.start - start..end - start]))
            .collect();
        texts.sort_by_key(|(at, _)| *at);
        runs.sort_by_key(|run| run.at);
        let out = &mut self.writer.out;
        for same in texts.chunk_by(|(one, _), (other, _)| one == other) {
            let at = same[0].0;
            let is_list = table.fields[at].shape(self.options) == Shape::Repeated;
            if same.len() > 1 && !is_list {
                return Err(reader.fault("a field comes twice"));
            }
            let before = out.len();
            for (_, text) in same.iter().filter(|(_, text)| !text.is_empty()) {
                if out.len() == before {
                    out.extend_from_slice(text);
                } else {
                    // The bracket that ends the list gives way to the comma.
                    out.pop();
                    out.push(b',');
                    out.extend_from_slice(&text[table.openings(self.options)[at].len() + 1..]);
                }
            }
        }
        Ok(())
    }

    /// Writes fields that are not set.
    fn write_defaults(&mut self, table: &MessageTable, fields: Range<usize>) {
        for at in fields {
            if let Some(value) = self.default_of(&table.fields[at]) {
                table.openings(self.options)[at].write(&mut self.writer.out);
                json::encode(&value, &mut self.writer.out);
            }
        }
    }

    /// Writes the value of a field; false if it counts as unset.
    #[inline]
    fn write_value(
        &mut self,
        reader: &mut Reader<'_>,
        field: &Lookup,
        wire_type: WireType,
        depth: usize,
    ) -> Result<bool, Fault> {
        if wire_type != field.kind.wire_type() {
            return Err(reader.fault("field is framed as another type"));
        }
        let (message, (start, end)) = match field.kind {
            // Most fields are texts and booleans.
            Kind::String => {
                self.count(reader)?;
                let (start, end) = reader.take_delimited()?;
                json::write_part(&reader.source.bytes, start..end, &mut self.writer.out);
                return Ok(start < end || !field.is_implicit);
            }
            Kind::Bool => {
                self.count(reader)?;
                let value = reader.varint()? != 0;
                let word: &[u8] = if value { b"true" } else { b"false" };
                self.writer.out.extend_from_slice(word);
                return Ok(value || !field.is_implicit);
            }
            Kind::Message(message) => (message, reader.take_delimited()?),
            Kind::Group(message) => (message, reader.group(field.number)?),
            _ => return self.write_scalar(reader, field),
        };
        self.count(reader)?;
        self.write_message(Part { source: reader.source, start, end }, message, depth - 1)?;
        Ok(true)
    }

    /// Writes a scalar; false if it counts as unset or is dropped.
    fn write_scalar(&mut self, reader: &mut Reader<'_>, field: &Lookup) -> Result<bool, Fault> {
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

    /// Writes the values of a list that stand side by side; false if there are none.
    fn write_list(
        &mut self,
        reader: &mut Reader<'_>,
        field: &Lookup,
        wire_type: WireType,
        depth: usize,
    ) -> Result<bool, Fault> {
        self.writer.out.push(b'[');
        let start = self.writer.out.len();
        let mut next = Some(wire_type);
        while let Some(wire_type) = next {
            if wire_type == WireType::Length && field.kind.is_packable() {
                let (from, to) = reader.take_delimited()?;
                let mut packed = Reader::new(reader.source, from, to);
                while !packed.is_done() {
                    let before = self.begin_element(start);
                    if !self.write_scalar(&mut packed, field)? {
                        self.writer.out.truncate(before);
                    }
                }
            } else {
                let before = self.begin_element(start);
                if !self.write_value(reader, field, wire_type, depth)? {
                    self.writer.out.truncate(before);
                }
            }
            next = reader.next_of(field.number)?;
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
}

/// Whether several members of a oneof are among the runs, which are in the order of fields.
fn has_rivals(table: &MessageTable, runs: &[Run]) -> bool {
    let is_found = |field: &usize| runs.binary_search_by_key(field, |run| run.at).is_ok();
    let rivals = |members: &Vec<usize>| members.iter().filter(|field| is_found(field)).count();
    table.oneofs.iter().any(|members| members.len() > 1 && rivals(members) > 1)
}
