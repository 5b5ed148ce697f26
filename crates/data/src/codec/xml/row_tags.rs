//! The tags of rows, one by one.
//!
//! In: the place behind a text or an element of a row. Out: the run of tags there, up to the next text. What
//! is more than a name in brackets is read by [`Scanner`](super::scan::Scanner).

use super::{
    names::{NONE, NameId},
    rows::{Place, RowReader},
    runs::{Run, Runs},
    scan::Event,
    whole::behind_blanks,
};

/// Elements inside each other in a row, columns not counted.
const LEVELS_MAX: u8 = 32;

/// The kind of content behind a run of tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A text, or whatever there is in a column, in the innermost element.
    Text,
    /// Content that belongs to no row, behind the last one.
    Outside,
}

/// A part of a row that was read.
#[derive(Debug, Clone, Copy)]
enum Seen {
    /// The start of an element, whose members come next.
    Start,
    /// The end of the innermost element.
    End,
    /// A whole member of it.
    Member(NameId),
    Text,
}

impl RowReader<'_, '_> {
    /// Reads tags up to a text, or to a column in which there may be one.
    pub(super) fn tags(&mut self, run: &mut Run, last: NameId) -> Option<Next> {
        let mut last = last;
        loop {
            let at = behind_blanks(self.bytes, run.end);
            let seen = match self.bytes.get(at..)? {
                [b'<', b'/', ..] => {
                    match self.whole.names.behind_end_tag(run.inside, self.bytes, at) {
                        Some(end) => {
                            run.end = end;
                            Seen::End
                        }
                        None => self.event(run, at)?,
                    }
                }
                [b'<', b'!' | b'?', ..] => self.event(run, at)?,
                [b'<', ..] => self.start_tag(run, at, last)?,
                _ if run.inside == self.row => {
                    self.text_of_row(run, at)?;
                    Seen::Text
                }
                _ => return Some(Next::Text),
            };
            last = match seen {
                Seen::Text => last,
                Seen::Start => NONE,
                Seen::Member(name) => name,
                Seen::End if run.inside == self.row => {
                    // A row of text only is no object.
                    if self.has_text && !self.has_members {
                        return None;
                    }
                    if !self.next_row(run) {
                        return Some(Next::Outside);
                    }
                    NONE
                }
                Seen::End => {
                    let name = run.inside;
                    run.inside = self.places[name as usize].parent;
                    name
                }
            };
            if self.places[run.inside as usize].column.is_some() {
                return Some(Next::Text);
            }
        }
    }

    /// Begins another row behind the end of one, if there is one whose start tag has no attributes.
    fn next_row(&mut self, run: &mut Run) -> bool {
        let at = behind_blanks(self.bytes, run.end);
        let is_tag = self.bytes.get(at) == Some(&b'<');
        let end = self.whole.names.end_of(self.row, self.bytes, at + 1).filter(|_| is_tag);
        let Some(end) = end.filter(|end| self.bytes.get(*end) == Some(&b'>')) else { return false };
        run.end = end + 1;
        run.rows += 1;
        run.built += 1;
        self.cells.begin_row();
        (self.has_members, self.has_text) = (false, false);
        true
    }

    /// Reads the start tag at `at`, behind the member `last`.
    fn start_tag(&mut self, run: &mut Run, at: usize, last: NameId) -> Option<Seen> {
        let (name, end) = self.whole.names.next(self.bytes, at + 1, run.inside, last)?;
        self.enter(name, run.inside)?;
        let column = self.places[name as usize].column;
        match (column, self.bytes.get(end..)?) {
            (_, [b'>', ..]) => {
                run.built += usize::from(column.is_some());
                (run.inside, run.end) = (name, end + 1);
                Some(Seen::Start)
            }
            (None, [b'/', b'>', ..]) => {
                run.end = end + 2;
                Some(Seen::Member(name))
            }
            (None, _) => self.event(run, at),
            (Some(column), _) => {
                run.is_constant = false;
                run.end = self.element_cell(column, name, end)?;
                Some(Seen::Member(name))
            }
        }
    }

    /// Reads what comes next in the general way.
    fn event(&mut self, run: &mut Run, at: usize) -> Option<Seen> {
        let Self { scanner, whole, places, .. } = self;
        scanner.open.truncate(self.outside);
        let mut inside = run.inside;
        while inside != self.row {
            scanner.open.push(whole.names.name(inside).range());
            inside = places[inside as usize].parent;
        }
        scanner.open.push(whole.names.name(inside).range());
        scanner.open[self.outside..].reverse();
        scanner.at = at;
        let event = scanner.next().ok()?;
        run.end = scanner.at;
        Some(match event {
            Event::Start { name: range, is_empty } => {
                let (name, _) = whole.names.find(self.bytes, range.start, run.inside)?;
                self.enter(name, run.inside)?;
                match self.places[name as usize].column {
                    Some(column) => {
                        run.is_constant = false;
                        run.end = self.element_cell(column, name, range.end)?;
                        Seen::Member(name)
                    }
                    None if is_empty => Seen::Member(name),
                    None => {
                        run.inside = name;
                        Seen::Start
                    }
                }
            }
            Event::End => Seen::End,
            Event::Text { .. } | Event::CharacterData(_) if run.inside != self.row => Seen::Text,
            Event::Text { .. } | Event::CharacterData(_) if self.text_column.is_none() => {
                // Blank text is none, but then the general way says so.
                self.has_text = true;
                Seen::Text
            }
            Event::Text { .. } | Event::CharacterData(_) | Event::Done => return None,
        })
    }

    /// Reads the text of a row, beside its members, that is at `at`.
    fn text_of_row(&mut self, run: &mut Run, at: usize) -> Option<()> {
        let had_text = std::mem::replace(&mut self.has_text, true);
        let Some(column) = self.text_column else {
            run.end = self.behind_text(at)?;
            return Some(());
        };
        // Several texts would be joined.
        if had_text {
            return None;
        }
        let from = self.whole.out.len();
        run.is_constant = false;
        run.end = self.attempt(at).text(at, run.end)?;
        self.cells.set(column, from, &self.whole.out);
        Some(())
    }

    /// Notes the start of an element of a row, unless it is too deep.
    fn enter(&mut self, name: NameId, parent: NameId) -> Option<()> {
        self.make_place(name);
        self.has_members |= parent == self.row;
        if self.places[name as usize].level == 0 {
            let level = self.places[parent as usize].level + 1;
            let text = &self.scanner.text[self.whole.names.name(name).range()];
            let column = self.column(text).filter(|_| parent == self.row);
            self.places[name as usize] = Place { parent, level, column, runs: Runs::default() };
        }
        let level = self.places[name as usize].level;
        let depth = self.outside + usize::from(level);
        (level <= LEVELS_MAX && depth < self.scanner.depth_max).then_some(())
    }

    pub(super) fn make_place(&mut self, name: NameId) {
        if self.places.len() <= name as usize {
            self.places.resize(name as usize + 1, Place::default());
        }
    }

    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| *column == name)
    }
}
