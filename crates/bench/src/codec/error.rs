//! Why a message cannot be written or read in a format.

use qlio_data::codec::{DecodeError, EncodeError, protobuf};

use super::xml_text::DEPTH_MAX;

/// Why a message cannot be written or read in a format.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// What the format writes is a set of named members.
    #[error("{0} holds one object")]
    NoObject(&'static str),
    /// A field of a struct is no text.
    #[error("a struct holds texts; `{0}` is none")]
    NoText(String),
    /// A field has more bytes than its length can say.
    #[error("`{0}` has {1} bytes, more than the 65,535 of a struct")]
    LongField(String, usize),
    /// A struct has more bytes than its length can say.
    #[error("the message has {0} bytes, more than the 65,535 of a struct")]
    LongStruct(usize),
    /// The bytes end before the message does.
    #[error("{0} is cut off")]
    CutOff(String),
    /// The message ends before the bytes do.
    #[error("{0}")]
    Rest(&'static str),
    /// A text is none.
    #[error("{0} is not UTF-8")]
    NotUtf8(String),
    /// A part of the request line is missing or would end it.
    #[error("the request line needs `{0}` as text without blanks")]
    RequestPart(String),
    /// A header is no line.
    #[error("an HTTP head holds lines of text; `{0}` is none")]
    NoLine(String),
    /// The first line is no request.
    #[error("the request line has not three parts")]
    NoRequestLine,
    /// The first line ends otherwise.
    #[error("the version is not that of HTTP")]
    NoVersion,
    /// XML is not written deeper.
    #[error("nested deeper than {DEPTH_MAX}")]
    Deep,
    /// A member's name is none of XML.
    #[error("`{0}` cannot be the name of an XML element")]
    ElementName(String),
    /// XML has no way to write a character.
    #[error("the control character U+{0:04X} cannot be in XML")]
    Control(u8),
    /// Protocol Buffers are written by a type.
    #[error("no message type is known")]
    NoMessageType,
    /// A frame begins otherwise.
    #[error("a message does not begin with its length")]
    NoLength,
    /// Bytes are not of the format.
    #[error("{} at byte {}", .0.reason, .0.offset)]
    Decode(DecodeError),
    /// A value does not fit the message type.
    #[error(transparent)]
    Message(#[from] protobuf::EncodeError),
    /// A value does not fit the format.
    #[error(transparent)]
    Value(#[from] EncodeError),
}
