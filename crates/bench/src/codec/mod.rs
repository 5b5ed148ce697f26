//! The formats that are compared: one message to bytes and back (`docs/reference/bench.md`).
//!
//! In: a message as a value. Out: bytes, and the value again. JSON, XML, `MessagePack` and Protocol
//! Buffers are the codecs that qlio serves with ([`qlio_data::codec`]), decoding everything; how XML
//! is written, the length-prefixed struct and the HTTP text live here, because nothing else needs
//! them. What a codec cannot hold is an error that names it. Timing is done elsewhere.

mod equivalence;
mod error;
mod framing;
mod header_text;
mod length_prefixed;
mod positional;
mod xml_text;

use bytes::Bytes;
use qlio_data::{
    Value,
    codec::{
        DecodeLimits, json, msgpack,
        protobuf::{self, Message, ProtobufOptions},
        xml::{self, XmlOptions},
    },
    projection::Projection,
};

pub use self::{
    equivalence::{Leniency, difference},
    error::CodecError,
    framing::{frame, next_frame},
    positional::positional,
};

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON text.
    Json,
    /// XML text: members as elements, arrays as repeated ones.
    Xml,
    /// Protocol Buffers, with a schema.
    Protobuf,
    /// The head of an HTTP request.
    Http,
    /// Fields behind their lengths, without names.
    Struct,
    /// `MessagePack`, objects as arrays of their values.
    MsgpackArray,
    /// `MessagePack`, objects as maps.
    MsgpackMap,
}

impl Format {
    /// All formats, in the order they are shown.
    pub const ALL: [Self; 7] = [
        Self::Json,
        Self::Xml,
        Self::Protobuf,
        Self::Http,
        Self::Struct,
        Self::MsgpackArray,
        Self::MsgpackMap,
    ];

    /// As on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Xml => "xml",
            Self::Protobuf => "protobuf",
            Self::Http => "http",
            Self::Struct => "struct",
            Self::MsgpackArray => "msgpack-array",
            Self::MsgpackMap => "msgpack-map",
        }
    }

    /// The formats that a word of the command line means; `msgpack` means both modes.
    pub fn from_name(name: &str) -> Option<Vec<Self>> {
        if name == "msgpack" {
            return Some(vec![Self::MsgpackArray, Self::MsgpackMap]);
        }
        Self::ALL.into_iter().find(|format| format.name() == name).map(|format| vec![format])
    }

    /// Whether only a flat message of texts fits.
    pub fn is_flat(self) -> bool {
        matches!(self, Self::Http | Self::Struct)
    }
}

/// A format with what it needs to know beside the message.
#[derive(Debug, Clone)]
pub struct Codec {
    /// The format.
    pub format: Format,
    /// The message type, for Protocol Buffers.
    pub message: Option<Message>,
    /// The root element, for XML.
    pub root: String,
}

impl Codec {
    /// Appends a message.
    ///
    /// # Errors
    /// The format cannot hold it.
    pub fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<(), CodecError> {
        match self.format {
            Format::Json => {
                json::encode(value, out);
                Ok(())
            }
            Format::Xml => xml_text::encode(value, &self.root, out),
            Format::Protobuf => {
                out.extend_from_slice(&protobuf::encode(value, self.message()?)?);
                Ok(())
            }
            Format::Http => header_text::encode(value, out),
            Format::Struct => length_prefixed::encode(value, out),
            Format::MsgpackArray | Format::MsgpackMap => Ok(msgpack::encode(value, out)?),
        }
    }

    /// Reads a message, all of it: nothing stays undecoded.
    ///
    /// # Errors
    /// The bytes are not of this format.
    pub fn decode(&self, bytes: Bytes) -> Result<Value, CodecError> {
        let (all, limits) = (&Projection::All, &limits());
        let decoded = match self.format {
            Format::Json => json::decode(bytes, all, limits).map(|value| value.into_tree()),
            Format::Xml => {
                xml::decode(bytes, all, &xml_options(), limits).map(|value| value.into_tree())
            }
            Format::Protobuf => {
                let options = ProtobufOptions { defaults: true, ..ProtobufOptions::default() };
                protobuf::decode_tree(bytes, self.message()?, &options, limits)
            }
            Format::Http => return header_text::decode(&bytes),
            Format::Struct => return length_prefixed::decode(&bytes),
            Format::MsgpackArray | Format::MsgpackMap => msgpack::decode(bytes, all, limits),
        };
        let value = decoded.map_err(CodecError::Decode)?;
        // The root element is how XML says what a message is; the message is inside.
        Ok(if self.format == Format::Xml { value.member(&self.root) } else { value })
    }

    /// How much of a message may look different after a way through this format.
    pub fn leniency(&self) -> Leniency {
        match self.format {
            Format::Json | Format::MsgpackArray | Format::MsgpackMap => Leniency::EXACT,
            Format::Protobuf => Leniency::SCHEMA,
            Format::Xml => Leniency::TEXT,
            Format::Http | Format::Struct => Leniency::ORDER,
        }
    }

    /// Where the first message of a stream ends, if the format itself shows it.
    ///
    /// # Errors
    /// The stream ends inside the message.
    fn own_end(&self, stream: &[u8]) -> Option<Result<usize, CodecError>> {
        match self.format {
            Format::Http => Some(header_text::end(stream)),
            Format::Struct => Some(length_prefixed::end(stream)),
            _ => None,
        }
    }

    fn message(&self) -> Result<&Message, CodecError> {
        self.message.as_ref().ok_or(CodecError::NoMessageType)
    }
}

/// What is measured was encoded here, so only memory bounds it.
fn limits() -> DecodeLimits {
    DecodeLimits {
        decoded_bytes_max: crate::limits::CODEC_BUFFER_BYTES_MAX,
        elements_max: 16_000_000,
        ..DecodeLimits::default()
    }
}

fn xml_options() -> XmlOptions {
    // Numbers become numbers only if they print as the same text again; nothing is lost.
    XmlOptions { coerce: xml::Coerce::Safe, arrays: xml::ArrayPaths::default() }
}

#[cfg(test)]
mod tests;
