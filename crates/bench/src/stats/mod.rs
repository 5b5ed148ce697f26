//! The arithmetic behind the figures. Pure: in go numbers, out come numbers.
//!
//! [`Moments`] is mean and population deviation of a run of any length, [`Latency`] percentiles,
//! [`Estimate`] a rate with its error, [`groups`] which rates cannot be told apart.

mod estimate;
pub mod groups;
mod latency;
mod moments;

pub use self::{
    estimate::{Estimate, student_t},
    latency::Latency,
    moments::Moments,
};
