//! Protocol Buffers to values and back (FMT-31 to FMT-35).
//!
//! In: a [`Schema`] (read once, when tables are loaded), the [`Message`] that a body is, and what to
//! keep of it. Out: a value in the JSON mapping of Protocol Buffers, or in the one of the low-level
//! binding that ql.io 0.8 used. The wire is walked with tables made from the schema: fields that
//! nobody asked for are passed by their length, texts are slices of the body.
//!
//! It promises never to trust a length, to bound nesting at [`DEPTH_MAX`], and to answer malformed
//! input with `Malformed protobuf message: …` and the offset. What it passes without looking inside
//! are length-delimited fields that are not kept; their length is checked, their content is not.
//! It knows the methods of services, but does not speak gRPC.
//!
//! Messages that are kept whole are not taken apart: they become JSON text at once, and a raw value.
//!
//! Read on in `schema` (loading), `tables` (what the walk needs), `plan` (projection), `decode` (messages and fields),
//! `text` (kept whole), `rows` (plain columns), `well_known`, `encode`.

mod decode;
mod encode;
mod encode_well_known;
mod plan;
mod required;
mod rows;
mod scalar;
mod schema;
mod tables;
mod text;
mod well_known;
mod wire;

use std::sync::Arc;

use self::tables::Tables;
pub use self::{
    decode::{decode, decode_tree},
    encode::{EncodeError, encode},
    rows::decode_rows,
    schema::{Method, Schema, SchemaError},
};

const FORMAT: &str = "Protocol Buffers";
/// Nesting that is read and written at most (FMT-26).
pub const DEPTH_MAX: usize = 100;

/// A message type of a schema.
#[derive(Debug, Clone)]
pub struct Message {
    tables: Arc<Tables>,
    index: usize,
}

impl Message {
    /// The full name: `package.Message`.
    pub fn full_name(&self) -> &str {
        &self.tables.messages[self.index].full_name
    }

    /// Another message type of the same schema, by its full name.
    pub fn sibling(&self, full_name: &str) -> Option<Self> {
        let index = *self.tables.message_names.get(full_name)?;
        Some(Self { tables: Arc::clone(&self.tables), index })
    }

    /// Whether there is a field of this JSON or declared name.
    pub fn has_field(&self, name: &str) -> bool {
        self.tables.messages[self.index].by_name(name).is_some()
    }
}

/// How messages map to values (`using format … mapping …`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mapping {
    /// The JSON mapping of Protocol Buffers.
    #[default]
    Proto3,
    /// As the low-level binding of ql.io 0.8 had it: 64-bit integers as rounded numbers, floats
    /// widened, nothing special about well-known types.
    LowLevel,
}

/// Which names members get (`using format … names …`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Names {
    /// `lowerCamelCase`, or `json_name` where the schema gives one.
    #[default]
    Json,
    /// As declared.
    Proto,
}

/// How a message is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProtobufOptions {
    /// `mapping`; default `proto3`.
    pub mapping: Mapping,
    /// `names`; default `json`.
    pub names: Names,
    /// `defaults on`: unset fields without presence print their default. Not in the low-level
    /// mapping. Default off.
    pub defaults: bool,
}

#[cfg(test)]
mod tests;
