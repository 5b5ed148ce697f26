//! Renderers of body templates that need no script (`connectors.md` 2.6).
//!
//! Forms are expanded by `qlio_data::uri_template`, ejs is rendered in the sandbox.

pub(crate) mod mustache;
