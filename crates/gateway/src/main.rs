//! The `qlio` binary.
fn main() {}
