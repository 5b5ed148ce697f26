//! How much answers tell clients about the inside: choices of the settings `errors` and `metadata`.

/// How much the body of an error says (setting `errors`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorDetail {
    /// As much as a client needs; the rest is in the log, under the incident id.
    #[default]
    Brief,
    /// Also URIs, places in files, and what upstreams answered.
    Full,
}

/// How much of the catalog is told (setting `metadata`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum MetadataScope {
    /// Nothing.
    None,
    /// Routes.
    #[default]
    Routes,
    /// Routes and tables.
    All,
}
