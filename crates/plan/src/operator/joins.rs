//! Selects from several sources, and selects inside of expressions: which source is read when, and by what
//! its rows are found (JOI-15 to JOI-24, SUB-1 to SUB-7).
//!
//! The sources of a select are numbered in the order of its text, and a [`Side`] is such a number. Behind them
//! stands, as one more source, what the select reads of the rows around it, and then one source for each
//! select inside of its expressions. So a value that a sub-select gave is a column like any other.

use qlio_data::Text;

use super::{Program, Pushed, Scan, Select, Side};

/// How the sources of a select become rows.
#[derive(Debug)]
pub struct Joins {
    /// The sources behind the first, in text order.
    pub scans: Vec<Scan>,
    /// The columns of the rows around that this select reads; empty if it reads none.
    pub around: Vec<(Side, usize)>,
    /// When each source is read, in this order.
    pub placements: Vec<Placement>,
    /// Sources are read in the order of the text, so rows come in theirs.
    pub is_in_order: bool,
    /// What tests make the table of a source ask for, whatever its rows hold (TAB-25).
    pub pushed: Vec<(usize, Pushed)>,
    /// The selects inside of expressions that depend on the row.
    pub nested: Vec<Nested>,
}

impl Joins {
    /// The number of sources, without rows around and sub-selects.
    pub fn source_count(&self) -> usize {
        self.scans.len() + 1
    }

    /// Where the columns of the rows around stand.
    pub fn around_side(&self) -> Side {
        Side::at(self.source_count())
    }

    /// Where the values of a sub-select stand.
    pub fn nested_side(&self, place: usize) -> Side {
        Side::at(self.source_count() + 1 + place)
    }

    /// The scan of a source; the first is that of the select.
    pub fn scan<'j>(&'j self, select: &'j Select, source: usize) -> &'j Scan {
        match source.checked_sub(1).and_then(|place| self.scans.get(place)) {
            Some(scan) => scan,
            None => &select.scan,
        }
    }
}

/// A source as it comes to the rows that are there.
#[derive(Debug)]
pub struct Placement {
    /// Its number.
    pub source: usize,
    /// Rows without a partner stay, without it.
    pub is_left: bool,
    /// How its rows are read.
    pub reading: Reading,
    /// How many sources must be there before its table can be asked.
    pub asked_behind: usize,
    /// What must be equal; rows are found by it.
    pub keys: Vec<Equality>,
    /// What must hold besides for a row to be a partner.
    pub test: Option<Program>,
    /// What must hold for the joined rows that come out, those without a partner included.
    pub filter: Option<Program>,
}

/// How the rows of a source are read.
#[derive(Debug)]
pub enum Reading {
    /// All at once, whatever the other sources hold.
    Whole,
    /// A table is asked for the values of rows that are there.
    Asked(Vec<Binding>),
    /// Lists in rows that are there.
    Elements {
        /// Of which source.
        side: Side,
        /// In which column.
        column: usize,
    },
}

/// A parameter that rows give its value.
#[derive(Debug)]
pub struct Binding {
    /// The name of the parameter.
    pub parameter: Text,
    /// Its value.
    pub value: Program,
    /// The table declares which column tells the rows of one value from those of another, so it is asked for
    /// many values at once.
    pub is_declared: bool,
}

/// Two values that must be equal.
#[derive(Debug)]
pub struct Equality {
    /// The one of the rows that are there.
    pub value: Program,
    /// The key column of the new source.
    pub column: usize,
    /// What nothing is equal to.
    pub nulls: NullKeys,
    /// The answer of a table holds what equals it, so it is not tested again.
    pub is_answered: bool,
}

/// What keys without a value meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullKeys {
    /// Null meets null, and what is absent meets nothing.
    OnlyNull,
    /// They meet nothing, as in `on` and between a sub-select and the rows around it.
    Never,
}

/// A select inside of an expression that depends on the row: it is run for all rows at once.
#[derive(Debug)]
pub struct Nested {
    /// The select.
    pub select: Select,
    /// What its rows give.
    pub manner: NestedManner,
    /// Before what its values are needed.
    pub stage: Stage,
}

/// What the rows of a select inside of an expression give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestedManner {
    /// The one row; null if there is none.
    One,
    /// A list of all rows.
    List,
    /// Whether there is a row.
    Exists,
}

/// The steps of a select that can need values of sub-selects, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The filter.
    Filter,
    /// The order.
    Order,
    /// The output.
    Output,
}
