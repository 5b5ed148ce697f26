//! Local operators: what is done with values and rows that are already here.
//!
//! [`filter`] and [`limit`] work on the value of a variable, [`project`] reads columns of it or of an
//! answer, [`opening`] looks into variables that are still text, [`gather`] puts the rows of a scatter
//! together, [`join`] finds the rows of two sources that meet ([`join_keys`] by what, [`null_keys`] what null meets), [`program`] computes expressions for rows,
//! [`sort`] orders them by their [`sort_keys`], [`shape`] turns rows into the value of the statement, [`write`](mod@write) changes the
//! value of a variable. All of them see rows as [`rows`] has them, be they text or values, and those of a
//! statement as [`tuples`], and make long lists of their numbers in [`pieces`]; none waits for anything but a heavy thread: what they need of the network or of
//! functions, the executor hands in. All cost time linear in their input and output.

pub(crate) mod filter;
pub(crate) mod gather;
mod hash_index;
pub(crate) mod join;
pub(crate) mod join_keys;
pub(crate) mod limit;
pub(crate) mod null_keys;
pub(crate) mod opening;
pub(crate) mod pieces;
pub(crate) mod program;
pub(crate) mod project;
pub(crate) mod rows;
pub(crate) mod shape;
pub(crate) mod sort;
pub(crate) mod sort_keys;
pub(crate) mod tuples;
pub(crate) mod write;
