//! Bodies of requests from templates that need no script, and the escaping that all templates share.
//!
//! Forms are expanded by `qlio_data::uri_template`, EJS is rendered in the sandbox.

pub(crate) mod escape;
pub(crate) mod mustache;
