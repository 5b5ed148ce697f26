//! Rows of plain columns, from the wire to cells (`ADR 0014`).
//!
//! In: a body, the way to its rows and the names of the members that become columns. Out: a
//! [`CellTable`] whose text has the JSON of each cell, or nothing for everything that is not simply rows;
//! the general walk is asked then, and knows what to say. Other fields are passed by their length, as
//! there. What a message, a list or a scalar is as text is told by [`super::text`].

use bytes::Bytes;

use super::{
    DEPTH_MAX, Message, ProtobufOptions,
    decode::{Part, Walker, Whole},
    plan::{ALL, PlanId, Plans},
    tables::{Field, Kind, MessageTable, Shape, Tables},
    wire::{Fault, Source},
};
use crate::{
    Text,
    codec::{
        DecodeLimits,
        json::{CellTable, CellWriter},
    },
    projection::Projection,
};

/// Columns that are read at most: each has a bit.
const COLUMNS_MAX: usize = 64;

/// The rows of a message: the members `steps`, one inside the other, lead to a list of messages or to one
/// message.
///
/// `None` unless there is at least one row and the body is valid within `limits`. Bodies that are only
/// unusual, a field that comes twice, say, may give `None`, too.
pub fn decode_rows(
    body: Bytes,
    steps: &[Text],
    columns: &[&str],
    message: &Message,
    options: &ProtobufOptions,
    limits: &DecodeLimits,
) -> Option<CellTable> {
    let written = body.len();
    let is_usual = (1..=COLUMNS_MAX).contains(&columns.len()) && !options.defaults;
    if written > limits.decoded_bytes_max || !is_usual {
        return None;
    }
    let tables = &*message.tables;
    let (way, row) = way(tables, *options, message.index, steps)?;
    let members = columns.iter().map(|name| (Text::from(*name), Projection::All)).collect();
    let (plans, plan) = Plans::new(tables, *options, row, &Projection::Members(members));
    if plan == ALL {
        return None;
    }
    let table = &tables.messages[row];
    let mut column_of_slot = Vec::with_capacity(columns.len());
    for slot in 0..plans.slot_count(plan, table) {
        let field = &table.fields[plans.field_of(plan, slot)];
        let name = field.name(*options);
        let mut same = (0..columns.len()).filter(|at| *columns[*at] == **name);
        let (Some(column), None, true) = (same.next(), same.next(), is_alone(table, field)) else {
            return None;
        };
        column_of_slot.push(column);
    }
    let mut walker = Walker::new(tables, *options, limits, plans, Whole::Text, written);
    // How much of the body is asked for is not known.
    walker.writer.start(0);
    let cells = CellWriter::new(columns.len());
    let mut rows = RowSink { plan, column_of_slot, cells };
    let source = Source { bytes: body, base: 0 };
    let depth = DEPTH_MAX.min(limits.depth_max);
    rows.find(&mut walker, Part::all(&source), message.index, &way, depth).ok()?;
    if walker.writer.is_exact() { rows.cells.finish(walker.writer.into_text()?) } else { None }
}

/// The fields that `steps` lead through, and the type of the rows.
fn way(
    tables: &Tables,
    options: ProtobufOptions,
    message: usize,
    steps: &[Text],
) -> Option<(Vec<usize>, usize)> {
    let mut way = Vec::with_capacity(steps.len());
    let mut message = message;
    for (position, step) in steps.iter().enumerate() {
        let table = &tables.messages[message];
        let mut same = table.fields.iter().enumerate().filter(|(_, f)| f.name(options) == step);
        let (Some((at, field)), None) = (same.next(), same.next()) else { return None };
        let (Kind::Message(inner) | Kind::Group(inner)) = field.kind else { return None };
        let is_last = position + 1 == steps.len();
        match field.shape(options) {
            Shape::Single => {}
            Shape::Repeated if is_last => {}
            Shape::Repeated | Shape::Map => return None,
        }
        if !is_alone(table, field) {
            return None;
        }
        way.push(at);
        message = inner;
    }
    Some((way, message))
}

/// Whether no other field takes this one back: of the members of a oneof the last one counts.
fn is_alone(table: &MessageTable, field: &Field) -> bool {
    field.oneof.is_none_or(|oneof| table.oneofs[oneof].len() == 1)
}

/// Takes the rows; what fails is not simply rows.
struct RowSink {
    plan: PlanId,
    /// The column of each field that is kept.
    column_of_slot: Vec<usize>,
    cells: CellWriter,
}

impl RowSink {
    /// Follows the way to the rows.
    fn find(
        &mut self,
        walker: &mut Walker<'_>,
        part: Part<'_>,
        message: usize,
        way: &[usize],
        depth: usize,
    ) -> Result<(), Fault> {
        walker.check_depth(part, depth)?;
        if walker.own_form(message).is_some() {
            return Err(part.reader().fault("a form of its own"));
        }
        let table = &walker.tables.messages[message];
        let Some((wanted, rest)) = way.split_first() else {
            return self.row(walker, part, table, depth);
        };
        let mut is_found = false;
        walker.fields(part, table, ALL, |walker, reader, field, wire_type| {
            if field.at != *wanted {
                return reader.skip(field.number, wire_type);
            }
            let is_again = std::mem::replace(&mut is_found, true);
            let is_list = field.shape(walker.options) == Shape::Repeated;
            if wire_type != field.kind.wire_type() || is_again && !is_list {
                return Err(reader.fault("unusual way to the rows"));
            }
            let (message, (start, end)) = match field.kind {
                Kind::Message(message) => (message, reader.take_delimited()?),
                Kind::Group(message) => (message, reader.group(field.number)?),
                _ => return Err(reader.fault("no message")),
            };
            walker.count(reader)?;
            self.find(walker, Part { start, end, ..part }, message, rest, depth - 1)
        })?;
        if is_found { Ok(()) } else { Err(part.reader().fault("no rows")) }
    }

    fn row(
        &mut self,
        walker: &mut Walker<'_>,
        part: Part<'_>,
        table: &MessageTable,
        depth: usize,
    ) -> Result<(), Fault> {
        let mut seen = 0_u64;
        self.cells.begin_row();
        walker.fields(part, table, self.plan, |walker, reader, field, wire_type| {
            let Some(slot) = walker.plans.slot(self.plan, field.at) else {
                return reader.skip(field.number, wire_type);
            };
            if seen & 1 << slot != 0 {
                return Err(reader.fault("a field comes twice"));
            }
            seen |= 1 << slot;
            let start = walker.writer.len();
            if walker.write_field(reader, field, wire_type, depth)? {
                self.cells.set(self.column_of_slot[slot], start, walker.writer.text());
            } else {
                walker.writer.truncate(start);
            }
            Ok(())
        })
    }
}
