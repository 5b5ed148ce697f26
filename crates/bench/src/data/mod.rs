//! The data sets that are measured: made here, the same bytes on every machine (`docs/reference/bench.md`).
//!
//! [`header`] is one small flat message, [`hotel`] a list with nested lists of flat records, [`items`]
//! what a marketplace answers, [`scenario`] what the upstreams of the scripts A to D answer, and
//! [`schema`] the same as Protocol Buffers.

pub mod header;
pub mod hotel;
pub mod items;
pub mod scenario;
pub mod schema;

use qlio_data::{Number, Object, Value};

/// The seed of all data, and of think times unless the user gives another.
pub const SEED: u64 = 20_120_622;

/// What one message looks like (`--shape`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Six short texts.
    Header,
    /// Fifty hotels of five rooms.
    Hotel,
    /// Fifty items of a marketplace.
    Items,
}

impl Shape {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Hotel => "hotel",
            Self::Items => "items",
        }
    }

    /// One message.
    pub fn value(self) -> Value {
        match self {
            Self::Header => header::message(),
            Self::Hotel => hotel::message(hotel::HOTELS, hotel::ROOMS),
            Self::Items => items::message(),
        }
    }

    /// The name of the message in [`schema`].
    pub fn message_name(self) -> &'static str {
        match self {
            Self::Header => "bench.Header",
            Self::Hotel => "bench.Hotels",
            Self::Items => "bench.FindResponse",
        }
    }

    /// The root element when it is written as XML.
    pub fn root(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Hotel => "hotels",
            Self::Items => "findResponse",
        }
    }
}

/// An object of these members.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::object(members.into_iter().collect::<Object>())
}

/// A number; one that JSON cannot hold becomes null.
pub fn number(number: f64) -> Value {
    if number.is_finite() { Value::Number(Number::Float(number)) } else { Value::Null }
}

/// Text.
pub fn text(text: impl AsRef<str>) -> Value {
    Value::string(text.as_ref())
}
