//! The subcommands of `qlio bench`: each takes options, measures, and fills a report.

pub mod codecs;
pub mod go;
pub mod load;
pub mod matrix;
pub mod ops;
mod sample;
mod subject;
mod timing;
mod wording;
pub mod workers;

pub use self::{sample::SampleFiles, subject::Subject};
