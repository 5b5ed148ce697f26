//! Local operators: what is done with values that are already here.
//!
//! [`filter`], [`limit`] and [`project`] turn a value into [`rows`], [`join`] combines two halves,
//! [`gather`] merges the answers of a fan-out, [`shape`] turns rows into the value of the statement,
//! [`write`] changes variables. Rows of plain columns stay text on the way ([`cells`]). All cost time
//! linear in their input and output (`decisions.md` 17).

mod cell_join;
pub(crate) mod cells;
pub(crate) mod filter;
pub(crate) mod gather;
pub(crate) mod join;
pub(crate) mod limit;
pub(crate) mod project;
pub(crate) mod rows;
pub(crate) mod shape;
pub(crate) mod write;
