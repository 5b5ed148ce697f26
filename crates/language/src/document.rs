//! Open texts: what the editor shows, kept in step with it by its changes.
//!
//! In: the notifications of the protocol. Out: [`Document`], a text with the index of its positions.
//! A change that does not fit its text, or that would make it too large, leaves the document out of
//! step; nothing is answered about such a one until it is opened again.

use std::{fmt, sync::Arc};

use qlio_data::Value;
use qlio_syntax::source::Span;

use crate::{
    json::{number_at, text_at},
    position::Positions,
};

/// Longest text that is kept, in bytes; the parser itself takes less.
pub const TEXT_BYTES_MAX: usize = 16 << 20;

/// Bytes that the changes of one message may move, all together; each change may move its whole text.
const MOVED_BYTES_MAX: usize = 1 << 30;

/// Why we do not know what a document holds. The changes of a message have numbers from 1 on.
#[derive(Debug)]
pub(crate) enum DocumentError {
    Missing(&'static str),
    TooLarge,
    Late { new: u64, old: u64 },
    NoText(usize),
    TooMany(usize),
    Range(usize),
    Growth(usize),
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "the document has no `{name}`"),
            Self::TooLarge => write!(f, "the text is larger than {TEXT_BYTES_MAX} bytes"),
            Self::Late { new, old } => write!(f, "change {new} arrived behind change {old}"),
            Self::NoText(n) => write!(f, "change {n} has no text"),
            Self::TooMany(n) => write!(f, "change {n} is one too many for a text of this size"),
            Self::Range(n) => write!(f, "change {n} has a range that ends before it begins"),
            Self::Growth(n) => {
                write!(f, "change {n} makes the text larger than {TEXT_BYTES_MAX} bytes")
            }
        }
    }
}

impl std::error::Error for DocumentError {}

/// A text with the index of its positions.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    /// The text.
    pub(crate) text: Arc<str>,
    /// Where its lines are.
    pub(crate) positions: Positions,
}

impl Document {
    /// The document of a text.
    pub(crate) fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        Self { positions: Positions::of(&text), text }
    }

    /// The range of a span.
    pub(crate) fn range(&self, span: Span) -> Value {
        self.positions.range(&self.text, span)
    }

    /// The span of a range.
    pub(crate) fn span(&self, range: &Value) -> Option<Span> {
        self.positions.span(&self.text, range)
    }

    /// The text of a span.
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// The range of the whole text.
    pub(crate) fn whole(&self) -> Value {
        self.range(Span::new(0, self.text.len() as u32))
    }

    /// Applies the `contentChanges` of a message, one after the other.
    ///
    /// # Errors
    /// Says which change does not fit.
    pub(crate) fn apply(&mut self, changes: &[Value]) -> Result<(), DocumentError> {
        let mut text = self.text.to_string();
        let mut positions = None;
        let mut moved = 0_usize;
        for (number, change) in (1..).zip(changes) {
            let new = text_at(change, &["text"]).ok_or(DocumentError::NoText(number))?;
            moved = moved.saturating_add(text.len() + new.len());
            if moved > MOVED_BYTES_MAX {
                return Err(DocumentError::TooMany(number));
            }
            let range = change.member("range");
            if range.is_nothing() {
                text = new;
            } else {
                let index = positions.get_or_insert_with(|| Positions::of(&text));
                let span = index.span(&text, &range).ok_or(DocumentError::Range(number))?;
                text.replace_range(span.range(), &new);
            }
            positions = None;
            if text.len() > TEXT_BYTES_MAX {
                return Err(DocumentError::Growth(number));
            }
        }
        *self = Self::new(text);
        Ok(())
    }
}

/// A text that an editor has open.
#[derive(Debug)]
pub(crate) struct OpenDocument {
    /// Its name as the editor writes it.
    pub(crate) uri: String,
    /// The number of its last change.
    pub(crate) version: Option<u64>,
    /// What it holds, or why we do not know.
    pub(crate) content: Result<Document, DocumentError>,
}

impl OpenDocument {
    /// Opens the `textDocument` of a message.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn open(item: &Value) -> Result<Self, DocumentError> {
        let uri = text_at(item, &["uri"]).ok_or(DocumentError::Missing("uri"))?;
        let text = text_at(item, &["text"]).ok_or(DocumentError::Missing("text"))?;
        let version = number_at(item, &["version"]);
        let content = if text.len() > TEXT_BYTES_MAX {
            Err(DocumentError::TooLarge)
        } else {
            Ok(Document::new(text))
        };
        Ok(Self { uri, version, content })
    }

    /// Changes it; from a change that does not fit on, what it holds is unknown, until a change
    /// brings the whole text.
    pub(crate) fn change(&mut self, version: Option<u64>, changes: &[Value]) {
        let is_whole = changes.first().is_some_and(|first| first.member("range").is_nothing());
        if let (Some(old), Some(new)) = (self.version, version)
            && new <= old
            && !is_whole
        {
            self.content = Err(DocumentError::Late { new, old });
            return;
        }
        self.version = version.or(self.version);
        if is_whole && self.content.is_err() {
            self.content = Ok(Document::new(""));
        }
        let Ok(document) = &mut self.content else { return };
        if let Err(error) = document.apply(changes) {
            self.content = Err(error);
        }
    }
}
