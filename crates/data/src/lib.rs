//! Values, and every way between bytes and values.
//!
//! ```text
//! upstream bytes ──codec::decode(bytes, projection)──▶ Value ──path, template──▶ Value ──encode──▶ bytes
//! ```
//!
//! In: bytes of an answer and the [`Projection`](projection::Projection) that says which parts are
//! wanted. Out: [`Value`]s, and text or bytes again. The crate knows nothing of scripts, tables or
//! requests; it is pure, does no I/O and bounds its recursion everywhere.

pub mod codec;
pub mod compute;
pub mod credential;
pub mod mutable_uri;
pub mod params;
pub mod path;
pub mod percent;
pub mod projection;
pub mod redact;
pub mod scope;
pub mod template;
pub mod uri_template;
pub mod value;

pub use params::Params;
pub use scope::Scope;
pub use value::{Number, Object, Text, Value};
