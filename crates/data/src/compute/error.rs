//! Why something could not be computed.

use std::fmt;

use super::kind::describe;
use crate::Value;

/// What was wrong with an operation or a call, without the place: rows, paths and lines are added
/// by whoever evaluates the expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComputeError {
    /// An operand or argument of a kind that the operation does not take.
    WrongOperand {
        /// Which one, from 0.
        position: usize,
        /// The value as messages name it: `the text "n/a"`.
        found: String,
        /// What it should be: `a number`.
        wanted: &'static str,
    },
    /// An operand of the right kind with a value that means nothing here.
    Invalid {
        /// Which one, from 0.
        position: usize,
        /// A sentence without its full stop.
        reason: String,
    },
    /// A number that is too large or too close to zero to compute with.
    OutOfRange {
        /// What was computed, with its values: `1e6000 * 1e6000`.
        what: String,
    },
    /// A result that goes over a limit.
    TooLarge {
        /// The name of the limit.
        limit: &'static str,
        /// Its value.
        maximum: usize,
        /// What is counted: `bytes of text`.
        unit: &'static str,
    },
    /// It takes longer than it may here; where there is time, it is computed.
    TooLong,
}

impl ComputeError {
    /// `value` at `position` is not what was `wanted`.
    pub fn wrong(position: usize, value: &Value, wanted: &'static str) -> Self {
        Self::WrongOperand { position, found: describe(value), wanted }
    }

    /// The value at `position` means nothing here.
    pub fn invalid(position: usize, reason: impl Into<String>) -> Self {
        Self::Invalid { position, reason: reason.into() }
    }

    /// Which operand is at fault, from 0; none if it is the result.
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::WrongOperand { position, .. } | Self::Invalid { position, .. } => Some(*position),
            Self::OutOfRange { .. } | Self::TooLarge { .. } | Self::TooLong => None,
        }
    }

    /// The same error of the operand at another position.
    #[must_use]
    pub fn at(mut self, at: usize) -> Self {
        if let Self::WrongOperand { position, .. } | Self::Invalid { position, .. } = &mut self {
            *position = at;
        }
        self
    }
}

impl fmt::Display for ComputeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongOperand { found, wanted, .. } => write!(f, "{found} is not {wanted}"),
            Self::Invalid { reason, .. } => f.write_str(reason),
            Self::OutOfRange { what } => {
                write!(f, "{what} is beyond the numbers that can be computed with")
            }
            Self::TooLarge { limit, maximum, unit } => {
                write!(f, "the result has more than {maximum} {unit} ({limit})")
            }
            Self::TooLong => f.write_str("it takes too long"),
        }
    }
}

impl std::error::Error for ComputeError {}
