//! Inserts, updates and deletes, on tables and on variables.

use qlio_data::{Text, template::Template};

use super::{Condition, Delays, Operand, Source};

/// Insert or update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// `insert into`.
    Insert,
    /// `update`.
    Update,
}

/// An insert or update.
#[derive(Debug)]
pub struct Write {
    /// Which of the two.
    pub kind: WriteKind,
    /// Where to.
    pub target: Source,
    /// The values.
    pub values: WriteValues,
    /// The client's attachments to send on.
    pub parts: Vec<Template>,
    /// Bounds.
    pub delays: Delays,
    /// 1-based line, for hooks and messages.
    pub line: u32,
    /// The variable it binds, for hooks.
    pub assign: Option<Text>,
}

/// The content that an insert or update sends (CON-49).
#[derive(Debug)]
pub enum WriteValues {
    /// Column and value pairs.
    Pairs(Vec<(Text, Operand)>),
    /// Text that becomes the body as it is.
    Opaque(Operand),
    /// The members of an object.
    Object(Template),
    /// Nothing; an insert then sends the client's body.
    None,
}

/// A delete.
#[derive(Debug)]
pub struct Delete {
    /// Where from.
    pub target: Source,
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// Bounds.
    pub delays: Delays,
    /// 1-based line, for hooks and messages.
    pub line: u32,
    /// The variable it binds, for hooks.
    pub assign: Option<Text>,
}

impl WriteKind {
    /// The statement's keyword.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
        }
    }
}
