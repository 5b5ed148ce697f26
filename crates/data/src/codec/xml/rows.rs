//! Rows of plain columns, from a document to cells (`ADR 0014`).
//!
//! In: a document, the way to its rows and the names of the members that become columns. Out: a
//! [`CellTable`] whose text has the JSON of each cell, or nothing for everything that is not simply rows;
//! the general way is asked then, and knows what to say. The document has been checked as completely as
//! there: tags of records are compared with those of the records before ([`super::runs`]), and what is not
//! alike is read by [`Scanner`]. What an element is as text is told by [`super::whole`].

use std::borrow::Cow;

use super::{
    DEPTH_MAX, DOCUMENT_BYTES_MAX, TEXT, XmlOptions, coerce,
    names::{self, NONE, NameId},
    reference,
    row_tags::Next,
    runs::{Run, Runs},
    scan::{Event, Scanner},
    skip::special_at,
    whole::{Attempt, Room, Whole, behind_blanks},
};
use crate::{
    Text,
    codec::{
        DecodeLimits,
        json::{CellTable, CellWriter},
    },
};

/// Columns that are read at most.
const COLUMNS_MAX: usize = 64;
/// Room that is made for the text of cells: one in so many bytes of the document, and so many at most.
const TEXT_SHARE: usize = 4;
const TEXT_ROOM_MAX: usize = 1 << 20;

/// The rows of a document: the members `steps`, one inside the other, lead to the elements that are rows.
///
/// `None` unless there is at least one row and the document is valid within `limits`. Documents that are
/// only unusual, a row that is nothing but text, say, may give `None`, too.
pub fn decode_rows(
    text: &Text,
    steps: &[Text],
    columns: &[&str],
    options: &XmlOptions,
    limits: &DecodeLimits,
) -> Option<CellTable> {
    // Text that has to be resolved never grows, so there is room for all of it.
    let bytes_max = limits.decoded_bytes_max.min(DOCUMENT_BYTES_MAX) / 2;
    let is_usual = (1..=COLUMNS_MAX).contains(&columns.len())
        && !steps.is_empty()
        && text.len() <= bytes_max
        && options.arrays.ends_with(steps);
    if !is_usual {
        return None;
    }
    let mut reader = RowReader {
        scanner: Scanner::new(text, limits.depth_max.min(DEPTH_MAX)).ok()?.until(&limits.stop),
        bytes: text.as_bytes(),
        columns,
        whole: Whole::new(options.coerce, &limits.stop),
        cells: CellWriter::new(columns.len()),
        places: Vec::with_capacity(names::ROOM),
        row: NONE,
        outside: 0,
        has_members: false,
        has_text: false,
        text_column: columns.iter().position(|column| *column == TEXT),
        built: 0,
        moved: 0,
    };
    reader.whole.out.reserve((text.len() / TEXT_SHARE).min(TEXT_ROOM_MAX));
    reader.document(steps)?;
    let RowReader { whole, mut cells, built, .. } = reader;
    if built > limits.elements_max {
        return None;
    }
    for (column, name) in columns.iter().enumerate() {
        let first = columns.iter().position(|other| other == name)?;
        if first < column {
            cells.repeat(column, first);
        }
    }
    cells.finish(Text::from_utf8(whole.out.into()).ok()?)
}

/// Reads the rows of one document; what gives `None` is not simply rows.
pub(super) struct RowReader<'a, 't> {
    pub(super) scanner: Scanner<'t>,
    pub(super) bytes: &'t [u8],
    pub(super) columns: &'a [&'a str],
    /// The text of the cells, and the names of elements in rows.
    pub(super) whole: Whole,
    pub(super) cells: CellWriter,
    /// The places of all names, by their numbers.
    pub(super) places: Vec<Place>,
    /// The name of the rows.
    pub(super) row: NameId,
    /// Elements that are open around a row.
    pub(super) outside: usize,
    /// Whether the last row has attributes or elements so far, and whether it has text.
    pub(super) has_members: bool,
    pub(super) has_text: bool,
    /// The column of that text.
    pub(super) text_column: Option<usize>,
    /// Elements and attributes that are kept, and bytes that were moved to make lists.
    pub(super) built: usize,
    pub(super) moved: usize,
}

/// An element of rows, in the elements around it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) parent: NameId,
    /// How deep it is in its row; 0 for the row itself, and for what is not known yet.
    pub(super) level: u8,
    pub(super) column: Option<usize>,
    pub(super) runs: Runs,
}

/// A cell that is being written: where it starts, and whether its value is the last one of a list.
#[derive(Debug, Clone, Copy)]
struct Begun {
    start: usize,
    is_list: bool,
}

impl<'t> RowReader<'_, 't> {
    fn document(&mut self, steps: &[Text]) -> Option<()> {
        let mut found = 0;
        loop {
            let (name, is_empty) = match self.scanner.next().ok()? {
                Event::Start { name, is_empty } => (name, is_empty),
                Event::End | Event::Text { .. } | Event::CharacterData(_) => continue,
                Event::Done => return Some(()),
            };
            let depth = self.scanner.open.len() - usize::from(!is_empty);
            // Nothing but the way to the rows is ever open here.
            let step = steps.get(depth)?;
            if self.scanner.text[name.clone()] != **step {
                if !is_empty {
                    self.scanner.skip_element().ok()?;
                }
                continue;
            }
            self.built += 1;
            let Some(next) = steps.get(depth + 1) else {
                self.row(name.start, is_empty, depth)?;
                continue;
            };
            // A second element or an attribute of that name makes a list on the way.
            let attributes = &self.scanner.attributes;
            let has_attribute = attributes
                .iter()
                .any(|attribute| self.scanner.text[attribute.name.clone()] == **next);
            if found != depth || is_empty || has_attribute {
                return None;
            }
            found += 1;
        }
    }

    /// Reads the row whose start tag was scanned, and those that follow it.
    fn row(&mut self, name: usize, is_empty: bool, depth: usize) -> Option<()> {
        self.outside = depth;
        self.cells.begin_row();
        (self.has_members, self.has_text) = (!self.scanner.attributes.is_empty(), false);
        self.attributes()?;
        if !is_empty {
            (self.row, _) = self.whole.names.find(self.bytes, name, NONE)?;
            self.make_place(self.row);
            self.scanner.at = self.rows(self.scanner.at)?;
            self.scanner.open.truncate(depth);
        }
        Some(())
    }

    /// Takes the attributes of a row that are columns.
    fn attributes(&mut self) -> Option<()> {
        for attribute in std::mem::take(&mut self.scanner.attributes) {
            let text = self.scanner.text;
            let Some(column) = self.column(&text[attribute.name]) else { continue };
            let value = match &text[attribute.value] {
                value if attribute.is_plain => Cow::Borrowed(value),
                value => reference::resolve_attribute(value),
            };
            self.built += 1;
            let start = self.begin_cell(column)?;
            let Whole { mode, out, .. } = &mut self.whole;
            let is_exact = coerce::write(&value, 0..value.len(), *mode, out);
            if !is_exact {
                return None;
            }
            self.end_cell(column, start);
        }
        Some(())
    }

    /// Reads rows side by side from what is behind the start tag of the first one on; gives the place
    /// behind the last one.
    fn rows(&mut self, start: usize) -> Option<usize> {
        let (mut inside, mut at, mut last) = (self.row, start, NONE);
        // The element whose text was passed, if its tags may come again.
        let mut behind_text = None;
        loop {
            self.scanner.check_wanted().ok()?;
            let mut run = Run::new(at, inside);
            let next = self.tags(&mut run, last)?;
            self.built += run.built;
            if next == Next::Outside {
                return Some(run.end);
            }
            if let Some(inside) = behind_text {
                let inside: NameId = inside;
                self.places[inside as usize].runs.add(&run);
            }
            (inside, at, last, behind_text) = loop {
                self.scanner.check_wanted().ok()?;
                let inside = run.inside;
                let end = if let Some(column) = self.places[inside as usize].column {
                    let Some(end) = self.text_cell(column, run.end) else {
                        // The tag of a column ends with its name.
                        let end = self.element_cell(column, inside, run.end - 1)?;
                        break (self.row, end, inside, None);
                    };
                    end
                } else {
                    self.behind_text(run.end)?
                };
                let Some(known) = self.places[inside as usize].runs.find(self.bytes, end) else {
                    break (inside, end, NONE, Some(inside));
                };
                run = known;
                for _ in 0..run.rows {
                    self.cells.begin_row();
                }
                self.built += run.built;
                (self.has_members, self.has_text) = (true, self.has_text && run.rows == 0);
            };
        }
    }

    /// The place of the `<` behind the text at `at`.
    #[inline]
    pub(super) fn behind_text(&self, at: usize) -> Option<usize> {
        let mut at = at;
        loop {
            at = special_at(self.bytes, at);
            match self.bytes.get(at)? {
                b'<' => return Some(at),
                b'&' => at = self.scanner.reference(at).ok()?,
                _ if self.bytes[at..].starts_with(b"]]>") => return None,
                _ => at += 1,
            }
        }
    }

    /// Writes the text of a column, which starts at `start`, if it is all there is in its element; gives
    /// the place of the end tag.
    #[inline]
    fn text_cell(&mut self, column: usize, start: usize) -> Option<usize> {
        let at = behind_blanks(self.bytes, start);
        if self.cells.place(column).is_some() {
            return None;
        }
        let from = self.whole.out.len();
        let end = match self.bytes.get(at..)? {
            [b'<', b'!', ..] => self.attempt(at).character_data(at),
            [b'<', ..] => return None,
            _ => self.attempt(at).text(at, start),
        };
        let end = end.filter(|end| self.bytes.get(end + 1) == Some(&b'/'));
        if end.is_some() {
            self.cells.set(column, from, &self.whole.out);
        } else {
            self.whole.out.truncate(from);
        }
        end
    }

    /// Writes the element of a column, whose name ends at `name_end`; gives the place behind it.
    pub(super) fn element_cell(
        &mut self,
        column: usize,
        name: NameId,
        name_end: usize,
    ) -> Option<usize> {
        let cell = self.begin_cell(column)?;
        let mut attempt = self.attempt(name_end);
        attempt.read(name, name_end)?;
        let Attempt { at, built, .. } = attempt;
        self.built += built;
        self.end_cell(column, cell);
        Some(at)
    }

    pub(super) fn attempt(&mut self, at: usize) -> Attempt<'_, 't> {
        let room = Room { elements: usize::MAX, copied_bytes: usize::MAX };
        self.whole.attempt(&self.scanner, at, self.outside + 1, room)
    }

    /// Begins a value of a column in the last row: behind those it has, in one list with them.
    fn begin_cell(&mut self, column: usize) -> Option<Begun> {
        let out = &mut self.whole.out;
        let Some(place) = self.cells.place(column) else {
            return Some(Begun { start: out.len(), is_list: false });
        };
        // Only lists begin with a bracket.
        let is_list = out.get(place.start) == Some(&b'[');
        let is_last = place.end == out.len();
        if !is_list || !is_last {
            self.moved += place.len();
            if self.moved > self.bytes.len() {
                return None;
            }
        }
        let start = if is_last {
            place.start
        } else {
            let start = out.len();
            out.extend_from_within(place);
            start
        };
        if is_list {
            out.pop();
        } else {
            out.insert(start, b'[');
        }
        out.push(b',');
        Some(Begun { start, is_list: true })
    }

    fn end_cell(&mut self, column: usize, begun: Begun) {
        let out = &mut self.whole.out;
        if begun.is_list {
            out.push(b']');
        }
        self.cells.set(column, begun.start, out);
    }
}
