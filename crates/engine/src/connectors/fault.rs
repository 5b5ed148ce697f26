//! What can go wrong with a connector out of process.

use std::fmt;

use http::StatusCode;
use qlio_data::codec::DecodeError;
use qlio_plan::catalog::DescriptionError;

use super::remote::{DESCRIBE_PATIENCE, LINES};
use crate::transport::TransportError;

/// Why what a connector answered is no answer to a statement.
#[derive(Debug, Clone)]
pub enum AnswerFault {
    /// It is of a type that is not read.
    MediaType(String),
    /// It is no JSON.
    NotJson {
        /// The status that it came with.
        status: StatusCode,
        /// Why it is none.
        error: DecodeError,
    },
    /// A failure does not say what has failed.
    NoError(StatusCode),
    /// It is no object.
    NoObject,
    /// It has neither rows nor a value.
    NothingInIt,
    /// Its rows are no list.
    RowsNoList,
    /// What the next page is asked for by is no text but this.
    NextNoText(String),
    /// One of its lines is no JSON.
    LineNotJson {
        /// Which one, from 1 on.
        line: usize,
        /// Why it is none.
        error: DecodeError,
    },
    /// One of its lines is neither a row nor an end.
    NothingInLine(usize),
    /// Its lines stop before the one that ends them.
    NoEnd,
}

impl fmt::Display for AnswerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MediaType(found) => {
                write!(f, "it answered with `{found}`, not with `application/json` or `{LINES}`")
            }
            Self::NotJson { status, error } => {
                let at = error.offset;
                write!(f, "it answered with {status} and no JSON, at byte {at}: {error}")
            }
            Self::NoError(status) => write!(f, "it answered with {status} and no `error`"),
            Self::NoObject => f.write_str("it answered with no object"),
            Self::NothingInIt => f.write_str("it answered with neither `rows` nor `value`"),
            Self::RowsNoList => f.write_str("`rows` of its answer is no list"),
            Self::NextNoText(found) => write!(f, "`next` of its answer is {found}, no text"),
            Self::LineNotJson { line, error } => {
                let at = error.offset;
                write!(f, "line {line} of its answer is no JSON, at byte {at}: {error}")
            }
            Self::NothingInLine(line) => {
                write!(f, "line {line} of its answer has no `row`, `end` or `error`")
            }
            Self::NoEnd => f.write_str("its answer stops before the line `{\"end\": true}`"),
        }
    }
}

impl std::error::Error for AnswerFault {}

/// Why a connector could not be asked.
#[derive(Debug, Clone)]
pub enum AskError {
    /// Its file has a header that cannot be sent.
    Header(TransportError),
    /// The request failed.
    Transport(TransportError),
    /// No answer came in time.
    Silence {
        /// From whom.
        uri: String,
    },
    /// It does not say what it can do.
    Status {
        /// Who does not.
        uri: String,
        /// What it says instead.
        status: StatusCode,
    },
    /// What it can do is no JSON.
    NotJson {
        /// Who says so.
        uri: String,
        /// Why it is none.
        error: DecodeError,
    },
    /// What it can do is nothing that a connector can say.
    Description {
        /// Who says so.
        uri: String,
        /// What is wrong with it.
        fault: DescriptionError,
    },
    /// Nobody could ask: this thread or its timer failed.
    NotAsked(String),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(error) | Self::Transport(error) => error.fmt(f),
            Self::Silence { uri } => {
                write!(f, "{uri} did not answer within {} s", DESCRIBE_PATIENCE.as_secs())
            }
            Self::Status { uri, status } => write!(f, "{uri} answered with {status}"),
            Self::NotJson { uri, error } => {
                write!(f, "{uri} answered with no JSON, at byte {}: {error}", error.offset)
            }
            Self::Description { uri, fault } => write!(f, "{uri}: {fault}"),
            Self::NotAsked(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for AskError {}
