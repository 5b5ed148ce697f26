//! Routes: which stored script answers a request, and with which inputs.
//!
//! ```text
//! route clause text ──template──▶ RouteTemplate ──matcher (at load)──▶ Matcher
//! method, raw path  ──matcher───▶ PathMatch     ──variant─────────────▶ route id, scope
//! ```
//!
//! Everything that depends on the route files only is compiled at load; a request costs one walk
//! over a tree of path segments and a comparison of the few variants of one path. Nothing here
//! knows of HTTP messages, scripts or the engine. Rules: SRV-7 to SRV-19.

pub(crate) mod matcher;
pub(crate) mod method;
pub(crate) mod segment;
pub(crate) mod template;
pub(crate) mod variant;

pub(crate) use matcher::{
    Lookup, Matcher, NotChosen, PathMatch, RouteFault, RouteFaultKind, RouteSpec,
};
pub(crate) use method::Method;
pub(crate) use variant::MissingParameters;
