//! Measuring: load on servers, scaling of a gateway, formats against each other
//! (`docs/reference/bench.md`).
//!
//! ```text
//! options ─▶ command ─▶ (process: upstream, gateway) ─▶ load / codec ─▶ stats ─▶ report ─▶ text, JSON, CSV, SVG, HTML
//! ```
//!
//! In: options that somebody has read from a command line, and the path of the executable that serves.
//! Out: a [`report::Report`], or a [`BenchError`]. The crate knows nothing of scripts and plans: the
//! gateway that it measures is another process, the one that is deployed. It prints nothing, reads no
//! environment, and sends load nowhere but to loopback unless it is told to.

pub mod chart;
pub mod codec;
pub mod command;
pub mod data;
pub mod environment;
mod error;
pub mod limits;
pub mod load;
pub mod process;
mod random;
pub mod report;
pub mod seeds;
pub mod stats;
mod stop;
pub mod upstream;

pub use self::{error::BenchError, stop::Stop};
