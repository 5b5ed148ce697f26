//! Placeholder.

pub mod transport;
