//! The data sets as Protocol Buffers.

use std::sync::LazyLock;

use qlio_data::codec::protobuf::{Message, Schema};

use super::Shape;

/// The name that the schema is served and stored under.
pub const FILE: &str = "bench.proto";
/// The schema of all data sets.
pub const TEXT: &str = include_str!("bench.proto");

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::from_proto(FILE, TEXT, &mut |_| None).expect("the schema is a constant that compiles")
});

/// The message type of a shape.
///
/// # Panics
/// Never: every shape has its message in the schema, which a test checks.
pub fn message(shape: Shape) -> Message {
    SCHEMA.message(shape.message_name()).expect("every shape has its message in the schema")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_has_its_message() {
        for shape in [Shape::Header, Shape::Hotel, Shape::Items] {
            assert_eq!(message(shape).full_name(), shape.message_name());
        }
    }
}
